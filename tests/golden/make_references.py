#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tiny models with random weights and records what transformers computes of them: data/README.md says what of.

usage: make_references.py FOLDER [FAMILY...]      all families below where none is named

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

# Sizes that no two dimensions share, and what makes a family another one than Llama.
SMALL = dict(vocab_size=VOCABULARY, hidden_size=48, intermediate_size=76, num_hidden_layers=4, num_attention_heads=6,
             num_key_value_heads=2, head_dim=10, max_position_embeddings=256, tie_word_embeddings=False)
WITHOUT_HEAD_DIM = {**{name: value for name, value in SMALL.items() if name != "head_dim"}, "hidden_size": 60}
SOME_SLIDE = ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"]
YARN = dict(rope_type="yarn", rope_theta=5000.0, factor=4.0, original_max_position_embeddings=32, beta_fast=8.0,
            beta_slow=1.0)
FAMILIES = {
    "olmo3": dict(WITHOUT_HEAD_DIM, num_key_value_heads=3, sliding_window=9, layer_types=SOME_SLIDE, rope_parameters={
        "full_attention": YARN, "sliding_attention": dict(rope_type="default", rope_theta=5000.0)}),
    "olmoe": dict(WITHOUT_HEAD_DIM, intermediate_size=28, num_experts=7, num_experts_per_tok=3, norm_topk_prob=False),
    "qwen2_moe": dict(WITHOUT_HEAD_DIM, moe_intermediate_size=28, shared_expert_intermediate_size=36, num_experts=7,
                      num_experts_per_tok=3, norm_topk_prob=False, mlp_only_layers=[2]),
    "ministral3": dict(SMALL, rope_parameters=dict(YARN, original_max_position_embeddings=16, mscale=1.0,
                                                   mscale_all_dim=1.0, llama_4_scaling_beta=0.3)),
    "seed_oss": dict(SMALL, attention_bias=True, attention_out_bias=False),
    "exaone4": dict(SMALL, sliding_window=9, layer_types=SOME_SLIDE),
    "arcee": dict(SMALL, rope_parameters=YARN),
    "glm4_moe": dict(SMALL, num_hidden_layers=3, moe_intermediate_size=28, n_routed_experts=8, num_experts_per_tok=3,
                     n_shared_experts=1, n_group=1, topk_group=1, first_k_dense_replace=1, routed_scaling_factor=1.5,
                     attention_bias=True, use_qk_norm=True, partial_rotary_factor=0.4),
    "glm4": dict(SMALL, rope_parameters=dict(rope_type="default", rope_theta=5000.0, partial_rotary_factor=0.4),
                 attention_bias=True, pad_token_id=0),
    "ernie4_5": dict(SMALL, use_bias=False, tie_word_embeddings=True),
    "ernie4_5_moe": dict(WITHOUT_HEAD_DIM, moe_intermediate_size=28, moe_num_experts=7, moe_k=3, moe_num_shared_experts=2,
                         moe_layer_start_index=1, moe_layer_interval=2),
    "cohere": dict(WITHOUT_HEAD_DIM, logit_scale=0.25, tie_word_embeddings=True),
    "cohere2": dict(WITHOUT_HEAD_DIM, logit_scale=0.25, tie_word_embeddings=True, sliding_window=9,
                    layer_types=SOME_SLIDE),
    "starcoder2": dict(WITHOUT_HEAD_DIM, sliding_window=None),
    "stablelm": dict(WITHOUT_HEAD_DIM, rope_parameters=dict(rope_type="default", rope_theta=5000.0,
                                                            partial_rotary_factor=0.4), use_qkv_bias=True),
    "minimax_m2": dict(SMALL, intermediate_size=28, num_local_experts=7, num_experts_per_tok=3,
                       rope_parameters=dict(rope_type="default", rope_theta=5000.0, partial_rotary_factor=0.4)),
    # Four heads: programs differ in the decays of other numbers than powers of two.
    "minimax": dict(SMALL, intermediate_size=28, num_attention_heads=4, num_local_experts=7, num_experts_per_tok=3,
                    layer_types=["linear_attention", "linear_attention", "linear_attention", "full_attention"],
                    block_size=16, full_attn_alpha_factor=1.75, full_attn_beta_factor=0.875,
                    linear_attn_alpha_factor=1.5, linear_attn_beta_factor=1.25, mlp_alpha_factor=2.0,
                    mlp_beta_factor=0.75, rope_parameters=dict(rope_type="default", rope_theta=5000.0)),
    # The same layers under the names of the published checkpoints, with the one factor that they have.
    "minimax_m1": dict(SMALL, num_hidden_layers=2, intermediate_size=28, num_attention_heads=4, num_local_experts=5,
                       num_experts_per_tok=2, layer_types=["linear_attention", "full_attention"], block_size=16,
                       full_attn_alpha_factor=1.5, linear_attn_alpha_factor=1.5, mlp_alpha_factor=1.5,
                       rope_parameters=dict(rope_type="default", rope_theta=5000.0)),
    "dots1": dict(WITHOUT_HEAD_DIM, num_key_value_heads=6, num_hidden_layers=3, moe_intermediate_size=28,
                  n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=2, n_group=1, topk_group=1,
                  first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=1.5, sliding_window=None),
    "mistral4": dict(SMALL, num_hidden_layers=3, num_key_value_heads=6, moe_intermediate_size=28, n_routed_experts=8,
                     num_experts_per_tok=3, n_shared_experts=1, q_lora_rank=30, kv_lora_rank=22, qk_rope_head_dim=4,
                     qk_nope_head_dim=6, v_head_dim=14, first_k_dense_replace=1, routed_scaling_factor=1.5,
                     rope_parameters=dict(YARN, original_max_position_embeddings=16, mscale=1.0, mscale_all_dim=1.0,
                                          llama_4_scaling_beta=0.3)),
    "phi": dict(WITHOUT_HEAD_DIM, rope_parameters=dict(rope_type="default", rope_theta=5000.0,
                                                       partial_rotary_factor=0.4)),
    "gpt_neox": dict(vocab_size=VOCABULARY, hidden_size=60, intermediate_size=76, num_hidden_layers=4,
                     num_attention_heads=6, max_position_embeddings=256, rope_parameters=dict(
                         rope_type="default", rope_theta=5000.0, partial_rotary_factor=0.4)),
    # Two groups of heads of queries, each with keys and values, and a norm for each of the layers side by side.
    "falcon": dict(vocab_size=VOCABULARY, hidden_size=60, ffn_hidden_size=76, num_hidden_layers=4, num_attention_heads=6,
                   num_kv_heads=2, new_decoder_architecture=True, max_position_embeddings=256, tie_word_embeddings=False),
    # Under the names of Ling's own code, which is that of GLM-4.5.
    "bailing_moe": dict(SMALL, num_hidden_layers=3, moe_intermediate_size=28, num_experts=8, num_experts_per_tok=3,
                        num_shared_experts=1, n_group=4, topk_group=2, first_k_dense_replace=1,
                        routed_scaling_factor=1.5, partial_rotary_factor=0.4),
    # The layers of Llama under the names of InternLM's own code.
    "internlm2": dict(WITHOUT_HEAD_DIM),
    # Qwen 2, beside a head that make_heads.py makes.
    "mimo": dict(WITHOUT_HEAD_DIM),
    # Experts in a latent space, no groups.
    "nemotron_h_latent": dict(
        vocab_size=VOCABULARY, hidden_size=48, layers_block_type=["mamba", "moe", "mamba", "attention", "moe"],
        num_attention_heads=4, num_key_value_heads=2, head_dim=20, mamba_num_heads=6, mamba_head_dim=14,
        ssm_state_size=12, n_groups=2, conv_kernel=4, n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=28,
        moe_shared_expert_intermediate_size=36, moe_latent_size=30, n_group=1, topk_group=1, routed_scaling_factor=1.5),
    "falcon_mamba": dict(vocab_size=VOCABULARY, hidden_size=44, num_hidden_layers=3, state_size=7, time_step_rank=5,
                         expand=2, conv_kernel=4, tie_word_embeddings=False),
    # An attention layer and experts in each third layer, but not in the same.
    "jamba": dict(WITHOUT_HEAD_DIM, intermediate_size=28, mamba_d_state=7, mamba_dt_rank=5, mamba_d_conv=4, mamba_expand=2, num_experts=5,
                  num_experts_per_tok=2, attn_layer_period=3, attn_layer_offset=2, expert_layer_period=3,
                  expert_layer_offset=1, rms_norm_eps=1e-2),
    "kimi_linear": dict(SMALL, pad_token_id=0, num_key_value_heads=6, moe_intermediate_size=28, num_local_experts=8,
                        num_experts_per_tok=3, n_shared_experts=1, n_group=1, topk_group=1, routed_scaling_factor=1.5,
                        kv_lora_rank=22, qk_rope_head_dim=4, qk_nope_head_dim=6, v_head_dim=14, linear_head_dim=12,
                        linear_num_heads=6, linear_conv_kernel_dim=4, first_k_dense_replace=1, layer_types=[
                            "linear_attention", "full_attention", "linear_attention", "linear_attention"]),
    # Tokens from 300 on have the per-layer inputs of the first one.
    "gemma3n_text": dict(SMALL, head_dim=12, intermediate_size=[76, 76, 92, 76], num_attention_heads=4,
                         tie_word_embeddings=True, sliding_window=9, layer_types=["sliding_attention", "full_attention"] * 2,
                         num_kv_shared_layers=2, hidden_size_per_layer_input=10, vocab_size_per_layer_input=300,
                         laurel_rank=6, activation_sparsity_pattern=[0.95, 0.0, 0.95, 0.0]),
    "hunyuan_v1_dense": dict(SMALL, rope_parameters=dict(rope_type="dynamic", rope_theta=5000.0, alpha=20.0, factor=1.0)),
    "hunyuan_v1_moe": dict(SMALL, intermediate_size=36, num_experts=7, moe_topk=3),
    "gpt2": dict(vocab_size=VOCABULARY, n_embd=60, n_inner=76, n_layer=4, n_head=6, n_positions=128),
    "phimoe": dict(WITHOUT_HEAD_DIM, intermediate_size=28, num_local_experts=7, num_experts_per_tok=2,
                   router_jitter_noise=0.2, attention_bias=True, lm_head_bias=True),
    "apertus": dict(WITHOUT_HEAD_DIM, rope_parameters=dict(rope_type="default", rope_theta=5000.0)),
    "bitnet": dict(WITHOUT_HEAD_DIM, tie_word_embeddings=True),
    # As Command R+ and StableLM 2 12B have them.
    "cohere_plus": dict(WITHOUT_HEAD_DIM, logit_scale=0.25, tie_word_embeddings=True, use_qk_norm=True),
    "stablelm_12b": dict(WITHOUT_HEAD_DIM, rope_parameters=dict(rope_type="default", rope_theta=5000.0,
                                                                partial_rotary_factor=0.4),
                         qk_layernorm=True, use_parallel_residual=True),
    "llama4": dict(SMALL, intermediate_size=28, intermediate_size_mlp=76, num_local_experts=5, num_experts_per_tok=1,
                   interleave_moe_layer_step=2, use_qk_norm=True, attention_chunk_size=16, floor_scale=8,
                   attn_scale=0.4, attn_temperature_tuning=True),
    # Its text alone, beside an encoder of images that is passed over.
    "qwen3_vl": dict(text_config=dict(SMALL, rope_parameters=dict(
        rope_type="default", rope_theta=5000.0, mrope_section=[2, 2, 1], mrope_interleaved=True)), vision_config=dict(
            depth=1, hidden_size=16, intermediate_size=20, num_heads=2, out_hidden_size=48, num_position_embeddings=16,
            deepstack_visual_indexes=[0])),
}

