# SPDX-License-Identifier: Apache-2.0
"""Reference checkpoints of tests/golden, and how to read them."""

import json

import numpy as np

from conftest import GOLDEN

KINDS = {"F32": np.float32, "I64": np.int64, "I32": np.int32}


def tensors(path):
    """Returns the float32 and integer tensors of a safetensors file."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, rest = json.loads(data[8 : 8 + length]), data[8 + length :]
    return {
        name: np.frombuffer(rest[slice(*facts["data_offsets"])], KINDS[facts["dtype"]]).reshape(facts["shape"])
        for name, facts in header.items()
        if name != "__metadata__" and facts["dtype"] in KINDS
    }


def families():
    """Folders with a model and what its publisher's code computed of it."""
    return sorted(path.parent for path in GOLDEN.glob("*/golden.safetensors")
                  if (path.parent / "config.json").exists() and (path.parent / "model.safetensors").exists())
