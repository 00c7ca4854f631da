#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server that several ranks compute for: it answers as one process does, goes on after any of them was killed, with
any number of them, and ends when it is asked to.

ranks_test.py PROGRAM; SKALD_KILLS=100 kills so often
"""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest

from running_server import RunningServer, temporary_folder
from turns import Turns

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import demo_adapter  # noqa: E402
from mpi_job import ENVIRONMENT, can_run, launcher, pid_of_rank  # noqa: E402

PROGRAM = sys.argv[1]
KILLS = int(os.environ.get("SKALD_KILLS", "4"))
OPTIONS = ["--max-context", "2048", "-t", "1"]


def start(count, *options):
    """A server of so many ranks; of one process without ranks if there is one."""
    if count == 1:
        return RunningServer(PROGRAM, *OPTIONS, *options)
    return RunningServer(PROGRAM, *OPTIONS, "--ranks", "--rank-timeout", "60", *options,
                         launcher=launcher(count), env=ENVIRONMENT)


def kill(server, count, rank):
    """Ends one rank with SIGKILL; mpirun ends the others."""
    os.kill(pid_of_rank(server.process.pid, PROGRAM, rank) if count > 1 else server.process.pid, signal.SIGKILL)


def ranks_alive(server, count):
    alive = []
    for rank in range(count):
        try:
            alive.append((rank, pid_of_rank(server.process.pid, PROGRAM, rank)))
        except AssertionError:
            pass  # it is gone
    return alive


@unittest.skipUnless(can_run(PROGRAM), "SKIPPED: there is no mpirun, or the program was built without MPI")
class Ranks(unittest.TestCase):
    def test_any_rank_killed_at_any_moment(self):
        rng = random.Random(4)
        turns = Turns(rng)
        with start(1) as calm:
            turns.ask_all(calm)
        with temporary_folder() as state:
            count = 2
            server = start(count, "--state", state)
            names = [server.post("/v1/conversations", {})[1]["id"] for _ in range(3)]
            killed, known, answers = {}, 0, 0
            for _ in range(KILLS):
                rank = rng.randrange(count)
                killed[count, rank] = killed.get((count, rank), 0) + 1
                moment = rng.random() * 1.5
                # Once a rank is gone, so are answers, though rank 0 may live on for a moment.
                end = time.monotonic() + moment
                killer = threading.Timer(moment, kill, (server, count, rank))
                killer.start()
                try:
                    while time.monotonic() < end:
                        turns.one(self, server, rng.choice(names))
                        answers += 1
                except (OSError, http.client.HTTPException, json.JSONDecodeError):
                    pass
                except AssertionError:
                    if time.monotonic() < end:
                        raise
                killer.join()
                try:
                    server.process.wait(120)
                except subprocess.TimeoutExpired:
                    self.fail(f"rank {rank} of {count} was killed, and the job goes on with {ranks_alive(server, count)}")
                server.kill()
                count = rng.choice([1, 2, 2, 3])
                server = start(count, "--state", state)
                for name in names:
                    known += turns.one(self, server, name)
                    answers += 1
            # A server that is killed knows what it wrote before.
            server.wait_for_metric("skald_store_writes_waiting 0")
            kill(server, count, 0)
            server.process.wait(120)
            server.kill()
            server = start(1, "--state", state)
            for name in names:
                known += turns.one(self, server, name)
                answers += 1
            server.stop()
            self.assertGreater(known, 0)
            print(f"{KILLS} kills, by ranks and rank: {killed}; {answers} answers equal; {known} tokens of prompts were known")
            self.assertEqual(os.spawnv(os.P_WAIT, PROGRAM, [PROGRAM, "store", os.path.join(state, "prompts"), "--verify"]), 0)

    def test_adapters_are_served_as_by_one_process(self):
        def answers(server):
            texts = []
            for model in ("demo", "one", "other"):
                status, answer = server.post("/v1/completions", {"model": model, "prompt": "And it came to pass",
                                                                 "seed": 1, "max_tokens": 30})
                self.assertEqual(status, 200, answer)
                texts.append(answer["choices"][0]["text"])
            return texts

        with temporary_folder() as folder:
            options = ["--model-name", "demo"]
            for seed, name in enumerate(("one", "other")):
                demo_adapter.write(os.path.join(folder, name), seed)
                options += ["--adapter", f"{name}={os.path.join(folder, name)}"]
            with start(1, *options) as alone:
                expected = answers(alone)
            self.assertEqual(len(set(expected)), 3)
            with start(2, *options) as ranks:
                self.assertEqual(answers(ranks), expected)

    def test_answers_have_time_to_end(self):
        question = {"messages": [{"role": "user", "content": "And it came to pass"}], "seed": 1, "max_tokens": 150,
                    "logit_bias": {"1": -100}}
        server = start(2)
        answers = []
        client = threading.Thread(target=lambda: answers.append(server.post("/v1/chat/completions", question)))
        client.start()
        while b"skald_steps_total 0\n" in server.request("GET", "/metrics")[2]:  # it has not come to the engine
            time.sleep(0.02)
        server.process.send_signal(signal.SIGUSR1)
        client.join()
        self.assertEqual(server.process.wait(120), 0)  # a second signal would end it at once
        server.stop()
        self.assertEqual(answers[0][0], 200)
        self.assertEqual(answers[0][1]["usage"]["completion_tokens"], 150)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
