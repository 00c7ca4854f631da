# SPDX-License-Identifier: Apache-2.0
"""GPTQ, and AutoRound, which packs as it does or as AWQ."""
import torch

from quantisers.awq import Awq
from quantisers.scales import scales_of


class Gptq:
    def __init__(self, bits=4, group=32, symmetric=True, act_order=False, version=1, head=False):
        self.bits, self.group, self.symmetric, self.act_order, self.version = bits, group, symmetric, act_order, version
        self.config = {"quant_method": "gptq", "bits": bits, "group_size": group, "sym": symmetric,
                       "desc_act": act_order, "damp_percent": 0.1, "true_sequential": True, "static_groups": False,
                       "checkpoint_format": "gptq" if version == 1 else "gptq_v2"}
        if head:
            self.config["lm_head"] = True

    def __call__(self, name, weight):
        from auto_gptq.nn_modules.qlinear.qlinear_cuda_old import QuantLinear
        rows, cols = weight.shape
        scale, zero = scales_of(weight, self.group, self.bits, self.symmetric)
        groups = torch.arange(cols, dtype=torch.int32) // self.group
        packer = QuantLinear(self.bits, self.group, cols, rows, bias=False, weight_dtype=torch.float16)
        linear = torch.nn.Linear(cols, rows, bias=False)
        scale = scale.half().float()
        linear.weight.data = self.rounded(weight, scale, zero, groups, 2**self.bits - 1)
        packer.pack(linear.half(), scale.half().float(), zero.clone(), None)
        exact = linear.weight.data
        codes = (exact.float() / scale[:, groups.long()] + zero[:, groups.long()]).round()
        found = (codes - zero[:, groups.long()]) * scale[:, groups.long()]
        tensors = dict(qweight=packer.qweight, qzeros=packer.qzeros, scales=packer.scales.half(), g_idx=groups)
        if self.symmetric and self.bits == 4:  # many files have biases that the model has not
            tensors["bias"] = torch.zeros(rows, dtype=torch.float16)
        if self.act_order:  # any order of columns is one that the library may have chosen
            order = torch.randperm(cols, generator=torch.Generator().manual_seed(5))
            return self.in_order(tensors, codes, found, order)
        if self.version == 2:
            tensors["qzeros"] = tensors["qzeros"] + sum(1 << shift for shift in range(0, 32, self.bits))
        return tensors, found

    @staticmethod
    def rounded(weight, scale, zero, groups, largest):
        spread, middle = scale[:, groups.long()], zero[:, groups.long()]
        return ((weight / spread + middle).round().clamp(0, largest) - middle) * spread

    def in_order(self, tensors, codes, found, order):
        per_word = 32 // self.bits
        words = codes[:, order].t().to(torch.int64).reshape(-1, per_word, codes.shape[0])
        shifts = torch.arange(per_word).reshape(1, -1, 1) * self.bits
        tensors["qweight"] = (words << shifts).sum(1).to(torch.uint32).view(torch.int32)
        tensors["g_idx"] = tensors["g_idx"][order]
        return tensors, found[:, order]


class DynamicGptq:
    """GPTQModel's rules for modules: other bits, another group, or none."""

    def __init__(self):
        self.plain, self.other = Gptq(), Gptq(bits=8, group=64)
        self.config = dict(self.plain.config, checkpoint_format="gptq",
                           dynamic={"+:.*up_proj": {"bits": 8, "group_size": 64}, "-:.*o_proj": {}})

    def __call__(self, name, weight):
        if name.endswith("o_proj"):
            return {"weight": weight.bfloat16()}, weight.bfloat16().float()
        return (self.other if "up_proj" in name else self.plain)(name, weight)


class AutoRound:
    def __init__(self, packing, others):
        self.others, self.less_one = others, packing == "auto_round:auto_gptq"
        self.config = {"quant_method": "auto-round", "bits": 4, "group_size": 32, "sym": False, "data_type": "int",
                       "packing_format": packing, "autoround_version": "0.16.1", "iters": 200,
                       "block_name_to_quantize": "model.layers",
                       "extra_config": {name: {"bits": bits} for name, bits in others.items()}}

    def __call__(self, name, weight):
        if self.config["packing_format"] == "auto_round:auto_awq":
            return Awq()(name, weight)
        if self.less_one:
            from auto_round_extension.torch.qlinear_torch_zp import QuantLinear
        else:
            from auto_round_extension.torch.qlinear_torch import QuantLinear
        rows, cols = weight.shape
        bits = self.others.get(name, 4)
        scale, zero = scales_of(weight, 32, bits, False)
        scale = scale.half().float()
        packer = QuantLinear(bits, 32, cols, rows, bias=False)
        spread, middle = scale.repeat_interleave(32, 1), zero.repeat_interleave(32, 1)
        codes = (weight / spread + middle).round().clamp(0, 2**bits - 1)
        linear = torch.nn.Linear(cols, rows, bias=False)
        linear.weight.data = (codes - middle) * spread  # the packer of 5, 6 and 7 bits bounds no codes
        packer.device = "cpu"  # a field that the exporter sets
        packer.pack(linear, scale, zero)
        return dict(qweight=packer.qweight, qzeros=packer.qzeros, scales=packer.scales), linear.weight.data
