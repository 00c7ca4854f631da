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
    "jina_bert": (dict(SMALL, type_vocab_size=2), "JinaBert", [Pooling(32, MEAN), Normalize()]),
}


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
            attention = layer.attention
            split = lambda values: values.unflatten(-1, (heads, -1)).transpose(1, 2)
            queries, keys, values = (split(part(rows)) for part in (attention.self.query, attention.self.key,
                                                                    attention.self.value))
            scores = queries @ keys.transpose(-1, -2) / queries.shape[-1] ** 0.5 + bias
            mixed = (scores.softmax(-1) @ values).transpose(1, 2).flatten(2)
            rows = attention.output.LayerNorm(rows + attention.output.dense(mixed))
            gate, up = layer.mlp["gated_layers"](rows).chunk(2, -1)
            rows = layer.mlp["layernorm"](rows + layer.mlp["wo"](torch.nn.functional.gelu(gate) * up))
        return transformers.modeling_outputs.BaseModelOutput(last_hidden_state=rows)

    def save_pretrained(self, into):
        into.mkdir(parents=True, exist_ok=True)
        save_file({name: values.contiguous() for name, values in self.bert.state_dict().items()
                   if not name.endswith("_ids")}, into / "model.safetensors")
        config = dict(self.bert.config.to_diff_dict(), position_embedding_type="alibi", feed_forward_type="geglu")
        (into / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def model_of(family, sizes, kind):
    name = "gte" if family == "new" else family.replace("_reranker", "").replace("jina_", "")
    config = transformers.AutoConfig.for_model(name, **sizes)
    config._attn_implementation = "eager"
    torch.manual_seed(7)
    if kind == "JinaBert":
        model = JinaBert(config).eval()
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
    for i, length in enumerate(LENGTHS):
        ids = torch.randint(3, VOCABULARY, (1, length), generator=generator)
        types = (torch.arange(length)[None] >= length // 2).long() if sizes.get("type_vocab_size") == 2 else None
        tensors[f"{i}.input_ids"] = ids[0]
        if types is not None:
            tensors[f"{i}.types"] = types[0]
        for name, values in computed(model, modules, ids, types).items():
            tensors[f"{i}.{name}"] = values.contiguous()
    into = folder / family
    model.save_pretrained(into)
    (into / "generation_config.json").unlink(missing_ok=True)
    if family == "new":
        config = json.loads((into / "config.json").read_text())
        rope = config.pop("rope_parameters")["rope_theta"]
        config.update(model_type="new", architectures=["NewModel"], rope_theta=rope, rope_scaling=None, pack_qkv=True,
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
