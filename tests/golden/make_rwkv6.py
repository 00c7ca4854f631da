#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a tiny RWKV-6 with random weights and records what its authors' program computes of it (data/README.md).

usage: make_rwkv6.py RWKV_v6_demo.py FOLDER

The program is that of https://github.com/BlinkDL/ChatRWKV (commit 965e40b): its class RWKV_RNN runs as it is, one token
after the other. Needs the packages torch 2.15.0 and safetensors of the Python index. Tensors get the names that the
published checkpoints have in Hugging Face's form.
"""
import json
import pathlib
import sys
import tempfile
import types

import torch
from safetensors.torch import save_file

PROMPT, GREEDY, MARGIN, VOCABULARY = 45, 16, 0.045, 320
WIDTH, LAYERS, HEAD, HIDDEN, MIX_RANK, DECAY_RANK = 48, 3, 12, 160, 32, 64
NAMES = {"emb.": "rwkv.embeddings.", "blocks.0.ln0.": "rwkv.blocks.0.pre_ln.", "ln_out.": "rwkv.ln_out.",
         "blocks.": "rwkv.blocks.", ".att.": ".attention.", ".ffn.": ".feed_forward."}


def weights():
    generator = torch.Generator().manual_seed(11)

    def around(center, spread, *shape):
        return center + spread * torch.randn(shape, generator=generator)

    def norm(name, size):
        made[name + ".weight"], made[name + ".bias"] = around(1.0, 0.2, size), around(0.0, 0.1, size)

    def matrix(name, rows, cols):
        made[name + ".weight"] = around(0.0, 1.5 / cols**0.5, rows, cols)

    made = {"emb.weight": around(0.0, 1.0, VOCABULARY, WIDTH)}
    norm("blocks.0.ln0", WIDTH)
    for layer in range(LAYERS):
        block = f"blocks.{layer}."
        norm(block + "ln1", WIDTH)
        norm(block + "ln2", WIDTH)
        for mix in "xwkvrg":
            made[f"{block}att.time_maa_{mix}"] = around(0.5, 0.3, 1, 1, WIDTH)
        made[block + "att.time_maa_w1"] = around(0.0, 1.5 / WIDTH**0.5, WIDTH, 5 * MIX_RANK)
        made[block + "att.time_maa_w2"] = around(0.0, 0.3 / MIX_RANK**0.5, 5, MIX_RANK, WIDTH)
        made[block + "att.time_decay"] = around(-1.5, 1.0, 1, 1, WIDTH)
        made[block + "att.time_decay_w1"] = around(0.0, 1.0 / WIDTH**0.5, WIDTH, DECAY_RANK)
        made[block + "att.time_decay_w2"] = around(0.0, 0.5 / DECAY_RANK**0.5, DECAY_RANK, WIDTH)
        made[block + "att.time_faaaa"] = around(0.3, 0.3, WIDTH // HEAD, HEAD)
        for name in ("receptance", "key", "value", "gate", "output"):
            matrix(block + "att." + name, WIDTH, WIDTH)
        norm(block + "att.ln_x", WIDTH)
        for mix in "kr":
            made[f"{block}ffn.time_maa_{mix}"] = around(0.5, 0.3, 1, 1, WIDTH)
        matrix(block + "ffn.key", HIDDEN, WIDTH)
        matrix(block + "ffn.receptance", WIDTH, WIDTH)
        matrix(block + "ffn.value", WIDTH, HIDDEN)
    norm("ln_out", WIDTH)
    matrix("head", VOCABULARY, WIDTH)
    return made


def program(source, made):
    """The authors' model with these weights."""
    text = source.read_text()
    text = text[text.index("class RWKV_RNN"):text.index("print(f'\\nUsing CPU")]
    names = dict(torch=torch, F=torch.nn.functional, types=types, MyModule=torch.nn.Module, MyFunction=lambda f: f)
    exec(compile(text, str(source), "exec"), names)  # noqa: S102: the program that is compared with
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model"
        torch.save(made, f"{path}.pth")
        return names["RWKV_RNN"](types.SimpleNamespace(MODEL_NAME=str(path), n_layer=LAYERS, n_embd=WIDTH))


def run(model, tokens):
    outputs, state = [], None
    for token in tokens:
        output, state = model.forward(int(token), state)
        outputs.append(output)
    return torch.stack(outputs), state


def states(state):
    found, of_layer = {}, 2 + HEAD
    for layer in range(LAYERS):
        rows = state[of_layer * layer:of_layer * (layer + 1)]
        name = f"state.layers.{layer}."
        found[name + "ffn_shift"], found[name + "att_shift"] = rows[0], rows[1]
        found[name + "wkv"] = rows[2:].reshape(WIDTH // HEAD, HEAD, HEAD)
    return found


def main():
    source, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) / "rwkv6"
    torch.set_num_threads(1)
    made = weights()
    model, headless = program(source, made), program(source, made | {"head.weight": torch.eye(WIDTH)})
    rows, seed = [], 0
    while len(rows) < 2:
        prompt = torch.randint(3, VOCABULARY, (PROMPT,), generator=torch.Generator().manual_seed(seed))
        seed += 1
        logits, state = run(model, prompt)
        text, margins = list(prompt), []
        for _ in range(GREEDY):
            best = run(model, text)[0][-1].topk(2)
            text.append(best.indices[0])
            margins.append(best.values[0] - best.values[1])
        if min(margins) < MARGIN:
            continue
        rows.append(dict(input_ids=prompt, logits=logits, hidden_last=run(headless, prompt)[0],
                         greedy=torch.stack(text[PROMPT:]), greedy_margin=torch.stack(margins), **states(state)))
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: torch.stack([row[name] for row in rows]).contiguous() for name in rows[0]},
              folder / "golden.safetensors")

    def published(name):
        for theirs, ours in NAMES.items():
            if name.startswith(theirs) or not theirs[0].isalpha():
                name = name.replace(theirs, ours, 1)
        return name

    save_file({published(name): values.contiguous() for name, values in made.items()}, folder / "model.safetensors")
    config = dict(model_type="rwkv6", vocab_size=VOCABULARY, hidden_size=WIDTH, attention_hidden_size=WIDTH, head_size=HEAD,
                  head_size_divisor=8, intermediate_size=None, layer_norm_epsilon=1e-5, model_version="6_0",
                  num_attention_heads=64, num_hidden_layers=LAYERS, rescale_every=6, tie_word_embeddings=False,
                  use_cache=True, bos_token_id=0, eos_token_id=0)
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    print(f"rwkv6: prompts of seeds up to {seed - 1}, least margin {min(row['greedy_margin'].min() for row in rows):.3f}")


if __name__ == "__main__":
    main()
