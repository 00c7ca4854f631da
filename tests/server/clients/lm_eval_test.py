#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lm-evaluation-harness on the server: lm_eval_test.py PROGRAM [MODEL [RELATIVE_DIFFERENCE]].

Three small tasks of the harness, one of each kind that it has, with data that is made here: a choice among endings, the
perplexity of texts, and texts that go on. They must give the figures that the same model gives with transformers, where
that is installed: in float32, as far as rounding goes. Without arguments the model is the demo model. Exits with 77 and a word where the harness is missing:
`pip install lm-eval[api] torch transformers`.
"""

import json
import math
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from running_server import RunningServer  # noqa: E402

# Nothing is loaded from a hub.
os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
try:
    import lm_eval
    from lm_eval import utils
    from lm_eval.api.model import TemplateLM
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
try:
    import torch
    from transformers import AutoModelForCausalLM
except ImportError as error:
    torch = None
    print(f"without a comparison: {error}")

PROGRAM = sys.argv[1]
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "demo_model")
MODEL = sys.argv[2] if len(sys.argv) > 2 else DEMO
DIFFERENCE = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-4
CONTEXT = 512

ENDINGS = [
    ("And it came to pass in those", [" days", " of", " purple"], 0),
    ("In the beginning God created the", [" heaven", " was", " letter"], 0),
    ("And the LORD spake unto Moses,", [" went", " saying", " bread"], 1),
    ("Thou shalt not", [" heaven", " the", " kill"], 2),
    ("The king said unto his servants, Go", [" forth", " was", " is"], 0),
    ("And they went up to the city of", [" David", " said", " not"], 0),
    ("He answered and said unto", [" were", " them", " green"], 1),
    ("Blessed be the name of the", [" LORD", " and", " ship"], 0),
    ("The sun rose over the hills and the farmer opened the", [" gate", " of", " unto"], 0),
    ("She wrote a long letter to her", [" and", " father", " were"], 1),
]
TEXTS = [
    "The river came down from the hills, and the men of the village built a bridge of stone over it.",
    "And when the evening was come, they shut the gates of the city, and no man went out until the morning.",
    "A good servant keeps the door, and a wise king hears the poor before he judges them.",
    "Behold, the days are long and the nights are cold; but the fire on the hearth gives light to all.",
]
BEGINNINGS = ["And it came to pass", "In the beginning", "And the LORD said unto", "The king of", "My son,", "One day a farmer"]


class Reference(TemplateLM):
    """The same model in transformers, on the ids that the server's tokenizer gives."""

    def __init__(self, server, path):
        super().__init__()
        folder, name = os.path.split(path)
        where = {"pretrained_model_name_or_path": folder, "gguf_file": name} if name.endswith(".gguf") else {
            "pretrained_model_name_or_path": path}
        self.model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32, attn_implementation="eager").eval()
        self.server = server
        info = server.get("/tokenizer_info")[1]
        self.bos, self.eos = (self.tok_encode(info[name])[0] if info[name] else None for name in ("bos_token", "eos_token"))

    @property
    def eot_token_id(self):
        return self.eos

    @property
    def prefix_token_id(self):
        return self.eos if self.bos is None else self.bos

    def tok_encode(self, string, add_special_tokens=None, **_):
        return self.server.post("/tokenize", {"prompt": string, "add_special_tokens": False})[1]["tokens"]

    def logits(self, ids):
        with torch.no_grad():
            return self.model(torch.tensor([ids])).logits[0]

    def _loglikelihood_tokens(self, requests, **_):
        answers = []
        for _, context, continuation in requests:
            rows = torch.log_softmax(self.logits(context + continuation)[len(context) - 1:-1], dim=-1)
            chosen = rows.gather(1, torch.tensor(continuation)[:, None]).sum().item()
            answers.append((chosen, rows.argmax(dim=-1).tolist() == continuation))
        return answers

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        answers = []
        for request in requests:
            windows = map(utils.make_disjoint_window, utils.get_rolling_token_windows(
                token_list=self.tok_encode(request.args[0]), prefix_token=self.prefix_token_id, max_seq_len=CONTEXT - 1,
                context_len=1))
            answers.append(sum(one for one, _ in self._loglikelihood_tokens([(None, *window) for window in windows])))
        return answers

    def generate_until(self, requests, disable_tqdm=False):
        answers = []
        for request in requests:
            text, options = request.args
            ids, written = self.tok_encode(text), []
            for _ in range(options["max_gen_toks"]):
                written.append(self.logits(ids + written)[-1].argmax().item())
                if written[-1] == self.eos:
                    break
            text = self.server.post("/detokenize", {"tokens": ids + written})[1]["prompt"]
            text = text[len(self.server.post("/detokenize", {"tokens": ids})[1]["prompt"]):]
            for stop in options["until"]:
                text = text.split(stop)[0]
            answers.append(text)
        return answers


