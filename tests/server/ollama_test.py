#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ollama's API, as a client without a library sees it: ollama_test.py PROGRAM. clients/ has its own clients."""

import json
import os
import sys
import unittest

from running_server import RunningServer, adapters, temporary_folder, tool_model

PROGRAM = sys.argv[1]
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "demo_model")
MESSAGES = [{"role": "user", "content": "And it came"}]
WEATHER = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 8}, "days": {"type": "integer"}},
           "required": ["city", "days"], "additionalProperties": False}


def setUpModule():
    global server, folder
    folder = temporary_folder()
    server = RunningServer(PROGRAM, "--model", tool_model(DEMO, folder.name), "--model-name", "demo", "--max-context", "512",
                           *adapters(folder.name, ["poet"]))


def tearDownModule():
    code = server.stop()
    folder.cleanup()
    assert code == 0, code


def ask(path, **fields):
    fields["options"] = {"num_predict": 12, "temperature": 0, **fields.get("options", {})}
    return server.post("/api/" + path, {"model": "demo", "stream": False, **fields})


def lines(path, **fields):
    body = {"model": "demo", "options": {"num_predict": 12, "temperature": 0}, **fields}
    status, headers, data = server.request("POST", "/api/" + path, body)
    assert status == 200 and headers["Content-Type"] == "application/x-ndjson", (status, headers)
    return [json.loads(line) for line in data.decode().splitlines()]


class Models(unittest.TestCase):
    def test_all_are_listed_with_tags(self):
        for path in ("tags", "ps"):
            names = [model["name"] for model in server.get("/api/" + path)[1]["models"]]
            self.assertEqual(names, ["demo:latest", "poet:latest"])
        model = server.get("/api/tags")[1]["models"][0]
        self.assertEqual(model["details"]["parameter_size"], "3.67M")
        self.assertEqual(len(model["digest"]), 64)
        self.assertRegex(server.get("/api/version")[1]["version"], r"^\d+\.\d+\.\d+$")

    def test_one_is_shown(self):
        status, shown = server.post("/api/show", {"model": "demo"})
        self.assertEqual(status, 200)
        family = shown["model_info"]["general.architecture"]
        self.assertEqual(shown["model_info"][family + ".context_length"], 512)
        self.assertEqual(shown["capabilities"], ["completion", "tools"])

    def test_pull_finds_what_is_here(self):
        self.assertEqual(server.post("/api/pull", {"model": "demo:latest", "stream": False}), (200, {"status": "success"}))
        status, refused = server.post("/api/pull", {"model": "nowhere/none"})
        self.assertEqual(status, 404)
        self.assertIn("skald pull", refused["error"])


