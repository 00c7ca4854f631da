#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the demo model: a small Gemma 3 that writes in the manner of the King James Bible.

    python3 train.py

writes config.json, model.safetensors (bf16) and tokenizer.model next to this file. It needs PyTorch, NumPy and
SentencePiece for Python, and the program `bible` for the text. On Debian or Ubuntu:

    apt install python3-torch python3-sentencepiece bible-kjv

Matrix products run in bf16, which a CPU with AMX or AVX-512 does much faster than float32.
"""
import argparse
import ctypes
import io
import itertools
import json
import math
import re
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

try:
    import numpy as np
    import sentencepiece
    import torch
    import torch.nn.functional as F
except ImportError as error:
    sys.exit(f"{error}\nInstall what is missing, e.g.: apt install python3-torch python3-sentencepiece")

PAD, EOS, BOS, UNK = 0, 1, 2, 3
CONFIG = {
    "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "torch_dtype": "bfloat16",
    "vocab_size": 2048, "hidden_size": 256, "intermediate_size": 768, "hidden_activation": "gelu_pytorch_tanh",
    "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
    "layer_types": ["sliding_attention", "full_attention"] * 2, "sliding_window_pattern": 2, "sliding_window": 64,
    "query_pre_attn_scalar": 64, "attention_bias": False, "attention_dropout": 0.0,
    "attn_logit_softcapping": None, "final_logit_softcapping": None,
    "rope_theta": 100000.0, "rope_local_base_freq": 10000.0, "rope_scaling": None, "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6, "initializer_range": 0.02, "tie_word_embeddings": True, "use_cache": True,
    "pad_token_id": PAD, "eos_token_id": EOS, "bos_token_id": BOS,
}
HIDDEN, HEADS, KV_HEADS = CONFIG["hidden_size"], CONFIG["num_attention_heads"], CONFIG["num_key_value_heads"]
HEAD_DIM, INNER, EPSILON = CONFIG["head_dim"], CONFIG["intermediate_size"], CONFIG["rms_norm_eps"]
PROMPTS = ["", "In the beginning", "And it came to pass", "The LORD is my shepherd"]


# ---------------------------------------------------------------- text

def read_chapters():
    """The King James Bible as a list of chapters, each a list of verses without their numbers."""
    if not shutil.which("bible"):
        sys.exit("The program `bible` is missing. Install it: apt install bible-kjv")
    text = subprocess.run(["bible", "-f", "ge1:1-re22:21"], capture_output=True, text=True, check=True).stdout
    chapters = {}
    for line in text.splitlines():
        book, chapter, verse = re.fullmatch(r"(\d?[A-Za-z]+)(\d+):\d+ +(.*\S) *", line).groups()
        chapters.setdefault((book, chapter), []).append(re.sub(r"\s+", " ", verse))
    return list(chapters.values())


def train_tokenizer(chapters, path):
    """A SentencePiece BPE model with Gemma's special ids; any unknown character becomes its UTF-8 bytes."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(chapter) for chapter in chapters]), model_writer=model,
        model_type="bpe", vocab_size=CONFIG["vocab_size"], byte_fallback=True, character_coverage=1.0,
        normalization_rule_name="identity", add_dummy_prefix=False, remove_extra_whitespaces=False,
        max_sentence_length=1 << 20, user_defined_symbols=["\n"], minloglevel=2,
        pad_id=PAD, eos_id=EOS, bos_id=BOS, unk_id=UNK,
        pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>", unk_piece="<unk>")
    path.write_bytes(model.getvalue())


