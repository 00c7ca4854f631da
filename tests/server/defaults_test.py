#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names, defaults and the access log of a server: defaults_test.py PROGRAM."""

import json
import os
import subprocess
import sys
import unittest

from running_server import RunningServer, adapters, temporary_folder, tool_model

PROGRAM = sys.argv[1]
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "demo_model")
USER = {"role": "user", "content": "And it came"}


def setUpModule():
    global folder
    folder = temporary_folder()
    tool_model(DEMO, folder.name)


def tearDownModule():
    folder.cleanup()


def serve(*options):
    return RunningServer(PROGRAM, "--model", folder.name, "--model-name", "demo", "--max-context", "512", *options)


def digest(server, **fields):
    status, answer = server.post("/v1/chat/completions", {"messages": [USER], "max_tokens": 8, "seed": 1, **fields})
    assert status == 200, answer
    return answer["skald"]["digest"]


class Names(unittest.TestCase):
    def test_aliases_name_models(self):
        with serve(*adapters(folder.name, ["poet"]), "--alias", "gpt-4o=poet", "--alias", "small=demo") as server:
            poet = digest(server, model="poet")
            self.assertEqual(digest(server, model="gpt-4o"), poet)
            self.assertEqual(digest(server, model="small"), digest(server, model="demo"))
            self.assertNotEqual(digest(server, model="small"), poet)
            status, _ = server.post("/v1/chat/completions", {"messages": [USER], "model": "other"})
            self.assertEqual(status, 404)

    def test_strict_names(self):
        with serve("--strict-model-names") as server:
            for model, wanted in (("gpt-9", 404), ("demo", 200), ("default", 200)):
                status, _ = server.post("/v1/chat/completions", {"messages": [USER], "model": model, "max_tokens": 1})
                self.assertEqual(status, wanted, model)
            self.assertEqual(server.get("/v1/models/gpt-9")[0], 404)

    def test_aliases_of_nothing_are_refused(self):
        run = subprocess.run([PROGRAM, "serve", "--model", folder.name, "--port", "0", "--no-packed-cache", "--alias", "a=b"],
                             capture_output=True, text=True, timeout=60)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("--alias a: there is no model 'b'", run.stderr)


class Defaults(unittest.TestCase):
    def test_the_sampler_and_the_system_message(self):
        system = [{"role": "system", "content": "Speak."}, USER]
        with serve() as plain, serve("--temperature", "0", "--system", "Speak.") as server:
            self.assertEqual(digest(server, messages=[USER]), digest(plain, messages=system, temperature=0))
            own = [{"role": "system", "content": "Sing."}, USER]
            self.assertEqual(digest(server, messages=own, temperature=1), digest(plain, messages=own, temperature=1))
            # Answers go on from what was computed, and conversations do not keep the server's message.
            name = server.post("/v1/conversations", {})[1]["id"]
            for _ in range(2):
                answer = server.post("/v1/chat/completions", {"messages": [USER], "conversation": name, "max_tokens": 4})[1]
            self.assertGreater(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 10)
            kept = server.get(f"/v1/conversations/{name}")[1]["messages"]
            self.assertEqual([message["role"] for message in kept], ["user", "assistant"] * 2)


    def test_the_seed(self):
        body = {"messages": [USER], "max_tokens": 16, "temperature": 1}
        with serve("--seed", "7") as server:
            first, second, other = (server.post("/v1/chat/completions", {**body, **more})[1]["skald"]["digest"]
                                    for more in ({}, {"seed": 7}, {"seed": 8}))
            self.assertEqual(first, second)
            self.assertNotEqual(first, other)


class Log(unittest.TestCase):
    BODY = {"messages": [{"role": "user", "content": "a secret"}], "max_tokens": 2}

    def test_requests_have_names(self):
        with serve() as server:
            for given in ("mine-1", "a b", "x" * 500, None):
                headers = server.request("GET", "/v1/models", None, {"x-request-id": given} if given else {})[1]
                self.assertEqual(headers["x-request-id"], headers["request-id"])
                self.assertEqual(headers["x-request-id"] == given, given == "mine-1")

    def test_a_line_for_each_request(self):
        for log_format in ("text", "json"):
            with serve("--log-format", log_format) as server:
                server.request("POST", "/v1/chat/completions", self.BODY, {"x-request-id": "mine-1"})
                server.request("POST", "/v1/chat/completions", {**self.BODY, "stream": True}, {"x-request-id": "mine-2"})
                server.request("GET", "/nowhere", None, {"x-request-id": "mine-3"})
            # They are written as answers are put away, which a client does not wait for.
            lines = sorted((line for line in server.log if "mine-" in line), key=lambda line: line[line.index("mine-"):])
            self.assertEqual(len(lines), 3, server.log)
            self.assertNotIn("secret", "".join(server.log))
            for line, status, path in zip(lines, (200, 200, 404), ("/v1/chat/completions",) * 2 + ("/nowhere",)):
                if log_format == "json":
                    told = json.loads(line)
                    self.assertEqual((told["status"], told["is_whole"]), (status, True))
                    self.assertTrue(told["path"].startswith(path))
                    self.assertGreater(told["bytes"], 0)
                else:
                    words = line.split()
                    self.assertEqual((len(words), words[5]), (9, str(status)))
                    self.assertTrue(words[4].startswith(path))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
