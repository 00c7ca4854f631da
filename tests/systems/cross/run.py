#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles Skald for systems other than this one, and runs there what this machine can run.

usage: run.py [--only STAGE[,STAGE...]] [SYSTEM...]      all stages and systems where none is named

Systems are named below. One is this machine's own with another C++ library. Stages, for each:

  headers   every public header compiles, as in a program that has Skald compiled elsewhere
  hello     hello.cc compiles and links; where its program runs, it prints the hashes that this machine's own prints
  stack     no function keeps a vector of 32 or 64 bytes on a stack that it has not aligned, by an aligned move.
            Windows aligns stacks to 16 bytes, and g++ for it relied on more (its bug 54412); Wine hides the fault
  tests     tests of samplers, mathematics and caches compile, and pass where they run

Systems need Zig (the package ziglang of the Python package index, or zig) or MinGW-w64; Windows runs under Wine and
64-bit Arm under qemu's emulator of programs. A tool that is missing is told. The exit code is 77 if a system could not
even be compiled for, and nothing failed.
"""
import argparse
import dataclasses
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent
WORK = ROOT / "build" / "cross"
sys.path.insert(0, str(HERE))
import stack_moves  # noqa: E402

SKIPPED = 77
STAGES = ["headers", "hello", "stack", "tests"]

# All hashes are those of targets with fused multiply-add: AVX2 here, NEON there.
FLAGS = ["-std=c++20", "-O1", "-ffp-contract=off", "-DHWY_COMPILE_ONLY_STATIC", "-Wall", "-Wextra", "-Werror"]
AVX2_OF_GCC = ["-march=haswell", "-maes", "-mpclmul"]
AVX512_OF_GCC = ["-march=skylake-avx512"]

# These folders' tests but what is about files, sockets and priorities of POSIX. With each, the parts of the library that
# it links.
TESTED = {
    "numbers": (["tests/sampling/*_test.cc", "tests/base/*_test.cc"], ["base", "sampling"]),
    "caches": (["tests/cache/*_test.cc"], ["cache", "families", "kernels", "layers", "model", "weights"]),
}
NOT_TESTED = {"no_memory_test.cc", "small_file_test.cc", "socket_test.cc", "system_call_test.cc", "priority_test.cc"}

# Headers that need a library which is not made for other systems here.
FOREIGN_HEADERS = re.compile(r"mpi_|-inl\.h$|/detail/|skald/compiled")


class Missing(Exception):
    """Something optional is not on this machine."""


@dataclasses.dataclass
class System:
    name: str
    compiler: list  # its words
    flags: list     # of sources
    link: list      # of programs
    runner: list    # words before a program; None where none runs it
    why_not_run: str = ""


def zig():
    if shutil.which("zig"):
        return ["zig"]
    found = subprocess.run([sys.executable, "-m", "ziglang", "version"], capture_output=True)
    if found.returncode != 0:
        raise Missing("needs Zig: pip install ziglang, or a zig on PATH")
    return [sys.executable, "-m", "ziglang"]


def needed(program, package):
    found = shutil.which(program)
    if not found:
        raise Missing(f"needs {program} (Debian's package {package})")
    return found


def runner(program):
    return ([], "") if not program else ([shutil.which(program)], "") if shutil.which(program) else (None, f"no {program}")


def wine():
    return runner("wine64" if shutil.which("wine64") else "wine")


def native():
    return System("this", [os.environ.get("CXX", "g++")], AVX2_OF_GCC if is_x86() else [], ["-pthread"], [])


def is_x86():
    return platform.machine() == "x86_64"


def zig_system(target, run):
    # Zig compiles its C++ library for each CPU that it links for: programs are linked for the plainest.
    flags = ["-mcpu=haswell+aes+pclmul"] if target.startswith("x86_64") else []
    if target.endswith("macos"):
        flags.append("-DDBL_EPSILON=__DBL_EPSILON__")  # Zig's <float.h> for macOS lacks it, and doctest uses it
    link = ["-static"] if target.endswith("musl") else ["-lws2_32"] if "windows" in target else []
    words, why = run
    return System(target, [*zig(), "c++", "-target", target], flags, link, words, why)


def mingw_system():
    compiler = needed("x86_64-w64-mingw32-g++-posix", "g++-mingw-w64-x86-64-posix")
    # As CMakeLists.txt has it.
    return System("x86_64-windows-mingw", [compiler], [*AVX2_OF_GCC, "-Wa,-muse-unaligned-vector-move"],
                  ["-static", "-lws2_32"], *wine())


def libcxx_system():
    compilers = sorted((path.name for folder in os.environ["PATH"].split(":") for path in pathlib.Path(folder).glob("clang++*")),
                       reverse=True)
    probe = "#include <vector>\nstatic_assert([] { return std::vector<int>(3).size(); }() == 3);\n"
    for compiler in compilers:
        words = [compiler, "-std=c++20", "-stdlib=libc++", "-fsyntax-only", "-x", "c++", "-"]
        if subprocess.run(words, input=probe, text=True, capture_output=True).returncode == 0:
            return System("clang-libc++", [compiler, "-stdlib=libc++"], AVX2_OF_GCC if is_x86() else [], ["-pthread"], [])
    raise Missing("needs clang with libc++ 15 or newer, which has constexpr vectors (Debian 13: clang-19, libc++-19-dev)")


MUSL_HERE = runner("") if is_x86() else (None, "another processor")
SYSTEMS = {
    "clang-libc++": libcxx_system,
    "x86_64-linux-musl": lambda: zig_system("x86_64-linux-musl", MUSL_HERE),
    "aarch64-linux-musl": lambda: zig_system("aarch64-linux-musl", runner("qemu-aarch64-static")),
    "x86_64-macos": lambda: zig_system("x86_64-macos", (None, "nothing here runs programs of macOS")),
    "aarch64-macos": lambda: zig_system("aarch64-macos", (None, "nothing here runs programs of macOS")),
    "x86_64-windows-gnu": lambda: zig_system("x86_64-windows-gnu", wine()),
    "x86_64-windows-mingw": mingw_system,
}


def say(system, text):
    print(f"cross: {system.name}: {text}", flush=True)


def call(words, **options):
    """Runs a command; prints what it said, and raises, if it fails."""
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace", cwd=ROOT,
                            **options)
    if result.returncode != 0:
        print(" ".join(str(word) for word in words))
        print(result.stdout[-4000:], result.stderr[-8000:], sep="\n")
        raise RuntimeError(f"{words[0]} failed with {result.returncode}")
    return result.stdout


def find_include(header):
    """The folder of a library's headers, beside which a system's own may be."""
    for folder in [*ROOT.glob("build/deps/*"), *ROOT.glob("build/*/_deps/*-src"),
                   *ROOT.glob("build/*/_deps/*-src/*include*"), pathlib.Path("/usr/include"), pathlib.Path("/usr/local/include")]:
        if (folder / header).exists():
            return folder
    raise Missing(f"needs {header}")


def link_includes():
    """A folder with the headers that the library needs and nothing of this system's."""
    folder = WORK / "include"
    folder.mkdir(parents=True, exist_ok=True)
    # The sources are compiled for each system (tests/consumer/highway.cc), so its installed headers are not enough.
    for header in ["hwy/targets.cc", "nlohmann/json.hpp", "tl/expected.hpp", "doctest/doctest.h"]:
        name = header.split("/")[0]
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(find_include(header) / name)
    return ["-I", ROOT / "include", "-I", ROOT, "-I", ROOT / "examples", "-isystem", folder]


