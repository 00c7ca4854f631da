#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server as OpenAI's and Anthropic's clients for Python see it: python_clients.py PROGRAM DEMO_MODEL.

Exits with 77 and a word where `pip install openai anthropic pydantic` was not called.
"""

import json
import os
import sys
import unittest

try:
    import anthropic
    import openai
    import pydantic
except ImportError as error:
    print(f"skipped: no Python package {error.name}")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from running_server import RunningServer, temporary_folder, tool_model  # noqa: E402

PROGRAM, DEMO = sys.argv[1:3]
USER = {"role": "user", "content": "And it came"}


class Weather(pydantic.BaseModel):
    city: str = pydantic.Field(max_length=8)
    days: int = pydantic.Field(ge=0, le=99)


SCHEMA = {**Weather.model_json_schema(), "additionalProperties": False}


def setUpModule():
    global server, folder, of_openai, of_anthropic
    folder = temporary_folder()
    server = RunningServer(PROGRAM, "--model", tool_model(DEMO, folder.name), "--max-context", "2048")
    of_openai = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)
    of_anthropic = anthropic.Anthropic(base_url=f"http://127.0.0.1:{server.port}", api_key="none", max_retries=0)


def tearDownModule():
    code = server.stop()
    folder.cleanup()
    assert code == 0, code


class OpenAi(unittest.TestCase):
    def test_chat_whole_and_as_a_stream(self):
        wanted = {"model": "gpt-5", "messages": [USER], "max_tokens": 12, "temperature": 0}
        whole = of_openai.chat.completions.create(**wanted)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in of_openai.chat.completions.create(**wanted, stream=True))
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertTrue(whole._request_id.startswith("req_"))

    def test_chat_with_tools(self):
        tool = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
        wanted = {"model": "gpt-5", "tools": [tool], "seed": 3, "max_tokens": 400, "parallel_tool_calls": False}
        asked = of_openai.chat.completions.create(
            messages=[USER], tool_choice={"type": "function", "function": {"name": "look"}}, **wanted).choices[0].message
        [call] = asked.tool_calls
        Weather.model_validate_json(call.function.arguments)
        # The client sends its own object back, with all of its fields.
        messages = [USER, asked, {"role": "tool", "tool_call_id": call.id, "content": "clear"}]
        self.assertTrue(of_openai.chat.completions.create(messages=messages, tool_choice="none", **wanted).choices)

    def test_parsed_answers(self):
        wanted = {"model": "gpt-5", "seed": 3}
        parsed = of_openai.chat.completions.parse(messages=[USER], response_format=Weather, max_tokens=400, **wanted)
        self.assertIsInstance(parsed.choices[0].message.parsed, Weather)
        parsed = of_openai.responses.parse(model="gpt-5", input=[USER], text_format=Weather, max_output_tokens=400)
        self.assertIsInstance(parsed.output_parsed, Weather)

    def test_responses_with_tools(self):
        wanted = {"model": "gpt-5", "max_output_tokens": 400, "parallel_tool_calls": False,
                  "tools": [{"type": "function", "name": "look", "parameters": SCHEMA, "strict": True}, {"type": "web_search"}]}
        asked = of_openai.responses.create(input=[USER], tool_choice={"type": "function", "name": "look"}, **wanted)
        call = next(item for item in asked.output if item.type == "function_call")
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "clear"}
        items = [USER, *asked.output, result]
        self.assertTrue(of_openai.responses.create(input=items, tool_choice="none", **wanted).output_text)
        with of_openai.responses.stream(input=items, tool_choice="none", **wanted) as stream:
            kinds = [event.type for event in stream]
        self.assertIn("response.output_text.delta", kinds)
        following = of_openai.responses.create(previous_response_id=asked.id, input=[result], tool_choice="none", **wanted)
        self.assertTrue(following.output_text)

    def test_responses_that_are_kept(self):
        wanted = {"model": "gpt-5", "max_output_tokens": 8, "temperature": 0}
        first = of_openai.responses.create(input=[USER], **wanted)
        second = of_openai.responses.create(input="And then", previous_response_id=first.id, **wanted)
        self.assertEqual(of_openai.responses.retrieve(second.id, include=["message.output_text.logprobs"]), second)
        listed = list(of_openai.responses.input_items.list(second.id, order="asc", limit=2))
        self.assertEqual([item.role for item in listed], ["user", "assistant", "user"])
        self.assertEqual(listed[1].id, first.output[0].id)
        count = of_openai.responses.input_tokens.count(model="gpt-5", input="And then", previous_response_id=first.id)
        self.assertEqual(count.input_tokens, second.usage.input_tokens)
        of_openai.responses.delete(second.id)
        with self.assertRaises(openai.NotFoundError):
            of_openai.responses.retrieve(second.id)
        with self.assertRaises(openai.BadRequestError):
            of_openai.responses.cancel(first.id)

    def test_conversations(self):
        made = of_openai.conversations.create(items=[USER], metadata={"topic": "days"})
        self.assertEqual(made.metadata, {"topic": "days"})
        answer = of_openai.responses.create(model="gpt-5", input="And then", conversation=made.id, max_output_tokens=8)
        self.assertEqual(answer.conversation.id, made.id)
        of_openai.conversations.items.create(made.id, items=[{"role": "user", "content": "More."}])
        listed = list(of_openai.conversations.items.list(made.id, order="asc", limit=3))
        self.assertEqual([item.role for item in listed], ["user", "user", "assistant", "user"])
        self.assertEqual(of_openai.conversations.items.retrieve(listed[2].id, conversation_id=made.id).id, answer.output[0].id)
        of_openai.conversations.items.delete(listed[0].id, conversation_id=made.id)
        self.assertEqual(of_openai.conversations.update(made.id, metadata={"topic": "nights"}).metadata, {"topic": "nights"})
        self.assertEqual(of_openai.conversations.retrieve(made.id).created_at, made.created_at)
        self.assertTrue(of_openai.conversations.delete(made.id).deleted)

    def test_errors(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            of_openai.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": "long " * 3000}])
        self.assertEqual(caught.exception.code, "context_length_exceeded")


class Anthropic(unittest.TestCase):
    def test_messages_whole_and_as_a_stream(self):
        wanted = {"model": "claude-opus-4-8", "max_tokens": 12, "system": "Speak.", "messages": [USER],
                  "extra_body": {"temperature": 0}}
        whole = of_anthropic.messages.create(**wanted)
        with of_anthropic.messages.stream(**wanted) as stream:
            self.assertEqual("".join(stream.text_stream), whole.content[0].text)
        self.assertTrue(whole._request_id.startswith("req_"))
        self.assertEqual([model.type for model in of_anthropic.models.list()], ["model"])

    def test_messages_with_tools(self):
        wanted = {"model": "claude-opus-4-8", "max_tokens": 400, "tools": [
            {"name": "look", "input_schema": SCHEMA}, {"type": "web_search_20250305", "name": "web_search"}]}
        asked = of_anthropic.messages.create(messages=[USER], tool_choice={
            "type": "tool", "name": "look", "disable_parallel_tool_use": True}, **wanted)
        block = asked.content[-1]
        Weather.model_validate(block.input)
        result = {"type": "tool_result", "tool_use_id": block.id, "content": json.dumps({"sky": "clear"})}
        messages = [USER, {"role": "assistant", "content": asked.content}, {"role": "user", "content": [result]}]
        self.assertEqual(of_anthropic.messages.create(messages=messages, tool_choice={"type": "none"}, **wanted).type, "message")
        self.assertGreater(of_anthropic.messages.count_tokens(
            model="claude-opus-4-8", messages=messages, tools=wanted["tools"]).input_tokens, 10)

    def test_errors(self):
        with self.assertRaisesRegex(anthropic.BadRequestError, r"prompt is too long: \d+ tokens > 2048 maximum"):
            of_anthropic.messages.create(model="claude-opus-4-8", max_tokens=4,
                                         messages=[{"role": "user", "content": "long " * 3000}])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
