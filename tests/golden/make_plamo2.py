#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a tiny PLaMo 2 with random weights and records what its authors' program computes of it (data/README.md).

usage: make_plamo2.py plamo2.py FOLDER

The program is that of https://github.com/ml-explore/mlx-examples (llms/mlx_lm/models/plamo2.py, commit 00d13eb), which
Preferred Networks made of the code beside the published checkpoints, windows included: its class PlamoModel runs as it
is. Needs the packages mlx 0.32.4, numpy and safetensors of the Python index. Tensors get the names that the published
checkpoints have. Of query head h this program uses key head h modulo their number, where the authors' code for vLLM and
llama.cpp use h divided by the heads of a group (in PLaMo 2 1B there is one): it is given its heads in that order.
"""
import json
import pathlib
import sys
import types

import mlx.core as mx
import numpy as np
from mlx.utils import tree_unflatten
from safetensors.numpy import save_file

PROMPT, GREEDY, MARGIN = 45, 16, 0.045
# The layers 1 and 3 attend.
SIZES = dict(hidden_size=48, num_hidden_layers=4, rms_norm_eps=1e-6, tie_word_embeddings=True, num_attention_heads=6,
             num_key_value_heads=2, hidden_size_per_head=10, max_position_embeddings=256, attention_window_size=2048,
             full_attention_idx=None, mamba_d_state=7, mamba_d_conv=4, mamba_num_heads=5, mamba_step=2,
             mamba_chunk_size=16, mamba_enabled=True, intermediate_size=76, vocab_size=320)

# The same weights where the first of these layers has a window that ends within the prompts, and the other one has none.
VARIANTS = {"": {}, "window.": dict(attention_window_size=9, full_attention_idx=[3])}


def weights():
    random, made = np.random.default_rng(11), {}
    width, head, heads = SIZES["hidden_size"], SIZES["hidden_size_per_head"], SIZES["mamba_num_heads"]
    inner, states, step_rank = heads * head, SIZES["mamba_d_state"], max(64, width // 16)
    queries, keys = SIZES["num_attention_heads"], SIZES["num_key_value_heads"]

    def around(center, spread, *shape):
        return (center + spread * random.standard_normal(shape)).astype(np.float32)

    def matrix(rows, cols):
        return around(0.0, 1.5 / cols**0.5, rows, cols)

    made["model.embed_tokens.weight"] = around(0.0, 1.0, SIZES["vocab_size"], width)
    made["model.norm.weight"] = around(0.0, 0.2, width)
    for layer in range(SIZES["num_hidden_layers"]):
        name = f"model.layers.layers.{layer}."
        for norm, center in (("pre_mixer", 0.0), ("post_mixer", 0.8), ("pre_mlp", 0.0), ("post_mlp", 0.9)):
            made[f"{name}{norm}_norm.weight"] = around(center, 0.2, width)
        made[name + "mlp.gate_up_proj.weight"] = matrix(2 * SIZES["intermediate_size"], width)
        made[name + "mlp.down_proj.weight"] = matrix(width, SIZES["intermediate_size"])
        name += "mixer."
        if layer % 2 == 1:
            made[name + "qkv_proj.weight"] = matrix((queries + 2 * keys) * head, width)
            made[name + "o_proj.weight"] = matrix(width, queries * head)
            made[name + "q_weight"], made[name + "k_weight"] = around(1.0, 0.2, queries, head), around(1.0, 0.2, keys, head)
            continue
        made[name + "in_proj.weight"] = matrix(2 * inner, width)
        made[name + "conv1d.weight"] = around(0.0, 0.7, inner, 1, SIZES["mamba_d_conv"])
        made[name + "bcdt_proj.weight"] = matrix(step_rank + 2 * states, inner)
        made[name + "dt_proj.weight"] = matrix(heads, step_rank)
        made[name + "dt_bias"] = around(-2.0, 1.0, heads)
        made[name + "A_log"] = around(0.0, 1.0, heads)
        made[name + "D"] = around(1.0, 0.2, heads)
        for part, size in (("dt", step_rank), ("B", states), ("C", states)):
            made[f"{name}{part}_norm_weight"] = around(1.0, 0.2, size)
        made[name + "out_proj.weight"] = matrix(width, inner)
    return made


def with_heads_in_turn(name, values):
    """The tensor with its query heads in the order of one head of each group, then a second of each."""
    heads, groups, size = SIZES["num_attention_heads"], SIZES["num_key_value_heads"], SIZES["hidden_size_per_head"]
    order = np.arange(heads).reshape(groups, -1).T.ravel()
    of_rows = (order[:, None] * size + np.arange(size)).ravel()
    if name.endswith("q_weight"):
        return values[order]
    if name.endswith("qkv_proj.weight"):
        return np.concatenate([values[of_rows], values[heads * size :]])
    return values[:, of_rows] if name.endswith("o_proj.weight") else values


def program(source, made, changes):
    """The authors' model with these weights."""
    text = source.read_text()
    imported = "from .base import BaseModelArgs, create_attention_mask\n"
    assert imported in text
    module = types.ModuleType("plamo2")
    sys.modules["plamo2"] = module
    module.BaseModelArgs, module.create_attention_mask = object, None  # not called where there is a mask
    exec(compile(text.replace(imported, ""), str(source), "exec"), module.__dict__)  # noqa: S102: what is compared with
    model = module.PlamoModel(module.ModelArgs(**SIZES | changes))
    model.eval()
    arrays = {name.removeprefix("model."): mx.array(with_heads_in_turn(name, values)) for name, values in made.items()}
    for name in arrays:
        if "conv1d" in name:  # channels come last in this library
            arrays[name] = arrays[name].moveaxis(2, 1)
    model.update(tree_unflatten(list(arrays.items())))
    return model


