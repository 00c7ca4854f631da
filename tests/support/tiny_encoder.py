# SPDX-License-Identifier: Apache-2.0
"""Writes small encoders of random weights, as Hugging Face publishes them, with nothing but the standard library."""

import json
import math
import os
import random
import shutil
import struct

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOKENIZER = os.path.join(TESTS, "text", "data", "encoders", "bert_uncased_json", "tokenizer.json")
RANKERS = os.path.join(TESTS, "golden", "data", "rankers")
PIECES, POSITIONS, DIMENSION, COLUMNS, HEADS, LAYERS = 260, 64, 32, 48, 4, 2
TOKEN_DIMENSION = 12  # of embeddings of tokens
PROMPTS = {"query": "In the beginning ", "document": ""}


def shapes():
    """The names and shapes of all tensors of a BERT."""
    bert = {"embeddings.word_embeddings.weight": [PIECES, DIMENSION],
            "embeddings.position_embeddings.weight": [POSITIONS, DIMENSION],
            "embeddings.token_type_embeddings.weight": [2, DIMENSION], "pooler.dense": [DIMENSION, DIMENSION],
            "embeddings.LayerNorm": [DIMENSION]}
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            bert[layer + name] = [DIMENSION, DIMENSION]
        bert[layer + "intermediate.dense"] = [COLUMNS, DIMENSION]
        bert[layer + "output.dense"] = [DIMENSION, COLUMNS]
        bert[layer + "attention.output.LayerNorm"] = bert[layer + "output.LayerNorm"] = [DIMENSION]
    tensors = {}
    for name, shape in bert.items():
        if name.endswith(".weight"):
            tensors[name] = shape
        else:
            tensors[name + ".weight"], tensors[name + ".bias"] = shape, shape[:1]
    return tensors


def write_safetensors(path, tensors, seed):
    rng = random.Random(seed)
    header, data = {}, b""
    for name, shape in tensors.items():
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        mean = 1.0 if name.lower().endswith("norm.weight") else 0.0
        values = struct.pack(f"<{count}f", *(rng.gauss(mean, 0.2) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def write_json(folder, name, value):
    os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
    with open(os.path.join(folder, name), "w") as file:
        json.dump(value, file)


def write_colbert(folder, seed=38):
    """Writes a BERT that has an embedding for each token, with a dense layer after it. Returns the folder."""
    write_encoder(folder, seed=seed)
    for module in ("1_Pooling", "2_Normalize"):
        shutil.rmtree(os.path.join(folder, module), ignore_errors=True)
    write_json(folder, "modules.json", [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Dense", "type": "sentence_transformers.models.Dense"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])
    write_json(folder, "1_Dense/config.json", {"in_features": DIMENSION, "out_features": TOKEN_DIMENSION, "bias": False,
                                               "activation_function": "torch.nn.modules.linear.Identity"})
    write_safetensors(os.path.join(folder, "1_Dense", "model.safetensors"),
                      {"linear.weight": [TOKEN_DIMENSION, DIMENSION]}, seed)
    return folder


def byte_pieces():
    """The characters that byte-level tokenizers write bytes as (GPT-2)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    table = {byte: chr(byte) for byte in plain} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    return [table[byte] for byte in range(256)]


def write_byte_tokenizer(folder):
    """A tokenizer of bytes that has Qwen's special tokens, and "yes" and "no" as tokens. Returns the number of tokens."""
    merges = [["y", "e"], ["ye", "s"], ["n", "o"]]
    vocab = {piece: i for i, piece in enumerate([*byte_pieces(), *("".join(pair) for pair in merges)])}
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]
    added = [{"id": len(vocab) + i, "content": text, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": not text.endswith("think>")} for i, text in enumerate(special)]
    bytes_alone = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    write_json(folder, "tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": r"[^\s]+|\s+"}, "behavior": "Isolated", "invert": False}, bytes_alone]},
        "post_processor": bytes_alone, "decoder": bytes_alone,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocab, "merges": merges}})
    write_json(folder, "tokenizer_config.json", {"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>",
                                                 "pad_token": "<|endoftext|>", "model_max_length": 4096})
    return len(vocab) + len(added)


