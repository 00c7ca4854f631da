#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests of many small things cost what they hold, not the square of it: squares_test.py PROGRAM. Where something were
searched or copied once for each of them, a request would take minutes of the CPU; the limit is such as only that exceeds.
The clock on the wall would also count what others do on the machine: requests are prepared at a low priority."""

import json
import os
import re
import sys
import unittest

from running_server import RunningServer, temporary_folder, tool_model

PROGRAM = sys.argv[1]
MANY = 100_000
SECONDS = 60
CHAT = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}


def setUpModule():
    global server, folder
    folder = temporary_folder()
    demo = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "demo_model")
    server = RunningServer(PROGRAM, "--model", tool_model(demo, folder.name))


def tearDownModule():
    assert server.stop() == 0
    folder.cleanup()


# Time on the CPU that the server has taken, of all its threads.
def cpu_seconds():
    with open(f"/proc/{server.process.pid}/stat") as file:
        user, system = file.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Squares(unittest.TestCase):
    def quick(self, path, body, statuses):
        begun = cpu_seconds()
        status, _, data = server.request("POST", path, body, timeout=600)
        self.assertIn(status, statuses, data[:200])
        self.assertLess(cpu_seconds() - begun, SECONDS)
        return json.loads(data)

    def test_names_of_an_object(self):
        names = {f"name{i}": i for i in range(MANY)}
        self.quick("/v1/messages/count_tokens", {"messages": CHAT["messages"], **names}, [200])
        self.quick("/v1/chat/completions", {**CHAT, "chat_template_kwargs": names}, [200, 400])

    def test_logit_bias(self):
        bias = "{" + ",".join(f'"{i % 256}":1' for i in range(MANY)) + "}"
        self.quick("/v1/chat/completions", json.dumps(CHAT)[:-1] + ', "logit_bias": ' + bias + "}", [200])

    def test_tools(self):
        tools = [{"name": f"tool{i}", "input_schema": {}} for i in range(MANY)] + [{"name": "tool0", "input_schema": {}}]
        error = self.quick("/v1/messages/count_tokens", {"messages": CHAT["messages"], "tools": tools}, [400])
        self.assertIn("two tools named 'tool0'", error["error"]["message"])

    def test_blocks_of_a_message(self):
        blocks = [{"type": "text", "text": "a"}] * MANY
        self.quick("/v1/messages/count_tokens", {"messages": [{"role": "user", "content": blocks}]}, [200, 400])

    def test_messages(self):
        messages = [{"role": ("user", "assistant")[i % 2], "content": f"message {i} " + "x" * 500} for i in range(4001)]
        self.quick("/v1/messages/count_tokens", {"messages": messages}, [200, 400])

    def test_prompts_that_cannot_fit_are_not_encoded(self):
        text = "And it came to pass in those days. " * 60_000
        for path, body in (("/v1/completions", {"prompt": text}),
                           ("/v1/completions", {"prompt": ["And", text]}),
                           ("/v1/chat/completions", {"messages": [{"role": "user", "content": text}]}),
                           ("/v1/responses", {"input": text})):
            error = self.quick(path, {**body, "max_output_tokens" if "input" in body else "max_tokens": 1}, [400])["error"]
            self.assertEqual(error["code"], "context_length_exceeded")
            self.is_estimate(error["message"])
        error = self.quick("/v1/messages", {"messages": [{"role": "user", "content": text}], "max_tokens": 1}, [400])
        self.is_estimate(error["error"]["message"])
        # A request that fits is counted by its tokens, even if its client has gone.
        self.assertEqual(self.quick("/v1/completions", {"prompt": "And it came", "max_tokens": 1}, [200])["object"],
                         "text_completion")
        self.assertGreater(len(self.quick("/tokenize", {"content": text}, [200])["tokens"]), 100_000)

    # Encoding the text would give more.
    def is_estimate(self, message):
        tokens = re.match("prompt is too long: ([0-9]+) tokens > 512 maximum", message)
        self.assertLess(int(tokens[1]), 200_000)

    def test_counts_are_limited(self):
        names = ",".join(f'"{i}":0' for i in range(300_000))
        error = self.quick("/tokenize", '{"content": {' + names + "}}", [400])
        self.assertIn("an object of more than 262144 names", error["error"]["message"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
