#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes heads with random weights for the tiny models in data, and records what they compute: data/README.md says what of.

usage: make_heads.py FOLDER [FAMILY...]      all families below where none is named

Needs the packages transformers 5.24.0 and torch 2.15.0 of the Python index. The model and the head's decoder layer are
those of transformers; what goes around that layer is DeepSeek-V3's (arXiv:2412.19437, section 2.2), as the engines that
run such heads compute it: the hidden state is that after the final norm, of the model first and then of the head.
Everything is computed in float32, without a cache. Heads of EAGLE-3 (arXiv:2503.01840) are written out here, as there is
no layer of transformers like theirs. Drafters of Gemma 4 are those of transformers.
"""
import copy
import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers.masking_utils import create_causal_mask

# Names of a head's parts; {} is the number of the model's layers.
LAYER = {"layers": "model.layers.{}.", "embedding_norm": "model.layers.{}.enorm", "hidden_norm": "model.layers.{}.hnorm",
         "projection": "model.layers.{}.eh_proj", "norm": "model.layers.{}.shared_head.norm"}
APART = {"layers": "mtp.layers.0.", "embedding_norm": "mtp.pre_fc_norm_embedding",
         "hidden_norm": "mtp.pre_fc_norm_hidden", "projection": "mtp.fc", "norm": "mtp.norm"}
NEMOTRON = {"layers": "mtp.layers.", "embedding_norm": "mtp.layers.0.enorm", "hidden_norm": "mtp.layers.0.hnorm",
            "projection": "mtp.layers.0.eh_proj", "norm": "mtp.layers.1.final_layernorm"}
MIMO = {"layers": "model.mtp_layers.0.", "embedding_norm": "model.mtp_layers.0.token_layernorm",
        "hidden_norm": "model.mtp_layers.0.hidden_layernorm", "projection": "model.mtp_layers.0.input_proj",
        "norm": "model.mtp_layers.0.final_layernorm"}
FAMILIES = {"glm4_moe": LAYER, "deepseek_v3": LAYER, "qwen3_next": APART, "qwen3_5": APART, "nemotron_h_moe": NEMOTRON,
            "mimo": MIMO}


class Head(torch.nn.Module):
    def __init__(self, model, names):
        super().__init__()
        width = model.config.hidden_size
        is_nemotron = names is NEMOTRON
        self.hidden_first = names is MIMO
        # Nemotron's layers are of one mixer each: the head has one of attention and one of experts.
        self.layers = torch.nn.ModuleList(copy.deepcopy(layer) for layer in model.layers[-2 if is_nemotron else -1:])
        norm = model.norm_f if is_nemotron else model.norm
        self.embedding_norm, self.hidden_norm, self.norm = (copy.deepcopy(norm) for _ in range(3))
        self.projection = torch.nn.Linear(2 * width, width, bias=False)

    def forward(self, model, embeddings, hidden):
        """The rows after the final norm."""
        both = [self.embedding_norm(embeddings), self.hidden_norm(hidden)]
        rows = self.projection(torch.cat(both[::-1] if self.hidden_first else both, dim=-1))
        positions = torch.arange(rows.shape[1])[None].expand(rows.shape[0], -1)
        mask = create_causal_mask(config=model.config, inputs_embeds=rows, attention_mask=None, past_key_values=None,
                                  position_ids=positions)
        sections = positions[None].expand(3, -1, -1) if "qwen3_5" in model.config.model_type else positions
        turns = {"position_embeddings": model.rotary_emb(rows, sections)} if hasattr(model, "rotary_emb") else {}
        for layer in self.layers:
            rows = layer(rows, attention_mask=mask, position_ids=positions, **turns)
            rows = rows[0] if isinstance(rows, tuple) else rows
        return self.norm(rows)


def randomize(head, offset_norms):
    generator = torch.Generator().manual_seed(12)
    for name, values in [*head.named_parameters(), *head.named_buffers()]:
        noise = torch.randn(values.shape, generator=generator)
        is_norm = "norm" in name and values.dim() == 1
        scale = 1.5 / values.shape[-1] ** 0.5 if values.dim() > 1 else 0.2
        values.copy_((0.0 if offset_norms else 1.0) + 0.2 * noise if is_norm else noise * scale)


def tensors_of(head, model, names):
    """The head's parameters as checkpoints name them; experts as tensors of their own."""
    named = {}
    for name, values in [*head.named_parameters(), *head.named_buffers()]:
        part, rest = name.split(".", 1)
        if part == "layers" and len(head.layers) == 1:
            rest = rest.split(".", 1)[1]
        prefix = names[part].format(model.config.num_hidden_layers)
        named[prefix + rest if part == "layers" else f"{prefix}.{rest}"] = values.detach().clone()
    for name in [name for name in named if ".experts." in name]:
        values, base = named.pop(name), name.rsplit(".", 1)[0]
        for i, one in enumerate(values):
            if name.endswith("gate_up_proj"):
                for part, rows in zip(("gate_proj", "up_proj"), one.chunk(2)):
                    named[f"{base}.{i}.{part}.weight"] = rows.clone()
            else:
                named[f"{base}.{i}.{name.rsplit('.', 1)[1]}.weight"] = one.clone()
    return named


