# SPDX-License-Identifier: Apache-2.0
"""The systems that Skald is compiled for: each with its compilers, and what runs its programs here."""
import dataclasses
import os
import pathlib
import platform
import shutil
import subprocess
import sys

AVX2_OF_GCC = ["-march=haswell", "-maes", "-mpclmul"]


class Missing(Exception):
    """Something optional is not on this machine."""


@dataclasses.dataclass
class System:
    name: str
    compiler: list  # of C++, its words
    c_compiler: list
    archiver: list
    flags: list     # of sources
    link: list      # of programs
    runner: list    # words before a program; None where none runs it
    why_not_run: str = ""

    @property
    def is_windows(self):
        return "windows" in self.name


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
    return System("this", [os.environ.get("CXX", "g++")], [os.environ.get("CC", "gcc")], ["ar"],
                  AVX2_OF_GCC if is_x86() else [], ["-pthread"], [])


def is_x86():
    return platform.machine() == "x86_64"


def zig_system(target, run):
    # Zig compiles its C++ library for each CPU that it links for: programs are linked for the plainest.
    flags = ["-mcpu=haswell+aes+pclmul"] if target.startswith("x86_64") else []
    if target.endswith("macos"):
        flags.append("-DDBL_EPSILON=__DBL_EPSILON__")  # Zig's <float.h> for macOS lacks it, and doctest uses it
    link = ["-static"] if target.endswith("musl") else ["-lws2_32"] if "windows" in target else []
    words, why = run
    return System(target, [*zig(), "c++", "-target", target], [*zig(), "cc", "-target", target], [*zig(), "ar"], flags,
                  link, words, why)


def mingw_system():
    prefix = "x86_64-w64-mingw32-"
    compiler = needed(prefix + "g++-posix", "g++-mingw-w64-x86-64-posix")
    # As CMakeLists.txt has it.
    return System("x86_64-windows-mingw", [compiler], [prefix + "gcc-posix"], [prefix + "ar"],
                  [*AVX2_OF_GCC, "-Wa,-muse-unaligned-vector-move"], ["-static", "-lws2_32"], *wine())


def libcxx_system():
    compilers = sorted((path.name for folder in os.environ["PATH"].split(":") for path in pathlib.Path(folder).glob("clang++*")),
                       reverse=True)
    probe = "#include <vector>\nstatic_assert([] { return std::vector<int>(3).size(); }() == 3);\n"
    for compiler in compilers:
        words = [compiler, "-std=c++20", "-stdlib=libc++", "-fsyntax-only", "-x", "c++", "-"]
        if subprocess.run(words, input=probe, text=True, capture_output=True).returncode == 0:
            return System("clang-libc++", [compiler, "-stdlib=libc++"], [compiler.replace("++", "")], ["ar"],
                          AVX2_OF_GCC if is_x86() else [], ["-pthread"], [])
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
