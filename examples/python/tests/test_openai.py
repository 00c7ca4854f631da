# SPDX-License-Identifier: Apache-2.0
"""Programs of llama-cpp-python and of vLLM, as they are written."""

import json

import pytest

from conftest import ROOT
from skald.openai import LLM, Llama, SamplingParams

MODEL = str(ROOT / "examples/demo_model")


def test_llama():
    llm = Llama(MODEL, n_ctx=512, n_threads=1, seed=1)
    out = llm("And God said", max_tokens=8, stop=["\n"], echo=True)
    assert out["choices"][0]["text"].startswith("And God said") and out["usage"]["completion_tokens"] == 8
    assert llm.detokenize(llm.tokenize(b"And God said", add_bos=False)) == b"And God said"
    chat = llm.create_chat_completion([{"role": "user", "content": "And the king said"}], max_tokens=8, temperature=0)
    assert chat["choices"][0]["message"]["role"] == "assistant" and chat["choices"][0]["finish_reason"] == "length"
    chunks = list(llm.create_chat_completion([{"role": "user", "content": "And the king said"}], max_tokens=8, temperature=0, stream=True))
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert text == chat["choices"][0]["message"]["content"]
    schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"], "additionalProperties": False}
    held = llm.create_chat_completion([{"role": "user", "content": "A number:"}], max_tokens=400,
                                      response_format={"type": "json_object", "schema": schema})
    assert set(json.loads(held["choices"][0]["message"]["content"])) == {"n"}
    with pytest.raises(ValueError, match="mirostat"):
        llm("x", mirostat_mode=2)
    llm.close()


def test_llm():
    llm = LLM(MODEL, max_model_len=512, threads=1)
    params = SamplingParams(temperature=0.8, max_tokens=6, n=2, logprobs=1, seed=3)
    one, two = llm.generate(["And God said", {"prompt_token_ids": [2, 40, 41]}], params)
    assert one.prompt == "And God said" and len(one.outputs) == 2 and two.prompt is None
    assert all(len(output.token_ids) == 6 and output.finish_reason == "length" for output in one.outputs)
    assert one.outputs[0].cumulative_logprob < 0 and len(one.outputs[0].logprobs) == 6
    again = llm.generate("And God said", params)[0]
    assert [output.text for output in again.outputs] == [output.text for output in one.outputs]
    stopped = llm.generate("And God said", SamplingParams(temperature=0, max_tokens=40, stop=[","]))[0].outputs[0]
    assert stopped.finish_reason == "stop" and stopped.stop_reason == ","
    assert llm.chat([{"role": "user", "content": "Hello"}], SamplingParams(max_tokens=3))[0].outputs[0].token_ids
