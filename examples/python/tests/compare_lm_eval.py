#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three tasks of lm-evaluation-harness by its own `hf` model and by Skald, on one folder of a model.

usage: compare_lm_eval.py FOLDER

A question with four answers after five examples, a text's perplexity, and a text that goes on: made here of the licence,
so that nothing is downloaded. Prints a table of the figures, and how many tokens Skald computed of those asked.
"""
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import datasets
import lm_eval.models  # noqa: F401: registers hf
from lm_eval import simple_evaluate
from lm_eval.api.task import ConfigurableTask

from conftest import ROOT
from skald.lm_eval import SkaldLM


def sentences():
    words = (ROOT / "LICENSE").read_text().split()
    return [" ".join(words[i : i + 24]) for i in range(0, 24 * 40, 24)]


def task(name, rows, **config):
    data = datasets.DatasetDict({"test": datasets.Dataset.from_list(rows), "train": datasets.Dataset.from_list(rows[:6])})
    return ConfigurableTask(config={"task": name, "custom_dataset": lambda **_: data, "test_split": "test", "fewshot_split": "train"} | config)


def tasks():
    texts = sentences()
    choices = [{"text": text[:60], "choices": [text[60:], *(other[60:] for other in texts[i + 1 : i + 4])], "gold": 0}
               for i, text in enumerate(texts[:24])]
    return [
        task("choices", choices, output_type="multiple_choice", doc_to_text="{{text}}", doc_to_target="gold", num_fewshot=5,
             doc_to_choice="choices", target_delimiter="", metric_list=[{"metric": "acc"}, {"metric": "acc_norm"}]),
        task("texts", [{"text": " ".join(texts[i : i + 6])} for i in range(0, 36, 6)], output_type="loglikelihood_rolling",
             doc_to_text="", doc_to_target="text", metric_list=[{"metric": "word_perplexity"}, {"metric": "bits_per_byte"}]),
        task("going_on", [{"text": text[:80], "rest": text[80:].split(",")[0]} for text in texts[:12]], output_type="generate_until",
             doc_to_text="{{text}}", doc_to_target="rest", generation_kwargs={"until": [",", "\n"], "max_gen_toks": 16, "do_sample": False},
             metric_list=[{"metric": "exact_match"}]),
    ]


def figures(model, **settings):
    results = simple_evaluate(model=model, tasks=tasks(), bootstrap_iters=0, log_samples=True, verbosity="ERROR", **settings)
    samples = {name: [sample["filtered_resps"] for sample in rows] for name, rows in results["samples"].items()}
    return {(name, metric): value for name, row in results["results"].items() for metric, value in row.items()
            if isinstance(value, float) and "stderr" not in metric}, samples


def main():
    (folder,) = sys.argv[1:]
    theirs, their_samples = figures("hf", model_args={"pretrained": folder, "dtype": "float32"}, batch_size=1, device="cpu")
    ours_model = SkaldLM(path=folder, weight_type="F32", kv_type="F32")
    ours, our_samples = figures(ours_model)
    print(f"{'task':12}{'figure':28}{'hf':>12}{'skald':>12}")
    for (name, metric), value in theirs.items():
        print(f"{name:12}{metric:28}{value:12.5f}{ours[name, metric]:12.5f}")
    print("texts that go on alike:", sum(a == b for a, b in zip(their_samples["going_on"], our_samples["going_on"])), "of",
          len(our_samples["going_on"]))
    print(f"computed {ours_model.scorer.computed_tokens} of {ours_model.scorer.asked_tokens} tokens")


if __name__ == "__main__":
    main()
