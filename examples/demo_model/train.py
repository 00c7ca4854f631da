#!/usr/bin/env python3
"""Makes the demo model: a 3.5 million parameter Gemma 3 that writes in the manner of the King James Bible.

    python3 train.py

writes config.json, model.safetensors (bf16) and tokenizer.model next to this file. It needs PyTorch, NumPy and
SentencePiece for Python, and the `bible` program for the text. On Debian or Ubuntu:

    apt install python3-torch python3-sentencepiece bible-kjv

The matrix products run in bf16, which is many times faster than float32 on a CPU with AMX or AVX-512 BF16.
"""
import argparse
import ctypes
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
    sys.exit(f"{error}\nInstall the missing package, e.g.: apt install python3-torch python3-sentencepiece")

PAD, EOS, BOS, UNK = 0, 1, 2, 3
# From glibc's malloc.h: M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX, M_ARENA_MAX.
MALLOC_SETTINGS = {-1: 2**31 - 1, -2: 1 << 26, -4: 0, -8: 1}
CONFIG = {
    "architectures": ["Gemma3ForCausalLM"],
    "model_type": "gemma3_text",
    "vocab_size": 2048,
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "hidden_activation": "gelu_pytorch_tanh",
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6,
    "query_pre_attn_scalar": 64,
    "rope_theta": 100000.0,
    "rope_local_base_freq": 10000.0,
    "rope_scaling": None,
    "sliding_window": 64,
    "sliding_window_pattern": 2,
    "layer_types": ["sliding_attention", "full_attention"] * 2,
    "attention_bias": False,
    "attention_dropout": 0.0,
    "attn_logit_softcapping": None,
    "final_logit_softcapping": None,
    "initializer_range": 0.02,
    "tie_word_embeddings": True,
    "pad_token_id": PAD,
    "eos_token_id": EOS,
    "bos_token_id": BOS,
    "torch_dtype": "bfloat16",
    "use_cache": True,
}
PROMPTS = ["", "In the beginning", "And it came to pass", "The LORD is my shepherd"]


# ---------------------------------------------------------------- text

def read_chapters():
    """The King James Bible as a list of chapters, each a list of verses, without the verse numbers."""
    if not shutil.which("bible"):
        sys.exit("The program `bible` is missing. Install it: apt install bible-kjv")
    text = subprocess.run(["bible", "-f", "ge1:1-re22:21"], capture_output=True, text=True, check=True).stdout
    chapters = {}
    for line in text.splitlines():
        book, chapter, verse = re.fullmatch(r"(\d?[A-Za-z]+)(\d+):\d+ +(.*\S) *", line).groups()
        chapters.setdefault((book, chapter), []).append(re.sub(r"\s+", " ", verse))
    return list(chapters.values())


