#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles Skald for systems other than this one, and runs there what this machine can run.

usage: run.py [--only STAGE[,STAGE...]] [SYSTEM...]      all stages and systems where none is named

Systems are named below. One is this machine's own with another C++ library. Stages, for each:

  headers   every public header compiles, as in a program that has Skald compiled elsewhere
  hello     hello.cc compiles and links; where its program runs, it prints the hashes that this machine's own prints
  stack     no function keeps a vector of 32 or 64 bytes on a stack that it has not aligned, by an aligned move.
            Windows aligns stacks to 16 bytes, and g++ for it relied on more (its bug 54412); Wine hides the fault
  tokenizer texts become the ids that they become here, by tokenizers of each kind
  chat      README's first program answers as it does here
  tests     tests of samplers, mathematics, caches, models, text and stores compile, and pass where they run. --tests
            picks some of them

The libraries of tokenizers and stores are built for each system, from the sources in the archive of this distribution
(libraries.py). Systems need Zig (the package ziglang of the Python package index, or zig) or MinGW-w64; Windows runs under Wine and
64-bit Arm under qemu's emulator of programs. A tool that is missing is told. The exit code is 77 if a system could not
even be compiled for, and nothing failed.
"""
import argparse
import dataclasses
import json
import os
import re
import sys
import time

import libraries
import stack_moves
from build import ROOT, WORK, Build
from systems import SYSTEMS, Missing, native, needed

SKIPPED = 77
STAGES = ["headers", "hello", "stack", "tokenizer", "chat", "tests"]
AVX512_OF_GCC = ["-march=skylake-avx512"]

CACHE_PARTS = ["base", "cache", "families", "kernels", "layers", "model", "weights"]
CHAT_PARTS = [*CACHE_PARTS, "sampling", "speculation", "tokenizers", "templates", "constraints", "answers", "open"]
TOKENIZER_PARTS = ["base", "tokenizers", "weights", "kernels"]
STORE_PARTS = [*CACHE_PARTS, "sampling", "store"]


@dataclasses.dataclass
class Tested:
    patterns: list   # of files with tests
    parts: list      # of the library
    libraries: list = dataclasses.field(default_factory=list)
    needs_models: bool = False


# These folders' tests but what is about files, sockets, processes and priorities of POSIX, and Redis.
TESTED = {
    "numbers": Tested(["tests/sampling/*_test.cc", "tests/base/*_test.cc"], ["base", "sampling"]),
    "caches": Tested(["tests/cache/*_test.cc"], CACHE_PARTS),
    "models": Tested(["tests/model/*_test.cc"], [*CACHE_PARTS, "sampling"], needs_models=True),
    "text": Tested(["tests/text/*_test.cc", "tests/text/*/*_test.cc"], CHAT_PARTS, libraries.OF_TOKENIZERS),
    "stores": Tested(["tests/store/*_test.cc"], STORE_PARTS, libraries.OF_STORES, needs_models=True),
}
NOT_TESTED = {"no_memory_test.cc", "small_file_test.cc", "socket_test.cc", "system_call_test.cc", "priority_test.cc",
              "two_processes_test.cc", "float_modes_test.cc", "workspace_test.cc", "template_memory_test.cc", "directory_trouble_test.cc",
              "durable_folders_test.cc", "fd_io_test.cc", "forged_manifest_test.cc", "hostile_redis_test.cc",
              "redis_store_test.cc", "redis_url_test.cc", "identity_test.cc", "resume_test.cc"}

# Texts where systems' libraries could differ: scripts, forms of Unicode, emoji, spaces, numbers.
ODD_TEXTS = ["", " ", "\u00a0\u2003x\u200b", "Stra\u00dfe STRASSE \ufb01ne", "e\u0301 \u00e9 \uac00 \u1100\u1161", "1,234.5e-6 \u0661\u0662\u0663",
             "\u65e5\u672c\u8a9e\u306e\u6587 \U0001f469\u200d\U0001f4bb\U0001f1e9\U0001f1ea", "def f(x):\r\n\treturn  x\n\n\n", "\u0000\u0001\ufffd\U0010ffff", "a" * 5000,
             "I'll we're don't CAN'T", "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35"]

# Headers that need a library which is not made for other systems here.
FOREIGN_HEADERS = re.compile(r"mpi_|-inl\.h$|/detail/|skald/compiled")


HERE = ROOT / "tests/systems/cross"


def say(system, text):
    print(f"cross: {system.name}: {text}", flush=True)


def headers(build):
    folder = ROOT / "include"
    names = sorted(path.relative_to(folder).as_posix() for path in folder.glob("skald/**/*.h"))
    names = [name for name in names if not FOREIGN_HEADERS.search(name)]
    build.object("headers", "".join(f'#include "{name}"\n' for name in names), "-DSKALD_COMPILED", "-O0")
    say(build.system, f"{len(names)} public headers compile")


def compare_here(build, name, make, run):
    """Makes a program; where it runs, what it prints must be what it prints here."""
    program = make(build)
    if build.system.runner is None:
        return say(build.system, f"{name} links; not run: {build.system.why_not_run}")
    printed = [line.rstrip() for line in run(build, program).split("\n")]
    if name not in compare_here.expected:
        here = Build(native())
        compare_here.expected[name] = [line.rstrip() for line in run(here, make(here)).split("\n")]
    expected = compare_here.expected[name]
    differ = [pair for pair in zip(expected, printed) if pair[0] != pair[1]]
    if differ or len(expected) != len(printed):
        print("here:", *expected[:20], "there:", *printed[:20], "differ:", *differ[:5], sep="\n")
        raise RuntimeError(f"{name} prints something else there than here")
    say(build.system, f"{name} prints the {len(expected)} lines that it does here")


compare_here.expected = {}


def hello(build):
    def make(build):
        return build.program("hello", [build.object("hello", HERE / "hello.cc"), *build.highway()])

    compare_here(build, "hello world", make, lambda build, program: build.run(program, "examples/demo_model"))


def of_libraries(build, names):
    """Flags, and what is linked: this system's own libraries, or those that are built for another."""
    if build.system.name == "this":
        return [], [f"-l{name}" for name in names]
    return libraries.use(build, names)


