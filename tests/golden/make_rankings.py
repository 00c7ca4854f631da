#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scores that the originals give documents for a query: writes tests/golden/data/rankings.json.

usage: make_rankings.py, in the top folder of the repository, with torch 2.15.0, transformers 5.24.0 and
sentence-transformers 6.2.0

The models are those that tests/support/tiny_encoder.py writes, whose numbers are drawn by a fixed seed.
"""

import json
import pathlib
import sys
import tempfile

import torch
from sentence_transformers import CrossEncoder
from transformers import AutoModelForCausalLM, AutoTokenizer

sys.path.insert(0, "tests/support")
import tiny_encoder  # noqa: E402

QUERY = "light"
DOCUMENTS = ["And God said, Let there be light", "light", "the waters", "And the evening and the morning were the first day"]
INSTRUCTION = "Find verses of the first day"


def cross_encoder(folder):
    model = CrossEncoder(tiny_encoder.write_encoder(folder, is_reranker=True), device="cpu")
    pairs = [(QUERY, document) for document in DOCUMENTS]
    return {"scores": model.predict(pairs).tolist(),
            "raw": model.predict(pairs, activation_fn=torch.nn.Identity()).tolist()}


def judge(folder, instruction):
    """As the authors of Qwen3-Reranker compute it (https://huggingface.co/Qwen/Qwen3-Reranker-0.6B)."""
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    prefix = ("<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
              "provided. Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n")
    suffix = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    before, after = (tokenizer.encode(text, add_special_tokens=False) for text in (prefix, suffix))
    yes, no = tokenizer.convert_tokens_to_ids("yes"), tokenizer.convert_tokens_to_ids("no")
    scores = []
    for document in DOCUMENTS:
        text = f"<Instruct>: {instruction}\n<Query>: {QUERY}\n<Document>: {document}"
        ids = before + tokenizer.encode(text, add_special_tokens=False) + after
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0, -1, :]
        both = torch.nn.functional.log_softmax(torch.stack([logits[no], logits[yes]]), dim=0)
        scores.append(both[1].exp().item())
    return scores


def main():
    with tempfile.TemporaryDirectory() as folder:
        of_judge = tiny_encoder.write_judge(folder + "/judge")
        plain = "Given a web search query, retrieve relevant passages that answer the query"
        wanted = {"query": QUERY, "documents": DOCUMENTS, "instruction": INSTRUCTION,
                  "cross_encoder": cross_encoder(folder + "/rerank"),
                  "judge": {"scores": judge(of_judge, plain), "instructed": judge(of_judge, INSTRUCTION)}}
    pathlib.Path("tests/golden/data/rankings.json").write_text(json.dumps(wanted, indent=1) + "\n")


if __name__ == "__main__":
    main()
