#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests as clients send them by default are answered: advice_test.py PROGRAM.

The requests have the shapes that agents and libraries were seen to send, with texts of our own.
"""

import json
import os
import sys
import unittest

from running_server import RunningServer, temporary_folder, tool_model

PROGRAM = sys.argv[1]
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "demo_model")
USER = {"role": "user", "content": "And it came"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 8}}, "required": ["city"],
          "additionalProperties": False}
FUNCTION = {"type": "function", "name": "look", "description": "Looks.", "strict": False, "parameters": SCHEMA}


def setUpModule():
    global server, folder
    folder = temporary_folder()
    server = RunningServer(PROGRAM, "--model", tool_model(DEMO, folder.name), "--model-name", "demo", "--max-context", "2048")


def tearDownModule():
    code = server.stop()
    folder.cleanup()
    assert code == 0, code


def post(path, body):
    status, answer = server.post(path, body)
    assert status == 200, answer
    return answer


def chat(**fields):
    return post("/v1/chat/completions", {"messages": [USER], "max_tokens": 8, "temperature": 0, **fields})


def text_of(answer):
    return answer["choices"][0]["message"]["content"]


class Responses(unittest.TestCase):
    AGENT = {
        "model": "gpt-5.3-codex", "instructions": "Help.", "parallel_tool_calls": True, "reasoning": {"summary": "auto"},
        "store": False, "include": ["reasoning.encrypted_content"], "prompt_cache_key": "k", "max_output_tokens": 300,
        "client_metadata": {"turn": "1"}, "text": {"verbosity": "medium"}, "seed": 3,
        "input": [{"type": "message", "id": "a", "role": "developer", "content": [{"type": "input_text", "text": "Rules."}]},
                  {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And it came"}]}],
        "tools": [FUNCTION, {"type": "namespace", "name": "crew", "description": "Others.",
                             "tools": [{**FUNCTION, "name": "send"}, {**FUNCTION, "name": "look"}]},
                  {"type": "web_search", "external_web_access": False}, {"type": "custom", "name": "patch"}]}

    def call(self, **choice):
        answer = post("/v1/responses", {**self.AGENT, "parallel_tool_calls": False, "temperature": 1,
                                        "tool_choice": {"type": "function", **choice}})
        return answer, next(item for item in answer["output"] if item["type"] == "function_call")

    def test_an_agents_first_request(self):
        answer = post("/v1/responses", {**self.AGENT, "tool_choice": "auto"})
        self.assertEqual(answer["skald"]["ignored"], ["tools[2].type=web_search", "tools[3].type=custom"])
        events = server.stream("/v1/responses", {**self.AGENT, "tool_choice": "auto"})
        self.assertIn(events[-1]["type"], ["response.completed", "response.incomplete"])

    def test_tools_of_namespaces_are_called_and_answered(self):
        for name in ("send", "look"):
            _, call = self.call(name=name, namespace="crew")
            self.assertEqual((call["namespace"], call["name"]), ("crew", name))
            self.assertEqual(set(json.loads(call["arguments"])), {"city"})
            result = {"type": "function_call_output", "id": "fco_1", "name": name, "namespace": "crew", "output": "seen"}
            for change in ({"call_id": call["call_id"]}, {}):
                post("/v1/responses", {**self.AGENT, "input": [*self.AGENT["input"], call, {**result, **change}]})
        _, plain = self.call(name="look")
        self.assertNotIn("namespace", plain)

    def test_references_are_to_stored_items(self):
        body = {**self.AGENT, "store": True, "parallel_tool_calls": False, "temperature": 1,
                "tool_choice": {"type": "function", "name": "look"}}
        called = post("/v1/responses", body)
        item = next(item for item in called["output"] if item["type"] == "function_call")
        result = {"type": "function_call_output", "call_id": item["call_id"], "output": "seen"}
        whole = post("/v1/responses", {**self.AGENT, "temperature": 0, "input": [*self.AGENT["input"], item, result]})
        for reference in ({"type": "item_reference", "id": item["id"]}, {"id": item["id"]}):
            referred = post("/v1/responses", {**self.AGENT, "temperature": 0,
                                              "input": [*self.AGENT["input"], reference, result]})
            self.assertEqual(referred["skald"]["digest"], whole["skald"]["digest"])
        for bad in ("fc_0_0", "msg", item["id"] + "9", ""):
            self.assertEqual(server.post("/v1/responses", {"input": [{"type": "item_reference", "id": bad}]})[0], 400, bad)

    def test_older_items_and_other_parts(self):
        answer = post("/v1/responses", {"max_output_tokens": 4, "truncation": "auto", "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "And"}]},
            {"type": "message", "role": "assistant", "id": "msg_1", "phase": "commentary", "refusal": None, "tool_calls": None,
             "content": [{"type": "refusal", "refusal": "No."}, {"type": "output_text", "text": "Yes.", "role": "assistant"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            {"type": "web_search_call", "id": "ws_1", "status": "completed"}, USER]})
        self.assertEqual(answer["skald"]["ignored"], ["input[3].type=web_search_call"])

    def test_logprobs_are_included(self):
        body = {"input": "And it came", "max_output_tokens": 5, "temperature": 0, "top_logprobs": 2,
                "include": ["message.output_text.logprobs"]}
        part = post("/v1/responses", body)["output"][0]["content"][0]
        self.assertEqual([len(token["top_logprobs"]) for token in part["logprobs"]], [2] * 5)
        done = [e for e in server.stream("/v1/responses", body) if e["type"] == "response.output_text.done"]
        self.assertEqual(done[0]["logprobs"], part["logprobs"])

    def test_allowed_tools(self):
        allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "send", "namespace": "crew"}]}
        answer = post("/v1/responses", {**self.AGENT, "temperature": 1, "parallel_tool_calls": False, "tool_choice": allowed})
        self.assertEqual(answer["output"][-1]["name"], "send")


class Anthropic(unittest.TestCase):
    AGENT = {
        "model": "claude-opus-4-8", "max_tokens": 8, "temperature": 0, "thinking": {"type": "adaptive", "display": "omitted"},
        "metadata": {"user_id": "u"}, "output_config": {"effort": "high"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "system": [{"type": "text", "text": "Help."}, {"type": "text", "text": "More.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "And it came", "cache_control": {"type": "ephemeral"}}]},
                     {"role": "system", "content": "Remember."}],
        "tools": [{"name": "Read", "description": "Reads.", "input_schema": SCHEMA, "eager_input_streaming": True},
                  {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}]}

    def test_an_agents_first_request(self):
        answer = post("/v1/messages?beta=true", self.AGENT)
        self.assertEqual(answer["skald"]["ignored"], ["tools[1].type=web_search_20250305"])
        for path in ("/messages", "/v1/v1/messages"):
            self.assertEqual(post(path, self.AGENT)["skald"]["digest"], answer["skald"]["digest"])
        counted = {name: value for name, value in self.AGENT.items() if name not in ("max_tokens", "temperature")}
        usage = answer["usage"]
        self.assertEqual(post("/v1/messages/count_tokens", counted)["input_tokens"],
                         usage["input_tokens"] + usage["cache_read_input_tokens"])

    def test_structured_outputs(self):
        for field in ({"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
                      {"output_format": {"type": "json_schema", "schema": SCHEMA}}):
            answer = post("/v1/messages", {"messages": [USER], "max_tokens": 200, "seed": 1, **field})
            self.assertEqual(set(json.loads(answer["content"][0]["text"])), {"city"})

    def test_documents_and_blocks_of_others(self):
        document = {"type": "document", "title": "t", "source": {"type": "text", "media_type": "text/plain", "data": "And it came"}}
        answer = post("/v1/messages", {"max_tokens": 4, "messages": [
            USER, {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                                                    {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
                                                    {"type": "text", "text": "Found.", "citations": []}]},
            {"role": "user", "content": [document]}]})
        self.assertEqual(answer["skald"]["ignored"], ["messages[1].content[0].type=server_tool_use",
                                                      "messages[1].content[1].type=web_search_tool_result"])

    def test_a_prompt_is_computed_ahead(self):
        body = {"messages": [{"role": "user", "content": "A prompt of its own for this test"}], "temperature": 0}
        ahead = post("/v1/messages", {**body, "max_tokens": 0})
        self.assertEqual((ahead["content"], ahead["stop_reason"], ahead["usage"]["output_tokens"]), ([], "max_tokens", 0))
        self.assertGreater(post("/v1/messages", {**body, "max_tokens": 1})["usage"]["cache_read_input_tokens"], 0)

    def test_models(self):
        status, listed = server.get("/v1/models", {"anthropic-version": "2023-06-01"})
        self.assertEqual((status, listed["has_more"], listed["first_id"]), (200, False, "demo"))
        self.assertEqual([(m["type"], m["id"]) for m in listed["data"]], [("model", "demo")])
        self.assertEqual(server.get("/v1/models")[1]["object"], "list")

    def test_what_is_too_long(self):
        long = {"messages": [{"role": "user", "content": "long " * 3000}], "max_tokens": 1}
        status, answer = server.post("/v1/messages", long)
        self.assertEqual(status, 400)
        self.assertRegex(answer["error"]["message"], r"^prompt is too long: \d+ tokens > 2048 maximum.*--max-context")
        for path, body in (("/v1/chat/completions", long), ("/v1/completions", {"prompt": "long " * 3000}),
                           ("/v1/completions", {"prompt": [5] * 3000}), ("/v1/responses", {"input": "long " * 3000})):
            error = server.post(path, body)[1]["error"]
            self.assertEqual(error["code"], "context_length_exceeded", path)
            self.assertRegex(error["message"], r"prompt is too long: \d+ tokens > 2048 maximum, the maximum context length")


class Chat(unittest.TestCase):
    def test_any_name_is_the_model(self):
        for path in ("/v1/chat/completions", "/chat/completions", "/v1/v1/chat/completions"):
            self.assertEqual(post(path, {"model": "gpt-9", "messages": [USER], "max_tokens": 1})["model"], "demo")
        self.assertEqual(server.get("/models")[1]["data"][0]["id"], "demo")
        self.assertEqual(server.get("/v1/models/gpt-9")[1]["id"], "demo")

    def test_unknown_fields_are_told_and_change_nothing(self):
        plain, told = chat(), chat(mood="good", messages=[{**USER, "mood": "bad"}], tools=[])
        self.assertEqual(told["skald"].pop("ignored"), ["messages[0].mood", "mood"])
        self.assertNotIn("ignored", plain["skald"])
        self.assertEqual(plain["skald"]["digest"], told["skald"]["digest"])

    def test_messages_of_other_servers(self):
        chat(messages=[{"role": "system", "content": "a"}, {"role": "developer", "content": "b"}, USER,
                       {"role": "assistant", "content": None, "refusal": "No.", "audio": None, "function_call": None,
                        "reasoning": "Hm.", "reasoning_details": [], "annotations": []},
                       {"role": "user", "content": [{"type": "text", "text": "Go"}, {"type": "text", "text": " on"}]}])

    def test_names_of_others_for_the_same(self):
        self.assertEqual(chat(max_tokens=None, n_predict=3)["usage"]["completion_tokens"], 3)
        for more in ({"temperature": 1, "seed": 4}, {}):
            one, other = chat(repetition_penalty=1.3, **more), chat(repeat_penalty=1.3, repeat_last_n=-1, **more)
            self.assertEqual(one["skald"]["digest"], other["skald"]["digest"])
        self.assertNotEqual(text_of(chat(repeat_penalty=5, max_tokens=60)), text_of(chat(max_tokens=60)))
        self.assertEqual(text_of(chat(repeat_penalty=5, repeat_last_n=0, max_tokens=60)), text_of(chat(max_tokens=60)))

    def test_numbers_of_tokens(self):
        none = chat(max_tokens=0)
        self.assertEqual((text_of(none), none["usage"]["completion_tokens"], none["choices"][0]["finish_reason"]),
                         ("", 0, "length"))
        answer = post("/v1/completions", {"prompt": "And it", "max_tokens": -1, "seed": 1, "ignore_eos": True})
        usage = answer["usage"]
        self.assertGreaterEqual(usage["prompt_tokens"] + usage["completion_tokens"], 2047)
        scored = post("/v1/completions", {"prompt": "And it came", "max_tokens": 0, "echo": True, "logprobs": 1})["choices"][0]
        self.assertEqual(scored["text"].strip(), "And it came")
        self.assertEqual(len(scored["logprobs"]["token_logprobs"]), len(scored["logprobs"]["tokens"]))

    def test_ends_that_come_later_or_earlier(self):
        tokens = chat(logprobs=True)["choices"][0]["logprobs"]["content"]
        spelled = "".join(token["token"] for token in tokens[3:4])
        ids = server.post("/tokenize", {"content": spelled})[1]["tokens"]
        if len(ids) == 1:
            stopped = chat(stop_token_ids=ids)
            self.assertEqual(stopped["choices"][0]["finish_reason"], "stop")
            self.assertGreater(chat(stop_token_ids=ids, min_tokens=7)["usage"]["completion_tokens"],
                               stopped["usage"]["completion_tokens"])
        self.assertEqual(server.post("/v1/chat/completions", {"messages": [USER], "stop_token_ids": [-1]})[0], 400)

    def test_forms_of_answers(self):
        more = {"max_tokens": 200, "temperature": 1, "seed": 5}
        for field in ({"response_format": {"type": "json_object", "schema": SCHEMA}}, {"json_schema": SCHEMA},
                      {"guided_json": json.dumps(SCHEMA)}, {"structured_outputs": {"json": SCHEMA}}):
            self.assertEqual(set(json.loads(text_of(chat(**more, **field)))), {"city"}, field)
        for field in ({"guided_choice": ["a \"b\"", "c\\d\ne"]}, {"structured_outputs": {"choice": ["a \"b\"", "c\\d\ne"]}}):
            self.assertIn(text_of(chat(**more, **field)), ["a \"b\"", "c\\d\ne"])
        for field in ({"grammar": "root ::= \"x\"+ \"y\""}, {"guided_grammar": "root ::= \"x\"+ \"y\""},
                      {"structured_outputs": {"grammar": "root ::= \"x\"+ \"y\""}}):
            self.assertRegex(text_of(chat(**more, **field)), "^x+y$")
            path, body = "/v1/completions", {"prompt": "And", **more, **field}
            self.assertRegex(post(path, body)["choices"][0]["text"], "^x+y$")
        both = {"messages": [USER], "grammar": "root ::= \"x\"", "json_schema": SCHEMA}
        self.assertEqual(server.post("/v1/chat/completions", both)[0], 400)

    def test_the_best_of_several(self):
        body = {"prompt": "And it came", "max_tokens": 6, "temperature": 1, "seed": 2, "logprobs": 0}
        several = post("/v1/completions", {**body, "n": 4})["choices"]
        best = post("/v1/completions", {**body, "n": 2, "best_of": 4})["choices"]
        means = lambda choices: [sum(c["logprobs"]["token_logprobs"]) / 6 for c in choices]
        self.assertEqual([c["index"] for c in best], [0, 1])
        self.assertEqual(means(best), sorted(means(several), reverse=True)[:2])
        self.assertEqual(server.post("/v1/completions", {**body, "best_of": 4, "stream": True})[0], 400)

    def test_the_template_is_told(self):
        for field in ({"enable_thinking": False}, {"thinking": {"type": "enabled", "budget_tokens": 9}}, {"documents": []},
                      {"reasoning": {"effort": "low", "exclude": True}}, {"add_generation_prompt": True}):
            self.assertNotIn("ignored", chat(**field)["skald"], field)
        with_mark, without = chat(), chat(add_generation_prompt=False)
        self.assertGreater(with_mark["usage"]["prompt_tokens"], without["usage"]["prompt_tokens"])
        going_on = chat(messages=[USER, {"role": "assistant", "content": "to pass"}], continue_final_message=True)
        self.assertEqual(going_on["choices"][0]["finish_reason"], "length")

    def test_allowed_tools(self):
        tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("one", "two")]
        allowed = {"type": "allowed_tools", "allowed_tools": {
            "mode": "required", "tools": [{"type": "function", "function": {"name": "two"}}]}}
        answer = chat(tools=[*tools, {"type": "custom", "custom": {"name": "three"}}], tool_choice=allowed, max_tokens=300,
                      temperature=1, seed=3, parallel_tool_calls=False)
        self.assertEqual(answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "two")
        self.assertEqual(answer["skald"]["ignored"], ["tools[2].type=custom"])


class Templates(unittest.TestCase):
    def test_messages_that_a_template_does_not_take_become_those_that_it_takes(self):
        template = ("{%- for m in messages %}{%- if m.role == 'system' and not loop.first %}{{ raise_exception('no') }}"
                    "{%- elif loop.previtem is defined and loop.previtem.role == m.role %}{{ raise_exception('turns') }}{% endif %}"
                    "{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: ")
        with temporary_folder() as name:
            with open(os.path.join(tool_model(DEMO, name), "chat_template.jinja"), "w") as file:
                file.write(template)
            with RunningServer(PROGRAM, "--model", name, "--max-context", "512") as strict:
                odd = [{"role": "system", "content": "a"}, {"role": "system", "content": "b"}, USER, USER,
                       {"role": "system", "content": "c"}]
                plain = [{"role": "system", "content": "a\n\nb"}, {"role": "user", "content": "And it came\n\nAnd it came\n\nc"}]
                digests = [strict.post("/v1/chat/completions", {"messages": m, "max_tokens": 4, "temperature": 0})[1]["skald"]["digest"]
                           for m in (odd, plain)]
                self.assertEqual(*digests)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
