#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts a second of an encoder by Skald, ONNX Runtime and sentence-transformers, in turns, and the memory of each.

usage: encoders.py encode_bench MODEL [--onnx FILE] [--turns N]

MODEL is a folder of sentence-transformers. FILE is the model as torch.onnx exports it, with the inputs input_ids and
attention_mask (and token_type_ids) and rows of tokens as its first output; their mean is taken here. Peers that are not
installed are left out with a word. Each engine is a process of its own in each turn, so the largest memory is its own;
the fastest of a few repeats counts. Random ids of 16, 128 and 512 tokens, one and two threads.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time

TOKENS = 8192  # of a repeat
LENGTHS, THREADS = (16, 128, 512), (1, 2)


def ids_of(length):
    import numpy
    return numpy.random.default_rng(1).integers(1000, 20000, (TOKENS // length, length))


def fastest(function, batches, repeats=4):
    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        for batch in batches:
            function(batch)
        best = min(best, time.perf_counter() - begin)
    return best


def batches_of(length):
    ids = ids_of(length)
    size = max(1, 2048 // length)
    return [ids[i:i + size] for i in range(0, len(ids), size)], len(ids)


def onnx(path, threads, longest):
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]

    def run(batch):
        given = dict(input_ids=batch, attention_mask=numpy.ones_like(batch), token_type_ids=numpy.zeros_like(batch))
        session.run(None, {name: given[name] for name in names})[0].mean(1)
    return measured(run, longest)


def torch_model(path, threads, longest):
    import torch
    from sentence_transformers import SentenceTransformer
    torch.set_num_threads(threads)
    model = SentenceTransformer(path, device="cpu")

    def run(batch):
        given = torch.from_numpy(batch)
        with torch.inference_mode():
            model(dict(input_ids=given, attention_mask=torch.ones_like(given)))
    return measured(run, longest)


def measured(run, longest):
    found = {}
    for length in LENGTHS:
        batches, count = batches_of(min(length, longest))
        run(batches[0])
        found[length] = count / fastest(run, batches)
    return found


def skald(bench, path, kind, threads):
    """Texts a second by length."""
    name = f"^model_{kind}/.*/{threads}/"
    lines = subprocess.run([bench, f"--benchmark_filter={name}", "--benchmark_format=json"], capture_output=True,
                           env=dict(os.environ, SKALD_ENCODER=path), check=True).stdout
    return {int(re.search(r"/(\d+)/\d+/", run["name"])[1]): run["texts"]
            for run in json.loads(lines)["benchmarks"] if "texts" in run}


def in_child(arguments):
    """Returns what this script prints with `--one`, or why it failed."""
    child = subprocess.run([sys.executable, __file__, "--one", json.dumps(arguments)], capture_output=True, text=True)
    if child.returncode != 0:
        return None, child.stderr.strip().splitlines()[-1:]
    return json.loads(child.stdout.splitlines()[-1]), None


def one(arguments):
    kind, path, threads, longest, bench = arguments
    calls = dict(onnx=lambda: onnx(path, threads, longest), torch=lambda: torch_model(path, threads, longest))
    found = calls[kind]() if kind in calls else skald(bench, path, kind.removeprefix("skald "), threads)
    largest = max(resource.getrusage(who).ru_maxrss for who in
                  ((resource.RUSAGE_SELF,) if kind in calls else (resource.RUSAGE_CHILDREN,)))
    print(json.dumps(dict(texts=found, megabytes=largest / 1024)))


def main():
    if sys.argv[1:2] == ["--one"]:
        return one(json.loads(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("model")
    parser.add_argument("--onnx")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    longest = json.load(open(os.path.join(options.model, "config.json")))["max_position_embeddings"]
    engines = [("skald f32", options.model), ("skald bf16", options.model), ("skald q8_0", options.model),
               ("torch", options.model)] + ([("onnx", options.onnx)] if options.onnx else [])
    best, memory = {}, {}
    for _ in range(options.turns):
        for threads in THREADS:
            for kind, path in engines:
                found, why = in_child([kind, path, threads, longest, options.bench])
                if found is None:
                    print(f"left out: {kind}: {why}", file=sys.stderr)
                    continue
                memory[kind] = max(memory.get(kind, 0), found["megabytes"])
                for length, texts in found["texts"].items():
                    key = (kind, threads, int(length))
                    best[key] = max(best.get(key, 0), texts)
    print("engine       threads  " + "".join(f"{length:>10}" for length in LENGTHS) + "   megabytes")
    for kind, _ in engines:
        for threads in THREADS:
            row = "".join(f"{best.get((kind, threads, length), 0):>10.1f}" for length in LENGTHS)
            print(f"{kind:<12} {threads:>7}  {row}   {memory.get(kind, 0):>9.0f}")


if __name__ == "__main__":
    main()
