#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how much Python adds to a step: microseconds of a `forward` of a tiny model, and of a decode step of a real one.

usage: bench.py [MODEL [STEPS]]

Prints one line of figures. `skald bench` measures the same step of the same model in C++.
"""
import statistics
import sys
import time

start = time.perf_counter()
import skald

IMPORT_SECONDS = time.perf_counter() - start


def steps(model, threads, count):
    """Returns the seconds of each of `count` steps that follow a short prompt."""
    workspace, cache = skald.Workspace(threads), skald.KVCache(model)
    model.forward(cache, [1, 2, 3], workspace)
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        model.forward(cache, [5], workspace)
        times.append(time.perf_counter() - begin)
    return times


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "examples/demo_model"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    model = skald.load_model(path)
    times = sorted(steps(model, 1, count))
    print(f"import {IMPORT_SECONDS * 1e3:.1f} ms; a step of {path}: median {statistics.median(times) * 1e6:.1f} us, "
          f"least {times[0] * 1e6:.1f} us, one thread")


if __name__ == "__main__":
    main()
