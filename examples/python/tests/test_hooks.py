# SPDX-License-Identifier: Apache-2.0
"""Hooks: what is watched, changed and stopped, and that a failure leaves everything as it was."""

import numpy as np
import pytest

import skald


def test_places_are_listed(tiny):
    names = [place.name for place in tiny.places()]
    assert names[0] == "stream.0" and "block.0.queries" in names and "logits" in names
    assert len(set(names)) == len(names)


def test_watching_changes_nothing(tiny, workspace):
    tokens, seen = [1, 2, 3], {}
    expected = tiny.forward(skald.KVCache(tiny), tokens, workspace).copy()

    def watch(rows):
        seen[rows.place.name] = rows.values.copy()
        assert rows.tokens.tolist() == tokens[-len(rows.tokens):]

    assert np.array_equal(tiny.forward(skald.KVCache(tiny), tokens, workspace, hooks=[("*", watch)]), expected)
    assert set(seen) == {place.name for place in tiny.places()}
    assert np.array_equal(seen["logits"][-1], expected)
    probabilities = seen["block.0.probabilities"]
    assert probabilities.shape[0] == 3 and np.allclose(probabilities.sum(-1), 1, atol=1e-5)
    last = f"stream.{tiny.num_blocks}"
    assert np.array_equal(tiny.logits(seen[last][-1:], workspace)[0], expected)


def test_changing_and_stopping(tiny, workspace):
    tokens, cache = [1, 2, 3], skald.KVCache(tiny)
    expected = tiny.forward(skald.KVCache(tiny), tokens, workspace).copy()

    def clear(rows):
        rows.values[:] = 0

    assert not np.array_equal(tiny.forward(skald.KVCache(tiny), tokens, workspace, hooks=[("block.0.queries", clear)]), expected)
    rows = tiny.forward(skald.Batch().add(cache, tokens), workspace, hooks=[skald.Hook("stream.1", lambda rows: rows.stop())])
    assert rows.stopped and len(cache) == 0
    assert tiny.forward(cache, tokens, workspace, hooks=[("stream.1", lambda rows: rows.stop())]).size == 0


def test_hooks_that_fail_leave_everything_as_it_was(tiny, workspace):
    cache = skald.KVCache(tiny)
    tiny.forward(cache, [1, 2], workspace)
    with pytest.raises(ZeroDivisionError):
        tiny.forward(cache, [3], workspace, hooks=[("stream.2", lambda rows: 1 / 0)])
    with pytest.raises(skald.Error, match="no place"):
        tiny.forward(cache, [3], workspace, hooks=[("block.99.queries", print)])
    with pytest.raises(TypeError):
        tiny.forward(cache, [3], workspace, hooks=[("stream.2", 7)])
    assert len(cache) == 2
    expected = tiny.forward(skald.KVCache(tiny), [1, 2, 3], skald.Workspace(threads=1))
    assert np.array_equal(tiny.forward(cache, [3], workspace), expected)


@pytest.mark.parametrize("place", ["stream.1", "block.0.queries", "logits"])
def test_arrays_that_are_kept_are_refused_and_never_dangle(tiny, workspace, place):
    kept, cache = [], skald.KVCache(tiny)
    for _ in range(3):
        with pytest.raises(skald.Error, match="keep a copy"):
            tiny.forward(cache, [1] * 40, workspace, hooks=[(place, lambda rows: kept.append(rows.values))])
    assert len(cache) == 0
    for _ in range(3):
        tiny.forward(skald.KVCache(tiny), [2] * 200, workspace)
    assert all(np.isfinite(values).all() for values in kept)


def test_probabilities_and_states_may_be_kept(tiny, workspace):
    kept = []
    tiny.forward(skald.KVCache(tiny), [1, 2], workspace, hooks=[("block.*.probabilities", lambda rows: kept.append(rows.values))])
    assert kept and all(np.allclose(values.sum(-1), 1, atol=1e-5) for values in kept)


def test_control_vectors(tiny, workspace):
    direction = np.zeros((tiny.num_layers, tiny.model_dim), np.float32)
    direction[1] = 0.5
    vector = skald.ControlVector(direction.tolist())
    steered = tiny.forward(skald.KVCache(tiny), [1, 2], workspace, hooks=vector.hooks(tiny)).copy()
    vector.add(vector, -1.0)
    assert not np.array_equal(steered, tiny.forward(skald.KVCache(tiny), [1, 2], workspace))
    with pytest.raises(skald.Error):
        skald.ControlVector.load("no such file", tiny)
    for directions in ([[1.0]], [[1.0] * tiny.model_dim] * 99):
        with pytest.raises(skald.Error, match="control vector"):
            skald.ControlVector(directions).hooks(tiny)
