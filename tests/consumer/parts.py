#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parts of the library that need no further library, and those of conversations, need no symbol of others: programs
without stores and engines link them alone.

usage: parts.py NM LIBRARY
"""
import re
import subprocess
import sys

ALONE = ["kernels", "base", "cache", "weights", "layers", "families", "model", "distributed", "sampling", "speculation"]
CONVERSATIONS = ["tokenizers", "templates", "constraints", "answers", "open"]


def symbols(nm, library):
    """Returns for each part the symbols that it defines, and those that it only uses."""
    text = subprocess.run([nm, "--demangle", library], check=True, capture_output=True, text=True).stdout
    found, part = {}, None
    for line in text.splitlines():
        if member := re.match(r"(\w+)\.cc\.o(bj)?:$", line):
            part = found.setdefault(member[1], (set(), set()))
        elif symbol := re.match(r"[0-9a-f ]*([A-Za-z]) (.*)$", line):
            if part is not None:
                part[symbol[1] == "U"].add(symbol[2])
    return found


def main():
    found = symbols(*sys.argv[1:])
    failed = False
    for names in (ALONE, ALONE + CONVERSATIONS):
        parts = [found[name] for name in names if name in found]
        defined, used = (set().union(*(part[i] for part in parts)) for i in (0, 1))
        for symbol in sorted(symbol for symbol in used - defined if symbol.startswith("skald::")):
            print(f"{'conversations' if names is not ALONE else 'parts without libraries'} need {symbol}")
            failed = True
    if len(found) < len(ALONE):
        sys.exit(f"expected the parts {ALONE}, found {sorted(found)}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
