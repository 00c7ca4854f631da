# SPDX-License-Identifier: Apache-2.0
"""Against transformers on the same checkpoints: hidden states of every layer and attention's probabilities, by hooks."""

import numpy as np
import pytest

import skald
from conftest import GOLDEN
from goldens import tensors

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3", "olmo2"])
def test_every_layer(family, workspace, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = GOLDEN / family
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    ids = tensors(folder / "golden.safetensors")["input_ids"][0]
    with torch.no_grad():
        expected = theirs(torch.tensor(ids)[None], output_hidden_states=True, output_attentions=True, use_cache=False)
    model = skald.load_model(folder, weight_type=skald.DType.F32)
    streams, probabilities = {}, {}

    def watch(rows):
        if rows.place.what == "probabilities":
            weights = probabilities.setdefault(rows.place.layer, np.zeros((rows.values.shape[1], len(ids), len(ids))))
            for row, position in enumerate(rows.positions):
                width = min(rows.values.shape[2], len(ids))
                weights[:, position, :width] = rows.values[row, :, :width]
        else:
            streams.setdefault(rows.place.layer, rows.values.copy())

    cache = skald.KVCache(model, skald.RuntimeConfig(max_tokens=128, kv_type=skald.DType.F32))
    logits = model.forward(cache, ids, workspace, hooks=[("stream.*", watch), ("block.*.probabilities", watch)])
    largest = [np.abs(logits - expected.logits[0, -1].numpy()).max()]
    for layer in range(model.num_layers):  # transformers' last hidden state is after the final norm
        largest.append(np.abs(streams[layer] - expected.hidden_states[layer][0].numpy()).max())
    for layer, weights in probabilities.items():
        largest.append(np.abs(weights - expected.attentions[layer][0].numpy()).max())
    print(f"\n{family}: logits {largest[0]:.1e}, layers and probabilities {max(largest[1:]):.1e}")
    assert len(probabilities) == model.num_layers and max(largest) < 2e-3


def test_torch_reads_without_a_copy(tiny, workspace):
    cache = skald.KVCache(tiny)
    logits = tiny.forward(cache, [1, 2, 3], workspace, writable=True)
    tensor = torch.from_dlpack(logits)
    tensor[0] = 7
    assert logits[0] == 7
    block = torch.from_dlpack(cache.layer_state(0).key_blocks()[0])
    assert block.dtype == torch.bfloat16
    heads, panels, lanes, pairs, two = block.shape
    keys = block.permute(0, 1, 2, 3, 4).reshape(heads, panels * lanes, pairs * two)[:, :3].float().numpy()
    assert np.array_equal(keys, cache.layer_state(0).keys())
