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


def test_similarities_and_their_order():
    rng = np.random.default_rng(38)
    query, rows = rng.standard_normal(96, np.float32), rng.standard_normal((50, 96), np.float32)
    rows[7] = rows[31] = query
    scores = skald.similarities(query, rows)
    wide = rows.astype(np.float64)
    wanted = wide @ query / np.linalg.norm(wide, axis=1) / np.linalg.norm(query.astype(np.float64))
    assert scores.dtype == np.float32 and np.abs(scores - wanted).max() < 1e-6
    assert list(skald.order_of_scores(scores, 3)[:2]) == [7, 31]
    codes = np.rint(rows * 20).astype(np.int8)
    exact = codes.astype(np.int64) @ codes[7]
    lengths = np.sqrt((codes.astype(np.int64) ** 2).sum(1).astype(np.float64))
    assert (skald.similarities(codes[7], codes) == (exact / (lengths * lengths[7])).astype(np.float32)).all()
    bits = np.packbits(rows > 0, axis=1)
    alike = (np.unpackbits(bits, axis=1) == np.unpackbits(bits[7])).sum(1)
    assert (skald.similarities(bits[7], bits) == ((2 * alike - 96) / 96).astype(np.float32)).all()
    assert skald.max_sim(rows[:3], rows[3:9]) == pytest.approx((wide[:3] @ wide[3:9].T).max(1).sum(), abs=1e-4)
    with pytest.raises(ValueError, match="96 elements does not fit rows of 48"):
        skald.similarities(query, rows[:, :48].copy())
