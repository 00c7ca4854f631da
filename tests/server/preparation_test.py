#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reading and encoding large requests stops nobody else, and ends when nobody waits for it: preparation_test.py PROGRAM."""

import json
import re
import socket
import sys
import time
import unittest

from running_server import RunningServer

PROGRAM = sys.argv[1]
# More than the HTTP server has threads. Each takes a second or more to encode.
LARGE = 6
TEXT = json.dumps({"content": "And it came to pass in those days, 1234 " * 200_000}).encode()


def begin(server, body=TEXT, path="/tokenize"):
    """A connection on which a request was sent whole, and nobody has read the answer."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=300)
    connection.sendall(b"POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\n\r\n" %
                       (path.encode(), server.port, len(body)) + body)
    return connection


def is_answered(connection):
    connection.setblocking(False)
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False


def preparing(server):
    _, _, data = server.request("GET", "/metrics")
    return int(float(re.search(rb"^skald_requests_preparing ([0-9.e+]+)", data, re.MULTILINE)[1]))


def wait_until(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Preparation(unittest.TestCase):
    def test_others_are_answered_meanwhile(self):
        with RunningServer(PROGRAM) as server:
            large = [begin(server) for _ in range(LARGE)]
            for connection in large:
                self.addCleanup(connection.close)
            self.assertEqual(server.request("GET", "/live")[0], 200)
            self.assertEqual(server.request("GET", "/health")[0], 200)
            status, answer = server.post("/v1/completions", {"prompt": "And", "max_tokens": 2})
            self.assertEqual((status, answer["usage"]["completion_tokens"]), (200, 2))
            self.assertLess(sum(map(is_answered, large)), 2, "the large requests were answered first")
            # Whoever leaves is not waited for: what had not begun is dropped.
            wait_until(lambda: preparing(server) <= LARGE)
            for connection in large:
                connection.close()
            wait_until(lambda: preparing(server) <= 2, 20)

    def test_the_end_of_the_server_does_not_wait_for_it(self):
        server = RunningServer(PROGRAM, "--grace", "1", "--max-bodies", "1GB")  # of one address half of it
        self.addCleanup(lambda: server.process.poll() is None and server.kill())
        # Together less than one client's bodies may take.
        body = json.dumps({"content": "And it came to pass in those days, 1234 " * 500_000}).encode()
        for _ in range(LARGE):
            self.addCleanup(begin(server, body).close)
        wait_until(lambda: preparing(server) == LARGE)
        begun = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - begun, 10)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
