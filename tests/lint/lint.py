#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of the house that no compiler checks.

usage: lint.py [repository]

Prints one line for each broken rule and fails if there is any. Long files are only warned about until they
pass the limit.
"""

import pathlib
import re
import sys

# The folders of include/skald from top to bottom, and what each may include of ours. Includes point
# downwards only, so no two folders can ever include each other.
MAY_INCLUDE = {
    "engine": {"store", "sampling", "text", "model", "weights", "cache", "kernels", "configs", "base"},
    "store": {"sampling", "cache", "base"},
    "sampling": {"base"},
    "text": {"weights", "base"},
    "model": {"kernels", "weights", "cache", "configs", "base"},
    "weights": {"configs", "base"},
    "cache": {"configs", "base"},
    "kernels": {"base"},
    "configs": {"base"},
    "base": set(),
}

# Highway's SIMD headers, and the folders that may include them. hwy/base.h (assertions, numeric types) is
# ordinary C++ and free for all.
SIMD_HEADER = re.compile(r"hwy/(?!base\.h)")
SIMD_FOLDERS = {"kernels", "base"}
TARGET_LOOP = "hwy/foreach_target.h"

TOP_LEVEL = {"include", "tests", "examples", "benchmarks", "build",
             "CMakeLists.txt", "CMakePresets.json", "CMakeUserPresets.json", "README.md", "LICENSE"}

# The library prints nothing, ends no process and reads no environment.
FORBIDDEN = re.compile(
    r"\b(abort|exit|_Exit|quick_exit|terminate|f?printf|puts|getenv|cout|cerr|clog|HWY_ABORT|HWY_ASSERT)\b")

SOURCE_SUFFIXES = {".h", ".cc", ".py", ".sh", ".cmake"}
WARN_LINES, MAX_LINES = 500, 800
MAX_COLUMNS = 120


COMMENT_OR_LITERAL = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.DOTALL)


def only_code(text):
    """Blanks out comments and literals, keeping the line numbers."""
    return COMMENT_OR_LITERAL.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


class Lint:
    def __init__(self, root):
        self.root = root
        self.problems = []
        self.warnings = []

    def problem(self, path, line, message):
        where = path.relative_to(self.root).as_posix()
        self.problems.append(f"{where}:{line}: {message}" if line else f"{where}: {message}")

    def run(self):
        self.check_table()
        self.check_top_level()
        for path in self.sources():
            self.check_text(path)
        headers = sorted((self.root / "include").rglob("*.h"))
        for path in headers:
            self.check_library_header(path)
        self.check_one_target_loop(headers)

    def check_table(self):
        """The table above must itself point downwards."""
        order = list(MAY_INCLUDE)
        for position, folder in enumerate(order):
            assert MAY_INCLUDE[folder] <= set(order[position + 1:]), folder

    def check_top_level(self):
        for path in self.root.iterdir():
            if path.name not in TOP_LEVEL and not path.name.startswith("."):
                self.problem(path, 0, "does not belong at the top level")
        for path in (self.root / "include").iterdir():
            if path.name != "skald":
                self.problem(path, 0, "only the folder skald belongs in include/")

    def sources(self):
        for folder in ("include", "tests", "examples", "benchmarks", ".ci"):
            for path in sorted((self.root / folder).rglob("*")):
                is_script = folder == ".ci" or path.name == "CMakeLists.txt"
                if path.is_file() and (path.suffix in SOURCE_SUFFIXES or is_script):
                    yield path

    def check_text(self, path):
        data = path.read_bytes()
        lines = data.split(b"\n")
        for number, line in enumerate(lines, 1):
            if not line.isascii():
                self.problem(path, number, "only ASCII is allowed in sources")
            if len(line) > MAX_COLUMNS and path.suffix in {".h", ".cc"}:
                self.problem(path, number, f"{len(line)} columns; {MAX_COLUMNS} is the limit")
        if b"SPDX-License-Identifier: Apache-2.0" not in lines[1 if data.startswith(b"#!") else 0]:
            self.problem(path, 1, "the first line must be the SPDX line")
        if len(lines) - 1 > MAX_LINES:
            self.problem(path, 0, f"{len(lines) - 1} lines; {MAX_LINES} is the limit")
        elif len(lines) - 1 > WARN_LINES:
            self.warnings.append(f"{path.relative_to(self.root)}: {len(lines) - 1} lines is a lot")
        if path.suffix == ".h":
            self.check_guard(path, data.decode())

    def check_guard(self, path, text):
        """x.h is included once, x-inl.h once per SIMD target."""
        inside = path.relative_to(self.root)
        if inside.parts[0] == "include":
            inside = inside.relative_to("include/skald") if len(inside.parts) > 2 else inside
        stem = re.sub(r"[/.-]", "_", inside.as_posix().removesuffix(".h")).upper()
        if path.name.endswith("-inl.h"):
            name = f"SKALD_{stem}_TOGGLE"
            wanted = f"#if defined({name}) == defined(HWY_TARGET_TOGGLE)"
        else:
            name = f"SKALD_{stem}_H_"
            wanted = f"#ifndef {name}\n#define {name}\n"
        if wanted not in text:
            self.problem(path, 0, f"the include guard must be {name}")

    def check_library_header(self, path):
        folder = path.relative_to(self.root / "include" / "skald").parts[0]
        if folder not in MAY_INCLUDE and folder != "skald.h":
            self.problem(path, 0, f"include/skald has no room named {folder}")
            return
        text = path.read_text()
        for number, line in enumerate(text.split("\n"), 1):
            if include := re.match(r'\s*#\s*include\s*[<"]([^">]+)[">]', line):
                self.check_include(path, number, folder, include[1])
        for number, line in enumerate(only_code(text).split("\n"), 1):
            if found := FORBIDDEN.search(line):
                self.problem(path, number, f"{found[1]} has no place in the library")

    def check_include(self, path, number, folder, included):
        if SIMD_HEADER.match(included) and folder not in SIMD_FOLDERS and folder != "skald.h":
            self.problem(path, number, f"only kernels/ may include {included}")
        if (path.parent / included).exists():
            self.problem(path, number, f"{included} must be included by its path from include/")
        if not (self.root / "include" / included).exists():
            return
        room = included.split("/")[1]
        if folder not in ("skald.h", room) and room not in MAY_INCLUDE[folder]:
            self.problem(path, number, f"{folder}/ may not include {included}")

    def check_one_target_loop(self, headers):
        """Its include guard makes every use after the first a no-op, so there must be one."""
        users = [path for path in headers if f'#include "{TARGET_LOOP}"' in path.read_text()]
        if len(users) != 1:
            self.problem(self.root / "include", 0, f"{len(users)} headers include {TARGET_LOOP}; one must")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    lint = Lint(root)
    lint.run()
    for warning in lint.warnings:
        print("warning:", warning)
    for problem in lint.problems:
        print(problem)
    print(f"{len(lint.problems)} problems")
    return 1 if lint.problems else 0


if __name__ == "__main__":
    sys.exit(main())
