#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses phrases that make comments, error messages and documents hard to read.

usage: words.py [repository [path...]]

Prints one line for each phrase found and fails if there is any. Comments, Markdown outside of code, and the string
literals of the library and the program are checked. A quotation of such a phrase belongs in `backticks`. Without paths
everything is checked.
"""

import pathlib
import re
import sys

FOLDERS = ("include", "tests", "examples", "benchmarks", ".ci", ".github")
SOURCE_SUFFIXES = {".h", ".cc"}
SCRIPT_SUFFIXES = {".py", ".sh", ".cmake"}
# Texts of others: published templates, and data that tests read.
FOREIGN = ("include/skald/templates/library/", "tests/golden/data/", "tests/configs/published/", "tests/lint/words.py",
           "examples/demo_model/")

PEOPLE = r"(?<![Uu]sers )(?<![Uu]ser )(?<![Pp]eople )(?<!person )(?<!those )(?<!authors )(?<!attacker )(?<!anyone )"

# What is refused, and what to write in its place.
PHRASES = [
    (r"\b[Ww]hoever\b|\b[Ww]hom\b", "name the caller, thread, request or file"),
    (PEOPLE + r"\b[Ww]ho\b", "name the caller, thread, request or file"),
    (r"\b(?:[Ss]ome|[Aa]ny|[Ee]very|[Nn]o)body\b|\b[Ss]omeone\b|\b[Nn]o one\b", "name the caller, thread, request or user"),
    (r"\b[Bb]ehind\b(?! (?:a |the |an |nginx)[a-z ]*prox| HTTPS)", "after, at the end of, or below"),
    (r"\b[Ss]tands? (?:for|in|at|behind|beside|above|before|after|there|here|as|on|by|between|where)\b|\bas it stands\b",
     "is, is written, means, represents or replaces"),
    (r"\b[Dd]ealt\b|\b[Dd]eals?\b(?! with)", "partition"),
    (r"\bhas to be asked\b", "say which call reports it"),
    (r"\b[Ww]here there (?:is|are|was|were)\b", "if there is"),
    (r"\b[Bb]oth in a row\b|\b[Tt]he other way round?\b\.", "say what is done"),
]

# A sentence that begins with a relative clause as its subject, or is nothing but such a clause.
FREE_RELATIVE = re.compile(r"(?:^|(?<=[.:;!?)] )|(?<=\n))(What|Whatever|Who)\b[^?]*?(?:[.;:!](?=\s|$)|[?]|$)")
QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"")
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
COMMENT = re.compile(r"^\s*(?:///?<?|#)(?: (.*)|)$")
TRAILING = re.compile(r"""^(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+'|[^"'/]|/(?!/)|')*?\S\s*///?<? (.*)$""")


def paragraphs(path, text):
    """Yields the line at which each paragraph of prose begins, and its text."""
    lines = text.split("\n")
    if path.suffix == ".md":
        yield from markdown(lines)
        return
    start, gathered, is_trailing = 0, [], False
    for number, line in enumerate([*lines, ""], 1):
        whole = COMMENT.match(line) if not line.startswith("#!") else None
        trailing = None if whole or path.suffix not in SOURCE_SUFFIXES else TRAILING.match(line)
        if whole and whole[1]:
            start = start if gathered else number
            gathered.append(whole[1].strip())
            continue
        if gathered:
            yield start, " ".join(gathered)
        start, gathered = number, [trailing[1].strip()] if trailing else []
    if path.suffix == ".py":
        for found in re.finditer(r'"""(.*?)"""', text, re.DOTALL):
            yield text.count("\n", 0, found.start()) + 1, " ".join(found[1].split())


def markdown(lines):
    start, gathered, is_code = 0, [], False
    for number, line in enumerate([*lines, ""], 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        ends = not line.strip() or is_code or line.startswith("    ") or line.lstrip().startswith(("```", "- ", "|", "#"))
        if ends and gathered:
            yield start, " ".join(gathered)
            gathered = []
        is_prose = line.strip() and not is_code and not (line.startswith("    ") and not gathered) and "```" not in line
        if is_prose:
            start = start if gathered else number
            gathered.append(line.strip().lstrip("-#| ").strip())


def literals(text):
    for number, line in enumerate(text.split("\n"), 1):
        if not line.lstrip().startswith("//") and "R\"" not in line:
            yield from ((number, literal) for literal in LITERAL.findall(line) if " " in literal)


def problems_of(path, name, text):
    """Yields (line, phrase, advice)."""
    for number, prose in paragraphs(path, text):
        prose = QUOTED.sub('"..."', prose)
        for pattern, advice in PHRASES:
            yield from ((number, found.group(), advice) for found in re.finditer(pattern, prose))
        for found in FREE_RELATIVE.finditer(prose):
            if not found.group().endswith("?"):
                yield number, found.group()[:40], "begin with the subject"
    if path.suffix in SOURCE_SUFFIXES and name.startswith(("include/", "examples/skald/", "examples/server/")):
        for number, literal in literals(text):
            for pattern, advice in PHRASES:
                yield from ((number, found.group(), advice) for found in re.finditer(pattern, literal))


def check(root, only=()):
    """Returns a line for each problem."""
    found = []
    paths = [root / "README.md", root / "CMakeLists.txt"]
    for folder in FOLDERS:
        paths += sorted((root / folder).rglob("*"))
    for path in paths:
        name = path.relative_to(root).as_posix()
        is_prose = path.suffix in SOURCE_SUFFIXES | SCRIPT_SUFFIXES | {".md"} or path.name == "CMakeLists.txt"
        if not is_prose or not path.is_file() or name.startswith(FOREIGN):
            continue
        if only and not name.startswith(only):
            continue
        for number, phrase, advice in problems_of(path, name, path.read_text(errors="replace")):
            found.append(f"{name}:{number}: \"{phrase}\": {advice}")
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    found = check(root, tuple(sys.argv[2:]))
    for problem in found:
        print(problem)
    print(f"{len(found)} phrases")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
