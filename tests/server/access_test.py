#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Access to a server, and its answers to strangers: names, pages, keys, metrics: access_test.py PROGRAM."""

import http.client
import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from running_server import RunningServer, temporary_folder

PROGRAM = sys.argv[1]
CHAT = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 2}
KEYS = "key-one alice max_priority=3 admin\nkey-two bob\n"


def bearer(key, scheme="Bearer"):
    return {"Authorization": f"{scheme} {key}"}


class Proxy:
    """A reverse proxy that takes /chat/... for the server's /chat/..., as nginx does that sets X-Forwarded headers."""

    def __init__(self, port, host):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.forward(None)

            def do_POST(self):
                self.forward(self.rfile.read(int(self.headers["Content-Length"])))

            def forward(self, body):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
                headers |= {"X-Forwarded-Host": host, "X-Forwarded-Proto": "https", "X-Forwarded-For": "9.9.9.9"}
                connection.request(self.command, self.path, body, headers)
                answer = connection.getresponse()
                data = answer.read()
                connection.close()
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, None if body is None else json.dumps(body), headers or {})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Names(unittest.TestCase):
    def test_a_name_that_somebody_else_led_here(self):
        with RunningServer(PROGRAM, "--max-context", "512", "--allowed-host", "skald.example") as server:
            evil = {"Host": f"evil.example:{server.port}", "Origin": f"http://evil.example:{server.port}"}
            for method, path, body in [("GET", "/v1/conversations", None), ("POST", "/v1/chat/completions", CHAT),
                                       ("GET", "/", None), ("OPTIONS", "/v1/conversations", None)]:
                status, headers, data = server.request(method, path, body, evil)
                self.assertEqual(status, 421, data)
                self.assertIn("--allowed-host evil.example", json.loads(data)["error"]["message"])
                self.assertNotIn("Access-Control-Allow-Origin", headers)
            for host in [f"localhost:{server.port}", "skald.example", "SKALD.example:99"]:
                own = {"Host": host, "Origin": "http://" + host}
                self.assertEqual(server.request("POST", "/v1/chat/completions", CHAT, own)[0], 200, host)
            other = {"Host": f"localhost:{server.port}", "Origin": "http://localhost:3000"}
            self.assertEqual(server.request("POST", "/v1/chat/completions", CHAT, other)[0], 403)

    def test_behind_a_proxy(self):
        page = {"Origin": "https://chat.example"}
        for arguments, prefix in [(["--public-url", "https://chat.example/llm/"], "/llm"),
                                  (["--trusted-proxy", "127.0.0.1", "--allowed-host", "chat.example"], "")]:
            with RunningServer(PROGRAM, "--max-context", "512", *arguments) as server:
                proxy = Proxy(server.port, "chat.example")
                self.assertEqual(proxy.request("POST", prefix + "/v1/chat/completions", CHAT, page)[0], 200)
                self.assertEqual(proxy.request("POST", prefix + "/v1/chat/completions", CHAT, {"Origin": "https://evil.example"})[0], 403)
                self.assertEqual(proxy.request("GET", prefix + "/")[0], 200)
                self.assertEqual(proxy.request("GET", prefix + "/talk/api.js")[0], 200)
                if prefix:
                    self.assertEqual(proxy.request("GET", prefix)[0], 308)
                proxy.stop()
        with RunningServer(PROGRAM, "--max-context", "512", "--trusted-proxy", "127.0.0.1") as server:
            proxy = Proxy(server.port, "chat.example")
            status, data = proxy.request("POST", "/v1/chat/completions", CHAT, page)
            self.assertEqual(status, 421)
            self.assertIn(b"--allowed-host chat.example", data)
            proxy.stop()

    def test_the_page_has_relative_addresses_alone(self):
        with RunningServer(PROGRAM, "--max-context", "512") as server:
            for path in ["/", "/app.js", "/talk/api.js", "/view/connection.js", "/settings.js", "/style.css"]:
                text = server.request("GET", path)[2].decode()
                for absolute in ["'/v1", "`/v1", "\"/v1", "'/health", "src=\"/", "href=\"/", "url(/"]:
                    self.assertNotIn(absolute, text, path)

    def test_options_that_are_none(self):
        for option, value in [("--allowed-host", "a b"), ("--allowed-host", "a:80"), ("--public-url", "example.com"),
                              ("--trusted-proxy", "proxy"), ("--metrics-key", "/nowhere/key")]:
            done = subprocess.run([PROGRAM, "serve", "--port", "0", option, value], stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(option, done.stderr)


class Keys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary_folder()
        cls.keys, cls.metrics = (os.path.join(cls.folder.name, name) for name in ("keys", "metrics"))
        with open(cls.keys, "w") as file:
            file.write(KEYS)
        with open(cls.metrics, "w") as file:
            file.write("metrics-key\n")
        cls.server = RunningServer(PROGRAM, "--max-context", "512", "--api-keys", cls.keys, "--metrics-key", cls.metrics,
                                   "--max-failed-keys", "4", "--trusted-proxy", "127.0.0.1")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def status(self, path, headers=None):
        return self.server.request("GET", path, None, headers)[0]

    def test_what_strangers_see(self):
        self.assertEqual(self.server.get("/health"), (200, {"status": "ok"}))
        self.assertIn("model", self.server.get("/health", bearer("key-one"))[1])
        self.assertEqual(self.status("/metrics"), 401)
        self.assertEqual(self.status("/metrics", bearer("key-one")), 401)
        self.assertEqual(self.status("/metrics", bearer("metrics-key")), 200)
        self.assertEqual(self.status("/v1/models", bearer("metrics-key")), 401)

    def test_any_key_opens_metrics_where_they_have_none(self):
        with RunningServer(PROGRAM, "--max-context", "512", "--api-keys", self.keys) as server:
            self.assertEqual(server.request("GET", "/metrics")[0], 401)
            self.assertEqual(server.request("GET", "/metrics", None, bearer("key-two"))[0], 200)

    def test_schemes(self):
        for scheme in ["Bearer", "bearer", "BEARER", "bearer "]:
            self.assertEqual(self.status("/v1/models", bearer("key-one", scheme)), 200, scheme)
        self.assertEqual(self.status("/v1/models", bearer("key-one", "Basic")), 401)

    def test_guesses(self):
        def ask(key, client, path="/v1/models"):
            return self.server.request("GET", path, None, {**bearer(key), "X-Forwarded-For": client})
        for number in range(100):
            client = f"9.9.9.{number}"
            self.assertEqual(ask("key-one", client)[0], 200)
            begun = time.monotonic()
            guesses = [ask(f"wrong-{i}", client)[0] for i in range(4)]
            status, headers, data = ask("wrong", client)
            right = ask("key-two", client)[0]  # a right guess tells nothing either
            health = json.loads(ask("key-two", client, "/health")[2])
            if time.monotonic() - begun < 15:  # then the first guess still counts
                break
        self.assertEqual(guesses, [401] * 4)
        self.assertEqual((status, headers["Retry-After"]), (429, "15"), data)
        self.assertEqual((right, health), (429, {"status": "ok"}))
        self.assertEqual(ask("key-one", client)[0], 200)
        self.assertEqual(ask("key-two", "9.9.8.1")[0], 200)

    def test_priority(self):
        def post(priority, key):
            return self.server.request("POST", "/v1/chat/completions", {**CHAT, "priority": priority}, bearer(key))
        self.assertEqual(post(3, "key-one")[0], 200)
        self.assertEqual(post(-5, "key-two")[0], 200)
        for priority, key in [(4, "key-one"), (1, "key-two")]:
            status, _, data = post(priority, key)
            self.assertEqual((status, json.loads(data)["error"]["param"]), (400, "priority"))

    def test_admins_alone_load_and_put_away_models(self):
        acts = [("/models/load", {"model": "x"}), ("/models/unload", {"model": "x"}),
                ("/api/generate", {"model": "demo_model", "keep_alive": 0})]
        for path, body in acts:
            status, _, data = self.server.request("POST", path, body, bearer("key-two"))
            self.assertEqual((status, b"admin" in data), (403, True), data)
            self.assertEqual(self.server.request("POST", path, body, bearer("key-one"))[0], 200)
        # Requests load what they need.
        self.assertEqual(self.server.request("POST", "/v1/chat/completions", CHAT, bearer("key-two"))[0], 200)

    def test_limits_that_are_none(self):
        for limit in ["max_priority=-1", "max_priority=2000", "max_requests=0", "max_priority", "priority=1"]:
            with tempfile.NamedTemporaryFile("w") as file:
                file.write(f"key name {limit}\n")
                file.flush()
                done = subprocess.run([PROGRAM, "serve", "--port", "0", "--api-keys", file.name], stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn(limit, done.stderr)


class Warnings(unittest.TestCase):
    def warns(self, *arguments):
        with RunningServer(PROGRAM, "--max-context", "512", *arguments, wait=False) as server:
            return any("ANY CLIENT" in line for line in server.log)

    def test_a_server_for_strangers_says_so(self):
        self.assertTrue(self.warns("--host", "0.0.0.0"))
        self.assertFalse(self.warns())
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(KEYS)
            file.flush()
            self.assertFalse(self.warns("--host", "0.0.0.0", "--api-keys", file.name))
        if socket.has_dualstack_ipv6():
            self.assertTrue(self.warns("--host", "::"))


class Templates(unittest.TestCase):
    def test_names_that_a_template_trusts(self):
        with RunningServer(PROGRAM, "--max-context", "512") as server:
            for name in ["bos_token", "eos_token", "messages", "tools", "add_generation_prompt"]:
                status, _, data = server.request("POST", "/v1/chat/completions", {**CHAT, "chat_template_kwargs": {name: "x"}})
                self.assertEqual(status, 400, data)
                self.assertIn(name, json.loads(data)["error"]["message"])
            for variables, status in [({"thinking": True}, 200), ([], 400), ("x", 400)]:
                fields = {"chat_template_kwargs": variables, "reasoning_effort": "low"}
                self.assertEqual(server.request("POST", "/v1/chat/completions", {**CHAT, **fields})[0], status)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
