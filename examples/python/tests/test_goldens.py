# SPDX-License-Identifier: Apache-2.0
"""Against what the families' own implementations computed of tiny checkpoints: logits, hidden rows and greedy text."""

import numpy as np
import pytest

import skald
from goldens import families, tensors

TABLE = []


@pytest.mark.parametrize("folder", families(), ids=lambda folder: folder.name)
def test_family(folder, workspace):
    golden = tensors(folder / "golden.safetensors")
    if "input_ids" not in golden or "logits" not in golden:
        pytest.skip("has no logits of a prompt")
    model = skald.load_model(folder, weight_type=skald.DType.F32)
    runtime = skald.RuntimeConfig(max_tokens=128, kv_type=skald.DType.F32)
    difference = hidden = 0.0
    for row, ids in enumerate(golden["input_ids"]):
        outputs = model.forward(skald.Batch().add(skald.KVCache(model, runtime), ids, [skald.Want.LOGITS] * len(ids)), workspace)
        logits = np.stack([outputs[i] for i in range(len(ids))])
        difference = max(difference, float(np.abs(logits - golden["logits"][row]).max()))
        cache = skald.KVCache(model, runtime)
        outputs = model.forward(skald.Batch().add(cache, ids, [skald.Want.HIDDEN] * len(ids)), workspace)
        if "hidden_last" in golden:
            rows = np.stack([outputs[i] for i in range(len(ids))])
            hidden = max(hidden, float(np.abs(rows - golden["hidden_last"][row]).max()))
        token = int(logits[-1].argmax())
        for expected in golden.get("greedy", [[]] * 9)[row]:
            assert token == expected
            token = int(model.forward(cache, [token], workspace).argmax())
    TABLE.append((folder.name, difference, hidden))
    assert difference < 5e-4 and hidden < 5e-4


def test_table(capsys):
    with capsys.disabled():
        print("\nlargest differences from the families' own implementations, float32\nfamily                     logits     hidden rows")
        for name, logits, hidden in TABLE:
            print(f"{name:26} {logits:.1e}    {hidden:.1e}")