def run(model, tokens):
    """Rows after the final norm, and the state after them."""
    output = model(input_ids=mx.array([tokens]))
    return np.array(output.last_hidden_state)[0], output.past_key_values


def states(cache):
    found = {}
    for layer in range(0, SIZES["num_hidden_layers"], 2):
        conv = np.array(cache[layer].conv_state)[0]  # [channels, taps - 1]
        found[f"state.layers.{layer}.conv"] = np.pad(conv, ((0, 0), (1, 0)))
        found[f"state.layers.{layer}.ssm"] = np.array(cache[layer].ssm_state)[0]
    return found


def record(source, folder, variant, made):
    model, head = program(source, made, VARIANTS[variant]), made["model.embed_tokens.weight"].T
    rows, seed = [], 0
    while len(rows) < 2:
        prompt = np.random.default_rng(seed).integers(4, SIZES["vocab_size"], PROMPT).tolist()
        seed += 1
        last, cache = run(model, prompt)
        text, margins = list(prompt), []
        for _ in range(GREEDY):
            logits = run(model, text)[0][-1] @ head
            best = np.argsort(logits)[:-3:-1]
            text.append(int(best[0]))
            margins.append(logits[best[0]] - logits[best[1]])
        if min(margins) < MARGIN:
            continue
        rows.append(dict(input_ids=np.array(prompt), logits=last @ head, hidden_last=last,
                         greedy=np.array(text[PROMPT:]), greedy_margin=np.array(margins, np.float32), **states(cache)))
    save_file({name: np.stack([row[name] for row in rows]) for name in rows[0]}, folder / f"golden.{variant}safetensors")
    config = dict(SIZES | VARIANTS[variant], model_type="plamo2", eval_attention_n_bit=None, eval_mlp_n_bit=None,
                  fp8_accum_dtype=None, image_feature_size=None, image_proj_type="linear", image_token_id=None,
                  linear_type="normal", bos_token_id=1, eos_token_id=2, pad_token_id=None, tokenizer_class="PlamoTokenizer", use_cache=True)
    (folder / f"config.{variant}json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    print(f"plamo2 {variant}: prompts of seeds up to {seed - 1}, least margin {min(row['greedy_margin'].min() for row in rows):.3f}")


def main():
    source, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) / "plamo2"
    folder.mkdir(parents=True, exist_ok=True)
    made = weights()
    for variant in VARIANTS:
        record(source, folder, variant, made)
    save_file(made, folder / "model.safetensors")


if __name__ == "__main__":
    main()
