#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several models in one server: lists, loads and unloads in the middle of answers, one limit of memory:
models_test.py PROGRAM [SECONDS [CLIENTS]]."""

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
import unittest

from running_server import RunningServer, adapters, temporary_folder
from several_models import DEMO, metric, resident, states, swapped_model, until
from turns import WORDS, essence
from unread_stream import LONG_CHAT, UnreadStream

PROGRAM = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 12
CLIENTS = int(sys.argv[3]) if len(sys.argv) > 3 else 8
# A model takes about 7.4 MB, and its caches so much.
ARGUMENTS = ["--max-context", "512", "--cache-bytes", "4MB", "-t", "1"]
TWO_OF_THEM = "24MB"


def setUpModule():
    global folder, paths
    folder = temporary_folder()
    paths = {"demo": DEMO, "org/first": swapped_model(os.path.join(folder.name, "all", "first"), 0, 1),
             "second": swapped_model(os.path.join(folder.name, "all", "second"), 1, 2)}
    packed = os.path.join(folder.name, "all", "third.packed")
    source = swapped_model(os.path.join(folder.name, "source"), 2, 3)
    subprocess.run([PROGRAM, "pack", source, packed], check=True, capture_output=True)
    paths["third"] = packed
    broken = os.path.join(folder.name, "all", "broken")
    os.makedirs(broken)
    for name in ("config.json", "tokenizer.model"):
        os.symlink(os.path.abspath(os.path.join(DEMO, name)), os.path.join(broken, name))
    with open(os.path.join(broken, "model.safetensors"), "wb") as file:
        file.write(b"\x10" + bytes(30))
    with open(os.path.join(folder.name, "all", "cut.gguf"), "wb") as file:
        file.write(b"GGUF" + bytes(6))
    with open(os.path.join(folder.name, "all", "notes.txt"), "w") as file:
        file.write("no model")


def tearDownModule():
    folder.cleanup()


def named(*names):
    return [word for name in names for word in ("--model", f"{name}={paths[name]}")]


def chat(model, text="And it came to pass", **fields):
    return {"messages": [{"role": "user", "content": text}], "max_tokens": 8, "temperature": 0, "model": model, **fields}


def texts_of(stream):
    """The text of each of the answers in a stream that was read to its end."""
    texts = {}
    lines = stream.decode().split("\n")
    for event in [json.loads(line[6:]) for line in lines if line.startswith("data: {")]:
        for choice in event["choices"]:
            texts[choice["index"]] = texts.get(choice["index"], "") + (choice["delta"].get("content") or "")
    return texts


def new_folder(holder):
    """A new folder in another one."""
    name = os.path.join(holder.name, f"new{len(os.listdir(holder.name))}")
    os.makedirs(name)
    return name


def assert_refused(test, arguments, words):
    run = subprocess.run([PROGRAM, "serve", "--port", "0", *arguments], capture_output=True, text=True, timeout=60)
    test.assertNotEqual(run.returncode, 0)
    test.assertIn(words, run.stderr)


@contextlib.contextmanager
def waiting_request(test, server, model):
    """A request that waits for its model meanwhile, and then is answered."""
    statuses = []
    asker = threading.Thread(target=lambda: statuses.append(server.post("/v1/chat/completions", chat(model))[0]))
    asker.start()
    until(lambda: metric(server, "skald_models_waiting") == 1)
    yield
    asker.join()
    test.assertEqual(statuses, [200])


class Names(unittest.TestCase):
    def setUp(self):
        self.server = RunningServer(PROGRAM, *named("demo", "org/first", "third"), *ARGUMENTS,
                                    *adapters(new_folder(folder), ["poet"]), "--alias", "gpt=third")
        self.addCleanup(lambda: self.assertEqual(self.server.stop(), 0))

    def test_each_is_loaded_when_it_is_asked_for(self):
        server = self.server
        none = {"demo": "unloaded", "poet": "unloaded", "org/first": "unloaded", "third": "unloaded"}
        self.assertEqual(states(server), none)
        self.assertEqual(server.get("/models")[1], server.get("/v1/models")[1])
        self.assertEqual(server.get("/api/ps")[1]["models"], [])
        self.assertEqual(len(server.get("/api/tags")[1]["models"]), 4)
        status, listed = server.get("/v1/models", {"anthropic-version": "2023-06-01"})
        self.assertEqual((status, listed["data"][3]["id"], listed["data"][3]["max_tokens"]), (200, "third", None))
        status, answer = server.post("/v1/chat/completions", chat("gpt"))
        self.assertEqual((status, answer["model"]), (200, "third"))
        self.assertEqual(states(server), {**none, "third": "loaded"})
        self.assertEqual(server.get("/v1/models/third")[1]["context_length"], 512)
        self.assertEqual([one["name"] for one in server.get("/api/ps")[1]["models"]], ["third:latest"])
        # The first one is what clients get that name none.
        answer = server.post("/v1/chat/completions", chat("default"))[1]
        self.assertEqual(answer["model"], "demo")
        self.assertEqual(states(server), {"demo": "loaded", "poet": "loaded", "org/first": "unloaded", "third": "loaded"})
        self.assertEqual(server.get("/v1/models/org/first")[1]["status"], {"value": "unloaded"})
        # As llama.cpp's page asks: nothing is loaded for that.
        self.assertEqual(server.get("/props?autoload=false")[1]["role"], "router")
        self.assertEqual(server.get("/props?model=org%2Ffirst&autoload=false")[0], 400)
        self.assertEqual(server.get("/props?model=demo&autoload=false")[1]["model_alias"], "demo")
        self.assertEqual(states(server)["org/first"], "unloaded")
        self.assertEqual(server.get("/props?model=org%2Ffirst")[1]["model_alias"], "org/first")
        self.assertEqual(states(server)["org/first"], "loaded")

    def test_each_answers_as_it_would_alone(self):
        for name in ("demo", "org/first", "third"):
            with RunningServer(PROGRAM, "--model", paths[name], *ARGUMENTS) as alone:
                expected = alone.post("/v1/chat/completions", chat("any name"))[1]
            answer = self.server.post("/v1/chat/completions", chat(name))[1]
            self.assertEqual(essence(answer), essence(expected))
            vectors = self.server.post("/v1/embeddings", {"model": name, "input": "And"})[1]["data"]
            self.assertEqual(len(vectors[0]["embedding"]), 256)

    def test_unknown_names_are_refused_with_those_that_there_are(self):
        for path, body in [("/v1/chat/completions", chat("gpt-9")), ("/models/load", {"model": "gpt-9"}),
                           ("/models/unload", {"model": "gpt-9"})]:
            status, answer = self.server.post(path, body)
            self.assertEqual(status, 404)
            for name in ("demo", "poet", "org/first", "third"):
                self.assertIn(f"'{name}'", answer["error"]["message"])
        self.assertEqual(self.server.get("/v1/models/gpt-9")[0], 404)

    def test_conversations_go_on_with_their_model(self):
        server = self.server
        name = server.post("/v1/conversations", {})[1]["id"]
        first = server.post("/v1/chat/completions", chat("org/first", conversation=name))[1]
        again = {key: value for key, value in chat("", conversation=name).items() if key != "model"}
        second = server.post("/v1/chat/completions", again)[1]
        self.assertEqual((first["model"], second["model"]), ("org/first", "org/first"))
        status, _, state = server.request("GET", f"/v1/conversations/{name}/state")
        self.assertEqual(status, 200)
        self.assertEqual(server.request("POST", "/v1/conversations/import", state)[0], 400)
        status, _, imported = server.request("POST", "/v1/conversations/import?model=org/first", state)
        self.assertEqual((status, json.loads(imported)["model"]), (201, "org/first"))

    def test_load_and_unload(self):
        server = self.server
        for name in ("third", "org/first", "default"):
            self.assertEqual(server.post("/models/load", {"model": name}), (200, {"success": True}))
        self.assertEqual(set(states(server).values()), {"loaded"})
        loaded = metric(server, "skald_models_bytes")
        for path in ("/models/unload", "/v1/models/unload"):
            self.assertEqual(server.post(path, {"model": "third"}), (200, {"success": True}))
        until(lambda: states(server)["third"] == "unloaded")
        self.assertLess(metric(server, "skald_models_bytes"), loaded)
        self.assertEqual(metric(server, 'skald_model_loaded{model="third"}'), 0)
        self.assertEqual(metric(server, 'skald_model_loaded{model="demo"}'), 1)
        self.assertEqual(metric(server, 'skald_requests_running{model="demo"}'), 0)
        self.assertEqual(server.get("/health")[1]["models"]["third"], "unloaded")
        self.assertEqual(server.post("/v1/chat/completions", chat("third"))[0], 200)
        # As Ollama's clients do it.
        status, answer = server.post("/api/generate", {"model": "third", "keep_alive": 0})
        self.assertEqual((status, answer["done_reason"]), (200, "unload"))
        until(lambda: states(server)["third"] == "unloaded")
        status, answer = server.post("/api/generate", {"model": "third"})
        self.assertEqual((status, answer["done_reason"], states(server)["third"]), (200, "load", "loaded"))

    def test_responses_go_on_with_their_model(self):
        first = self.server.post("/v1/responses", {"model": "org/first", "input": "And", "max_output_tokens": 4})[1]
        second = self.server.post("/v1/responses", {"previous_response_id": first["id"], "input": "So", "max_output_tokens": 4})[1]
        self.assertEqual((first["model"], second["model"]), ("org/first", "org/first"))

    def test_an_answer_ends_whole_when_its_model_is_unloaded(self):
        server = self.server
        long = {**LONG_CHAT, "model": "third", "seed": 1}
        expected = texts_of(UnreadStream(server, long).rest())
        stream = UnreadStream(server, long)
        self.assertEqual(server.post("/models/unload", {"model": "third"})[0], 200)
        self.assertEqual(states(server)["third"], "unloading")
        # A request that asks for it now gets it from a new load.
        with waiting_request(self, server, "third"):
            self.assertEqual(texts_of(stream.rest()), expected)
        self.assertEqual(metric(server, "skald_model_loads_total"), 2)

    def test_the_only_model_can_be_unloaded_too(self):
        with RunningServer(PROGRAM, "--max-context", "512") as alone:
            expected = alone.post("/v1/chat/completions", chat("x"))[1]
            self.assertEqual(alone.post("/models/unload", {"model": "x"})[0], 200)
            until(lambda: set(states(alone).values()) == {"unloaded"})
            self.assertEqual(alone.get("/health")[0], 200)
            self.assertEqual(essence(alone.post("/v1/chat/completions", chat("x"))[1]), essence(expected))


class Memory(unittest.TestCase):
    def test_the_one_used_longest_ago_makes_room(self):
        with RunningServer(PROGRAM, *named("demo", "org/first", "second", "third"), *ARGUMENTS, "--memory", TWO_OF_THEM) as server:
            for name in ("demo", "org/first", "demo", "second"):
                self.assertEqual(server.post("/v1/chat/completions", chat(name))[0], 200)
            self.assertEqual(states(server), {"demo": "loaded", "org/first": "unloaded", "second": "loaded", "third": "unloaded"})
            self.assertEqual(metric(server, "skald_model_evictions_total"), 1)
            self.assertLessEqual(metric(server, "skald_models_bytes"), metric(server, "skald_models_limit_bytes"))

    def test_a_load_of_one_that_is_loaded_is_a_use(self):
        with RunningServer(PROGRAM, *named("demo", "second", "third"), *ARGUMENTS, "--memory", TWO_OF_THEM) as server:
            for name in ("demo", "second"):
                self.assertEqual(server.post("/v1/chat/completions", chat(name))[0], 200)
            self.assertEqual(server.post("/models/load", {"model": "demo"})[0], 200)
            self.assertEqual(server.post("/v1/chat/completions", chat("third"))[0], 200)
            self.assertEqual(states(server), {"demo": "loaded", "second": "unloaded", "third": "loaded"})

    def test_answers_are_waited_for(self):
        with RunningServer(PROGRAM, *named("demo", "second"), *ARGUMENTS, "--memory", "14MB") as server:
            long = {**LONG_CHAT, "model": "demo", "seed": 1}
            expected = texts_of(UnreadStream(server, long).rest())
            stream = UnreadStream(server, long)
            with waiting_request(self, server, "second"):
                until(lambda: states(server)["demo"] == "unloading")
                self.assertEqual(texts_of(stream.rest()), expected)
            self.assertEqual(states(server), {"demo": "unloaded", "second": "loaded"})

    def test_one_that_can_never_fit_is_refused_with_the_sizes(self):
        with RunningServer(PROGRAM, *named("demo", "third"), *ARGUMENTS, "--memory", "10MB") as server:
            status, answer = server.post("/v1/chat/completions", chat("third"))
            self.assertEqual((status, answer["error"]["code"]), (507, "out_of_memory"))
            self.assertRegex(answer["error"]["message"], r"'third'.* 11\.\d MB, more than the 10\.0 MB .*--memory")
            self.assertEqual(set(states(server).values()), {"unloaded"})
            self.assertTrue(server.get("/v1/models/third")[1]["status"]["failed"])

    def test_the_only_model_is_held_to_it(self):
        assert_refused(self, [*ARGUMENTS, "--memory", "5MB"], "--memory")


class Folder(unittest.TestCase):
    def test_all_of_it_is_served_and_what_is_broken_ends_nothing(self):
        with RunningServer(PROGRAM, "--models-dir", os.path.join(folder.name, "all"), *ARGUMENTS) as server:
            self.assertEqual(list(states(server)), ["broken", "cut.gguf", "first", "second", "third.packed"])
            for name in ("broken", "cut.gguf"):
                status, answer = server.post("/v1/chat/completions", chat(name))
                self.assertEqual((status, answer["error"]["code"]), (503, "model_not_loaded"), answer)
                self.assertIn(f"'{name}'", answer["error"]["message"])
                shown = server.get(f"/v1/models/{name}")[1]["status"]
                self.assertEqual((shown["value"], shown["failed"]), ("unloaded", True))
            for name in ("first", "third.packed"):
                self.assertEqual(server.post("/v1/chat/completions", chat(name))[0], 200)
            self.assertEqual(server.get("/health")[0], 200)

    def test_a_load_that_failed_is_tried_again(self):
        def fails_again():
            place = os.path.join(new_folder(folder), "late")
            os.makedirs(place)
            with RunningServer(PROGRAM, *named("demo"), "--model", f"late={place}", *ARGUMENTS) as server:
                begun = time.monotonic()
                self.assertEqual(server.post("/v1/chat/completions", chat("late"))[0], 503)
                for name in os.listdir(DEMO):
                    os.symlink(os.path.abspath(os.path.join(DEMO, name)), os.path.join(place, name))
                # For five seconds requests are told what failed, and nothing is tried again for each of them.
                status, _ = server.post("/v1/chat/completions", chat("late"))
                self.assertEqual(status, 503 if time.monotonic() - begun < 5 else status)
                self.assertEqual(metric(server, "skald_model_failed_loads_total"), 1)
                self.assertEqual(server.post("/models/load", {"model": "late"})[0], 200)
                self.assertEqual(server.post("/v1/chat/completions", chat("late"))[0], 200)
                self.assertEqual(server.get("/v1/models/late")[1]["status"], {"value": "loaded"})
            return status == 503

        self.assertTrue(any(fails_again() for _ in range(10)))

    def test_what_cannot_be_is_refused_at_the_start(self):
        empty = new_folder(folder)
        for arguments, words in [(["--models-dir", empty], "there is no model in it"),
                                 ([*named("demo"), "--model", f"demo={paths['second']}"], "two models are called 'demo'"),
                                 ([*named("demo"), "--model", f"default={paths['second']}"], "'default'"),
                                 ([*named("demo"), "--model", os.path.join(empty, "nothing")], "nothing"),
                                 ([*named("demo", "second"), "--ranks"], "--ranks")]:
            with self.subTest(words):
                assert_refused(self, arguments, words)


class Law(unittest.TestCase):
    def test_loads_and_unloads_at_random(self):
        names = list(paths)
        rng = random.Random(3)
        pool = [chat(rng.choice(names), " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 40))), seed=i,
                     temperature=rng.choice([0, 1]), max_tokens=rng.randint(1, 40)) for i in range(24)]
        expected = {}
        for name in names:
            with RunningServer(PROGRAM, "--model", paths[name], *ARGUMENTS) as alone:
                for i, one in enumerate(pool):
                    if one["model"] == name:
                        expected[i] = essence(alone.post("/v1/chat/completions", one)[1])
        failures, answers, memory = [], [], []
        with RunningServer(PROGRAM, *named(*names), *ARGUMENTS, "--memory", TWO_OF_THEM) as server:
            base = resident(server)
            deadline = time.monotonic() + SECONDS

            def client(seed):
                own = random.Random(seed)
                while time.monotonic() < deadline and not failures:
                    try:
                        if own.random() < 0.2:
                            path = own.choice(["/models/load", "/models/unload"])
                            status, answer = server.post(path, {"model": own.choice(names)}, timeout=300)
                            if status != 200:
                                failures.append((path, status, answer))
                            continue
                        which = own.randrange(len(pool))
                        if own.random() < 0.1:
                            self.leave(server, pool[which], own)
                            continue
                        status, answer = server.post("/v1/chat/completions", pool[which], timeout=300)
                        if status != 200 or essence(answer) != expected[which]:
                            failures.append((which, status, answer, expected[which]))
                        answers.append(which)
                    except Exception as error:  # noqa: BLE001: any is a failure
                        failures.append((seed, repr(error)))

            threads = [threading.Thread(target=client, args=(seed,)) for seed in range(CLIENTS)]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                self.assertLessEqual(metric(server, "skald_models_bytes"), 24e6)
                memory.append(resident(server) - base)
                time.sleep(0.2)
            self.assertEqual(failures, [])
            self.assertGreater(len(answers), 0)
            loads = metric(server, "skald_model_loads_total")
            for name in names:
                self.assertEqual(server.post("/models/unload", {"model": name})[0], 200)
            until(lambda: set(states(server).values()) == {"unloaded"})
            self.assertEqual(metric(server, "skald_models_bytes"), 0)
            self.assertEqual(metric(server, "skald_models_waiting"), 0)
            # Other memory than weights and caches: tokenizers, threads, activations, requests.
            self.assertLess(max(memory), 24e6 + 48e6)
            print(f"{len(answers)} answers equal over {loads:.0f} loads; at most {max(memory) / 1e6:.0f} MB more than at the start")
        self.assertEqual(server.process.returncode, 0)

    @staticmethod
    def leave(server, request, rng):
        """Asks, and does not wait for the answer."""
        body = json.dumps({**request, "stream": True}).encode()
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            time.sleep(rng.random() * 0.05)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
