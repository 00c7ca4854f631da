# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's Model Optimizer."""
import json

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


def rounded_blocks(quantizer, values):
    """Fake quantisation of blocks, by the classes that also pack them: its own kernels need a GPU."""
    from modelopt.torch.quantization.qtensor import MXFP4QTensor, NVFP4QTensor
    size, is_mx = quantizer.block_sizes[-1], quantizer.block_sizes["scale_bits"] == (8, 0)
    if is_mx:
        packed, scale = MXFP4QTensor.quantize(values.clone(), size)
        return packed.dequantize(values.dtype, scale=scale, block_sizes={-1: size})
    factor = quantizer._get_amax(values).float().squeeze() / (448.0 if size == 32 else 6.0 * 448.0)  # 32: of W4A8
    packed, scale, factor = NVFP4QTensor.quantize(values.clone(), size, None, factor)
    return packed.dequantize(values.dtype, scale=scale, double_scale=factor, block_sizes={-1: size})


class ModelOptExport:
    """A folder as its exporter writes it, by the name of a configuration. `own_file`: as ModelOpt above."""

    def __init__(self, name, own_file=False):
        self.name, self.own_file = name, own_file

    def export(self, model, into, prompt):
        """Writes the folder; returns the logits of the model whose weights alone are rounded."""
        import modelopt.torch.quantization as quantization
        from modelopt.torch.export import export_hf_checkpoint
        from modelopt.torch.export.unified_export_hf import requantize_resmooth_fused_llm_layers
        from modelopt.torch.quantization.nn import TensorQuantizer
        fake = TensorQuantizer._fake_quantize
        TensorQuantizer._fake_quantize = lambda quantizer, values: (
            rounded_blocks if (quantizer.block_sizes or {}).get("type") == "dynamic" else fake)(quantizer, values)
        texts = torch.randint(3, model.config.vocab_size, (4, 16), generator=torch.Generator().manual_seed(5))
        model.config.architectures = [type(model).__name__]
        model = quantization.quantize(model, getattr(quantization, self.name),
                                      lambda calibrated: [calibrated(input_ids=text[None]) for text in texts])
        requantize_resmooth_fused_llm_layers(model)  # as the exporter begins
        inputs = [module for name, module in model.named_modules()
                  if name.endswith("input_quantizer") and module.is_enabled]
        for quantizer in inputs:
            quantizer.disable()  # what multiplies columns stays
        logits = model(input_ids=prompt, use_cache=False).logits
        for quantizer in inputs:
            quantizer.enable()
        export_hf_checkpoint(model, export_dir=into)
        TensorQuantizer._fake_quantize = fake
        (into / "generation_config.json").unlink()
        if self.own_file:
            config = json.loads((into / "config.json").read_text())
            del config["quantization_config"]
            (into / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        else:
            (into / "hf_quant_config.json").unlink()
        return logits
