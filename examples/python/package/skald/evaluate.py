# SPDX-License-Identifier: Apache-2.0
"""How well a model predicts a text, and how far two models are apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from skald import _skald
from skald._skald import Batch, KVCache, Model, RuntimeConfig, Want, Workspace

# Rows of logits that are computed at a time: a row of a large vocabulary has a megabyte.
ROWS = 64


def _rows(model: Model, tokens: Sequence[int], workspace: Workspace) -> Iterator[npt.NDArray[np.float32]]:
    """Yields the logits after each token but the last one."""
    cache = KVCache(model, RuntimeConfig(max_tokens=max(len(tokens), 1)))
    for begin in range(0, len(tokens) - 1, ROWS):
        piece = tokens[begin : min(begin + ROWS, len(tokens) - 1)]
        outputs = model.forward(Batch().add(cache, piece, [Want.LOGITS] * len(piece)), workspace)
        yield from (outputs[i] for i in range(len(outputs)))


def _windows(tokens: Sequence[int], window: int, stride: int) -> Iterator[tuple[Sequence[int], int]]:
    """Yields windows, and how many of each one's first predictions belong to the window before."""
    if not 0 < stride <= window:
        raise ValueError(f"stride is {stride}, expected 1 to the window of {window} tokens")
    for begin in range(0, max(len(tokens) - 1, 1), stride):
        known = 0 if begin == 0 else window - stride
        yield tokens[begin : begin + window + 1], known
        if begin + window + 1 >= len(tokens):
            return


def token_logprobs(model: Model, tokens: Sequence[int], workspace: Workspace | None = None) -> npt.NDArray[np.float64]:
    """Returns the log-probability of each token after those before it, from the second token on."""
    tokens, workspace = list(tokens), workspace or Workspace()
    scores = [_skald.score(row, tokens[i + 1]).logprob for i, row in enumerate(_rows(model, tokens, workspace))]
    return np.array(scores, np.float64)


def perplexity(model: Model, tokens: Sequence[int], workspace: Workspace | None = None, *, window: int = 512,
               stride: int | None = None) -> float:
    """Returns the perplexity of a text: the exponential of the mean negative log-probability.

    The text is read in windows; a `stride` below the window gives each prediction at least window - stride tokens before
    it.
    """
    tokens, workspace = list(tokens), workspace or Workspace()
    windows = _windows(tokens, window, window if stride is None else stride)
    scores = [token_logprobs(model, part, workspace)[known:] for part, known in windows]
    scored = np.concatenate(scores)
    if not len(scored):
        raise ValueError("a text of fewer than two tokens has no perplexity")
    return math.exp(-scored.mean())


@dataclass
class Divergence:
    """How far a model's predictions are from those of a reference."""

    mean: float  # Kullback-Leibler divergence of the model from the reference, in nats
    largest: float  # of one prediction
    same_top: float  # the part of predictions whose most likely token is the same
    tokens: int  # predictions


def _log_softmax(row: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    logits = row.astype(np.float64)
    logits -= logits.max() + math.log(np.exp(logits - logits.max()).sum())
    return logits


def kld(reference: Model, model: Model, tokens: Sequence[int], workspace: Workspace | None = None, *,
        window: int = 512) -> Divergence:
    """Compares a model, a quantised one say, with a reference of the same vocabulary, over a text in windows."""
    if reference.vocab_size != model.vocab_size:
        raise ValueError(f"the models have vocabularies of {reference.vocab_size} and {model.vocab_size} tokens")
    tokens, first = list(tokens), workspace or Workspace()
    second = Workspace(threads=None)
    divergences, same = [], 0
    for part, _ in _windows(tokens, window, window):
        for row, other in zip(_rows(reference, part, first), _rows(model, part, second)):
            p, q = _log_softmax(row), _log_softmax(other)
            divergences.append(float((np.exp(p) * (p - q)).sum()))
            same += int(p.argmax() == q.argmax())
    if not divergences:
        raise ValueError("a text of fewer than two tokens has no predictions")
    return Divergence(float(np.mean(divergences)), max(divergences), same / len(divergences), len(divergences))
