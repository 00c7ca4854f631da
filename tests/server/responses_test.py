#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenAI's Responses and Conversations APIs beyond one answer: what is kept, shown, listed, gone on from and deleted, and
streams that say the same as whole answers: responses_test.py PROGRAM."""

import json
import os
import sys
import unittest

from running_server import RunningServer, temporary_folder, tool_model

PROGRAM = sys.argv[1]
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "demo_model")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 8}}, "required": ["city"],
          "additionalProperties": False}
LOOK = {"type": "function", "name": "look", "parameters": SCHEMA}
BODY = {"max_output_tokens": 6, "temperature": 0}


def setUpModule():
    global server, thinking, folders
    folders = [temporary_folder(), temporary_folder(), temporary_folder()]
    server = RunningServer(PROGRAM, "--model", tool_model(DEMO, folders[0].name), "--max-context", "1024",
                           "--state", folders[2].name)
    path = os.path.join(tool_model(DEMO, folders[1].name), "chat_template.jinja")
    with open(path) as file:
        text = file.read()
    text = text.replace("{{ m.content }}", "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
                        "{{ m.content }}").replace("%}assistant: {%", "%}assistant: <think>{%")
    with open(path, "w") as file:
        file.write(text)
    thinking = RunningServer(PROGRAM, "--model", folders[1].name, "--max-context", "1024")


def tearDownModule():
    codes = [server.stop(), thinking.stop()]
    for folder in folders:
        folder.cleanup()
    assert codes == [0, 0], codes


def respond(said, on=None, **fields):
    status, answer = (on or server).post("/v1/responses", {**BODY, "input": said, **fields})
    assert status == 200, answer
    return answer


def get(path):
    status, answer = server.get(path)
    assert status == 200, answer
    return answer


def items(path, query="?order=asc&limit=100"):
    return get(path + query)["data"]


def texts(listed):
    return [item["content"][0]["text"] for item in listed]


def text_of(response):
    return response["output"][0]["content"][0]["text"]


class Kept(unittest.TestCase):
    def test_it_is_shown_as_it_was_answered(self):
        whole = respond("And it came", instructions="Speak.", metadata={"a": "b"})
        self.assertEqual(get("/v1/responses/" + whole["id"]), whole)
        self.assertEqual(get(f"/v1/responses/{whole['id']}?include[]=message.output_text.logprobs"), whole)
        streamed = server.stream("/v1/responses", {**BODY, "input": "And it came"})[-1]["response"]
        self.assertEqual(get("/responses/" + streamed["id"]), streamed)
        status, error = server.get(f"/v1/responses/{whole['id']}?stream=true")
        self.assertEqual((status, error["error"]["param"]), (400, "stream"))

    def test_it_is_deleted(self):
        first = respond("And it came")
        second = respond("And then", previous_response_id=first["id"])
        self.assertEqual(json.loads(server.request("DELETE", "/v1/responses/" + first["id"])[2]),
                         {"id": first["id"], "object": "response", "deleted": True})
        for method in ("GET", "DELETE"):
            self.assertEqual(server.request(method, "/v1/responses/" + first["id"])[0], 404)
        status, error = server.post("/v1/responses", {**BODY, "input": "x", "previous_response_id": first["id"]})
        self.assertEqual((status, error["error"]["param"]), (404, "previous_response_id"))
        respond("And so", previous_response_id=second["id"])  # has all of it

    def test_it_is_not_kept(self):
        answer = respond("And it came", store=False)
        self.assertIs(answer["store"], False)
        self.assertEqual(server.get("/v1/responses/" + answer["id"])[0], 404)
        self.assertEqual(server.get(f"/v1/responses/{answer['id']}/input_items")[0], 404)

    def test_it_is_not_made_in_the_background(self):
        status, error = server.post("/v1/responses", {**BODY, "input": "x", "background": True})
        self.assertEqual((status, error["error"]["param"]), (400, "background"))
        answer = respond("And it came", background=False)
        status, error = server.post(f"/v1/responses/{answer['id']}/cancel", {})
        self.assertEqual(status, 400)
        self.assertIn("background", error["error"]["message"])
        self.assertEqual(server.post("/v1/responses/resp_0/cancel", {})[0], 404)

    def test_input_items(self):
        first = respond("And it came", instructions="Speak.")
        second = respond([{"role": "developer", "content": "Rules."}, {"role": "user", "content": "And then"}],
                         previous_response_id=first["id"])
        listed = items(f"/v1/responses/{second['id']}/input_items")
        self.assertEqual([(i["type"], i["role"]) for i in listed],
                         [("message", role) for role in ("user", "assistant", "system", "user")])
        self.assertEqual(texts(listed), ["And it came", text_of(first), "Rules.", "And then"])
        self.assertEqual(listed[1]["id"], first["output"][0]["id"])
        self.assertEqual(texts(items(f"/v1/responses/{first['id']}/input_items")), ["And it came"])
        # Pages, from the last item on, or from the first.
        path = f"/v1/responses/{second['id']}/input_items"
        for order, wanted in (("desc", listed[::-1]), ("asc", listed)):
            found, after = [], ""
            while True:
                page = get(f"{path}?order={order}&limit=3{after}")
                self.assertEqual((page["object"], page["first_id"]), ("list", page["data"][0]["id"]))
                found += page["data"]
                if not page["has_more"]:
                    break
                after = "&after=" + page["last_id"]
            self.assertEqual(found, wanted)
        self.assertEqual(get(path)["data"], listed[::-1])
        self.assertEqual(get(f"{path}?after={listed[0]['id']}")["data"], [])
        for bad in ("limit=0", "limit=101", "limit=x", "order=up", "after=msg_0"):
            self.assertEqual(server.get(f"{path}?{bad}")[0], 400, bad)
        self.assertEqual(get(path + "?mood=1")["skald"]["ignored"], ["mood"])

    def test_input_tokens(self):
        first = respond("And it came")
        name = server.post("/v1/conversations", {"messages": [{"role": "user", "content": "Say"}]})[1]["id"]
        for fields in ({}, {"instructions": "Speak."}, {"tools": [LOOK]}, {"previous_response_id": first["id"]},
                       {"conversation": name}, {"text": {"format": {"type": "json_object"}}}):
            status, count = server.post("/v1/responses/input_tokens", {"input": "And then", **fields})
            self.assertEqual((status, count["object"]), (200, "response.input_tokens"), count)
            self.assertEqual(count["input_tokens"], respond("And then", **fields)["usage"]["input_tokens"], fields)


class Conversations(unittest.TestCase):
    def make(self, **fields):
        status, made = server.post("/v1/conversations", fields)
        self.assertEqual(status, 201, made)
        return made["id"]

    def test_responses_become_a_part_of_it(self):
        name = self.make()
        path = f"/v1/conversations/{name}/items"
        first = respond("And it came", conversation=name, instructions="Speak.")
        self.assertEqual(first["conversation"], {"id": name})
        second = respond("And then", conversation={"id": name}, store=False)
        listed = items(path)
        self.assertEqual(texts(listed), ["And it came", text_of(first), "And then", text_of(second)])
        self.assertEqual([listed[i]["id"] for i in (1, 3)], [r["output"][0]["id"] for r in (first, second)])
        # The model saw the same as in one list of items.
        sent = [{"role": "user", "content": "And it came"}, *first["output"], {"role": "user", "content": "And then"}]
        self.assertEqual(respond(sent)["skald"]["digest"], second["skald"]["digest"])
        shown = get(f"/v1/conversations/{name}")
        self.assertEqual([m["role"] for m in shown["messages"]], ["user", "assistant"] * 2)
        # An answer of chat completions is a part of it too, and what is taken back is not.
        server.post("/v1/chat/completions", {"conversation": name, "messages": [{"role": "user", "content": "So"}], "max_tokens": 4})
        self.assertEqual([i["id"] for i in items(path)][:4], [i["id"] for i in listed])
        server.post(f"/v1/conversations/{name}/rewind", {"messages": 1})
        server.post("/v1/chat/completions", {"conversation": name, "messages": [], "max_tokens": 5})
        self.assertEqual(len(items(path)), 2)
        self.assertNotEqual(items(path)[1]["id"], listed[1]["id"])
        self.assertEqual(server.post("/v1/responses", {"input": "x", "conversation": "conv_0"})[0], 404)
        for bad in ({"conversation": 7}, {"conversation": {}}, {"conversation": name, "previous_response_id": first["id"]}):
            self.assertEqual(server.post("/v1/responses", {"input": "x", **bad})[0], 400, bad)

    def test_items_and_metadata(self):
        begun = [{"type": "message", "role": "user", "content": "And it came"}]
        name = self.make(items=begun, metadata={"topic": "days"})
        self.assertEqual(get(f"/v1/conversations/{name}")["metadata"], {"topic": "days"})
        path = f"/v1/conversations/{name}/items"
        status, added = server.post(path, {"items": [
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
            {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{\"city\":\"Ur\"}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "seen"},
            {"type": "web_search_call", "id": "ws_1"}]})
        self.assertEqual(status, 200, added)
        self.assertEqual([i["type"] for i in added["data"]], ["reasoning", "message", "function_call", "function_call_output"])
        self.assertEqual(added["data"][2]["arguments"], "{\"city\":\"Ur\"}")
        self.assertEqual(added["skald"]["ignored"], ["items[4].type=web_search_call"])
        listed = items(path)
        self.assertEqual(listed[1:], added["data"])
        self.assertEqual(get(f"{path}/{listed[3]['id']}"), listed[3])
        respond("And then", conversation=name, tools=[LOOK])
        # Other items keep their ids.
        for place in (3, 1):
            status, _, data = server.request("DELETE", f"{path}/{listed[place]['id']}")
            self.assertEqual((status, json.loads(data)["id"]), (200, name))
            self.assertEqual(server.get(f"{path}/{listed[place]['id']}")[0], 404)
        self.assertEqual([i["id"] for i in items(path)][:3], [listed[i]["id"] for i in (0, 2, 4)])
        status, changed = server.post(f"/v1/conversations/{name}", {"metadata": {"topic": "nights"}})
        self.assertEqual((status, changed["metadata"]), (200, {"topic": "nights"}))
        for bad in ({}, {"metadata": {"a": 1}}, {"metadata": {"a": "x" * 513}}, {"metadata": {str(i): "" for i in range(17)}}):
            self.assertEqual(server.post(f"/v1/conversations/{name}", bad)[0], 400, bad)
        self.assertEqual(server.post(path, {"items": "text"})[0], 400)
        self.assertEqual(server.request("POST", path, {"items": begun}, {"If-Match": "\"1\""})[0], 412)

    def test_they_outlive_the_server(self):
        with temporary_folder() as state:
            started = [PROGRAM, "--model", folders[0].name, "--max-context", "512", "--state", state]
            with RunningServer(*started) as one:
                name = one.post("/v1/conversations", {"metadata": {"a": "b"}})[1]["id"]
                answer = respond("And it came", on=one, conversation=name)
                before = [one.get(f"/v1/conversations/{name}/items")[1], one.get(f"/v1/responses/{answer['id']}")[1],
                          one.get(f"/v1/responses/{answer['id']}/input_items")[1], one.get("/v1/conversations")[1]]
            with RunningServer(*started) as two:
                after = [two.get(f"/v1/conversations/{name}/items")[1], two.get(f"/v1/responses/{answer['id']}")[1],
                         two.get(f"/v1/responses/{answer['id']}/input_items")[1], two.get("/v1/conversations")[1]]
            self.assertEqual(before, after)
            self.assertEqual(after[3]["data"][0]["metadata"], {"a": "b"})


class Thoughts(unittest.TestCase):
    def test_they_are_read_again(self):
        user = {"role": "user", "content": "And it came"}
        first = respond([user], on=thinking)
        self.assertEqual([i["type"] for i in first["output"]], ["reasoning"])
        thought = first["output"][0]["content"][0]["text"]
        events = thinking.stream("/v1/responses", {**BODY, "input": [user]})
        self.assertEqual("".join(e["delta"] for e in events if e["type"] == "response.reasoning_text.delta"), thought)
        kept = respond("And then", on=thinking, previous_response_id=first["id"])
        sent = respond([user, *first["output"], {"role": "user", "content": "And then"}], on=thinking)
        referred = respond([user, {"type": "item_reference", "id": first["output"][0]["id"]},
                            {"role": "user", "content": "And then"}], on=thinking)
        without = respond([user, {"role": "user", "content": "And then"}], on=thinking)
        digests = [r["skald"]["digest"] for r in (kept, sent, referred)]
        self.assertEqual(digests, digests[:1] * 3)
        self.assertNotEqual(without["skald"]["digest"], digests[0])


    def test_of_anthropics_api_too(self):
        user = {"role": "user", "content": "And it came"}
        ask = {"max_tokens": 6, "temperature": 0}
        whole = thinking.post("/v1/messages", {**ask, "messages": [user]})[1]
        self.assertEqual([block["type"] for block in whole["content"]], ["thinking"])
        for content, is_seen in ((whole["content"], True), ([{"type": "redacted_thinking", "data": "x"}], False)):
            messages = [user, {"role": "assistant", "content": content}, {"role": "user", "content": "And then"}]
            count = thinking.post("/v1/messages/count_tokens", {"messages": messages})[1]["input_tokens"]
            plain = thinking.post("/v1/messages/count_tokens", {"messages": [user, messages[2]]})[1]["input_tokens"]
            self.assertEqual(count > plain, is_seen)


class Streams(unittest.TestCase):
    TOOLS = {"max_output_tokens": 300, "temperature": 1, "tools": [LOOK, {**LOOK, "name": "go"}], "tool_choice": "required"}

    def test_arguments_come_piece_by_piece(self):
        counts = set()
        for seed in range(4):
            body = {**self.TOOLS, "input": "And it came", "seed": seed}
            whole = respond("And it came", **{**self.TOOLS, "seed": seed})
            events = server.stream("/v1/responses", body)
            streamed = events[-1]["response"]
            facts = [[(i["type"], i.get("name"), i.get("arguments")) for i in r["output"] if i.get("status") == "completed"]
                     for r in (whole, streamed)]
            self.assertEqual(*facts)
            counts.add(sum(kind == "function_call" for kind, _, _ in facts[0]))
            for index, item in enumerate(streamed["output"]):
                if item["type"] != "function_call" or item["status"] != "completed":
                    continue
                deltas = [e["delta"] for e in events if e["type"] == "response.function_call_arguments.delta"
                          and (e["item_id"], e["output_index"]) == (item["id"], index)]
                self.assertGreater(len(deltas), 2)
                self.assertEqual("".join(deltas), item["arguments"])
            self.assertEqual(get("/v1/responses/" + streamed["id"]), streamed)
        self.assertGreater(max(counts), 0)

    def test_parallel_calls_are_answered(self):
        called = respond("And it came", input=[
            {"role": "user", "content": "And it came"},
            *({"type": "function_call", "call_id": f"call_{i}", "name": "look", "arguments": "{\"city\":\"Ur\"}"} for i in (1, 2)),
            *({"type": "function_call_output", "call_id": f"call_{i}", "output": "seen"} for i in (2, 1))], tools=[LOOK],
            tool_choice="none")
        listed = items(f"/v1/responses/{called['id']}/input_items")
        self.assertEqual([i.get("call_id") for i in listed], [None, "call_1", "call_2", "call_2", "call_1"])

    def test_other_apis_stream_them_too(self):
        nested = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
        chat = {"messages": [{"role": "user", "content": "And it came"}], "max_tokens": 300, "temperature": 1, "seed": 1}
        whole = server.post("/v1/chat/completions", {**chat, "tools": nested, "tool_choice": "required"})[1]
        wanted = [call["function"]["arguments"] for call in whole["choices"][0]["message"]["tool_calls"]]
        events = server.stream("/v1/chat/completions", {**chat, "tools": nested, "tool_choice": "required"})[:-1]
        pieces = [call for e in events for call in e["choices"][0]["delta"].get("tool_calls", [])]
        for index, arguments in enumerate(wanted):
            mine = [piece["function"]["arguments"] for piece in pieces if piece["index"] == index]
            self.assertGreater(len(mine), 3)
            self.assertEqual("".join(mine), arguments)
        tools = [{"name": "look", "input_schema": SCHEMA}]
        events = server.stream("/v1/messages", {**chat, "tools": tools, "tool_choice": {"type": "any"}})
        for index, arguments in enumerate(wanted):
            begins = [e["index"] for e in events if e.get("content_block", {}).get("type") == "tool_use"]
            mine = [e["delta"]["partial_json"] for e in events if e.get("index") == begins[index] and "delta" in e]
            self.assertGreater(len(mine), 2)
            self.assertEqual(json.loads("".join(mine)), json.loads(arguments))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
