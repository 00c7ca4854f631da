#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Skald with the llama.cpp of this machine, on the same GGUF files and token ids.

usage: compare.py [--llama-cpp FOLDER] [--build FOLDER] [FILE...]

llama.cpp's folder has its shared libraries (libllama and all of libggml); the variable SKALD_LLAMA_CPP names it too.
Without it nothing is compared, and the exit code is 77. The build with the program and the tests is build/release if no
other is named. Two tables come:

  architectures  the tiny models of tests/golden/data in F32, as `skald convert` or tests of GGUF files write them, and
                 each FILE: the largest difference of log-probabilities of all tokens, and of the 20 likeliest, between
                 ours and llama.cpp's; and of both from what the original implementation computed
  types          a trained model in each quantised type that both read: how far log-probabilities of the likeliest
                 tokens are from those of the model that was quantised, and from those that its quantised weights have
                 if they are multiplied in F32, which is what rounding activations costs: roots of mean squares

The exit code is 1 if ours are further than MOST from the original's, or from llama.cpp's if none is recorded, or if
rounding activations costs us more than MOST_RATIO times what it costs llama.cpp.
"""
import argparse
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from complete import complete
from gguf_writer import safetensors

SKIPPED, MOST, MOST_RATIO = 77, 2e-3, 2.5
LONGEST = 60  # seconds of one program
LIKELIEST, SHOWN = 20, 1000  # tokens: those that count most, and the most that the program tells
GOLDENS, TRAINED = ROOT / "tests/golden/data", ROOT / "examples/demo_model"
TYPES = ["q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl", "mxfp4_moe", "q6_k", "q5_k_s", "q4_k_s", "iq4_xs", "q3_k_s",
         "q2_k_s"]
TEXT = ("And it came to pass in those days, that the king of Israel went out against the Philistines, and the people "
        "of the land were with him. And he said unto them, Fear not: for the LORD your God is with you.")


class Refused(Exception):
    """A program said in one line why it gives no answer."""


def run(*words):
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LONGEST,
                              env=os.environ | {"GGML_NO_BACKTRACE": "1"})
    except subprocess.TimeoutExpired:
        raise Refused(f"no answer in {LONGEST} s")
    if done.returncode != 0:
        raise Refused((done.stderr.strip().splitlines() or [f"ended by signal {-done.returncode}"])[-1])
    return done.stdout


def normalised(logits):
    most = max(logits)
    total = most + math.log(math.fsum(math.exp(x - most) for x in logits))
    return dict(enumerate(x - total for x in logits))


class Peers:
    def __init__(self, program, libraries):
        self.program, self.libraries = program, libraries

    def ours(self, path, ids, positions):
        """Returns, for each position, the log-probabilities of the next token."""
        found = []
        for position in positions:
            said = run(self.program, "generate", "--model", path, "--token-ids", ",".join(map(str, ids[:position + 1])),
                       "--max-tokens", 1, "--temperature", 0, "--logprobs", SHOWN, "--f32", "--no-packed-cache")
            found.append({top["id"]: top["logprob"] for top in json.loads(said)["tokens"][0]["top"]})
        return found

    def theirs(self, path, ids, positions):
        said = run(sys.executable, pathlib.Path(__file__).with_name("logits.py"), self.libraries, path,
                   *(",".join(map(str, numbers)) for numbers in (ids, positions)))
        return [normalised(logits) for logits in json.loads(said)]


def likeliest(row, count):
    return sorted(row, key=row.get, reverse=True)[:count]


def furthest(rows, others, count=SHOWN):
    """The largest difference over all rows, of each one's likeliest tokens."""
    return max(abs(row[i] - other[i]) for row, other in zip(rows, others) for i in likeliest(row, count) if i in other)


def root_mean_square(rows, others):
    squares = [(row[i] - other[i]) ** 2 for row, other in zip(rows, others) for i in likeliest(row, 5 * LIKELIEST)
               if i in other]
    return math.sqrt(math.fsum(squares) / len(squares))


def numbers_of(tensor):
    dtype, shape, data = tensor
    return struct.unpack(f"<{math.prod(shape)}{dict(F32='f', I64='q', I32='i')[dtype]}", data), shape


def original(folder):
    """Returns the first recorded prompt and the log-probabilities that follow each of its tokens, or none."""
    path = folder / "golden.safetensors"
    tensors = safetensors(path) if path.exists() else {}
    if not {"input_ids", "logits"} <= set(tensors):
        return None, None
    ids, ids_shape = numbers_of(tensors["input_ids"])
    logits, shape = numbers_of(tensors["logits"])
    length, size = shape[-2:]
    return list(ids[:ids_shape[-1]]), [normalised(logits[i * size:(i + 1) * size]) for i in range(length)]


def number(value):
    return f"{value:.1e}" if value is not None else ""




def row_of(cells):
    return "| " + " | ".join(cells) + " |"


