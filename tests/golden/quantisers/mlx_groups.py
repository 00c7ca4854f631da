# SPDX-License-Identifier: Apache-2.0
"""MLX."""
import torch


class Mlx:
    embeds = stacks = True

    def __init__(self, bits, others=None, mode="affine"):
        self.bits, self.others = bits, others or {}
        self.config = {"group_size": 32, "bits": bits, "mode": mode, **self.others}

    def __call__(self, name, weight):
        import mlx.core as mx
        import numpy
        sizes = self.others.get(name, self.config)
        if weight.dim() == 3:  # experts, which have a name of their own there
            stem = name.replace("experts", "switch_mlp")
            parts = [self(name, expert) for expert in weight]
            tensors = {f".{key}": torch.stack([part[key] for part, _ in parts]) for key in ("weight", "scales", "biases")}
            return stem, tensors, torch.stack([found for _, found in parts])
        if sizes is False:
            return {"weight": weight.half()}, weight.half().float()
        mode, sizes = sizes.get("mode", "affine"), {"group_size": sizes["group_size"], "bits": sizes["bits"]}
        if mode != "affine":
            return self.floats(weight, mode=mode, **sizes)
        packed = mx.quantize(mx.array(weight.half().numpy()), **sizes)
        words, scales, biases = (torch.from_numpy(numpy.array(part)) for part in packed)
        found = mx.dequantize(packed[0], packed[1].astype(mx.float32), packed[2].astype(mx.float32), **sizes)
        return {"weight": words, "scales": scales, "biases": biases}, torch.from_numpy(numpy.array(found))

    @staticmethod
    def floats(weight, **sizes):
        """Weights of the modes whose codes are floats."""
        import mlx.core as mx
        import numpy
        packed = mx.quantize(mx.array(weight.numpy()), **sizes)
        words, scales = (torch.from_numpy(numpy.array(part)) for part in packed)
        found = mx.dequantize(*packed, **sizes, dtype=mx.float32)
        return {"weight": words, "scales": scales}, torch.from_numpy(numpy.array(found))
