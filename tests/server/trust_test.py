#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Input from outside does not change other clients' answers: forged imports, forged chunks in shared stores:
trust_test.py PROGRAM."""

import json
import os
import sys
import threading
import time
import unittest

import forged_state
from running_server import RunningServer, temporary_folder
from running_redis import RunningRedis

PROGRAM = sys.argv[1]
ARGUMENTS = ["--max-context", "2048", "-t", "1"]
VICTIM = ("In the beginning God created the heaven and the earth. And the earth was without form, and void; and darkness "
          "was upon the face of the deep. ") * 6
NO_END = {str(i): -100 for i in range(3)}


def complete(server, headers=None, prompt=VICTIM):
    """An answer's text and the digest of its logits, and how many tokens were known."""
    body = {"prompt": prompt, "max_tokens": 12, "temperature": 0}
    status, answer = server.post("/v1/completions", body, headers)
    assert status == 200, answer
    known = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
    return (answer["choices"][0]["text"], answer["skald"]["digest"]), known


def export(server, headers=None, text="zebra purple seventeen " * 12):
    """The state of a conversation that has nothing to do with the victim's prompt, and fewer tokens: the demo model, which
    has windows, goes on from the end of a state alone."""
    name = json.loads(server.request("POST", "/v1/conversations", {}, headers)[2])["id"]
    say = {"conversation": name, "messages": [{"role": "user", "content": text}], "max_tokens": 60, "temperature": 1.5,
           "seed": 1, "logit_bias": NO_END}
    status, _, data = server.request("POST", "/v1/chat/completions", say, headers)
    assert status == 200, data
    return server.request("GET", f"/v1/conversations/{name}/state", None, headers)[2]