class Answers(unittest.TestCase):
    def test_whole_and_stream_are_the_same(self):
        for path, place, fields in [("chat", lambda one: one["message"]["content"], {"messages": MESSAGES}),
                                    ("generate", lambda one: one["response"], {"prompt": "And it came"}),
                                    ("generate", lambda one: one["response"], {"prompt": "And it came", "raw": True})]:
            with self.subTest(path, **fields):
                status, whole = ask(path, **fields)
                self.assertEqual(status, 200, whole)
                self.assertEqual((whole["done"], whole["done_reason"], whole["eval_count"]), (True, "length", 12))
                self.assertGreaterEqual(whole["total_duration"], whole["eval_duration"])
                pieces = lines(path, **fields)
                self.assertEqual("".join(map(place, pieces)), place(whole))
                self.assertEqual([piece["done"] for piece in pieces], [False] * (len(pieces) - 1) + [True])
                self.assertEqual(pieces[-1]["skald"]["digest"], whole["skald"]["digest"])

    def test_generate_is_a_chat_unless_raw(self):
        chat = ask("chat", messages=[{"role": "system", "content": "Be"}, *MESSAGES])[1]
        self.assertEqual(ask("generate", prompt="And it came", system="Be")[1]["response"], chat["message"]["content"])
        plain = server.post("/v1/completions", {"prompt": "And it came", "max_tokens": 12, "temperature": 0})[1]
        self.assertEqual(ask("generate", prompt="And it came", raw=True)[1]["response"], plain["choices"][0]["text"])

    def test_options(self):
        text = ask("chat", messages=MESSAGES, options={"num_predict": 40})[1]["message"]["content"]
        stopped = ask("chat", messages=MESSAGES, options={"num_predict": 40, "stop": [text[10:14]]})[1]
        self.assertEqual(stopped["message"]["content"], text[:text.index(text[10:14])])
        self.assertEqual(stopped["done_reason"], "stop")
        drawn = {"temperature": 1, "seed": 7, "top_k": 50, "top_p": 0.9, "min_p": 0.01, "num_ctx": 99999}
        self.assertEqual(ask("chat", messages=MESSAGES, options=drawn)[1]["message"],
                         ask("chat", messages=MESSAGES, options=drawn)[1]["message"])
        penalized = ask("chat", messages=MESSAGES, options={"repeat_penalty": 2.0, "num_predict": 40})[1]
        self.assertNotEqual(penalized["message"]["content"], text)
        unchanged = ask("chat", messages=MESSAGES, options={"repeat_penalty": 2.0, "repeat_last_n": 0, "num_predict": 40})[1]
        self.assertEqual(unchanged["message"]["content"], text)
        self.assertEqual(ask("chat", messages=MESSAGES, options={"mirostat": 2})[0], 400)

    def test_formats(self):
        for form in ("json", WEATHER):
            answer = ask("chat", messages=MESSAGES, format=form, options={"temperature": 1, "seed": 1, "num_predict": 300})[1]
            if answer["done_reason"] == "stop":
                self.assertIsInstance(json.loads(answer["message"]["content"]), dict)
        self.assertEqual(ask("chat", messages=MESSAGES, format=5)[0], 400)

    def test_log_probabilities(self):
        answer = ask("generate", prompt="And it came", raw=True, logprobs=True, top_logprobs=2)[1]
        self.assertEqual("".join(one["token"] for one in answer["logprobs"]), answer["response"])
        self.assertEqual(len(answer["logprobs"][0]["top_logprobs"]), 2)

    def test_a_request_without_a_text_loads(self):
        self.assertEqual(ask("chat")[1]["done_reason"], "load")
        self.assertEqual(ask("generate", prompt="", keep_alive=0)[1]["done_reason"], "unload")
        self.assertEqual(ask("generate", prompt="", keep_alive="0s")[1]["done_reason"], "unload")

    def test_tools(self):
        tool = {"type": "function", "function": {"name": "get_weather", "description": "tells", "parameters": WEATHER}}
        fields = {"tools": [tool], "tool_choice": "required", "options": {"temperature": 1, "seed": 3, "num_predict": 300}}
        answer = ask("chat", messages=MESSAGES, **fields)[1]
        calls = [one["function"] for one in answer["message"]["tool_calls"]]
        self.assertEqual((calls[0]["name"], set(calls[0]["arguments"])), ("get_weather", {"city", "days"}))
        pieces = lines("chat", messages=MESSAGES, **fields)
        self.assertEqual([one["function"] for piece in pieces for one in piece["message"].get("tool_calls", [])], calls)
        asked = {"role": "assistant", "content": "", "tool_calls": [{"function": calls[0]}]}
        result = {"role": "tool", "tool_name": "get_weather", "content": "sunny"}
        self.assertEqual(ask("chat", messages=[*MESSAGES, asked, result], tools=[tool])[0], 200)


class Vectors(unittest.TestCase):
    def test_they_are_those_of_the_other_api(self):
        texts = ["In the beginning", "And it came"]
        other = [one["embedding"] for one in server.post("/v1/embeddings", {"input": texts})[1]["data"]]
        self.assertEqual(server.post("/api/embed", {"model": "demo", "input": texts})[1]["embeddings"], other)
        self.assertEqual(server.post("/api/embed", {"model": "demo", "input": texts[0]})[1]["embeddings"], other[:1])
        self.assertEqual(server.post("/api/embeddings", {"model": "demo", "prompt": texts[0]})[1]["embedding"], other[0])
        self.assertEqual(server.post("/api/embed", {"model": "demo", "input": ""})[1]["embeddings"], [])


class Errors(unittest.TestCase):
    def test_they_have_the_form_of_the_api(self):
        for path, body, status in [("chat", {"model": "nobody", "messages": MESSAGES}, 404), ("chat", {}, 400),
                                   ("chat", {"model": "poet", "messages": [{"role": "x", "content": ""}]}, 400),
                                   ("chat", {"model": "demo", "messages": [{"role": "user", "content": "", "images": ["a"]}]}, 400),
                                   ("generate", {"model": "demo", "prompt": "a", "suffix": "b"}, 400),
                                   ("generate", {"model": "demo", "prompt": "a", "context": [1]}, 400),
                                   ("embed", {"model": "demo", "input": [""]}, 400), ("show", "[", 400), ("nothing", {}, 404)]:
            with self.subTest(path, body=body):
                got, answer = server.post("/api/" + path, body)
                self.assertEqual((got, list(answer)), (status, ["error"]))
                self.assertIsInstance(answer["error"], str)
        got, answer = server.post("/api/chat", {"model": "demo", "messages": [{"role": "user", "content": "a " * 2000}]})
        self.assertEqual((got, list(answer)), (400, ["error"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
