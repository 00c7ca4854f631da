#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A request counts as its prompts times n, for its key and for all: many_prompts_test.py PROGRAM."""

import sys
import time
import unittest

from running_server import RunningServer, temporary_folder
from unread_stream import UnreadStream

PROGRAM = sys.argv[1]


def headers(key):
    return {"Authorization": f"Bearer {key}"}


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class ManyPrompts(unittest.TestCase):
    def test_a_key_has_so_many_answers(self):
        with temporary_folder() as folder:
            keys = folder + "/keys"
            with open(keys, "w") as file:
                file.write("key-one alice max_requests=4\nkey-two bob\n")
            with RunningServer(PROGRAM, "--api-keys", keys) as server:
                def status(key, prompts, samples, path="/v1/completions", field="prompt"):
                    body = {field: ["And"] * prompts, **({} if field == "input" else {"n": samples, "max_tokens": 1})}
                    return server.post(path, body, headers(key))
                self.assertEqual(status("key-one", 2, 2)[0], 200)
                for prompts, samples in [(5, 1), (1, 5), (2, 3)]:
                    got, answer = status("key-one", prompts, samples)
                    self.assertEqual(got, 400, answer)
                    self.assertIn("this key may have 4 at a time", answer["error"]["message"])
                self.assertEqual(status("key-one", 5, 1, "/v1/embeddings", "input")[0], 400)
                self.assertEqual(status("key-two", 5, 2)[0], 200)

    def test_the_queue_is_bounded(self):
        with RunningServer(PROGRAM, "--users", "1", "--queue", "15") as server:
            status, answer = server.post("/v1/completions", {"prompt": ["And"] * 3, "n": 6, "max_tokens": 1})
            self.assertEqual(status, 400, answer)
            self.assertIn("asks for 18 answers, prompts times n; this server takes 16 at a time", answer["error"]["message"])
            # Nearly six megabytes, which no buffer holds.
            body = {"prompt": ["And"] * 2, "n": 7, "max_tokens": 500, "logprobs": 20, "ignore_eos": True}
            with UnreadStream(server, body, "/v1/completions"):
                status, found, data = server.request("POST", "/v1/completions", {"prompt": "And", "n": 3, "max_tokens": 1})
                self.assertEqual((status, found.get("Retry-After")), (429, "1"), data)
            # The counts of a request that was abandoned go with it.
            wait_for(lambda: server.post("/v1/completions", {"prompt": "And", "n": 16, "max_tokens": 1})[0] == 200)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
