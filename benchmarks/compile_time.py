#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what compiling Skald costs: seconds of one core and memory, optimised, for all SIMD targets.

usage: compile_time.py [--compiler g++] [--rounds 1] [--cases hello,program,...] [-I DIR]... [REPOSITORY...]

Prints a Markdown table with a column for each repository, which is a checkout of Skald (this one where none is given),
and beside those after the first their ratio to it. Repositories take turns, so that a machine's changing mood meets all
of them alike; the least of all rounds counts, as what disturbs a compiler only makes it slower. Counted is the
processor's time in user mode, not what the clock says.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["-std=c++20", "-O2", "-DNDEBUG", "-ffp-contract=off"]

# A Config of other sizes than the example's, and the use of it.
OWN_CONFIG = """
struct Model{0} : DemoModel {{
  static constexpr std::string_view kName = "model-{0}";
  static constexpr int kFeedForwardDim = 1024 + 64 * {0}, kVocabSize = 4096 + 64 * {0};
}};
"""
USE = """
bool Use{0}(const std::filesystem::path& folder, const std::vector<int32_t>& tokens) {{
  const auto model = skald::LoadModel<{1}>(folder);
  auto cache = skald::CreateKVCache<{1}>();
  auto workspace = skald::CreateWorkspace();
  return model && cache && workspace && model->Forward(*cache, tokens, *workspace);
}}
"""


def example(repository, *names):
    """The text of a numbered example, whatever its number and its name are in a checkout."""
    return next(path for name in names for path in (repository / "examples").glob(f"[0-9]*_{name}.cc")).read_text()


def hello(repository):
    return example(repository, "forward_and_sample", "hello_world")


def chat(repository):
    return example(repository, "chat")


def with_configs(repository, count):
    more = range(1, count)
    return hello(repository) + "".join(OWN_CONFIG.format(i) + USE.format(i, f"Model{i}") for i in more)


# Headers of a checkout, or of one from before the house was cut anew.
MOVED = {"skald/tokenizers/tokenizer.h": "skald/text/tokenizer.h"}


def including(*headers):
    def text(repository):
        there = [header if (repository / "include" / header).exists() else MOVED[header] for header in headers]
        return "".join(f'#include "{header}"\n' for header in there)

    return text


# A case: a name, the text of one source, and whether the library is compiled separately if a checkout can.
SOURCES = {
    "nothing": ("a file that includes <iostream>", lambda repository: "#include <iostream>\nint main() {}\n", False),
    "hello": ("hello world, headers alone", hello, False),
    "two": ("with a second Config", lambda repository: with_configs(repository, 2), False),
    "ten": ("with ten Configs", lambda repository: with_configs(repository, 10), False),
    "hello_compiled": ("hello world, `skald::compiled`", hello, True),
    "tokenizer": ("a tokenizer, `skald::compiled`", including("skald/tokenizers/tokenizer.h"), True),
    "engine": ("an engine, `skald::compiled`", including("skald/engine/engine.h"), True),
    "store": ("a cache and a store, `skald::compiled`",
              including("skald/cache/create.h", "skald/store/snapshots/snapshot.h",
                        "skald/store/backends/directory_store.h"), True),
    "own_layer": ("an own layer, `skald::compiled`",
                  lambda repository: example(repository, "own_layer"), True),
    "chat": ("a chat with any model, headers alone", chat, False),
    "chat_compiled": ("a chat with any model, `skald::compiled`", chat, True),
}


def program_sources(repository, folder):
    """Writes the sources of `skald` and of the server, joined into one, of the hub and the library's; returns their
    paths."""
    folders = [repository / "examples" / name for name in ("skald", "server")]
    sources = [source for part in folders for source in sorted(part.rglob("*.cc"))
               if source.name not in ("connection.cc", "http_server.cc")]  # Boost's, the same in every checkout
    hub = [source for source in sources if "hub" in source.parts]  # a library of its own
    for name, joined in (("program", [source for source in sources if source not in hub]), ("hub", hub)):
        path = pathlib.Path(folder) / f"{name}.cc"
        path.write_text("".join(f'#include "{source}"\n' for source in joined))
        yield path
    for part in sorted((repository / "include/skald/compiled").glob("*.h")):
        path = pathlib.Path(folder) / f"{part.stem}.cc"
        path.write_text(f'#include "{part}"\n')
        yield path
    if not (repository / "include/skald/compiled.h").exists():
        path = pathlib.Path(folder) / "kernels.cc"
        path.write_text('#include "skald/kernels/instantiate.h"\n')
        yield path


def cost_of(compiler, flags, source):
    """Returns the processor's time of compiling one source, in seconds, and the most memory, in bytes."""
    with tempfile.NamedTemporaryFile(suffix=".o") as output:
        process = subprocess.Popen([compiler, *FLAGS, *flags, "-c", source, "-o", output.name])
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"{source} does not compile.")
        return usage.ru_utime, usage.ru_maxrss * 1024


def measure(case, repository, options):
    includes = [f"-I{repository / folder}" for folder in ("include", "examples", "examples/skald", "")]
    includes += [flag for folder in options.include for flag in ("-isystem", folder)]
    compiled = "-DSKALD_COMPILED" if (repository / "include/skald/compiled.h").exists() else "-DSKALD_EXTERN_KERNELS"
    with tempfile.TemporaryDirectory() as folder:
        if case == "program":
            flags = [*includes, compiled, "-DSKALD_HAS_STORE", "-DSKALD_HAS_TLS", '-DSKALD_DEMO_MODEL="."']
            costs = [cost_of(options.compiler, flags, source) for source in program_sources(repository, folder)]
            return sum(seconds for seconds, _ in costs), max(size for _, size in costs)
        source = pathlib.Path(folder) / f"{case}.cc"
        source.write_text(SOURCES[case][1](repository))
        flags = [compiled] if SOURCES[case][2] and compiled == "-DSKALD_COMPILED" else []
        return cost_of(options.compiler, [*includes, *flags], source)


def print_row(name, cells, ratios):
    ratios = [None, *ratios[1:]]
    both = [cell for pair in zip(cells, ratios) for cell in pair if cell is not None]
    print(f"| {' | '.join([name, *both])} |", flush=True)


def main():
    names = {case: name for case, (name, _, _) in SOURCES.items()}
    names["program"] = "the `skald` program with its server and the library"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--cases", default=",".join(names), help=", ".join(names))
    parser.add_argument("-I", "--include", action="append", metavar="DIR", help="where Highway is",
                        default=[str(folder) for folder in [HERE / "build/deps/highway"] if folder.exists()])
    parser.add_argument("repositories", nargs="*", type=pathlib.Path, default=[HERE], metavar="REPOSITORY")
    options = parser.parse_args()
    repositories = [repository.resolve() for repository in options.repositories]

    print_row("", [repository.name for repository in repositories], ["ratio"] * len(repositories))
    print_row("---", ["---"] * len(repositories), ["---"] * len(repositories))
    for case in options.cases.split(","):
        rounds = [[measure(case, repository, options) for repository in repositories] for _ in range(options.rounds)]
        least = [min(costs) for costs in zip(*rounds)]
        print_row(names[case], [f"{seconds:.1f} s, {size / 1e6:.0f} MB" for seconds, size in least],
                  [f"{seconds / least[0][0]:.2f}" for seconds, _ in least])


if __name__ == "__main__":
    main()