class Build:
    def __init__(self, system):
        self.system = system
        self.folder = WORK / system.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.includes = link_includes()

    def object(self, name, source, *flags):
        """Compiles a source, given as its path or as its text."""
        if isinstance(source, str):
            path = self.folder / f"{name}.cc"
            path.write_text(source)
            source = path
        into = self.folder / f"{name}.o"
        call([*self.system.compiler, *FLAGS, *self.system.flags, *flags, *self.includes, "-c", source, "-o", into])
        return into

    def program(self, name, objects):
        into = self.folder / f"{name}.exe"
        call([*self.system.compiler, *objects, *self.system.link, "-o", into])
        return into

    def run(self, program, *arguments):
        environment = {**os.environ, "WINEDEBUG": "-all"}
        return call([*self.system.runner, program, *arguments], env=environment)

    def highway(self):
        # Arm's targets ask how long their vectors are.
        return [self.object("highway", ROOT / "tests/consumer/highway.cc"),
                self.object("highway_per_target", WORK / "include/hwy/per_target.cc")]


def headers(build):
    folder = ROOT / "include"
    names = sorted(path.relative_to(folder).as_posix() for path in folder.glob("skald/**/*.h"))
    names = [name for name in names if not FOREIGN_HEADERS.search(name)]
    build.object("headers", "".join(f'#include "{name}"\n' for name in names), "-DSKALD_COMPILED", "-O0")
    say(build.system, f"{len(names)} public headers compile")


def hello(build):
    # Optimised only where it runs.
    level = ["-O0"] if build.system.runner is None else []
    program = build.program("hello", [build.object("hello", HERE / "hello.cc", *level), *build.highway()])
    if build.system.runner is None:
        return say(build.system, f"hello world links; not run: {build.system.why_not_run}")
    printed = build.run(program, "examples/demo_model").split("\n")
    expected = hello.expected = hello.expected or hello_here()
    if [line.strip() for line in printed] != expected:
        print("here:", *expected, "there:", *printed, sep="\n")
        raise RuntimeError("hello world has other hashes there than here")
    say(build.system, "hello world prints the hashes that it does here")


hello.expected = None


def hello_here():
    build = Build(native())
    program = build.program("hello", [build.object("hello", HERE / "hello.cc"), *build.highway()])
    return [line.strip() for line in build.run(program, "examples/demo_model").split("\n")]


def stack(build):
    """Kernels are where vectors are; AVX-512 has those that need the most."""
    if "windows" not in build.system.name:
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


def tests(build):
    paths = [f'-DSKALD_REPOSITORY="{ROOT}"', '-DSKALD_TEST_DATA="nowhere"']
    main, highway = build.object("main", ROOT / "tests/main.cc", "-DSKALD_COMPILED", *paths), build.highway()
    library = {}
    for name, (patterns, parts) in TESTED.items():
        sources = sorted(source for pattern in patterns for source in ROOT.glob(pattern))
        text = "".join(f'#include "{source.relative_to(ROOT)}"\n' for source in sources if source.name not in NOT_TESTED)
        # Each source uses some of the tests' helpers.
        tested = build.object(name, text, "-DSKALD_COMPILED", "-Wno-unused-function", *paths)
        for part in parts:
            if part not in library:
                library[part] = build.object(f"compiled_{part}", f'#include "skald/compiled/{part}.h"\n', "-DSKALD_COMPILED")
        program = build.program(name, [main, tested, *highway, *library.values()])
        if build.system.runner is None:
            say(build.system, f"tests of {name} link")
            continue
        cases = re.search(r"test cases: *(\d+)", build.run(program))[1]
        say(build.system, f"{cases} tests of {name} pass")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--only", default=",".join(STAGES))
    parser.add_argument("systems", nargs="*", choices=[[], *SYSTEMS], default=[])
    options = parser.parse_args()
    stages = {"headers": headers, "hello": hello, "stack": stack, "tests": tests}
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
