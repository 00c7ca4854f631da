#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models for chats, for guesses and for embeddings in one server, within one limit of memory:
side_by_side_test.py PROGRAM [SECONDS [CLIENTS]]."""

import os
import random
import sys
import threading
import time
import unittest

from running_server import RunningServer, temporary_folder
from several_models import DEMO, metric, resident, states, swapped_model, until
from turns import WORDS, essence

PROGRAM = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 8
CLIENTS = int(sys.argv[3]) if len(sys.argv) > 3 else 6
SMALL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "data", "stories260K")
ARGUMENTS = ["--max-context", "512", "--cache-bytes", "4MB", "-t", "1"]
# The first model takes 11.4 MB and its draft model as much, the other one for chats 11.4 MB too, that for embeddings 5:
# the two for chats do not fit together.
MEMORY, TWO_THERE = 30_000_000, 22e6


def words(rng, most):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, most)))


def requests(rng):
    """Requests as (path, body), for each of the three models."""
    made = []
    for i in range(12):
        body = {"model": rng.choice(["chat", "other"]), "seed": i, "temperature": rng.choice([0, 0.9]), "max_tokens": rng.randint(1, 40)}
        made.append(("/v1/chat/completions", {**body, "messages": [{"role": "user", "content": words(rng, 30)}]}))
    for i in range(6):
        made.append(("/v1/embeddings", {"model": "embed", "input": [words(rng, 30) for _ in range(rng.randint(1, 4))]}))
    return made


def told(path, answer):
    return essence(answer) if path.endswith("completions") else [one["embedding"] for one in answer["data"]]


class SideBySide(unittest.TestCase):
    def test_answers_are_those_of_single_servers(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        other, draft = (swapped_model(os.path.join(folder.name, name), *layers) for name, layers in (("other", (0, 1)), ("draft", (1, 2))))
        paths = {"chat": DEMO, "other": other, "embed": SMALL}
        pool = requests(random.Random(11))
        expected = {}
        for name, path in paths.items():
            with RunningServer(PROGRAM, "--model", f"{name}={path}", *ARGUMENTS) as alone:
                for i, (at, body) in enumerate(pool):
                    if body["model"] == name:
                        status, answer = alone.post(at, body)
                        self.assertEqual(status, 200, answer)
                        expected[i] = told(at, answer)
        named = [word for name, path in paths.items() for word in ("--model", f"{name}={path}")]
        failures, answers, held = [], [], []
        with RunningServer(PROGRAM, *named, "--draft-model", draft, *ARGUMENTS, "--memory", str(MEMORY)) as server:
            base, begun = resident(server), time.monotonic()

            # Whether all that is looked for has happened: a slow machine takes longer.
            def is_seen():
                return (set(answers) == set(paths) and max(held, default=0) > TWO_THERE and
                        metric(server, "skald_model_evictions_total") > 0)

            def goes_on():
                passed = time.monotonic() - begun
                return not failures and (passed < SECONDS or (passed < 300 and not is_seen()))

            def client(seed):
                own = random.Random(seed)
                while goes_on():
                    try:
                        if own.random() < 0.15:
                            status, answer = server.post(own.choice(["/models/load", "/models/unload"]), {"model": own.choice(list(paths))}, timeout=300)
                            if status != 200:
                                failures.append((status, answer))
                            continue
                        which = own.randrange(len(pool))
                        path, body = pool[which]
                        status, answer = server.post(path, body, timeout=300)
                        if status != 200 or told(path, answer) != expected[which]:
                            failures.append((which, status, answer, expected[which]))
                        answers.append(body["model"])
                    except Exception as error:  # noqa: BLE001: any is a failure
                        failures.append((seed, repr(error)))

            threads = [threading.Thread(target=client, args=(seed,)) for seed in range(CLIENTS)]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                held.append(metric(server, "skald_models_bytes"))
                self.assertLess(resident(server) - base, MEMORY + 48e6)  # tokenizers, threads, activations and requests besides
                time.sleep(0.1)
            self.assertEqual(failures, [])
            self.assertLessEqual(max(held), MEMORY)
            # The draft model counts: the two for chats were never there together.
            self.assertGreater(max(held), TWO_THERE)
            self.assertEqual(set(answers), set(paths))
            self.assertGreater(metric(server, "skald_model_evictions_total"), 0)
            # Guesses were made, and some were right.
            self.assertEqual(server.post(*next(one for one in pool if one[1]["model"] == "chat"))[0], 200)
            self.assertGreater(metric(server, 'skald_accepted_tokens_total{model="chat"}'), 0)
            for name in paths:
                self.assertEqual(server.post("/models/unload", {"model": name})[0], 200)
            until(lambda: set(states(server).values()) == {"unloaded"})
            self.assertEqual(metric(server, "skald_models_bytes"), 0)
            print(f"{len(answers)} answers equal, {metric(server, 'skald_model_loads_total'):.0f} loads; at most {max(held) / 1e6:.1f} MB counted")
        self.assertEqual(server.process.returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
