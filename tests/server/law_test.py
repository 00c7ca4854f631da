#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every answer equals that of a request alone, with any other requests, and with the server killed in between.

law_test.py PROGRAM [SECONDS [KILLS [CLIENTS]]]
"""

import http.client
import json
import os
import random
import socket
import sys
import threading
import time
import unittest

from running_server import RunningServer, adapters, temporary_folder
from turns import WORDS, Turns, essence

PROGRAM = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 15
KILLS = int(sys.argv[3]) if len(sys.argv) > 3 else 3
CLIENTS = int(sys.argv[4]) if len(sys.argv) > 4 else 16
LEAST_ANSWERS = 800  # however long they take
MODELS = ["default", "default", "poet", "scribe"]


def some_request(rng):
    """A request that says all that its answer depends on."""
    text = " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 80)))
    return {"messages": [{"role": "user", "content": text}], "seed": rng.randrange(1000), "max_tokens": rng.randint(1, 40),
            "model": rng.choice(MODELS), "temperature": rng.choice([0, 0.7, 1.3]), "n": rng.choice([1, 1, 1, 2]), "logprobs": rng.random() < 0.2,
            "presence_penalty": rng.choice([0, 0.5])}


def resident(server):
    """Bytes of memory that the server has."""
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))


def quantiles(seconds):
    ordered = sorted(seconds)
    return ", ".join(f"{part:.0%} {ordered[min(int(len(ordered) * part), len(ordered) - 1)]:.2f} s" for part in (0.5, 0.9, 0.99, 1))


class Law(unittest.TestCase):
    def test_many_clients(self):
        rng = random.Random(1)
        pool = [some_request(rng) for _ in range(40)]
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        arguments = ["--max-context", "512", *adapters(folder.name, ["poet", "scribe"])]
        with RunningServer(PROGRAM, *arguments) as alone:
            expected = [essence(alone.post("/v1/chat/completions", one)[1]) for one in pool]
        failures, latencies, memory = [], [], []
        with RunningServer(PROGRAM, *arguments, "--cache-bytes", "8MB", "--users", "8", "--prompt-lookup") as server:
            begun = time.monotonic()
            before = os.listdir(f"/proc/{server.process.pid}/fd")

            def goes_on():
                passed = time.monotonic() - begun
                return not failures and (passed < SECONDS or (passed < 600 and len(latencies) < LEAST_ANSWERS))

            def client(seed):
                own = random.Random(seed)
                while goes_on():
                    which = own.randrange(len(pool))
                    try:
                        if own.random() < 0.2:
                            self.abort(server, pool[which], own)
                            continue
                        begin = time.monotonic()
                        status, answer = server.post("/v1/chat/completions", pool[which], timeout=600)
                        if status != 200 or essence(answer) != expected[which]:
                            failures.append((which, status, answer, expected[which]))
                        latencies.append(time.monotonic() - begin)
                    except Exception as error:  # noqa: BLE001: any is a failure
                        failures.append((which, repr(error)))

            threads = [threading.Thread(target=client, args=(seed,)) for seed in range(CLIENTS)]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                memory.append((len(latencies), resident(server)))
                time.sleep(max(SECONDS / 60, 0.1))
            memory.append((len(latencies), resident(server)))
            self.assertEqual(failures, [])
            self.assertGreater(len(latencies), 0)
            # All that is reused has been made when half of the answers have been given.
            most_early = max(size for count, size in memory if count <= len(latencies) / 2)
            self.assertLess(max(size for _, size in memory), 1.1 * most_early + (4 << 20))
            deadline = time.monotonic() + 60
            while len(after := os.listdir(f"/proc/{server.process.pid}/fd")) > len(before) + 2:
                self.assertLess(time.monotonic(), deadline, after)
                time.sleep(0.1)
            print(f"{len(latencies)} answers equal; {quantiles(latencies)}; descriptors {len(before)} before, {len(after)} behind; "
                  f"MB resident: {' '.join(str(m >> 20) for _, m in memory[::max(len(memory) // 12, 1)])}", flush=True)

    # Begins to read a stream, slowly perhaps, and leaves.
    @staticmethod
    def abort(server, request, rng):
        body = json.dumps({**request, "stream": True}).encode()
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            for _ in range(rng.randint(0, 4)):
                connection.recv(200)
                time.sleep(rng.random() * 0.05)

    def test_killed_at_any_moment(self):
        rng = random.Random(2)
        turns = Turns(rng)
        with RunningServer(PROGRAM, "--max-context", "2048") as calm:
            turns.ask_all(calm)
        with temporary_folder() as state:
            arguments = ["--max-context", "2048", "--state", state]
            server = RunningServer(PROGRAM, *arguments)
            names = [server.post("/v1/conversations", {})[1]["id"] for _ in range(3)]
            cached = 0
            for _ in range(KILLS):
                killer = threading.Timer(rng.random() * 1.5, server.kill)
                killer.start()
                try:
                    while True:
                        turns.one(self, server, rng.choice(names))
                except (OSError, http.client.HTTPException, json.JSONDecodeError):
                    pass  # killed
                killer.join()
                server = RunningServer(PROGRAM, *arguments)
                for name in names:
                    cached += turns.one(self, server, name)
            # A server that is killed knows what it wrote before.
            server.wait_for_metric("skald_store_writes_waiting 0")
            server.kill()
            server = RunningServer(PROGRAM, *arguments)
            for name in names:
                cached += turns.one(self, server, name)
            self.assertEqual(server.stop(), 0)
            self.assertGreater(cached, 0)
            print(f"{KILLS} kills; {cached} tokens of prompts were known after them")
            self.assertEqual(os.spawnv(os.P_WAIT, PROGRAM, [PROGRAM, "store", os.path.join(state, "prompts"), "--verify"]), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
