#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every header of a list compiles by itself, and when it is included twice.

usage: headers_alone.py public|all LIST WORK_FOLDER INCLUDE_FOLDER COMPILER ARGUMENT...

LIST is a file with one header in each line, as it is included. Public headers are compiled, or all: those in detail/
too, which no program includes first, and which the library's own build includes in one order. Headers are compiled with SKALD_COMPILED, where a public
header does not include its definitions and so sees the least. Headers that include each other in a chain share one
source, and sources share precompiled headers: whatever is before a header there, the header includes itself, so it is
compiled as if it were alone.

As headers alone, a public header includes its definitions at its end. That adds one way to fail, which needs no
compiler to be seen: the definitions include a header that has begun and has not come to its declarations yet.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

# No more precompiled headers than this. One costs about as much as it saves at two or three sources.
PRECOMPILED = 12
# How much longer than an ordinary header of the library some others take to be parsed.
WEIGHTS = {"nlohmann/json.hpp": 12, "nlohmann/json_fwd.hpp": 3, "regex": 4}

ENDING = re.compile(r'#ifndef SKALD_COMPILED\n#include "([^"]+)"\n#endif\n')
INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.MULTILINE)


class Includes:
    def __init__(self, headers, folder):
        texts = {header: (folder / header).read_text() for header in headers}
        self.ending = {header: ENDING.findall(text) for header, text in texts.items()}
        self.direct = {header: INCLUDE.findall(ENDING.sub("", text)) for header, text in texts.items()}
        self.all = {}
        for header in headers:
            self.closure(header)

    def closure(self, header):
        """The headers that a header includes in compiled programs, directly or through others."""
        if header not in self.all:
            self.all[header] = set()  # where a header is included again for each target
            self.all[header] = set().union(*({h} | self.closure(h) for h in self.direct.get(header, [])))
        return self.all[header]

    def weight(self, header):
        return sum(WEIGHTS.get(h, 1) for h in self.all[header] | {header})

    def chains(self, scope):
        """The headers in chains; each one includes those before it."""
        found = []
        compiled = [h for h in self.direct if scope == "all" or "/detail/" not in h]
        for header in sorted(compiled, key=lambda h: (len(self.all[h]), h)):
            fitting = [c for c in found if c[-1] in self.all[header]]
            if fitting:
                max(fitting, key=lambda c: len(self.all[c[-1]])).append(header)
            else:
                found.append([header])
        return found

    def worth_precompiling(self, chains):
        """The headers whose precompiled form saves the most, one after another."""
        saved = {chain[0]: 0 for chain in chains}
        chosen = []
        while len(chosen) < PRECOMPILED:
            def gain(header):
                weight = self.weight(header)
                return sum(max(0, weight - saved[c]) for c in saved if header in self.all[c]) - 2 * weight

            best = max(self.direct, key=gain)
            if gain(best) <= 0:
                break
            chosen.append(best)
            for header in saved:
                if best in self.all[header]:
                    saved[header] = max(saved[header], self.weight(best))
        return chosen

    def circles(self):
        """Where definitions would be read before the declarations that they need, for each public header included first."""
        found = set()
        for first in self.direct:
            if "/detail/" in first:
                continue  # no program includes it first
            self.read(first, set(), set(), found)
        return sorted(found)

    def read(self, header, begun, declared, found):
        """Includes a header as a program of headers alone does."""
        if header in begun or header not in self.direct:
            return
        begun.add(header)
        for included in self.direct[header]:
            self.read(included, begun, declared, found)
            if included in begun and included not in declared:
                found.add(f"{header} is read before the declarations of {included}, which it includes")
        declared.add(header)
        for definitions in self.ending[header]:
            self.read(definitions, begun, declared, found)


def main():
    scope, headers_list, work, folder, *compiler = sys.argv[1:]
    headers = pathlib.Path(headers_list).read_text().split()
    work = pathlib.Path(work)
    work.mkdir(exist_ok=True)
    includes = Includes(headers, pathlib.Path(folder))
    failed = includes.circles()
    compiler = [*compiler, "-DSKALD_COMPILED", f"-I{folder}"]
    chains = includes.chains(scope)
    precompiled = includes.worth_precompiling(chains)

    def precompile(number):
        source = work / f"precompiled_{number}.h"
        source.write_text(f'#include "{precompiled[number]}"\n')
        subprocess.run([*compiler, "-x", "c++-header", source, "-o", f"{source}.gch"], capture_output=True)

    def compile_chain(number):
        chain = chains[number]
        fitting = [n for n, header in enumerate(precompiled) if header in includes.all[chain[0]]]
        best = max(fitting, key=lambda n: includes.weight(precompiled[n]), default=None)
        use = [] if best is None else ["-include", work / f"precompiled_{best}.h"]
        source = work / f"chain_{number}.cc"
        source.write_text("".join(f'#include "{header}"\n' for header in chain + chain))
        done = subprocess.run([*compiler, *use, "-fsyntax-only", source], capture_output=True, text=True)
        return done.returncode, f"{' '.join(chain)}\n{done.stderr}"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(precompile, range(len(precompiled))))
        failed += [text for code, text in pool.map(compile_chain, range(len(chains))) if code != 0]
    for form in work.glob("*.gch"):
        form.unlink()  # hundreds of megabytes
    print("\n".join(failed))
    print(f"{sum(map(len, chains))} headers in {len(chains)} sources: {len(failed)} problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