# Recurrent layers, whose states are recorded too: what their kind's state is called.
STATES = {"nemotron_h_latent": "ssm", "falcon_mamba": "ssm", "jamba": "ssm", "kimi_linear": "recurrent",
          "minimax": "recurrent", "minimax_m1": "recurrent"}
# Of these prompts are given token by token: the library computes longer ones by chunks, whose sums of logarithms in
# float32 are further from float64 than what is tested.
STEPPED = ("nemotron_h_latent", "kimi_linear")
# model_types of models of another name
TYPES = {"cohere_plus": "cohere", "stablelm_12b": "stablelm", "llama4": "llama4_text"}
CLASSES = {"mistral4": "Mistral4ForCausalLM"}  # of text models that the library's tables name as parts of others alone
MINIMAX_M1 = {f"{theirs}_{factor}_factor": f"layernorm_{ours}_{factor}" for factor in ("alpha", "beta")
              for theirs, ours in (("full_attn", "full_attention"), ("linear_attn", "linear_attention"), ("mlp", "mlp"))}
# Of models whose code the library has under another name: that name, and what config.json has besides and instead.
PUBLISHED = {"nemotron_h_latent": ("nemotron_h", dict(model_type="nemotron_h"), {}),
             "bailing_moe": ("sarvam_moe", dict(score_function="sigmoid", moe_router_enable_expert_bias=True,
                                                use_bias=False),
                             dict(n_routed_experts="num_experts", n_shared_experts="num_shared_experts",
                                  attention_bias="use_qkv_bias")),
             "minimax_m1": ("minimax", dict(attn_type_list=[0, 1], postnorm=True, rotary_dim=10,
                                            shared_intermediate_size=0, shared_moe_mode="sigmoid"), MINIMAX_M1),
             "internlm2": ("llama", {}, dict(attention_bias="bias")),
             "mimo": ("qwen2", dict(attention_bias=True, num_nextn_predict_layers=1), {})}
