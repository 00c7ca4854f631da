#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what Python adds to a decode step: Python's steps and those of C++, in turns, of models with random weights.

usage: bench.py DECODE_STEPS [ROUNDS]

DECODE_STEPS is the program of benchmarks/ that computes the steps in C++. Both use one thread; where the system can, both
are kept on the processor that this starts on. Prints for a tiny model and for one of TinyLlama's shape, in bf16, the least
and the median time of a step of both, and how much more Python's is: the least of many is what a busy machine disturbs
least. The module's import is measured too, in processes of their own.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

import skald


class Child:
    """Steps in C++."""

    def __init__(self, program, spec):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(spec)
            file.flush()
            self.process = subprocess.Popen([program, file.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert self.process.stdout.readline() == "ready\n"

    def steps(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return [int(word) for word in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Own:
    """Steps in Python."""

    def __init__(self, spec):
        self.model, self.workspace = skald.random_model(spec), skald.Workspace(threads=1)

    def steps(self, count):
        model, workspace, cache = self.model, self.workspace, skald.KVCache(self.model)
        model.forward(cache, [1, 2, 3], workspace)
        times, clock, token = [], time.perf_counter_ns, [5]
        for _ in range(count):
            begin = clock()
            model.forward(cache, token, workspace)
            times.append(clock() - begin)
        return times


def compare(name, program, spec, rounds, count):
    child, own = Child(program, spec), Own(spec)
    theirs, ours = [], []
    for _ in range(rounds):
        theirs += child.steps(count)
        ours += own.steps(count)
    child.close()
    least, median = min(ours) - min(theirs), statistics.median(ours) - statistics.median(theirs)
    print(f"{name}: C++ least {min(theirs) / 1e3:.1f} us, median {statistics.median(theirs) / 1e3:.1f}; Python adds "
          f"{least / 1e3:.1f} us ({100 * least / min(theirs):.2f} %), by medians {median / 1e3:.1f} us "
          f"({100 * median / statistics.median(theirs):.2f} %)")


def import_seconds(imported):
    """The least of many processes."""
    program = f"import time; t = time.perf_counter(); import {imported}; print(time.perf_counter() - t)"
    return min(float(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout) for _ in range(20))


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(f"import: {import_seconds('skald') * 1e3:.1f} ms")
    shape = subprocess.run([program, "tinyllama"], capture_output=True, check=True, text=True).stdout
    golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/golden/data/llama")
    compare("tiny", program, skald.load_model(golden).spec_json, rounds, 500)
    compare("TinyLlama's shape", program, shape, rounds, 10)


if __name__ == "__main__":
    main()
