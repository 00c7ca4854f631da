#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether pairs of texts have the order that sentence-transformers gives them: a table in Markdown.

usage: pairs.py SKALD MODEL TEXTS, in a Python with torch and sentence-transformers; TEXTS has a text in each line

The similarity of two texts is known as well as its model's rounding lets it be: sentence-transformers gives pairs that
are alike another order when its batches have another size. So everything is compared with the same model in float64:
f32 by sentence-transformers, one thread, batches of 1 and of 32, and by `skald embed --f32`. Inversions are pairs of
similarities whose order differs. Exits with 77 and a word where a package is missing, with 1 where Skald is further from
float64 than the original by more than a third.
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    from sentence_transformers import SentenceTransformer
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

PAIRS = 10_000


def inversions(values):
    """Counts the pairs of values that are in ascending order, by merging."""
    if len(values) < 2:
        return 0, values
    (left_count, left), (right_count, right) = inversions(values[:len(values) // 2]), inversions(values[len(values) // 2:])
    # of each value on the right, those on the left that are less
    across = int(np.searchsorted(left, right, side="left").sum())
    return left_count + right_count + across, np.sort(np.concatenate([left, right]))


def vectors(skald, model, path):
    texts = path.read_text().splitlines()
    torch.set_num_threads(1)
    original = SentenceTransformer(model, device="cpu")
    of = {f"sentence-transformers, batches of {size}": original.encode(texts, batch_size=size) for size in (1, 32)}
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder, "vectors.npy")
        subprocess.run([skald, "embed", model, path, "-o", target, "--f32"], check=True)
        of["skald embed --f32"] = np.load(target)
    return original.double().encode(texts, batch_size=8), of


def main():
    exact, of = vectors(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]))
    first, second = np.triu_indices(len(exact), 1)
    chosen = np.random.default_rng(0).choice(len(first), min(PAIRS, len(first)), replace=False)
    first, second = first[chosen], second[chosen]

    def similarities(rows):
        rows = rows.astype(np.float64)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows[first] * rows[second]).sum(1)

    wanted = similarities(exact)
    order = np.argsort(-wanted, kind="stable")
    print(f"{len(wanted)} pairs of {len(exact)} texts, beside float64\n")
    print("| embeddings | pairs in the same place | inversions | largest difference | root of mean square |\n|---|---|---|---|---|")
    roots = []
    for name, rows in of.items():
        given = similarities(rows)
        roots.append(np.sqrt(((given - wanted) ** 2).mean()))
        same = (np.argsort(-given, kind="stable") == order).mean()
        print(f"| {name} | {same:.4f} | {inversions(given[order])[0]} | {np.abs(given - wanted).max():.2e} | {roots[-1]:.2e} |")
    return 1 if roots[-1] > 4 / 3 * min(roots[:-1]) else 0


if __name__ == "__main__":
    sys.exit(main())
