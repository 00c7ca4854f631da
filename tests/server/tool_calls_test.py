#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls of tools come as calls, whatever else a request asks for: tool_calls_test.py PROGRAM."""

import json
import os
import sys
import unittest

from running_server import RunningServer, temporary_folder, tool_model

PROGRAM = sys.argv[1]
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "demo_model")
THINKS = "{% if add_generation_prompt %}assistant: {% endif %}", "{% if add_generation_prompt %}assistant: <think>\n{% endif %}"
CODER = "<tool_call> has a name and arguments.", "<tool_call> has <function=NAME> and <parameter=KEY>."


def with_template(*changes):
    """The demo model with the template of tool_model, of which parts are replaced."""
    folder = temporary_folder()
    path = os.path.join(tool_model(DEMO, folder.name), "chat_template.jinja")
    with open(path) as file:
        text = file.read()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    with open(path, "w") as file:
        file.write(text)
    return folder, RunningServer(PROGRAM, "--model", folder.name, "--max-context", "1024")


def setUpModule():
    global plain, thinking, coder
    plain, thinking, coder = with_template(), with_template(THINKS), with_template(CODER)


def tearDownModule():
    for folder, server in (plain, thinking, coder):
        assert server.stop() == 0
        folder.cleanup()


def tools(schema, name="look"):
    return [{"type": "function", "function": {"name": name, "parameters": schema}}]


def ask(server, **fields):
    body = {"messages": [{"role": "user", "content": "Look!"}], "temperature": 1, "max_tokens": 300, **fields}
    status, answer = server.post("/v1/chat/completions", body)
    return status, answer


class Calls(unittest.TestCase):
    def called(self, server, **fields):
        status, answer = ask(server, **fields)
        self.assertEqual(status, 200, answer)
        choice = answer["choices"][0]
        self.assertEqual(choice["finish_reason"], "tool_calls", choice)
        return [json.loads(call["function"]["arguments"]) for call in choice["message"]["tool_calls"]]

    def test_marks_in_arguments(self):
        marks = "a</tool_call>b<tool_call>\"\\[TOOL_CALLS]</parameter>"
        schema = {"type": "object", "properties": {"x": {"const": marks}}, "required": ["x"]}
        for seed in range(3):
            for call in self.called(plain[1], tools=tools(schema), tool_choice="required", seed=seed):
                self.assertEqual(call, {"x": marks})

    def test_thoughts_leave_room(self):
        schema = {"type": "object", "properties": {"x": {"enum": ["red", "blue"]}}, "required": ["x"]}
        for seed in range(3):
            calls = self.called(thinking[1], tools=tools(schema), tool_choice="required", seed=seed, max_tokens=250,
                                parallel_tool_calls=False)
            self.assertIn(calls[0]["x"], ("red", "blue"))
        form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        status, answer = ask(thinking[1], response_format=form, max_tokens=120, seed=1)
        self.assertEqual(status, 200, answer)
        self.assertIn(json.loads(answer["choices"][0]["message"]["content"])["x"], ("red", "blue"))

    def test_types_of_parameters(self):
        schema = {"type": "object", "required": ["x"], "properties": {
            "x": {"type": ["string", "null"], "enum": ["red", None]}, "y": {"type": ["integer", "null"]}}}
        for form in (plain, coder):
            for seed in range(2):
                status, answer = ask(form[1], tools=tools(schema), tool_choice="required", seed=seed)
                self.assertEqual(status, 200, answer)

    def test_long_texts(self):
        schema = {"type": "object", "properties": {"x": {"type": "string", "maxLength": 524288}}, "required": ["x"]}
        for form in (plain, coder):
            self.assertEqual(ask(form[1], tools=tools(schema), tool_choice="required", max_tokens=40)[0], 200)
        form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        self.assertEqual(ask(plain[1], response_format=form, max_tokens=40)[0], 200)


