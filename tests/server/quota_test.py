#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The quotas of each key, in bytes and time; what a start reads: quota_test.py PROGRAM."""

import json
import os
import shutil
import sys
import time
import unittest

from running_server import RunningServer, temporary_folder

PROGRAM = sys.argv[1]
ARGUMENTS = ["--max-context", "512", "-t", "1"]
ALICE, BOB = {"Authorization": "Bearer key-one"}, {"Authorization": "Bearer key-two"}


def message(size):
    return [{"role": "user", "content": "x" * size}]


class Limits(unittest.TestCase):
    def setUp(self):
        holder = temporary_folder()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        self.keys = os.path.join(holder.name, "keys")
        with open(self.keys, "w") as file:
            file.write("key-one alice\nkey-two bob\n")

    def both(self):
        return [[], ["--state", os.path.join(self.folder, "state")]]

    def test_conversations_beyond_a_size_are_refused(self):
        for where in self.both():
            with RunningServer(PROGRAM, *ARGUMENTS, "--api-keys", self.keys, "--conversation-size", "50kB", *where) as server:
                made = [server.request("POST", "/v1/conversations", {"messages": message(10000)}, ALICE) for _ in range(8)]
                statuses = [status for status, _, _ in made]
                self.assertEqual(statuses, [201] * 4 + [507] * 4)
                self.assertEqual(json.loads(made[-1][2])["error"]["code"], "storage_full")
                # Another key has room, what there is may be read and answered, and what is deleted gives room.
                self.assertEqual(server.request("POST", "/v1/conversations", {"messages": message(10000)}, BOB)[0], 201)
                names = [c["id"] for c in server.get("/v1/conversations", ALICE)[1]["data"]]
                self.assertEqual(len(names), 4)
                long = {"conversation": names[0], "messages": message(20000), "max_tokens": 2}
                self.assertIn(server.request("POST", "/v1/chat/completions", long, ALICE)[0], [400, 507])
                self.assertEqual(server.request("DELETE", f"/v1/conversations/{names[0]}", None, ALICE)[0], 200)
                self.assertEqual(server.request("POST", "/v1/conversations", {"messages": message(10000)}, ALICE)[0], 201)
            if where:  # files are counted at a start
                with RunningServer(PROGRAM, *ARGUMENTS, "--api-keys", self.keys, "--conversation-size", "50kB", *where) as server:
                    self.assertEqual(server.request("POST", "/v1/conversations", {"messages": message(10000)}, ALICE)[0], 507)

    def respond(self, server, headers, previous=None):
        body = {"input": "a" * 200, "max_output_tokens": 16, **({"previous_response_id": previous} if previous else {})}
        return server.request("POST", "/v1/responses", body, headers)

    def test_responses_of_one_key_do_not_evict_those_of_another(self):
        for where in self.both():
            with RunningServer(PROGRAM, *ARGUMENTS, "--api-keys", self.keys, "--response-size", "20kB", *where) as server:
                bobs = json.loads(self.respond(server, BOB)[2])["id"]
                first = json.loads(self.respond(server, ALICE)[2])["id"]
                for _ in range(25):
                    last = json.loads(self.respond(server, ALICE)[2])["id"]
                self.assertEqual(self.respond(server, ALICE, first)[0], 404)
                self.assertEqual(self.respond(server, ALICE, last)[0], 200)
                self.assertEqual(self.respond(server, BOB, bobs)[0], 200)

    def test_age(self):
        for where in self.both():
            with RunningServer(PROGRAM, *ARGUMENTS, "--conversation-age", "2s", *where) as server:
                for _ in range(100):
                    begun = time.time()
                    name = server.post("/v1/conversations", {})[1]["id"]
                    status = server.get(f"/v1/conversations/{name}")[0]
                    if time.time() < int(begun) + 2:  # ages are counted in whole seconds
                        break
                self.assertEqual(status, 200)
                deadline = time.monotonic() + 60
                while server.get("/v1/conversations")[1]["data"]:
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.1)
                self.assertEqual(server.get(f"/v1/conversations/{name}")[0], 404)
                if where:
                    self.assertEqual([f for f in os.listdir(os.path.join(where[1], "conversations")) if f.endswith("json")], [])


class Start(unittest.TestCase):
    def bytes_read(self, state):
        with RunningServer(PROGRAM, *ARGUMENTS, "--state", state) as server:
            with open(f"/proc/{server.process.pid}/io") as io:
                read = int(next(line.split()[1] for line in io if line.startswith("rchar")))
            return read, server.get("/v1/conversations")[1]["data"], server.log

    def test_a_start_reads_no_conversation(self):
        with temporary_folder() as state:
            with RunningServer(PROGRAM, *ARGUMENTS, "--state", state) as server:
                name = server.post("/v1/conversations", {"messages": message(100_000)})[1]["id"]
            empty = self.bytes_read(state)[0]
            folder = os.path.join(state, "conversations")
            with open(os.path.join(folder, name + ".json")) as file:
                text = file.read()
            for i in range(300):
                copy = f"conv_{i}"
                with open(os.path.join(folder, copy + ".json"), "w") as file:
                    file.write(text.replace(name, copy))
            full, listed, log = self.bytes_read(state)
            self.assertEqual(len(listed), 301, log)
            self.assertLess(full - empty, 1_000_000)  # of 30,000,000


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
