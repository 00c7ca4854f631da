#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Only requests that need a store's content wait for it, and not for long: slow_store_test.py PROGRAM."""

import http.client
import json
import sys
import threading
import time
import unittest

from fake_redis import FakeRedis
from running_server import RunningServer

PROGRAM = sys.argv[1]
NEVER = {str(token): -100 for token in range(3)}  # nothing ends an answer


def prompt(number):
    return f"In the days of king {number} " + "a man went out of the city and said behold " * 8


class Stream:
    """Reads long streams in a thread, one after the other, until it is closed; `events` counts what came so far."""

    def __init__(self, server):
        self.events, self._server, self._is_over = 0, server, False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._is_over = True
        self._thread.join(60)

    def _read(self):
        body = {"prompt": "And it", "max_tokens": 3000, "stream": True, "logit_bias": NEVER}
        while not self._is_over:
            connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=300)
            connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
            for line in connection.getresponse():
                self.events += line.startswith(b"data: ")
                if self._is_over:
                    break
            connection.close()

    def wait_for(self, events):
        deadline = time.monotonic() + 120
        while self.events < events and self._thread.is_alive():
            if time.monotonic() > deadline:
                raise AssertionError(f"only {self.events} of {events} events came")
            time.sleep(0.005)


def serve(redis):
    return RunningServer(PROGRAM, "--max-context", "4096", "-t", "1", "--grace", "0", "--redis", f"127.0.0.1:{redis.port}")


class SlowStore(unittest.TestCase):
    def events_during_a_call(self, redis, server, stream):
        """How many events of the stream come between two moments at which the same calls are open."""
        deadline = time.monotonic() + 120
        most = 0
        while time.monotonic() < deadline and most < 5:
            commands, before = redis.commands, stream.events
            while most < 5 and time.monotonic() < deadline:
                time.sleep(0.005)
                events = stream.events - before
                if redis.open_calls == 0 or redis.commands != commands:
                    break
                most = max(most, events)
            time.sleep(0.001)
        return most

    def test_streams_go_on_while_a_store_is_slow(self):
        with FakeRedis(delay=1.0) as redis, serve(redis) as server:
            with Stream(server) as stream:
                stream.wait_for(5)
                status, answer = server.post("/v1/completions", {"prompt": prompt(1), "max_tokens": 2})
                self.assertEqual(status, 200, answer)
                self.assertGreaterEqual(self.events_during_a_call(redis, server, stream), 5)

    def test_streams_go_on_while_a_store_is_silent(self):
        with FakeRedis() as redis, serve(redis) as server:
            self.assertEqual(server.post("/v1/completions", {"prompt": prompt(0), "max_tokens": 2})[0], 200)
            redis.silence()
            with Stream(server) as stream:
                stream.wait_for(1)
                others = [threading.Thread(target=server.post, args=("/v1/completions", {"prompt": prompt(n), "max_tokens": 2}))
                          for n in range(3)]
                for other in others:
                    other.start()
                self.assertGreaterEqual(self.events_during_a_call(redis, server, stream), 5)
                for other in others:
                    other.join(120)
                    self.assertFalse(other.is_alive(), "a request waits for a silent store")
                self.assertEqual(server.request("GET", "/health")[0], 200)

    def test_streams_go_on_while_a_store_drips(self):
        with FakeRedis() as redis, serve(redis) as server:
            self.assertEqual(server.post("/v1/completions", {"prompt": prompt(0), "max_tokens": 2})[0], 200)
            redis.drip()
            with Stream(server) as stream:
                stream.wait_for(1)
                status, answer = server.post("/v1/completions", {"prompt": prompt(1), "max_tokens": 2})
                self.assertEqual(status, 200, answer)
                self.assertGreaterEqual(self.events_during_a_call(redis, server, stream), 5)

    def test_what_was_written_beside_is_found_by_another(self):
        with FakeRedis() as redis, serve(redis) as one, serve(redis) as other:
            body = {"prompt": prompt(7), "max_tokens": 4, "seed": 1, "logit_bias": NEVER}
            first = one.post("/v1/completions", body)[1]
            one.wait_for_metric("skald_store_writes_waiting 0")
            second = other.post("/v1/completions", body)[1]
            self.assertEqual(second["choices"][0]["text"], first["choices"][0]["text"])
            self.assertGreater(second["usage"]["prompt_tokens_details"]["cached_tokens"],
                               first["usage"]["prompt_tokens"] // 2)

    def test_a_server_ends_while_a_store_is_silent(self):
        with FakeRedis() as redis:
            server = RunningServer(PROGRAM, "--max-context", "1024", "--grace", "1", "--redis", f"127.0.0.1:{redis.port}")
            server.post("/v1/completions", {"prompt": prompt(0), "max_tokens": 2})
            redis.silence()
            server.post("/v1/completions", {"prompt": prompt(1), "max_tokens": 2})
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
