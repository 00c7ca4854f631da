# SPDX-License-Identifier: Apache-2.0
"""Writes GGUF files for tests, and turns a folder as Hugging Face publishes it into one. Plain Python, so slow."""

import json
import struct

F32, BF16 = 0, 30  # types of tensors


def text(value):
    return struct.pack("<Q", len(value)) + value


def typed(value):
    """Returns the number of a value's type, and its bytes."""
    if isinstance(value, bool):
        return 7, struct.pack("<?", value)
    if isinstance(value, int):
        return 4, struct.pack("<I", value)
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, (str, bytes)):
        return 8, text(value.encode() if isinstance(value, str) else value)
    elements = [typed(element) for element in value]
    return 9, struct.pack("<IQ", elements[0][0], len(elements)) + b"".join(data for _, data in elements)


def gguf(values, tensors, alignment=32):
    """Returns a file. `values` maps names to values, `tensors` names to (type, shape, bytes), outermost axis first."""
    def padded(data):
        return data + b"\0" * (-len(data) % alignment)
    out = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(values))]
    for name, value in values.items():
        number, data = typed(value)
        out += [text(name.encode()), struct.pack("<I", number), data]
    offset, parts = 0, []
    for name, (kind, shape, data) in tensors.items():
        out += [text(name.encode()), struct.pack("<I", len(shape)), struct.pack(f"<{len(shape)}Q", *reversed(shape)),
                struct.pack("<IQ", kind, offset)]
        parts.append(padded(data))
        offset += len(parts[-1])
    return padded(b"".join(out)) + b"".join(parts)


def safetensors(path):
    """Returns the tensors of a file: name to (dtype, shape, bytes)."""
    data = path.read_bytes()
    end = 8 + struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:end])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"], data[end + entry["data_offsets"][0]:end + entry["data_offsets"][1]])
            for name, entry in header.items()}


def proto_fields(data):
    """Yields the fields of a protocol buffer message as (number, value)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(tag & 7)
        size = varint() if size is None else size
        yield tag >> 3, data[at:at + size]
        at += size


def tokenizer_values(path):
    """Returns what a converter writes of a SentencePiece model."""
    pieces = [dict(proto_fields(value)) for number, value in proto_fields(path.read_bytes()) if number == 1]
    return {"tokenizer.ggml.model": "llama",
            "tokenizer.ggml.tokens": [piece[1] for piece in pieces],
            "tokenizer.ggml.scores": [struct.unpack("<f", piece[2])[0] for piece in pieces],
            "tokenizer.ggml.token_type": [piece.get(3, 1) for piece in pieces]}


GEMMA3_NAMES = (("model.embed_tokens.", "token_embd."), ("model.norm.", "output_norm."), ("model.layers.", "blk."),
                (".input_layernorm.", ".attn_norm."), (".pre_feedforward_layernorm.", ".ffn_norm."),
                (".post_feedforward_layernorm.", ".post_ffw_norm."),
                (".post_attention_layernorm.", ".post_attention_norm."), (".self_attn.o_proj.", ".attn_output."),
                (".self_attn.q_norm.", ".attn_q_norm."), (".self_attn.k_norm.", ".attn_k_norm."),
                (".self_attn.q_proj.", ".attn_q."), (".self_attn.k_proj.", ".attn_k."),
                (".self_attn.v_proj.", ".attn_v."), (".mlp.gate_proj.", ".ffn_gate."), (".mlp.up_proj.", ".ffn_up."),
                (".mlp.down_proj.", ".ffn_down."))


def gemma3_values(config):
    """Returns what a converter writes of a config.json."""
    return {"general.architecture": "gemma3", "gemma3.block_count": config["num_hidden_layers"],
            "gemma3.context_length": config["max_position_embeddings"],
            "gemma3.embedding_length": config["hidden_size"],
            "gemma3.feed_forward_length": config["intermediate_size"],
            "gemma3.attention.head_count": config["num_attention_heads"],
            "gemma3.attention.head_count_kv": config["num_key_value_heads"],
            "gemma3.attention.key_length": config["head_dim"], "gemma3.attention.value_length": config["head_dim"],
            "gemma3.attention.layer_norm_rms_epsilon": config["rms_norm_eps"],
            "gemma3.attention.scale": config["query_pre_attn_scalar"] ** -0.5,
            "gemma3.attention.sliding_window": config["sliding_window"],
            "gemma3.attention.sliding_window_pattern": config["sliding_window_pattern"],
            "gemma3.rope.freq_base": config["rope_theta"]}


def gemma3_tensors(tensors):
    """Renames BF16 tensors; norms become F32, with one added."""
    converted = {}
    for name, (dtype, shape, data) in tensors.items():
        assert dtype == "BF16", name
        kind = BF16
        if name.endswith("norm.weight"):
            kind = F32
            bits = struct.unpack(f"<{len(data) // 2}H", data)
            floats = [struct.unpack("<f", struct.pack("<I", half << 16))[0] + 1.0 for half in bits]
            data = struct.pack(f"<{len(floats)}f", *floats)
        for old, new in GEMMA3_NAMES:
            name = name.replace(old, new)
        converted[name] = kind, shape, data
    return converted


def from_gemma3(folder):
    """Returns the metadata and tensors of a GGUF file of the BF16 Gemma 3 model in `folder`."""
    values = gemma3_values(json.loads((folder / "config.json").read_text()))
    values |= tokenizer_values(folder / "tokenizer.model")
    values |= {"tokenizer.ggml.add_space_prefix": False, "tokenizer.ggml.padding_token_id": 0,
               "tokenizer.ggml.eos_token_id": 1, "tokenizer.ggml.bos_token_id": 2, "tokenizer.ggml.unknown_token_id": 3}
    return values, gemma3_tensors(safetensors(folder / "model.safetensors"))
