#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stop strings, biases and the like are bounded, and do not take memory once for each sample: stop_strings_test.py
PROGRAM."""

import sys
import unittest

from running_server import RunningServer

PROGRAM = sys.argv[1]


def megabytes(server):
    with open(f"/proc/{server.process.pid}/status") as file:
        return next(int(line.split()[1]) // 1024 for line in file if line.startswith("VmHWM"))


class StopStrings(unittest.TestCase):
    def test_they_are_bounded(self):
        with RunningServer(PROGRAM, "--users", "64") as server:
            before = megabytes(server)
            body = {"prompt": ["And"] * 4, "n": 128, "max_tokens": 1}
            for path, field, more in [("/v1/completions", "stop", body),
                                      ("/v1/chat/completions", "stop", {"messages": [{"role": "user", "content": "x"}]}),
                                      ("/v1/messages", "stop_sequences", {"messages": [{"role": "user", "content": "x"}],
                                                                          "max_tokens": 1})]:
                status, answer = server.post(path, {**more, field: ["a" * 500_000] * 4})
                self.assertEqual(status, 400, answer)
                self.assertIn("4096 bytes in all", answer["error"]["message"])
            status, answer = server.post("/v1/completions", {**body, "stop": ["\x00" * 1024] * 4})
            self.assertEqual((status, len(answer.get("choices", []))), (200, 512), answer)
            self.assertLess(megabytes(server) - before, 300)

    def test_biases_are_counted_for_each_answer(self):
        with RunningServer(PROGRAM) as server:
            biases = {str(i): 1 for i in range(200)}
            body = {"prompt": ["And"] * 512, "n": 128, "max_tokens": 1, "logit_bias": biases}
            with RunningServer(PROGRAM, "--queue", "100000") as wide:
                status, answer = wide.post("/v1/completions", body)
                self.assertEqual((status, answer["error"].get("param")), (400, "logit_bias"), answer)
            self.assertEqual(server.post("/v1/completions", {**body, "prompt": "And", "n": 2})[0], 200)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
