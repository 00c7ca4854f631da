#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tiny folders with quantised weights, as each method's own library packs them, and records logits.

usage: make_quantised.py FOLDER [CASE...]      all cases below where none is named

Needs the packages transformers 5.24.0, torch 2.15.0, compressed-tensors 0.20.0, bitsandbytes 0.50.2, mlx and mlx-cpu
0.32.4, nvidia-modelopt 0.47.0, autoawq 0.2.9, auto-gptq 0.7.1 and auto-round 0.16.1 of the Python index; of the last
three only the files that pack. transformers computes the logits in float32, of weights that the library's own code has made floats again.
"""
import json
import os
import pathlib
import sys

os.environ["TORCHDYNAMO_DISABLE"] = "1"  # nothing is compiled
import torch
import transformers
from safetensors.torch import save_file

VOCABULARY, PROMPT = 64, 10
SIZES = dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, head_dim=16, max_position_embeddings=64, tie_word_embeddings=False)
TERNARY = dict(SIZES, intermediate_size=256, hidden_act="relu2")  # of which blocks of 256 hold some, and not others
CHUNKED = dict(SIZES, num_local_experts=3, num_experts_per_tok=1, intermediate_size=32, intermediate_size_mlp=64,
               interleave_moe_layer_step=2, attention_chunk_size=16, moe_layers=[1], pad_token_id=None)
EXPERTS = dict(SIZES, num_hidden_layers=1, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=40,
               norm_topk_prob=True)


def scales_of(weight, group, bits, symmetric):
    """Scales and zero points [rows, groups] by the extremes of each group."""
    groups = weight.reshape(weight.shape[0], -1, group)
    low, high = groups.amin(2).clamp(max=0), groups.amax(2).clamp(min=0)
    if symmetric:
        scale = torch.maximum(-low, high) / (2 ** (bits - 1) - 0.5)
        return scale, torch.full_like(scale, 2 ** (bits - 1))
    scale = (high - low) / (2**bits - 1)
    return scale, (-low / scale).round().clamp(1, 2**bits - 1)  # no zero point of 0: GPTQ cannot store it


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
            tensors["activation_scale"] = torch.tensor(0.02)
        return tensors, codes.float() * spread


class StackedFp8:
    """Blocks of all experts in one tensor, as transformers has them in memory; other modules as Fp8."""

    stacks = True

    def __init__(self, block, config):
        self.plain, self.config = Fp8(block, torch.float32, "weight_scale_inv", config), config

    def __call__(self, name, weight):
        if weight.dim() == 2:
            return self.plain(name, weight)
        parts = [self.plain(name, expert) for expert in weight]
        tensors = {"": torch.stack([part["weight"] for part, _ in parts]),
                   "_scale_inv": torch.stack([part["weight_scale_inv"] for part, _ in parts])}
        return tensors, torch.stack([found for _, found in parts])


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


class BitNet:
    """The class autobitlinear, without its rounding of activations; the other one divides by the scale."""

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

    config = {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "online",
              "modules_to_not_convert": ["lm_head", "model.layers.0.mlp.up_proj"]}

    def __call__(self, name, weight):
        from transformers.integrations.bitnet import WeightQuant
        weight = weight.bfloat16()
        stays = name in self.config["modules_to_not_convert"]
        return {"weight": weight}, (weight if stays else WeightQuant.apply(weight)).float()


class ModelOpt:
    """Kinds by the ends of modules' names. `own_file`: as older folders have it, without a field in config.json."""

    def __init__(self, kinds, own_file=False):
        from modelopt.torch.export.convert_hf_config import convert_hf_quant_config_format
        self.kinds, self.own_file = kinds, own_file
        described = {"quant_algo": kinds[0][1], "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}
        if len(kinds) > 1:
            layers = {f"model.layers.0.{part}": {"quant_algo": kind} for part, kind in kinds}
            described = dict(described, quant_algo="MIXED_PRECISION", quantized_layers=layers)
        self.file = {"producer": {"name": "modelopt", "version": "0.47.0"}, "quantization": described}
        self.config = convert_hf_quant_config_format(self.file)

    def __call__(self, name, weight):
        kind = next(kind for part, kind in self.kinds if part in name)
        tensors, found = getattr(self, kind.lower())(weight)
        tensors["input_scale"] = torch.tensor(0.02)
        if name[-6:] in ("k_proj", "v_proj"):
            tensors[f"{name[-6]}_scale"] = torch.tensor(0.5)
        return tensors, found

    @staticmethod
    def nvfp4(weight):
        from modelopt.torch.quantization.qtensor import NVFP4QTensor
        packed, scale, factor = NVFP4QTensor.quantize(weight.clone(), 16)
        found = packed.dequantize(torch.float32, scale=scale, double_scale=factor, block_sizes={-1: 16})
        return dict(weight=packed._quantized_data, weight_scale=scale, weight_scale_2=factor), found

    @staticmethod
    def fp8(weight, **sizes):
        from modelopt.torch.quantization.qtensor import FP8QTensor
        packed, scale = FP8QTensor.quantize(weight.clone(), **sizes)
        found = packed.dequantize(torch.float32, scale=scale, block_sizes=sizes.get("block_sizes"))
        return dict(weight=packed._quantized_data, weight_scale=scale.squeeze() if scale.numel() == 1 else scale), found

    def fp8_per_channel_per_token(self, weight):
        tensors, found = self.fp8(weight, axis=0)
        return dict(tensors, weight_scale=tensors["weight_scale"].reshape(-1)), found

    def fp8_pb_wo(self, weight):
        return self.fp8(weight, block_sizes={-1: 128, -2: 128})

    @staticmethod
    def mxfp8(weight):
        from modelopt.torch.quantization.qtensor import MXFP8QTensor
        packed, scale = MXFP8QTensor.quantize(weight.clone())
        return dict(weight=packed._quantized_data, weight_scale=scale), packed.dequantize(torch.float32, scale=scale)


class MixedTensors:
    """Several groups of modules, each with its own format."""

    def __init__(self, parts):
        self.parts = parts
        groups = {f"group_{i}": method.config["config_groups"]["group_0"] for i, (_, method) in enumerate(parts)}
        self.config = dict(parts[0][1].config, config_groups=groups, format="mixed-precision")

    def __call__(self, name, weight):
        return next(method for ending, method in self.parts if ending in name)(name, weight)


class CompressedTensors:
    def __init__(self, layout, act_order=False, **weights):
        from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
        self.layout, self.act_order = layout, act_order
        args = QuantizationArgs(dynamic=False, **weights)
        self.scheme = QuantizationScheme(targets=["Linear"], weights=args, format=layout)
        group = json.loads(self.scheme.model_dump_json())
        if act_order:
            group["weights"]["actorder"] = "group"
        self.config = {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, "format": layout,
                       "ignore": ["lm_head"], "quantization_status": "compressed", "kv_cache_scheme": None,
                       "global_compression_ratio": None, "version": "0.20.0"}

    def __call__(self, name, weight):
        from compressed_tensors.compressors.base import BaseCompressor
        args, compressor = self.scheme.weights, BaseCompressor.get_value_from_registry(self.layout)
        state = {"weight": weight}
        if self.layout == "nvfp4-pack-quantized":
            peak = weight.reshape(weight.shape[0], -1, 16).abs().amax(2)
            state["weight_global_scale"] = (448 * 6 / weight.abs().max()).reshape(1)
            state["weight_scale"] = (peak / 6 * state["weight_global_scale"]).to(torch.float8_e4m3fn).float()
        elif self.layout == "mxfp4-pack-quantized":
            peak = weight.reshape(weight.shape[0], -1, 32).abs().amax(2)
            state["weight_scale"] = (peak.log2().floor() - 2).exp2()
        elif args.type == "float":
            state["weight_scale"] = (weight.abs().amax(1, keepdim=True) / 448).bfloat16().float()
        else:
            group = args.group_size if args.strategy == "group" else weight.shape[1]
            scale, zero = scales_of(weight, group, args.num_bits, args.symmetric)
            state["weight_scale"] = scale.bfloat16().float()
            if not args.symmetric:
                state["weight_zero_point"] = (zero - 2 ** (args.num_bits - 1)).to(torch.int8)
        order = torch.arange(weight.shape[1])
        if self.act_order:  # columns choose their groups: the library once stored that and made floats column by column
            order = torch.randperm(weight.shape[1], generator=torch.Generator().manual_seed(5))
        packed = compressor.compress(state, self.scheme)
        found = compressor.decompress(dict(packed), self.scheme)["weight"].float()
        if self.layout == "nvfp4-pack-quantized":  # there the library rounds to bfloat16
            found = self.exact_floats(packed, weight.shape)
        if self.act_order:
            return self.in_order(packed, found, order, args.group_size)
        return self.stored(packed), found

    def exact_floats(self, packed, shape):
        from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
        from compressed_tensors.quantization.lifecycle.forward import dequantize
        codes = unpack_fp4_from_uint8(packed["weight_packed"], *shape, dtype=torch.float32)
        return dequantize(x_q=codes, scale=packed["weight_scale"].float(), args=self.scheme.weights,
                          global_scale=packed["weight_global_scale"], dtype=torch.float32)

    def in_order(self, packed, found, order, group):
        from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32, unpack_from_int32
        bits, shape = self.scheme.weights.num_bits, found.shape
        codes = unpack_from_int32(packed["weight_packed"], bits, shape)
        groups = torch.arange(shape[1]) // group
        packed["weight_packed"] = pack_to_int32(codes[:, order], bits)
        packed["weight_g_idx"] = groups[order].to(torch.int32)
        return self.stored(packed), found[:, order]

    def stored(self, packed):
        is_float = self.scheme.weights.type == "int" or self.layout == "float-quantized"
        return {part: tensor.bfloat16() if part == "weight_scale" and is_float else tensor
                for part, tensor in packed.items()}


class Gptq:
    def __init__(self, bits=4, group=32, symmetric=True, act_order=False, version=1):
        self.bits, self.group, self.symmetric, self.act_order, self.version = bits, group, symmetric, act_order, version
        self.config = {"quant_method": "gptq", "bits": bits, "group_size": group, "sym": symmetric,
                       "desc_act": act_order, "damp_percent": 0.1, "true_sequential": True, "static_groups": False,
                       "checkpoint_format": "gptq" if version == 1 else "gptq_v2"}

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
        linear = torch.nn.Linear(cols, rows, bias=False)
        linear.weight.data = weight.clone()
        packer.device = "cpu"  # a field that the exporter sets
        packer.pack(linear, scale, zero)
        spread, middle = scale.repeat_interleave(32, 1), zero.repeat_interleave(32, 1)
        codes = (weight / spread + middle).round().clamp(0, 2**bits - 1)
        return dict(qweight=packer.qweight, qzeros=packer.qzeros, scales=packer.scales), (codes - middle) * spread


class Awq:
    config = {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True, "version": "gemm",
              "modules_to_not_convert": None}

    def __call__(self, name, weight):
        from awq.modules.linear.gemm import WQLinear_GEMM
        from awq.utils.packing_utils import dequantize_gemm
        scale, zero = scales_of(weight, 32, 4, False)
        scale = scale.half().float()
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
        spread, middle = scale.repeat_interleave(32, 1), zero.repeat_interleave(32, 1)
        linear.weight.data = ((weight / spread + middle).round().clamp(0, 15) - middle) * spread
        packed = WQLinear_GEMM.from_linear(linear, 4, 32, scales=scale.t().contiguous(), zeros=zero.t().contiguous())
        tensors = dict(qweight=packed.qweight, qzeros=packed.qzeros, scales=packed.scales)
        found = dequantize_gemm(packed.qweight, packed.qzeros, packed.scales.float(), 4, 32)
        return tensors, found.t().contiguous()


class AwqGemv:
    config = dict(Awq.config, version="gemv")

    def __call__(self, name, weight):
        from awq.modules.linear.gemv import WQLinear_GEMV
        scale, zero = scales_of(weight, 32, 4, False)
        scale = scale.half().float()
        spread, middle = scale.repeat_interleave(32, 1), zero.repeat_interleave(32, 1)
        found = ((weight / spread + middle).round().clamp(0, 15) - middle) * spread
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
        linear.weight.data = found
        packed = WQLinear_GEMV.from_linear(linear, 4, 32, scales=scale, zeros=zero)
        return dict(qweight=packed.qweight, qzeros=packed.qzeros, scales=packed.scales), found


class AwqFast:
    """The library multiplies on other devices alone: codes times scales and zero points, which are scaled, are added."""

    config = dict(Awq.config, version="gemv_fast")

    def __call__(self, name, weight):
        from awq.modules.linear.gemv_fast import WQLinear_GEMVFast
        scale, zero = scales_of(weight, 32, 4, False)
        scale = scale.half().float()
        spread, middle = scale.repeat_interleave(32, 1), zero.repeat_interleave(32, 1)
        codes = (weight / spread + middle).round().clamp(0, 15)
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
        linear.weight.data = (codes - middle) * spread
        packed = WQLinear_GEMVFast.from_linear(linear, 4, 32, scales=scale, zeros=zero)
        added = packed.qzeros[: scale.shape[1]].t().float()
        found = codes * spread + added.repeat_interleave(32, 1)
        return dict(qweight=packed.qweight, qzeros=packed.qzeros, scales=packed.scales), found


class BitsAndBytes:
    def __init__(self, kind, nested=False):
        self.kind, self.nested = kind, nested
        self.config = {"quant_method": "bitsandbytes", "load_in_4bit": kind != "int8", "load_in_8bit": kind == "int8",
                       "llm_int8_threshold": 6.0, "llm_int8_skip_modules": None, "bnb_4bit_quant_storage": "uint8",
                       "bnb_4bit_quant_type": kind if kind != "int8" else "fp4", "bnb_4bit_use_double_quant": nested,
                       "bnb_4bit_compute_dtype": "bfloat16"}

    def __call__(self, name, weight):
        import bitsandbytes.functional as bnb
        if self.kind == "int8":
            codes, largest, _ = bnb.int8_vectorwise_quant(weight.half())
            tensors = dict(weight=codes, SCB=largest, weight_format=torch.tensor(0, dtype=torch.uint8))
            return tensors, bnb.int8_vectorwise_dequant(codes, largest)
        codes, state = bnb.quantize_4bit(weight, quant_type=self.kind, compress_statistics=self.nested)
        packed = {f"weight.{part}": value for part, value in state.as_dict(packed=True).items()}
        return {"weight": codes, **packed}, self.floats(codes, state)

    @staticmethod
    def floats(codes, state):
        """By the library's plain formula: its kernel for processors errs in rows that are no whole blocks."""
        from bitsandbytes import functional
        from bitsandbytes.backends.default.ops import _dequantize_4bit_compute
        factors = state.absmax
        if state.nested:
            factors = functional.dequantize_blockwise(factors, state.state2) + state.offset
        return _dequantize_4bit_compute(codes.reshape(-1), factors, state.code, state.blocksize, state.shape, state.dtype)


class Mlx:
    embeds = stacks = True

    def __init__(self, bits, others=None):
        self.bits, self.others = bits, others or {}
        self.config = {"group_size": 32, "bits": bits, "mode": "affine", **self.others}

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
        sizes = {"group_size": sizes["group_size"], "bits": sizes["bits"]}
        packed = mx.quantize(mx.array(weight.half().numpy()), **sizes)
        words, scales, biases = (torch.from_numpy(numpy.array(part)) for part in packed)
        found = mx.dequantize(packed[0], packed[1].astype(mx.float32), packed[2].astype(mx.float32), **sizes)
        return {"weight": words, "scales": scales, "biases": biases}, torch.from_numpy(numpy.array(found))


FP8 = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic"}
CASES = {
    "fp8_blocks": ("qwen3_moe", lambda: Fp8((24, 40), torch.bfloat16, "weight_scale_inv",
                                            dict(FP8, weight_block_size=[24, 40]))),
    "fp8_matrices": ("llama", lambda: Fp8((0, 0), torch.float32, "weight_scale_inv",
                                          dict(FP8, activation_scheme="static", weight_block_size=None))),
    "fbgemm_fp8": ("llama", lambda: Fp8((1, 0), torch.float32, "weight_scale",
                                        {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0})),
    "ct_w4a16": ("qwen3", lambda: CompressedTensors("pack-quantized", num_bits=4, strategy="group", group_size=32)),
    "ct_zeros": ("qwen3", lambda: CompressedTensors("pack-quantized", num_bits=4, strategy="group", group_size=32,
                                                    symmetric=False)),
    "ct_act_order": ("qwen3", lambda: CompressedTensors("pack-quantized", act_order=True, num_bits=4, strategy="group",
                                                        group_size=32)),
    "ct_w8a8": ("llama", lambda: CompressedTensors("int-quantized", num_bits=8, strategy="channel")),
    "ct_fp8": ("llama", lambda: CompressedTensors("float-quantized", num_bits=8, type="float", strategy="channel")),
    "ct_nvfp4": ("qwen3", lambda: CompressedTensors("nvfp4-pack-quantized", num_bits=4, type="float",
                                                    strategy="tensor_group", group_size=16)),
    "ct_mxfp4": ("qwen3", lambda: CompressedTensors("mxfp4-pack-quantized", num_bits=4, type="float", strategy="group",
                                                    group_size=32)),
    "awq": ("qwen3", Awq),
    "gptq": ("llama", Gptq),
    "gptq_act_order": ("llama", lambda: Gptq(symmetric=False, act_order=True)),
    "gptq_v2": ("llama", lambda: Gptq(bits=8, symmetric=False, version=2)),
    "gptq_3bit": ("llama", lambda: Gptq(bits=3)),
    "auto_round": ("qwen3", lambda: AutoRound("auto_round", {"model.layers.1.mlp.down_proj": 8})),
    "bnb_nf4": ("llama", lambda: BitsAndBytes("nf4", nested=True)),
    "bnb_fp4": ("llama", lambda: BitsAndBytes("fp4")),
    "bnb_int8": ("llama", lambda: BitsAndBytes("int8")),
    "mlx_4bit": ("llama", lambda: Mlx(4)),
    "fp8_experts": ("qwen3_moe", lambda: StackedFp8((24, 32), dict(FP8, weight_block_size=[24, 32]))),
    "fbgemm_experts": ("llama4_text", FbgemmExperts),
    "ct_mixed": ("qwen3", lambda: MixedTensors([
        ("self_attn", CompressedTensors("pack-quantized", num_bits=4, strategy="group", group_size=32)),
        ("down_proj", CompressedTensors("nvfp4-pack-quantized", num_bits=4, type="float", strategy="tensor_group",
                                        group_size=16)),
        ("mlp", CompressedTensors("float-quantized", num_bits=8, type="float", strategy="channel"))])),
    "awq_gemv": ("qwen3", AwqGemv),
    "gptq_dynamic": ("llama", DynamicGptq),
    "auto_round_gptq": ("qwen3", lambda: AutoRound("auto_round:auto_gptq", {})),
    "auto_round_awq": ("qwen3", lambda: AutoRound("auto_round:auto_awq", {})),
    "bitnet": ("bitnet", lambda: BitNet("autobitlinear")),
    "bitnet_divided": ("bitnet", lambda: BitNet("bitlinear")),
    "bitnet_online": ("bitnet", OnlineBitNet),
    "awq_fast": ("qwen3", AwqFast),
    "modelopt_nvfp4": ("qwen3", lambda: ModelOpt([("", "NVFP4")])),
    "modelopt_fp8": ("llama", lambda: ModelOpt([("", "FP8")], own_file=True)),
    "modelopt_mixed": ("qwen3", lambda: ModelOpt([("self_attn.o_proj", "FP8_PER_CHANNEL_PER_TOKEN"),
                                                  ("self_attn", "NVFP4"), ("down_proj", "MXFP8"),
                                                  ("mlp", "FP8_PB_WO")])),
    "mlx_experts": ("qwen3_moe", lambda: Mlx(4)),
    "mlx_6bit": ("qwen3", lambda: Mlx(6, {"model.layers.1.mlp.up_proj": {"group_size": 64, "bits": 8},
                                          "model.layers.0.mlp.up_proj": False})),
}


def model_of(family, method):
    sizes = {"qwen3_moe": EXPERTS, "bitnet": TERNARY, "llama4_text": CHUNKED}.get(family, SIZES)
    if family == "qwen3_moe" and isinstance(method, Mlx):
        sizes = dict(sizes, moe_intermediate_size=64)  # whole groups
    if isinstance(method, ModelOpt) and len(method.kinds) > 1:
        sizes = dict(sizes, intermediate_size=160)  # two blocks
    if isinstance(method, AwqFast):
        sizes = dict(sizes, intermediate_size=128)  # multiples of 64
    config = transformers.AutoConfig.for_model(family, **sizes)
    config._attn_implementation = config._experts_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, values in model.named_parameters():
            noise = torch.randn(values.shape, generator=generator)
            scale = 1.5 / values.shape[-1] ** 0.5 if values.dim() > 1 else 0.2
            values.copy_(1.0 + 0.2 * noise if values.dim() == 1 else noise * (1.0 if "embed" in name else scale))
            values.copy_(values.bfloat16().float())
    return model


def stacked(name):
    """The matrices of experts, which transformers stacks and files do not: names of the parts of a parameter."""
    if name.endswith("gate_up_proj"):
        return ["gate_proj", "up_proj"]
    return ["down_proj"] if name.endswith("experts.down_proj") else []


def whole_experts(method, name, values):
    """The tensors of the matrices of all experts, stacked. MLX has gates and the others in two tensors."""
    if not isinstance(method, Mlx):
        tensors, found = method(name, values.clone())
        values.copy_(found)
        return {name + key: tensor for key, tensor in tensors.items()}
    tensors = {}
    for part, weight in zip(stacked(name), values.chunk(len(stacked(name)), 1)):
        stem, packed, found = method(f"{name.rsplit('.', 1)[0]}.{part}", weight.clone())
        weight.copy_(found)
        tensors.update({stem + key: tensor for key, tensor in packed.items()})
    return tensors


@torch.no_grad()
def quantised(model, method):
    """The tensors of the folder; replaces the weights of the model by what they mean."""
    tensors = {}
    for name, values in model.named_parameters():
        module = name.removesuffix(".weight")
        is_embedding = "embed_tokens" in name or "lm_head" in name
        if hasattr(method, "stacks") and "experts" in name:
            tensors.update(whole_experts(method, name, values))
        elif parts := stacked(name):
            for expert in range(values.shape[0]):
                for part, weight in zip(parts, values[expert].chunk(len(parts), 0)):
                    stem = f"{name.rsplit('.', 1)[0]}.{expert}.{part}"
                    packed, found = method(stem, weight.clone())
                    weight.copy_(found)
                    tensors.update({f"{stem}.{key}": tensor for key, tensor in packed.items()})
        elif values.dim() < 2 or name.endswith(("mlp.gate.weight", "router.weight")) or (is_embedding and not hasattr(method, "embeds")):
            tensors[name] = values.bfloat16()
        else:
            packed, found = method(module, values.clone())
            values.copy_(found)
            tensors.update({f"{module}.{key}": tensor for key, tensor in packed.items()})
    return {name: tensor.contiguous().clone() for name, tensor in tensors.items()}


def record(folder, case):
    family, make = CASES[case]
    method = make()
    model = model_of(family, method)
    into = folder / case
    into.mkdir(parents=True, exist_ok=True)
    save_file(quantised(model, method), into / "model.safetensors")
    config = json.loads(model.config.to_json_string())
    if getattr(method, "own_file", False):
        (into / "hf_quant_config.json").write_text(json.dumps(method.file, indent=2) + "\n")
    else:
        config["quantization" if isinstance(method, Mlx) else "quantization_config"] = method.config
    (into / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    prompt = torch.randint(3, VOCABULARY, (1, PROMPT), generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        logits = model(input_ids=prompt, use_cache=False).logits
    save_file({"input_ids": prompt, "logits": logits}, into / "golden.safetensors")
    print(case, logits.std().item())


def main():
    folder = pathlib.Path(sys.argv[1])
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    for case in sys.argv[2:] or CASES:
        record(folder, case)


if __name__ == "__main__":
    main()
