#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A smaller model guesses tokens, and changes no answer: draft_test.py PROGRAM."""

import os
import re
import subprocess
import sys
import unittest

from running_server import RunningServer

PROGRAM = sys.argv[1]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DEMO = os.path.join(ROOT, "examples", "demo_model")
OTHER = os.path.join(ROOT, "tests", "golden", "data", "stories260K")


def answers(server):
    found = []
    for temperature in (0, 0.8, 1.5):
        for seed in range(3):
            body = {"prompt": "And it came to pass", "max_tokens": 40, "temperature": temperature, "seed": seed}
            status, answer = server.post("/v1/completions", body)
            assert status == 200, answer
            found.append(answer["choices"][0]["text"])
    return found


class Draft(unittest.TestCase):
    def test_answers_are_those_of_the_model_alone(self):
        with RunningServer(PROGRAM, "--model", DEMO) as server:
            expected = answers(server)
        # As its own draft the model is right as often as can be.
        with RunningServer(PROGRAM, "--model", DEMO, "--draft-model", DEMO) as server:
            self.assertEqual(answers(server), expected)
            metrics = server.request("GET", "/metrics")[2].decode()
        accepted = float(re.search(r"^skald_accepted_tokens_total(?:\{[^}]*\})? ([0-9.e+]+)", metrics, re.MULTILINE)[1])
        self.assertGreater(accepted, 100)

    def refused(self, *options):
        done = subprocess.run([PROGRAM, "serve", "--port", "0", "--model", DEMO, *options], capture_output=True, text=True,
                              timeout=60)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_another_vocabulary_is_refused(self):
        self.assertRegex(self.refused("--draft-model", OTHER),
                         r"--draft-model: .*has a vocabulary of 512 tokens, expected the model's 2048")

    def test_one_of_two_guesses(self):
        self.assertIn("--prompt-lookup", self.refused("--draft-model", DEMO, "--prompt-lookup"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
