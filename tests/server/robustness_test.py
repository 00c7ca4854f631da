#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server answers any input with an error of the right form and continues: robustness_test.py PROGRAM."""

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from running_server import RunningServer, adapters, temporary_folder

PROGRAM = sys.argv[1]
POSTS = ["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/v1/rerank", "/embed",
         "/embedding", "/v1/messages", "/v1/messages/count_tokens", "/tokenize", "/detokenize", "/completion", "/infill", "/apply-template", "/api/chat",
         "/api/generate", "/api/embed", "/api/embeddings", "/api/show", "/api/pull"]
CHAT = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 4}


def setUpModule():
    global server
    server = RunningServer(PROGRAM, "--max-context", "512", "--max-body", "100000", "--strict",
                           "--strict-model-names")


def tearDownModule():
    status, _, _ = server.request("GET", "/health")
    assert status == 200, status
    assert server.stop() == 0


def exchange(data, timeout=120, half_close=False):
    """Sends bytes as they are; returns all that comes back."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=timeout) as connection:
        connection.sendall(data)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65536):
            answer += part
        return answer


class BadJson(unittest.TestCase):
    def refused(self, path, body, status=400, param=None):
        got, _, data = server.request("POST", path, body)
        self.assertEqual(got, status, (path, body, data))
        error = json.loads(data)["error"]
        self.assertTrue(error if isinstance(error, str) else error["message"])
        if param:
            self.assertEqual(error["param"], param)

    def test_no_json(self):
        for path in POSTS:
            for body in ["", "{", "nonsense", "[]", "3", "null", b'{"a": "\xff\xfe"}', "[" * 100000, '{"a":' * 5000,
                         '{"messages": 1e999}', '"\\ud800"']:
                self.refused(path, body)

    def test_wrong_fields(self):
        for fields, param in [({"temperature": "hot"}, "temperature"), ({"temperature": -1}, "temperature"),
                              ({"temperature": 1e300}, "temperature"), ({"top_p": 2}, "top_p"), ({"n": 0}, "n"),
                              ({"n": 10**30}, "n"), ({"max_tokens": -2}, "max_tokens"), ({"max_tokens": 1.5}, "max_tokens"),
                              ({"seed": "x"}, "seed"), ({"stop": [1]}, "stop"), ({"stop": [""]}, "stop"),
                              ({"stop": ["a"] * 99}, "stop"), ({"logit_bias": {"x": 1}}, "logit_bias"),
                              ({"logit_bias": {"99999999": 1}}, "logit_bias"), ({"stream": 1}, "stream"),
                              ({"top_logprobs": 3}, "logprobs"), ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
                              ({"messages": []}, "messages"), ({"messages": "x"}, "messages"), ({"messages": [1]}, "messages[0]"),
                              ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role"),
                              ({"messages": [{"role": "user"}]}, "messages[0].content"),
                              ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
                               "messages[0].content[0].type"),
                              ({"response_format": {"type": "xml"}}, "response_format.type"),
                              ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name"),
                              ({"tool_choice": "required"}, "tools"), ({"audio": {}}, "audio"), ({"surprise": 1}, "surprise"),
                              ({"stream_options": {}}, "stream_options"), ({"conversation": 7}, "conversation")]:
            self.refused("/v1/chat/completions", {**CHAT, **fields}, param=param)
        self.refused("/v1/chat/completions", {**CHAT, "model": "gpt-9"}, 404, "model")
        self.refused("/v1/chat/completions", {**CHAT, "conversation": "conv_none"}, 404, "conversation")
        self.refused("/v1/chat/completions", {"messages": [{"role": "user", "content": "long " * 2000}]}, 400)
        for path, body in [("/v1/completions", {}), ("/v1/completions", {"prompt": ["a", 1]}),
                           ("/v1/completions", {"prompt": ["a"] * 3000}),
                           ("/v1/completions", {"prompt": [[]]}), ("/v1/completions", {"prompt": [["a"]]}),
                           ("/v1/completions", {"prompt": [-1]}), ("/v1/completions", {"prompt": [10**12]}),
                           ("/v1/embeddings", {"input": ""}), ("/v1/embeddings", {"input": []}),
                           ("/v1/embeddings", {"input": [[1.5]]}), ("/v1/embeddings", {"input": "x", "dimensions": 0}),
                           ("/tokenize", {"content": 1}), ("/detokenize", {"tokens": ["a"]}),
                           ("/detokenize", {"tokens": [2**40]}), ("/detokenize", {"tokens": [-5]}),
                           ("/v1/responses", {"input": [{"type": "image"}]}), ("/v1/responses", {"input": "x", "n": 2}),
                           ("/v1/completions", {"prompt": "x", "grammar": "root ::= "  + "(" * 5000})]:
            self.refused(path, body)
        self.refused("/v1/conversations/import", b"x" * 1000)
        self.refused("/v1/conversations/import", b"SkaldSnp" + bytes(1000))

    def test_places(self):
        for method, path, status in [("GET", "/nowhere", 404), ("GET", "/v1/chat/completions", 405), ("PUT", "/tokenize", 405),
                                     ("DELETE", "/v1/models", 405), ("GET", "/../etc/passwd", 404), ("GET", "/%00", 404),
                                     ("POST", "/", 404), ("GET", "/v1/conversations/..", 404), ("BREW", "/health", 404)]:
            got, headers, data = server.request(method, path)
            self.assertEqual(got, status, (method, path, data))
            self.assertTrue(json.loads(data)["error"]["message"])
            if status == 405:
                self.assertTrue(headers["Allow"])

    def test_other_origins(self):
        self.assertEqual(server.request("POST", "/v1/chat/completions", CHAT, {"Origin": "http://evil.example"})[0], 403)
        own = {"Origin": f"http://127.0.0.1:{server.port}"}
        self.assertEqual(server.request("POST", "/v1/chat/completions", CHAT, own)[0], 200)


class BadHttp(unittest.TestCase):
    def test_no_request(self):
        for data in [b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x00\xa5\x01" + bytes(200),
                     b"GET / HTTP/1.1\r\nbroken header\r\n\r\n", b"POST /tokenize HTTP/1.1\r\nContent-Length: -3\r\n\r\n",
                     b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n"]:
            answer = exchange(data, half_close=True)
            self.assertTrue(answer == b"" or b" 400 " in answer.split(b"\r\n")[0], (data, answer))

    def test_sizes(self):
        answer = exchange(b"GET / HTTP/1.1\r\nX: " + b"a" * 100000 + b"\r\n\r\n")
        self.assertIn(b" 431 ", answer.split(b"\r\n")[0])
        answer = exchange(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n")
        self.assertIn(b" 413 ", answer.split(b"\r\n")[0])

    def test_pipelined(self):
        answer = exchange(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3 + b"GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        self.assertEqual(answer.count(b"HTTP/1.1 200"), 4)

    def test_chunked_and_old(self):
        body = b'{"content": "And"}'
        chunked = b"".join(b"1\r\n" + body[i:i + 1] + b"\r\n" for i in range(len(body))) + b"0\r\n\r\n"
        answer = exchange(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked)
        self.assertIn(b"tokens", answer)
        answer = exchange(b"POST /v1/completions HTTP/1.0\r\nContent-Length: 53\r\n\r\n"
                          b'{"prompt": "And it", "max_tokens": 3, "stream": true}')
        self.assertTrue(answer.rstrip().endswith(b"data: [DONE]"), answer)

    def test_a_client_that_leaves_stops_its_answer(self):
        body = json.dumps({"prompt": "And it", "max_tokens": 500, "stream": True, "seed": 1}).encode()
        for _ in range(5):
            connection = socket.create_connection(("127.0.0.1", server.port))
            connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            connection.recv(100)
            connection.close()
        deadline = time.monotonic() + 120
        while True:
            metrics = server.request("GET", "/metrics")[2].decode()
            if "\nskald_requests_running 0\n" in metrics:
                break
            self.assertLess(time.monotonic(), deadline, "the answers go on")
            time.sleep(0.05)

    def test_slow_requests_do_not_hold_others(self):
        def waits():
            slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
            for connection in slow:
                connection.sendall(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nX: ")
            self.assertEqual(server.get("/health")[0], 200)
            ended = select.select(slow, [], [], 0)[0]  # the server ends each of them after some seconds
            for connection in slow:
                connection.close()
            return not ended

        self.assertTrue(any(waits() for _ in range(10)), "it answers when the slow ones have ended")


class Keys(unittest.TestCase):
    def test_keys(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("# keys\nkey-one alice max_requests=1 max_tokens=3\nkey-two bob\n")
            file.flush()
            with RunningServer(PROGRAM, "--max-context", "512", "--api-keys", file.name) as keyed:
                self.assertEqual(keyed.post("/v1/chat/completions", CHAT)[0], 401)
                self.assertEqual(keyed.post("/v1/chat/completions", CHAT, {"Authorization": "Bearer key-x"})[0], 401)
                alice, bob = {"Authorization": "Bearer key-one"}, {"x-api-key": "key-two"}
                answer = keyed.post("/v1/chat/completions", {**CHAT, "max_tokens": 100}, alice)[1]
                self.assertEqual(answer["usage"]["completion_tokens"], 3)
                made = keyed.request("POST", "/v1/conversations", {}, alice)
                name = json.loads(made[2])["id"]
                self.assertEqual(keyed.get(f"/v1/conversations/{name}", alice)[0], 200)
                self.assertEqual(keyed.get(f"/v1/conversations/{name}", bob)[0], 404)
                again = keyed.post("/v1/chat/completions", CHAT, bob)[1]
                self.assertEqual(again["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
                self.assertEqual(keyed.get("/health")[0], 200)


class Adapters(unittest.TestCase):
    def test_what_cannot_be_served(self):
        with temporary_folder() as folder:
            adapters(folder, ["one"])
            one, copy = os.path.join(folder, "one"), os.path.join(folder, "copy")
            shutil.copytree(one, copy)
            for status, words, names in [(2, "expected NAME=PATH", [one]), (2, "expected NAME=PATH", ["=" + one]),
                                         (1, "--adapter none: ", ["none=" + one + "-not"]),
                                         (1, "'demo' is the name of another model", ["demo=" + one]),
                                         (1, "'default' is the name of another model", ["default=" + one]),
                                         (1, "'a' is the name of another model", ["a=" + one, "a=" + copy]),
                                         (1, "'a' and 'b' are the same", ["a=" + one, "b=" + copy])]:
                arguments = [word for name in names for word in ("--adapter", name)]
                done = subprocess.run([PROGRAM, "serve", "--port", "0", "--model-name", "demo", *arguments],
                                      stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
