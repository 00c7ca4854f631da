#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a head of EAGLE-3 (Li et al. 2025, arXiv:2503.01840) for a model of Llama's form, on chats of which the model
writes both sides, so that head_acceptance has a head that was trained. Such chats repeat themselves more than answers to
people's questions do, where fewer guesses are right than this script tells.

usage: train_head.py MODEL OUT_FOLDER [options]     MODEL is a folder of Hugging Face or a GGUF file

Needs the packages torch and transformers (5.17 was used), gguf for such files, and a GPU: with one of 80 GB and the
options as they are a model of 135 million parameters takes about twenty minutes. OUT_FOLDER gets texts.pt, which is
used again if it is there, and config.json and model.safetensors, as heads are published.
"""
import argparse
import json
import math
import pathlib
import time

import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import save_file
from torch import nn
from transformers.models.llama.modeling_llama import LlamaMLP, LlamaRMSNorm, LlamaRotaryEmbedding, apply_rotary_pos_emb

GUESSES = 3  # in a row: those after the first are made from the head's own rows, as in use
HELD_OUT = 64  # texts


@torch.no_grad()
def write_chats(model, tokenizer, rows, length):
    """Ids of chats, [rows, length], and which of them are of answers. Questions are drawn at temperature 1, the answers
    of a row at one between 0 and 1."""
    turns = [{"role": role, "content": "@@"} for role in ("user", "assistant", "user")]
    parts = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True).split("@@")
    begin, to_answer, to_question = (tokenizer.encode(part, add_special_tokens=False) for part in parts[:3])
    end, width = to_answer[0], max(len(to_answer), len(to_question)) - 1
    assert to_question[0] == end
    pad = [[-1] * (width - len(part) + 1) for part in (to_answer, to_question)]
    # The tokens after the end of a question, and of an answer.
    headers = torch.tensor([to_answer[1:] + pad[0], to_question[1:] + pad[1]], device=model.device)
    ids = torch.full((rows, length + width), -1, device=model.device)  # -1: to be drawn
    ids[:, : len(begin)] = torch.tensor(begin, device=model.device)
    answers = torch.zeros_like(ids, dtype=torch.bool)
    is_answer = torch.zeros(rows, dtype=torch.bool, device=model.device)
    temperature = torch.linspace(0, 1, rows, device=model.device)
    cache, unread = transformers.DynamicCache(), ids[:, : len(begin)]
    for at in range(len(begin), length):
        logits = model(unread, past_key_values=cache, logits_to_keep=1).logits[:, -1].float()
        heat = torch.where(is_answer, temperature, 1.0)[:, None]
        drawn = (logits - heat * torch.empty_like(logits).exponential_().log()).argmax(-1)
        is_drawn = ids[:, at] < 0
        ids[:, at] = torch.where(is_drawn, drawn, ids[:, at])
        answers[:, at] = is_drawn & is_answer
        ends = is_drawn & (ids[:, at] == end)
        after = slice(at + 1, at + 1 + width)
        ids[:, after] = torch.where(ends[:, None], headers[is_answer.long()], ids[:, after])
        is_answer ^= ends
        unread = ids[:, at : at + 1]
    return ids[:, :length].int().cpu(), answers[:, :length].cpu()


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.head_dim, self.repeats = config.head_dim, config.num_attention_heads // config.num_key_value_heads
        width, kv_width = config.num_attention_heads * self.head_dim, config.num_key_value_heads * self.head_dim
        self.q_proj = nn.Linear(2 * config.hidden_size, width, bias=False)
        self.k_proj = nn.Linear(2 * config.hidden_size, kv_width, bias=False)
        self.v_proj = nn.Linear(2 * config.hidden_size, kv_width, bias=False)
        self.o_proj = nn.Linear(width, config.hidden_size, bias=False)

    def forward(self, rows, turns, keys, values):
        """The keys and values of earlier guesses get those of this one. A row sees its own chain of guesses, and of
        first guesses those that the chain began after."""
        batch, count, _ = rows.shape
        q, k, v = (each(rows).view(batch, count, -1, self.head_dim).transpose(1, 2)
                   for each in (self.q_proj, self.k_proj, self.v_proj))
        q, k = apply_rotary_pos_emb(q, k, *turns)
        keys.append(k.repeat_interleave(self.repeats, 1))
        values.append(v.repeat_interleave(self.repeats, 1))
        guess, at = len(keys) - 1, torch.arange(count, device=rows.device)
        back = at[:, None] - at
        seen = torch.cat([back >= guess] + [back == guess - one for one in range(1, guess + 1)], 1)
        mixed = F.scaled_dot_product_attention(q, torch.cat(keys, 2), torch.cat(values, 2), seen)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, count, -1))


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self_attn, self.mlp = Attention(config), LlamaMLP(config)
        self.input_layernorm, self.hidden_norm, self.post_attention_layernorm = (
            LlamaRMSNorm(config.hidden_size, config.rms_norm_eps) for _ in range(3))

    def forward(self, embeddings, rows, *rest):
        both = torch.cat([self.input_layernorm(embeddings), self.hidden_norm(rows)], -1)
        rows = rows + self.self_attn(both, *rest)
        return rows + self.mlp(self.post_attention_layernorm(rows))


class Head(nn.Module):
    """Names of parameters are those of the published files."""

    def __init__(self, model, places, ids):
        super().__init__()
        config, self.places, self.ids = model.config, places, ids
        self.fc = nn.Linear(len(places) * config.hidden_size, config.hidden_size, bias=False)
        self.midlayer = Layer(config)
        self.norm = LlamaRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.lm_head = nn.Linear(config.hidden_size, len(ids), bias=False)
        self.to(model.device)
        with torch.no_grad():  # it begins as what the model would say after the last of the places
            self.fc.weight.normal_(std=0.01)[:, -config.hidden_size :] += torch.eye(config.hidden_size, device=model.device)
            for last in (self.midlayer.self_attn.o_proj, self.midlayer.mlp.down_proj):
                last.weight.normal_(std=0.01)
            self.norm.weight.copy_(model.model.norm.weight)
            self.lm_head.weight.copy_(model.lm_head.weight[ids])

    def losses(self, model, turning, ids, answers):
        """Of each guess: its mean distance to the model's distribution in answers, and how often its likeliest token is
        the model's."""
        with torch.no_grad():
            states = model.model(ids, output_hidden_states=True, use_cache=False).hidden_states
            read = torch.cat([states[place] for place in self.places], -1)[:, :-1]
            after = states[-1][:, 1:]
            wanted = F.linear(after, self.lm_head_of(model)).float().softmax(-1)
            likeliest = torch.cat([model.lm_head(row).argmax(-1)[None] for row in after])
            embeddings = model.model.embed_tokens(ids[:, 1:])
        counted = F.pad(answers[:, 2:], (0, 1))  # those whose token is of an answer
        turns = turning(embeddings, torch.arange(embeddings.shape[1], device=ids.device)[None])
        rows, keys, values, found = self.fc(read), [], [], []
        for guess in range(GUESSES):
            rows = self.midlayer(embeddings, rows, turns, keys, values)
            logits = self.lm_head(self.norm(rows)).float()
            is_counted = counted & (torch.arange(counted.shape[1], device=ids.device) >= guess)
            distance = -(wanted * logits.log_softmax(-1)).sum(-1)
            found.append(((distance * is_counted).sum() / is_counted.sum(),
                          (self.ids[logits.argmax(-1)] == likeliest)[is_counted].float().mean()))
            rows = F.pad(rows, (0, 0, 1, -1))
        return found

    def lm_head_of(self, model):
        return model.lm_head.weight[self.ids]


