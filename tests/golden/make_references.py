#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tiny models with random weights and records what transformers computes of them: data/README.md says what of.

usage: make_references.py FOLDER FAMILY...

FOLDER/FAMILY/config.json says what to make: "architectures", "model_type" and sizes that no two dimensions share.

Needs the packages transformers 5.24.0 and torch 2.15.0 of the Python index. Everything is computed in float32 on a
processor, every step from the first token on, without a cache. Prompts are taken from seeds in turn until each greedy
token wins by MARGIN or more, so that no rounding decides between two.
"""
import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file

PROMPT, GREEDY, MARGIN, VOCABULARY = 45, 16, 0.045, 320

# Of models whose config.json has other names than the library's: the library's, with sizes that no two dimensions share.
SMALL = dict(vocab_size=VOCABULARY, hidden_size=48, intermediate_size=76, num_hidden_layers=4, num_attention_heads=6,
             num_key_value_heads=2, head_dim=10, max_position_embeddings=256, tie_word_embeddings=False)
WITHOUT_HEAD_DIM = {**{name: value for name, value in SMALL.items() if name != "head_dim"}, "hidden_size": 60}
SIZES = {
    # The layers of MiniMax-01 with the one factor that the published checkpoints have.
    "minimax_m1": dict(SMALL, num_hidden_layers=2, intermediate_size=28, num_attention_heads=4, num_local_experts=5,
                       num_experts_per_tok=2, layer_types=["linear_attention", "full_attention"], block_size=16,
                       full_attn_alpha_factor=1.5, linear_attn_alpha_factor=1.5, mlp_alpha_factor=1.5,
                       rope_parameters=dict(rope_type="default", rope_theta=5000.0)),
    # Under the names of Ling's own code, which is that of GLM-4.5.
    "bailing_moe": dict(SMALL, num_hidden_layers=3, moe_intermediate_size=28, num_experts=8, num_experts_per_tok=3,
                        num_shared_experts=1, n_group=4, topk_group=2, first_k_dense_replace=1,
                        routed_scaling_factor=1.5, partial_rotary_factor=0.4),
    # The layers of Llama under the names of InternLM's own code.
    "internlm2": dict(WITHOUT_HEAD_DIM),
    # Qwen 2, beside a head that make_heads.py makes.
    "mimo": dict(WITHOUT_HEAD_DIM),
    # With experts in every layer, as llama.cpp takes these families.
    "qwen2_moe_sparse": dict(WITHOUT_HEAD_DIM, num_hidden_layers=2, moe_intermediate_size=28,
                             shared_expert_intermediate_size=36, num_experts=7, num_experts_per_tok=3),
    "qwen3_moe_sparse": dict(SMALL, num_hidden_layers=2, moe_intermediate_size=28, num_experts=7, num_experts_per_tok=3,
                             norm_topk_prob=True),
    # Experts in a latent space, no groups.
    "nemotron_h_latent": dict(
        vocab_size=VOCABULARY, hidden_size=48, layers_block_type=["mamba", "moe", "mamba", "attention", "moe"],
        num_attention_heads=4, num_key_value_heads=2, head_dim=20, mamba_num_heads=6, mamba_head_dim=14,
        ssm_state_size=12, n_groups=2, conv_kernel=4, n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=28,
        moe_shared_expert_intermediate_size=36, moe_latent_size=30, n_group=1, topk_group=1, routed_scaling_factor=1.5),
}

# Recurrent layers, whose states are recorded too: what their kind's state is called.
STATES = {"nemotron_h_latent": "ssm", "falcon_mamba": "ssm", "jamba": "ssm", "kimi_linear": "recurrent",
          "minimax": "recurrent", "minimax_m1": "recurrent"}
# Of these prompts are given token by token: the library computes longer ones by chunks, whose sums of logarithms in
# float32 are further from float64 than what is tested.
STEPPED = ("nemotron_h_latent", "kimi_linear")
MINIMAX_M1 = {f"{theirs}_{factor}_factor": f"layernorm_{ours}_{factor}" for factor in ("alpha", "beta")
              for theirs, ours in (("full_attn", "full_attention"), ("linear_attn", "linear_attention"), ("mlp", "mlp"))}
# That other name of their code, and what config.json has besides and instead.
PUBLISHED = {"nemotron_h_latent": ("nemotron_h", dict(model_type="nemotron_h"), {}),
             "bailing_moe": ("sarvam_moe", dict(score_function="sigmoid", moe_router_enable_expert_bias=True,
                                                use_bias=False),
                             dict(n_routed_experts="num_experts", n_shared_experts="num_shared_experts",
                                  attention_bias="use_qkv_bias")),
             "minimax_m1": ("minimax", dict(attn_type_list=[0, 1], postnorm=True, rotary_dim=10,
                                            shared_intermediate_size=0, shared_moe_mode="sigmoid"), MINIMAX_M1),
             "internlm2": ("llama", {}, dict(attention_bias="bias")),
             "qwen2_moe_sparse": ("qwen2_moe", dict(model_type="qwen2_moe"), {}),
             "qwen3_moe_sparse": ("qwen3_moe", dict(model_type="qwen3_moe"), {}),
             "mimo": ("qwen2", dict(attention_bias=True, num_nextn_predict_layers=1), {})}
INTERNLM2 = {"embed_tokens": "tok_embeddings", "input_layernorm": "attention_norm", "lm_head": "output",
             "post_attention_layernorm": "ffn_norm", "self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1",
             "mlp.up_proj": "feed_forward.w3", "mlp.down_proj": "feed_forward.w2"}


def model_of(folder, family):
    if family in SIZES:
        config = transformers.AutoConfig.for_model(PUBLISHED[family][0], **SIZES[family])
        kind = transformers.AutoModelForCausalLM
    else:
        config = transformers.AutoConfig.from_pretrained(folder / family)
        kind = getattr(transformers, config.architectures[0])
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    torch.manual_seed(7)
    make = kind.from_config if family in SIZES else kind._from_config
    model = make(config, dtype=torch.float32).eval()
    fill(model, family)
    return model


def fill(model, family):
    """Gives a model random weights."""
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, values in [*model.named_parameters(), *model.named_buffers()]:
            is_computed = name.endswith(("inv_freq", "slope_rate", "_decay"))
            if is_computed or values.dim() == 0:  # what the model computes itself
                continue
            # Norms near one, biases of the same order as what they are added to, all else so that layers change rows.
            noise = torch.randn(values.shape, generator=generator)
            is_norm = "norm" in name or (family == "gpt2" and "ln_" in name)
            is_norm = is_norm and not name.endswith("bias")
            is_embedding = "embed" in name or "wte" in name
            scale = 1.5 / values.shape[-1] ** 0.5 if values.dim() > 1 else 0.2
            values.copy_(1.0 + 0.2 * noise if is_norm else noise * (1.0 if is_embedding else scale))


@torch.no_grad()
def computed(model, prompt):
    """Logits and rows after the final norm of a prompt, and the tokens that follow with the margins of each."""
    output = model(input_ids=prompt, use_cache=False, output_hidden_states=True)
    text, greedy, margins = prompt, [], []
    for _ in range(GREEDY):
        best = model(input_ids=text, use_cache=False).logits[:, -1].topk(2)
        greedy.append(best.indices[:, 0])
        margins.append(best.values[:, 0] - best.values[:, 1])
        text = torch.cat([text, best.indices[:, :1]], dim=1)
    last = output.hidden_states[-1]
    if last.dim() != 3:  # of several streams, before they are one
        last = model.model(input_ids=prompt, use_cache=False).last_hidden_state
    return output.logits, last, torch.stack(greedy, 1), torch.stack(margins, 1)


@torch.no_grad()
def remembered(model, family, prompt):
    """Logits and rows after the final norm of a prompt, and what recurrent layers then hold."""
    cache, logits, last, found = None, [], [], {}
    for tokens in prompt.split(1 if family in STEPPED else PROMPT, dim=1):
        output = model(input_ids=tokens, use_cache=True, output_hidden_states=True, cache=cache)
        cache = output.cache
        logits.append(output.logits)
        last.append(output.hidden_states[-1])
    for number, layer in enumerate(cache.layers):
        if hasattr(layer, "recurrent_states"):
            found[f"state.layers.{number}.conv"] = layer.conv_states[0]
            found[f"state.layers.{number}.{STATES[family]}"] = layer.recurrent_states[0]
    for number, state in enumerate(getattr(cache, "linear_cache", [])):
        if len(state) > 0:
            found[f"state.layers.{number}.{STATES[family]}"] = state
    return torch.cat(logits, 1), torch.cat(last, 1), found


def internlm2_tensors(tensors, config):
    """Tensors of Llama as InternLM 2 has them: heads of queries that share keys and values, with these, group by group."""
    groups, named = config["num_key_value_heads"], {}
    for name, values in tensors.items():
        if "q_proj" in name:
            parts = [tensors[name.replace("q_proj", part)] for part in ("q_proj", "k_proj", "v_proj")]
            parts = [part.view(groups, -1, *part.shape[1:]) for part in parts]
            joined = torch.cat(parts, 1).flatten(0, 1).contiguous()
            named[name.replace("self_attn.q_proj", "attention.wqkv")] = joined
        elif "k_proj" not in name and "v_proj" not in name:
            for theirs, ours in INTERNLM2.items():
                name = name.replace(theirs, ours)
            named[name] = values
    return named


def published_experts(tensors):
    """Stacked experts as Qwen3-VL is published with them, transposed, where transformers 5 writes them as others."""
    return {name: values.transpose(1, 2).contiguous() if "mlp.experts." in name else values
            for name, values in tensors.items()}


def record(folder, family):
    model = model_of(folder, family)
    rows, recurrent, seed = [], [], 0
    while len(rows) < 2:
        generator = torch.Generator().manual_seed(seed)
        prompt = torch.randint(3, VOCABULARY, (1, PROMPT), generator=generator)
        found = computed(model, prompt)
        if found[3].min() >= MARGIN:
            held = {}
            if family in STATES:
                *outputs, held = remembered(model, family, prompt)
                found = (*outputs, *found[2:])
            rows.append((prompt, *found))
            recurrent.append(held)
        seed += 1
    names = ["input_ids", "logits", "hidden_last", "greedy", "greedy_margin"]
    tensors = {name: torch.cat([row[i] for row in rows]).contiguous() for i, name in enumerate(names)}
    tensors.update({name: torch.cat([one[name] for one in recurrent]).contiguous() for name in recurrent[0]})

    into = folder / family
    model.save_pretrained(into)
    (into / "generation_config.json").unlink(missing_ok=True)
    if family == "qwen3_vl_moe":
        written = (into / "model.safetensors").rename(into / "model.rows.safetensors")
        save_file(published_experts(load_file(written)), into / "model.safetensors")
    if family in PUBLISHED:
        _, more, names = PUBLISHED[family]
        config = {names.get(name, name): value for name, value in json.loads((into / "config.json").read_text()).items()}
        config.update(dict(model_type=family) | more)
        for name in ("architectures", *(["layer_types", "block_size"] if "attn_type_list" in config else [])):
            del config[name]
        if family == "internlm2":
            del config["mlp_bias"]
            save_file(internlm2_tensors(load_file(into / "model.safetensors"), config), into / "model.safetensors")
        (into / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    save_file(tensors, into / "golden.safetensors")
    print(f"{family}: prompts of seeds up to {seed - 1}, least margin {tensors['greedy_margin'].min():.3f}")


def main():
    folder = pathlib.Path(sys.argv[1])
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    for family in sys.argv[2:]:
        record(folder, family)


if __name__ == "__main__":
    main()