INTERNLM2 = {"embed_tokens": "tok_embeddings", "input_layernorm": "attention_norm", "lm_head": "output",
             "post_attention_layernorm": "ffn_norm", "self_attn.o_proj": "attention.wo", "mlp.gate_proj": "feed_forward.w1",
             "mlp.up_proj": "feed_forward.w3", "mlp.down_proj": "feed_forward.w2"}


def model_of(family, sizes):
    config = transformers.AutoConfig.for_model(PUBLISHED.get(family, [TYPES.get(family, family)])[0], **sizes)
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    torch.manual_seed(7)
    kind = transformers.AutoModelForImageTextToText if "vision_config" in sizes else transformers.AutoModelForCausalLM
    if family in CLASSES:
        model = getattr(transformers, CLASSES[family])._from_config(config, dtype=torch.float32).eval()
    else:
        model = kind.from_config(config, dtype=torch.float32).eval()
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
    return model


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


def record(folder, family, sizes):
    model = model_of(family, sizes)
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

    into = folder / family.removesuffix("_text")
    model.save_pretrained(into)
    (into / "generation_config.json").unlink(missing_ok=True)
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
    for family in sys.argv[2:] or FAMILIES:
        record(folder, family, FAMILIES[family])


if __name__ == "__main__":
    main()