def tokenizer(build):
    files = ["examples/demo_model/tokenizer.model", *sorted(
        path.relative_to(ROOT).as_posix() for kind in ["*.model", "*/tokenizer.json", "*/*/tokenizer.json"]
        for path in (ROOT / "tests/text/data").glob(kind))]
    texts = (ROOT / "tests/text/data/corpus.txt").read_text().split("\n") + ODD_TEXTS
    lines = "".join(json.dumps(text) + "\n" for text in texts)

    def make(build):
        flags, linked = of_libraries(build, libraries.OF_TOKENIZERS)
        objects = [build.object("token_ids", ROOT / "tests/text/reference/token_ids.cc", "-DSKALD_COMPILED"),
                   *build.parts(TOKENIZER_PARTS, *flags), *build.highway()]
        return build.program("token_ids", [*objects, *linked])

    compare_here(build, f"the tokenizer, of {len(files)} files and {len(texts)} texts,", make,
                 lambda build, program: "".join(build.run(program, file, input=lines) for file in files))


def chat(build):
    def make(build):
        flags, linked = of_libraries(build, libraries.OF_TOKENIZERS)
        first = build.object("chat", ROOT / "examples/01_chat.cc", "-DSKALD_COMPILED")
        return build.program("chat", [first, *build.parts(CHAT_PARTS, *flags), *build.highway(), *linked])

    compare_here(build, "README's chat", make,
                 lambda build, program: build.run(program, "examples/demo_model", input="And the sons of Levi;\nAmen.\n"))


def stack(build):
    """Kernels are where vectors are; AVX-512 has those that need the most."""
    if not build.system.is_windows:
        return
    objdump = needed("x86_64-w64-mingw32-objdump", "binutils-mingw-w64-x86-64")
    stack_moves.check_itself(build.folder, objdump)
    is_mingw = "mingw" in build.system.name
    avx512 = AVX512_OF_GCC if is_mingw else ["-mcpu=skylake_avx512"]
    for name, flags in {"avx2": [], "avx512": avx512}.items():
        kernels = build.object(f"kernels_{name}", '#include "skald/compiled/kernels.h"\n', "-DSKALD_COMPILED", "-O2", *flags)
        moves, faults = stack_moves.faults_of(kernels, objdump)
        if moves == 0:
            raise RuntimeError(f"the kernels for {name} have no moves of vectors: the wrong target was compiled")
        if faults:
            raise RuntimeError(f"{len(faults)} functions move vectors to a stack that is not aligned, as {faults[0]}")
    say(build.system, "kernels for AVX2 and AVX-512 align the stack where they must")


def tests(build, names):
    paths = [f'-DSKALD_REPOSITORY="{ROOT}"', '-DSKALD_TEST_DATA="nowhere"', '-DSKALD_TEXT_GOLDENS=""', "-DSKALD_COMPILED"]
    main, highway = build.object("main", ROOT / "tests/main.cc", *paths), build.highway()
    for name in names:
        tested = TESTED[name]
        flags, linked = of_libraries(build, tested.libraries)
        sources = sorted(source for pattern in tested.patterns for source in ROOT.glob(pattern))
        text = "".join(f'#include "{source.relative_to(ROOT)}"\n' for source in sources if source.name not in NOT_TESTED)
        # Each source uses some of the tests' helpers.
        objects = [main, build.object(name, text, "-Wno-unused-function", *paths, *flags)]
        if tested.needs_models:
            objects.append(build.once("small_models", ROOT / "tests/support/small_models.cc", *paths))
        program = build.program(name, [*objects, *build.parts(tested.parts, *flags), *highway, *linked])
        if build.system.runner is None:
            say(build.system, f"tests of {name} link")
            continue
        cases = re.search(r"test cases: *(\d+)", build.run(program, accepted=(0, SKIPPED)))[1]
        say(build.system, f"{cases} tests of {name} pass")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--only", default=",".join(STAGES))
    parser.add_argument("--tests", default=",".join(TESTED))
    parser.add_argument("systems", nargs="*", choices=[[], *SYSTEMS], default=[])
    options = parser.parse_args()
    stages = {"headers": headers, "hello": hello, "stack": stack, "tokenizer": tokenizer, "chat": chat,
              "tests": lambda build: tests(build, options.tests.split(","))}
    skipped = failed = 0
    for name in options.systems or SYSTEMS:
        try:
            build = Build(SYSTEMS[name]())
        except Missing as why:
            print(f"cross: SKIPPED {name}: {why}", flush=True)
            skipped += 1
            continue
        for stage in options.only.split(","):
            start = time.monotonic()
            try:
                stages[stage](build)
            except Missing as why:
                print(f"cross: SKIPPED {name}: {stage}: {why}", flush=True)
            except RuntimeError as why:
                print(f"cross: FAILED {name}: {stage}: {why}", flush=True)
                failed += 1
            if os.environ.get("SKALD_CROSS_TIMES"):
                say(build.system, f"{stage} took {time.monotonic() - start:.0f} s")
    return 1 if failed else SKIPPED if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
