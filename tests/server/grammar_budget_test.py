#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A grammar whose masks take long delays only its own request: grammar_budget_test.py PROGRAM."""

import json
import select
import socket
import sys
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

    # Whether a long answer was there before the end of a short one whose masks take long. If steps waited for masks, it
    # would get a token with each of the other's at most.
    def goes_on_beside(self, attack):
        body, tokens = json.dumps({**attack, "stream": True}), attack["n"] * attack["max_tokens"]
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=600) as connection:
            connection.sendall(f"POST /v1/completions HTTP/1.0\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            received = [connection.recv(4096)]
            quiet = {"prompt": "hi", "max_tokens": 4 * tokens, "ignore_eos": True}
            status, answer = self.server.post("/v1/completions", quiet)
            self.assertEqual((status, answer["usage"]["completion_tokens"]), (200, 4 * tokens))
            while select.select([connection], [], [], 0)[0] and (piece := connection.recv(1 << 16)):
                received.append(piece)
            is_beside = b"[DONE]" not in b"".join(received)
            while piece := connection.recv(1 << 16):
                received.append(piece)
        texts = [""] * attack["n"]
        for line in b"".join(received).decode().split("\n"):
            for choice in json.loads(line[6:])["choices"] if line.startswith("data: {") else []:
                texts[choice["index"]] += choice["text"]
        status, again = self.server.post("/v1/completions", attack, timeout=600)
        self.assertEqual(status, 200, again)
        self.assertEqual([c["text"] for c in again["choices"]], texts)
        return is_beside

    def test_others_go_on(self):
        attack = {"prompt": "hello", "grammar": ambiguous(100, 8, 2, seed=4), "max_tokens": 5, "temperature": 2, "n": 8}
        self.assertTrue(any(self.goes_on_beside({**attack, "seed": seed}) for seed in range(20)), "others wait for masks")

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
