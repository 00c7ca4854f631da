#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tiny folders with quantised weights, as each method's own library packs them, and records logits.

usage: make_quantised.py FOLDER [CASE...]      all cases below where none is named

Needs the packages transformers 5.24.0, torch 2.15.0, compressed-tensors 0.20.0, bitsandbytes 0.50.2, mlx and mlx-cpu
0.32.4, nvidia-modelopt 0.47.0 with accelerate 1.15.0, autoawq 0.2.9, auto-gptq 0.7.1 and auto-round 0.16.1 of the Python index; of the last
three only the files that pack. transformers computes the logits in float32, of weights that the library's own code has
made floats again. A method is a class of quantisers/, with "config", that gives for a module's name and weight the
tensors of the folder and the weight that they mean.
"""
import json
import os
import pathlib
import sys

os.environ["TORCHDYNAMO_DISABLE"] = "1"  # nothing is compiled
import torch
import transformers
from safetensors.torch import save_file

from quantisers.awq import Awq, AwqFast, AwqGemv
from quantisers.bitnet import BitNet, OnlineBitNet
from quantisers.bits_and_bytes import BitsAndBytes
from quantisers.compressed import CompressedTensors, MixedTensors
from quantisers.float8 import FbgemmExperts, Fp8, StackedFp8
from quantisers.gptq import AutoRound, DynamicGptq, Gptq
from quantisers.mlx_groups import Mlx
from quantisers.model_opt import ModelOpt, ModelOptExport

VOCABULARY, PROMPT = 64, 10
SIZES = dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, head_dim=16, max_position_embeddings=64, tie_word_embeddings=False)
TERNARY = dict(SIZES, intermediate_size=256, hidden_act="relu2")  # of which blocks of 256 hold some, and not others
CHUNKED = dict(SIZES, num_local_experts=3, num_experts_per_tok=1, intermediate_size=32, intermediate_size_mlp=64,
               interleave_moe_layer_step=2, attention_chunk_size=16, moe_layers=[1], pad_token_id=None)
EXPERTS = dict(SIZES, num_hidden_layers=1, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=40,
               norm_topk_prob=True)
IMAGES = dict(depth=1, hidden_size=16, intermediate_size=20, num_heads=2, num_position_embeddings=16,
              out_hidden_size=SIZES["hidden_size"], deepstack_visual_indexes=[])  # what no text is read by

FP8 = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic"}
NVFP4, MXFP8 = {"group_size": 16, "bits": 4, "mode": "nvfp4"}, {"group_size": 32, "bits": 8, "mode": "mxfp8"}
MLX_FLOATS = {"model.layers.0.mlp.gate_proj": NVFP4, "model.layers.0.mlp.up_proj": NVFP4, "lm_head": MXFP8,
              "model.layers.1.mlp.gate_proj": MXFP8, "model.layers.1.mlp.up_proj": MXFP8,
              "model.layers.1.mlp.down_proj": {"group_size": 32, "bits": 5}}
CASES = {
    "fp8_blocks": ("qwen3_moe", lambda: Fp8((24, 40), torch.bfloat16, "weight_scale_inv",
                                            dict(FP8, weight_block_size=[24, 40]))),
    "fp8_matrices": ("llama", lambda: Fp8((0, 0), torch.float32, "weight_scale_inv",
                                          dict(FP8, activation_scheme="static", weight_block_size=None))),
    "auto_fp8": ("llama", lambda: Fp8((0, 0), torch.float32, "weight_scale", dict(FP8, activation_scheme="static"))),
    "fbgemm_fp8": ("llama", lambda: Fp8((1, 0), torch.float32, "weight_scale",
                                        {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0})),
    "ct_w4a16": ("qwen3", lambda: CompressedTensors("pack-quantized", num_bits=4, strategy="group", group_size=32)),
    "ct_zeros": ("qwen3", lambda: CompressedTensors("pack-quantized", num_bits=4, strategy="group", group_size=32,
                                                    symmetric=False)),
    "ct_act_order": ("qwen3", lambda: CompressedTensors("pack-quantized", act_order=True, num_bits=4, strategy="group",
                                                        group_size=32)),
    "ct_w8a8": ("llama", lambda: CompressedTensors("int-quantized", num_bits=8, strategy="channel")),
    "ct_w8_zeros": ("llama", lambda: CompressedTensors("int-quantized", num_bits=8, strategy="channel", symmetric=False)),
    "ct_fp8": ("llama", lambda: CompressedTensors("float-quantized", num_bits=8, type="float", strategy="channel")),
    "ct_nvfp4": ("qwen3", lambda: CompressedTensors("nvfp4-pack-quantized", num_bits=4, type="float",
                                                    strategy="tensor_group", group_size=16)),
    "ct_mxfp4": ("qwen3", lambda: CompressedTensors("mxfp4-pack-quantized", num_bits=4, type="float", strategy="group",
                                                    group_size=32)),
    "awq": ("qwen3", Awq),
    "gptq": ("llama", Gptq),
    "gptq_act_order": ("llama", lambda: Gptq(symmetric=False, act_order=True)),
    "gptq_head": ("llama", lambda: Gptq(symmetric=False, act_order=True, head=True)),
    "gptq_v2": ("llama", lambda: Gptq(bits=8, symmetric=False, version=2)),
    "gptq_3bit": ("llama", lambda: Gptq(bits=3)),
    "auto_round": ("qwen3", lambda: AutoRound("auto_round", {"model.layers.1.mlp.down_proj": 8})),
    "bnb_nf4": ("llama", lambda: BitsAndBytes("nf4", nested=True)),
    "bnb_fp4": ("llama", lambda: BitsAndBytes("fp4")),
    "bnb_int8": ("llama", lambda: BitsAndBytes("int8")),
    "mlx_4bit": ("llama", lambda: Mlx(4)),
    "fp8_experts": ("qwen3_moe", lambda: StackedFp8((24, 32), dict(FP8, weight_block_size=[24, 32]))),
    "fp8_transposed": ("qwen3_vl_moe", lambda: StackedFp8((32, 32), dict(FP8, weight_block_size=[32, 32]), True)),
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
    "modelopt_w4a16_awq": ("llama", lambda: ModelOptExport("INT4_AWQ_CFG")),
    "modelopt_w4a8_awq": ("llama", lambda: ModelOptExport("W4A8_AWQ_BETA_CFG", own_file=True)),
    "modelopt_nvfp4_awq": ("llama", lambda: ModelOptExport("NVFP4_AWQ_LITE_CFG")),
    "modelopt_w4a8_nvfp4": ("llama", lambda: ModelOptExport("W4A8_NVFP4_FP8_CFG")),
    "modelopt_mxfp4": ("llama", lambda: ModelOptExport("MXFP4_DEFAULT_CFG")),
    "modelopt_w8a8_sq": ("llama", lambda: ModelOptExport("INT8_SMOOTHQUANT_CFG")),
    "modelopt_experts": ("qwen3_moe", lambda: ModelOptExport("NVFP4_DEFAULT_CFG")),
    "ct_bits": ("qwen2", lambda: MixedTensors([
        ("self_attn", CompressedTensors("pack-quantized", num_bits=6, strategy="group", group_size=32,
                                        symmetric=False)),
        ("down_proj", CompressedTensors("int-quantized", num_bits=4, strategy="group", group_size=32)),
        ("gate_proj", CompressedTensors("pack-quantized", num_bits=7, strategy="channel", symmetric=False)),
        ("mlp", CompressedTensors("pack-quantized", num_bits=5, strategy="channel"))])),
    "auto_round_bits": ("qwen3", lambda: AutoRound("auto_round", {"model.layers.0.mlp.up_proj": 5,
                                                                  "model.layers.0.mlp.down_proj": 6,
                                                                  "model.layers.1.mlp.down_proj": 7})),
    "bnb_storage": ("llama", lambda: BitsAndBytes("nf4", nested=True, storage="bfloat16")),
    "mlx_experts": ("qwen3_moe", lambda: Mlx(4)),
    "mlx_6bit": ("qwen3", lambda: Mlx(6, {"model.layers.1.mlp.up_proj": {"group_size": 64, "bits": 8},
                                          "model.layers.0.mlp.up_proj": False})),
    "mlx_floats": ("qwen3", lambda: Mlx(4, MLX_FLOATS, "mxfp4")),
}


def model_of(family, method):
    sizes = {"qwen3_moe": EXPERTS, "bitnet": TERNARY, "llama4_text": CHUNKED}.get(family, SIZES)
    if family == "qwen3_moe" and isinstance(method, (Mlx, ModelOptExport)):
        sizes = dict(sizes, moe_intermediate_size=64)  # whole groups
    if isinstance(method, ModelOpt) and len(method.kinds) > 1:
        sizes = dict(sizes, intermediate_size=160)  # two blocks
    if isinstance(method, ModelOptExport):
        sizes = dict(sizes, hidden_size=128, intermediate_size=128, head_dim=32, num_hidden_layers=1)  # whole groups
    if isinstance(method, AwqFast):
        sizes = dict(sizes, intermediate_size=128)  # multiples of 64
    kind = transformers.AutoModelForCausalLM
    if family == "qwen3_vl_moe":
        rope = dict(rope_type="default", rope_theta=5000.0, mrope_section=[3, 3, 2], mrope_interleaved=True)
        sizes = dict(text_config=dict(EXPERTS, rope_parameters=rope), vision_config=IMAGES, tie_word_embeddings=False)
        kind = transformers.AutoModelForImageTextToText
    config = transformers.AutoConfig.for_model(family, **sizes)
    config._attn_implementation = config._experts_implementation = "eager"
    model = kind.from_config(config, dtype=torch.float32).eval()
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, values in model.named_parameters():
            noise = torch.randn(values.shape, generator=generator)
            scale = 1.5 / values.shape[-1] ** 0.5 if values.dim() > 1 else 0.2
            values.copy_(1.0 + 0.2 * noise if values.dim() == 1 else noise * (1.0 if "embed" in name else scale))
            if not hasattr(method, "export"):  # in which numbers half-way between two codes become either
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
        if ".visual." in name:
            continue
        module = name.removesuffix(".weight")
        is_embedding = "embed_tokens" in name or ("lm_head" in name and not method.config.get("lm_head", False))
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
    prompt = torch.randint(3, VOCABULARY, (1, PROMPT), generator=torch.Generator().manual_seed(3))
    if hasattr(method, "export"):
        with torch.no_grad():
            save_file({"input_ids": prompt, "logits": method.export(model, into, prompt)}, into / "golden.safetensors")
        return
    save_file(quantised(model, method), into / "model.safetensors")
    config = json.loads(model.config.to_json_string())
    if getattr(method, "own_file", False):
        (into / "hf_quant_config.json").write_text(json.dumps(method.file, indent=2) + "\n")
    else:
        config["quantization" if isinstance(method, Mlx) else "quantization_config"] = method.config
    (into / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    with torch.no_grad():
        logits = model(input_ids=prompt, use_cache=False).logits
        recorded = {"input_ids": prompt, "logits": logits}
        if hasattr(method, "rounded_inputs"):  # the logits again, of inputs that are rounded as the original rounds them
            for name, module in model.named_modules():
                is_float = name in (method.config["modules_to_not_convert"] or ["lm_head"])
                if isinstance(module, torch.nn.Linear) and not is_float:
                    module.register_forward_pre_hook(method.rounded_inputs)
            recorded["rounded_logits"] = model(input_ids=prompt, use_cache=False).logits
    save_file(recorded, into / "golden.safetensors")
    print(case, logits.std().item())


def main():
    folder = pathlib.Path(sys.argv[1])
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    for case in sys.argv[2:] or CASES:
        record(folder, case)


if __name__ == "__main__":
    main()
