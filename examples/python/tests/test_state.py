# SPDX-License-Identifier: Apache-2.0
"""Caches: the laws of forks, batches and rewinding, said from Python."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import skald

TOKENS = st.lists(st.integers(0, 90), min_size=1, max_size=24)
LAWS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def logits_alone(model, tokens):
    return model.forward(skald.KVCache(model), tokens, skald.Workspace(threads=1)).copy()


@LAWS
@given(TOKENS, TOKENS)
def test_chunks_give_the_bits_of_the_whole(tiny, workspace, first, second):
    cache = skald.KVCache(tiny)
    tiny.forward(cache, first, workspace)
    assert np.array_equal(tiny.forward(cache, second, workspace), logits_alone(tiny, first + second))
    assert cache.tokens.tolist() == first + second


@LAWS
@given(TOKENS, TOKENS, TOKENS)
def test_forks_go_their_own_ways(tiny, workspace, common, left, right):
    cache = skald.KVCache(tiny)
    tiny.forward(cache, common, workspace)
    fork = cache.fork()
    one = tiny.forward(cache, left, workspace)
    other = tiny.forward(fork, right, workspace)
    assert np.array_equal(one, logits_alone(tiny, common + left))
    assert np.array_equal(other, logits_alone(tiny, common + right))


@LAWS
@given(st.lists(TOKENS, min_size=1, max_size=5))
def test_a_batch_gives_each_what_it_gets_alone(tiny, workspace, prompts):
    pool = skald.BlockPool(tiny)
    batch = skald.Batch()
    for prompt in prompts:
        batch.add(skald.KVCache(pool), prompt, [skald.Want.LOGITS] * len(prompt))
    rows = tiny.forward(batch, workspace)
    assert len(rows) == sum(map(len, prompts))
    ends = np.cumsum([len(prompt) for prompt in prompts]) - 1
    for prompt, end in zip(prompts, ends):
        assert np.array_equal(rows[int(end)], logits_alone(tiny, prompt))


@LAWS
@given(TOKENS, st.data())
def test_rewinding_forgets(tiny, workspace, tokens, data):
    cache = skald.KVCache(tiny)
    tiny.forward(cache, tokens, workspace)
    keep = data.draw(st.integers(0, len(tokens)))
    cache.truncate(keep)
    assert len(cache) == keep
    assert np.array_equal(tiny.forward(cache, [5], workspace), logits_alone(tiny, tokens[:keep] + [5]))


@LAWS
@given(TOKENS, st.integers(2, 4), st.integers(1, 9), st.sampled_from(["*", "stream.*", None]))
def test_threads_passes_and_watching_change_nothing(tiny, tokens, threads, pass_tokens, place):
    hooks = [(place, lambda rows: None)] if place else []
    logits = tiny.forward(skald.KVCache(tiny), tokens, skald.Workspace(threads=threads), pass_tokens=pass_tokens, hooks=hooks)
    assert np.array_equal(logits, logits_alone(tiny, tokens))


def test_edits_and_resume_points(tiny, workspace):
    cache = skald.KVCache(tiny, skald.RuntimeConfig(max_tokens=64))
    tiny.forward(cache, list(range(20)), workspace)
    assert cache.resume_points() == [(0, 20)]
    assert cache.nearest_resume_point(7) == 7
    cache.erase(3, 5)
    assert cache.tokens.tolist() == [0, 1, 2] + list(range(5, 20)) and cache.exact_tokens == 3
    cache.shift(10, 12, 2)
    assert cache.tokens.tolist()[2:4] == [12, 13]
    with pytest.raises(skald.Error) as raised:
        cache.truncate(99)
    assert raised.value.code == skald.ErrorCode.OUT_OF_RANGE
    with pytest.raises(skald.Error) as raised:
        tiny.forward(cache, [1] * 60, workspace)
    assert raised.value.facts.available_tokens is not None
    cache.clear()
    assert len(cache) == 0


def test_wants(tiny, workspace, ids):
    want = skald.Want
    rows = tiny.forward(skald.Batch().add(skald.KVCache(tiny), [1, 2, 3], [want.HIDDEN, want.NOTHING, want.LOGITS]), workspace)
    assert [row.shape for row in rows] == [(tiny.model_dim,), (tiny.vocab_size,)]
    with pytest.raises(skald.Error):
        tiny.forward(skald.Batch().add(skald.KVCache(tiny), [1, 2], [want.LOGITS]), workspace)