@unittest.skipUnless(forged_state.can_forge, "there is no libxxhash or libzstd")
class Imports(unittest.TestCase):
    def setUp(self):
        with RunningServer(PROGRAM, *ARGUMENTS) as calm:
            self.clean = complete(calm)[0]
            self.tokens = calm.post("/tokenize", {"content": VICTIM, "add_special": True})[1]["tokens"]

    # The export of the attacker, said to be the victim's prompt.
    def forged(self, server, headers=None):
        state = forged_state.State(export(server, headers))
        count = len(state.tokens)
        self.assertTrue(100 < count < len(self.tokens), count)
        state.tokens = self.tokens[:count]
        state.note["ids"] = list(state.tokens)
        return state

    def import_into(self, server, state, headers=None):
        status, _, data = server.request("POST", "/v1/conversations/import", state.bytes(), headers)
        self.assertEqual(status, 201, data)
        return json.loads(data)["id"]

    def check(self, *more, others=(), headers=(None, None)):
        with RunningServer(PROGRAM, *ARGUMENTS, *more) as server:
            mine, victims = headers
            name = self.import_into(server, self.forged(server, mine), mine)
            self.assertEqual(complete(server, victims)[0], self.clean)
            # Also while the conversation is gone on with, and after it.
            going = {"conversation": name, "messages": [{"role": "user", "content": "go on"}], "max_tokens": 300,
                     "logit_bias": NO_END, "seed": 1}
            results = []
            thread = threading.Thread(target=lambda: results.append(server.request("POST", "/v1/chat/completions", going, mine)))
            thread.start()
            deadline = time.monotonic() + 60
            while "\nskald_requests_running 1\n" not in server.request("GET", "/metrics")[2].decode() and not results:
                self.assertLess(time.monotonic(), deadline)
            self.assertEqual(complete(server, victims)[0], self.clean)
            thread.join()
            status, _, data = results[0]
            self.assertEqual(status, 200, data)
            fork = json.loads(server.request("POST", f"/v1/conversations/{name}/fork", {"messages": 2}, mine)[2])["id"]
            self.assertEqual(server.request("POST", "/v1/chat/completions", {**going, "conversation": fork, "messages": [
                {"role": "user", "content": "a"}], "max_tokens": 2}, mine)[0], 200)
            self.assertEqual(complete(server, victims)[0], self.clean)
            for options in others:
                with RunningServer(PROGRAM, *ARGUMENTS, *options) as other:
                    self.assertEqual(complete(other, victims)[0], self.clean)

    def test_without_keys(self):
        self.check()

    def test_a_conversation_goes_on_from_its_own_state(self):
        with RunningServer(PROGRAM, *ARGUMENTS) as server:
            name = self.import_into(server, forged_state.State(export(server)))
            going = {"messages": [{"role": "user", "content": "go on"}], "max_tokens": 2, "seed": 1}
            answer = server.post("/v1/chat/completions", {**going, "conversation": name})[1]
            self.assertGreater(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 100)
            # A copy of what was said, without the state, is another conversation.
            messages = server.get(f"/v1/conversations/{name}")[1]["messages"]
            fresh = json.loads(server.request("POST", "/v1/conversations", {"messages": messages})[2])["id"]
            going["messages"] = [{"role": "user", "content": "a"}]
            self.assertEqual(server.post("/v1/chat/completions", {**going, "conversation": fresh})[0], 200)

    def test_one_name(self):
        with temporary_folder() as folder:
            keys = os.path.join(folder, "keys")
            with open(keys, "w") as file:
                file.write("key-one team\nkey-two team\n")
            self.check("--api-keys", keys, headers=({"Authorization": "Bearer key-one"}, {"Authorization": "Bearer key-two"}))

    def test_a_folder_and_a_restart(self):
        with temporary_folder() as state:
            self.check("--state", state)
            with RunningServer(PROGRAM, *ARGUMENTS, "--state", state) as again:
                self.assertEqual(complete(again)[0], self.clean)

    @unittest.skipUnless(RunningRedis.is_installed, "there is no redis-server")
    def test_a_redis(self):
        with RunningRedis() as redis:
            shared = ["--redis", f"127.0.0.1:{redis.port}"]
            self.check(*shared, others=[shared])

    def test_words_of_a_conversation_that_were_spelled_otherwise(self):
        messages = [{"role": "user", "content": "And it came"}, {"role": "assistant", "content": "to pass"}]
        follow = {"messages": [*messages, {"role": "user", "content": "in the days"}], "max_tokens": 4, "temperature": 0}
        with RunningServer(PROGRAM, *ARGUMENTS) as calm:
            expected = calm.post("/v1/chat/completions", follow)[1]
        with RunningServer(PROGRAM, *ARGUMENTS) as server:
            state = forged_state.State(export(server))
            state.note["conversation"]["messages"] = messages
            self.import_into(server, state)
            answer = server.post("/v1/chat/completions", follow)[1]
            self.assertEqual(answer["usage"]["prompt_tokens"], expected["usage"]["prompt_tokens"])
            self.assertEqual(answer["skald"]["digest"], expected["skald"]["digest"])

    def test_notes_that_are_none(self):
        with RunningServer(PROGRAM, *ARGUMENTS) as server:
            data = export(server)

            def try_it(change):
                state = forged_state.State(data)
                change(state.note)
                return server.request("POST", "/v1/conversations/import", state.bytes())

            def messages(*list_of_them):
                return lambda note: note["conversation"].update(messages=list(list_of_them))

            parts = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
            status, _, answer = try_it(messages(parts))
            self.assertEqual(status, 201, answer)
            self.assertEqual(json.loads(answer)["messages"], [{"role": "user", "content": "ab"}])
            going = {"conversation": json.loads(answer)["id"], "messages": [], "max_tokens": 2}
            self.assertEqual(server.post("/v1/chat/completions", going)[0], 200)
            for change, words in [(messages(1), "conversation.messages[0]"),
                                  (messages({"role": "user", "content": [{"type": "image_url"}]}), "content[0].type"),
                                  (messages({"role": "king", "content": "a"}), "conversation.messages[0].role"),
                                  (messages({"role": "user", "content": {"a": 1}}), "conversation.messages[0].content"),
                                  (lambda note: note["conversation"].update(messages="a"), "conversation.messages"),
                                  (lambda note: note["conversation"].update(title=7), "conversation.title"),
                                  (lambda note: note["conversation"].update(title="x" * 10000), "conversation.title"),
                                  (lambda note: note.update(conversation=[]), "'conversation'"),
                                  (lambda note: note.update(ids=7), "ids"), (lambda note: note.update(ids=[-1]), "ids"),
                                  (lambda note: note.update(ids=[2**40]), "ids"), (lambda note: note.update(ids=["a"]), "ids")]:
                status, _, answer = try_it(change)
                self.assertEqual(status, 400, answer)
                self.assertIn(words, json.loads(answer)["error"]["message"])

    def test_the_secret_is_not_told(self):
        with temporary_folder() as state, RunningServer(PROGRAM, *ARGUMENTS, "--state", state) as server:
            name = self.import_into(server, self.forged(server))
            with open(os.path.join(state, "conversations", name + ".json")) as file:
                secret = json.loads(file.readline())["secret"]
            self.assertGreaterEqual(len(secret), 24)
            for path in ["", f"/{name}", f"/{name}/state"]:
                self.assertNotIn(secret.encode(), server.request("GET", "/v1/conversations" + path)[2])


