#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the skald program on the demo model, as a user would.

usage: skald_program_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve() / "skald" / "skald"
DEMO = pathlib.Path("examples/demo_model").resolve()
OTHER_TOKENIZER = pathlib.Path("tests/text/data/gemma_style.model").resolve()
OPTIONS_SOURCE = pathlib.Path("examples/skald/options.cc")
NO_END = "1=-inf"  # bans the token that ends a text
TIMEOUT = 120  # seconds


def skald(*arguments, stdin=""):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=TIMEOUT)


class TestCase(unittest.TestCase):
    def run_skald(self, *arguments, stdin=""):
        """Returns what a run that must succeed wrote to stdout and stderr."""
        done = skald(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def text(self, *arguments, stdin=""):
        return self.run_skald("generate", *arguments, stdin=stdin)[0]

    def copy_of_demo(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "model"
        path.mkdir()
        for name in ("config.json", "model.safetensors", "tokenizer.model"):
            shutil.copy(DEMO / name, path / name)
        return path


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
        for options in (["--f32"], ["--kv-type", "f32"], ["--f32", "--kv-type", "bf16"], ["--kv-type", "bf16"]):
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
        self.assertIn("loading demo [", self.run_skald("generate", "-n", 1, "--progress")[1])
        self.assertIn("100% of 7 MB", self.run_skald("generate", "-n", 1, "--progress")[1])
        self.assertNotIn("loading", self.run_skald("generate", "-n", 1)[1])

    def test_ctrl_c_ends_a_text(self):
        arguments = [PROGRAM, "generate", "--max-tokens", "1000000", "--max-context", "1000000"]
        arguments += ["--logit-bias", NO_END]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
            self.assertEqual(program.stdout.read(40)[:16], "In the beginning")
            program.send_signal(signal.SIGINT)
            out, err = program.communicate(timeout=TIMEOUT)
            self.assertEqual(program.returncode, 130)
            self.assertTrue(out.endswith("\n"))
            self.assertRegex(err, r"\A\[demo: .*; interrupted\]\n\Z")


class Chat(TestCase):
    OPTIONS = ("--max-tokens", 12, "--seed", 2)

    def chat(self, *lines, options=OPTIONS):
        return self.run_skald("chat", *options, stdin="".join(line + "\n" for line in lines))

    def context(self, *lines):
        """Returns how many tokens the conversation has at its end."""
        return int(re.search(r"context (\d+) of", self.chat(*lines)[1])[1])

    def test_turns(self):
        out, err = self.chat("And the king said", "", "unto the people", "/quit", "not seen")
        self.assertEqual(len(out.splitlines()), 2)
        self.assertIn("demo continues what you write; see --chat-template", err)
        self.assertRegex(err, r"\[demo: prompt \d+ tokens .*generated \d+ tokens .*seed 2\]\n\Z")
        self.assertEqual(out, self.chat("And the king said", "unto the people")[0])

    def test_a_turn_computes_only_its_own_tokens(self):
        prompts = [int(re.search(r"prompt (\d+) tokens", self.chat(*["And he said"] * turns)[1])[1]) for turns in (1, 2, 3)]
        self.assertLess(prompts[2] - prompts[1], 8)

    def test_undo(self):
        once = self.context("And the king said")
        self.assertEqual(once, self.context("And the king said", "unto the people", "/undo"))
        self.assertEqual(0, self.context("And the king said", "/undo"))
        self.assertIn("[there is no message to take back]", self.chat("/undo")[1])

    def test_undo_beyond_what_a_window_keeps(self):
        long = ("--max-tokens", 150, "--seed", 2, "--logit-bias", NO_END)
        def context(*lines):
            return int(re.search(r"context (\d+) of", self.chat(*lines, options=long)[1])[1])
        once = context("And the king said")
        self.assertGreater(once, 150)
        self.assertEqual(once, context("And the king said", "unto the people", "/undo"))
        self.assertEqual(0, context("And the king said", "unto the people", "/undo", "/undo"))

    def test_clear(self):
        self.assertEqual(0, self.context("And the king said", "unto the people", "/clear"))
        self.assertIn("[there is no message to take back]", self.chat("And", "/clear", "/undo")[1])

    def test_unknown_commands_are_explained(self):
        self.assertRegex(self.chat("/forget")[1], r"there is no command /forget; /undo .*, /clear .*, /quit")

    def test_a_full_context_forgets_old_turns(self):
        out, err = self.chat(*["And he said"] * 30, options=("--max-tokens", 12, "--seed", 2, "--max-context", 60))
        self.assertEqual(len(out.splitlines()), 30)
        self.assertIn("the context is full: of the turns after the first one, the oldest", err)
        self.assertLessEqual(int(re.search(r"context (\d+) of 60", err)[1]), 60)

    def test_a_message_that_cannot_fit(self):
        out, err = self.chat("And", "the " * 100, "he said", options=(*self.OPTIONS, "--max-context", 60))
        self.assertEqual(len(out.splitlines()), 2)
        self.assertRegex(err, r"the message has \d+ tokens, but at most \d+ fit .*--max-context.*/clear")
        self.assertNotIn("forgotten", err)

    def test_templates(self):
        for name in ("llama2", "mistral", "zephyr"):
            with self.subTest(name):
                options = (*self.OPTIONS, "--chat-template", name, "--system", "Be brief.")
                out, err = self.chat("Hello", "Go on", options=options)
                self.assertEqual(len(out.splitlines()), 2)
                self.assertNotIn("no chat template", err)
        self.assertIn("[INST], which the chat template llama2 uses",
                      self.chat("[INST]", options=(*self.OPTIONS, "--chat-template", "llama2"))[1])

    def test_a_published_template_is_recognised(self):
        model = self.copy_of_demo()
        (model / "tokenizer_config.json").write_text(json.dumps({"chat_template": "... '<|assistant|>' ..."}))
        self.assertNotIn("no chat template", self.chat("Hello", options=(*self.OPTIONS, "--model", model))[1])

    def test_ctrl_c_ends_the_answer_but_not_the_chat(self):
        terminal, end = pty.openpty()
        arguments = [PROGRAM, "chat", "--max-tokens", "1000000", "--max-context", "1000000", "--logit-bias", NO_END]
        program = subprocess.Popen(arguments, stdin=end, stdout=end, stderr=end, start_new_session=True,
                                   preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
        os.close(end)
        self.addCleanup(os.close, terminal)
        self.addCleanup(program.kill)
        shown = ""

        def wait_for(text):
            nonlocal shown
            deadline = time.monotonic() + TIMEOUT
            while text not in shown:
                ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
                self.assertTrue(ready, f"{text!r} never came; so far: {shown!r}")
                shown += os.read(terminal, 65536).decode(errors="replace")
            shown = shown[shown.index(text) + len(text):]

        def wait_until_it_reads():
            for _ in range(100):
                stat = pathlib.Path(f"/proc/{program.pid}/stat")
                if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "S":
                    return  # the only thing it waits for after its prompt
                time.sleep(0.05)

        wait_for("> ")
        wait_until_it_reads()
        os.write(terminal, b"\x03")
        wait_for("/quit or Ctrl-D ends the chat")
        wait_for("> ")
        os.write(terminal, b"And the king said\n")
        wait_for("\n")
        wait_for(" ")  # of the answer
        os.write(terminal, b"\x03")
        wait_for("[interrupted]")
        wait_for("> ")
        os.write(terminal, b"/undo\n")
        wait_for("> ")
        os.write(terminal, b"\x04")
        wait_for("context 0 of")
        self.assertEqual(program.wait(TIMEOUT), 0)


# Two chunks as format version 1 has them: a pointer, and 1000 bytes of tokens' state, split and compressed.
POINTER_KEY = "1cdf95bd12e993d5aaf216f5f4ac1148b4b003ed0a253b781b25866eeaa27af3"
POINTER = bytes.fromhex("536b616c6443686b010004000000000020000000000000002000000000000000" + POINTER_KEY +
                        "be42de1b499ba224" + "70" * 32)
TOKENS_KEY = "c51e455b41df6c017327e16001dd064b8b6733faeaa69b23d9bd79c8079237d5"
TOKENS = bytes.fromhex("536b616c6443686b0100010103000000e8030000000000003600000000000000" + TOKENS_KEY +
                       "64fe177877ec5d7813000000000000001300000000000000" +
                       "28b52ffd60f4004d00001074740100ef2ac002" * 2)


class Store(TestCase):
    def setUp(self):
        if "built without" in skald("store", "tests").stderr:
            self.skipTest("this program was built without skald::store")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.pointer = self.put(POINTER_KEY, POINTER, last_used=2_000_000_000)
        self.tokens = self.put(TOKENS_KEY, TOKENS, last_used=1_000_000_000)

    def put(self, key, value, last_used):
        path = self.folder / key[:2] / key
        path.parent.mkdir()
        path.write_bytes(value)
        os.utime(path, (last_used, last_used))
        return path

    def test_list(self):
        out, err = self.run_skald("store", self.folder)
        self.assertEqual([line.split() for line in out.splitlines()], [
            [TOKENS_KEY, "tokens", "126", "1000", "split+zstd"],
            [POINTER_KEY, "pointer", "104", "32", "none"],
            "2 chunks, 230 bytes, 1032 bytes of content".split()])
        self.assertEqual(err, "")
        self.assertEqual(out, self.run_skald("store", self.folder)[0])  # a look is no use

    def test_verify(self):
        self.assertEqual(self.run_skald("store", self.folder, "--verify")[0],
                         "whole: 2 chunks, 230 bytes; damaged: 0 chunks, 0 bytes\n")
        self.tokens.write_bytes(TOKENS[:-1] + b"!")
        done = skald("store", self.folder, "--verify")
        self.assertEqual((done.returncode, done.stdout),
                         (1, "whole: 1 chunk, 104 bytes; damaged: 1 chunk, 126 bytes\n"))
        self.assertRegex(done.stderr, rf"\Askald: chunk {TOKENS_KEY} is damaged: checksum: .*\n\Z")

    def test_what_is_no_chunk(self):
        self.tokens.write_bytes(b"")
        out, err = self.run_skald("store", self.folder)
        self.assertIn(f"{TOKENS_KEY} damaged", out)
        self.assertIn("2 chunks, 104 bytes, 32 bytes of content", out)
        self.assertRegex(err, rf"\Askald: chunk {TOKENS_KEY} is damaged: expected at least 72 bytes, found 0\n\Z")

    def test_prune(self):
        self.assertEqual(self.run_skald("store", self.folder, "--prune", "230")[0], "dropped: 0 chunks, 0 bytes\n")
        self.assertEqual(self.run_skald("store", self.folder, "--prune", "229", "--verify")[0],
                         "dropped: 1 chunk, 126 bytes\nwhole: 1 chunk, 104 bytes; damaged: 0 chunks, 0 bytes\n")
        self.assertTrue(self.pointer.exists())
        self.run_skald("store", self.folder, "--prune", "0")
        self.assertEqual(self.run_skald("store", self.folder)[0], "0 chunks, 0 bytes, 0 bytes of content\n")

    def test_folders_that_are_none(self):
        for folder, pattern in (("no-such-folder", "no-such-folder: no such folder"),
                                (self.tokens, ".*: Not a directory")):
            done = skald("store", folder)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, rf"\Askald: {pattern}\n\Z")
        self.assertFalse(pathlib.Path("no-such-folder").exists())


class Help(TestCase):
    def test_help_mentions_every_flag(self):
        flags = set(re.findall(r'"(?:-\w,)?(--[a-z0-9-]+)"', OPTIONS_SOURCE.read_text()))
        self.assertGreater(len(flags), 20)
        helps = [self.run_skald(*command, "--help")[0] for command in ([], ["generate"], ["chat"], ["inspect"], ["store"])]
        self.assertEqual([], [flag for flag in flags if not any(flag in text for text in helps)])
        for text in helps:
            self.assertIn("Examples:", text)
            self.assertLess(max(map(len, text.splitlines())), 100)

    def test_version_and_models(self):
        self.assertRegex(self.run_skald("--version")[0], r"\Askald \d+\.\d+\.\d+\n\Z")
        models = self.run_skald("models")[0].split()
        self.assertLess({"demo", "stories15m", "tinyllama-1.1b", "gemma2-2b", "gemma3-1b", "qwen3-0.6b"}, set(models))


class Mistakes(TestCase):
    def refused(self, exit_code, pattern, *arguments):
        """Expects a clear sentence on stderr, nothing else, and nothing on stdout."""
        with self.subTest(arguments):
            done = skald(*arguments)
            self.assertEqual((done.returncode, done.stdout), (exit_code, ""), done.stderr)
            lines = done.stderr.splitlines()
            self.assertRegex(lines[0], r"\Askald: " + pattern)
            self.assertEqual(lines[1:], ["Try 'skald --help'."] if exit_code == 2 else [])

    def test_usage(self):
        self.refused(2, "One of the commands generate, chat, models, inspect and store is required")
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
                    (["--kv-type", "f16"], "--kv-type: f16 not in .*bf16"),
                    (["--model"], ".*--model")):
                self.refused(2, pattern, command, *arguments)
        self.refused(2, "give only one of --prompt, --prompt-file and --token-ids", "generate", "--prompt", "a",
                     "--token-ids", "1")
        self.refused(2, ".*--token-ids", "generate", "--token-ids", "1,x")
        self.refused(2, "DIR is required", "store")
        self.refused(2, "--prune: .*unit", "store", "no-such-folder", "--prune", "5 apples")
        self.refused(2, "--prune: expected 0 to .*", "store", "no-such-folder", "--prune", "-1")

    def test_models_that_are_none(self):
        model = self.copy_of_demo()
        self.refused(1, "no-such-folder: no such folder", "generate", "--model", "no-such-folder")
        self.refused(1, ".*data/config.json: cannot be read", "generate", "--model", "tests/text/data")

        (model / "model.safetensors").write_bytes((DEMO / "model.safetensors").read_bytes()[:100000])
        self.refused(1, ".*model.safetensors: ", "chat", "--model", model)
        (model / "model.safetensors").unlink()
        self.refused(1, ".*expected model.safetensors", "chat", "--model", model)

        config = json.loads((DEMO / "config.json").read_text())
        (model / "config.json").write_text(json.dumps(config | {"hidden_size": 320}))
        self.refused(1, ".*config.json: no Config fits; the nearest, demo, differs in .*320.*256", "chat", "--model", model)
        (model / "config.json").write_text(json.dumps(config | {"model_type": "rwkv"}))
        self.refused(1, ".*model_type.*rwkv", "chat", "--model", model)
        (model / "config.json").write_text("not JSON")
        self.refused(1, ".*config.json is not well-formed JSON", "chat", "--model", model)

    def test_tokenizers_that_do_not_fit(self):
        model = self.copy_of_demo()
        self.refused(1, ".*nothing.model: no such file", "chat", "--tokenizer", "nothing.model")
        self.refused(1, ".*CMakeLists.txt: not a SentencePiece model", "chat", "--tokenizer", "CMakeLists.txt")
        self.refused(1, ".*gemma_style.model: the tokenizer has .* do not belong together", "generate", "--tokenizer",
                     OTHER_TOKENIZER)
        self.refused(1, ".*gemma needs the piece <start_of_turn>", "generate", "--chat-template", "gemma")
        (model / "tokenizer.model").unlink()
        self.refused(1, ".*tokenizer.model: no such file", "chat", "--model", model)
        (model / "tokenizer.json").write_text("{}")
        self.refused(1, ".*only SentencePiece tokenizers.*--token-ids", "chat", "--model", model)

    def test_prompts_that_do_not_fit(self):
        model = self.copy_of_demo()
        self.refused(1, "there is no prompt: give --prompt", "generate", "--model", model)
        self.refused(1, "no-such-file: cannot be read", "generate", "--prompt-file", "no-such-file")
        self.refused(1, "the prompt has 6 tokens, but only 3 of the context's 3 are left", "generate", "--max-context", 3)
        self.refused(1, "logit bias for token 2048, but there are 2048 logits", "generate", "--logit-bias", "2048=1")
        self.refused(1, ".*token 1 has the id 2048, expected 0 to 2047", "generate", "--token-ids", "1,2048", "--no-echo")
        self.refused(1, ".*block pool is full", "generate", "--cache-bytes", "1KB", "--no-echo")


if __name__ == "__main__":
    unittest.main()
