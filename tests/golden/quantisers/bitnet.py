# SPDX-License-Identifier: Apache-2.0
"""Ternary weights of BitNet."""
import torch


def rounded_inputs(module, inputs):
    """The input of a module, each row of a token rounded to 8 bits, as it multiplies it."""
    from transformers.integrations.bitnet import ActQuant
    return (ActQuant.apply(inputs[0]),)


class BitNet:
    """The class autobitlinear; the other one divides by the scale."""

    rounded_inputs = staticmethod(rounded_inputs)

    def __init__(self, linear_class):
        self.divides = linear_class == "bitlinear"
        self.config = {"quant_method": "bitnet", "linear_class": linear_class, "quantization_mode": "offline",
                       "modules_to_not_convert": None}

    def __call__(self, name, weight):
        from transformers.integrations.bitnet import pack_weights, unpack_weights
        scale = weight.abs().mean().bfloat16().float()
        packed = pack_weights((weight / scale).round().clamp(-1, 1))
        stored = (1 / scale if self.divides else scale).bfloat16().reshape(1)
        numbers = unpack_weights(packed, torch.float32)
        found = numbers / stored.float() if self.divides else numbers * stored.float()
        return {"weight": packed, "weight_scale": stored}, found


class OnlineBitNet:
    """Floats, which transformers rounds as it computes."""

    rounded_inputs = staticmethod(rounded_inputs)
    config = {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "online",
              "modules_to_not_convert": ["lm_head", "model.layers.0.mlp.down_proj"]}

    def __call__(self, name, weight):
        from transformers.integrations.bitnet import WeightQuant
        weight = weight.bfloat16()
        stays = name in self.config["modules_to_not_convert"]
        return {"weight": weight}, (weight if stays else WeightQuant.apply(weight)).float()