def kept_files(tests, folder):
    """Returns the files that tests write of goldens which `skald convert` cannot write."""
    done = subprocess.run([tests, "--source-file=*gguf_test.cc"], cwd=ROOT, capture_output=True,
                          env=os.environ | {"SKALD_GGUF_FILES": str(folder)})
    if done.returncode != 0:
        raise Refused(f"{tests} failed")
    for path in folder.glob("*.gguf"):
        complete(path)
    return {path.stem: path for path in folder.glob("*.gguf")}


def goldens_as_files(peers, folder, tests):
    """Returns GGUF files by names of goldens, and why there is none of others."""
    files, why_none = {}, {}
    kept = kept_files(tests, folder)
    (folder / "converted").mkdir()
    for source in sorted(path.parent for path in GOLDENS.glob("*/config.json")):
        path = folder / "converted" / (source.name + ".gguf")
        try:
            run(peers.program, "convert", source, path, "--type", "f32")
        except Refused as refused:
            path = kept.get(source.name)
            why_none[source.name] = str(refused).split("yet: ")[-1]
        if path:
            files[source.name] = path
    return files, {name: why for name, why in why_none.items() if name not in files}


def compared(peers, name, path):
    """Returns the cells of a row of the first table, and whether it fails."""
    ids, reference = original(GOLDENS / name)
    ids = ids or [3 + 17 * i % 251 for i in range(40)]
    positions = [0, len(ids) // 3, 2 * len(ids) // 3, len(ids) - 1]
    reference = [reference[i] for i in positions] if reference else None
    ours = peers.ours(path, ids, positions)
    away = furthest(ours, reference) if reference else None
    fails = away is not None and away > MOST
    try:
        theirs = peers.theirs(path, ids, positions)
    except Refused as refused:
        return [str(refused), "", number(away), ""], fails
    everything = furthest(ours, theirs)
    fails = (everything if away is None else away) > MOST
    return [number(everything), number(furthest(ours, theirs, LIKELIEST)), number(away),
            number(furthest(theirs, reference) if reference else None)], fails


def architectures(peers, folder, tests, files):
    """Prints the first table. Returns how many of its rows fail."""
    print(row_of(["model", "architecture", "all tokens", f"the {LIKELIEST} likeliest", "ours from the original",
                  "llama.cpp's from the original"]))
    print("|---|---|---|---|---|---|")
    failed = 0
    goldens, why_none = goldens_as_files(peers, folder, tests)
    for name, path in [*goldens.items(), *((pathlib.Path(file).name, pathlib.Path(file)) for file in files)]:
        try:
            cells, fails = compared(peers, name, path)
            print(row_of([name, architecture_of(peers, path), *cells[:-1], cells[-1] + (" FAILED" if fails else "")]))
        except Refused as refused:
            fails = True
            print(row_of([name, f"FAILED: {refused}", "", "", "", ""]))
        sys.stdout.flush()
        failed += fails
    print("\nNo GGUF file is made of", *(f"- {name}: {why}" for name, why in why_none.items()), sep="\n", end="\n\n")
    return failed


def architecture_of(peers, path):
    words = [line.split('"')[1] for line in run(peers.program, "inspect", path).splitlines()
             if "general.architecture = " in line]
    return words[0] if words else "?"


def types(peers, folder):
    """Prints the second table. Returns how many of its rows fail."""
    whole = folder / "whole.gguf"
    run(peers.program, "convert", TRAINED, whole, "--type", "f32")
    ids = [int(line.split()[0]) for line in run(peers.program, "tokenize", "--model", TRAINED, TEXT).splitlines()]
    positions = range(7, len(ids), 8)
    original_rows = peers.ours(whole, ids, positions)
    print(row_of(["type", "from the unquantised: ours", "llama.cpp's", "from the same weights in F32: ours", "llama.cpp's",
                  "ratio"]))
    print("|---|---|---|---|---|---|")
    failed = 0
    for kind in TYPES:
        path, widened = folder / (kind + ".gguf"), folder / (kind + "-f32.gguf")
        run(peers.program, "quantize", whole, path, "--type", kind, "--pure")
        run(peers.program, "quantize", path, widened, "--type", "f32")
        same_weights = peers.ours(widened, ids, positions)
        try:
            both = [read(path, ids, positions) for read in (peers.ours, peers.theirs)]
        except Refused as refused:
            print(row_of([kind, str(refused), "", "", "", ""]))
            continue
        errors = [root_mean_square(rows, found) for rows in (original_rows, same_weights) for found in both]
        ratio = errors[2] / errors[3]
        failed += ratio > MOST_RATIO
        print(row_of([kind, *(f"{error:.4f}" for error in errors), f"{ratio:.2f}"]), flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--llama-cpp", default=os.environ.get("SKALD_LLAMA_CPP"), type=pathlib.Path)
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    if options.llama_cpp is None:
        print("SKIPPED: --llama-cpp or SKALD_LLAMA_CPP names a folder with llama.cpp's libraries")
        return SKIPPED
    peers = Peers(options.build / "examples/skald/skald", options.llama_cpp)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        failed = architectures(peers, folder, options.build / "tests/weights_tests", options.files)
        failed += types(peers, folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
