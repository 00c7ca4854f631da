# SPDX-License-Identifier: Apache-2.0
"""LoRA adapters for the demo model, with random values."""

import json
import os
import random
import struct

QUERY = "base_model.model.model.layers.0.self_attn.q_proj"
RANK = 2


def write(folder, seed, columns=256):
    """Writes a folder as PEFT does."""
    draw = random.Random(seed)
    shapes = {QUERY + ".lora_A.weight": [RANK, columns], QUERY + ".lora_B.weight": [256, RANK]}
    header, data = {}, b""
    for name, shape in shapes.items():
        count = shape[0] * shape[1]
        begin = len(data)
        data += struct.pack(f"<{count}f", *(draw.uniform(-1, 1) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    os.mkdir(folder)
    with open(os.path.join(folder, "adapter_model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    with open(os.path.join(folder, "adapter_config.json"), "w") as file:
        json.dump({"peft_type": "LORA", "r": RANK, "lora_alpha": 4}, file)
