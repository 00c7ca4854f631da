# SPDX-License-Identifier: Apache-2.0
"""Adds to a small GGUF file of the tests what converters always write and Skald can do without."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import gguf_writer

ALIGNMENT, UNSIGNED, SIGNED, STRING, ARRAY = 32, 4, 5, 8, 9
# Converters write these of some architectures alone.
USUAL = {"gemma4": {"embedding_length_per_layer_input": 0}, "qwen35": {"rope.dimension_sections": [4, 0, 0, 0]},
         "qwen35moe": {"rope.dimension_sections": [4, 0, 0, 0]}, "nemotron_h": {"attention.layer_norm_epsilon": 1e-5},
         "nemotron_h_moe": {"attention.layer_norm_epsilon": 1e-5},
         "gemma-embedding": {"dense_2_feat_out": 36, "dense_3_feat_in": 36}}
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # of numbers, by their types


class Header:
    """Where values and tensors lie in a file."""

    def __init__(self, data):
        self.data, self.at = data, 8
        tensors, values = self.unpack("<QQ")
        self.values, self.shapes, self.signed = {}, {}, []  # the last: where types of signed numbers lie
        for _ in range(values):
            name = self.text().decode()
            kind, = self.unpack("<I")
            if kind == SIGNED:
                self.signed.append(self.at - 4)
            self.values[name] = self.value(kind)
        self.end_of_values = self.at
        for _ in range(tensors):
            name = self.text().decode()
            self.shapes[name] = self.unpack(f"<{self.unpack('<I')[0]}Q")  # the row comes first
            self.unpack("<IQ")
        self.end = self.at

    def unpack(self, form):
        found = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return found

    def text(self):
        size, = self.unpack("<Q")
        self.at += size
        return self.data[self.at - size:self.at]

    def value(self, kind):
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            element, count = self.unpack("<IQ")
            return [self.value(element) for _ in range(count)]
        self.at += SIZES[kind]
        return int.from_bytes(self.data[self.at - SIZES[kind]:self.at], "little")


def padded(size):
    return -size % ALIGNMENT


def complete(path):
    """Rewrites a file: with a vocabulary without words, sizes and a length of context if it lacks them, and with numbers
    of the type that llama.cpp asks for."""
    data = bytearray(path.read_bytes())
    header = Header(data)
    for at in header.signed:
        data[at:at + 4] = struct.pack("<I", UNSIGNED)
    architecture = header.values["general.architecture"].decode()
    width, vocabulary = header.shapes["token_embd.weight"]
    feed_forward = [shape[1] for name, shape in header.shapes.items() if name.endswith(("ffn_up.weight", "ffn_up_exps.weight"))]
    wanted = {"tokenizer.ggml.model": "no_vocab", f"{architecture}.vocab_size": vocabulary,
              f"{architecture}.context_length": 256, f"{architecture}.embedding_length": width,
              f"{architecture}.feed_forward_length": max(feed_forward, default=0)}
    for keys in ("attention.key_length", "attention.key_length_swa"):
        if f"{architecture}.{keys}" in header.values:
            wanted[f"{architecture}.{keys.replace('key', 'value')}"] = header.values[f"{architecture}.{keys}"]
    wanted |= {f"{architecture}.{name}": value for name, value in USUAL.get(architecture, {}).items()}
    if "bert" in architecture:
        wanted["tokenizer.ggml.token_type_count"] = header.shapes.get("token_types.weight", (width, 1))[1]
    added = b""
    lacking = {name: value for name, value in wanted.items() if name not in header.values}
    for name, value in lacking.items():
        kind, encoded = gguf_writer.typed(value)
        added += gguf_writer.text(name.encode()) + struct.pack("<I", kind) + encoded
    head = data[:8] + struct.pack("<QQ", len(header.shapes), len(header.values) + len(lacking)) + \
        data[24:header.end_of_values] + added + data[header.end_of_values:header.end]
    path.write_bytes(head + bytes(padded(len(head))) + data[header.end + padded(header.end):])
