#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A quiet client while another one attacks: neighbours_test.py PROGRAM [--measure SECONDS].

Under each attack the quiet client gets the answers that it gets alone, /live answers, and memory stays under a limit. With
--measure the latency of both is measured, for so many seconds of each attack, and a table is printed: the ratio of the
quiet client's 99th percentile to its own alone, the slowest /live, and the most memory. Only that run compares times. Its
row "busy machine" is of a neighbour that sends nothing and computes: on two processors, what an attack costs beyond that
is the server's.
"""

import http.client
import json
import multiprocessing
import os
import sys
import tempfile
import time
import unittest
import warnings

from attacks import ATTACKS, Attacker
from fake_redis import FakeRedis
from running_server import RunningServer, temporary_folder

PROGRAM = sys.argv[1]
SECONDS = float(sys.argv[3]) if sys.argv[2:3] == ["--measure"] else None
QUIET = {"messages": [{"role": "user", "content": "And it came to pass"}], "max_tokens": 8, "temperature": 0}
LEAST_ROUNDS = 5
MOST_MEGABYTES = 900  # with the options below: 256 MB of caches, bodies of 32 MB within their budget, and the program


def resident(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) // 1024 for line in file if line.startswith("VmRSS"))


def attack(run, port, stop):
    os.nice(10)  # an attacker's processors are its own
    warnings.simplefilter("ignore", ResourceWarning)  # it drops its connections as it likes
    run(Attacker(port, "loud-key", stop))


def busy_machine(attacker):
    while not attacker.stop.is_set():
        for _ in range(100_000):
            pass


class Quiet:
    """One request after the other, on a connection of its own each."""

    def __init__(self, server):
        self.server, self.answer = server, None
        self.latencies, self.live, self.megabytes = [], [], 0

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("localhost", self.server.port, timeout=300)
        connection.request(method, path, body, {"Authorization": "Bearer quiet-key"})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data

    def round(self):
        begin = time.monotonic()
        status, data = self.ask("POST", "/v1/chat/completions", json.dumps(QUIET))
        self.latencies.append(time.monotonic() - begin)
        assert status == 200, data
        text = json.loads(data)["choices"][0]["message"]["content"]
        self.answer = self.answer or text
        assert text == self.answer, (text, self.answer)
        begin = time.monotonic()
        status, data = self.ask("GET", "/live")
        self.live.append(time.monotonic() - begin)
        assert status == 200, data
        self.megabytes = max(self.megabytes, resident(self.server.process.pid))

    def rounds(self):
        end = time.monotonic() + (SECONDS or 0.5)
        while time.monotonic() < end or len(self.latencies) < LEAST_ROUNDS:
            self.round()
            time.sleep(0.01)

    def percentile(self, share):
        return sorted(self.latencies)[min(len(self.latencies) - 1, int(share * len(self.latencies)))]


class Neighbours(unittest.TestCase):
    rows = []

    def start(self, *arguments):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        keys = tempfile.NamedTemporaryFile("w")
        self.addCleanup(keys.close)
        keys.write("quiet-key quiet\nloud-key loud\n")
        keys.flush()
        server = RunningServer(PROGRAM, "--state", os.path.join(folder.name, "state"), "--api-keys", keys.name,
                               "--max-context", "2048", "--cache-bytes", "256MB", "--grace", "1", *arguments)
        self.addCleanup(server.stop)
        return server

    def measured(self, server, name, run=None):
        quiet = Quiet(server)
        context = multiprocessing.get_context("fork")
        stop = context.Event()
        process = None
        quiet.round()  # a client of before the attack: its key is known where wrong ones come from its address too
        if run is not None:
            process = context.Process(target=attack, args=(run, server.port, stop), daemon=True)
            process.start()
            time.sleep(1.0 if SECONDS else 0.3)
        try:
            quiet.rounds()
        finally:
            stop.set()
            if process is not None:
                process.join(2)
                process.kill()
        self.assertIsNone(server.process.poll(), "".join(server.log[-20:]))
        server.stop()
        self.assertLess(quiet.megabytes, MOST_MEGABYTES)
        self.rows.append((name, quiet))
        return quiet

    def test_clients(self):
        for run in [None, busy_machine, *ATTACKS]:
            name = run.__name__.replace("_", " ") if run else "alone"
            with self.subTest(name):
                self.measured(self.start(), name, run)

    def test_slow_stores(self):
        for mode in ("slow", "silent", "dripping"):
            with self.subTest(mode), FakeRedis(delay=0.02) as redis:
                server = self.start("--redis", f"127.0.0.1:{redis.port}")
                if mode != "slow":
                    redis.silence() if mode == "silent" else redis.drip()
                self.measured(server, f"{mode} store")

    @classmethod
    def tearDownClass(cls):
        alone = next((quiet for name, quiet in cls.rows if name == "alone"), None)
        if SECONDS is None or alone is None:
            return
        print(f"\n{'':24} {'median':>8} {'99 %':>8} {'ratio':>6} {'live':>7} {'MB':>5} {'rounds':>6}")
        for name, quiet in cls.rows:
            median, most = quiet.percentile(0.5), quiet.percentile(0.99)
            print(f"{name:24} {median * 1e3:6.1f}ms {most * 1e3:6.1f}ms {most / alone.percentile(0.99):6.2f} "
                  f"{max(quiet.live) * 1e3:5.0f}ms {quiet.megabytes:5} {len(quiet.latencies):6}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
