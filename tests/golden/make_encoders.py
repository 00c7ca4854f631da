#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tiny encoders and rerankers with random weights and records what the originals compute: data/README.md says what.

usage: make_encoders.py FOLDER [FAMILY...]      all families below where none is named

Needs the packages transformers 5.24.0, sentence-transformers 6.2.0 and torch 2.15.0 of the Python index. Everything is
computed in float32 on a processor, each text alone and without padding.
"""
import json
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.cross_encoder.modules import LogitScore
from sentence_transformers.sentence_transformer.modules import Pooling

LENGTHS, VOCABULARY = (1, 5, 45, 140), 96
# Sizes that no two dimensions share.
SMALL = dict(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=44, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=160, pad_token_id=0)
# Of each family: sizes, the class beside AutoModel, the modules after it.
MEAN, CLS, LAST, WEIGHTED = "mean", "cls", "lasttoken", "weightedmean"
FAMILIES = {
    "bert": (dict(SMALL, type_vocab_size=2), None, [Pooling(32, MEAN), Normalize()]),
    "bert_reranker": (dict(SMALL, type_vocab_size=2, num_labels=1), "AutoModelForSequenceClassification", None),
    "roberta": (dict(SMALL, type_vocab_size=1, pad_token_id=1), None, [Pooling(32, CLS)]),
    "camembert": (dict(SMALL, type_vocab_size=1, pad_token_id=1), None, [Pooling(32, MEAN)]),
    "xlm-roberta": (dict(SMALL, type_vocab_size=1, pad_token_id=1), None,
                    [Pooling(32, CLS), Dense(32, 24, bias=True, activation_function=torch.nn.Tanh()), Normalize()]),
    "xlm-roberta_reranker": (dict(SMALL, type_vocab_size=1, pad_token_id=1, num_labels=1),
                             "AutoModelForSequenceClassification", None),
    "modernbert": (dict(SMALL, num_hidden_layers=4, global_attn_every_n_layers=3, local_attention=16), None,
                   [Pooling(32, MEAN)]),
    "modernbert_reranker": (dict(SMALL, num_hidden_layers=4, global_attn_every_n_layers=3, local_attention=16,
                                 num_labels=1, classifier_pooling="mean"), "AutoModelForSequenceClassification", None),
    "nomic_bert": (dict(SMALL, type_vocab_size=2), None, [Pooling(32, MEAN), Normalize()]),
    "gte": (dict(SMALL, type_vocab_size=1, rope_parameters=dict(rope_type="default", rope_theta=5000.0)), None,
            [Pooling(32, CLS), Normalize()]),
    # GTE as its authors wrote config.json.
    "new": (dict(SMALL, type_vocab_size=1, rope_parameters=dict(rope_type="default", rope_theta=5000.0)), None,
            [Pooling(32, CLS), Normalize()]),
    "distilbert": (dict(vocab_size=VOCABULARY, dim=32, hidden_dim=44, n_layers=2, n_heads=4, pad_token_id=0,
                        max_position_embeddings=160), None, [Pooling(32, MEAN)]),
    "eurobert": (dict(SMALL, num_key_value_heads=2), None, [Pooling(32, WEIGHTED)]),
    "gemma3_text": (dict(SMALL, num_hidden_layers=3, num_key_value_heads=2, head_dim=12, sliding_window=16,
                         query_pre_attn_scalar=12, use_bidirectional_attention=True,
                         layer_types=["sliding_attention", "full_attention", "sliding_attention"]), None,
                    [Pooling(32, MEAN), Dense(32, 36, bias=False, activation_function=torch.nn.Identity()),
                     Dense(36, 32, bias=False, activation_function=torch.nn.Identity()), Normalize()]),
    "qwen3": (dict(SMALL, num_key_value_heads=2, head_dim=12), None, [Pooling(32, LAST), Normalize()]),
    "qwen3_reranker": (dict(SMALL, num_key_value_heads=2, head_dim=12, tie_word_embeddings=True),
                       "AutoModelForCausalLM", LogitScore(true_token_id=17, false_token_id=11)),
    "mpnet": (dict(SMALL, pad_token_id=1, relative_attention_num_buckets=32), None, [Pooling(32, MEAN), Normalize()]),
    "t5": (dict(vocab_size=VOCABULARY, d_model=32, d_kv=12, d_ff=44, num_layers=2, num_heads=4,
                relative_attention_num_buckets=16, relative_attention_max_distance=64, feed_forward_proj="gated-gelu"),
           "T5EncoderModel", [Pooling(32, MEAN), Dense(32, 24, bias=False, activation_function=torch.nn.Identity()),
                              Normalize()]),
    "t5_relu": (dict(vocab_size=VOCABULARY, d_model=32, d_kv=12, d_ff=44, num_layers=2, num_heads=4,
                     relative_attention_num_buckets=16, relative_attention_max_distance=128, feed_forward_proj="relu"),
                "T5EncoderModel", [Pooling(32, MEAN)]),
    "jina_bert": (dict(SMALL, type_vocab_size=2), "JinaBert", [Pooling(32, MEAN), Normalize()]),
    # Of jina-embeddings-v2-base-code.
    "jina_bert_code": (dict(SMALL, type_vocab_size=2), "JinaCode", [Pooling(32, MEAN), Normalize()]),
    "jina_embeddings_v3": (dict(SMALL, type_vocab_size=1, pad_token_id=1), "JinaV3", [Pooling(32, MEAN), Normalize()]),
    "nomic_moe": (dict(SMALL, type_vocab_size=1, num_hidden_layers=3), "NomicMoe", [Pooling(32, MEAN), Normalize()]),
    # GTE as its authors stretch it.
    "new_ntk": (dict(SMALL, type_vocab_size=1, rope_parameters=dict(rope_type="default", rope_theta=5000.0)), None,
                [Pooling(32, CLS), Normalize()]),
    # The heads of BGE-M3 are in files of their own.
    "bge_m3": (dict(SMALL, type_vocab_size=1, pad_token_id=1), None, [Pooling(32, CLS), Normalize()]),
}
TASKS, RANK, ALPHA = ("retrieval.query", "retrieval.passage", "text-matching"), 3, 2


class JinaBert(torch.nn.Module):
    """JinaBERT v2 by its formulas (arXiv:2310.19923): BERT with a bias of distances, and gates."""

    def __init__(self, config):
        super().__init__()
        self.bert = transformers.BertModel(config, add_pooling_layer=False)
        width, between = config.hidden_size, config.intermediate_size
        for layer in self.bert.encoder.layer:
            norm = layer.output.LayerNorm
            del layer.intermediate, layer.output
            layer.mlp = torch.nn.ModuleDict(dict(gated_layers=torch.nn.Linear(width, 2 * between, bias=False),
                                                 wo=torch.nn.Linear(between, width), layernorm=norm))
        del self.bert.embeddings.position_embeddings

    def forward(self, input_ids, token_type_ids):
        embeddings, heads = self.bert.embeddings, self.bert.config.num_attention_heads
        rows = embeddings.word_embeddings(input_ids) + embeddings.token_type_embeddings(token_type_ids)
        rows = embeddings.LayerNorm(rows)
        positions = torch.arange(input_ids.shape[1])
        slopes = torch.tensor([2.0 ** (-8.0 * (i + 1) / heads) for i in range(heads)])  # of a power of two
        bias = -(positions[:, None] - positions).abs() * slopes[:, None, None]
        for layer in self.bert.encoder.layer:
            rows = self.layer(layer, rows, bias, heads)
        return transformers.modeling_outputs.BaseModelOutput(last_hidden_state=rows)

    def layer(self, layer, rows, bias, heads):
        attention = layer.attention
        split = lambda values: values.unflatten(-1, (heads, -1)).transpose(1, 2)
        queries, keys, values = (split(part(rows)) for part in (attention.self.query, attention.self.key,
                                                                attention.self.value))
        scores = queries @ keys.transpose(-1, -2) / queries.shape[-1] ** 0.5 + bias
        mixed = (scores.softmax(-1) @ values).transpose(1, 2).flatten(2)
        rows = attention.output.LayerNorm(rows + attention.output.dense(mixed))
        gate, up = layer.mlp["gated_layers"](rows).chunk(2, -1)
        return layer.mlp["layernorm"](rows + layer.mlp["wo"](torch.nn.functional.gelu(gate) * up))

    def save_pretrained(self, into):
        into.mkdir(parents=True, exist_ok=True)
        save_file({name: values.contiguous() for name, values in self.bert.state_dict().items()
                   if not name.endswith("_ids")}, into / "model.safetensors")
        config = dict(self.bert.config.to_diff_dict(), position_embedding_type="alibi", feed_forward_type="geglu")
        (into / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


class JinaCode(JinaBert):
    """JinaBERT v2 for code (https://huggingface.co/jinaai/jina-bert-v2-qk-post-norm): whole queries and keys are
    normalised, the sum of attention and stream too, and once more with the stream added; gates come second."""

    def __init__(self, config):
        super().__init__(config)
        width, between = config.hidden_size, config.intermediate_size
        for layer in self.bert.encoder.layer:
            norm = lambda: torch.nn.LayerNorm(width, eps=config.layer_norm_eps)
            layer.mlp = torch.nn.ModuleDict(dict(up_gated_layer=torch.nn.Linear(width, 2 * between, bias=False),
                                                 down_layer=torch.nn.Linear(between, width)))
            layer.layer_norm_1, layer.layer_norm_2 = norm(), norm()
            layer.attention.self.layer_norm_q, layer.attention.self.layer_norm_k = norm(), norm()

    def layer(self, layer, rows, bias, heads):
        attention, mlp = layer.attention, layer.mlp
        split = lambda values: values.unflatten(-1, (heads, -1)).transpose(1, 2)
        queries = split(attention.self.layer_norm_q(attention.self.query(rows)))
        keys = split(attention.self.layer_norm_k(attention.self.key(rows)))
        scores = queries @ keys.transpose(-1, -2) / queries.shape[-1] ** 0.5 + bias
        mixed = (scores.softmax(-1) @ split(attention.self.value(rows))).transpose(1, 2).flatten(2)
        mixed = attention.output.LayerNorm(rows + attention.output.dense(mixed))
        rows = layer.layer_norm_1(rows + mixed)
        up, gate = mlp["up_gated_layer"](rows).chunk(2, -1)
        return layer.layer_norm_2(rows + mlp["down_layer"](up * torch.nn.functional.gelu(gate)))

    def save_pretrained(self, into):
        super().save_pretrained(into)
        config = json.loads((into / "config.json").read_text())
        config["auto_map"] = dict(AutoModel="jinaai/jina-bert-v2-qk-post-norm--modeling_bert.JinaBertModel")
        (into / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


class JinaV3(torch.nn.Module):
    """transformers' model with the adapters of its authors, whose names it is saved under
    (https://huggingface.co/jinaai/xlm-roberta-flash-implementation, modeling_lora.py)."""

    def __init__(self, sizes):
        super().__init__()
        config = transformers.AutoConfig.for_model("jina_embeddings_v3", **sizes)
        config._attn_implementation = "eager"
        self.model = transformers.JinaEmbeddingsV3Model(config, add_pooling_layer=False)
        self.pairs = torch.nn.ParameterDict()
        for name, values in self.model.named_parameters():
            if values.dim() < 2:
                continue
            rows, cols = values.shape
            is_table = "embeddings" in name
            shapes = ((rows, RANK), (RANK, cols)) if is_table else ((RANK, cols), (rows, RANK))
            if ".q_proj." in name:  # one pair for all three
                shapes = ((RANK, cols), (3 * rows, RANK))
            if ".k_proj." in name or ".v_proj." in name:
                continue
            for half, shape in zip("AB", shapes):
                self.pairs[f"{name}_{half}".replace(".", "/")] = torch.nn.Parameter(torch.zeros(len(TASKS), *shape))

    def forward(self, input_ids, token_type_ids=None):
        return self.model(input_ids=input_ids)

    def of_task(self, task):
        """The model with the products of a task added to its weights."""
        weights = {}
        for name, values in self.model.named_parameters():
            pair = [self.pairs.get(f"{name}_{half}".replace(".", "/").replace("k_proj", "q_proj").replace(
                "v_proj", "q_proj")) for half in "AB"]
            if pair[0] is None:
                continue
            a, b = (values[task] for values in pair)
            added = a @ b if "embeddings" in name else b @ a
            third = [f".{letter}_proj." in name for letter in "qkv"]
            if any(third):
                added = added.chunk(3)[third.index(True)]
            weights[name] = values + added * (ALPHA / RANK)
        return lambda **inputs: torch.func.functional_call(self.model, weights, kwargs=inputs)

    def save_pretrained(self, into):
        into.mkdir(parents=True, exist_ok=True)
        own = self.model.state_dict()
        tensors = {}
        for name, values in own.items():
            theirs = "roberta." + name.replace("embeddings.LayerNorm", "emb_ln")
            for ours, other in (("roberta.layers.", "roberta.encoder.layers."), ("self_attn.q_proj", "mixer.Wqkv"),
                                ("self_attn.o_proj", "mixer.out_proj"), ("post_attention_layernorm", "norm1"),
                                ("post_mlp_layernorm", "norm2")):
                theirs = theirs.replace(ours, other)
            if ".k_proj." in name or ".v_proj." in name:
                continue
            if ".q_proj." in name:
                values = torch.cat([own[name.replace("q_proj", part)] for part in ("q_proj", "k_proj", "v_proj")])
            pair = [self.pairs.get(f"{name}_{half}".replace(".", "/")) for half in "AB"]
            if pair[0] is None:
                tensors[theirs] = values.contiguous()
                continue
            module = theirs.removesuffix(".weight") + ".parametrizations.weight."
            tensors[module + "original"] = values.contiguous()
            for half, one in zip("AB", pair):
                tensors[f"{module}0.lora_{half}"] = one.detach().contiguous()
        save_file(tensors, into / "model.safetensors")
        config = {name: value for name, value in self.model.config.to_dict().items() if name != "rope_parameters"}
        config.update(model_type="xlm-roberta", architectures=["XLMRobertaModel"], position_embedding_type="rotary",
                      rotary_emb_base=20000.0, lora_adaptations=TASKS, lora_rank=RANK, lora_alpha=ALPHA,
                      lora_dropout_p=0.0, lora_main_params_trainable=False, load_trained_adapters=True,
                      task_instructions={task: f"{task}: " for task in TASKS}, truncate_dim=None,
                      matryoshka_dimensions=[8, 16, 32], use_flash_attn=True, use_reentrant=False)
        (into / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


class NomicMoe(torch.nn.Module):
    """Nomic Embed v2 by its formulas (arXiv:2502.07972): feed-forward layers without gates, and experts in every second
    layer, whose weights stay those of the softmax of all."""

    EXPERTS, CHOSEN = 5, 2

    def __init__(self, sizes):
        super().__init__()
        self.sizes, width, between = sizes, sizes["hidden_size"], sizes["intermediate_size"]
        linear, norm = torch.nn.Linear, lambda: torch.nn.LayerNorm(width, eps=1e-5)
        self.embeddings = torch.nn.ModuleDict(dict(word_embeddings=torch.nn.Embedding(VOCABULARY, width),
                                                   token_type_embeddings=torch.nn.Embedding(1, width)))
        self.emb_ln = norm()
        self.encoder = torch.nn.ModuleDict(dict(layers=torch.nn.ModuleList()))
        for i in range(sizes["num_hidden_layers"]):
            layer = torch.nn.ModuleDict(dict(norm1=norm(), norm2=norm(), mlp=torch.nn.Module()))
            layer["attn"] = torch.nn.ModuleDict(dict(Wqkv=linear(width, 3 * width), out_proj=linear(width, width)))
            if i % 2 == 1:
                layer.mlp.router = torch.nn.ModuleDict(dict(layer=linear(width, self.EXPERTS, bias=False)))
                layer.mlp.experts = torch.nn.Module()
                layer.mlp.experts.mlp = torch.nn.Module()
                for name in ("w1", "w2"):
                    weights = torch.nn.Parameter(torch.zeros(self.EXPERTS * between, width))
                    layer.mlp.experts.mlp.register_parameter(name, weights)
                layer.mlp.experts.bias = torch.nn.Parameter(torch.zeros(width))
            else:
                layer.mlp.fc1, layer.mlp.fc2 = linear(width, between), linear(between, width)
            self.encoder["layers"].append(layer)

    def rotated(self, values):
        half = values.shape[-1] // 2
        angles = torch.arange(values.shape[-2])[:, None] / 10000.0 ** (torch.arange(half) / half)
        first, second = values.chunk(2, -1)
        return torch.cat([first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()], -1)

    def of_experts(self, mlp, rows):
        best, chosen = mlp.router["layer"](rows).softmax(-1).topk(self.CHOSEN, -1)
        first = mlp.experts.mlp.w1.unflatten(0, (self.EXPERTS, -1))
        second = mlp.experts.mlp.w2.unflatten(0, (self.EXPERTS, -1))
        between = torch.nn.functional.gelu(torch.einsum("btc,ehc->bteh", rows, first))
        every = torch.einsum("bteh,ehc->btec", between, second)
        weights = torch.zeros(*rows.shape[:2], self.EXPERTS).scatter(-1, chosen, best)
        return (every * weights[..., None]).sum(2) + mlp.experts.bias

    def forward(self, input_ids):
        heads = self.sizes["num_attention_heads"]
        tables = self.embeddings
        rows = self.emb_ln(tables["word_embeddings"](input_ids) + tables["token_type_embeddings"].weight[0])
        for layer in self.encoder["layers"]:
            split = lambda values: values.unflatten(-1, (heads, -1)).transpose(1, 2)
            queries, keys, values = (split(part) for part in layer["attn"]["Wqkv"](rows).chunk(3, -1))
            scores = self.rotated(queries) @ self.rotated(keys).transpose(-1, -2) / queries.shape[-1] ** 0.5
            mixed = (scores.softmax(-1) @ values).transpose(1, 2).flatten(2)
            rows = layer["norm1"](rows + layer["attn"]["out_proj"](mixed))
            mlp = layer["mlp"]
            has_experts = hasattr(mlp, "experts")
            given = self.of_experts(mlp, rows) if has_experts else mlp.fc2(torch.nn.functional.gelu(mlp.fc1(rows)))
            rows = layer["norm2"](rows + given)
        return transformers.modeling_outputs.BaseModelOutput(last_hidden_state=rows)

    def save_pretrained(self, into):
        into.mkdir(parents=True, exist_ok=True)
        save_file({name: values.contiguous() for name, values in self.state_dict().items()}, into / "model.safetensors")
        sizes = self.sizes
        config = dict(model_type="nomic_bert", architectures=["NomicBertModel"], activation_function="gelu",
                      n_embd=sizes["hidden_size"], n_inner=sizes["intermediate_size"], vocab_size=VOCABULARY,
                      n_head=sizes["num_attention_heads"], n_layer=sizes["num_hidden_layers"], n_positions=160,
                      type_vocab_size=1, layer_norm_epsilon=1e-5, rotary_emb_base=10000, rotary_emb_fraction=1.0,
                      rotary_emb_interleaved=False, rotary_scaling_factor=None, rotary_emb_scale_base=None,
                      qkv_proj_bias=True, mlp_fc1_bias=True, mlp_fc2_bias=True, prenorm=False, causal=False,
                      moe_every_n_layers=2, num_experts=self.EXPERTS, moe_top_k=self.CHOSEN, ffn_div=1,
                      moe_normalize_expert_weights=False, num_shared_experts=0, expert_choice_router=False,
                      moe_impl="megablocks", moe_resid_pdrop=0.0, router_aux_loss_coef=0.1, add_pooling_layer=False,
                      max_trained_positions=2048, pad_token_id=1, use_rms_norm=None, parallel_block=False,
                      parallel_block_tied_norm=False, scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False)
        (into / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


OWN = {"JinaBert": JinaBert, "JinaCode": JinaCode, "JinaV3": JinaV3, "NomicMoe": NomicMoe}
NTK = 8.0  # the factor of "new_ntk"


def model_of(family, sizes, kind):
    names = {"new": "gte", "new_ntk": "gte", "t5_relu": "t5", "bge_m3": "xlm-roberta", "jina_bert_code": "bert"}
    name = names.get(family, family.replace("_reranker", "").replace("jina_", ""))
    is_whole = kind in ("JinaV3", "NomicMoe")  # which make their configuration themselves
    config = sizes if is_whole else transformers.AutoConfig.for_model(name, **sizes)
    if not is_whole:
        config._attn_implementation = "eager"
    torch.manual_seed(7)
    if kind in OWN:
        model = OWN[kind](config).eval()
    else:
        kind = getattr(transformers, kind or "AutoModel")
        make = kind.from_config if hasattr(kind, "from_config") else kind._from_config
        model = make(config, dtype=torch.float32).eval()
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, values in model.named_parameters():
            noise = torch.randn(values.shape, generator=generator)
            is_norm = "norm" in name.lower() and values.dim() == 1 and not name.endswith("bias")
            scale = 1.5 / values.shape[-1] ** 0.5 if values.dim() > 1 else 0.2
            is_table = "embed" in name or name.startswith("shared") or "relative_attention" in name
            values.copy_(1.0 + 0.2 * noise if is_norm else noise * (1.0 if is_table else scale))
    if family == "new_ntk":  # as NTKScalingRotaryEmbedding of https://huggingface.co/Alibaba-NLP/new-impl computes it
        dim = sizes["hidden_size"] // sizes["num_attention_heads"]
        rotary = next(module for module in model.modules() if hasattr(module, "inv_freq"))
        exponents = torch.arange(0, dim, 2).float() / dim
        rotary.inv_freq.copy_(1.0 / (5000.0 * NTK) ** exponents / NTK ** (2 / dim))
    return model


@torch.no_grad()
def computed(model, modules, ids, types):
    """Rows and embedding of one text by the originals, or the score of a pair."""
    more = {} if types is None else dict(token_type_ids=types)
    if isinstance(modules, LogitScore):
        return dict(scores=modules(dict(causal_logits=model(input_ids=ids).logits))["scores"][0])
    if modules is None:
        return dict(scores=model(input_ids=ids, **more).logits[0])
    hidden = model(input_ids=ids, **more).last_hidden_state
    features = dict(token_embeddings=hidden, attention_mask=torch.ones_like(ids))
    for module in modules:
        features = module(features)
    return dict(hidden=hidden[0], embedding=features["sentence_embedding"][0])


def token_heads(into):
    """BGE-M3's heads, saved as published (https://github.com/FlagOpen/FlagEmbedding, m3/modeling.py)."""
    generator = torch.Generator().manual_seed(5)
    heads = {}
    for name, outputs in (("sparse_linear", 1), ("colbert_linear", 20)):
        head = torch.nn.Linear(32, outputs).half()
        for values in head.parameters():
            values.data.copy_(torch.randn(values.shape, generator=generator) / 32 ** 0.5)
        torch.save(head.state_dict(), into / f"{name}.pt")
        heads[name] = head.float()
    return heads


@torch.no_grad()
def of_tokens(heads, ids, hidden):
    """Weights of the ids of a text, 0 for those that it has none of, and the vectors of its tokens."""
    weights = torch.relu(heads["sparse_linear"](hidden))[:, 0]
    largest = torch.zeros(VOCABULARY)
    for token, weight in zip(ids.tolist(), weights.tolist()):
        if token > 3:  # <s>, <pad>, </s>, <unk>
            largest[token] = max(float(largest[token]), weight)
    return dict(sparse=largest, tokens=torch.nn.functional.normalize(heads["colbert_linear"](hidden[1:]), dim=-1))


def save_modules(into, modules):
    listed = [dict(idx=0, name="0", path="", type="sentence_transformers.models.Transformer")]
    for i, module in enumerate(modules, 1):
        name = type(module).__name__
        path = f"{i}_{name}"
        (into / path).mkdir(exist_ok=True)
        module.save(str(into / path))
        listed.append(dict(idx=i, name=str(i), path=path, type=f"sentence_transformers.models.{name}"))
    (into / "modules.json").write_text(json.dumps(listed, indent=1) + "\n")


def record(folder, family, sizes, kind, modules):
    model = model_of(family, sizes, kind)
    generator = torch.Generator().manual_seed(3)
    for module in modules if isinstance(modules, list) else []:
        for values in module.parameters():
            values.data.copy_(torch.randn(values.shape, generator=generator) / values.shape[-1] ** 0.5)
    tensors = {}
    into = folder / family
    into.mkdir(parents=True, exist_ok=True)
    heads = token_heads(into) if family == "bge_m3" else None
    for i, length in enumerate(LENGTHS):
        ids = torch.randint(3, VOCABULARY, (1, length), generator=generator)
        types = (torch.arange(length)[None] >= length // 2).long() if sizes.get("type_vocab_size") == 2 else None
        tensors[f"{i}.input_ids"] = ids[0]
        if types is not None:
            tensors[f"{i}.types"] = types[0]
        for name, values in computed(model, modules, ids, types).items():
            tensors[f"{i}.{name}"] = values.contiguous()
        for task, name in enumerate(TASKS if family == "jina_embeddings_v3" else ()):
            tensors[f"{i}.{name}"] = computed(model.of_task(task), modules, ids, types)["embedding"].contiguous()
        if heads is not None:
            for name, values in of_tokens(heads, ids[0], tensors[f"{i}.hidden"]).items():
                tensors[f"{i}.{name}"] = values.contiguous()
    model.save_pretrained(into)
    (into / "generation_config.json").unlink(missing_ok=True)
    if family.startswith("new"):
        config = json.loads((into / "config.json").read_text())
        rope = config.pop("rope_parameters")["rope_theta"]
        scaling = dict(type="ntk", factor=NTK) if family == "new_ntk" else None
        config.update(model_type="new", architectures=["NewModel"], rope_theta=rope, rope_scaling=scaling, pack_qkv=True,
                      position_embedding_type="rope", layer_norm_type="layer_norm", unpad_inputs=False,
                      use_memory_efficient_attention=False, logn_attention_scale=False, logn_attention_clip1=False)
        (into / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    if modules is not None:
        save_modules(into, modules if isinstance(modules, list) else [modules])
    save_file(tensors, into / "golden.safetensors")
    print(family, sum(one.stat().st_size for one in into.rglob("*") if one.is_file()))


def main():
    folder = pathlib.Path(sys.argv[1])
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    for family in sys.argv[2:] or FAMILIES:
        record(folder, family, *FAMILIES[family])


if __name__ == "__main__":
    main()
