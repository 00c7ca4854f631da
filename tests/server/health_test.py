#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""/live and /health of a healthy server, and of one that is not: health_test.py PROGRAM."""

import json
import os
import signal
import sys
import threading
import time
import unittest

from fake_redis import FakeRedis
from running_server import RunningServer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from mpi_job import ENVIRONMENT, can_run, launcher, pid_of_rank  # noqa: E402

PROGRAM = sys.argv[1]
COMPLETION = {"prompt": "And it", "max_tokens": 4}


def health(server):
    status, _, data = server.request("GET", "/health")
    return status, json.loads(data)


def wait_for(condition, what):
    deadline = time.monotonic() + 60
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(what)
        time.sleep(0.02)
    return found


class Health(unittest.TestCase):
    def test_a_server_that_is_well(self):
        with RunningServer(PROGRAM, "--max-context", "512", wait=False) as server:
            self.assertEqual(server.request("GET", "/live")[0], 200)  # from the first moment on
            wait_for(lambda: health(server)[0] == 200, "the server does not become healthy")
            self.assertEqual(server.post("/v1/completions", COMPLETION)[0], 200)
            status, body = health(server)
            self.assertEqual((status, body["status"]), (200, "ok"))
            self.assertNotIn("redis", body["stores"])
            self.assertEqual(server.request("HEAD", "/live")[0], 200)

    def test_a_lost_store_is_told_and_no_reason_to_fail(self):
        with FakeRedis() as redis, \
             RunningServer(PROGRAM, "--max-context", "512", "--redis", f"127.0.0.1:{redis.port}") as server:
            self.assertEqual(server.post("/v1/completions", COMPLETION)[0], 200)
            wait_for(lambda: health(server)[1]["stores"]["redis"] == "up", "Redis is not up")
            redis.silence()
            self.assertEqual(server.post("/v1/completions", {**COMPLETION, "prompt": "And he"})[0], 200)
            body = wait_for(lambda: health(server)[1]["stores"]["redis"] == "down" and health(server), "Redis is not down")
            self.assertEqual((body[0], body[1]["status"]), (200, "ok"))
            self.assertIn("skald_redis_up 0", server.request("GET", "/metrics")[2].decode())


@unittest.skipUnless(can_run(PROGRAM), "SKIPPED: there is no mpirun, or the program was built without MPI")
class StuckRank(unittest.TestCase):
    def test_a_rank_that_stops(self):
        with RunningServer(PROGRAM, "--max-context", "512", "-t", "1", "--ranks", "--stall-seconds", "1",
                           launcher=launcher(2), env=ENVIRONMENT) as server:
            self.assertEqual(server.post("/v1/completions", COMPLETION)[0], 200)
            rank = pid_of_rank(server.process.pid, PROGRAM, 1)
            os.kill(rank, signal.SIGSTOP)
            try:
                answers = []
                asker = threading.Thread(target=lambda: answers.append(server.post("/v1/completions", COMPLETION)))
                asker.start()
                body = wait_for(lambda: health(server)[0] == 503 and health(server)[1], "nobody noticed the rank")
                self.assertEqual(body["status"], "stalled")
                self.assertGreater(body["engine"]["stalled_seconds"], 1)
                self.assertEqual(server.request("GET", "/live")[0], 200)
            finally:
                os.kill(rank, signal.SIGCONT)
            asker.join(120)
            self.assertEqual(answers[0][0], 200)
            wait_for(lambda: health(server)[0] == 200, "the server does not recover")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
