#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server as Ollama's own client for Python sees it: ollama_test.py PROGRAM. Exits with 77 and a word where it is
missing: `pip install ollama`."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from running_server import RunningServer, temporary_folder, tool_model  # noqa: E402

try:
    import ollama
    from ollama._utils import convert_function_to_tool
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

PROGRAM = sys.argv[1]
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "demo_model")
MESSAGES = [{"role": "user", "content": "And it came to pass"}]
SHORT = {"num_predict": 12, "temperature": 0}


def setUpModule():
    global server, folder, client
    folder = temporary_folder()
    server = RunningServer(PROGRAM, "--model", tool_model(DEMO, folder.name), "--model-name", "demo", "--max-context", "1024")
    client = ollama.Client(host=f"http://127.0.0.1:{server.port}")


def tearDownModule():
    code = server.stop()
    folder.cleanup()
    assert code == 0, code


def get_weather(city: str) -> str:
    """Tells the weather.

    Args:
      city: where
    """
    return "sunny in " + city


class Client(unittest.TestCase):
    def test_models(self):
        self.assertEqual([model.model for model in client.list().models], ["demo:latest"])
        self.assertEqual(client.ps().models[0].context_length, 1024)
        self.assertIn("tools", client.show("demo").capabilities)
        self.assertEqual(client.pull("demo").status, "success")
        self.assertEqual([step.status for step in client.pull("demo", stream=True)][-1], "success")

    def test_chat(self):
        whole = client.chat("demo", messages=MESSAGES, options=SHORT)
        self.assertEqual((whole.done_reason, whole.eval_count), ("length", 12))
        pieces = list(client.chat("demo", messages=MESSAGES, options=SHORT, stream=True))
        self.assertEqual("".join(piece.message.content for piece in pieces), whole.message.content)
        self.assertEqual(pieces[-1].prompt_eval_count, whole.prompt_eval_count)

    def test_generate(self):
        whole = client.generate("demo", prompt="In the beginning", raw=True, options=SHORT, logprobs=True)
        pieces = list(client.generate("demo", prompt="In the beginning", raw=True, options=SHORT, stream=True))
        self.assertEqual("".join(piece.response for piece in pieces), whole.response)
        self.assertEqual(len(whole.logprobs), 12)
        self.assertEqual(client.generate("demo", prompt="").done_reason, "load")

    def test_formats(self):
        schema = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 8}}, "required": ["city"],
                  "additionalProperties": False}
        answer = client.chat("demo", messages=MESSAGES, format=schema, options={"num_predict": 200, "seed": 3})
        self.assertEqual(list(json.loads(answer.message.content)), ["city"])

    def test_tools_are_functions(self):
        tool = convert_function_to_tool(get_weather).model_dump(exclude_none=True)
        tool["function"]["parameters"]["properties"]["city"]["maxLength"] = 8
        body = {"model": "demo", "messages": MESSAGES, "tools": [tool], "tool_choice": "required", "stream": False,
                "options": {"num_predict": 300, "seed": 3}}
        message = ollama.Message(**server.post("/api/chat", body)[1]["message"])
        call = message.tool_calls[0].function
        self.assertEqual(call.name, "get_weather")
        messages = [*MESSAGES, message, {"role": "tool", "tool_name": call.name, "content": get_weather(**call.arguments)}]
        self.assertEqual(client.chat("demo", messages=messages, tools=[get_weather], options=SHORT).message.role, "assistant")

    def test_vectors(self):
        vectors = client.embed("demo", input=["In the beginning", "And it came"]).embeddings
        self.assertEqual(client.embeddings("demo", prompt="And it came").embedding, vectors[1])

    def test_errors(self):
        with self.assertRaises(ollama.ResponseError) as caught:
            client.chat("demo", messages=[{"role": "nobody", "content": "a"}])
        self.assertEqual(caught.exception.status_code, 400)
        with self.assertRaisesRegex(ollama.ResponseError, "fill in"):
            client.generate("demo", prompt="a", suffix="b")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