def config_of(folder):
    """That of the library, which has MiMo as the Qwen 2 that it is but for the head."""
    values = json.loads((folder / "config.json").read_text())
    if values["model_type"] != "mimo":
        return transformers.AutoConfig.from_pretrained(folder)
    return transformers.AutoConfig.for_model("qwen2", **{name: value for name, value in values.items()
                                                         if name != "model_type"})


@torch.no_grad()
def record(folder, family, names):
    into = folder / family
    config = config_of(into)
    config._attn_implementation = config._experts_implementation = "eager"
    whole = transformers.AutoModelForCausalLM.from_pretrained(into, config=config, dtype=torch.float32).eval()
    model = whole.model
    head = Head(model, names).eval()
    randomize(head, offset_norms="qwen3" in family)
    embed = model.get_input_embeddings()
    prompt = load_file(into / "golden.safetensors")["input_ids"].long()
    hidden = model(input_ids=prompt, use_cache=False).last_hidden_state[:, :-1]
    embeddings = embed(prompt[:, 1:])
    rows = head(model, embeddings, hidden)
    logits = whole.lm_head(rows)
    first = logits[:, -1:].argmax(-1)
    # The next guess follows from the head's own row and from the first guess.
    rows = head(model, torch.cat([embeddings, embed(first)], 1), torch.cat([hidden, rows[:, -1:]], 1))
    second = whole.lm_head(rows[:, -1:])
    guesses = torch.cat([first, second.argmax(-1)], 1)
    save_file(tensors_of(head, model, names), into / "mtp.safetensors")
    save_file({"logits": logits.contiguous(), "guesses": guesses}, into / "mtp.golden.safetensors")
    margins = [float((best.values[:, 0] - best.values[:, 1]).min()) for best in (logits[:, -1].topk(2), second[:, 0].topk(2))]
    print(f"{family}: least margins of guesses {margins}")


# Sizes of a head for a model of the same width, and the layers whose inputs it reads.
EAGLE = {"llama": dict(heads=6, kv_heads=2, head_dim=8, inner=52, places=[1, 0], before_residual=False,
                      before_projection=False),
         "gpt_oss": dict(heads=4, kv_heads=2, head_dim=12, inner=44, places=[0, 1, 2], before_residual=True,
                        before_projection=True)}
DRAFTS, THETA, EPSILON = 90, 5000.0, 1e-5


def rms(rows, weight):
    return rows * torch.rsqrt(rows.pow(2).mean(-1, keepdim=True) + EPSILON) * weight


