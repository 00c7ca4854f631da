#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Large things travel in pieces, and no client's connections or bodies keep others out: transfer_test.py PROGRAM."""

import json
import os
import socket
import sys
import time
import unittest

from running_server import RunningServer, temporary_folder

PROGRAM = sys.argv[1]
TEXT = "And it came to pass in the days of the king that a man went out of the city and said behold " * 8


def head(path, length, *more):
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {length}", *more]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Connection:
    def __init__(self, server, data=b""):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self.socket.sendall(data)

    def status(self):
        """Of the first answer."""
        answer = b""
        while b"\r\n" not in answer:
            part = self.socket.recv(65536)
            if not part:
                break
            answer += part
        return int(answer.split(b" ")[1]) if answer else None

    def close(self):
        self.socket.close()


class Conversations(unittest.TestCase):
    def test_an_export_larger_than_a_request_may_be_is_imported(self):
        with temporary_folder() as folder:
            with RunningServer(PROGRAM, "--max-context", "1024", "--state", os.path.join(folder, "one")) as one:
                made = json.loads(one.request("POST", "/v1/conversations", {})[2])["id"]
                chat = {"messages": [{"role": "user", "content": TEXT}], "conversation": made, "max_tokens": 8}
                self.assertEqual(one.request("POST", "/v1/chat/completions", chat)[0], 200)
                status, headers, state = one.request("GET", f"/v1/conversations/{made}/state")
                self.assertEqual((status, int(headers["Content-Length"])), (200, len(state)))
            self.assertGreater(len(state), 50_000)
            with RunningServer(PROGRAM, "--max-context", "1024", "--max-body", "20000", "--state", os.path.join(folder, "two")) as two:
                status, _, data = two.request("POST", "/v1/conversations/import", state)
                self.assertEqual(status, 201, data)
                self.assertEqual(two.request("POST", "/tokenize", {"content": "x" * 30000})[0], 413)
                self.assertEqual(two.request("POST", "/v1/conversations/import", state[:len(state) // 2])[0], 400)
                self.assertEqual([name for name in os.listdir(os.path.join(folder, "two")) if "spool" in name], [])
            with RunningServer(PROGRAM, "--max-context", "1024", "--max-import", "30000") as small:
                announced = Connection(small, head("/v1/conversations/import", len(state), "Expect: 100-continue"))
                self.assertEqual(announced.status(), 413)
                announced.close()


class Strangers(unittest.TestCase):
    def test_the_key_is_looked_at_before_the_body(self):
        with temporary_folder() as folder:
            keys = os.path.join(folder, "keys")
            with open(keys, "w") as file:
                file.write("key-one alice\n")
            with RunningServer(PROGRAM, "--max-context", "512", "--api-keys", keys, "--max-body", "100000") as server:
                key = "Authorization: Bearer key-one"
                for data, status in [(head("/v1/chat/completions", 90_000), 401),
                                     (head("/v1/chat/completions", 90_000, "Authorization: Bearer wrong"), 401),
                                     (head("/v1/nothing", 90_000, key), 404), (head("/v1/models", 90_000, key), 405),
                                     (head("/tokenize", 900_000, key), 413), (head("/tokenize", 90_000, key, "Origin: http://a"), 403),
                                     (head("/tokenize", 900, key, "Expect: 100-continue"), 100),
                                     (head("/tokenize", 900, "Expect: 100-continue"), 401)]:
                    connection = Connection(server, data)
                    self.assertEqual(connection.status(), status, data)
                    connection.close()


class Places(unittest.TestCase):
    def test_many_connections_of_one_client_do_not_keep_others_out(self):
        with RunningServer(PROGRAM, "--max-context", "512", "--max-connections", "40") as server:
            silent = [Connection(server, data) for data in [b"", b"GET / HTTP/1.1\r\nX: "] * 60]
            for path in ["/health", "/live", "/v1/models"]:
                self.assertEqual(server.request("GET", path)[0], 200, path)
            # Bodies that do not come hold their places for some time, but not those of what is urgent.
            bodies = [Connection(server, head("/tokenize", 1000)) for _ in range(20)]
            self.assertEqual(server.request("GET", "/live")[0], 200)
            self.assertEqual(server.request("GET", "/health")[0], 200)
            # The server reads them when it comes to them, and ends them after a minute.
            deadline = time.monotonic() + 50
            while server.request("GET", "/v1/models")[0] != 503:
                self.assertLess(time.monotonic(), deadline)
            for connection in silent + bodies:
                connection.close()

    def test_the_system_allows_few_files(self):
        with temporary_folder() as folder:
            wrapper = os.path.join(folder, "skald")
            with open(wrapper, "w") as file:
                file.write(f"#!/bin/sh\nulimit -n 300\nexec '{os.path.abspath(PROGRAM)}' \"$@\"\n")
            os.chmod(wrapper, 0o755)
            with RunningServer(wrapper, "--max-context", "512", "--max-connections-per-address", "1000") as server:
                self.assertTrue(any("300 open files: there are 150 connections instead of 1024" in line for line in server.log), server.log)
                many = [Connection(server) for _ in range(400)]
                self.assertEqual(server.request("GET", "/health")[0], 200)
                for connection in many:
                    connection.close()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
