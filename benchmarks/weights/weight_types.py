#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what each type of weights costs on each SIMD target, as the Markdown table of benchmarks/README.md.

usage: weight_types.py MATMUL_BENCH [TARGET...]

Runs matmul_bench on one core: one row, which decoding is bound by, and 512, as in a prompt, of TinyLlama's gate and up
projections. Shows the share of the speed of memory for one row, and GFLOP/s or GOP/s for 512. Types that occur only in files are beside the one that they are kept as; bits are those of one weight, its scales included.
"""

import json
import pathlib
import re
import subprocess
import sys

FORMATS = pathlib.Path(__file__).resolve().parents[2] / "include/skald/weights/types/gguf_blocks.h"
SHAPE, OUTPUTS, TERMS = "TinyLlama-1.1B/gate_up", 11264, 2048


def file_types():
    """Returns {type in memory: [(type in a file, its bits)]}, from the list that files are read by."""
    text = FORMATS.read_text()
    types = {"F32": [("F32", 32.0)], "BF16": [("BF16", 16.0), ("F16", 16.0)]}
    nested = r'\{"(\w+)", NestedFormat<\w+>\(DType::k(\w+), ()(\d+)\)\}'
    for pattern in (nested, r'\{"(\w+)", \{DType::k(\w+), (\d+), (\d+), \w+\}\}'):
        for name, packed, terms, size in re.findall(pattern, text):
            types.setdefault(packed, []).append((name, 8 * int(size) / int(terms or 256)))
    return types


def measure(program, targets):
    """Returns {(type, rows, target): benchmark}."""
    options = [f"--benchmark_filter=^MatMul/[^/]*/{SHAPE}/(1|512)/({'|'.join(targets)})$", "--benchmark_format=json"]
    output = subprocess.run([program, *options], check=True, capture_output=True, text=True).stdout
    found = {}
    for row in json.loads(output)["benchmarks"]:
        _, kind, _, _, rows, target = row["name"].split("/")
        found[kind, int(rows), target] = row
    return found


def memory_bits(row):
    return 8 * row["GB/s"] * 1e9 * row["cpu_time"] / 1e6 / (OUTPUTS * TERMS)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    targets = sys.argv[2:] or [r"[A-Z0-9_]+"]
    found = measure(sys.argv[1], targets)
    targets = sorted({target for _, _, target in found})
    from_files = file_types()
    print("| in memory | bits | in files, bits | " + " | ".join(f"{target}: 1 row, 512 rows" for target in targets) + " |")
    print("|---|---|---|" + "---|" * len(targets))
    kinds = dict.fromkeys(kind for kind, _, _ in found)
    bits = {kind: memory_bits(found[kind, 1, targets[0]]) for kind in kinds}
    for kind in sorted(kinds, key=lambda kind: -bits[kind]):
        files = ", ".join(f"{name} {size:.4g}" for name, size in from_files.get(kind, []))
        cells = []
        for target in targets:
            one, many = found[kind, 1, target], found[kind, 512, target]
            cells.append(f"{one['of_limit']:.2f}, {many['GFLOP/s']:.0f}")
        print(f"| {kind} | {bits[kind]:.4g} | {files} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
