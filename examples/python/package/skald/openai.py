# SPDX-License-Identifier: Apache-2.0
"""For programs that come from elsewhere: llama-cpp-python's `Llama` and vLLM's `LLM`, as far as people use them.

A setting that would change a result, and that there is no equal of, is refused by name.
"""

from __future__ import annotations

import itertools
import json
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import skald

_FINISH = {skald.FinishReason.MAX_TOKENS: "length"}


def _finish_of(event: skald.Event) -> str:
    return "stop" if event.finish is None else _FINISH.get(event.finish, "stop")


@dataclass
class _Answer:
    """One sample of an answer, gathered."""

    text: str = ""
    tokens: list[skald.SampledToken] = field(default_factory=list)
    finish: str = "stop"
    stop_string: int | None = None
    usage: skald.Usage | None = None


def _gather(answer: skald.Answer, samples: int) -> list[_Answer]:
    gathered = [_Answer() for _ in range(samples)]
    for event in answer:
        if event.error is not None:
            raise event.error
        one = gathered[event.sample]
        one.text += event.text
        one.tokens += event.tokens
        if event.finish is not None:
            one.finish, one.stop_string, one.usage = _finish_of(event), event.stop_string, event.usage
    return gathered


class Llama:
    """llama-cpp-python's class: `model_path` is what `skald.open_model` takes."""

    def __init__(self, model_path: str, *, n_ctx: int = 0, n_threads: int | None = None, seed: int | None = None,
                 chat_format: str | None = None, **ignored: Any) -> None:
        for name in ("lora_path", "draft_model", "logits_all"):
            if ignored.get(name):
                raise ValueError(f"Llama({name}=...): see the page about programs from elsewhere for what it becomes")
        self.opened = skald.open_model(model_path, chat_template=chat_format)
        self._path, self._threads = model_path, n_threads
        self._encoder: skald.Encoder | None = None
        self._runtime = skald.RuntimeConfig(max_tokens=n_ctx or min(self.opened.trained_context or 4096, 32768))
        self._engine = skald.Engine(self.opened, threads=n_threads, pool=skald.BlockPool(self.opened.model, self._runtime))
        self._seed, self._calls = seed, itertools.count()
        self._vocabulary: skald.TokenVocabulary | None = None

    def n_ctx(self) -> int:
        return self._runtime.max_tokens

    def n_vocab(self) -> int:
        return self.opened.model.vocab_size

    def token_bos(self) -> int:
        return -1 if (id := self.opened.tokenizer.bos_id) is None else id

    def token_eos(self) -> int:
        return -1 if (id := self.opened.tokenizer.eos_id) is None else id

    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = False) -> list[int]:
        return self.opened.tokenizer.encode(text.decode(errors="replace"), parse_special=special, add_special=add_bos)

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        return self.opened.tokenizer.decode(tokens).encode()

    def create_embedding(self, input: str | list[str]) -> dict[str, Any]:
        """Embeds texts as OpenAI's API does, as the model's files say."""
        if self._encoder is None:
            self._encoder = skald.open_encoder(self._path)
        rows = self._encoder.embed([input] if isinstance(input, str) else input, skald.Workspace(self._threads))
        return {"object": "list", "model": self.opened.name,
                "data": [{"object": "embedding", "index": i, "embedding": row.tolist()} for i, row in enumerate(rows)]}

    def close(self) -> None:
        self._engine.stop(skald.StopMode.CANCEL)

    def create_chat_completion(self, messages: list[dict[str, Any]], *, tools: list[dict[str, Any]] | None = None,
                               tool_choice: Any = None, response_format: dict[str, Any] | None = None,
                               stream: bool = False, max_tokens: int | None = None, **settings: Any) -> Any:
        """Answers a chat as OpenAI's API does; with `stream`, yields chunks."""
        shown = None if tool_choice == "none" else tools
        prompt = self.opened.encode_chat(messages, tools=shown)
        request = self._request(prompt, max_tokens, self._filter_of(response_format), settings, chat=True)
        answer = self._engine.submit(request)
        head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": self.opened.name}
        if stream:
            return self._chat_chunks(answer, head)
        (one,) = _gather(answer, 1)
        parts = self.opened.parse_answer(one.text, prompt, shown)
        message: dict[str, Any] = {"role": "assistant", "content": parts["content"] or None if parts["tool_calls"] else parts["content"]}
        if parts["reasoning_content"]:
            message["reasoning_content"] = parts["reasoning_content"]
        if parts["tool_calls"]:
            message["tool_calls"] = [{"id": f"call_{uuid.uuid4().hex}", "type": "function", "function": call}
                                     for call in parts["tool_calls"]]
        finish = "tool_calls" if parts["tool_calls"] else one.finish
        return head | {"object": "chat.completion", "usage": _usage(one),
                       "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}]}

    def create_completion(self, prompt: str | list[int], *, stream: bool = False, max_tokens: int | None = 16,
                          echo: bool = False, **settings: Any) -> Any:
        """Goes on with a text as OpenAI's older API does; with `stream`, yields chunks."""
        ids = self.opened.tokenizer.encode(prompt, add_special=True) if isinstance(prompt, str) else list(prompt)
        answer = self._engine.submit(self._request(ids, max_tokens, None, settings, chat=False))
        head = {"id": f"cmpl-{uuid.uuid4().hex}", "object": "text_completion", "created": int(time.time()), "model": self.opened.name}
        if stream:
            return (head | {"choices": [{"index": 0, "text": event.text, "logprobs": None,
                                         "finish_reason": None if event.finish is None else _finish_of(event)}]}
                    for event in _checked(answer))
        (one,) = _gather(answer, 1)
        text = (self.opened.tokenizer.decode(ids) if echo else "") + one.text
        return head | {"usage": _usage(one), "choices": [{"index": 0, "text": text, "logprobs": None, "finish_reason": one.finish}]}

    __call__ = create_completion

    def _chat_chunks(self, answer: skald.Answer, head: dict[str, Any]) -> Iterator[dict[str, Any]]:
        head = head | {"object": "chat.completion.chunk"}
        yield head | {"choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}]}
        for event in _checked(answer):
            if event.text:
                yield head | {"choices": [{"index": 0, "delta": {"content": event.text}, "finish_reason": None}]}
            if event.finish is not None:
                yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": _finish_of(event)}]}

    def _filter_of(self, response_format: dict[str, Any] | None) -> skald.TokenFilter | None:
        kind = (response_format or {"type": "text"})["type"]
        if kind == "text":
            return None
        self._vocabulary = self._vocabulary or skald.TokenVocabulary(self.opened.tokenizer, self.opened.stop_ids)
        schema = (response_format or {}).get("schema") or (response_format or {}).get("json_schema", {}).get("schema")
        if schema is None:
            return skald.TokenFilter.json_object(self._vocabulary)
        return skald.TokenFilter.json_schema(json.dumps(schema), self._vocabulary)

    def _request(self, prompt: list[int], max_tokens: int | None, held: skald.TokenFilter | None, settings: dict[str, Any],
                 chat: bool) -> skald.Request:
        seed = settings.pop("seed", None)
        if seed is None:
            seed = uuid.uuid4().int & (2**64 - 1) if self._seed is None else self._seed
        stop = settings.pop("stop", None) or []
        sampler = skald.SamplerSettings(
            temperature=settings.pop("temperature", 0.2 if chat else 0.8), top_p=settings.pop("top_p", 0.95),
            top_k=settings.pop("top_k", 40), min_p=settings.pop("min_p", 0.05), seed=seed, stream=next(self._calls),
            presence_penalty=settings.pop("presence_penalty", 0.0) or 0.0,
            frequency_penalty=settings.pop("frequency_penalty", 0.0) or 0.0,
            repetition_penalty=settings.pop("repeat_penalty", 1.0),
            logit_bias={int(id): bias for id, bias in (settings.pop("logit_bias", None) or {}).items()})
        if unknown := [name for name, value in settings.items() if value is not None]:
            raise ValueError(f"{', '.join(unknown)}: there is no such setting here")
        return skald.Request(prompt, sampler=sampler, filter=held, end_tokens=self.opened.stop_ids,
                             max_tokens=None if max_tokens is None or max_tokens <= 0 else max_tokens,
                             stop_strings=[stop] if isinstance(stop, str) else list(stop),
                             special_text=chat and self.opened.needs_special_text)


def _checked(answer: skald.Answer) -> Iterator[skald.Event]:
    for event in answer:
        if event.error is not None:
            raise event.error
        yield event


def _usage(answer: _Answer) -> dict[str, int]:
    prompt = answer.usage.prompt_tokens if answer.usage is not None else 0
    drawn = answer.usage.generated_tokens if answer.usage is not None else 0
    return {"prompt_tokens": prompt, "completion_tokens": drawn, "total_tokens": prompt + drawn}


@dataclass
class SamplingParams:
    """vLLM's settings of an answer."""

    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool = False
    max_tokens: int | None = 16
    logprobs: int | None = None
    logit_bias: dict[int, float] | None = None


@dataclass
class CompletionOutput:
    """One answer to a prompt."""

    index: int
    text: str
    token_ids: list[int]
    cumulative_logprob: float | None
    logprobs: list[dict[int, float]] | None
    finish_reason: str
    stop_reason: str | None


@dataclass
class RequestOutput:
    """A prompt and its answers."""

    prompt: str | None
    prompt_token_ids: list[int]
    outputs: list[CompletionOutput]
    finished: bool = True


class LLM:
    """vLLM's class: `model` is what `skald.open_model` takes."""

    def __init__(self, model: str, *, max_model_len: int | None = None, max_num_seqs: int = 64, seed: int = 0,
                 threads: int | None = None) -> None:
        self.opened, self._path, self._threads = skald.open_model(model), model, threads
        self._runtime = skald.RuntimeConfig(max_tokens=max_model_len or min(self.opened.trained_context or 4096, 32768))
        pool = skald.BlockPool(self.opened.model, self._runtime)
        self._engine = skald.Engine(self.opened, pool=pool, threads=threads, max_running=max_num_seqs)
        self._seed, self._calls = seed, itertools.count()

    def get_tokenizer(self) -> skald.Tokenizer:
        return self.opened.tokenizer

    def generate(self, prompts: str | Sequence[str | dict[str, Any]],
                 sampling_params: SamplingParams | Sequence[SamplingParams] | None = None) -> list[RequestOutput]:
        """Answers all prompts, which the engine computes together; each gets what it would get alone."""
        texts = [prompts] if isinstance(prompts, (str, dict)) else list(prompts)
        ids = [self._ids(text) for text in texts]
        return self._answer([text if isinstance(text, str) else text.get("prompt") for text in texts], ids, sampling_params)

    def chat(self, messages: list[Any], sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
             *, tools: list[dict[str, Any]] | None = None) -> list[RequestOutput]:
        """Answers one chat, or each of a list of chats."""
        chats = [messages] if messages and isinstance(messages[0], dict) else messages
        ids = [self.opened.encode_chat(chat, tools=tools) for chat in chats]
        return self._answer([None] * len(ids), ids, sampling_params)

    def embed(self, prompts: str | Sequence[str]) -> list[list[float]]:
        """Embeds texts, as the model's files say; vLLM wraps each list in `.outputs.embedding`."""
        encoder = skald.open_encoder(self._path)
        rows = encoder.embed([prompts] if isinstance(prompts, str) else list(prompts), skald.Workspace(self._threads))
        return [row.tolist() for row in rows]

    def _ids(self, prompt: str | dict[str, Any]) -> list[int]:
        if isinstance(prompt, dict) and "prompt_token_ids" in prompt:
            return list(prompt["prompt_token_ids"])
        text = prompt if isinstance(prompt, str) else prompt["prompt"]
        return self.opened.tokenizer.encode(text, parse_special=True, add_special=True)

    def _answer(self, prompts: Sequence[str | None], ids: list[list[int]],
                params: SamplingParams | Sequence[SamplingParams] | None) -> list[RequestOutput]:
        each = [params or SamplingParams()] * len(ids) if params is None or isinstance(params, SamplingParams) else list(params)
        if len(each) != len(ids):
            raise ValueError(f"{len(ids)} prompts and {len(each)} SamplingParams")
        answers = [self._engine.submit(self._request(prompt, one)) for prompt, one in zip(ids, each)]
        return [RequestOutput(prompt, list(tokens), [self._output(i, one, settings) for i, one in enumerate(_gather(answer, settings.n))])
                for prompt, tokens, settings, answer in zip(prompts, ids, each, answers)]

    def _request(self, prompt: list[int], params: SamplingParams) -> skald.Request:
        sampler = skald.SamplerSettings(
            temperature=params.temperature, top_p=params.top_p, top_k=max(params.top_k, 0), min_p=params.min_p,
            presence_penalty=params.presence_penalty, frequency_penalty=params.frequency_penalty,
            repetition_penalty=params.repetition_penalty, logit_bias=params.logit_bias or {}, num_logprobs=params.logprobs,
            seed=self._seed if params.seed is None else params.seed,
            stream=0 if params.seed is not None else next(self._calls) << 32)
        ends = [] if params.ignore_eos else list(self.opened.stop_ids)
        return skald.Request(prompt, sampler=sampler, samples=params.n, max_tokens=params.max_tokens,
                             end_tokens=ends + (params.stop_token_ids or []),
                             stop_strings=[params.stop] if isinstance(params.stop, str) else list(params.stop or []))

    @staticmethod
    def _output(index: int, answer: _Answer, params: SamplingParams) -> CompletionOutput:
        stop = [params.stop] if isinstance(params.stop, str) else list(params.stop or [])
        logprobs = None
        if params.logprobs is not None:
            logprobs = [{one.id: one.logprob for one in token.top_logprobs} | {token.id: token.logprob or 0.0} for token in answer.tokens]
        return CompletionOutput(
            index=index, text=answer.text, token_ids=[token.id for token in answer.tokens], logprobs=logprobs,
            cumulative_logprob=None if logprobs is None else sum(token.logprob or 0.0 for token in answer.tokens),
            finish_reason=answer.finish, stop_reason=None if answer.stop_string is None else stop[answer.stop_string])
