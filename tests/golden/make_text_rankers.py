#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tiny rerankers with the tokenizers of tests/text/data/encoders, and records how sentence-transformers ranks texts.

usage: make_text_rankers.py FOLDER [FAMILY...]      all families below, and judge, where none is named

Needs transformers 5.24.0, sentence-transformers 6.2.0 and torch 2.15.0. Each folder gets model.safetensors, config.json
and ranks.json: a query, documents, and the scores of CrossEncoder.predict, each pair alone. The tokenizer is not copied:
ranks.json names its folder. judge.json has the scores of a decoder that answers yes or no, which
tests/support/tiny_encoder.py writes.
"""
import json
import pathlib
import shutil
import sys
import tempfile

import torch
import transformers
from sentence_transformers import CrossEncoder

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import tiny_encoder  # noqa: E402

TOKENIZERS = pathlib.Path(__file__).parents[1] / "text" / "data" / "encoders"
SMALL = dict(hidden_size=32, intermediate_size=44, num_hidden_layers=2, num_attention_heads=4, num_labels=1,
             max_position_embeddings=160)
QUERY = "What did God call the dry land?"
DOCUMENTS = ["And God called the dry land Earth; and the gathering together of the waters called he Seas.",
             "a", "And the evening and the morning were the first day.", "na\u00efve fa\u00e7ade, don't stop-it (now)\u2026",
             "In the beginning God created the heaven and the earth. And the earth was without form, and void."]
# Of the judge, which has no long context.
WORD, INSTRUCTION = "light", "Find verses of the first day"
JUDGED = ["And God said, Let there be light", "light", "the waters", "And the evening and the morning were the first day"]
# Of each family: the type of transformers, sizes, the folder of the tokenizer and the class that reads it.
FAMILIES = {
    "bert": ("bert", dict(SMALL, type_vocab_size=2), "bert_uncased_json", "BertTokenizerFast"),
    "xlm-roberta": ("xlm-roberta", dict(SMALL, type_vocab_size=1, pad_token_id=1), "xlm_roberta_json",
                    "XLMRobertaTokenizerFast"),
    "modernbert": ("modernbert", dict(SMALL, num_hidden_layers=4, global_attn_every_n_layers=3,
                                      local_attention=16, classifier_pooling="mean", pad_token_id=1), "roberta",
                   "RobertaTokenizerFast"),
    "gte": ("gte", dict(SMALL, type_vocab_size=1, pad_token_id=1,
                        rope_parameters=dict(rope_type="default", rope_theta=5000.0)), "xlm_roberta_json",
            "XLMRobertaTokenizerFast"),
}


def model_of(kind, sizes):
    config = transformers.AutoConfig.for_model(kind, **sizes)
    config._attn_implementation = "eager"
    torch.manual_seed(7)
    model = transformers.AutoModelForSequenceClassification.from_config(config, dtype=torch.float32).eval()
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, values in model.named_parameters():
            noise = torch.randn(values.shape, generator=generator)
            is_norm = "norm" in name.lower() and values.dim() == 1 and not name.endswith("bias")
            scale = 1.5 / values.shape[-1] ** 0.5 if values.dim() > 1 else 0.2
            values.copy_(1.0 + 0.2 * noise if is_norm else noise * (1.0 if "embed" in name else scale))
    return model


def record(folder, family):
    kind, sizes, tokenizer, reader = FAMILIES[family]
    into = folder / family
    words = getattr(transformers, reader)(tokenizer_file=str(TOKENIZERS / tokenizer / "tokenizer.json"))
    model_of(kind, dict(sizes, vocab_size=len(words))).save_pretrained(into)
    with tempfile.TemporaryDirectory() as work:
        for file in into.iterdir():
            shutil.copy(file, work)
        words.save_pretrained(work)
        encoder = CrossEncoder(work, device="cpu", activation_fn=torch.nn.Identity(), max_length=160)
        scores = [float(encoder.predict([(QUERY, document)])[0]) for document in DOCUMENTS]
    ranks = dict(query=QUERY, documents=DOCUMENTS, scores=scores, tokenizer=tokenizer)
    (into / "ranks.json").write_text(json.dumps(ranks, indent=1) + "\n")
    print(family, [round(score, 4) for score in scores], sum(one.stat().st_size for one in into.iterdir()))


def judged(folder, instruction):
    """Scores as the authors of Qwen3-Reranker compute them (https://huggingface.co/Qwen/Qwen3-Reranker-0.6B)."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, padding_side="left")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    prefix = ("<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
              "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n")
    suffix = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    before, after = (tokenizer.encode(text, add_special_tokens=False) for text in (prefix, suffix))
    yes, no = tokenizer.convert_tokens_to_ids("yes"), tokenizer.convert_tokens_to_ids("no")
    scores = []
    for document in JUDGED:
        text = f"<Instruct>: {instruction}\n<Query>: {WORD}\n<Document>: {document}"
        ids = before + tokenizer.encode(text, add_special_tokens=False) + after
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0, -1, :]
        both = torch.nn.functional.log_softmax(torch.stack([logits[no], logits[yes]]), dim=0)
        scores.append(both[1].exp().item())
    return scores


def record_judge(folder):
    with tempfile.TemporaryDirectory() as work:
        model = tiny_encoder.write_judge(work + "/judge")
        plain = "Given a web search query, retrieve relevant passages that answer the query"
        ranks = dict(query=WORD, documents=JUDGED, scores=judged(model, plain), instruction=INSTRUCTION,
                     instructed=judged(model, INSTRUCTION))
    (folder / "judge.json").write_text(json.dumps(ranks, indent=1) + "\n")


def main():
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    folder = pathlib.Path(sys.argv[1])
    for family in sys.argv[2:] or [*FAMILIES, "judge"]:
        record_judge(folder) if family == "judge" else record(folder, family)


if __name__ == "__main__":
    main()
