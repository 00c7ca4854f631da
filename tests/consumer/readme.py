#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the README's program, which is compiled with the README's command if it is told how.

usage: readme.py PROGRAM [COMPILER HIGHWAY_LIBRARY ARGUMENT...]

The command is changed only where this build differs from a system with everything in its usual place: which
compiler, where Highway's library is, and more arguments (include folders).
"""
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def compile_program(program, compiler, highway, arguments):
    readme = (ROOT / "README.md").read_text()
    source = pathlib.Path(program + ".cc")
    source.write_text(re.search(r"```cpp\n(.*?)```", readme, re.DOTALL)[1])
    words = re.search(r"^ +g\+\+ (.*chat\.cc.*)$", readme, re.MULTILINE)[1].split()
    words = [{"chat.cc": str(source), "-lhwy": highway}.get(word, word) for word in words]
    start = time.monotonic()
    subprocess.run([compiler, *arguments, *words, "-o", program], cwd=ROOT, check=True)
    print(f"compiled in {time.monotonic() - start:.1f} s", flush=True)


def whole_output(program):
    return subprocess.run([program], cwd=ROOT, check=True, capture_output=True, text=True,
                          input="And the king said\nunto the people\n").stdout


def first_words(program):
    """Of a program that was not optimised, which writes two answers in a minute and a half."""
    output = ""
    with subprocess.Popen([program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        running.stdin.write("And the king said\n")
        running.stdin.flush()
        while len(output.split()) <= 21 and (letter := running.stdout.read(1)):
            output += letter
        running.kill()
    return output


def main():
    program, *how = sys.argv[1:]
    if how:
        compile_program(program, how[0], how[1], how[2:])
    output = whole_output(program) if how else first_words(program)
    print(output)
    return 0 if len(output.split()) > 20 else "expected more than 20 words of text"


if __name__ == "__main__":
    sys.exit(main())
