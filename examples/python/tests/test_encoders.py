# SPDX-License-Identifier: Apache-2.0
"""Encoders: against what the original implementations computed of tiny checkpoints, and wrong use."""

import numpy as np
import pytest

import skald
from conftest import GOLDEN, ROOT
from goldens import tensors

FOLDERS = sorted(path.parent for path in (GOLDEN / "encoders").glob("*/golden.safetensors"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_embeddings(folder, workspace):
    golden = tensors(folder / "golden.safetensors")
    texts = [i for i in range(4) if f"{i}.embedding" in golden and not golden.get(f"{i}.types", np.zeros(1)).any()]
    if not texts:
        pytest.skip("ranks, or has types of tokens")
    encoder = skald.open_encoder(folder, weight_type=skald.DType.F32, has_text=False)
    rows = encoder.embed_ids([golden[f"{i}.input_ids"] for i in texts], workspace)
    assert rows.shape == (len(texts), encoder.facts.dimension)
    assert max(np.abs(rows[row] - golden[f"{i}.embedding"]).max() for row, i in enumerate(texts)) < 1e-4


def test_texts_and_wrong_use(workspace):
    encoder = skald.open_encoder(ROOT / "examples/demo_model", kind=skald.EncoderKind.DECODER, pooling=skald.Pooling.MEAN)
    rows = encoder.embed(["And God said", "And God spake", "a far country"], workspace, normalise=True)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    scores = encoder.rank("And God said", ["And God spake", "a far country"], workspace)
    assert scores.shape == (2,) and np.allclose(scores, rows[1:] @ rows[0], atol=1e-3)
    each = encoder.embed(["And God said", "Woe"], workspace, pooling=skald.Pooling.NONE)
    assert [one.ndim for one in each] == [2, 2] and len(each[0]) > len(each[1])
    with pytest.raises(skald.Error, match="text 1|1"):
        encoder.embed(["a", ""], workspace)
    with pytest.raises(skald.Error):
        encoder.embed(["a"], workspace, dimension=10**6)
    with pytest.raises(skald.Error):
        encoder.embed(["a"], workspace, prompt_name="there is none")
    with pytest.raises(TypeError):
        encoder.embed([7], workspace)
