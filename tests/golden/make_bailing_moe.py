#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a tiny first Ling with random weights and records what its authors' program computes of it (data/README.md).

usage: make_bailing_moe.py LING FOLDER

LING is a checkout of https://github.com/inclusionAI/Ling (commit 5ccaeae), whose models/modeling_bailing_moe.py runs
as it is. It needs an older transformers than make_references.py: the packages transformers 4.48.3, tokenizers 0.21.4,
torch 2.15.0 and safetensors of the Python index. FOLDER gets the model and its variants: `norm_head` has the same
weights under a head whose columns are normed; `dense` others, with a first layer without experts, biases, and weights of
experts that do not add up to 1.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file

sys.path.insert(0, sys.argv[1])
from models.configuration_bailing_moe import BailingMoeConfig
from models.modeling_bailing_moe import BailingMoeForCausalLM

from make_references import MARGIN, PROMPT, SMALL, VOCABULARY, computed, fill

SIZES = dict({**SMALL, "num_hidden_layers": 3}, model_type="bailing_moe", hidden_act="silu", rms_norm_eps=1e-6,
             rope_theta=600000.0, moe_intermediate_size=28, num_experts=7, num_shared_experts=2, num_experts_per_tok=3,
             norm_topk_prob=True, first_k_dense_replace=0, use_bias=False, use_qkv_bias=False, norm_head=False)
VARIANTS = {"": {}, "norm_head": dict(norm_head=True),
            "dense": dict(first_k_dense_replace=1, use_bias=True, use_qkv_bias=True, norm_topk_prob=False,
                          num_shared_experts=1)}


def named(folder, name, variant, ending):
    return folder / ".".join([name, *([variant] if variant else []), ending])


def record(folder, variant):
    sizes = SIZES | VARIANTS[variant]
    config = BailingMoeConfig(**sizes, attention_dropout=0.0, attn_implementation="eager", pad_token_id=0)
    torch.manual_seed(7)
    model = BailingMoeForCausalLM(config).float().eval()
    fill(model, "bailing_moe_softmax")
    weights = {name: values.clone() for name, values in model.state_dict().items()}  # which the first call changes
    rows, seed = [], 0
    while len(rows) < 2:
        prompt = torch.randint(3, VOCABULARY, (1, PROMPT), generator=torch.Generator().manual_seed(seed))
        found = computed(model, prompt)
        if found[3].min() >= MARGIN:
            rows.append((prompt, *found))
        seed += 1
    names = ["input_ids", "logits", "hidden_last", "greedy", "greedy_margin"]
    tensors = {name: torch.cat([row[i] for row in rows]).contiguous() for i, name in enumerate(names)}
    save_file(tensors, named(folder, "golden", variant, "safetensors"))
    if variant != "norm_head":
        save_file(weights, named(folder, "model", variant, "safetensors"))
    named(folder, "config", variant, "json").write_text(json.dumps(sizes, indent=2, sort_keys=True) + "\n")
    print(f"{variant}: prompts of seeds up to {seed - 1}, least margin {tensors['greedy_margin'].min():.3f}")


def main():
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    for variant in VARIANTS:
        record(folder, variant)


if __name__ == "__main__":
    main()
