# SPDX-License-Identifier: Apache-2.0
"""Floats of 8 bits with scales of blocks, rows or matrices, as published files have them."""
import torch


class Fp8:
    """As the published files have it; the product of a code and its scale, in float32."""

    def __init__(self, block, dtype, part, config):
        self.block, self.dtype, self.part, self.config = block, dtype, part, config

    def __call__(self, name, weight):
        rows, cols = (size or limit for size, limit in zip(self.block, weight.shape))
        blocks = torch.nn.functional.pad(weight, (0, -weight.shape[1] % cols, 0, -weight.shape[0] % rows))
        blocks = blocks.reshape(blocks.shape[0] // rows, rows, -1, cols)
        scale = (blocks.abs().amax((1, 3)) / 448.0).to(self.dtype)
        if self.dtype == torch.uint8:
            scale = (blocks.abs().amax((1, 3)) / 448.0).log2().ceil().add(127).to(torch.uint8)
        factor = scale.float() if self.dtype != torch.uint8 else (scale.float() - 127).exp2()
        spread = factor.repeat_interleave(rows, 0).repeat_interleave(cols, 1)[: weight.shape[0], : weight.shape[1]]
        codes = (weight / spread).clamp(-448, 448).to(torch.float8_e4m3fn)
        stored = scale.reshape(1) if self.block == (0, 0) else scale
        tensors = {"weight": codes, self.part: stored}
        if self.config.get("activation_scheme") == "static":
            tensors["activation_scale" if self.part.endswith("_inv") else "input_scale"] = torch.tensor(0.02)
        return tensors, codes.float() * spread


class StackedFp8:
    """Blocks of all experts in one tensor, as transformers has them in memory, or transposed, as Qwen3-VL is published;
    other modules as Fp8."""

    stacks = True

    def __init__(self, block, config, transposed=False):
        self.plain, self.config = Fp8(block, torch.float32, "weight_scale_inv", config), config
        self.transposed = transposed

    def __call__(self, name, weight):
        if weight.dim() == 2:
            return self.plain(name, weight)
        if self.transposed:
            weight = weight.transpose(1, 2)
        parts = [self.plain(name, expert) for expert in weight]
        tensors = {"": torch.stack([part["weight"] for part, _ in parts]),
                   "_scale_inv": torch.stack([part["weight_scale_inv"] for part, _ in parts])}
        found = torch.stack([found for _, found in parts])
        return tensors, found.transpose(1, 2) if self.transposed else found


class FbgemmExperts:
    """Llama 4 in fbgemm_fp8: experts stacked, their outputs in columns, with a scale for each; other modules by rows."""

    stacks = True
    config = {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0}

    def __init__(self):
        self.plain = Fp8((1, 0), torch.float32, "weight_scale", self.config)

    def __call__(self, name, weight):
        if weight.dim() == 2:
            return self.plain(name, weight)
        scale = weight.abs().amax(1, keepdim=True) / 448.0
        codes = (weight / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
        stored = scale.transpose(1, 2) if name.endswith("down_proj") else scale
        return {"": codes, "_scale": stored}, codes.float() * scale
