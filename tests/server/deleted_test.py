#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A deleted conversation leaves nothing except the beginnings that others share: deleted_test.py PROGRAM."""

import os
import sys
import unittest

from running_server import RunningServer, temporary_folder

PROGRAM = sys.argv[1]
ARGUMENTS = ["--max-context", "1024", "-t", "1"]
TEXT = "And it came to pass in the days of the king that a man went out of the city and said behold " * 4


def say(text, **fields):
    return {"messages": [{"role": "user", "content": text}], "max_tokens": 8, "temperature": 0, **fields}


class Deleted(unittest.TestCase):
    def files(self):
        return {os.path.join(place, name) for place, _, names in os.walk(self.state) for name in names}

    def turns(self, server, name, texts):
        for text in texts:
            self.assertEqual(server.post("/v1/chat/completions", say(text, conversation=name))[0], 200)

    # Tokens that are known of a prompt which begins with that conversation.
    def known(self, server, messages):
        body = {"messages": [*messages, {"role": "user", "content": "And then"}], "max_tokens": 1}
        return server.post("/v1/chat/completions", body)[1]["usage"]["prompt_tokens_details"]["cached_tokens"]

    def test_nothing_is_left_but_what_others_share(self):
        with temporary_folder() as self.state:
            arguments = [*ARGUMENTS, "--state", self.state]
            with RunningServer(PROGRAM, *arguments) as server:
                whole = server.post("/v1/conversations", {})[1]["id"]
                self.turns(server, whole, ["First " + TEXT])
                fork = server.post(f"/v1/conversations/{whole}/fork", {"messages": 2})[1]["id"]
                self.turns(server, whole, ["Second " + TEXT])
                messages = server.get(f"/v1/conversations/{whole}")[1]["messages"]
                server.wait_for_metric("skald_store_writes_waiting 0")
                before = self.files()
                self.assertEqual(server.request("DELETE", f"/v1/conversations/{whole}")[0], 200)
                server.wait_for_metric("skald_store_writes_waiting 0")
                gone = before - self.files()
                self.assertGreater(len(gone), 2)  # more than the conversation's file: chunks too
                for path in gone:
                    self.assertFalse(fork in path)
                # The fork goes on from what it shares.
                answer = server.post("/v1/chat/completions", say("Other", conversation=fork))[1]
                self.assertGreater(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 64)
                shared = answer["usage"]["prompt_tokens"]
                self.assertLessEqual(self.known(server, messages), shared)
                self.assertEqual(server.request("DELETE", f"/v1/conversations/{fork}")[0], 200)
            with RunningServer(PROGRAM, *arguments) as server:
                self.assertEqual(server.get("/v1/conversations")[1]["data"], [])

    def test_whoever_reads_while_it_is_deleted_finds_it_or_not(self):
        with temporary_folder() as self.state, RunningServer(PROGRAM, *ARGUMENTS, "--state", self.state) as server:
            name = server.post("/v1/conversations", {})[1]["id"]
            # As it is for a moment in every deletion: the file has gone, and the entry is there.
            os.remove(next(path for path in self.files() if name in path))
            self.assertEqual(server.get(f"/v1/conversations/{name}")[0], 404)
            self.assertEqual(server.post(f"/v1/conversations/{name}/fork", {})[0], 404)
            self.assertEqual(server.post("/v1/chat/completions", say("a", conversation=name))[0], 404)
            self.assertEqual(server.request("DELETE", f"/v1/conversations/{name}")[0], 200)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
