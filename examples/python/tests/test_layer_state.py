# SPDX-License-Identifier: Apache-2.0
"""Keys, values and states of layers as arrays, which stay as they were."""

import numpy as np
import pytest

import skald
from conftest import GOLDEN


@pytest.mark.parametrize("kind", [skald.DType.F32, skald.DType.BF16, skald.DType.I8])
def test_keys_and_values(tiny, workspace, kind):
    cache = skald.KVCache(tiny, skald.RuntimeConfig(kv_type=kind, block_tokens=32))
    computed = {}
    tokens = list(range(70))
    tiny.forward(cache, tokens, workspace, hooks=[("block.0.values", lambda rows: computed.update(values=rows.values.copy()))])
    state = cache.layer_state(0)
    assert not state.is_recurrent and state.tokens == 70 and state.first_token == 0 and state.type == kind
    keys, values = state.keys(), state.values()
    assert keys.shape == values.shape and keys.shape[1] == 70
    expected = computed["values"].reshape(70, values.shape[0], values.shape[2]).transpose(1, 0, 2)
    assert np.allclose(values, expected, rtol=1e-2, atol=3e-2 if kind == skald.DType.I8 else 1e-3)
    if kind == skald.DType.F32:
        assert np.array_equal(values, expected)
        blocks = [np.from_dlpack(block) for block in state.key_blocks()]
        whole = np.concatenate([block.reshape(keys.shape[0], -1, keys.shape[2]) for block in blocks], axis=1)
        assert len(blocks) == 3 and np.array_equal(whole[:, :70], keys)
        with pytest.raises(ValueError):
            blocks[0][0] = 1
    cache.clear()
    tiny.forward(cache, [3] * 90, workspace)
    assert np.array_equal(state.keys(), keys)
    with pytest.raises(skald.Error):
        cache.layer_state(99)


def test_recurrent_states(workspace):
    model = skald.load_model(GOLDEN / "mamba", weight_type=skald.DType.F32)
    cache = skald.KVCache(model)
    assert cache.layer_state(0).state.size == 0
    model.forward(cache, [1, 2, 3], workspace)
    state = cache.layer_state(0).state
    before = state.copy()
    assert state.size > 0 and not state.flags.writeable
    model.forward(cache, [4], workspace)
    assert np.array_equal(state, before) and not np.array_equal(cache.layer_state(0).state, before)
    with pytest.raises(skald.Error):
        cache.layer_state(0).keys()