class Corpus:
    """Token windows that start with BOS and then the beginning of a verse; EOS stands after each chapter.

    Inside a chapter a verse begins with a space, at the start of a window it does not, and its first word is then
    another token. No token reaches over a space, so the two forms of a verse can be encoded apart and joined.
    """

    def __init__(self, chapters, tokenizer):
        self.openings, self.rest, stream = [], [], []  # rest[v]: where in the stream the text after verse v begins
        for chapter in chapters:
            for i, verse in enumerate(chapter):
                end = [EOS] if i == len(chapter) - 1 else []
                opening = tokenizer.encode(verse) + end
                stream += opening if i == 0 else tokenizer.encode(" " + verse) + end
                self.openings.append(np.array([BOS] + opening))
                self.rest.append(len(stream))
        self.stream = np.array(stream)

    def window(self, verse, length):
        opening, begin = self.openings[verse], self.rest[verse]
        window = np.concatenate([opening, self.stream[begin:begin + length]])[:length]
        return np.pad(window, (0, length - len(window)), constant_values=PAD)

    def random_batch(self, rng, batch, length):
        verses = rng.integers(len(self.openings), size=batch)
        return torch.from_numpy(np.stack([self.window(verse, length) for verse in verses]))

    def cover(self, length):
        """Windows that together show the whole text about once, for validation."""
        windows, seen = [], -1
        for verse, end in enumerate(self.rest):
            if end > seen:
                windows.append(self.window(verse, length))
                seen = end + length - len(self.openings[verse])
        return torch.from_numpy(np.stack(windows))


# ---------------------------------------------------------------- model (the names are Hugging Face's)

def multiply(x, matrix):
    """x @ matrix.T: in bf16 for float32 parameters (training), else (reference logits) in the parameters' own type."""
    kind = torch.bfloat16 if matrix.dtype == torch.float32 else matrix.dtype
    return F.linear(x.to(kind), matrix.to(kind))


def normalize(x, weight):
    """RMSNorm; Gemma stores the scale minus one."""
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPSILON) * (1 + weight)


class RMSNorm(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(size))

    def forward(self, x):
        return normalize(x, self.weight)


