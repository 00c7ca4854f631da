#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of the house that no compiler checks.

usage: lint.py [--rules | --layout] [repository]

Prints one line for each broken rule and fails if there is any. Long files are only warned about until they pass the
limit. --layout checks the layout of sources alone, and ends with 77 where the one version of clang-format that decides
it is missing; --rules checks all else. Without either both are checked, the layout where it can be.
"""

import pathlib
import re
import shutil
import subprocess
import sys

# The folders of include/skald from top to bottom, and what each may include of ours. Includes point
# downwards only, so no two folders can ever include each other.
MAY_INCLUDE = {
    "c": {"open", "store", "tokenizers", "templates", "sampling", "model", "families", "layers", "weights", "cache", "base"},
    "serving": {"open", "engine", "distributed", "store", "tokenizers", "templates", "constraints", "sampling", "model",
                "families", "layers", "weights", "cache", "base"},
    "open": {"engine", "store", "tokenizers", "templates", "constraints", "sampling", "model", "families", "layers", "weights",
             "cache", "kernels", "base"},
    "engine": {"store", "sampling", "tokenizers", "constraints", "model", "families", "layers", "weights", "cache", "base"},
    "distributed": {"model", "families", "layers", "weights", "cache", "kernels", "base"},
    "store": {"sampling", "cache", "base"},
    "templates": {"weights", "base"},
    "constraints": {"tokenizers", "weights", "base"},
    "tokenizers": {"weights", "base"},
    "sampling": {"base"},
    "model": {"families", "layers", "weights", "cache", "kernels", "base"},
    "families": {"layers", "weights", "cache", "kernels", "base"},
    "layers": {"weights", "cache", "kernels", "base"},
    "weights": {"base"},
    "cache": {"base"},
    "kernels": {"base"},
    "base": set(),
}
# Above all rooms: all of Skald, and the lists of definitions that one source compiles for a program.
ABOVE_ALL = {"skald.h", "compiled.h", "compiled"}

# The rooms of a folder from top to bottom; "" is the files of the folder itself, "*" all rooms that the line does not
# name. Includes point downwards here too, except to the headers in FOR_ALL_ROOMS. A room with rooms of its own has a
# line too.
ROOMS = {
    "distributed": ["", "communicators"],
    "model": ["heads", ""],
    "engine": ["", "running", "suspension", "answers", "speculation", "requests", "plan"],
    "open": ["", "encoders", "tools"],
    "open/tools": ["", "calls"],
    "store": ["prompts", "snapshots", "backends", "chunks"],
    "weights": ["opened", "packed_files", "adapters", "writing", "", "quantised", "files", "packing", "types"],
    "layers": ["", "kinds", "norms", "spec", "run"],
    "kernels": ["", "recurrent", "attention", "matmul", "rows", "simd"],
    "families": ["", "*", "readers", "config"],
    "constraints": ["", "schema", "grammar"],
    "templates": ["", "execution", "library", "operations", "syntax", "values"],
    "cache": ["steps", "", "blocks", "layout"],
    "base": ["files", "sockets", "json", "threads", "ranks", "numbers", "mathematics", "text", ""],
}
# A folder of this name in a room holds its definitions and what only these need.
DETAIL = "detail"
FOR_ALL_ROOMS = {
    "skald/kernels/args.h",
    "skald/kernels/similarity_args.h",
    "skald/base/text/marked_text.h",
    "skald/open/tools/output_format.h",
    "skald/open/tools/output_part.h",
    "skald/open/tools/tools.h",
}

# Descriptions: code that reads what a model is compiles none of its arithmetic. These headers include, however far away,
# nothing that ARITHMETIC names, once a program is compiled of many sources.
DESCRIPTIONS = ["layers/kinds/**/*.h", "layers/norms/*.h", "layers/spec/*.h", "layers/model_spec.h",
                "layers/standard_layers.h", "families/*.h", "families/*/*.h"]
ARITHMETIC = re.compile(r"skald/(kernels/|layers/run/(?!rows\.h|scratch_pieces\.h)|base/threads/)|hwy/(?!base\.h)")
# Public headers parse no other library's headers, however far away, once a program is compiled of many sources: a
# program that has the compiled library needs none of them. These are the ones that the definitions need.
FOREIGN = re.compile(r"nlohmann/|hwy/|sentencepiece|oniguruma|zstd|xxh|hiredis|openssl/|mpi\.h|curl/|boost/")
# The headers whose subject is another library, for programs that use it too; and kernels, which Highway makes.
OF_OTHER_LIBRARIES = re.compile(
    r"skald/(kernels/|compiled(/|\.h)|base/json/(json_tree|json_value_tree|read_json)\.h"
    r"|base/highway\.h|base/numbers/(bf16|packed_element)\.h|weights/files/gguf_json\.h|distributed/communicators/mpi_ranks\.h)")
# Details that the definitions of every room may include.
SHARED_DETAILS = "skald/base/json/detail/"
INLINE_DEFINITIONS = re.compile(r"^#ifndef SKALD_COMPILED\n(?:#include[^\n]*\n)+#endif", re.MULTILINE)

# Headers of one operating system, and the folders whose definitions may include them; each is chosen in one place, so
# no list of definitions names them. Everything else is written for all systems; the headers below have them in #if.
SYSTEM_HEADER = re.compile(
    r"(sys|arpa|netinet|linux|asm|mach)/|(aclapi|dirent|dlfcn|fcntl|fnmatch|glob|grp|ifaddrs|io|netdb|poll|process|psapi"
    r"|pthread|pwd|sched|semaphore|signal|strings|syslog|termios|unistd|utime|windows|winsock2|ws2tcpip)\.h$")
SYSTEM_FOLDERS = re.compile(r"/detail/(posix|linux|windows)/")
HAVE_SYSTEM_HEADERS = {"skald/base/detail/windows_api.h", "skald/base/detail/aligned_buffer.h",
                       "skald/kernels/simd/detail/amx_support.h"}

# Highway's SIMD headers, and the folders that may include them. hwy/base.h (assertions, numeric types) is
# ordinary C++ and free for all.
SIMD_HEADER = re.compile(r"hwy/(?!base\.h)")
# Includes it for all others, and refuses old versions.
HIGHWAY_BASE = "skald/base/highway.h"
SIMD_FOLDERS = {"kernels", "base"}
TARGET_LOOP = "hwy/foreach_target.h"

TOP_LEVEL = {"include", "tests", "examples", "benchmarks", "build",
             "CMakeLists.txt", "CMakePresets.json", "CMakeUserPresets.json", "README.md", "LICENSE"}

# The library prints nothing, ends no process and reads no environment.
FORBIDDEN = re.compile(
    r"\b(abort|exit|_Exit|quick_exit|terminate|f?printf|puts|getenv|cout|cerr|clog|HWY_ABORT|HWY_ASSERT)\b")

# The C library's functions differ between systems in the last bit; base/mathematics/ has the same bits everywhere.
C_MATHEMATICS = re.compile(
    r"(?<![\w.>])(?:std::|__builtin_)?((?:sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|exp|exp2|expm1|log|log2|log10"
    r"|log1p|pow|cbrt|hypot|erf|erfc|tgamma|lgamma)[fl]?)\(")

# Foreign JSON is parsed in one place, where limits of depth and size hold.
JSON_PARSER = pathlib.PurePath("include/skald/base/json/detail/read_json.h")
JSON_PARSING = re.compile(r"\b[Jj]son::(parse|accept|sax_parse|from_[a-z]+)\b|\bsax_parse\(|\binput_adapter\(|(?<!\w)_json\b")

# Other versions lay out some lines differently.
CLANG_FORMAT_VERSION = "14"

SOURCE_SUFFIXES = {".h", ".cc", ".py", ".sh", ".cmake"}
WARN_LINES, MAX_LINES = 500, 800
MAX_COLUMNS = 120


COMMENT_OR_LITERAL = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.DOTALL)


def only_code(text):
    """Blanks out comments and literals, keeping the line numbers."""
    return COMMENT_OR_LITERAL.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def room_of(header, folder):
    """The room of skald/<folder>/<room>/<name>.h; "" for a file of the folder itself."""
    inside = pathlib.PurePath(header).relative_to(pathlib.PurePath("skald") / folder)
    return inside.parts[0] if len(inside.parts) > 1 and inside.parts[0] != DETAIL else ""


def height_of(room, rooms):
    """The place of a room in its line of ROOMS; None for a room that is not there."""
    return rooms.index(room) if room in rooms else rooms.index("*") if "*" in rooms else None


class Ways:
    """How headers come to those that `goal` names, in a program of many sources."""

    def __init__(self, include, goal):
        self.include, self.goal, self.found = include, goal, {}

    def of(self, header):
        """The headers on the way, from this one on; None if there is none."""
        if self.goal.match(header):
            return [header]
        if header not in self.found:
            self.found[header] = None
            path = self.include / header
            text = INLINE_DEFINITIONS.sub("", path.read_text()) if path.exists() else ""
            ways = map(self.of, re.findall(r'^#include [<"]([^">]+)[">]', text, re.MULTILINE))
            self.found[header] = next(([header, *way] for way in ways if way), None)
        return self.found[header]


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
            self.check_definitions(path)
        self.check_one_target_loop(headers)
        self.check_compiled_lists(headers)
        self.check_descriptions()
        self.check_public_face(headers)

    def check_table(self):
        """The table above must itself point downwards."""
        order = list(MAY_INCLUDE)
        for position, folder in enumerate(order):
            assert MAY_INCLUDE[folder] <= set(order[position + 1:]), folder

    def check_top_level(self):
        for path in self.root.iterdir():
            if path.name not in TOP_LEVEL and not path.name.startswith("."):
                self.problem(path, 0, "does not belong at the top level")
        for folder in MAY_INCLUDE:
            if not (self.root / "include/skald" / folder / "README.md").exists():
                self.problem(self.root / "include/skald" / folder, 0, "has no README.md")
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
        if path.suffix in {".h", ".cc"} and path.relative_to(self.root).parts[0] in {"include", "examples"}:
            self.check_json(path, data.decode())

    def check_json(self, path, text):
        if path.relative_to(self.root) == JSON_PARSER:
            return
        for number, line in enumerate(only_code(text).split("\n"), 1):
            if found := JSON_PARSING.search(line):
                self.problem(path, number, f"{found.group().rstrip('(')}: use ParseJson of base/json/json_tree.h")

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
        if folder not in MAY_INCLUDE and folder not in ABOVE_ALL:
            self.problem(path, 0, f"include/skald has no room named {folder}")
            return
        header = path.relative_to(self.root / "include")
        for house in [folder] + [other for other in ROOMS if header.is_relative_to(f"skald/{other}")]:
            if height_of(room_of(header, house), ROOMS.get(house, [""])) is None:
                self.problem(path, 0, f"include/skald/{house} has no room named {room_of(header, house)}")
                return
        text = path.read_text()
        for number, line in enumerate(text.split("\n"), 1):
            if include := re.match(r'\s*#\s*include\s*[<"]([^">]+)[">]', line):
                self.check_include(path, number, folder, include[1])
        for number, line in enumerate(only_code(text).split("\n"), 1):
            if found := FORBIDDEN.search(line):
                self.problem(path, number, f"{found[1]} has no place in the library")
            if found := C_MATHEMATICS.search(line):
                self.problem(path, number, f"{found[1]}() differs between systems: use base/mathematics/")

    def check_include(self, path, number, folder, included):
        if SIMD_HEADER.match(included) and folder not in SIMD_FOLDERS | ABOVE_ALL:
            self.problem(path, number, f"only kernels/ may include {included}")
        if included == "hwy/base.h" and path != self.root / "include" / HIGHWAY_BASE:
            self.problem(path, number, f"{included} must be included by {HIGHWAY_BASE}")
        header = path.relative_to(self.root / "include")
        may_be_system = SYSTEM_FOLDERS.search(header.as_posix()) or header.as_posix() in HAVE_SYSTEM_HEADERS
        if SYSTEM_HEADER.match(included) and not may_be_system:
            self.problem(path, number, f"{included} is of one operating system: use base/files/file_calls.h or the like")
        if (path.parent / included).exists():
            self.problem(path, number, f"{included} must be included by its path from include/")
        if not (self.root / "include" / included).exists():
            return
        other = included.split("/")[1]
        if folder != other and folder not in ABOVE_ALL and other not in MAY_INCLUDE[folder]:
            self.problem(path, number, f"{folder}/ may not include {included}")
        for house, rooms in ROOMS.items():
            inside = all(pathlib.PurePath(each).is_relative_to(f"skald/{house}") for each in (header, included))
            if not inside or included in FOR_ALL_ROOMS:
                continue
            room = room_of(header, house)
            if height_of(room_of(included, house), rooms) < height_of(room, rooms):
                self.problem(path, number, f"{house}/{room} may not include {included}, which stands above it")

    def check_definitions(self, path):
        """A public header ends with the line that includes its definitions, and includes no other detail; details are
        their own room's alone."""
        header = path.relative_to(self.root / "include").as_posix()
        text = path.read_text()
        own = f"{path.parent.relative_to(self.root / 'include').as_posix()}/{DETAIL}/{path.name}"
        ending = f'#ifndef SKALD_COMPILED\n#include "{own}"\n#endif\n\n#endif  //'
        is_detail = f"/{DETAIL}/" in header
        definitions = path.parent / DETAIL / path.name
        defines = definitions.exists() and re.search(r"^SKALD_INLINE", definitions.read_text(), re.MULTILINE)
        if not is_detail and defines and ending not in text:
            self.problem(path, 0, f"the definitions in {own} must be included at its end")
        for number, line in enumerate(text.split("\n"), 1):
            include = re.match(r'#include "(skald/([^/]+)/[^"]+)"', line)
            if not include or f"/{DETAIL}/" not in include[1] or header.startswith("skald/compiled"):
                continue
            if header.split("/")[1] != include[2] and not (is_detail and include[1].startswith(SHARED_DETAILS)):
                self.problem(path, number, f"{include[1]} is a detail of another room")
            elif not is_detail and include[1] != own:
                self.problem(path, number, f"a public header may not include {include[1]}")

    def check_compiled_lists(self, headers):
        """Every file of definitions is compiled by one of the lists in skald/compiled/."""
        lists = "".join(path.read_text() for path in (self.root / "include/skald/compiled").glob("*.h"))
        for path in headers:
            if SYSTEM_FOLDERS.search(path.as_posix()):
                continue
            if f"{DETAIL}/" not in path.as_posix() or not re.search(r"^SKALD_INLINE", path.read_text(), re.MULTILINE):
                continue
            times = lists.count(f'#include "{path.relative_to(self.root / "include").as_posix()}"')
            if times != 1:
                self.problem(path, 0, f"skald/compiled/ lists these definitions {times} times, expected once")

    def check_descriptions(self):
        include = self.root / "include"
        to_arithmetic = Ways(include, ARITHMETIC)
        for pattern in DESCRIPTIONS:
            for path in sorted((include / "skald").glob(pattern)):
                way = to_arithmetic.of(path.relative_to(include).as_posix())
                if way and f"/{DETAIL}/" not in path.as_posix():
                    self.problem(path, 0, "a description must not include arithmetic: " + " includes ".join(way[1:]))

    def check_public_face(self, headers):
        to_foreign = Ways(self.root / "include", FOREIGN)
        for path in headers:
            header = path.relative_to(self.root / "include").as_posix()
            if f"/{DETAIL}/" in header or header.endswith("-inl.h") or OF_OTHER_LIBRARIES.match(header):
                continue
            if way := to_foreign.of(header):
                self.problem(path, 0, "a public header must not include another library: " + " includes ".join(way[1:]))

    def check_one_target_loop(self, headers):
        """Its include guard makes every use after the first a no-op, so there must be one."""
        users = [path for path in headers if f'#include "{TARGET_LOOP}"' in path.read_text()]
        if len(users) != 1:
            self.problem(self.root / "include", 0, f"{len(users)} headers include {TARGET_LOOP}; one must")

    def check_layout(self):
        """clang-format decides the layout of every file. Returns whether it is there."""
        program = shutil.which(f"clang-format-{CLANG_FORMAT_VERSION}") or shutil.which("clang-format")
        version = program and subprocess.run([program, "--version"], capture_output=True, text=True).stdout
        if not version or f"version {CLANG_FORMAT_VERSION}." not in version:
            self.warnings.append(f"no clang-format {CLANG_FORMAT_VERSION}: the layout of sources was not checked")
            return False
        sources = [path for path in self.sources() if path.suffix in {".h", ".cc"}]
        found = subprocess.run([program, "--dry-run", *sources], capture_output=True, text=True).stderr
        for path, line in sorted(set(re.findall(r"^(\S+?):(\d+):\d+: warning", found, re.MULTILINE))):
            self.problem(pathlib.Path(path), int(line), "clang-format would lay this out otherwise")
        return True


def main():
    arguments = sys.argv[1:]
    only = arguments.pop(0) if arguments and arguments[0] in ("--rules", "--layout") else None
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parents[2]).resolve()
    lint = Lint(root)
    if only != "--layout":
        lint.run()
    has_formatter = only == "--rules" or lint.check_layout()
    for warning in lint.warnings:
        print("warning:", warning)
    for problem in lint.problems:
        print(problem)
    print(f"{len(lint.problems)} problems")
    if only == "--layout" and not has_formatter:
        return 77
    return 1 if lint.problems else 0


if __name__ == "__main__":
    sys.exit(main())