def turned(rows):
    """RoPE of [batch, positions, heads, size], halves of a head turned together."""
    half = rows.shape[-1] // 2
    angles = torch.arange(rows.shape[1])[:, None] * THETA ** (-torch.arange(half) / half)
    cos, sin = angles.cos()[None, :, None], angles.sin()[None, :, None]
    a, b = rows[..., :half], rows[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def eagle_rows(weights, sizes, embeddings, fused):
    """The residual stream after the layer."""
    def of(name):
        return weights["midlayer." + name + ".weight"]

    normed = rms(fused, of("hidden_norm"))
    stream = normed if sizes["before_residual"] else fused
    both = torch.cat([rms(embeddings, of("input_layernorm")), normed], -1)
    batch, count, _ = both.shape
    q, k, v = (torch.nn.functional.linear(both, of(f"self_attn.{part}_proj")).view(batch, count, -1, sizes["head_dim"])
               for part in "qkv")
    repeats = sizes["heads"] // sizes["kv_heads"]
    k, v = (rows.repeat_interleave(repeats, 2) for rows in (turned(k), v))
    scores = torch.einsum("bqhd,bkhd->bhqk", turned(q), k) / sizes["head_dim"] ** 0.5
    scores = scores.masked_fill(torch.ones(count, count, dtype=torch.bool).triu(1), -torch.inf).softmax(-1)
    mixed = torch.einsum("bhqk,bkhd->bqhd", scores, v).reshape(batch, count, -1)
    stream = stream + torch.nn.functional.linear(mixed, of("self_attn.o_proj"))
    inner = rms(stream, of("post_attention_layernorm"))
    gate, up = (torch.nn.functional.linear(inner, of(f"mlp.{part}_proj")) for part in ("gate", "up"))
    return stream + torch.nn.functional.linear(torch.nn.functional.silu(gate) * up, of("mlp.down_proj"))


@torch.no_grad()
def record_eagle(folder, family, sizes):
    into = folder / family
    config = transformers.AutoConfig.from_pretrained(into)
    config._attn_implementation = "eager"
    whole = transformers.AutoModelForCausalLM.from_pretrained(into, config=config, dtype=torch.float32).eval()
    width, vocabulary = config.hidden_size, config.vocab_size
    q, kv = sizes["heads"] * sizes["head_dim"], sizes["kv_heads"] * sizes["head_dim"]
    shapes = {"fc": (width, len(sizes["places"]) * width), "norm": (width,), "lm_head": (DRAFTS, width),
              "midlayer.hidden_norm": (width,), "midlayer.input_layernorm": (width,),
              "midlayer.post_attention_layernorm": (width,), "midlayer.self_attn.q_proj": (q, 2 * width),
              "midlayer.self_attn.k_proj": (kv, 2 * width), "midlayer.self_attn.v_proj": (kv, 2 * width),
              "midlayer.self_attn.o_proj": (width, q), "midlayer.mlp.gate_proj": (sizes["inner"], width),
              "midlayer.mlp.up_proj": (sizes["inner"], width), "midlayer.mlp.down_proj": (width, sizes["inner"])}
    if sizes["before_projection"]:
        shapes["input_norm"] = (len(sizes["places"]) * width,)
    generator = torch.Generator().manual_seed(14)
    weights = {}
    for name, shape in shapes.items():
        noise = torch.randn(shape, generator=generator)
        weights[name + ".weight"] = 1.0 + 0.2 * noise if len(shape) == 1 else noise * 1.5 / shape[-1] ** 0.5
    ids = torch.randperm(vocabulary, generator=generator)[:DRAFTS].sort().values

    def logits_of(rows):
        logits = torch.full((*rows.shape[:-1], vocabulary), -torch.inf)
        logits[..., ids] = torch.nn.functional.linear(rms(rows, weights["norm.weight"]), weights["lm_head.weight"])
        return logits

    prompt = load_file(into / "golden.safetensors")["input_ids"].long()
    states = whole.model(input_ids=prompt, use_cache=False, output_hidden_states=True).hidden_states
    read = torch.cat([states[i][:, :-1] for i in sizes["places"]], -1)
    if sizes["before_projection"]:
        read = rms(read, weights["input_norm.weight"])
    fused = torch.nn.functional.linear(read, weights["fc.weight"])
    embeddings = whole.model.embed_tokens(prompt[:, 1:])
    rows = eagle_rows(weights, sizes, embeddings, fused)
    logits = logits_of(rows)
    first = logits[:, -1:].argmax(-1)
    embeddings = torch.cat([embeddings, whole.model.embed_tokens(first)], 1)
    second = logits_of(eagle_rows(weights, sizes, embeddings, torch.cat([fused, rows[:, -1:]], 1))[:, -1:])
    guesses = torch.cat([first, second.argmax(-1)], 1)

    tensors = {**weights, "d2t": ids - torch.arange(DRAFTS), "t2d": torch.isin(torch.arange(vocabulary), ids)}
    of_head = dict(architectures=["LlamaForCausalLMEagle3"], model_type="llama", hidden_size=width, vocab_size=vocabulary,
                   draft_vocab_size=DRAFTS, num_hidden_layers=1, num_attention_heads=sizes["heads"], hidden_act="silu",
                   num_key_value_heads=sizes["kv_heads"], head_dim=sizes["head_dim"], intermediate_size=sizes["inner"],
                   rms_norm_eps=EPSILON, rope_theta=THETA, max_position_embeddings=256, tie_word_embeddings=False,
                   norm_before_residual=sizes["before_residual"], norm_before_fc=sizes["before_projection"],
                   eagle_config=dict(eagle_aux_hidden_state_layer_ids=sizes["places"], use_aux_hidden_state=True))
    target = into / "eagle3"
    target.mkdir(exist_ok=True)
    (target / "config.json").write_text(json.dumps(of_head, indent=2) + "\n")
    save_file(tensors, target / "model.safetensors")
    save_file({"logits": logits.contiguous(), "guesses": guesses}, target / "golden.safetensors")
    margins = [float((best.values[:, 0] - best.values[:, 1]).min()) for best in (logits[:, -1].topk(2), second[:, 0].topk(2))]
    print(f"{family}, EAGLE-3: least margins of guesses {margins}")


# Sizes of a drafter of Gemma 4 for the model, and of the groups of its tokens.
ASSISTANT = {"gemma4": dict(width=20, heads=4, layers=4, inner=36, groups=12, chosen=5)}


@torch.no_grad()
def record_assistant(folder, family, sizes):
    into = folder / family
    whole = transformers.AutoModelForCausalLM.from_pretrained(into, dtype=torch.float32,
                                                              attn_implementation="eager").eval()
    config, said = whole.config, json.loads((into / "config.json").read_text())
    text = transformers.Gemma4TextConfig(
        **{name: said[name] for name in ("vocab_size", "head_dim", "global_head_dim", "num_key_value_heads",
                                                    "sliding_window", "rope_parameters", "max_position_embeddings")},
        hidden_size=sizes["width"], intermediate_size=sizes["inner"], num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"], num_kv_shared_layers=sizes["layers"], hidden_size_per_layer_input=0,
        layer_types=["sliding_attention"] * (sizes["layers"] - 1) + ["full_attention"], vocab_size_per_layer_input=0,
        use_double_wide_mlp=False, tie_word_embeddings=True)
    head = transformers.Gemma4AssistantForCausalLM._from_config(
        transformers.Gemma4AssistantConfig(text_config=text, backbone_hidden_size=config.hidden_size,
                                           use_ordered_embeddings=True, num_centroids=sizes["groups"],
                                           centroid_intermediate_top_k=sizes["chosen"]),
        attn_implementation="eager").eval()
    fixed = {name: values.clone() for name, values in head.named_buffers()}  # frequencies of RoPE, say
    randomize(head, offset_norms=False)
    for name, values in head.named_buffers():
        values.copy_(fixed[name])
    generator = torch.Generator().manual_seed(15)
    for layer in head.model.layers:
        layer.layer_scalar.fill_(0.8)
    order = torch.randperm(config.vocab_size, generator=generator)
    head.masked_embedding.token_ordering.copy_(order)

    prompt = load_file(into / "golden.safetensors")["input_ids"].long()
    known = whole.model(input_ids=prompt[:, :-1], use_cache=False, return_shared_kv_states=True)
    # The model's caches keep a window without the token that is computed next.
    begins = {"full_attention": 0, "sliding_attention": -(config.sliding_window - 1)}
    shared = {kind: tuple(states[:, :, begins[kind]:] for states in known.shared_kv_states[kind]) for kind in begins}

    def guesses_from(of_output):
        row, token, logits = known.last_hidden_state[:, -1:], prompt[:, -1:], []
        guesses = []
        for _ in range(3):
            out = head(inputs_embeds=torch.cat([whole.model.embed_tokens(token), row], -1), shared_kv_states=shared,
                       position_ids=torch.full((len(prompt), 1), prompt.shape[1] - 1))
            logits.append(of_output(out))
            token, row = logits[-1].argmax(-1), out.last_hidden_state
            guesses.append(token)
        margins = [float((best[..., 0] - best[..., 1]).min()) for best in (one.topk(2).values for one in logits)]
        return logits[0], torch.cat(guesses, 1), margins

    masked, guesses, margins = guesses_from(lambda out: out.logits)
    head.config.use_ordered_embeddings = False
    every, every_guess, every_margins = guesses_from(lambda out: out.logits)
    head.config.use_ordered_embeddings = True
    masked = masked.where(masked > masked.min(-1, keepdim=True).values, -torch.inf)

    target = into / "assistant"
    head.save_pretrained(target)
    (target / "generation_config.json").unlink(missing_ok=True)
    save_file({"logits": masked.contiguous(), "guesses": guesses, "all_logits": every.contiguous(),
               "all_guesses": every_guess}, target / "golden.safetensors")
    print(f"{family}, its drafter: least margins of guesses {margins} {every_margins}")


def main():
    folder = pathlib.Path(sys.argv[1])
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    for family in sys.argv[2:] or [*FAMILIES, *EAGLE, *ASSISTANT]:
        if family in FAMILIES:
            record(folder, family, FAMILIES[family])
        elif family in EAGLE:
            record_eagle(folder, family, EAGLE[family])
        else:
            record_assistant(folder, family, ASSISTANT[family])


if __name__ == "__main__":
    main()
