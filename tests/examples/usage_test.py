#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The help of the skald program, and what it says to mistakes.

usage: usage_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import json
import pathlib
import re
import unittest

from skald_program import DEMO, TestCase

OTHER_TOKENIZER = pathlib.Path("tests/text/data/gemma_style.model").resolve()
OPTIONS_SOURCES = pathlib.Path("examples/skald/command_line")


class Help(TestCase):
    def test_help_mentions_every_flag(self):
        sources = "".join(file.read_text() for file in OPTIONS_SOURCES.rglob("*.cc"))
        flags = set(re.findall(r'"(?:-\w,)?(--[a-z0-9-]+)"', sources))
        self.assertGreater(len(flags), 20)
        commands = ([], ["generate"], ["chat"], ["pull"], ["models"], ["inspect"], ["tokenize"],
                    ["embed"], ["rank"], ["pack"], ["convert"], ["quantize"], ["imatrix"], ["bench"], ["store"], ["serve"])
        helps = [self.run_skald(*command, "--help")[0] for command in commands]
        self.assertEqual([], [flag for flag in flags if not any(flag in text for text in helps)])
        for text in helps:
            self.assertIn("Examples:", text)
            self.assertLess(max(map(len, text.splitlines())), 100)

    def test_version_and_models(self):
        self.assertRegex(self.run_skald("--version")[0], r"\Askald \d+\.\d+\.\d+\n\Z")
        models = self.run_skald("models")[0].split()
        self.assertLess({"demo", "stories15m", "tinyllama-1.1b", "gemma2-2b", "gemma3-1b", "qwen3-0.6b"}, set(models))

    def test_families_are_as_the_readme_has_them(self):
        self.assertIn(self.run_skald("models", "--families")[0], pathlib.Path("include/skald/families/README.md").read_text())