def write(folder, name, rows):
    path = os.path.join(folder, name + ".json")
    with open(path, "w") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")
    return {"task": name, "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": path}}, "test_split": "test"}


def tasks(folder, goals):
    """`goals` are the texts with which BEGINNINGS are to go on."""
    endings = write(folder, "endings", [{"text": text, "ends": ends, "right": right} for text, ends, right in ENDINGS])
    texts = write(folder, "texts", [{"text": text} for text in TEXTS])
    going_on = write(folder, "going_on", [{"text": text, "goal": goal} for text, goal in zip(BEGINNINGS, goals)])
    def means(*names):
        return [{"metric": name, "aggregation": "mean", "higher_is_better": True} for name in names]
    return [
        {**endings, "output_type": "multiple_choice", "doc_to_text": "{{text}}", "doc_to_choice": "{{ends}}",
         "doc_to_target": "right", "target_delimiter": "", "metric_list": means("acc", "acc_norm")},
        {**texts, "output_type": "loglikelihood_rolling", "doc_to_text": "", "doc_to_target": "{{text}}",
         "metric_list": [{"metric": "word_perplexity"}, {"metric": "bits_per_byte"}]},
        {**going_on, "output_type": "generate_until", "doc_to_text": "{{text}}", "doc_to_target": "{{goal}}",
         "generation_kwargs": {"until": ["\n\n"], "max_gen_toks": 8, "do_sample": False},
         "metric_list": means("exact_match")},
    ]


def evaluate(model, folder, goals, wanted=(0, 1, 2), **more):
    chosen = [tasks(folder, goals)[i] for i in wanted]
    results = lm_eval.simple_evaluate(model=model, tasks=chosen, bootstrap_iters=0, log_samples=False, **more)["results"]
    return {f"{task} {name.split(',')[0]}": value for task, values in results.items() for name, value in values.items()
            if isinstance(value, float) and "stderr" not in name}


class Harness(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="skald-lm-eval-")
        os.environ["HF_DATASETS_CACHE"] = os.path.join(cls.folder.name, "cache")
        cls.server = RunningServer(PROGRAM, "--model", MODEL, "--model-name", "served", "--max-context", str(CONTEXT), "--f32")
        # Half of the goals are what the model says.
        cls.goals = [cls.server.post("/v1/completions", {
            "prompt": cls.server.post("/tokenize", {"prompt": text, "add_special_tokens": False})[1]["tokens"],
            "max_tokens": 8, "temperature": 0, "stop": ["\n\n"]})[1]["choices"][0]["text"] for text in BEGINNINGS]
        cls.goals[::2] = ["something else"] * len(cls.goals[::2])

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        cls.folder.cleanup()
        assert code == 0, code

    def args(self, path, **more):
        return {"model": "served", "base_url": f"http://127.0.0.1:{self.server.port}{path}", "max_length": CONTEXT,
                "max_retries": 1, **more}

    def test_completions_give_the_figures_of_transformers(self):
        ours = evaluate("local-completions", self.folder.name, self.goals, model_args=self.args("/v1/completions", batch_size=4))
        print("served:      ", ours)
        self.assertEqual(ours["going_on exact_match"], 0.5)
        self.assertEqual(sorted(ours), ["endings acc", "endings acc_norm", "going_on exact_match", "texts bits_per_byte",
                                        "texts word_perplexity"])
        self.assertTrue(all(math.isfinite(value) for value in ours.values()))
        if torch is None:
            return
        theirs = evaluate(Reference(self.server, MODEL), self.folder.name, self.goals)
        print("transformers:", theirs)
        self.assertEqual(sorted(ours), sorted(theirs))
        for name, value in theirs.items():
            self.assertLessEqual(abs(ours[name] - value), DIFFERENCE * abs(value) if name.startswith("texts") else 0, name)

    def test_chats(self):
        answers = [self.server.post("/v1/chat/completions", {
            "messages": [{"role": "user", "content": text}], "max_tokens": 8, "temperature": 0, "stop": ["\n\n"]})[1] for text in BEGINNINGS]
        goals = [answer["choices"][0]["message"]["content"] for answer in answers]
        goals[::2] = self.goals[::2]
        figures = evaluate("local-chat-completions", self.folder.name, goals, [2], apply_chat_template=True,
                           model_args=self.args("/v1/chat/completions", tokenized_requests=False))
        self.assertEqual(figures, {"going_on exact_match": 0.5})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
