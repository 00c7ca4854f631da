#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JSON of any depth, in a request or in a text inside of one, is an error or a text, never the end of the server:
depth_test.py PROGRAM."""

import json
import sys
import unittest

import forged_state
from running_server import RunningServer

PROGRAM = sys.argv[1]
# A function that called itself for each of these would need more than every stack has.
DEPTH = 100_000
DEEP = {"arrays": '{"a":' + "[" * DEPTH + "]" * DEPTH + "}", "objects": '{"a":' * DEPTH + "1" + "}" * DEPTH,
        "cut short": '{"a":' + "[" * DEPTH}


def setUpModule():
    global server
    server = RunningServer(PROGRAM, "--max-context", "4096")


def tearDownModule():
    status, _, _ = server.request("GET", "/health")
    assert status == 200, status
    assert server.stop() == 0


def call_of(arguments):
    return {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": arguments}}


def messages(arguments):
    return [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "tool_calls": [call_of(arguments)]},
            {"role": "user", "content": "go"}]


class Depth(unittest.TestCase):
    def lives(self):
        self.assertIsNone(server.process.poll(), "the server has ended")
        self.assertEqual(server.request("GET", "/live")[0], 200)

    def test_bodies(self):
        for path in ["/v1/chat/completions", "/v1/messages", "/v1/conversations", "/tokenize"]:
            for name, text in DEEP.items():
                with self.subTest(path=path, text=name):
                    status, answer = server.post(path, text)
                    self.assertEqual(status, 400)
                    self.assertIn("nested deeper than 64 levels", answer["error"]["message"])
                    self.lives()

    def test_arguments_of_calls(self):
        for name, text in DEEP.items():
            with self.subTest(text=name):
                # A text that is no object of JSON is written as it is: the answer may be one, or an error.
                for path, body in [("/v1/chat/completions", {"messages": messages(text), "max_tokens": 1}),
                                   ("/v1/responses", {"input": [{"type": "function_call", "name": "f", "call_id": "x",
                                                                 "arguments": text},
                                                                {"role": "user", "content": "x"}],
                                                      "max_output_tokens": 1}),
                                   ("/v1/conversations", {"messages": messages(text)})]:
                    self.assertIn(server.request("POST", path, body)[0], [200, 201, 400])
                    self.lives()

    def test_arguments_that_are_as_deep_as_a_request_may_be(self):
        text = '{"a":' + "[" * 63 + "]" * 63 + "}"
        status, made = server.post("/v1/conversations", {"messages": messages(text)})
        self.assertEqual(status, 201)
        call = made["messages"][1]["tool_calls"][0]["function"]
        self.assertEqual(call["arguments"], json.loads(text))
        status, _, state = server.request("GET", f"/v1/conversations/{made['id']}/state")
        self.assertEqual(status, 200)
        status, again = server.post("/v1/conversations/import", state)
        self.assertEqual((status, again.get("messages")), (201, made["messages"]), again)

    @unittest.skipUnless(forged_state.can_forge, "there is no libxxhash or libzstd")
    def test_note_of_an_import(self):
        _, made = server.post("/v1/conversations", {"title": "t", "messages": messages("{}")})
        status, _, state = server.request("GET", f"/v1/conversations/{made['id']}/state")
        self.assertEqual(status, 200)
        for name, text in DEEP.items():
            with self.subTest(text=name):
                forged = forged_state.State(state).bytes(note=text.encode())
                self.assertEqual(server.request("POST", "/v1/conversations/import", forged)[0], 400)
                self.lives()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
