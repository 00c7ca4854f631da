#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reading and encoding large requests delays no other request, and ends when its client leaves: preparation_test.py PROGRAM."""

import json
import re
import select
import socket
import sys
import time
import unittest

from running_server import RunningServer, temporary_folder

PROGRAM = sys.argv[1]
# More than the HTTP server has threads. Each takes a second or more to encode.
LARGE = 12
TEXT = json.dumps({"content": "And it came to pass in those days, 1234 " * 250_000}).encode()
# Requests that wait for their preparation, and those that two threads prepare.
QUEUE = 256 + 2


def begin(server, body=TEXT, path="/tokenize"):
    """A connection with a complete request whose answer was not read."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=300)
    connection.sendall(b"POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\n\r\n" %
                       (path.encode(), server.port, len(body)) + body)
    return connection


def answers(connections):
    """The beginnings of those answers of which something has come."""
    begun = []
    for connection in select.select(connections, [], [], 0)[0]:
        try:
            begun.append(connection.recv(4096, socket.MSG_PEEK))
        except OSError:
            pass  # its server has gone
    return [answer for answer in begun if answer]


def preparing(server):
    _, _, data = server.request("GET", "/metrics")
    return int(float(re.search(rb"^skald_requests_preparing ([0-9.e+]+)", data, re.MULTILINE)[1]))


def wait_until(condition):
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


class Preparation(unittest.TestCase):
    def connections(self, server, count, body):
        made = [begin(server, body) for _ in range(count)]
        for connection in made:
            self.addCleanup(connection.close)
        return made

    def test_others_are_answered_meanwhile(self):
        def some_wait(server):
            large = self.connections(server, LARGE, TEXT)
            self.assertEqual(server.request("GET", "/live")[0], 200)
            self.assertEqual(server.request("GET", "/health")[0], 200)
            status, answer = server.post("/v1/completions", {"prompt": "And", "max_tokens": 2})
            self.assertEqual((status, answer["usage"]["completion_tokens"]), (200, 2))
            first = len(answers(large))
            # The server does not wait for a client that left: its unstarted work is dropped.
            for connection in large:
                connection.close()
            wait_until(lambda: preparing(server) <= 2)
            return first < LARGE // 2

        with RunningServer(PROGRAM, "--max-bodies", "1GB") as server:  # of one address half of it
            self.assertTrue(any(some_wait(server) for _ in range(20)), "the large requests are answered first")

    def test_the_end_of_the_server_does_not_wait_for_it(self):
        def some_are_left():
            server = RunningServer(PROGRAM, "--grace", "1", "--max-bodies", "1GB")
            self.addCleanup(lambda: server.process.poll() is None and server.kill())
            large = self.connections(server, LARGE, TEXT)
            wait_until(lambda: preparing(server) > 2 or answers(large))
            self.assertEqual(server.stop(), 0)
            return sum(answer.startswith(b"HTTP/1.1 200") for answer in answers(large)) < LARGE

        self.assertTrue(any(some_are_left() for _ in range(5)), "the server ends when all is prepared")

    def test_a_full_queue_is_an_error_that_says_when_to_try_again(self):
        def is_full(server):
            large, waiting = self.connections(server, LARGE, TEXT), []
            # More than small bodies have: these wait after the large ones.
            body = json.dumps({"content": "a" * 70_000}).encode()
            while len(waiting) < 300 and not answers(waiting):
                waiting += self.connections(server, 1, body)
            wait_until(lambda: answers(waiting))
            refused = [answer for answer in answers(waiting) if not answer.startswith(b"HTTP/1.1 200")]
            for answer in refused:
                self.assertTrue(answer.startswith(b"HTTP/1.1 503"), answer)
                self.assertIn(b"\r\nRetry-After: 1\r\n", answer)
                self.assertIn(b"wait to be prepared", answer)
            self.assertLessEqual(preparing(server), QUEUE)
            self.assertEqual(server.request("GET", "/live")[0], 200)
            for connection in large + waiting:
                connection.close()
            wait_until(lambda: preparing(server) <= 2)
            self.assertEqual(server.post("/tokenize", {"content": "And"})[0], 200)
            return refused

        with RunningServer(PROGRAM, "--max-bodies", "1GB", "--max-connections-per-address", "1000") as server:
            self.assertTrue(any(is_full(server) for _ in range(10)), "the queue is never full")

    def test_bodies_beyond_their_budget_are_an_error_that_says_when_to_try_again(self):
        with RunningServer(PROGRAM, "--max-body", "1MB", "--max-bodies", "2MB", "--grace", "0") as server:
            head = b"POST /tokenize HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 1000000\r\n\r\n" % server.port
            connections = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(2)]
            for connection in connections:
                self.addCleanup(connection.close)
                connection.sendall(head + b"x" * 900_000)  # of 1 MB for one address
            wait_until(lambda: answers(connections))
            answer = answers(connections)[0]
            self.assertTrue(answer.startswith(b"HTTP/1.1 503"), answer)
            self.assertIn(b"\r\nRetry-After: 1\r\n", answer)

    def test_what_was_said_is_kept_although_nobody_waits_for_the_rest(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        options = ("--state", folder.name, "--max-bodies", "1GB", "--grace", "0")
        prompt = "And it came to pass in those days, that there went out a decree. " * 8
        server = RunningServer(PROGRAM, *options)
        self.addCleanup(lambda: server.process.poll() is None and server.kill())
        _, conversation = server.post("/v1/conversations", {"messages": [{"role": "user", "content": "And"}]})
        _, response = server.post("/v1/responses", {"input": "And it came", "max_output_tokens": 2})
        completion = {"prompt": prompt, "max_tokens": 2, "temperature": 0}
        _, answer = server.post("/v1/completions", completion)
        large = self.connections(server, LARGE, TEXT)
        wait_until(lambda: preparing(server) > 2 or answers(large))
        self.assertEqual(server.stop(), 0)
        with RunningServer(PROGRAM, *options) as server:
            status, kept = server.get("/v1/conversations/" + conversation["id"])
            self.assertEqual((status, kept["messages"]), (200, conversation["messages"]))
            status, _ = server.post("/v1/responses", {"input": "And", "previous_response_id": response["id"],
                                                      "max_output_tokens": 1})
            self.assertEqual(status, 200)
            _, again = server.post("/v1/completions", completion)
            self.assertEqual(again["choices"][0]["text"], answer["choices"][0]["text"])
            self.assertGreater(again["usage"]["prompt_tokens_details"]["cached_tokens"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
