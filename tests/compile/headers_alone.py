#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every header of a list compiles by itself, and when it is included twice.

usage: headers_alone.py LIST WORK_FOLDER INCLUDE_FOLDER COMPILER ARGUMENT...

LIST is a file with one header in each line, as it is included. Headers that include each other in a chain share one
source: whatever is before a header there, the header includes itself, so it is compiled as if it were alone.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys


def all_includes(headers, folder):
    """For each header, those of the list that it includes, through others of the list too."""
    direct = {h: re.findall(r'^#include "(skald/[^"]+)"', (folder / h).read_text(), re.MULTILINE) for h in headers}
    found = {}

    def closure(header):
        if header not in found:
            found[header] = set()  # where a header is included again for each target
            found[header] = set().union(*({h} | closure(h) for h in direct.get(header, [])))
        return found[header]

    return {h: closure(h) & direct.keys() for h in headers}


def chains(includes):
    """The headers in chains; each one includes those before it."""
    found = []
    for header in sorted(includes, key=lambda h: (len(includes[h]), h)):
        fitting = [c for c in found if c[-1] in includes[header]]
        if fitting:
            max(fitting, key=lambda c: len(includes[c[-1]])).append(header)
        else:
            found.append([header])
    return found


def main():
    headers_list, work, folder, *compiler = sys.argv[1:]
    headers = pathlib.Path(headers_list).read_text().split()
    work = pathlib.Path(work)
    work.mkdir(exist_ok=True)

    def compile_chain(number, chain):
        source = work / f"chain_{number}.cc"
        source.write_text("".join(f'#include "{header}"\n' for header in chain + chain))
        done = subprocess.run([*compiler, f"-I{folder}", "-fsyntax-only", source], capture_output=True, text=True)
        return done.returncode, f"{' '.join(chain)}\n{done.stderr}"

    found = chains(all_includes(headers, pathlib.Path(folder)))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [text for code, text in pool.map(compile_chain, range(len(found)), found) if code != 0]
    print("\n".join(failed) + f"{len(headers)} headers in {len(found)} sources, {len(failed)} of which failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