def train(head, model, ids, answers, options):
    learner = torch.optim.AdamW(head.parameters(), lr=options.rate, betas=(0.9, 0.95), weight_decay=0.01)
    turning = LlamaRotaryEmbedding(model.config).to(model.device)
    begin, batch, order = time.time(), 0, torch.Generator().manual_seed(2)
    rows = options.batch

    def losses(which):
        with torch.autocast(model.device.type, torch.bfloat16):
            return head.losses(model, turning, ids[which].to(model.device).long(), answers[which].to(model.device))

    def tell():
        with torch.no_grad():
            held = range(0, min(HELD_OUT, len(ids) // 8), rows)
            found = torch.tensor([losses(torch.arange(i, i + rows)) for i in held]).mean(0)
        print(f"{batch} batches, {time.time() - begin:.0f} s: of each guess in texts held out, distance "
              f"{[round(one, 3) for one in found[:, 0].tolist()]}, likeliest token right "
              f"{[round(one, 3) for one in found[:, 1].tolist()]}", flush=True)

    told = begin
    while (done := (time.time() - begin) / (60 * options.minutes)) < 1:
        rate = options.rate * min(1, (batch + 1) / 100) * (0.02 + 0.49 * (1 + math.cos(math.pi * done)))
        for group in learner.param_groups:
            group["lr"] = rate
        first = min(HELD_OUT, len(ids) // 8)
        found = losses(torch.randint(first, len(ids), (rows,), generator=order))
        sum(0.8**guess * distance for guess, (distance, _) in enumerate(found)).backward()
        nn.utils.clip_grad_norm_(head.parameters(), 1.0)
        learner.step()
        learner.zero_grad(set_to_none=True)
        batch += 1
        if time.time() - told > 30:
            told = time.time()
            tell()
    tell()


def save(head, model, folder):
    config = model.config
    tensors = {name: values.detach().bfloat16().cpu() for name, values in head.state_dict().items()}
    ids = head.ids.cpu()
    tensors["d2t"] = ids - torch.arange(len(ids))
    tensors["t2d"] = torch.isin(torch.arange(config.vocab_size), ids)
    save_file(tensors, folder / "model.safetensors")
    theta = LlamaRotaryEmbedding(config).inv_freq[1].item() ** (-config.head_dim / 2)
    (folder / "config.json").write_text(json.dumps(dict(
        architectures=["LlamaForCausalLMEagle3"], model_type="llama", hidden_size=config.hidden_size,
        vocab_size=config.vocab_size, draft_vocab_size=len(ids), num_hidden_layers=1, hidden_act="silu",
        num_attention_heads=config.num_attention_heads, num_key_value_heads=config.num_key_value_heads,
        head_dim=config.head_dim, intermediate_size=config.intermediate_size, rms_norm_eps=config.rms_norm_eps,
        rope_theta=round(theta), max_position_embeddings=config.max_position_embeddings, tie_word_embeddings=False,
        dtype="bfloat16", eagle_aux_hidden_state_layer_ids=head.places), indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=1024, help="chats written at a time")
    parser.add_argument("--times", type=int, default=4, help="how often so many are written")
    parser.add_argument("--length", type=int, default=1025, help="tokens of a chat")
    parser.add_argument("--batch", type=int, default=16, help="chats of a training step")
    parser.add_argument("--drafts", type=int, default=8192, help="tokens that the head guesses among, the most frequent ones")
    parser.add_argument("--rate", type=float, default=1e-3, help="of learning, at most")
    parser.add_argument("--minutes", type=float, default=15, help="of training; 0 writes texts alone")
    options = parser.parse_args()
    torch.manual_seed(1)
    transformers.logging.set_verbosity_error()
    is_file = options.model.is_file()
    folder, file = (options.model.parent, {"gguf_file": options.model.name}) if is_file else (options.model, {})
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **file)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, **file, dtype=torch.bfloat16).eval()
    model.requires_grad_(False).to("cuda" if torch.cuda.is_available() else "cpu")

    options.out.mkdir(parents=True, exist_ok=True)
    texts, begin = options.out / "texts.pt", time.time()
    if not texts.exists():
        written = [write_chats(model, tokenizer, options.rows, options.length) for _ in range(options.times)]
        torch.save([torch.cat(part) for part in zip(*written)], texts)
        print(f"chats written in {time.time() - begin:.0f} s", flush=True)
        print(*(tokenizer.decode(row[:400]) for row in written[0][0][:: options.rows // 4]), sep="\n---\n")
    if options.minutes == 0:
        return
    ids, answers = torch.load(texts)
    # Each time the rows go from temperature 0 to 1.
    order = torch.randperm(len(ids), generator=torch.Generator().manual_seed(1))
    ids, answers = ids[order], answers[order]
    counts = torch.bincount(ids[answers], minlength=model.config.vocab_size)
    frequent = counts.topk(options.drafts).indices
    print(f"{answers.sum()} tokens of answers, of which the head can guess {counts[frequent].sum() / counts.sum():.4f}")
    layers = model.config.num_hidden_layers
    head = Head(model, [2, layers // 2, layers - 3], frequent.sort().values.to(model.device))
    train(head, model, ids, answers, options)
    save(head, model, options.out)


if __name__ == "__main__":
    main()
