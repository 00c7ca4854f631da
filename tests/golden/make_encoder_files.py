#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tiny encoders of make_encoders.py as GGUF files, model.gguf beside each folder's model.safetensors.

usage: make_encoder_files.py FOLDER [FAMILY...]      all families below where none is named

Names of tensors and keys are those of the package gguf 0.19.0 of the Python index, which llama.cpp's converter uses. The
files have no tokenizers.
"""
import json
import pathlib
import sys

import gguf
from safetensors.numpy import load_file

ARCHITECTURES = {
    "modernbert": gguf.MODEL_ARCH.MODERN_BERT, "nomic_bert": gguf.MODEL_ARCH.NOMIC_BERT,
    "jina_bert": gguf.MODEL_ARCH.JINA_BERT_V2, "gemma3_text": gguf.MODEL_ARCH.GEMMA_EMBEDDING,
    "t5_relu": gguf.MODEL_ARCH.T5ENCODER, "jina_embeddings_v3": gguf.MODEL_ARCH.JINA_BERT_V3,
}
POOLING = {"mean": gguf.PoolingType.MEAN, "cls": gguf.PoolingType.CLS}


def tensors_of(folder):
    """Tensors under the names that the converter maps."""
    for name, values in load_file(folder / "model.safetensors").items():
        if ".lora_" in name:
            continue  # adapters are files of their own
        name = name.removeprefix("roberta.").replace(".parametrizations.weight.original", ".weight")
        if folder.name == "gemma3_text":
            name = "model." + name
            if name.endswith("norm.weight"):
                values = values + 1
        yield name, values
    for i, dense in enumerate(sorted(folder.glob("*_Dense")), 2):
        for name, values in load_file(dense / "model.safetensors").items():
            yield name.replace("linear", f"dense_{i}"), values


def describe(writer, family, config):
    get = lambda *names: next(config[name] for name in names if name in config)
    writer.add_context_length(get("max_position_embeddings") if family != "t5_relu" else 512)
    writer.add_embedding_length(get("hidden_size", "d_model"))
    writer.add_block_count(get("num_hidden_layers", "num_layers"))
    writer.add_feed_forward_length(get("intermediate_size", "d_ff"))
    writer.add_head_count(get("num_attention_heads", "num_heads"))
    if family == "t5_relu":
        writer.add_key_length(config["d_kv"])
        writer.add_value_length(config["d_kv"])
        writer.add_layer_norm_eps(config["layer_norm_epsilon"])
        writer.add_layer_norm_rms_eps(config["layer_norm_epsilon"])
        writer.add_relative_attn_buckets_count(config["relative_attention_num_buckets"])
        return
    if family == "gemma3_text":
        writer.add_head_count_kv(config["num_key_value_heads"])
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])
        writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
        writer.add_rope_freq_base(1e6)
        writer.add_sliding_window(config["sliding_window"])
        writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])
        return
    writer.add_layer_norm_eps(get("layer_norm_eps", "norm_eps"))
    writer.add_causal_attention(False)
    if family == "jina_bert":
        return
    base = {"jina_embeddings_v3": 20000.0, "nomic_bert": 1000.0, "modernbert": 160000.0}[family]
    writer.add_rope_freq_base(base)
    writer.add_rope_dimension_count(config["hidden_size"] // config["num_attention_heads"])
    if family == "modernbert":
        writer.add_sliding_window(config["local_attention"])
        writer.add_sliding_window_pattern(config["global_attn_every_n_layers"])
        writer.add_rope_scaling_type(gguf.RopeScalingType.NONE)


def write(folder):
    family = folder.name
    config = json.loads((folder / "config.json").read_text())
    architecture = ARCHITECTURES[family]
    writer = gguf.GGUFWriter(folder / "model.gguf", gguf.MODEL_ARCH_NAMES[architecture])
    describe(writer, family, config)
    pooling = json.loads((folder / "1_Pooling" / "config.json").read_text())
    mode = pooling.get("pooling_mode") or ("mean" if pooling["pooling_mode_mean_tokens"] else "cls")
    writer.add_pooling_type(POOLING[mode])
    writer.add_vocab_size(config["vocab_size"])
    names = gguf.get_tensor_name_map(architecture, config.get("num_hidden_layers", config.get("num_layers")))
    for name, values in tensors_of(folder):
        mapped = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if mapped is None:
            raise SystemExit(f"{family}: no name for {name}")
        writer.add_tensor(mapped, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(family, (folder / "model.gguf").stat().st_size)


def main():
    folder = pathlib.Path(sys.argv[1])
    for family in sys.argv[2:] or ARCHITECTURES:
        write(folder / family)


if __name__ == "__main__":
    main()