def write_judge(folder, says_so=True, seed=39):
    """Writes a Qwen3 that ranks by yes or no. Its model card tells, if it `says_so`. Returns the folder."""
    os.makedirs(folder)
    tokens, head = write_byte_tokenizer(folder), DIMENSION // HEADS
    tensors = {"model.embed_tokens.weight": [tokens, DIMENSION], "model.norm.weight": [DIMENSION]}
    for i in range(LAYERS):
        layer = f"model.layers.{i}."
        tensors |= {layer + "input_layernorm.weight": [DIMENSION], layer + "post_attention_layernorm.weight": [DIMENSION],
                    layer + "self_attn.q_proj.weight": [DIMENSION, DIMENSION],
                    layer + "self_attn.k_proj.weight": [DIMENSION // 2, DIMENSION],
                    layer + "self_attn.v_proj.weight": [DIMENSION // 2, DIMENSION],
                    layer + "self_attn.o_proj.weight": [DIMENSION, DIMENSION],
                    layer + "self_attn.q_norm.weight": [head], layer + "self_attn.k_norm.weight": [head],
                    layer + "mlp.gate_proj.weight": [COLUMNS, DIMENSION], layer + "mlp.up_proj.weight": [COLUMNS, DIMENSION],
                    layer + "mlp.down_proj.weight": [DIMENSION, COLUMNS]}
    write_safetensors(os.path.join(folder, "model.safetensors"), tensors, seed)
    write_json(folder, "config.json", {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_act": "silu", "hidden_size": DIMENSION,
        "intermediate_size": COLUMNS, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS // 2, "head_dim": head, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6,
        "rope_theta": 1000000, "tie_word_embeddings": True, "vocab_size": tokens, "attention_bias": False})
    if says_so:
        with open(os.path.join(folder, "README.md"), "w") as file:
            file.write("---\npipeline_tag: text-ranking\n---\n# Qwen3-Reranker of random weights\n")
    return folder


def write_reranker(folder):
    """Writes the BERT of tests/golden/data/rankers, with its tokenizer. Returns the folder."""
    os.makedirs(folder)
    for name in ("config.json", "model.safetensors"):
        shutil.copy(os.path.join(RANKERS, "bert", name), folder)
    shutil.copy(TOKENIZER, folder)
    return folder


def ranks_of(name):
    """A query, documents and their scores by the originals of write_reranker ("bert"), raw ones too, and of write_judge."""
    with open(os.path.join(RANKERS, "judge.json" if name == "judge" else f"{name}/ranks.json")) as file:
        ranks = json.load(file)
    if name != "judge":
        ranks["raw"] = ranks["scores"]
        ranks["scores"] = [1 / (1 + math.exp(-score)) for score in ranks["raw"]]
    return ranks


def write_encoder(folder, seed=38):
    """Writes a BERT that embeds, with prompts. Returns the folder."""
    os.makedirs(folder)
    write_safetensors(os.path.join(folder, "model.safetensors"), shapes(), seed)
    write_json(folder, "config.json", {
        "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": DIMENSION,
        "intermediate_size": COLUMNS, "layer_norm_eps": 1e-12, "max_position_embeddings": POSITIONS,
        "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "pad_token_id": 0, "type_vocab_size": 2,
        "vocab_size": PIECES})
    shutil.copy(TOKENIZER, folder)
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    write_json(folder, "modules.json", [{"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + kind}
                                        for i, (path, kind) in enumerate(kinds)])
    write_json(folder, "1_Pooling/config.json", {"word_embedding_dimension": DIMENSION, "pooling_mode_mean_tokens": True,
                                                 "pooling_mode_cls_token": False})
    write_json(folder, "config_sentence_transformers.json", {"prompts": PROMPTS})
    return folder
