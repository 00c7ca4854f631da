#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Conversations are kept, whatever happens to the server or is in its folder: kept_test.py PROGRAM."""

import json
import os
import sys
import unittest

from running_server import RunningServer, temporary_folder
from unread_stream import UnreadStream

PROGRAM = sys.argv[1]
ARGUMENTS = ["--max-context", "1024", "-t", "1"]
# An answer of more than six megabytes, which no buffer holds.
LONG = ["--max-context", "4096", "-t", "1"], {"max_tokens": 3500, "ignore_eos": True, "logprobs": True, "top_logprobs": 20}


def say(text, conversation, **fields):
    messages = [{"role": "user", "content": text}] if text else []
    return {"conversation": conversation, "messages": messages, "max_tokens": 6, "seed": 1, **fields}


class Killed(unittest.TestCase):
    def test_what_the_user_said_is_there(self):
        with temporary_folder() as state:
            arguments, fields = LONG
            server = RunningServer(PROGRAM, *arguments, "--state", state)
            name = server.post("/v1/conversations", {})[1]["id"]
            self.assertEqual(server.post("/v1/chat/completions", say("First", name))[0], 200)
            with UnreadStream(server, say("Second", name, **fields)) as stream:
                self.assertIn(b" 200 ", stream.begin)
                server.kill()
            with RunningServer(PROGRAM, *arguments, "--state", state) as again:
                messages = again.get(f"/v1/conversations/{name}")[1]["messages"]
                self.assertEqual([m["role"] for m in messages], ["user", "assistant", "user"])
                self.assertEqual(messages[2]["content"], "Second")
                # The turn is answered, then another one.
                self.assertEqual(again.post("/v1/chat/completions", say("", name))[0], 200)
                self.assertEqual(again.post("/v1/chat/completions", say("Third", name))[0], 200)
                messages = again.get(f"/v1/conversations/{name}")[1]["messages"]
                self.assertEqual([m["role"] for m in messages], ["user", "assistant"] * 3)


class Files(unittest.TestCase):
    def test_files_that_are_none(self):
        with temporary_folder() as state:
            with RunningServer(PROGRAM, *ARGUMENTS, "--state", state) as server:
                good = server.post("/v1/conversations", {"messages": [{"role": "user", "content": "a"}]})[1]["id"]
            folder = os.path.join(state, "conversations")
            with open(os.path.join(folder, good + ".json")) as file:
                text = file.read()
            bad = {"tenant": '{"id": "conv_tenant", "messages": [], "tenant": [1]}',
                   "title": text.replace('"title":""', '"title":[1]').replace(good, "conv_title"),
                   "created": '{"id": "conv_created", "messages": [], "created": "x"}',
                   "messages": '{"id": "conv_messages", "messages": [1]}',
                   "content": '{"id": "conv_content", "messages": [{"role": "user", "content": [1]}]}',
                   "id": text, "empty": "", "deep": "[" * 100000, "binary": "\0\1\2"}
            for name, content in bad.items():
                with open(os.path.join(folder, f"conv_{name}.json"), "w") as file:
                    file.write(content)
            os.symlink("nowhere", os.path.join(folder, "conv_link.json"))
            os.mkdir(os.path.join(folder, "conv_folder.json"))
            with RunningServer(PROGRAM, *ARGUMENTS, "--state", state) as server:
                self.assertEqual([c["id"] for c in server.get("/v1/conversations")[1]["data"]], [good])
                for name in [*bad, "link", "folder"]:
                    self.assertEqual(server.get(f"/v1/conversations/conv_{name}")[0], 404, name)
                    lines = [line for line in server.log if f"conv_{name}.json" in line]
                    self.assertEqual(len(lines), 1, (name, server.log))
                    self.assertIn("passed over", lines[0])
                self.assertEqual(server.post("/v1/chat/completions", say("", good))[0], 200)

    def test_files_of_an_earlier_release(self):
        with temporary_folder() as state, temporary_folder() as other:
            folder, keys = os.path.join(state, "conversations"), os.path.join(other, "keys")
            os.makedirs(folder)
            with open(keys, "w") as file:
                file.write("key-one alice\nkey-two bob\n")
            for name, tenant in [("conv_a", "alice"), ("conv_b", "bob"), ("conv_nobody", "")]:
                with open(os.path.join(folder, name + ".json"), "w") as file:
                    json.dump({"id": name, "object": "conversation", "title": tenant, "created": 1, "updated": 2, "parent": None,
                               "parent_messages": None, "model": None, "message_count": 1,
                               "messages": [{"role": "user", "content": "And it"}], "tenant": tenant}, file)
            with RunningServer(PROGRAM, *ARGUMENTS, "--state", state, "--api-keys", keys) as server:
                for key, name in [("key-one", "conv_a"), ("key-two", "conv_b")]:
                    headers = {"Authorization": f"Bearer {key}"}
                    listed = server.get("/v1/conversations", headers)[1]["data"]
                    self.assertEqual([(c["id"], c["message_count"]) for c in listed], [(name, 1)])
                    self.assertEqual(server.post("/v1/chat/completions", say("", name), headers)[0], 200)
            with RunningServer(PROGRAM, *ARGUMENTS, "--state", state) as server:
                self.assertEqual([c["id"] for c in server.get("/v1/conversations")[1]["data"]], ["conv_nobody"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
