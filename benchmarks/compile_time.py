#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what compiling Skald costs: seconds of one core, optimised, for all SIMD targets.

usage: compile_time.py [--compiler g++] [--rounds 1] [--cases hello,cli,...] [-I DIR]... [REPOSITORY...]

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
FAMILIES = ["Llama3_2_1B", "Mistral_7B_V0_3", "Gemma_2B", "Gemma2_2B", "Qwen2_5_0_5B", "Qwen3_0_6B", "Mamba_130M",
            "Mamba2_130M", "RecurrentGemma_2B"]


def hello(repository):
    return (repository / "examples" / "01_hello_world.cc").read_text()


def with_configs(repository, count):
    more = range(1, count)
    return hello(repository) + "".join(OWN_CONFIG.format(i) + USE.format(i, f"Model{i}") for i in more)


def with_families(repository):
    uses = (USE.format(i, f"skald::{name}") for i, name in enumerate(FAMILIES))
    headers = sorted((repository / "include" / "skald" / "families").glob("*/*.h"))
    homes = (header for header in headers if header.stem == header.parent.name)
    includes = (f'#include "skald/families/{header.stem}/{header.name}"\n' for header in homes)
    return "".join(includes) + hello(repository) + "".join(uses)


# What is compiled: a name, and the text of one source.
SOURCES = {
    "nothing": ("a file that includes <iostream>", lambda repository: "#include <iostream>\nint main() {}\n"),
    "hello": ("hello world", hello),
    "two": ("hello world with a second Config", lambda repository: with_configs(repository, 2)),
    "ten": ("with ten Configs", lambda repository: with_configs(repository, 10)),
    "families": ("with ten Configs of nine families", with_families),
    "kernels": ("the kernels alone", lambda repository: '#include "skald/kernels/instantiate.h"\n'),
}


def program_sources(repository, folder):
    """Writes the sources of `skald`, as many joined into one as the checkout's build does, and returns their paths."""
    sources = sorted((repository / "examples" / "skald").rglob("*.cc"))
    sources.append(repository / "benchmarks" / "machine_limits.cc")
    build = (repository / "examples" / "CMakeLists.txt").read_text()
    joined = re.search(r"skald_join_sources\(skald_cli (\d+)\)", build)
    size = int(joined[1]) if joined else 1
    for begin in range(0, len(sources), size):
        path = pathlib.Path(folder) / f"{begin}.cc"
        path.write_text("".join(f'#include "{source}"\n' for source in sources[begin:begin + size]))
        yield path


def seconds_of(compiler, flags, source):
    """Returns the processor's time of compiling one source."""
    with tempfile.NamedTemporaryFile(suffix=".o") as output:
        process = subprocess.Popen([compiler, *FLAGS, *flags, "-c", source, "-o", output.name])
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"{source} does not compile.")
        return usage.ru_utime


def measure(case, repository, options):
    includes = [f"-I{repository / folder}" for folder in ("include", "examples", "examples/skald", "")]
    includes += [flag for folder in options.include for flag in ("-isystem", folder)]
    with tempfile.TemporaryDirectory() as folder:
        if case == "cli":
            flags = [*includes, "-DSKALD_EXTERN_KERNELS", "-DSKALD_HAS_STORE", '-DSKALD_DEMO_MODEL="."']
            return sum(seconds_of(options.compiler, flags, source) for source in program_sources(repository, folder))
        source = pathlib.Path(folder) / f"{case}.cc"
        source.write_text(SOURCES[case][1](repository))
        return seconds_of(options.compiler, includes, source)


def print_row(name, cells, ratios):
    ratios = [None, *ratios[1:]]
    both = [cell for pair in zip(cells, ratios) for cell in pair if cell is not None]
    print(f"| {' | '.join([name, *both])} |", flush=True)


def main():
    names = {case: name for case, (name, _) in SOURCES.items()}
    names["cli"] = "the sources of `skald` as they are built, without the kernels"
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
        least = [min(seconds) for seconds in zip(*rounds)]
        print_row(names[case], [f"{seconds:.1f} s" for seconds in least],
                  [f"{seconds / least[0]:.2f}" for seconds in least])


if __name__ == "__main__":
    main()
