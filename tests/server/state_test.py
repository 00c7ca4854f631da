#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers that share a Redis, and that lose it; TLS: state_test.py PROGRAM. Skips what the machine has no program for."""

import http.client
import json
import os
import shutil
import ssl
import subprocess
import sys
import time
import unittest

from running_server import RunningServer, temporary_folder
from running_redis import RunningRedis

PROGRAM = sys.argv[1]
TEXT = "And it came to pass in the days of the king that a man went out of the city and said behold " * 4


def chat(text, **fields):
    return {"messages": [{"role": "user", "content": text}], "max_tokens": 24, "temperature": 1, "seed": 3, **fields}


class Redis(unittest.TestCase):
    @unittest.skipUnless(RunningRedis.is_installed, "there is no redis-server")
    def test_two_servers_and_a_lost_redis(self):
        redis = RunningRedis()
        arguments = ["--max-context", "1024", "--redis", f"127.0.0.1:{redis.port}"]
        try:
            with RunningServer(PROGRAM, *arguments) as one, RunningServer(PROGRAM, *arguments) as other:
                first = one.post("/v1/chat/completions", chat(TEXT))[1]
                answer = first["choices"][0]["message"]
                follow = chat(TEXT)
                follow["messages"] += [answer, {"role": "user", "content": "And then"}]
                here = one.post("/v1/chat/completions", follow)[1]
                one.wait_for_metric("skald_store_writes_waiting 0")
                there = other.post("/v1/chat/completions", follow)[1]
                self.assertEqual(there["skald"]["digest"], here["skald"]["digest"])
                self.assertGreater(there["usage"]["prompt_tokens_details"]["cached_tokens"],
                                   first["usage"]["prompt_tokens"] // 2)
                redis.stop()
                for seed in range(5):
                    self.assertEqual(one.post("/v1/chat/completions", chat(f"Lost {seed} " + TEXT, max_tokens=2))[0], 200)
                one.wait_for_metric("skald_redis_up 0")
                self.assertEqual(sum("without it" in line for line in one.log), 1, one.log)
                redis = RunningRedis(port=redis.port)
                deadline, asked = time.monotonic() + 60, 0
                while "\nskald_redis_up 1\n" not in one.request("GET", "/metrics")[2].decode():  # it is tried now and then
                    self.assertLess(time.monotonic(), deadline)
                    self.assertEqual(one.post("/v1/chat/completions", chat(f"Found {asked} " + TEXT, max_tokens=2))[0], 200)
                    asked += 1
        finally:
            redis.stop()


class Tls(unittest.TestCase):
    @unittest.skipUnless(shutil.which("openssl"), "there is no openssl")
    def test_tls(self):
        with temporary_folder() as folder:
            key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "certificate.pem")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                            "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
                           check=True, stderr=subprocess.DEVNULL)
            with RunningServer(PROGRAM, "--max-context", "512", "--certificate", certificate, "--private-key", key) as server:
                trusted = ssl.create_default_context(cafile=certificate)
                for _ in range(2):
                    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=trusted, timeout=60)
                    connection.request("POST", "/v1/chat/completions", json.dumps(chat("And it", stream=True)),
                                       {"Content-Type": "application/json"})
                    answer = connection.getresponse().read().decode()
                    self.assertTrue(answer.rstrip().endswith("data: [DONE]"), answer[-200:])
                    connection.close()
            refused = subprocess.run([PROGRAM, "serve", "--certificate", key, "--private-key", key], stderr=subprocess.PIPE, text=True)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("expected a certificate chain", refused.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
