#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server as frameworks for Python see it, a step of a tool each: frameworks_test.py PROGRAM.

Tests of packages that are not installed are skipped; with none of them it exits with 77 and a word: `pip install litellm
langchain-openai langchain-anthropic langchain-ollama instructor openai-agents llama-index-llms-openai-like
huggingface_hub open-interpreter`. Not all of them agree with each other."""

import asyncio
import importlib.util
import json
import os
import sys
import unittest
from typing import Literal

PACKAGES = ["litellm", "langchain_openai", "langchain_anthropic", "langchain_ollama", "instructor", "agents",
            "llama_index.llms.openai_like", "huggingface_hub", "interpreter"]


def has(*names):
    try:
        return all(importlib.util.find_spec(name) for name in names)
    except ModuleNotFoundError:
        return False


if not any(has(name) for name in PACKAGES):
    print("skipped: none of the Python packages " + ", ".join(PACKAGES))
    sys.exit(77)

os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", OPENAI_AGENTS_DISABLE_TRACING="1", OPENAI_API_KEY="none")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from running_server import RunningServer, temporary_folder, tool_model  # noqa: E402

PROGRAM = sys.argv[1]
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "demo_model")
USER = {"role": "user", "content": "And it came to pass"}
CITIES = ["Ur", "Tyre"]
LOOK = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "enum": CITIES}}, "required": ["city"]}}}


def setUpModule():
    global server, folder, root, base
    folder = temporary_folder()
    server = RunningServer(PROGRAM, "--model", tool_model(DEMO, folder.name), "--model-name", "demo", "--max-context", "4096")
    root = f"http://127.0.0.1:{server.port}"
    base = root + "/v1"


def tearDownModule():
    code = server.stop()
    folder.cleanup()
    assert code == 0, code


@unittest.skipUnless(has("litellm"), "litellm is not installed")
class LiteLlm(unittest.TestCase):
    def test_answers_and_tools_of_each_provider(self):
        import litellm
        for model, at in [("openai/demo", base), ("hosted_vllm/demo", base), ("anthropic/demo", root),
                          ("ollama_chat/demo", root), ("openai/responses/demo", base)]:
            with self.subTest(model):
                wanted = {"model": model, "api_base": at, "api_key": "none", "max_tokens": 300, "num_retries": 0}
                short = {**wanted, "max_tokens": 16, "temperature": 0}
                whole = litellm.completion(messages=[USER], **short).choices[0].message.content
                pieces = litellm.completion(messages=[USER], stream=True, **short)
                self.assertEqual("".join(piece.choices[0].delta.content or "" for piece in pieces), whole)
                if model.startswith("ollama"):
                    continue  # its API has no choice of a tool
                choice = {"type": "function", "function": {"name": "look"}}
                asked = litellm.completion(messages=[USER], tools=[LOOK], tool_choice=choice, **wanted).choices[0].message
                call = asked.tool_calls[0]
                self.assertIn(json.loads(call.function.arguments)["city"], CITIES)
                said = {"role": "tool", "tool_call_id": call.id, "content": "clear"}
                answer = litellm.completion(messages=[USER, asked.model_dump(), said], tools=[LOOK], tool_choice="none", **short)
                self.assertTrue(answer.choices[0].message.content)

    def test_other_endpoints(self):
        import litellm
        wanted = {"model": "openai/demo", "api_base": base, "api_key": "none"}
        self.assertTrue(litellm.embedding(input=["a", "b"], **wanted).data[1]["embedding"])
        self.assertTrue(litellm.responses(input="And", max_output_tokens=16, **wanted).output)
        text = litellm.text_completion(model="text-completion-openai/demo", api_base=base, api_key="none", prompt="And", max_tokens=8)
        self.assertTrue(text.choices[0].text)


class LangChain(unittest.TestCase):
    # `none` is how the model is told not to call; None: it cannot be told to call or not.
    def check(self, model, none, short):
        from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
        from langchain_core.tools import tool

        @tool
        def look(city: Literal["Ur", "Tyre"]) -> str:
            """Looks."""
            return "clear over " + city

        messages = [SystemMessage("Speak."), HumanMessage("And it came")]
        whole = short.invoke(messages)
        self.assertTrue(whole.text)
        streamed = "".join(chunk.text for chunk in short.stream(messages))
        self.assertEqual(streamed, whole.text)
        if none is None:
            return
        asked = model.bind_tools([look], tool_choice="look").invoke(messages)
        said = look.invoke(asked.tool_calls[0])
        self.assertIsInstance(said, ToolMessage)
        self.assertTrue(short.bind_tools([look], tool_choice=none).invoke([*messages, asked, said]).text)

    @unittest.skipUnless(has("langchain_openai"), "langchain_openai is not installed")
    def test_openai(self):
        from langchain_openai import ChatOpenAI, OpenAIEmbeddings
        for use_responses_api in [False, True]:
            def make(**given):
                return ChatOpenAI(model="demo", base_url=base, api_key="none", max_retries=0,
                                  use_responses_api=use_responses_api, **given)
            self.check(make(max_tokens=300), "none", make(max_tokens=16, temperature=0))
        embeddings = OpenAIEmbeddings(model="demo", base_url=base, api_key="none", max_retries=0, check_embedding_ctx_length=False)
        self.assertEqual(len(embeddings.embed_documents(["In the beginning", "And it came"])), 2)

    @unittest.skipUnless(has("langchain_openai", "pydantic"), "langchain_openai is not installed")
    def test_openai_fits_a_schema(self):
        import pydantic
        from langchain_openai import ChatOpenAI

        class Weather(pydantic.BaseModel):
            city: Literal["Ur", "Tyre"]
        for method in ["json_schema", "function_calling"]:
            model = ChatOpenAI(model="demo", base_url=base, api_key="none", max_retries=0, max_tokens=300)
            self.assertIn(model.with_structured_output(Weather, method=method).invoke("And").city, CITIES)

    @unittest.skipUnless(has("langchain_anthropic"), "langchain_anthropic is not installed")
    def test_anthropic(self):
        from langchain_anthropic import ChatAnthropic

        def make(**given):
            return ChatAnthropic(model="demo", base_url=root, api_key="none", max_retries=0, **given)
        self.check(make(max_tokens=300), {"type": "none"}, make(max_tokens=16, temperature=0))

    @unittest.skipUnless(has("langchain_ollama"), "langchain_ollama is not installed")
    def test_ollama(self):
        from langchain_ollama import ChatOllama, OllamaEmbeddings
        self.check(None, None, ChatOllama(model="demo", base_url=root, num_predict=16, temperature=0))
        self.assertEqual(len(OllamaEmbeddings(model="demo", base_url=root).embed_documents(["a", "b"])), 2)


@unittest.skipUnless(has("instructor", "openai"), "instructor is not installed")
class Instructor(unittest.TestCase):
    def test_every_mode(self):
        import instructor
        import openai
        import pydantic

        class Weather(pydantic.BaseModel):
            city: Literal["Ur", "Tyre"]
        for mode in [instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA]:
            with self.subTest(mode):
                client = instructor.from_openai(openai.OpenAI(base_url=base, api_key="none", max_retries=0), mode=mode)
                weather = client.chat.completions.create(model="demo", messages=[USER], response_model=Weather, max_tokens=300, max_retries=0)
                self.assertIn(weather.city, CITIES)


@unittest.skipUnless(has("agents"), "openai-agents is not installed")
class Agents(unittest.TestCase):
    def test_a_loop_with_a_tool(self):
        import openai
        import pydantic
        from agents import (Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool,
                            set_tracing_disabled)
        set_tracing_disabled(True)

        class Weather(pydantic.BaseModel):  # an answer that comes to an end
            city: Literal["Ur", "Tyre"]
        for kind in [OpenAIChatCompletionsModel, OpenAIResponsesModel]:
            for streams in [False, True]:
                with self.subTest(kind.__name__, streams=streams):
                    seen = []

                    @function_tool
                    def look(city: Literal["Ur", "Tyre"]) -> str:
                        """Looks."""
                        seen.append(city)
                        return "clear"

                    async def go():
                        client = openai.AsyncOpenAI(base_url=base, api_key="none", max_retries=0)
                        agent = Agent(name="A", instructions="Speak.", tools=[look], model=kind("demo", client), output_type=Weather,
                                      model_settings=ModelSettings(tool_choice="look", max_tokens=300, parallel_tool_calls=False))
                        if not streams:
                            return (await Runner.run(agent, "And it came", max_turns=40)).final_output
                        result = Runner.run_streamed(agent, "And it came", max_turns=40)
                        async for _ in result.stream_events():
                            pass
                        return result.final_output
                    self.assertIn(asyncio.run(go()).city, CITIES)
                    self.assertTrue(seen)

    def test_chats_that_the_server_keeps(self):
        import openai
        import pydantic
        from agents import Agent, ModelSettings, OpenAIConversationsSession, OpenAIResponsesModel, Runner, set_tracing_disabled
        set_tracing_disabled(True)

        class Weather(pydantic.BaseModel):
            city: Literal["Ur", "Tyre"]

        async def go():
            client = openai.AsyncOpenAI(base_url=base, api_key="none", max_retries=0)
            agent = Agent(name="A", instructions="Speak.", model=OpenAIResponsesModel("demo", client), output_type=Weather,
                          model_settings=ModelSettings(max_tokens=300))
            session = OpenAIConversationsSession(openai_client=client)  # the client adds items
            for _ in range(2):
                await Runner.run(agent, "And it came", session=session)
            self.assertEqual([item["role"] for item in await session.get_items()], ["user", "assistant"] * 2)
            self.assertEqual([item["role"] for item in await session.get_items(limit=1)], ["assistant"])
            self.assertEqual((await session.pop_item())["role"], "assistant")
            self.assertEqual(len(await session.get_items()), 3)
            await session.clear_session()
            conversation = await client.conversations.create()  # the server adds them
            first = await Runner.run(agent, "And it came", conversation_id=conversation.id)
            result = Runner.run_streamed(agent, "And then", conversation_id=conversation.id)
            async for _ in result.stream_events():
                pass
            listed = await client.conversations.items.list(conversation.id, order="asc")
            self.assertEqual([item.role for item in listed.data], ["user", "assistant"] * 2)
            again = await Runner.run(agent, "And then", previous_response_id=first.last_response_id)
            self.assertIn(again.final_output.city, CITIES)
        asyncio.run(go())


@unittest.skipUnless(has("llama_index.llms.openai_like"), "llama_index is not installed")
class LlamaIndex(unittest.TestCase):
    def test_chat_and_a_tool(self):
        from llama_index.core.llms import ChatMessage
        from llama_index.core.tools import FunctionTool
        from llama_index.llms.openai_like import OpenAILike

        def make(**given):
            return OpenAILike(model="demo", api_base=base, api_key="none", is_chat_model=True, is_function_calling_model=True,
                              max_retries=0, context_window=4096, **given)
        short = make(max_tokens=16, temperature=0.0)
        whole = short.chat([ChatMessage(role="user", content="And")]).message.content
        pieces = [piece.delta or "" for piece in short.stream_chat([ChatMessage(role="user", content="And")])]
        self.assertEqual("".join(pieces), whole)

        def look(city: Literal["Ur", "Tyre"]) -> str:
            """Looks."""
            return "clear over " + city
        answer = make(max_tokens=300).predict_and_call([FunctionTool.from_defaults(look)], user_msg="And it came", tool_required=True)
        self.assertIn("clear over", str(answer))


@unittest.skipUnless(has("huggingface_hub"), "huggingface_hub is not installed")
class HuggingFace(unittest.TestCase):
    def test_chat_and_a_tool(self):
        from huggingface_hub import InferenceClient
        client = InferenceClient(base_url=base, api_key="none")
        whole = client.chat_completion([USER], max_tokens=16, temperature=0.0).choices[0].message.content
        pieces = client.chat_completion([USER], max_tokens=16, temperature=0.0, stream=True)
        self.assertEqual("".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices), whole)
        asked = client.chat_completion([USER], max_tokens=300, tools=[LOOK], tool_choice={"function": {"name": "look"}})
        self.assertIn(json.loads(asked.choices[0].message.tool_calls[0].function.arguments)["city"], CITIES)


@unittest.skipUnless(has("interpreter", "litellm"), "open-interpreter is not installed")
class OpenInterpreter(unittest.TestCase):
    def test_code_is_run(self):
        """A grammar scripts what the model answers: code, and after its output a text."""
        import litellm
        from interpreter import OpenInterpreter as Interpreter
        interpreter = Interpreter(offline=True, disable_telemetry=True, auto_run=True)
        interpreter.llm.model, interpreter.llm.api_base, interpreter.llm.api_key = "openai/demo", base, "none"
        interpreter.llm.context_window, interpreter.llm.max_tokens, interpreter.llm.supports_functions = 4096, 100, False
        asked = []

        def complete(**given):
            asked.append(given["messages"])
            text = "```shell\\necho four$((1+1))\\n```" if len(asked) == 1 else "It is done."
            yield from litellm.completion(**given, extra_body={"grammar": f'root ::= "{text}"'})
        interpreter.llm.completions = complete
        messages = interpreter.chat("Say it", display=False)
        self.assertEqual(len(asked), 2)
        self.assertIn("four2", json.dumps(asked[1]))
        self.assertEqual(messages[-1]["content"], "It is done.")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
