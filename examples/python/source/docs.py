#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gathers the comments of the public headers, which are the docstrings of the Python module.

usage: docs.py OUTPUT INCLUDE_FOLDER SOURCE_FOLDER
       docs.py --unbound INCLUDE_FOLDER SOURCE_FOLDER [ROOM...]

Writes one line {"Class::Member", "text"} for each name that the sources ask for by Doc("Class::Member"), sorted, and
fails for one that no header documents. Overloads share the first comment. With --unbound it lists instead, header by
header, the documented names of rooms (all, unless some are named) that no source mentions.
"""
import pathlib
import re
import sys

SCOPE = re.compile(r"^(?:class|struct|enum class) (\w+)(?: final)?[^;]*\{")
NAME = re.compile(r"(~?\w+)(?=\()|(\w+)(?=\s*(?:=[^=].*|\{.*)?;)|^\s*(k\w+)\b")


def name_of(code):
    """Returns the name that a line declares, or nothing."""
    code = re.sub(r"^\s*(template <.*>|requires.*|static|inline|constexpr|explicit|virtual)\s+", "", code)
    scope = re.match(r"^(?:class|struct|enum class) (\w+)", code)
    if scope:
        return scope[1]
    found = NAME.search(code)
    return next((group for group in found.groups() if group), None) if found else None


def comments(text):
    """Yields (scope, name, comment) of what a header documents."""
    scope, gathered = "", []
    for line in text.split("\n"):
        if line.startswith("}"):
            scope = ""
        comment = re.match(r"^\s*/// ?(?!<)(.*)$", line)
        if comment:
            gathered.append(comment[1])
            continue
        opened = SCOPE.match(line)
        name = name_of(line) if line.strip() else None
        trailing = re.search(r"///< ?(.*)$", line)
        if name and (gathered or trailing):
            yield scope, name, " ".join(gathered) if gathered else trailing[1]
        if opened and "}" not in line:
            scope = opened[1]
        if not line.rstrip().endswith(">") or not line.lstrip().startswith("template"):
            gathered = []


def in_python(comment):
    """Constants as Python spells them."""
    upper = lambda match: re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", match[1]).upper()
    return re.sub(r"\bk([A-Z]\w+)\b", upper, comment)


def public_headers(folder):
    return [header for header in sorted(folder.rglob("*.h"))
            if not {"detail", "kernels", "compiled"} & set(header.relative_to(folder).parts)]


def list_unbound(folder, sources, rooms):
    words = set(re.findall(r"\w+", " ".join(source.read_text() for source in sources.rglob("*.cc"))))
    for header in public_headers(folder):
        path = header.relative_to(folder)
        names = [f"{scope}::{name}" if scope else name for scope, name, _ in comments(header.read_text()) if name not in words]
        if names and (not rooms or path.parts[0] in rooms):
            print(f"{path}: {' '.join(dict.fromkeys(names))}")


def main():
    if sys.argv[1:2] == ["--unbound"]:
        return list_unbound(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4:])
    output, folder, sources = map(pathlib.Path, sys.argv[1:])
    found = {}
    for header in public_headers(folder):
        for scope, name, comment in comments(header.read_text()):
            found.setdefault(f"{scope}::{name}" if scope else name, in_python(comment))
    wanted = {name for source in sources.rglob("*.cc") for name in re.findall(r'Doc\("([\w:]+)"\)', source.read_text())}
    if missing := sorted(wanted - found.keys()):
        sys.exit(f"no header documents {', '.join(missing)}")
    lines = [f'{{"{name}", R"doc({found[name]})doc"}},' for name in sorted(wanted)]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("// Of the headers in include/skald, by docs.py.\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
