# SPDX-License-Identifier: Apache-2.0
"""Writes small encoders of random weights, as Hugging Face publishes them, with nothing but the standard library."""

import json
import os
import random
import shutil
import struct

TOKENIZER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "text", "data", "encoders", "bert_uncased_json",
                         "tokenizer.json")
PIECES, POSITIONS, DIMENSION, COLUMNS, HEADS, LAYERS = 260, 64, 32, 48, 4, 2
PROMPTS = {"query": "In the beginning ", "document": ""}


def shapes(is_reranker):
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
        name = ("bert." if is_reranker else "") + name
        if name.endswith(".weight"):
            tensors[name] = shape
        else:
            tensors[name + ".weight"], tensors[name + ".bias"] = shape, shape[:1]
    if is_reranker:
        tensors |= {"classifier.weight": [1, DIMENSION], "classifier.bias": [1]}
    return tensors


def write_safetensors(path, tensors, seed):
    rng = random.Random(seed)
    header, data = {}, b""
    for name, shape in tensors.items():
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        mean = 1.0 if name.endswith("LayerNorm.weight") else 0.0
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


def write_encoder(folder, is_reranker=False, seed=38):
    """Writes a BERT that embeds, with prompts, or one that ranks. Returns the folder."""
    os.makedirs(folder)
    write_safetensors(os.path.join(folder, "model.safetensors"), shapes(is_reranker), seed)
    config = {"architectures": ["BertForSequenceClassification" if is_reranker else "BertModel"], "model_type": "bert",
              "hidden_act": "gelu", "hidden_size": DIMENSION, "intermediate_size": COLUMNS, "layer_norm_eps": 1e-12,
              "max_position_embeddings": POSITIONS, "num_attention_heads": HEADS, "num_hidden_layers": LAYERS,
              "pad_token_id": 0, "type_vocab_size": 2, "vocab_size": PIECES}
    if is_reranker:
        config |= {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    write_json(folder, "config.json", config)
    shutil.copy(TOKENIZER, folder)
    if is_reranker:
        return folder
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    write_json(folder, "modules.json", [{"idx": i, "name": str(i), "path": path, "type": "sentence_transformers.models." + kind}
                                        for i, (path, kind) in enumerate(kinds)])
    write_json(folder, "1_Pooling/config.json", {"word_embedding_dimension": DIMENSION, "pooling_mode_mean_tokens": True,
                                                 "pooling_mode_cls_token": False})
    write_json(folder, "config_sentence_transformers.json", {"prompts": PROMPTS})
    return folder
