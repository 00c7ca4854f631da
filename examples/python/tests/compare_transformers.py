#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Skald beside transformers on the same checkpoints, in one table of largest differences.

usage: compare_transformers.py [MODEL...]

For the tiny checkpoints of all families in tests/golden, and for each MODEL, a folder or a GGUF file: the logits of a
prompt, the residual stream before every layer and after the last norm, attention's probabilities, and whether the text
that follows at temperature 0 is the same. Everything is float32. Differences of the stream, whose values grow with the
layers, are relative to the largest value of the layer.
"""
import dataclasses
import os
import pathlib
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import numpy as np
import torch
import transformers

import skald
from goldens import families, tensors

WRITTEN = 24  # tokens that are written
# Others than their authors' (tests/golden/data/README.md): test_goldens.py compares with those.
ELSEWHERE = {"recurrent_gemma": "transformers does not keep to its authors' window"}


class NotComparable(Exception):
    """transformers cannot load it by itself."""


@dataclasses.dataclass
class Differences:
    """The largest of each kind; None: there is nothing to compare."""

    logits: float
    stream: float | None
    probabilities: float | None
    same_text: bool


def prompt_of(path):
    golden = path / "golden.safetensors"
    recorded = tensors(golden) if golden.exists() else {}
    if "input_ids" in recorded:
        return recorded["input_ids"][0]
    return skald.open_model(path).tokenizer.encode("In the beginning God created the heaven and the earth.", add_special=True)


def load_theirs(path):
    settings = {"attn_implementation": "eager", "dtype": torch.float32}
    try:
        if path.is_dir():
            return transformers.AutoModelForCausalLM.from_pretrained(path, **settings).eval()
        return transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, **settings).eval()
    except Exception as error:
        raise NotComparable(f"{type(error).__name__}: {error}") from error


def run_theirs(model, ids):
    tokens = torch.tensor(np.asarray(ids))[None].long()
    with torch.no_grad():
        try:
            answers = model(tokens, output_hidden_states=True, output_attentions=True, use_cache=False)
        except Exception:  # layers without attention
            answers = model(tokens, output_hidden_states=True, use_cache=False)
        written = []
        for _ in range(WRITTEN):
            written.append(int(model(tokens, use_cache=False).logits[0, -1].argmax()))
            tokens = torch.cat([tokens, torch.tensor([[written[-1]]])], 1)
    return answers, written


class Ours:
    """The values that Skald computes of a prompt."""

    def __init__(self, path, ids):
        self.model, self.streams, self.probabilities = skald.load_model(path, weight_type=skald.DType.F32), {}, {}
        self.workspace, self.count = skald.Workspace(threads=1), len(ids)
        runtime = skald.RuntimeConfig(max_tokens=len(ids) + WRITTEN + 1, kv_type=skald.DType.F32)
        hooks = [("stream.*", self._watch_stream)]
        if any(place.what == "probabilities" for place in self.model.places()):
            hooks.append(("block.*.probabilities", self._watch_probabilities))
        cache = skald.KVCache(self.model, runtime)
        batch = skald.Batch().add(cache, ids, [skald.Want.LOGITS] * len(ids))
        self.logits = np.stack(list(self.model.forward(batch, self.workspace, hooks=hooks)))
        batch = skald.Batch().add(skald.KVCache(self.model, runtime), ids, [skald.Want.HIDDEN] * len(ids))
        self.last = np.stack(list(self.model.forward(batch, self.workspace)))
        self.written = [int(self.logits[-1].argmax())]
        while len(self.written) < WRITTEN:
            self.written.append(int(self.model.forward(cache, self.written[-1:], self.workspace).argmax()))

    def _watch_stream(self, rows):
        self.streams.setdefault(rows.place.layer, rows.values.copy())  # before the first block of a layer

    def _watch_probabilities(self, rows):
        values = rows.values if rows.values.ndim == 3 else rows.values[:, None]
        whole = self.probabilities.setdefault(rows.place.block, np.zeros((values.shape[1], self.count, self.count)))
        for row, position in enumerate(rows.positions):
            whole[:, position, : values.shape[2]] = values[row]


def largest(pairs, is_relative=False):
    """The largest difference; a relative one is divided by the largest value beside it, if that is above 1."""
    found = None
    for ours, theirs in pairs:
        theirs = theirs.float().numpy()
        scale = max(1.0, float(np.abs(theirs).max())) if is_relative else 1.0
        found = max(found or 0.0, float(np.abs(ours - theirs).max()) / scale)
    return found


def compare(path):
    """Returns the Differences of one model. Raises NotComparable."""
    path = pathlib.Path(path)
    if path.name in ELSEWHERE:
        raise NotComparable(ELSEWHERE[path.name])
    ids, model = prompt_of(path), load_theirs(path)
    try:
        expected, written = run_theirs(model, ids)
    except RuntimeError as error:  # a kernel of theirs that needs larger sizes
        raise NotComparable(f"RuntimeError: {error}") from error
    ours = Ours(path, ids)
    streams, theirs = [(ours.last, expected.hidden_states[-1][0])], list(expected.hidden_states[:-1])
    if np.abs(ours.streams[0] - theirs[0][0].numpy()).max() > 1e-2:  # Mamba's are those after each layer
        theirs.insert(0, None)
    for layer, stream in ours.streams.items():
        if layer < len(theirs) and theirs[layer] is not None:
            streams.append((stream, theirs[layer][0]))
    attentions = [one for one in getattr(expected, "attentions", None) or [] if one is not None and one.ndim == 4]
    probabilities = []
    if len(attentions) == len(ours.probabilities):
        probabilities = [(whole, theirs[0]) for whole, theirs in zip(ours.probabilities.values(), attentions)]
    return Differences(largest([(ours.logits, expected.logits[0])]), largest(streams, is_relative=True), largest(probabilities),
                       ours.written == written)


def line(name, found):
    def number(value):
        return f"{value:.1e}" if value is not None else "-"

    return f"{name:26}{number(found.logits):>10}{number(found.stream):>10}{number(found.probabilities):>15}   " + (
        "same" if found.same_text else "ANOTHER")


HEADER = f"{'model':26}{'logits':>10}{'stream':>10}{'probabilities':>15}   text"


def main():
    print(HEADER)
    for path in [*families(), *map(pathlib.Path, sys.argv[1:])]:
        try:
            print(line(path.name, compare(path)), flush=True)
        except NotComparable as error:
            print(f"{path.name:26}{str(error).splitlines()[0][:90]}", flush=True)


if __name__ == "__main__":
    main()
