# SPDX-License-Identifier: Apache-2.0
"""Folders of compressed-tensors."""
import json

import torch

from quantisers.scales import scales_of


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


class MixedTensors:
    """Several groups of modules, each with its own format."""

    def __init__(self, parts):
        self.parts = parts
        groups = {f"group_{i}": method.config["config_groups"]["group_0"] for i, (_, method) in enumerate(parts)}
        self.config = dict(parts[0][1].config, config_groups=groups, format="mixed-precision")

    def __call__(self, name, weight):
        return next(method for ending, method in self.parts if ending in name)(name, weight)
