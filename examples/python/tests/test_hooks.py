# SPDX-License-Identifier: Apache-2.0
"""Hooks: what is watched, changed and stopped, and that a failure leaves everything as it was."""

import numpy as np
import pytest

import skald
from conftest import GOLDEN


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


def test_heads_give_what_changed_probabilities_make_of_values(tiny, workspace):
    cache, seen = skald.KVCache(tiny, skald.RuntimeConfig(kv_type=skald.DType.F32)), {}

    def change(rows):
        assert rows.place.may_change
        rows.values[:, 1] *= 0.5  # of the second head
        rows.values[-1, 0] = 0
        rows.values[-1, 0, 2] = 3

    def keep(rows):
        seen[rows.place.what] = rows.values.copy()

    tiny.forward(cache, [1, 2, 3, 4], workspace, hooks=[("block.0.mixed", keep)])
    plain = seen["mixed"]
    hooks = [("block.0.probabilities", change)] + [(f"block.0.{what}", keep) for what in ("probabilities", "values", "mixed")]
    tiny.forward(skald.KVCache(tiny, skald.RuntimeConfig(kv_type=skald.DType.F32)), [1, 2, 3, 4], workspace, hooks=hooks)
    mixed, values, probabilities = seen["mixed"], seen["values"], seen["probabilities"]
    heads_of_each = mixed.shape[1] // values.shape[1]
    expected = np.einsum("rhp,phd->rhd", probabilities, values.repeat(heads_of_each, 1))
    assert np.allclose(mixed, expected, atol=1e-5) and np.allclose(mixed[-1, 0], 3 * values[2, 0], atol=1e-6)
    assert np.allclose(mixed[:, 1], plain[:, 1] / 2, atol=1e-5) and np.array_equal(mixed[:, 2:], plain[:, 2:])


def test_single_experts(workspace):
    model = skald.load_model(GOLDEN / "mixtral", weight_type=skald.DType.F32)
    weights, outputs, silenced = {}, {}, []

    def see_weights(rows):
        weights[rows.place.block] = rows.values.copy()

    def see_outputs(rows):
        assert rows.place.rows == skald.PlaceRows.CHOICES and len(rows.experts) == len(rows.values)
        for i, (position, expert) in enumerate(zip(rows.positions, rows.experts)):
            outputs[rows.place.block, int(position), int(expert)] = rows.values[i].copy()

    def see_sum(rows):
        for i, position in enumerate(rows.positions):
            chosen = weights[rows.place.block][i].reshape(-1)
            total = sum(chosen[e] * outputs[rows.place.block, int(position), int(e)] for e in np.flatnonzero(chosen))
            assert np.allclose(rows.values[i], total, atol=1e-5)
            silenced.append(position)

    expected = model.forward(skald.KVCache(model), [1, 2, 3], workspace, hooks=[
        ("*.expert_weights", see_weights), ("*.expert_outputs", see_outputs), ("block.1.output", see_sum)]).copy()
    assert silenced == [0, 1, 2]

    def silence(rows):
        rows.values[rows.experts == outputs_of] = 0

    outputs_of = next(expert for block, position, expert in outputs if position == 2)
    changed = model.forward(skald.KVCache(model), [1, 2, 3], workspace, hooks=[("*.expert_activations", silence)])
    assert not np.array_equal(changed, expected)


def test_encoders_have_hooks(workspace):
    encoder = skald.open_encoder(GOLDEN / "encoders/bert", weight_type=skald.DType.F32, has_text=False)
    model, seen = encoder.model, {}

    def see(rows):
        seen.setdefault(rows.place.what, []).append((rows.sequences[0], rows.values.copy()))

    texts = [[1, 2, 3, 4], [5, 6]]
    plain = [rows.copy() for rows in model.encode(texts, workspace)]
    assert [rows.shape for rows in plain] == [(4, model.model_dim), (2, model.model_dim)]
    watched = model.encode(texts, workspace, hooks=[("*.probabilities", see)])
    assert all(np.array_equal(a, b) for a, b in zip(plain, watched))
    for text, values in seen["probabilities"]:
        assert values.shape[2] == len(texts[text]) and np.allclose(values.sum(-1), 1, atol=1e-5)

    def look_back(rows):
        rows.values[:] = np.tril(rows.values[:, 0])[:, None] if rows.values.shape[0] == rows.values.shape[2] else 0

    changed = model.encode(texts, workspace, hooks=[("block.0.probabilities", look_back)])
    assert not np.array_equal(plain[0], changed[0])
    assert model.encode(texts, workspace, hooks=[("block.0.probabilities", lambda rows: rows.stop())]) == []
    with pytest.raises(skald.Error, match="whole"):
        model.forward(skald.KVCache(model), [1], workspace)
    for wrong in ([], [[]], [[10**6]]):
        with pytest.raises(skald.Error):
            model.encode(wrong, workspace)


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
