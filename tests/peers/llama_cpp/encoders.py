#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares embeddings, and rerankers' scores, with those that the llama.cpp of this machine computes of the same GGUF
files.

usage: encoders.py [--llama-cpp FOLDER] [--build FOLDER]

Options are those of compare.py. Files are the folders of tests/golden/data/encoders in F32, with a vocabulary of words
like "t17", as `skald convert` writes them, and where it refuses, what llama.cpp's package made of them (model.gguf
there). A row has the largest difference of an element of normalised embeddings, or of a score: ours from llama.cpp's, and
llama.cpp's from what the original implementation computed of texts whose tokens are all of the first type, which is what
llama.cpp takes. Ours are at most 2e-5 from the original (tests/text/open_encoder_test.cc). The exit code is 1 if a
difference of embeddings is above MOST.
"""
import argparse
import json
import math
import os
import pathlib
import shutil
import sys
import tempfile

from compare import GOLDENS, ROOT, SKIPPED, Refused, number, numbers_of, row_of, run
from complete import complete
from gguf_writer import safetensors

MOST = 5e-4  # GELU's table, in F16
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
POOLING = "1_Pooling/config.json"
TEXTS = ["t7", "t9 t11 t13 t40", " ".join(f"t{5 + 17 * i % 91}" for i in range(60))]


def pools_otherwise(source):
    """Whether a model's pooling is none that llama.cpp has: it is compared with the mean."""
    path = source / POOLING
    modes = json.loads(path.read_text()) if path.exists() else {}
    return modes.get("pooling_mode") in ("max", "weightedmean", "mean_sqrt_len_tokens")


def with_words(source, folder):
    """Returns a copy of a model's folder with a tokenizer."""
    size = json.loads((source / "config.json").read_text())["vocab_size"]
    shutil.copytree(source, folder)
    if pools_otherwise(source):
        (folder / POOLING).write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in SPECIAL + [f"t{i}" for i in range(5, size)]))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True}))
    return folder


def file_of(program, source, folder):
    path = folder / (source.name + ".gguf")
    try:
        run(program, "convert", with_words(source, folder / source.name), path, "--type", "f32")
        return path, "skald convert"
    except Refused as refused:
        if not (source / "model.gguf").exists():
            raise
        path.write_bytes((source / "model.gguf").read_bytes())
        complete(path)
        return path, "llama.cpp's package"


def theirs(libraries, path, texts):
    return json.loads(run(sys.executable, pathlib.Path(__file__).with_name("embeddings.py"), libraries, path,
                          *(",".join(map(str, ids)) for ids in texts)))


def unit(row):
    length = math.sqrt(math.fsum(x * x for x in row))
    return [x / length for x in row]


def furthest(found, expected):
    return max(abs(a - b) for row, other in zip(found, expected) for a, b in zip(row, other))


def mean_of(values, shape):
    rows = [values[i:i + shape[-1]] for i in range(0, len(values), shape[-1])]
    return [math.fsum(column) / len(rows) for column in zip(*rows)]


def from_original(libraries, path, golden, otherwise):
    """How far llama.cpp is from what is recorded; nothing where no text has tokens of the first type alone."""
    texts, expected = [], []
    for i in range(len(golden)):
        types = numbers_of(golden[f"{i}.types"])[0] if f"{i}.types" in golden else ()
        if f"{i}.input_ids" in golden and not any(types):
            texts.append(numbers_of(golden[f"{i}.input_ids"])[0])
            expected.append(mean_of(*numbers_of(golden[f"{i}.hidden"])) if otherwise else
                            numbers_of(golden.get(f"{i}.embedding") or golden[f"{i}.scores"])[0])
    if not texts:
        return None
    form = unit if "0.embedding" in golden else list
    return furthest(map(form, theirs(libraries, path, texts)), map(form, expected))


def from_ours(program, libraries, path, folder):
    """How far the two are apart; nothing for files without a tokenizer, and for rerankers, which read pairs."""
    lines = folder / "texts.txt"
    lines.write_text("".join(text + "\n" for text in TEXTS))
    try:
        said = run(program, "embed", path, lines, "--f32", "--normalize")
        ids = [run(program, "tokenize", "--model", path, "--add-special", "--ids", text).strip().split(",") for text in TEXTS]
    except Refused:
        return None
    ours = [json.loads(line) for line in said.splitlines()]
    return furthest([row["embedding"] if isinstance(row, dict) else row for row in ours],
                    map(unit, theirs(libraries, path, ids)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--llama-cpp", default=os.environ.get("SKALD_LLAMA_CPP"), type=pathlib.Path)
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    options = parser.parse_args()
    if options.llama_cpp is None:
        print("SKIPPED: --llama-cpp or SKALD_LLAMA_CPP names a folder with llama.cpp's libraries")
        return SKIPPED
    program = options.build / "examples/skald/skald"
    print(row_of(["encoder", "written by", "ours from llama.cpp's", "llama.cpp's from the original"]), "|---|---|---|---|",
          sep="\n")
    failed, refusals = 0, []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for source in sorted(path.parent for path in (GOLDENS / "encoders").glob("[!q]*/config.json")):  # no Qwen
            try:
                path, writer = file_of(program, source, folder)
            except Refused as refused:
                refusals.append(f"- {source.name}: {str(refused).split(': ', 2)[-1]}")
                continue
            try:
                apart = from_ours(program, options.llama_cpp, path, folder)
                away = from_original(options.llama_cpp, path, safetensors(source / "golden.safetensors"),
                                     pools_otherwise(source))
                failed += apart is not None and apart > MOST
                print(row_of([source.name, writer, number(apart), number(away)]), flush=True)
            except Refused as refused:
                print(row_of([source.name, writer, str(refused), ""]), flush=True)
    print("\nNo GGUF file is made of", *refusals, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
