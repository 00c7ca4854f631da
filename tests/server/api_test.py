#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server's APIs, as a client without a library sees them: api_test.py PROGRAM."""

import base64
import json
import os
import re
import struct
import sys
import unittest

from running_server import RunningServer, adapters, temporary_folder, tool_model

PROGRAM = sys.argv[1]
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "demo_model")
WEATHER = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 8}, "days": {"type": "integer"}},
           "required": ["city", "days"], "additionalProperties": False}


def setUpModule():
    global server, folder
    folder = temporary_folder()
    server = RunningServer(PROGRAM, "--model", tool_model(DEMO, folder.name), "--model-name", "demo", "--max-context", "2048",
                           *adapters(folder.name, ["poet", "scribe"]))


def tearDownModule():
    code = server.stop()
    folder.cleanup()
    assert code == 0, code


def chat(**fields):
    return {"messages": [{"role": "user", "content": "And it came"}], "max_tokens": 12, "temperature": 0, **fields}


class Chat(unittest.TestCase):
    def test_answer_and_stream_are_the_same(self):
        status, whole = server.post("/v1/chat/completions", chat(logprobs=True, top_logprobs=2))
        self.assertEqual(status, 200)
        choice = whole["choices"][0]
        self.assertEqual(choice["finish_reason"], "length")
        self.assertEqual(whole["usage"]["completion_tokens"], 12)
        self.assertEqual(len(choice["logprobs"]["content"]), 12)
        self.assertEqual(len(choice["logprobs"]["content"][0]["top_logprobs"]), 2)
        events = server.stream("/v1/chat/completions", chat(logprobs=True, stream_options={"include_usage": True}))
        self.assertEqual(events[-1], "[DONE]")
        self.assertEqual(events[-2]["usage"]["completion_tokens"], 12)
        self.assertEqual(events[-2]["skald"]["digest"], whole["skald"]["digest"])
        text = "".join(e["choices"][0]["delta"].get("content", "") for e in events[:-2])
        self.assertEqual(text, choice["message"]["content"])
        tokens = [t for e in events[:-2] for t in (e["choices"][0]["logprobs"] or {"content": []})["content"]]
        self.assertEqual(b"".join(bytes(t["bytes"]) for t in tokens).decode().strip(), text.strip())

    def test_seeds_repeat_and_samples_differ(self):
        wanted = chat(temperature=1, seed=5, n=3)
        first, second = (server.post("/v1/chat/completions", wanted)[1]["choices"] for _ in range(2))
        self.assertEqual(first, second)
        self.assertEqual(len({c["message"]["content"] for c in first}), 3)

    def test_stop_and_bias(self):
        text = server.post("/v1/chat/completions", chat(max_tokens=40))[1]["choices"][0]["message"]["content"]
        stop = text[10:14]
        stopped = server.post("/v1/chat/completions", chat(max_tokens=40, stop=stop))[1]["choices"][0]
        self.assertEqual(stopped["message"]["content"], text[:text.index(stop)])
        self.assertEqual(stopped["finish_reason"], "stop")
        token = server.post("/tokenize", {"content": " the"})[1]["tokens"][-1]
        biased = server.post("/v1/chat/completions", chat(max_tokens=3, logit_bias={str(token): 100}))[1]
        self.assertEqual(biased["choices"][0]["message"]["content"].split(), ["the"] * 3)

    def test_schema(self):
        for body in ({"type": "json_schema", "json_schema": {"name": "weather", "schema": WEATHER}}, {"type": "json_object"}):
            answer = server.post("/v1/chat/completions", chat(max_tokens=400, temperature=1, seed=1, response_format=body))[1]
            if answer["choices"][0]["finish_reason"] == "stop":
                json.loads(answer["choices"][0]["message"]["content"])
        self.assertEqual(server.post("/v1/chat/completions", chat(response_format={
            "type": "json_schema", "json_schema": {"name": "x", "schema": {"not": {}}}}))[0], 400)

    def test_an_answer_ends_where_the_context_is_full(self):
        answer = server.post("/v1/chat/completions", chat(max_tokens=10**6, logit_bias={}))[1]
        self.assertIn(answer["choices"][0]["finish_reason"], ("length", "stop"))
        self.assertLessEqual(answer["usage"]["total_tokens"], 2048 + 1)

    def tools(self, **fields):
        tool = {"type": "function", "function": {"name": "get_weather", "description": "tells", "parameters": WEATHER}}
        return chat(max_tokens=300, temperature=1, seed=3, tools=[tool], **fields)

    def test_tools(self):
        for choice in ("required", {"type": "function", "function": {"name": "get_weather"}}):
            wanted = self.tools(tool_choice=choice, parallel_tool_calls=False)
            answer = server.post("/v1/chat/completions", wanted)[1]["choices"][0]
            self.assertEqual(answer["finish_reason"], "tool_calls", answer)
            call = answer["message"]["tool_calls"][0]
            self.assertEqual(call["function"]["name"], "get_weather")
            self.assertEqual(set(json.loads(call["function"]["arguments"])), {"city", "days"})
            deltas = [e["choices"][0]["delta"] for e in server.stream("/v1/chat/completions", wanted)[:-1]]
            streamed = [c["function"] for d in deltas for c in d.get("tool_calls", [])]
            self.assertEqual(streamed[0]["name"], call["function"]["name"])
            self.assertGreater(len(streamed), 2)  # arguments come piece by piece
            self.assertEqual("".join(piece["arguments"] for piece in streamed), call["function"]["arguments"])
        follow = self.tools()
        follow["messages"] += [{"role": "assistant", "content": None, "tool_calls": [call]},
                               {"role": "tool", "tool_call_id": call["id"], "content": "sunny"}]
        self.assertEqual(server.post("/v1/chat/completions", follow)[0], 200)


