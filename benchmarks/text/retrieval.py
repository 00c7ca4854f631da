#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the loss of types of weights and forms of embeddings in finding passages of a text; a table in Markdown.

usage: retrieval.py SKALD MODEL... --text FILE [--dtypes f32,bf16,q8_0] [--original] [--passages 1500] [--queries 500]

FILE is any long plain text, such as a novel of Project Gutenberg. The task is the inverse cloze task (Lee, Chang and
Toutanova 2019, arXiv:1906.00300): of each paragraph one sentence is taken out, and asks for what is left of it among all
paragraphs. Columns: how often the passage is the first found, among the first ten, and the mean reciprocal rank within
ten; the smallest cosine with the first row's embeddings. MODEL may be several forms of one model (a folder, GGUF files).
--original adds what sentence-transformers computes of the first MODEL, a folder. Needs numpy.
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit("retrieval.py needs numpy")


def passages_of(text, count):
    """Pairs of a passage and the sentence that was taken out of it."""
    pairs = []
    for paragraph in re.split(r"\n\s*\n", text):
        sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z\"])", " ".join(paragraph.split()))
        if len(sentences) < 4 or len(paragraph) > 1200 or min(map(len, sentences[1:-1])) < 40:
            continue
        taken = random.Random(len(pairs)).randrange(1, len(sentences) - 1)
        pairs.append((" ".join(sentences[:taken] + sentences[taken + 1:]), sentences[taken]))
    random.Random(38).shuffle(pairs)
    if not pairs:
        sys.exit("the text has no paragraphs of four sentences")
    return pairs[:count]


def embed(skald, model, texts, *options):
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "texts"), pathlib.Path(folder, "vectors.npy")
        source.write_text("".join(text + "\n" for text in texts))
        subprocess.run([skald, "embed", "-m", model, source, "-o", target, "--long", "cut", "--normalize", *options], check=True)
        return np.load(target)


def embed_by_original(folder, texts):
    from sentence_transformers import SentenceTransformer
    return SentenceTransformer(folder, device="cpu").encode(texts, convert_to_numpy=True, normalize_embeddings=True)


def units(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def as_codes(rows):
    return np.rint(rows / (np.abs(rows).max(axis=1, keepdims=True) / 127)).astype(np.int64)


def as_signs(rows):
    return np.where(rows > 0, 1.0, -1.0)


# Form of the output, what becomes of documents, and of queries.
FORMS = [("int8", as_codes, as_codes), ("a bit for each element", as_signs, as_signs),
         ("a bit for each element, queries as floats", as_signs, lambda rows: rows)]


def figures(documents, queries):
    scores = units(queries.astype(np.float64)) @ units(documents.astype(np.float64)).T
    own = scores[np.arange(len(queries)), np.arange(len(queries))]
    ranks = (scores > own[:, None]).sum(1)  # query i asks for document i
    return (ranks == 0).mean(), (ranks < 10).mean(), np.where(ranks < 10, 1 / (ranks + 1), 0).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skald")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--text", required=True, type=pathlib.Path)
    parser.add_argument("--dtypes", default="f32,bf16,q8_0")
    parser.add_argument("--original", action="store_true")
    parser.add_argument("--passages", type=int, default=1500)
    parser.add_argument("--queries", type=int, default=500)
    given = parser.parse_args()
    pairs = passages_of(given.text.read_text(encoding="utf-8"), given.passages)
    texts = [passage for passage, _ in pairs] + [sentence for _, sentence in pairs[:given.queries]]
    print(f"{len(pairs)} passages, {len(texts) - len(pairs)} queries\n")
    print("| embeddings | bytes each | first | of ten | MRR@10 | least cosine |\n|---|---|---|---|---|---|")
    first = None

    def row(name, rows, size, cosine=True, of_queries=None):
        nonlocal first
        first = rows if first is None else first
        documents, queries = rows[:len(pairs)], (rows if of_queries is None else of_queries)[len(pairs):]
        least = f"{(units(rows) * units(first)).sum(1).min():.7f}" if cosine else ""
        print("| {} | {} | {:.3f} | {:.3f} | {:.4f} | {} |".format(name, size, *figures(documents, queries), least), flush=True)

    if given.original:
        rows = embed_by_original(given.models[0], texts)
        row("sentence-transformers, f32", rows, rows.shape[1] * 4)
    kept = None
    for model in given.models:
        for dtype in given.dtypes.split(","):
            rows = embed(given.skald, model, texts, "--dtype", dtype)
            kept = rows if kept is None else kept
            row(f"{pathlib.Path(model).name}, {dtype}", rows, rows.shape[1] * 4)
    width = kept.shape[1]
    for name, of_documents, of_queries in FORMS:
        row(name, of_documents(kept), width if name == "int8" else width // 8, cosine=False, of_queries=of_queries(kept))
    for part in (2, 4):
        row(f"the first {width // part} elements", kept[:, :width // part], width // part * 4, cosine=False)


if __name__ == "__main__":
    main()