@unittest.skipUnless(forged_state.can_forge, "there is no libxxhash or libzstd")
class Stores(unittest.TestCase):
    def chunks(self, folder):
        for place, _, names in os.walk(folder):
            for name in names:
                if len(name) == 64:
                    yield os.path.join(place, name)

    # Exchanges what chunks of tokens hold for what others of their size hold.
    def forge(self, folder):
        by_kind, forged = {}, 0
        for path in self.chunks(folder):
            with open(path, "rb") as file:
                data = file.read()
            if not forged_state.is_of_tokens(data):
                continue
            other_path, other = by_kind.setdefault(data[10:24], (path, data))
            if other_path == path:
                continue
            for place, chunk, content in [(path, data, other), (other_path, other, data)]:
                with open(place, "wb") as file:
                    file.write(forged_state.exchange(chunk, content))
            forged += 1
            del by_kind[data[10:24]]
        self.assertGreater(forged, 0)

    def test_chunks_that_others_wrote(self):
        with RunningServer(PROGRAM, *ARGUMENTS) as calm:
            clean = complete(calm)[0]
        with temporary_folder() as folder, temporary_folder() as other:
            prompts, key = os.path.join(folder, "prompts"), os.path.join(other, "key")
            with open(key, "wb") as file:
                file.write(os.urandom(32))
            trusting = [*ARGUMENTS, "--prompt-cache", prompts]
            careful = [*trusting, "--store-key-file", key]
            with RunningServer(PROGRAM, *trusting) as server:
                complete(server)
            self.forge(prompts)
            with RunningServer(PROGRAM, *careful) as server:
                self.assertEqual(complete(server), (clean, 0))
                metrics = server.request("GET", "/metrics")[2].decode()
                refused = next(line for line in metrics.split("\n") if line.startswith("skald_store_refused_total "))
                self.assertGreater(int(refused.split()[1]), 0)
            # Values that it wrote are valid for servers with the same key, and no server damages them.
            with RunningServer(PROGRAM, *careful) as server:
                answer, known = complete(server)
                self.assertEqual(answer, clean)
                self.assertGreater(known, 100)
            self.forge(prompts)
            with RunningServer(PROGRAM, *careful) as server:
                self.assertEqual(complete(server)[0], clean)
            # Without the key a forged chunk is believed, as README says: the test can forge.
            for path in list(self.chunks(prompts)):
                os.unlink(path)
            with RunningServer(PROGRAM, *trusting) as server:
                complete(server)
            self.forge(prompts)
            with RunningServer(PROGRAM, *trusting) as server:
                self.assertNotEqual(complete(server)[0], clean)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
