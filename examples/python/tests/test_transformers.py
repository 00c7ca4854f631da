# SPDX-License-Identifier: Apache-2.0
"""Against transformers on the same checkpoints: logits, every layer's stream and attention's probabilities, by hooks."""

import numpy as np
import pytest

import skald
from goldens import families

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
import compare_transformers

TABLE = []


@pytest.mark.parametrize("folder", families(), ids=lambda folder: folder.name)
def test_every_layer(folder):
    try:
        found = compare_transformers.compare(folder)
    except compare_transformers.NotComparable as error:
        pytest.skip(str(error).splitlines()[0])
    TABLE.append(compare_transformers.line(folder.name, found))
    assert found.logits < 1e-3 and found.same_text
    assert (found.stream or 0) < 2e-3 and (found.probabilities or 0) < 1e-3


def test_table(capsys):
    with capsys.disabled():
        print("\nlargest differences from transformers, float32", compare_transformers.HEADER, *TABLE, sep="\n")


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