class OtherApis(unittest.TestCase):
    def test_completions(self):
        body = {"prompt": "In the beginning", "max_tokens": 8, "temperature": 0, "logprobs": 1, "echo": True}
        answer = server.post("/v1/completions", body)[1]["choices"][0]
        self.assertTrue(answer["text"].startswith("In the beginning"))
        self.assertEqual(len(answer["logprobs"]["tokens"]), len(answer["logprobs"]["token_logprobs"]))
        self.assertIsNone(answer["logprobs"]["token_logprobs"][0])
        events = server.stream("/v1/completions", body)
        self.assertEqual("".join(e["choices"][0]["text"] for e in events[:-1]), answer["text"])

    def test_several_prompts(self):
        fields = {"max_tokens": 6, "temperature": 1, "seed": 3, "n": 2, "logprobs": 1, "echo": True}
        texts = ["In the beginning", "And it came to pass"]
        alone = [server.post("/v1/completions", {"prompt": text, **fields})[1] for text in texts]
        answer = server.post("/v1/completions", {"prompt": texts, **fields})[1]
        self.assertEqual([c["index"] for c in answer["choices"]], [0, 1, 2, 3])
        expected = [{**c, "index": i} for i, c in enumerate(c for one in alone for c in one["choices"])]
        self.assertEqual(answer["choices"], expected)
        self.assertEqual(answer["skald"]["digest"], "".join(one["skald"]["digest"] for one in alone))
        for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
            self.assertEqual(answer["usage"][name], sum(one["usage"][name] for one in alone))
        ids = [server.post("/tokenize", {"content": text, "add_special": True})[1]["tokens"] for text in texts]
        self.assertEqual(server.post("/v1/completions", {"prompt": ids, **fields})[1]["choices"], expected)
        streamed = [""] * 4
        ends = []
        for event in server.stream("/v1/completions", {"prompt": texts, **fields})[:-1]:
            choice = event["choices"][0]
            streamed[choice["index"]] += choice["text"]
            ends += [choice["index"]] if choice["finish_reason"] else []
        self.assertEqual(streamed, [c["text"] for c in expected])
        self.assertEqual(sorted(ends), [0, 1, 2, 3])

    def test_adapters_are_models(self):
        names = ["demo", "poet", "scribe"]
        models = server.get("/v1/models")[1]["data"]
        self.assertEqual([m["id"] for m in models], names)
        self.assertEqual([m.get("parent") for m in models], [None, "demo", "demo"])
        self.assertEqual(server.get("/v1/models/poet")[1], models[1])
        self.assertEqual(server.get("/v1/models/bard")[0], 404)
        error = server.post("/v1/chat/completions", chat(model="bard"))[1]["error"]
        self.assertIn("'demo', 'poet', 'scribe'", error["message"])

        def ask(name, prompt):
            return server.post("/v1/completions", {"model": name, "prompt": prompt, "max_tokens": 5, "temperature": 0})[1]

        # Long enough to be kept in blocks; each model's prompts are its own, for all clients.
        prompt = "Behold the days of the king are come " * 12
        first = [ask(name, prompt) for name in names]
        again = [ask(name, prompt) for name in reversed(names)][::-1]
        self.assertEqual([a["model"] for a in first], names)
        self.assertEqual(len({a["skald"]["digest"] for a in first}), 3)
        self.assertEqual([a["skald"]["digest"] for a in first], [a["skald"]["digest"] for a in again])
        self.assertEqual([a["usage"]["prompt_tokens_details"]["cached_tokens"] for a in first], [0, 0, 0])
        for answer in again:
            self.assertGreater(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
        vectors = [server.post("/v1/embeddings", {"model": name, "input": prompt})[1]["data"][0]["embedding"] for name in names]
        self.assertEqual(len({tuple(v) for v in vectors}), 3)
        for path, body in (("/v1/messages", {"max_tokens": 3, "messages": chat()["messages"]}),
                           ("/v1/responses", {"max_output_tokens": 3, "input": "And"})):
            self.assertEqual(server.post(path, {**body, "model": "scribe"})[1]["model"], "scribe")

    def test_a_conversation_knows_its_adapter(self):
        conversation = server.post("/v1/conversations", {})[1]
        self.assertIsNone(conversation["model"])
        path = f"/v1/conversations/{conversation['id']}"
        text = "In the beginning was the word " * 12
        turn = {"model": "poet", "conversation": conversation["id"], "messages": [{"role": "user", "content": text}],
                "max_tokens": 8, "seed": 1}
        self.assertEqual(server.post("/v1/chat/completions", turn)[0], 200)
        self.assertEqual(server.get(path)[1]["model"], "poet")
        status, _, state = server.request("GET", path + "/state")
        self.assertEqual(status, 200)
        with temporary_folder() as other, RunningServer(
                PROGRAM, "--model", folder.name, "--model-name", "demo", "--max-context", "2048",
                *adapters(other, ["poet"])) as second:
            status, _, data = second.request("POST", "/v1/conversations/import", state)
            self.assertEqual(status, 201, data)
            taken = json.loads(data)
            self.assertEqual(taken["model"], "poet")
            more = {"conversation": taken["id"], "messages": [{"role": "user", "content": "And then"}], "max_tokens": 4}
            usage = second.post("/v1/chat/completions", {**more, "model": "poet"})[1]["usage"]
            self.assertGreater(usage["prompt_tokens_details"]["cached_tokens"], 50)
        with RunningServer(PROGRAM, "--model", folder.name, "--max-context", "2048") as without:
            self.assertEqual(without.request("POST", "/v1/conversations/import", state)[0], 400)

    def test_responses(self):
        body = {"input": "And it came", "max_output_tokens": 10, "temperature": 0, "instructions": "Speak."}
        first = server.post("/v1/responses", body)[1]
        self.assertEqual(first["object"], "response")
        self.assertEqual(first["status"], "incomplete")
        text = first["output"][0]["content"][0]["text"]
        events = server.stream("/v1/responses", body)
        self.assertEqual([e["sequence_number"] for e in events], list(range(len(events))))
        self.assertEqual("".join(e["delta"] for e in events if e["type"] == "response.output_text.delta"), text)
        self.assertEqual(events[-1]["response"]["output"][0]["content"][0]["text"], text)
        second = server.post("/v1/responses", {"input": "And then", "previous_response_id": first["id"], "max_output_tokens": 4})
        self.assertEqual(second[0], 200)
        self.assertGreater(second[1]["usage"]["input_tokens_details"]["cached_tokens"], -1)
        self.assertEqual(server.post("/v1/responses", {"input": "x", "previous_response_id": "resp_0"})[0], 404)

    def test_anthropic(self):
        body = {"model": "demo", "max_tokens": 10, "temperature": 0, "system": "Speak.",
                "messages": [{"role": "user", "content": [{"type": "text", "text": "And it came"}]}]}
        whole = server.post("/v1/messages", body)[1]
        self.assertEqual(whole["stop_reason"], "max_tokens")
        events = server.stream("/v1/messages", body)
        self.assertEqual(events[0]["type"], "message_start")
        self.assertEqual(events[-1]["type"], "message_stop")
        text = "".join(e["delta"]["text"] for e in events if e["type"] == "content_block_delta")
        self.assertEqual(text, whole["content"][0]["text"])
        count = server.post("/v1/messages/count_tokens", {k: body[k] for k in ("model", "system", "messages")})[1]
        usage = whole["usage"]
        self.assertEqual(count["input_tokens"], usage["input_tokens"] + usage["cache_read_input_tokens"])
        tool = {"name": "get_weather", "input_schema": WEATHER}
        called = server.post("/v1/messages", {**body, "max_tokens": 300, "temperature": 1, "tools": [tool],
                                              "tool_choice": {"type": "tool", "name": "get_weather"}})[1]
        self.assertEqual(called["stop_reason"], "tool_use", called)
        self.assertEqual(set(called["content"][-1]["input"]), {"city", "days"})
        text = server.post("/v1/messages", {**body, "max_tokens": 40})[1]["content"][0]["text"]
        stop = text[10:14]
        for stops in ([stop, "\u2603"], ["\u2603", stop]):
            stopped = server.post("/v1/messages", {**body, "max_tokens": 40, "stop_sequences": stops})[1]
            self.assertEqual((stopped["stop_reason"], stopped["stop_sequence"]), ("stop_sequence", stop))
        status, error = server.post("/v1/messages", {"messages": []})
        self.assertEqual((status, error["type"]), (400, "error"))

    def test_embeddings(self):
        body = {"input": ["In the beginning", "And it came"]}
        vectors = [d["embedding"] for d in server.post("/v1/embeddings", body)[1]["data"]]
        self.assertEqual(len(vectors), 2)
        for vector in vectors:
            self.assertAlmostEqual(sum(x * x for x in vector), 1, places=4)
        packed = server.post("/v1/embeddings", {**body, "encoding_format": "base64"})[1]["data"][1]["embedding"]
        self.assertEqual(list(struct.unpack(f"<{len(vectors[1])}f", base64.b64decode(packed))),
                         [struct.unpack("<f", struct.pack("<f", x))[0] for x in vectors[1]])
        mean = server.post("/v1/embeddings", {**body, "pooling": "mean", "dimensions": 8})[1]["data"][0]["embedding"]
        self.assertEqual(len(mean), 8)

    def test_tokens(self):
        ids = server.post("/tokenize", {"content": "And it came to pass"})[1]["tokens"]
        self.assertEqual(server.post("/detokenize", {"tokens": ids})[1]["content"], "And it came to pass")

    def test_files_of_the_page(self):
        for path, kind in (("/", "text/html"), ("/app.js", "text/javascript"), ("/talk/api.js", "text/javascript"),
                           ("/style.css", "text/css"), ("/icon.svg", "image/svg+xml")):
            status, headers, body = server.request("GET", path)
            self.assertEqual((status, headers["Content-Type"]), (200, kind + "; charset=utf-8"))
            body.decode()
        self.assertEqual(server.request("GET", "/api.js")[0], 404)

    def test_the_page_runs_nothing_from_elsewhere(self):
        _, headers, page = server.request("GET", "/")
        policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
        self.assertEqual(policy.pop("default-src"), "'none'")
        self.assertEqual(policy.pop("img-src"), "'self' data:")
        self.assertEqual(set(policy.values()), {"'self'", "'none'"})
        for place in re.findall(rb'(?:src|href)="([^"]*)"', page):
            self.assertRegex(place, rb"^(#[a-z-]*|[a-z/-]+\.[a-z]+)$")

    def test_libraries_of_the_page(self):
        status, headers, licences = server.request("GET", "/libraries/LICENSES.txt")
        if status == 404:
            self.skipTest("the program was built without the page's libraries")
        self.assertEqual(headers["Content-Type"], "text/plain; charset=utf-8")
        for name in ("markdown-it", "linkify-it", "dompurify", "cdn-assets", "katex"):
            self.assertRegex(licences.decode(), rf"=== \S*{name} \d")
        style = server.request("GET", "/libraries/katex.css")[2].decode()
        fonts = sorted(set(re.findall(r"url\((fonts/[\w-]+\.woff2)\)", style)))
        self.assertGreater(len(fonts), 10)
        total = len(licences)
        for path in ["markdown-it.js", "purify.js", "highlight.js", "katex.js", "katex.css", *fonts]:
            status, headers, body = server.request("GET", "/libraries/" + path)
            self.assertEqual(status, 200, path)
            if path.startswith("fonts/"):
                self.assertEqual((headers["Content-Type"], body[:4]), ("font/woff2", b"wOF2"))
            total += len(body)
        self.assertLess(total, 1_000_000)

    def test_files_that_the_browser_has_are_not_sent_again(self):
        tag = server.request("GET", "/app.js")[1]["ETag"]
        status, headers, body = server.request("GET", "/app.js", headers={"If-None-Match": tag})
        self.assertEqual((status, headers["ETag"], body), (304, tag, b""))
        self.assertEqual(server.request("GET", "/app.js", headers={"If-None-Match": '"other"'})[0], 200)

    def test_information(self):
        health = server.get("/health")[1]
        self.assertEqual((health["status"], health["model"]), ("ok", "demo"))
        self.assertEqual(server.get("/v1/models")[1]["data"][0]["id"], "demo")
        self.assertEqual(server.get("/v1/models/demo")[0], 200)
        self.assertEqual(server.get("/v1/models/other")[0], 404)
        metrics = server.request("GET", "/metrics")[2].decode()
        self.assertIn("skald_generated_tokens_total", metrics)
        self.assertEqual(server.request("GET", "/")[0], 200)


class Conversations(unittest.TestCase):
    def say(self, conversation, text, **fields):
        status, answer = server.post("/v1/chat/completions", chat(
            conversation=conversation, messages=[{"role": "user", "content": text}], **fields))
        self.assertEqual(status, 200, answer)
        return answer

    def test_life(self):
        status, made = server.post("/v1/conversations", {})
        self.assertEqual(status, 201)
        name = made["id"]
        first = self.say(name, "And it came")
        second = self.say(name, "And the king said")
        self.assertGreater(second["usage"]["prompt_tokens_details"]["cached_tokens"], 20)
        shown = server.get(f"/v1/conversations/{name}")[1]
        self.assertEqual([m["role"] for m in shown["messages"]], ["user", "assistant"] * 2)
        self.assertEqual(shown["title"], "And it came")
        fork = server.post(f"/v1/conversations/{name}/fork", {"messages": 2})[1]
        self.assertEqual((fork["parent"], fork["parent_messages"]), (name, 2))
        changed = server.post(f"/v1/conversations/{name}/fork", {"messages": 1, "append": [
            {"role": "assistant", "content": "another answer"}, {"role": "user", "content": "And then?"}]})[1]
        self.assertEqual((changed["parent_messages"], [m["content"] for m in changed["messages"]]),
                         (1, ["And it came", "another answer", "And then?"]))
        status, refused = server.post(f"/v1/conversations/{name}/fork", {"messages": 1, "append": [{"role": "bard"}]})
        self.assertEqual((status, refused["error"]["param"]), (400, "append[0].role"))
        self.assertEqual(server.request("DELETE", f"/v1/conversations/{changed['id']}")[0], 200)
        again = self.say(fork["id"], "And the king said")
        self.assertEqual(again["skald"]["digest"], second["skald"]["digest"])
        self.assertEqual(server.post(f"/v1/conversations/{name}/rewind", {"messages": 2})[1]["message_count"], 2)
        self.assertEqual(self.say(name, "And the king said")["skald"]["digest"], second["skald"]["digest"])
        state = server.request("GET", f"/v1/conversations/{name}/state")
        self.assertEqual(state[0], 200)
        status, _, moved = server.request("POST", "/v1/conversations/import", state[2])
        self.assertEqual(status, 201, moved)
        moved = json.loads(moved)
        third = self.say(moved["id"], "Behold")
        self.assertEqual(self.say(name, "Behold")["skald"]["digest"], third["skald"]["digest"])
        self.assertEqual(server.request("DELETE", f"/v1/conversations/{name}")[0], 200)
        self.assertEqual(server.get(f"/v1/conversations/{name}")[0], 404)
        self.assertIn(fork["id"], [c["id"] for c in server.get("/v1/conversations")[1]["data"]])
        self.assertTrue(first["choices"][0]["message"]["content"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