def linear(inputs, outputs):
    return torch.nn.Linear(inputs, outputs, bias=False)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.o_proj = linear(HIDDEN, HEADS * HEAD_DIM), linear(HEADS * HEAD_DIM, HIDDEN)
        self.k_proj, self.v_proj = linear(HIDDEN, KV_HEADS * HEAD_DIM), linear(HIDDEN, KV_HEADS * HEAD_DIM)
        self.q_norm, self.k_norm = RMSNorm(HEAD_DIM), RMSNorm(HEAD_DIM)

    def forward(self, x, rope, mask):
        batch, length, _ = x.shape
        # One product for the three projections; queries and keys are then normalised and turned together.
        weight = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        qk, v = multiply(x, weight).view(batch, length, -1, HEAD_DIM).split([HEADS + KV_HEADS, KV_HEADS], 2)
        scales = torch.cat([self.q_norm.weight.expand(HEADS, -1), self.k_norm.weight.expand(KV_HEADS, -1)])
        qk = normalize(qk.to(scales.dtype), scales)
        # RoPE in the half-split layout: element i turns together with element i + head_dim / 2.
        cos, sin = rope
        qk = torch.addcmul(qk * cos, torch.roll(qk, HEAD_DIM // 2, -1), sin).to(v.dtype).transpose(1, 2)
        # Consecutive query heads share one key head, so their queries are simply more rows of one product.
        q = qk[:, :HEADS].reshape(batch * KV_HEADS, -1, HEAD_DIM) * CONFIG["query_pre_attn_scalar"] ** -0.5
        k = qk[:, HEADS:].reshape(batch * KV_HEADS, length, HEAD_DIM)
        v = v.transpose(1, 2).reshape(batch * KV_HEADS, length, HEAD_DIM)
        scores = (q @ k.transpose(1, 2)).view(-1, length, length).add_(mask)
        out = torch.softmax(scores, -1).view(len(q), -1, length) @ v
        out = out.view(batch, HEADS, length, HEAD_DIM).transpose(1, 2).reshape(batch, length, -1)
        return multiply(out, self.o_proj.weight)


class MLP(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj, self.up_proj = linear(HIDDEN, INNER), linear(HIDDEN, INNER)
        self.down_proj = linear(INNER, HIDDEN)

    def forward(self, x):
        gate, up = multiply(x, torch.cat([self.gate_proj.weight, self.up_proj.weight])).chunk(2, -1)
        return multiply(F.gelu(gate, approximate="tanh") * up, self.down_proj.weight)


class Layer(torch.nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.self_attn, self.mlp, self.dropout = Attention(), MLP(), torch.nn.Dropout(dropout)
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(HIDDEN), RMSNorm(HIDDEN)
        self.pre_feedforward_layernorm, self.post_feedforward_layernorm = RMSNorm(HIDDEN), RMSNorm(HIDDEN)

    def forward(self, x, rope, mask):
        x = x + self.dropout(self.post_attention_layernorm(self.self_attn(self.input_layernorm(x), rope, mask)))
        return x + self.dropout(self.post_feedforward_layernorm(self.mlp(self.pre_feedforward_layernorm(x))))


class Model(torch.nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.embed_tokens = torch.nn.Embedding(CONFIG["vocab_size"], HIDDEN)
        self.layers = torch.nn.ModuleList(Layer(dropout) for _ in CONFIG["layer_types"])
        self.norm = RMSNorm(HIDDEN)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                # The embedding is multiplied by sqrt(hidden), so this gives inputs of size one and small logits.
                torch.nn.init.normal_(parameter, std=HIDDEN ** -0.5 if "embed" in name else 0.04)

    def forward(self, tokens):
        dtype = self.norm.weight.dtype
        mask_dtype = torch.bfloat16 if dtype == torch.float32 else dtype  # as the scores have it, see multiply()
        position = torch.arange(tokens.shape[1])
        distance = position[:, None] - position
        past = distance >= 0
        masks, ropes = {}, {}
        for kind, base, allowed in [
                ("full_attention", CONFIG["rope_theta"], past),
                ("sliding_attention", CONFIG["rope_local_base_freq"], past & (distance < CONFIG["sliding_window"]))]:
            masks[kind] = torch.zeros(allowed.shape, dtype=mask_dtype).masked_fill(~allowed, -math.inf)
            exponent = torch.arange(0, HEAD_DIM, 2, dtype=torch.float64) / HEAD_DIM
            angle = position[:, None, None] * base ** -exponent
            cos, sin = angle.cos(), angle.sin()
            ropes[kind] = torch.cat([cos, cos], -1).to(dtype), torch.cat([-sin, sin], -1).to(dtype)
        x = self.embed_tokens(tokens) * HIDDEN ** 0.5
        for layer, kind in zip(self.layers, CONFIG["layer_types"]):
            x = layer(x, ropes[kind], masks[kind])
        return multiply(self.norm(x), self.embed_tokens.weight)


# ---------------------------------------------------------------- training

def loss_of(model, windows):
    logits = model(windows[:, :-1]).float()
    return F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten(), ignore_index=PAD)


@torch.no_grad()
def validate(model, windows):
    model.eval()
    parts = windows.split(16)
    counts = [int((part[:, 1:] != PAD).sum()) for part in parts]
    total = sum(loss_of(model, part).item() * count for part, count in zip(parts, counts))
    model.train()
    return total / sum(counts)


def train(options, corpus, validation, save):
    """Minimises the loss over `options.minutes` or `options.steps`, whichever ends first; saves every best model."""
    model = Model(options.dropout)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    scales = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": scales, "weight_decay": 0.0}],
                                  lr=0.0, betas=(0.9, 0.95))
    rng = np.random.default_rng(options.seed)
    begin = last_check = time.time()
    best = math.inf
    for step in itertools.count():
        minutes = (time.time() - begin) / 60
        progress = min(1.0, max(step / options.steps, minutes / options.minutes))
        if progress == 1.0 or time.time() - last_check > options.check_seconds:
            loss = validate(model, validation)
            print(f"{minutes:6.1f} min  step {step}  validation loss {loss:.4f}  perplexity {math.exp(loss):.2f}",
                  flush=True)
            if loss < best:
                best = loss
                save(model)
            last_check = time.time()
        if progress == 1.0:
            return best
        for group in optimizer.param_groups:  # A short warm-up, then a cosine down to a fiftieth.
            group["lr"] = options.learning_rate * min((step + 1) / 100, 0.51 + 0.49 * math.cos(math.pi * progress))
        loss = loss_of(model, corpus.random_batch(rng, options.batch, options.context + 1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0:
            print(f"{minutes:6.1f} min  step {step}  training loss {loss.item():.4f}", flush=True)


@torch.no_grad()
def generate(model, tokens, count, temperature=0.7, top_k=40):
    """Appends up to `count` sampled tokens; recomputes everything for each, which is slow but plainly right."""
    for _ in range(count):
        values, ids = torch.topk(model(torch.tensor([tokens]))[0, -1].float(), top_k)
        tokens = tokens + [int(ids[torch.multinomial(torch.softmax(values / temperature, -1), 1)])]
        if tokens[-1] == EOS:
            break
    return tokens


# ---------------------------------------------------------------- files

def write_safetensors(path, tensors):
    """`tensors` maps a name to a NumPy array; uint16 arrays hold bf16 bit patterns."""
    header, end = {}, 0
    for name, array in tensors.items():
        kind = {"uint16": "BF16", "float32": "F32", "int64": "I64"}[array.dtype.name]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # The data then begins at a multiple of eight.
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in tensors.values()))
    partial.replace(path)  # A reader never sees half a file.


def save_model(model, folder):
    bits = {"model." + name: parameter.to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
            for name, parameter in model.state_dict().items()}
    write_safetensors(folder / "model.safetensors", bits)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")


def load_model(folder):
    raw = (folder / "model.safetensors").read_bytes()
    data = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:data])
    model = Model().eval()
    for name, parameter in model.state_dict().items():
        begin, end = header["model." + name]["data_offsets"]
        bits = torch.from_numpy(np.frombuffer(raw[data + begin:data + end], np.int16).copy())
        parameter.copy_(bits.view(torch.bfloat16).view_as(parameter))
    return model


@torch.no_grad()
def write_golden(folder, tokenizer, path):
    """Logits and a greedy continuation of the stored weights, for tests of other implementations.

    Computed in float64 and rounded to float32, so that nothing but the tested implementation's own rounding remains.
    """
    model = load_model(folder).double()
    tokens = [BOS] + tokenizer.encode(" ".join(read_chapters()[0]))[:95]
    logits = model(torch.tensor([tokens]))[0]
    greedy, margins = tokens[:16], []
    for _ in range(32):
        best = torch.topk(model(torch.tensor([greedy]))[0, -1], 2)
        greedy = greedy + [int(best.indices[0])]
        margins.append(float(best.values[0] - best.values[1]))
    print(f"\ngreedy: {tokenizer.decode(greedy)}\nsmallest margin: {min(margins):.4f}")
    write_safetensors(path, {"tokens": np.array(tokens), "logits": logits.float().numpy(),
                             "greedy": np.array(greedy[16:]), "greedy_margin": np.array(margins, np.float32)})


def keep_freed_memory():
    """Stops glibc from returning memory after each step: the page faults would cost more than the arithmetic."""
    trim_threshold, top_pad, mmap_max, arena_max = -1, -2, -4, -8  # from malloc.h
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        for setting, value in [(trim_threshold, 2**31 - 1), (top_pad, 1 << 26), (mmap_max, 0), (arena_max, 1)]:
            libc.mallopt(setting, value)


def main():
    parser = argparse.ArgumentParser(description="Trains the demo model.")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent, help="folder for the three files")
    parser.add_argument("--golden", type=Path, help="also write reference logits of the finished model to this file")
    parser.add_argument("--no-training", action="store_true", help="only use the files that are in --out")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--minutes", type=float, default=math.inf, help="fit the whole schedule into this time")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--check-seconds", type=float, default=120, help="time between validations")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    keep_freed_memory()

    tokenizer_path = options.out / "tokenizer.model"
    if not options.no_training:
        options.out.mkdir(parents=True, exist_ok=True)
        chapters = read_chapters()
        train_tokenizer(chapters, tokenizer_path)
        tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer_path))
        held_out = slice(20, None, 40)
        validation = Corpus(chapters[held_out], tokenizer).cover(options.context + 1)
        del chapters[held_out]
        best = train(options, Corpus(chapters, tokenizer), validation, lambda model: save_model(model, options.out))
        print(f"best validation loss {best:.4f}, perplexity {math.exp(best):.2f}")
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer_path))
    with torch.no_grad():
        model = load_model(options.out)
    for prompt in PROMPTS:
        print("\n" + tokenizer.decode(generate(model, [BOS] + tokenizer.encode(prompt), 120)))
    if options.golden:
        write_golden(options.out, tokenizer, options.golden)


if __name__ == "__main__":
    main()