class Options(unittest.TestCase):
    """A template from a file, and a form that it does not tell."""

    def test_a_form_that_a_template_does_not_tell_is_named(self):
        schema = {"type": "object", "properties": {"x": {"enum": ["red", "blue"]}}, "required": ["x"]}
        with temporary_folder() as folder:
            file = os.path.join(folder, "own.jinja")
            with open(file, "w") as text:
                text.write("OWN {{ tools | tojson if tools }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
            given = ["--model", DEMO, "--max-context", "1024", "--chat-template-file", file]
            with RunningServer(PROGRAM, *given) as server:
                rendered = server.post("/apply-template", {"messages": [{"role": "user", "content": "Look!"}]})[1]["prompt"]
                self.assertTrue(rendered.startswith("OWN user: Look!") or "OWN " in rendered, rendered)
                status, answer = ask(server, tools=tools(schema))
                self.assertEqual(status, 400)
                self.assertIn("--tool-format", answer["error"]["message"])
            for form in ("nemotron", "seed", "lfm2.5", "minimax-m2", "json"):
                with self.subTest(form), RunningServer(PROGRAM, *given, "--tool-format", form) as server:
                    status, answer = ask(server, tools=tools(schema), tool_choice="required", parallel_tool_calls=False)
                    self.assertEqual(status, 200, answer)
                    [call] = answer["choices"][0]["message"]["tool_calls"]
                    self.assertIn(json.loads(call["function"]["arguments"])["x"], ["red", "blue"])


class WithAForm(unittest.TestCase):
    SCHEMA = {"type": "object", "properties": {"y": {"enum": [1, 2]}}, "required": ["y"]}
    ARGUMENTS = {"type": "object", "properties": {"x": {"enum": ["red", "blue"]}}, "required": ["x"]}

    def beginning(self, text):
        """The token that a text begins with, after a space that the tokenizer may put before it."""
        whole = plain[1].post("/tokenize", {"content": "a" + text, "add_special": False})[1]["tokens"]
        return whole[1]

    def test_chat(self):
        form = {"type": "json_schema", "json_schema": {"name": "y", "schema": self.SCHEMA}}
        fields = {"tools": tools(self.ARGUMENTS), "response_format": form, "parallel_tool_calls": False}
        token = self.beginning("<tool_call>")
        for bias, finish in ((100, "tool_calls"), (-100, "stop")):
            status, answer = ask(plain[1], logit_bias={str(token): bias}, seed=2, **fields)
            self.assertEqual(status, 200, answer)
            choice = answer["choices"][0]
            self.assertEqual(choice["finish_reason"], finish, choice)
            if bias < 0:
                self.assertIn(json.loads(choice["message"]["content"])["y"], (1, 2))
            else:
                self.assertIn("red" if "red" in json.dumps(choice) else "blue", json.dumps(choice))
        for seed in range(3):
            status, answer = ask(plain[1], seed=seed, tool_choice="required", **fields)
            self.assertEqual(status, 200, answer)
            self.assertEqual(answer["choices"][0]["finish_reason"], "tool_calls", answer)

    def test_an_answer_that_breaks_off_within_a_call(self):
        bias = {str(self.beginning("<tool_call>")): 100}  # one call after the other
        body = {"messages": [{"role": "user", "content": "Look!"}], "seed": 2, "temperature": 1, "logit_bias": bias}
        broken = 0
        for limit in range(100, 108):
            chat = {**body, "max_tokens": limit, "tools": tools(self.ARGUMENTS), "tool_choice": "required"}
            whole = plain[1].post("/v1/chat/completions", chat)[1]["choices"][0]
            calls = len(whole["message"]["tool_calls"])
            chunks = [event["choices"][0] for event in plain[1].stream("/v1/chat/completions", chat)[:-1]]
            begun = sum("id" in call for chunk in chunks for call in chunk["delta"].get("tool_calls", []))
            broken += begun > calls
            self.assertEqual(whole["finish_reason"], "tool_calls")
            self.assertEqual(chunks[-1]["finish_reason"], "length" if begun > calls else "tool_calls")
            message = {**body, "max_tokens": limit, "tools": [{"name": "look", "input_schema": self.ARGUMENTS}],
                       "tool_choice": {"type": "any"}}
            answer = plain[1].post("/v1/messages", message)[1]
            self.assertEqual(sum(block["type"] == "tool_use" for block in answer["content"]), calls)
            self.assertEqual(answer["stop_reason"], "tool_use")
            events = plain[1].stream("/v1/messages", message)
            self.assertEqual(events[-2]["delta"]["stop_reason"], "max_tokens" if begun > calls else "tool_use")
        self.assertGreater(broken, 0)

    def test_responses(self):
        body = {"input": "Look!", "max_output_tokens": 300, "temperature": 1, "store": False, "tool_choice": "required",
                "parallel_tool_calls": False,
                "tools": [{"type": "function", "name": "look", "parameters": self.ARGUMENTS}],
                "text": {"format": {"type": "json_schema", "name": "y", "schema": self.SCHEMA}}}
        status, answer = plain[1].post("/v1/responses", body)
        self.assertEqual(status, 200, answer)
        self.assertEqual([item["type"] for item in answer["output"]][0], "function_call", answer)


class Prefill(unittest.TestCase):
    BODY = {"max_tokens": 12, "temperature": 0, "messages": [{"role": "user", "content": "Tell me a story."}]}

    def message(self, server, **fields):
        status, answer = server.post("/v1/messages", {**self.BODY, **fields})
        self.assertEqual(status, 200, answer)
        return answer

    def text(self, answer):
        return "".join(block["text"] for block in answer["content"])

    def test_goes_on(self):
        server = plain[1]
        whole = self.text(self.message(server, max_tokens=24))
        begun = whole[:whole.index(" ", len(whole) // 3)].strip()
        messages = [*self.BODY["messages"], {"role": "assistant", "content": begun}]
        answer = self.message(server, max_tokens=8, messages=messages)
        got = self.text(answer)
        self.assertTrue(whole.strip().startswith((begun + got).strip()[:len(begun) + 8]), (whole, begun, got))
        # Neither the end of the turn nor a new one is read: the prompt grows by the text alone.
        status, alone = server.post("/v1/messages/count_tokens", {"messages": self.BODY["messages"]})
        status, grown = server.post("/v1/messages/count_tokens", {"messages": messages})
        tokens = len(server.post("/tokenize", {"content": begun, "add_special": False})[1]["tokens"])
        self.assertLessEqual(abs(grown["input_tokens"] - alone["input_tokens"] - tokens), 1)

    def test_blocks(self):
        messages = [*self.BODY["messages"], {"role": "assistant", "content": [{"type": "text", "text": "Once upon"}]}]
        events = plain[1].stream("/v1/messages", {**self.BODY, "messages": messages})
        self.assertEqual(events[-1]["type"], "message_stop")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
