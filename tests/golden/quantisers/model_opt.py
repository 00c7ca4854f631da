# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's Model Optimizer."""
import torch


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
