#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every numbered example and checks what it prints.

usage: numbered_examples_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, "tests/support")
from running_redis import RunningRedis  # noqa: E402

EXAMPLES = pathlib.Path("examples")
EXECUTABLES = pathlib.Path(sys.argv.pop(1)).resolve()


def run(name, *arguments):
    return subprocess.run([EXECUTABLES / name, *arguments], capture_output=True, text=True, timeout=120)


def is_built(name):
    """Examples that need optional libraries are not, where those are missing."""
    return (EXECUTABLES / name).exists()


class NumberedExamples(unittest.TestCase):
    def output(self, name, *arguments):
        done = run(name, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def chat(self, lines, *arguments):
        return subprocess.run([EXECUTABLES / "01_chat", *arguments], input=lines, capture_output=True, text=True,
                              timeout=120)

    def test_chat(self):
        done = self.chat("And the king said\nunto the people\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"\A> \W*\w[^\0]*\n> \W*\w[^\0]*\n> \Z")
        self.assertEqual(done.stdout, self.chat("And the king said\nunto the people\n").stdout)
        # More messages than the context holds.
        done = self.chat("And he said unto them\n" * 6)
        self.assertEqual((done.returncode, done.stderr, done.stdout.count("> ")), (0, "", 7))
        done = self.chat("", "no-such-folder")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\Ano-such-folder: .*\n\Z")

    def test_the_first_program_of_readme_is_the_first_example(self):
        code = re.search(r"```cpp\n(.*?)```", pathlib.Path("README.md").read_text(), re.DOTALL)[1]
        program = re.sub(r"^//.*\n", "", (EXAMPLES / "01_chat.cc").read_text(), flags=re.MULTILINE).lstrip()
        self.assertEqual(code, program)
        self.assertLess(len([line for line in program.splitlines() if line]), 20)

    def test_forward_and_sample(self):
        text = self.output("05_forward_and_sample")
        self.assertRegex(text, r"^In the beginning \w+")
        self.assertGreater(len(text), 100)
        self.assertEqual(text, self.output("05_forward_and_sample"))

    def test_two_conversations(self):
        first, second = self.output("06_two_conversations").strip().split("\n\n")
        self.assertRegex(first, r"^And God said\W+\w+")
        self.assertRegex(second, r"^The king of Babylon\W+\w+")

    def test_own_config(self):
        text = self.output("11_own_config")
        logprobs = [float(value) for value in re.findall(r"^  \S+  (-[\d.]+)$", text, re.MULTILINE)]
        self.assertEqual(len(logprobs), 5)
        self.assertEqual(logprobs, sorted(logprobs, reverse=True))
        self.assertRegex(text, r"With a wrong Config: .*config\.json: .*rope_theta \(100000, expected 10000\)")

    @unittest.skipUnless(is_built("02_engine"), "built without skald::store")
    def test_engine(self):
        text = self.output("02_engine")
        answers = dict((match[1], match) for match in re.finditer(
            r"request (\d, sample \d): (\d+) tokens of prompt \((\d+) known\), (\d+) drawn, (\d+) of them guessed\n"
            r"((?:.|\n)*?)\n\n", text))
        self.assertEqual(sorted(answers), ["1, sample 0", "1, sample 1", "2, sample 0", "3, sample 0"])
        self.assertNotEqual(answers["1, sample 0"][6], answers["1, sample 1"][6])
        self.assertEqual(answers["1, sample 1"][2], answers["1, sample 1"][3])
        self.assertNotIn(".", answers["2, sample 0"][6])

    @unittest.skipUnless(is_built("03_json"), "built without skald::store")
    def test_json(self):
        answers = [json.loads(line) for line in self.output("03_json").splitlines()]
        self.assertEqual(len(answers), 3)
        for answer in answers:
            self.assertEqual(list(answer), ["name", "age", "tribe", "sons"])
            self.assertIn(answer["tribe"], ["Levi", "Judah", "Benjamin"])
            self.assertIn(answer["age"], range(970))
            self.assertIn(len(answer["sons"]), [1, 2, 3])

    @unittest.skipUnless(is_built("04_speculation"), "built without skald::store")
    def test_speculation(self):
        text = self.output("04_speculation")
        runs = re.findall(r"^(.*): (\d+) steps, (\d+) of (\d+) guesses right, the same text$", text, re.MULTILINE)
        self.assertEqual([run[0] for run in runs], ["nobody", "prompt lookup", "pairs", "pairs again"])
        self.assertEqual(runs[0][2:], ("0", "0"))
        for _, steps, right, _ in runs:
            self.assertLessEqual(int(steps) + int(right), int(runs[0][1]) + 1)
        self.assertGreater(int(runs[3][2]), 0)

    def test_fork(self):
        text = self.output("07_fork")
        trunk = int(re.search(r"tokens in common: (\d+) bytes", text)[1])
        own = [int(value) for value in re.findall(r", (\d+) bytes of its own", text)]
        everything = int(re.search(r"All five caches: (\d+) bytes", text)[1])
        self.assertEqual(len(own), 4)
        self.assertLess(max(own), trunk)
        self.assertEqual(everything, trunk + sum(own))
        alternatives = re.findall(r"^\.\.\.(.*)  \(log", text, re.MULTILINE)
        self.assertEqual(len(set(alternatives)), 4)

    def test_batch(self):
        text = self.output("08_batch")
        steps = re.findall(r"^step \d computes tokens of each conversation:([ \d]+)$", text, re.MULTILINE)
        counts = [[int(count) for count in step.split()] for step in steps]
        self.assertEqual([len(step) for step in counts], [1, 2, 3, 3])
        self.assertEqual((counts[1][0], counts[2][:2], counts[3]), (1, [1, 1], [1, 1, 1]))
        self.assertGreater(counts[1][1], counts[0][0])
        for begin in ("Hear, O Israel", "And it came to pass, when all the kings", "Woe"):
            self.assertRegex(text, rf"(?m)^{begin}\W*\w+")

    def test_own_executor(self):
        text = self.output("14_own_executor")
        self.assertGreater(int(re.search(r"handed (\d+) operations", text)[1]), 0)
        self.assertIn("The logits are the same on both.", text)

    def test_hybrid(self):
        text = self.output("12_hybrid")
        self.assertIn("can resume at 246 to 250", text)
        self.assertIn("cannot rewind to position 150", text)
        self.assertIn("the nearest earlier resume point is 100", text)
        self.assertIn("computed again: the same bits", text)

    def test_own_layer(self):
        self.assertIn("rewound and computed again: the same bits", self.output("13_own_layer"))

    def test_logit_lens(self):
        text = self.output("10_logit_lens")
        pieces = re.findall(r"^after \d+ blocks: (.*)$", text, re.MULTILINE)
        decided, blocks = map(int, re.search(r"decided by block (\d+) of (\d+)", text).groups())
        self.assertEqual(len(pieces), blocks + 1)
        self.assertEqual(set(pieces[decided:]), {pieces[-1]})
        self.assertNotEqual(pieces[decided - 1], pieces[-1])

    def test_causal_tracing(self):
        lines = self.output("15_causal_tracing").splitlines()
        first, second = re.fullmatch(r"first: (.*), second: (.*)", lines[0]).groups()
        self.assertNotEqual(first, second)
        tokens = lines[1].split()
        rows = [[int(share) for share in re.findall(r"(-?\d+)%", line)] for line in lines[2:]]
        self.assertEqual([len(row) for row in rows], [len(tokens)] * 8)
        # In front of the model all is in the word that differs, and in the end all that matters is in the last one.
        self.assertEqual(sorted(rows[0]), [0] * (len(tokens) - 1) + [100])
        self.assertGreater(rows[-1][-1], 50)

    def test_redis_server_loop(self):
        name = "09_redis_server_loop"
        if not is_built(name):
            self.skipTest("hiredis is not installed")
        if not RunningRedis.is_installed:
            self.skipTest("redis-server is not installed")
        redis = RunningRedis()
        self.addCleanup(redis.stop)
        port = str(redis.port)
        text = self.output(name, "examples/demo_model", port)
        turns = re.findall(r"^Picked up (\d+) tokens of (.+)\n(.*)", text, re.MULTILINE)
        counts = [int(count) for count, _, _ in turns]
        self.assertEqual([name == "a new conversation" for _, name, _ in turns], [True, True, False, False])
        for earlier, later in ((1, 2), (0, 3)):
            self.assertGreaterEqual(counts[later], counts[earlier] + 13)
            self.assertTrue(turns[later][2].startswith(turns[earlier][2]))
        self.assertEqual(text, self.output(name, "examples/demo_model", port))
        done = run(name, "examples/demo_model", "1")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\ARedis server 127\.0\.0\.1:1: cannot connect: .*\n\Z")

    def test_a_missing_model_is_reported(self):
        for source in EXAMPLES.glob("[0-9]*.cc"):
            if "MODEL_FOLDER" not in source.read_text() or not is_built(source.stem):
                continue
            with self.subTest(source.name):
                done = run(source.stem, "no-such-folder")
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertRegex(done.stderr, r"\Ano-such-folder/tokenizer\.model: .*\n\Z")

    def test_examples_stay_small_and_say_how_to_run_them(self):
        for source in EXAMPLES.glob("[0-9]*.cc"):
            with self.subTest(source.name):
                self.assertTrue(hasattr(self, f"test_{source.stem[3:]}"), "has no test here")
                lines = source.read_text().splitlines()
                self.assertLess(len(lines), 100)
                comment = [line for line in lines[:12] if line.startswith("//")]
                command = f"//   build/release/examples/{source.stem}"
                self.assertTrue(any(line.startswith(command) for line in comment))


if __name__ == "__main__":
    unittest.main()
