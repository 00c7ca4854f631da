#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes portable_mathematics_values.h: exact results of the functions of base/mathematics/, each rounded once.

usage: portable_mathematics_values.py > portable_mathematics_values.h
"""

import random

import mpmath

mpmath.mp.prec = 1400  # sin of the largest double needs 1,024 bits of pi before the first that counts


def rounded(function, *inputs):
    return float(function(*map(mpmath.mpf, inputs)))


def angles(source):
    """Of rotary embeddings; then of every size, and next to quarter turns."""
    yield from (position * base ** (-2.0 * pair / 128) for base in (1e4, 5e5, 1e6) for pair in (0, 1, 20, 63)
                for position in (1, 4095, 131071, 999999, 2**31 - 1))
    yield from (source.uniform(1, 2) * 2.0 ** source.randint(-40, 1023) for _ in range(60))
    yield from (float(mpmath.pi / 2 * quarters) for quarters in (1, 2, 3, 4, 1000003, 2**40 + 1))
    yield float.fromhex("0x1.6ac5b262ca1ffp+849")  # no double is nearer to a multiple of pi / 2 (Muller 2005, chapter 11)


def main():
    source = random.Random(1)
    logarithms = [source.uniform(1, 2) * 2.0 ** source.randint(-1060, 1020) for _ in range(60)]
    logarithms += [1 + sign * 2.0**-bits for bits in range(1, 53) for sign in (1, -1)]
    near_one = [sign * source.uniform(0.5, 1) * 2.0**-bits for bits in range(60) for sign in (1, -1)]
    powers = [(base, -2.0 * pair / size) for base in (1e4, 150000.0, 5e5, 1e6, 1e7) for size in (48, 64, 128, 256)
              for pair in range(1, size // 2, size // 16)]
    powers += [(source.uniform(0.5, 2), source.uniform(-700, 700)) for _ in range(60)]
    powers += [(source.uniform(1, 2) * 2.0 ** source.randint(-900, 900), source.uniform(-1, 1)) for _ in range(60)]
    tables = {
        "SinCosValue": ("x, sin, cos", [(x, rounded(mpmath.sin, x), rounded(mpmath.cos, x)) for x in angles(source)]),
        "LogValue": ("x, log", [(x, rounded(mpmath.log, x)) for x in logarithms]),
        "Log1pValue": ("x, log1p", [(x, rounded(mpmath.log1p, x)) for x in near_one]),
        "PowValue": ("x, y, pow", [(x, y, rounded(mpmath.power, x, y)) for x, y in powers]),
    }

    print("// SPDX-License-Identifier: Apache-2.0\n//\n// Exact results, rounded once. Written by portable_mathematics_values.py.\n")
    print("#ifndef SKALD_TESTS_BASE_PORTABLE_MATHEMATICS_VALUES_H_\n#define SKALD_TESTS_BASE_PORTABLE_MATHEMATICS_VALUES_H_\n")
    print("namespace skald::portable_mathematics_values {\n")
    for name, (members, rows) in tables.items():
        print(f"struct {name} {{\n  double {members};\n}};\n\ninline constexpr {name} k{name}s[] = {{")
        for row in rows:
            print(f"    {{{', '.join(number.hex() for number in row)}}},")
        print("};\n")
    print("}  // namespace skald::portable_mathematics_values\n")
    print("#endif  // SKALD_TESTS_BASE_PORTABLE_MATHEMATICS_VALUES_H_")


if __name__ == "__main__":
    main()