def train_tokenizer(chapters, path):
    """A SentencePiece BPE model with Gemma's special ids; any other character falls back to its UTF-8 bytes."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(chapter) for chapter in chapters]), model_prefix=str(path.with_suffix("")),
        model_type="bpe", vocab_size=CONFIG["vocab_size"], byte_fallback=True, character_coverage=1.0,
        normalization_rule_name="identity", add_dummy_prefix=False, remove_extra_whitespaces=False,
        max_sentence_length=1 << 20, user_defined_symbols=["\n"], minloglevel=2,
        pad_id=PAD, eos_id=EOS, bos_id=BOS, unk_id=UNK,
        pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>", unk_piece="<unk>")
    path.with_suffix(".vocab").unlink()


class Corpus:
    """Token windows that start with BOS and then the beginning of a verse.

    Inside a chapter a verse begins with a space, at the start of a window it does not, and its first word is then
    another token. Words never merge over a space, so the two forms of a verse can be encoded apart and joined.
    """

    def __init__(self, chapters, tokenizer):
        self.openings, self.rest, stream = [], [], []
        for chapter in chapters:
            for i, verse in enumerate(chapter):
                opening = tokenizer.encode(verse)
                stream += opening if i == 0 else tokenizer.encode(" " + verse)
                if i == len(chapter) - 1:
                    opening.append(EOS)
                    stream.append(EOS)
                self.openings.append(np.array([BOS] + opening))
                self.rest.append(len(stream))
        self.stream = np.array(stream)

    def window(self, verse, length):
        opening = self.openings[verse]
        rest = self.stream[self.rest[verse]:self.rest[verse] + max(0, length - len(opening))]
        window = np.concatenate([opening, rest])[:length]
        return np.pad(window, (0, length - len(window)), constant_values=PAD)

    def random_batch(self, rng, batch, length):
        verses = rng.integers(len(self.openings), size=batch)
        return torch.from_numpy(np.stack([self.window(v, length) for v in verses]))

    def cover(self, length):
        """Windows that together show nearly the whole text once, for validation."""
        windows, seen = [], -1
        for verse, end in enumerate(self.rest):
            if end > seen:
                windows.append(self.window(verse, length))
                seen = end + length - len(self.openings[verse])
        return torch.from_numpy(np.stack(windows))


# ---------------------------------------------------------------- model (the names are Hugging Face's)

class Normalize(torch.autograd.Function):
    """RMSNorm with its gradient written out: far fewer passes over memory than automatic differentiation needs."""

    @staticmethod
    def forward(ctx, x, weight):
        scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + CONFIG["rms_norm_eps"])
        gain = 1 + weight  # Gemma stores the scale minus one.
        ctx.save_for_backward(x, scale, gain)
        return (x * scale).mul_(gain)

    @staticmethod
    def backward(ctx, gradient):
        x, scale, gain = ctx.saved_tensors
        gradient = gradient * gain
        product = gradient * x
        mean = product.mean(-1, keepdim=True)
        product *= scale
        weight_gradient = product.flatten(0, -1 - gain.dim()).sum(0) / gain
        return torch.addcmul(gradient, x, mean.mul_(scale * scale), value=-1).mul_(scale), weight_gradient


class RMSNorm(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(size))

    def forward(self, x):
        return Normalize.apply(x, self.weight)


def linear(inputs, outputs):
    return torch.nn.Linear(inputs, outputs, bias=False)


def multiply(x, weight):
    """x @ weight^T in bf16 for float32 parameters (training); float64 parameters (reference logits) stay as they are."""
    kind = torch.bfloat16 if weight.dtype == torch.float32 else weight.dtype
    return F.linear(x.to(kind), weight.to(kind))


class Dropout(torch.nn.Module):
    """Dropout whose masks are random slices of one long mask: drawing a new one each time took a tenth of the time."""

    def __init__(self, probability, pool=1 << 24):
        super().__init__()
        self.probability = probability
        keep = 1 - probability
        self.pool = torch.bernoulli(torch.full((pool if probability else 0,), keep)) / keep

    def forward(self, x):
        if not self.training or self.probability == 0:
            return x
        start = int(torch.randint(len(self.pool) - x.numel(), ()))
        return x * self.pool[start:start + x.numel()].view_as(x)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        hidden, dim = CONFIG["hidden_size"], CONFIG["head_dim"]
        self.heads, self.kv_heads = CONFIG["num_attention_heads"], CONFIG["num_key_value_heads"]
        self.q_proj = linear(hidden, self.heads * dim)
        self.k_proj = linear(hidden, self.kv_heads * dim)
        self.v_proj = linear(hidden, self.kv_heads * dim)
        self.o_proj = linear(self.heads * dim, hidden)
        self.q_norm, self.k_norm = RMSNorm(dim), RMSNorm(dim)

    def forward(self, x, rope, mask):
        batch, length, _ = x.shape
        heads, kv_heads, dim = self.heads, self.kv_heads, CONFIG["head_dim"]
        # One product for the three projections; queries and keys are then normalised and turned together.
        weight = torch.cat([self.q_proj.weight, self.k_proj.weight, self.v_proj.weight])
        qk, v = multiply(x, weight).view(batch, length, -1, dim).split([heads + kv_heads, kv_heads], 2)
        scales = torch.cat([self.q_norm.weight.expand(heads, -1), self.k_norm.weight.expand(kv_heads, -1)])
        qk = Normalize.apply(qk.to(scales.dtype), scales)
        # RoPE in the half-split layout: element i turns together with element i + head_dim / 2.
        cos, sin = rope
        qk = torch.addcmul(qk * cos, torch.roll(qk, dim // 2, -1), sin).to(v.dtype)
        # Consecutive query heads share one key head, so their queries are simply more rows of one product.
        qk = qk.transpose(1, 2)
        q = qk[:, :heads].reshape(batch * kv_heads, -1, dim) * CONFIG["query_pre_attn_scalar"] ** -0.5
        k = qk[:, heads:].reshape(batch * kv_heads, length, dim)
        v = v.transpose(1, 2).reshape(batch * kv_heads, length, dim)
        scores = (q @ k.transpose(1, 2)).view(-1, length, length).add_(mask)
        out = torch.softmax(scores, -1).view(len(q), -1, length) @ v
        return multiply(out.view(batch, heads, length, dim).transpose(1, 2).reshape(batch, length, -1), self.o_proj.weight)


class GatedGelu(torch.autograd.Function):
    """gelu_tanh(gate) * up, as gate * sigmoid(2 sqrt(2 / pi) (gate + 0.044715 gate^3)) * up.

    The same function, but its gradient reuses the sigmoid; torch's own evaluates a slow tanh a second time.
    """

    @staticmethod
    def forward(ctx, gate, up):
        linear, cubic = 2 * math.sqrt(2 / math.pi), 0.044715 * 2 * math.sqrt(2 / math.pi)
        sigmoid = (gate * gate).mul_(cubic).add_(linear).mul_(gate).sigmoid_()
        ctx.save_for_backward(gate, up, sigmoid)
        ctx.coefficients = linear, 3 * cubic
        return (gate * sigmoid).mul_(up)

    @staticmethod
    def backward(ctx, gradient):
        gate, up, sigmoid = ctx.saved_tensors
        linear, cubic = ctx.coefficients
        gelu = gate * sigmoid
        slope = (gate * gate).mul_(cubic).add_(linear).mul_(1 - sigmoid).mul_(gelu).add_(sigmoid)
        return slope.mul_(up).mul_(gradient), gelu.mul_(gradient)


class MLP(torch.nn.Module):
    def __init__(self):
        super().__init__()
        hidden, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
        self.gate_proj, self.up_proj, self.down_proj = linear(hidden, inner), linear(hidden, inner), linear(inner, hidden)

    def forward(self, x):
        gate, up = multiply(x, torch.cat([self.gate_proj.weight, self.up_proj.weight])).chunk(2, -1)
        return multiply(GatedGelu.apply(gate, up), self.down_proj.weight)


class Layer(torch.nn.Module):
    def __init__(self, dropout):
        super().__init__()
        hidden = CONFIG["hidden_size"]
        self.self_attn, self.mlp = Attention(), MLP()
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(hidden), RMSNorm(hidden)
        self.pre_feedforward_layernorm, self.post_feedforward_layernorm = RMSNorm(hidden), RMSNorm(hidden)
        self.dropout = dropout

    def forward(self, x, rope, mask):
        x = x + self.dropout(self.post_attention_layernorm(self.self_attn(self.input_layernorm(x), rope, mask)))
        return x + self.dropout(self.post_feedforward_layernorm(self.mlp(self.pre_feedforward_layernorm(x))))


class Model(torch.nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        hidden, layers = CONFIG["hidden_size"], CONFIG["num_hidden_layers"]
        self.embed_tokens = torch.nn.Embedding(CONFIG["vocab_size"], hidden)
        shared_dropout = Dropout(dropout)
        self.layers = torch.nn.ModuleList(Layer(shared_dropout) for _ in range(layers))
        self.norm = RMSNorm(hidden)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                # The embedding is multiplied by sqrt(hidden), so this gives inputs of size one and small logits.
                deviation = hidden ** -0.5 if "embed" in name else CONFIG["initializer_range"] * 2
                torch.nn.init.normal_(parameter, std=deviation)

    def forward(self, tokens):
        length, dtype = tokens.shape[1], self.norm.weight.dtype
        mask_dtype = torch.bfloat16 if dtype == torch.float32 else dtype
        position = torch.arange(length)
        distance = position[:, None] - position[None, :]
        allowed = {"full_attention": distance >= 0,
                   "sliding_attention": (distance >= 0) & (distance < CONFIG["sliding_window"])}
        bases = {"full_attention": CONFIG["rope_theta"], "sliding_attention": CONFIG["rope_local_base_freq"]}
        masks, ropes = {}, {}
        for kind, base in bases.items():
            masks[kind] = torch.zeros(length, length, dtype=mask_dtype).masked_fill(~allowed[kind], -math.inf)
            exponent = torch.arange(0, CONFIG["head_dim"], 2, dtype=torch.float64) / CONFIG["head_dim"]
            angle = position[:, None, None] * base ** -exponent
            cos, sin = angle.cos(), angle.sin()
            ropes[kind] = torch.cat([cos, cos], -1).to(dtype), torch.cat([-sin, sin], -1).to(dtype)
        x = self.embed_tokens(tokens) * CONFIG["hidden_size"] ** 0.5
        for layer, kind in zip(self.layers, CONFIG["layer_types"]):
            x = layer(x, ropes[kind], masks[kind])
        return multiply(self.norm(x), self.embed_tokens.weight)


def loss_of(model, windows):
    logits = model(windows[:, :-1])
    return F.cross_entropy(logits.float().flatten(0, 1), windows[:, 1:].flatten(), ignore_index=PAD)


@torch.no_grad()
def validate(model, windows):
    model.eval()
    total = count = 0
    for part in windows.split(16):
        tokens = int((part[:, 1:] != PAD).sum())
        total += loss_of(model, part).item() * tokens
        count += tokens
    model.train()
    return total / count


def train(options, corpus, validation, save):
    """Minimises the loss over `options.minutes` or `options.steps`, whichever ends first; saves every best model."""
    model = Model(options.dropout)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    scales = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": options.weight_decay},
                                   {"params": scales, "weight_decay": 0.0}], lr=0.0, betas=(0.9, 0.95))
    rng = np.random.default_rng(options.seed)
    begin = last_check = time.time()
    best = math.inf
    for step in itertools.count():
        elapsed = (time.time() - begin) / 60
        progress = min(1.0, max(step / options.steps, elapsed / options.minutes))
        if progress == 1.0 or time.time() - last_check > options.check_seconds:
            loss = validate(model, validation)
            print(f"{elapsed:6.1f} min  step {step}  validation loss {loss:.4f}  perplexity {math.exp(loss):.2f}", flush=True)
            if loss < best:
                best = loss
                save(model)
            last_check = time.time()
        if progress == 1.0:
            return best
        rate = options.learning_rate * min((step + 1) / 100, 0.02 + 0.98 * (1 + math.cos(math.pi * progress)) / 2)
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = loss_of(model, corpus.random_batch(rng, options.batch, options.context + 1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0:
            print(f"{elapsed:6.1f} min  step {step}  training loss {loss.item():.4f}", flush=True)


@torch.no_grad()
def generate(model, tokens, count, temperature=0.7, top_k=40):
    """Appends up to `count` sampled tokens; recomputes everything for each, which is slow but plainly right."""
    for _ in range(count):
        logits = model(torch.tensor([tokens]))[0, -1].float()
        values, ids = torch.topk(logits, top_k)
        tokens = tokens + [int(ids[torch.multinomial(torch.softmax(values / temperature, -1), 1)])]
        if tokens[-1] == EOS:
            break
    return tokens


# ---------------------------------------------------------------- files

def write_safetensors(path, tensors):
    """`tensors` maps a name to a NumPy array; uint16 arrays hold bf16 bit patterns."""
    kinds = {"uint16": "BF16", "float32": "F32", "int64": "I64"}
    header, end = {}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": kinds[array.dtype.name], "shape": list(array.shape),
                        "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # The data then begins at a multiple of eight.
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())


def save_model(model, folder):
    tensors = {}
    for name, parameter in model.state_dict().items():
        tensors["model." + name] = parameter.to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    partial = folder / "model.safetensors.partial"
    write_safetensors(partial, tensors)
    partial.replace(folder / "model.safetensors")  # A reader never sees half a file.
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")


def load_model(folder):
    raw = (folder / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    model = Model().eval()
    for name, parameter in model.state_dict().items():
        begin, end = json.loads(raw[8:8 + size])["model." + name]["data_offsets"]
        bits = np.frombuffer(raw[8 + size + begin:8 + size + end], np.uint16).view(np.int16).copy()
        parameter.copy_(torch.from_numpy(bits).view(torch.bfloat16).view_as(parameter))
    return model


@torch.no_grad()
def write_golden(folder, tokenizer, path):
    """Logits and a greedy continuation of the stored weights, for tests of other implementations.

    Computed in float64 and rounded to float32, so that nothing but the tested implementation's own rounding remains.
    """
    model = load_model(folder).double()
    verses = " ".join(itertools.chain.from_iterable(read_chapters()[:1]))
    tokens = [BOS] + tokenizer.encode(verses)[:95]
    logits = model(torch.tensor([tokens]))[0]
    greedy, margins = tokens[:16], []
    for _ in range(32):
        best = torch.topk(model(torch.tensor([greedy]))[0, -1], 2)
        greedy = greedy + [int(best.indices[0])]
        margins.append(float(best.values[0] - best.values[1]))
    print(f"golden: greedy text {tokenizer.decode(greedy)!r}, smallest margin {min(margins):.4f}")
    write_safetensors(path, {"tokens": np.array(tokens), "logits": logits.float().numpy(),
                             "greedy": np.array(greedy[16:]), "greedy_margin": np.array(margins, np.float32)})


def main():
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description="Trains the demo model.")
    parser.add_argument("--out", type=Path, default=here, help="folder for the three files")
    parser.add_argument("--golden", type=Path, help="also write reference logits of the finished model to this file")
    parser.add_argument("--only-golden", action="store_true", help="do not train; use the files in --out")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--minutes", type=float, default=1e9, help="end (with the whole schedule) after this time")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--context", type=int, default=256)
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument("--weight-decay", type=float, default=0.1)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--check-seconds", type=float, default=180, help="time between validations")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    # Keeps freed memory in the process: giving it back after each step costs more in page faults than the arithmetic.
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        for setting, value in MALLOC_SETTINGS.items():
            libc.mallopt(setting, value)

    path = options.out / "tokenizer.model"
    if not options.only_golden:
        options.out.mkdir(parents=True, exist_ok=True)
        chapters = read_chapters()
        train_tokenizer(chapters, path)
        tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(path))
        held_out = chapters[20::40]
        del chapters[20::40]
        validation = Corpus(held_out, tokenizer).cover(options.context + 1)
        corpus = Corpus(chapters, tokenizer)
        print(f"{len(corpus.stream)} tokens to train on, {len(validation)} windows for validation", flush=True)
        best = train(options, corpus, validation, lambda model: save_model(model, options.out))
        print(f"best validation loss {best:.4f}, perplexity {math.exp(best):.2f}")
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(path))
    model = load_model(options.out)
    for prompt in PROMPTS:
        print("\n" + tokenizer.decode(generate(model, [BOS] + tokenizer.encode(prompt), 120)))
    if options.golden:
        write_golden(options.out, tokenizer, options.golden)


if __name__ == "__main__":
    main()
