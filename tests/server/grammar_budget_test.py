#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A grammar whose masks take long delays only its own request: grammar_budget_test.py PROGRAM."""

import sys
import threading
import unittest

from attacks import ambiguous
from running_server import RunningServer

PROGRAM = sys.argv[1]


# After the first word there are twice as many ways with each letter.
DOUBLING = 'root ::= "hello " s\ns ::= t "A" | u "B" | "."\nt ::= [a-z ] s\nu ::= [a-z ] s\n'


class Budget(unittest.TestCase):
    def setUp(self):
        self.server = RunningServer(PROGRAM, "--max-context", "512")

    def tearDown(self):
        self.server.stop()

    def test_others_go_on(self):
        attack = {"prompt": "hello", "grammar": ambiguous(80, 8, 6, seed=4), "max_tokens": 5, "temperature": 2, "n": 2, "seed": 1}
        # The grammar is compiled once, so that what follows is masks alone.
        self.assertEqual(self.server.post("/v1/completions", {**attack, "n": 1, "max_tokens": 1})[0], 200)
        ends = []
        attacker = threading.Thread(target=lambda: ends.append(self.server.post("/v1/completions", attack)))
        attacker.start()
        quiet = 0
        while attacker.is_alive():
            status, answer = self.server.post("/v1/completions", {"prompt": "hi", "max_tokens": 4})
            self.assertEqual(status, 200, answer)
            quiet += 1
        attacker.join()
        # Others' steps wait for no mask: else each of theirs would be one of the attack's few.
        self.assertGreater(quiet, attack["max_tokens"])
        status, answer = ends[0]
        self.assertEqual(status, 200, answer)
        again = self.server.post("/v1/completions", attack)
        self.assertEqual([c["text"] for c in again[1]["choices"]], [c["text"] for c in answer["choices"]])

    def test_too_many_ways(self):
        messages = set()
        for seed in range(3):
            status, answer = self.server.post(
                "/v1/completions", {"prompt": "hello", "grammar": DOUBLING, "max_tokens": 40, "seed": seed})
            self.assertEqual(status, 400, answer)
            messages.add(answer["error"]["message"])
        self.assertEqual(len(messages), 1, messages)
        self.assertIn("the grammar can read this text in more ways", messages.pop())
        # The server has lost nothing.
        self.assertEqual(self.server.post("/v1/completions", {"prompt": "hi", "max_tokens": 4})[0], 200)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
