#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No client undoes another's change of a conversation: versions, answers at the same time, servers on one folder:
versions_test.py PROGRAM."""

import json
import subprocess
import sys
import threading
import time
import unittest

from running_server import RunningServer, temporary_folder

PROGRAM = sys.argv[1]
ARGUMENTS = ["--max-context", "1024", "-t", "1"]


def say(text, conversation, **fields):
    return {"conversation": conversation, "messages": [{"role": "user", "content": text}], "max_tokens": 6, "seed": 1, **fields}


def setUpModule():
    global server
    server = RunningServer(PROGRAM, *ARGUMENTS)


def tearDownModule():
    assert server.stop() == 0


def make():
    return server.post("/v1/conversations", {"title": "t"})[1]["id"]


def shown(name):
    return server.get(f"/v1/conversations/{name}")[1]


# Begins an answer that lasts until its thread is joined; the statuses and bodies go to `results`.
def answer_aside(results, name, text="And it came to pass", tokens=300, **fields):
    def ask():
        results.append(server.request("POST", "/v1/chat/completions",
                                      say(text, name, max_tokens=tokens, logit_bias=NO_END, **fields)))
    thread = threading.Thread(target=ask)
    thread.start()
    return thread


# So that an answer is as long as it may be.
NO_END = {str(i): -100 for i in range(3)}


# Makes a change of a conversation while an answer is on its way. `check` gets the name of the conversation, what the
# change was answered with, and the answer's status and body; it is false if the answer was there before the change. Then
# all is done again, for a minute.
def change_meanwhile(check, method, path="", body=None, **fields):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        name, results = make(), []
        thread = answer_aside(results, name, **fields)
        while thread.is_alive() and shown(name)["message_count"] == 0:
            time.sleep(0.005)
        status, _, changed = server.request(method, f"/v1/conversations/{name}{path}", body)
        assert status == 200, changed
        thread.join()
        if check(name, json.loads(changed), results[0][0], results[0][2]):
            return
    raise AssertionError("each answer was there before the change")


class Answers(unittest.TestCase):
    def test_at_the_same_time(self):
        for _ in range(3):
            name, results = make(), []
            threads = [answer_aside(results, name, f"Question {i}", tokens=40) for i in range(3)]
            for thread in threads:
                thread.join()
            statuses = [status for status, _, _ in results]
            self.assertTrue(set(statuses) <= {200, 409}, statuses)
            self.assertIn(200, statuses)
            # A change that was answered with 200 is in it.
            messages = shown(name)["messages"]
            self.assertEqual(sum(m["role"] == "assistant" for m in messages), statuses.count(200))
            said = [m["content"] for m in messages]
            for status, _, data in results:
                if status == 200:
                    self.assertIn(json.loads(data)["choices"][0]["message"]["content"], said)
                else:
                    self.assertEqual(json.loads(data)["error"]["code"], "conflict", data)

    def check_lost(self, reason, stream, status, data):
        if status == 200 and (not stream or b"[DONE]" in data):
            return False
        self.assertEqual(status, 200 if stream else 409, data)
        self.assertIn(reason, data)
        return True

    def test_conversation_taken_back_meanwhile(self):
        def check(name, _, status, data):
            self.assertEqual(shown(name)["messages"], [])
            return self.check_lost(b"meanwhile", stream, status, data)
        for stream in [False, True]:
            change_meanwhile(check, "POST", "/rewind", {"messages": 0}, stream=stream)

    def test_conversation_deleted_meanwhile(self):
        def check(name, _, status, data):
            self.assertEqual(server.get(f"/v1/conversations/{name}")[0], 404)
            return self.check_lost(b"conversation", stream, status, data)
        for stream in [False, True]:
            change_meanwhile(check, "DELETE", stream=stream)

    def test_a_title_may_be_changed_meanwhile(self):
        def check(name, changed, status, data):
            self.assertEqual(status, 200, data)
            self.assertEqual((shown(name)["title"], shown(name)["message_count"]), ("new", 2))
            return changed["message_count"] == 1
        change_meanwhile(check, "POST", "", {"title": "new"})

    def test_a_refused_answer_leaves_nothing(self):
        name = make()
        self.assertEqual(server.post("/v1/chat/completions", say("long " * 3000, name))[0], 400)
        self.assertEqual(shown(name)["messages"], [])
        self.assertEqual(server.post("/v1/chat/completions", say("short", name))[0], 200)


class Versions(unittest.TestCase):
    def test_tags(self):
        status, headers, data = server.request("POST", "/v1/conversations", {})
        name, first = json.loads(data)["id"], headers["ETag"]
        path = f"/v1/conversations/{name}"
        self.assertEqual(server.request("GET", path)[1]["ETag"], first)
        status, headers, _ = server.request("POST", path, {"title": "a"}, {"If-Match": first})
        self.assertEqual(status, 200)
        second = headers["ETag"]
        self.assertNotEqual(first, second)
        for method, where, body in [("POST", path, {"title": "b"}), ("POST", path + "/rewind", {"messages": 0}),
                                    ("DELETE", path, None), ("POST", "/v1/chat/completions", say("a", name))]:
            status, _, data = server.request(method, where, body, {"If-Match": first})
            self.assertEqual((status, json.loads(data)["error"]["code"]), (412, "version_mismatch"), (where, data))
        self.assertEqual(shown(name)["title"], "a")
        self.assertEqual(server.request("POST", "/v1/chat/completions", say("a", name), {"If-Match": f'"x", {second}'})[0], 200)
        third = server.request("GET", path)[1]["ETag"]
        self.assertNotEqual(third, second)
        self.assertEqual(server.request("DELETE", path, None, {"If-Match": third})[0], 200)


class Folder(unittest.TestCase):
    def test_two_servers_on_one(self):
        with temporary_folder() as state:
            one = RunningServer(PROGRAM, *ARGUMENTS, "--state", state)
            try:
                other = subprocess.run([PROGRAM, "serve", "--port", "0", *ARGUMENTS, "--state", state], stderr=subprocess.PIPE,
                                       text=True, timeout=60)
            except subprocess.TimeoutExpired:
                one.kill()
                self.fail("a second server works on the folder")
            self.assertEqual(other.returncode, 1, other.stderr)
            self.assertIn(f"process {one.process.pid} on ", other.stderr)
            self.assertIn(state, other.stderr)
            one.kill()  # the lock goes with its process
            with RunningServer(PROGRAM, *ARGUMENTS, "--state", state) as again:
                self.assertEqual(again.get("/health")[0], 200)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