class Mistakes(TestCase):
    def test_usage(self):
        self.refused(2, "One of the commands generate, chat, serve, pull, models, inspect, tokenize, embed, rank, pack, convert, quantize, imatrix, bench, store, completion and man is required")
        self.refused(2, ".*not expected: frobnicate", "frobnicate")
        for command in ("generate", "chat"):
            for arguments, pattern in (
                    (["--frobnicate"], ".*not expected: --frobnicate"),
                    (["--threads", 0], "--threads: expected 1 to 1024, got 0"),
                    (["--threads", "many"], "--threads: expected 1 to 1024, got many"),
                    (["--threads", -1], "--threads: expected 1 to 1024, got -1"),
                    (["--max-tokens", 0], "--max-tokens: expected 1 to .*, got 0"),
                    (["--max-context", 0], "--max-context: expected 1 to .*, got 0"),
                    (["--max-context", 1 << 40], "--max-context: expected 1 to .*, got"),
                    (["--cache-bytes", 0], "--cache-bytes: expected 1 to .*, got 0"),
                    (["--cache-bytes", "5 apples"], "--cache-bytes: .*unit"),
                    (["--temperature", ""], "--temperature: expected a value"),
                    (["--temperature", -1], ".*temperature is -1.*expected"),
                    (["--temperature", "nan"], ".*temperature is nan.*expected"),
                    (["--top-k", -1], "--top-k: expected 0 to .*, got -1"),
                    (["--top-p", 0], ".*top_p is 0.*expected more than 0"),
                    (["--top-p", 1.5], ".*top_p is 1.5.*at most 1"),
                    (["--min-p", 2], ".*min_p is 2.*expected 0 to 1"),
                    (["--min-p", "x"], ".*--min-p = x"),
                    (["--repetition-penalty", 0], ".*repetition_penalty is 0.*expected"),
                    (["--seed", -1], "--seed: expected 0 to .*, got -1"),
                    (["--logit-bias", "5"], "--logit-bias: expected ID=VALUE, got 5"),
                    (["--logit-bias", "-5=1"], "--logit-bias: expected ID=VALUE, got -5=1"),
                    (["--logit-bias", "5=inf"], ".*bias of token 5 is inf"),
                    (["--chat-template", "alpaca"], "--chat-template: alpaca not in .*gemma"),
                    (["--kv-type", "f16"], "--kv-type: f16 not in .*bf16.*i8"),
                    (["--model"], ".*--model")):
                self.refused(2, pattern, command, *arguments)
        self.refused(2, "give only one of --prompt, --prompt-file, --prompts, --token-ids and --perplexity", "generate", "--prompt", "a",
                     "--token-ids", "1")
        self.refused(2, ".*--token-ids", "generate", "--token-ids", "1,x")
        self.refused(2, "--token-ids: expected a value", "generate", "--token-ids", "")
        self.refused(2, "--set: expected NAME=JSON, got =1", "chat", "--set", "=1")
        self.refused(2, "DIR is required", "store")
        self.refused(2, "--shape excludes --model", "bench", "--shape", "demo", "--model", DEMO)
        self.refused(2, "--dtype: there is no element type Q9", "bench", "--dtype", "q9")
        self.refused(2, "--batch: expected 1 to 4096, got 0", "bench", "-b", "1,0")
        self.refused(2, "MODEL and FILE, or --verify FILE is required", "pack")
        self.refused(2, "MODEL requires FILE", "pack", "model")
        self.refused(2, "MODEL excludes --verify", "pack", "model", "file", "--verify", "file")
        self.refused(2, "--prune: .*unit", "store", "no-such-folder", "--prune", "5 apples")
        self.refused(2, "--prune: expected 0 to .*", "store", "no-such-folder", "--prune", "-1")

    def test_benchmarks_of_nothing(self):
        self.refused(1, "nothing is none of the models that 'skald models' lists", "bench", "--shape", "nothing")
        for name in ("f16", "i8"):
            self.refused(1, f"{name.upper()} is no type of weights", "bench", "--shape", "demo", "--dtype", name)
        self.refused(1, "there is no SIMD target AVX9 here, only ", "bench", "--simd", "AVX9")

    def test_models_that_are_none(self):
        model = self.copy_of_demo()
        (model.parent / "junk.skald").write_text("junk")
        self.refused(1, f"{model.parent}/junk.skald: expected a config.json beside it, as it is no GGUF or packed file", "generate", "--model",
                     model.parent / "junk.skald")
        self.refused(1, "no-such-folder: no such folder", "generate", "--model", "no-such-folder")
        self.refused(1, ".*data: expected a config.json in this folder", "generate", "--model", "tests/text/data")

        (model / "model.safetensors").write_bytes((DEMO / "model.safetensors").read_bytes()[:100000])
        self.refused(1, ".*model.safetensors: ", "chat", "--model", model)
        (model / "model.safetensors").unlink()
        self.refused(1, ".*expected model.safetensors", "chat", "--model", model)
        (model / "model.safetensors").write_bytes((DEMO / "model.safetensors").read_bytes())

        config = json.loads((DEMO / "config.json").read_text())
        (model / "config.json").write_text(json.dumps(config | {"hidden_size": 320}))
        self.refused(1, r".*embed_tokens.weight: expected shape \[\d+, 320\], found \[\d+, 256\]", "chat", "--model", model)
        (model / "config.json").write_text(json.dumps(config | {"model_type": "rwkv"}))
        self.refused(1, ".*model_type.*rwkv", "chat", "--model", model)
        (model / "config.json").write_text("not JSON")
        self.refused(1, ".*config.json is not valid JSON", "chat", "--model", model)

    def test_tokenizers_that_do_not_fit(self):
        model = self.copy_of_demo()
        self.refused(1, ".*nothing.model: No such file or directory; expected a SentencePiece model", "chat", "--tokenizer", "nothing.model")
        self.refused(1, ".*CMakeLists.txt: not a SentencePiece model", "chat", "--tokenizer", "CMakeLists.txt")
        self.refused(1, ".*gemma_style.model: the tokenizer has .* do not belong together", "generate", "--tokenizer",
                     OTHER_TOKENIZER)
        self.refused(1, ".*gemma needs the piece <start_of_turn>", "generate", "--chat-template", "gemma")
        (model / "tokenizer.model").unlink()
        self.refused(1, ".*neither a tokenizer.json nor a SentencePiece model tokenizer.model.*--token-ids", "chat", "--model", model)
        (model / "tokenizer.json").write_text("{}")
        self.refused(1, ".*tokenizer.json: model is missing", "chat", "--model", model)

    def test_memory_of_ranks_is_told_of_files_and_of_shapes(self):
        told, _ = self.run_skald("inspect", "--ranks", 2, "--tokens", 2048, "tinyllama-1.1b")
        self.assertEqual(told.splitlines()[4:], ["| 0 | 1100.0 | 0.4 | 23.1 | 1123.4 |", "| 1 | 1100.0 | 0.4 | 23.1 | 1123.4 |"])
        packed = self.folder / "demo.packed"
        self.run_skald("pack", DEMO, packed)
        told = [self.run_skald("inspect", "--ranks", 3, path)[0] for path in (DEMO, packed)]
        self.assertEqual(told[0], told[1])
        self.refused(1, "nothing is none of the models", "inspect", "--ranks", 2, "nothing")
        self.refused(2, "--config excludes --ranks", "inspect", "--ranks", 2, "--config", DEMO)

    def test_prompts_that_do_not_fit(self):
        model = self.copy_of_demo()
        self.refused(1, "there is no prompt: give --prompt", "generate", "--model", model)
        self.refused(1, "no-such-file: No such file or directory", "generate", "--prompt-file", "no-such-file")
        self.refused(1, "the prompt has 6 tokens, but only 3 of the context's 3 are left", "generate", "--max-context", 3)
        self.refused(1, "logit bias for token 2048, but there are 2048 logits", "generate", "--logit-bias", "2048=1")
        self.refused(1, ".*token 1 has the id 2048, expected 0 to 2047", "generate", "--token-ids", "1,2048", "--no-echo")
        self.refused(1, ".*block pool is full", "generate", "--cache-bytes", "1KB", "--no-echo")


if __name__ == "__main__":
    unittest.main()
