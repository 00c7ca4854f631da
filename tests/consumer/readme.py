#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the README's program with the README's command and runs it.

usage: readme.py PROGRAM COMPILER HIGHWAY_LIBRARY ARGUMENT...

The command is changed only where this build differs from a system with everything in its usual place: which
compiler, where Highway's library is, and more arguments (include folders, -O0 in place of -O2).
"""
import pathlib
import re
import subprocess
import sys
import time


def main():
    program, compiler, highway, *arguments = sys.argv[1:]
    root = pathlib.Path(__file__).resolve().parents[2]
    readme = (root / "README.md").read_text()
    source = pathlib.Path(program + ".cc")
    source.write_text(re.search(r"```cpp\n(.*?)```", readme, re.DOTALL)[1])

    words = re.search(r"^ +g\+\+ (.*chat\.cc.*)$", readme, re.MULTILINE)[1].split()
    words = [{"chat.cc": str(source), "-lhwy": highway}.get(word, word) for word in words]
    if "-O0" in arguments:
        words.remove("-O2")
    start = time.monotonic()
    subprocess.run([compiler, *arguments, *words, "-o", program], cwd=root, check=True)
    print(f"compiled in {time.monotonic() - start:.1f} s", flush=True)
    output = subprocess.run([program], cwd=root, check=True, capture_output=True, text=True,
                            input="And the king said\nunto the people\n").stdout
    print(output)
    return 0 if len(output.split()) > 20 else "expected more than 20 words of text"


if __name__ == "__main__":
    sys.exit(main())
