#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`skald generate` on the demo model, as a user would run it.

usage: generate_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import re
import signal
import subprocess
import tempfile
import unittest

from skald_program import DEMO, NO_END, PROGRAM, TIMEOUT, TestCase


class Generate(TestCase):
    def test_without_options_the_demo_model_writes(self):
        out, err = self.run_skald("generate", "--max-tokens", 20, "--seed", 5)
        self.assertRegex(out, r"\AIn the beginning\W*\w.*\n\Z")
        self.assertRegex(err, r"\A\[demo: prompt \d+ tokens at [\d.]+/s, generated 20 tokens at [\d.]+/s, "
                              r"context \d+ of 512, seed 5; stopped by --max-tokens\]\n\Z")

    def test_a_seed_repeats_a_text(self):
        one, err = self.run_skald("generate", "-n", 40)
        seed = re.search(r"seed (\d+)", err)[1]
        self.assertEqual(one, self.text("-n", 40, "--seed", seed))
        self.assertNotEqual(one, self.text("-n", 40, "--seed", int(seed) + 1))

    def test_threads_do_not_change_a_text(self):
        texts = {self.text("-n", 60, "--seed", 8, "--threads", threads) for threads in (1, 2, 3)}
        self.assertEqual(len(texts), 1)

    def test_prompts_from_everywhere_are_equal(self):
        prompt = "The LORD is my shepherd"
        expected = self.text("-n", 20, "--seed", 1, "--prompt", prompt)
        self.assertTrue(expected.startswith(prompt))
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            print(prompt, file=file, flush=True)
            self.assertEqual(expected, self.text("-n", 20, "--seed", 1, "--prompt-file", file.name))
        self.assertEqual(expected, self.text("-n", 20, "--seed", 1, "--prompt-file", "-", stdin=prompt + "\n"))
        self.assertEqual(expected, prompt + self.text("-n", 20, "--seed", 1, "--prompt", prompt, "--no-echo"))

    def test_an_empty_prompt_begins_a_text(self):
        self.assertRegex(self.text("-n", 10, "--prompt", ""), r"\w+")

    def test_a_model_may_be_its_safetensors_file(self):
        arguments = ("-n", 20, "--seed", 1, "--prompt", "And")
        self.assertEqual(self.text("--model", DEMO / "model.safetensors", *arguments), self.text(*arguments))

    def test_token_ids_need_no_tokenizer(self):
        model = self.copy_of_demo()
        (model / "tokenizer.model").unlink()
        ids = self.text("--model", model, "--token-ids", "2,300,40", "-n", 5, "--temperature", 0)
        self.assertRegex(ids, r"\A2,300,40(,\d+){5}\n\Z")
        new = self.text("--model", model, "--token-ids", "2,300,40", "-n", 5, "--temperature", 0, "--no-echo")
        self.assertEqual(ids, "2,300,40," + new)

    def test_sampling_options_act(self):
        def ids(*options):
            return self.text("--token-ids", "2,300,40", "--no-echo", "-n", 30, "--seed", 3, *options)
        greedy = ids("--temperature", 0)
        self.assertEqual(greedy, ids("--top-k", 1))
        self.assertEqual(greedy, ids("--top-p", 0.000001))
        self.assertEqual(greedy, ids("--min-p", 1))
        self.assertEqual(greedy, ids("--temperature", 0.0001))
        self.assertEqual(ids("--logit-bias", "77=100"), "77" + ",77" * 29 + "\n")
        first = greedy.split(",")[0]
        self.assertNotIn(first, ids("--temperature", 0, "--logit-bias", f"{first}=-inf").strip().split(","))
        for penalty in ("--repetition-penalty", "--presence-penalty", "--frequency-penalty"):
            with self.subTest(penalty):
                penalised = ids("--temperature", 0, penalty, 50)
                self.assertEqual(len(set(penalised.strip().split(","))), 30)  # nothing twice
                self.assertEqual(greedy, ids("--temperature", 0, penalty, 50, "--penalty-window", 0))

    def test_number_types(self):
        for options in (["--f32"], ["--kv-type", "f32"], ["--f32", "--kv-type", "bf16"], ["--kv-type", "bf16"],
                        ["--kv-type", "i8"]):
            with self.subTest(options):
                self.assertRegex(self.text("-n", 10, *options), r"\AIn the beginning\W*\w+")

    def test_the_context_ends_a_text(self):
        _, err = self.run_skald("generate", "--max-context", 30, "--logit-bias", NO_END)
        self.assertRegex(err, r"context 30 of 30, .*; stopped because the context is full")

    def test_a_chat_template_surrounds_the_prompt(self):
        out, err = self.run_skald("generate", "--chat-template", "llama2", "--prompt", "Hello", "-n", 5)
        self.assertNotIn("Hello", out)
        self.assertGreater(int(re.search(r"prompt (\d+) tokens", err)[1]), 6)

    def test_progress_is_shown_when_wanted(self):
        self.assertIn("loading demo [", self.run_skald("generate", "-n", 1, "--progress", "--no-packed-cache")[1])
        self.assertIn("100% of 7 MB", self.run_skald("generate", "-n", 1, "--progress", "--no-packed-cache")[1])
        self.assertNotIn("loading", self.run_skald("generate", "-n", 1)[1])

    def test_ctrl_c_ends_a_text(self):
        arguments = [PROGRAM, "generate", "--prompt", "In the beginning", "--max-tokens", "1000000", "--max-context", "1000000"]
        arguments += ["--logit-bias", NO_END]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
            self.assertEqual(program.stdout.read(40)[:16], "In the beginning")
            program.send_signal(signal.SIGINT)
            out, err = program.communicate(timeout=TIMEOUT)
            self.assertEqual(program.returncode, 130)
            self.assertTrue(out.endswith("\n"))
            self.assertRegex(err, r"\A\[demo: .*; interrupted\]\n\Z")


if __name__ == "__main__":
    unittest.main()
