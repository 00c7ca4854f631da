# SPDX-License-Identifier: Apache-2.0
"""Engines: each request gets what it gets alone, with parts written in Python."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import skald
from conftest import GOLDEN, ROOT


@pytest.fixture
def engine(opened):
    with skald.Engine(opened, threads=1, pool=skald.BlockPool(opened.model, skald.RuntimeConfig(max_tokens=512))) as one:
        yield one


def ask(opened, text, **settings):
    settings.setdefault("sampler", skald.SamplerSettings(temperature=0.7, seed=1))
    settings.setdefault("max_tokens", 12)
    return skald.Request(opened.tokenizer.encode(text, add_special=True), **settings)


def test_answers_are_those_alone(opened, engine):
    texts = ["And God said", "The king of Babylon", "Woe"]
    alone = [engine.submit(ask(opened, text)).text() for text in texts]
    together = [engine.submit(ask(opened, text)) for text in texts]
    assert [answer.text() for answer in together] == alone
    assert engine.stats.generated_tokens > 12 * 3


def test_async_answers(opened, engine):
    async def read(text):
        return "".join([event.text async for event in engine.submit(ask(opened, text))])

    async def both():
        return await asyncio.gather(read("And God said"), read("Woe"))

    assert asyncio.run(both()) == [engine.submit(ask(opened, text)).text() for text in ("And God said", "Woe")]


def test_requests_that_cannot_be(opened, engine):
    with pytest.raises(skald.Error) as raised:
        engine.submit(skald.Request([]))
    assert raised.value.code == skald.ErrorCode.INVALID_ARGUMENT
    with pytest.raises(skald.Error) as raised:
        engine.submit(skald.Request([1] * 9999))
    assert raised.value.facts.available_tokens is not None
    with pytest.raises(TypeError, match="clone"):
        skald.Request([1], filter=object())
    engine.stop()
    with pytest.raises(skald.Error):
        engine.submit(ask(opened, "Late"))


def test_details(opened, engine):
    events = list(engine.submit(ask(opened, "And God said", prompt_logprobs=2, samples=2,
                                    sampler=skald.SamplerSettings(temperature=0.7, seed=1, num_logprobs=1))))
    drawn = [token for event in events for token in event.tokens]
    assert len(drawn) == 24 and all(token.logprob <= 0 and len(token.top_logprobs) == 1 for token in drawn)
    asked = [token for event in events for token in event.prompt_tokens]
    assert len(asked) == len(opened.tokenizer.encode("And God said", add_special=True)) - 1
    assert {event.finish for event in events if event.finish} == {skald.FinishReason.MAX_TOKENS}
    last = list(engine.submit(ask(opened, "And God said", embedding=skald.PromptEmbedding.MEAN)))[-1]
    assert last.embedding.shape == (opened.model.model_dim,)
    stopped = engine.submit(ask(opened, "And God said", max_tokens=400))
    stopped.cancel()
    assert list(stopped)[-1].finish == skald.FinishReason.CANCELLED


def test_own_sampler(opened, engine):
    def greedy(logits, context):
        assert context.tokens.tolist()[: context.prompt_tokens][0] == opened.tokenizer.bos_id
        return int(np.argmax(logits))

    expected = engine.submit(ask(opened, "Woe", sampler=skald.SamplerSettings(temperature=0))).text()
    assert engine.submit(ask(opened, "Woe", own_sampler=greedy)).text() == expected
    ours = engine.submit(ask(opened, "Woe", own_sampler=lambda logits, context: context.sample(logits))).text()
    assert ours == engine.submit(ask(opened, "Woe")).text()


def test_samplers_that_fail(opened, engine):
    def fail(logits, context):
        raise LookupError("no token today")

    with pytest.raises(skald.Error, match="the sampler raised LookupError: no token today"):
        engine.submit(ask(opened, "Woe", own_sampler=fail)).text()
    with pytest.raises(skald.Error):
        engine.submit(ask(opened, "Woe", own_sampler=lambda logits, context: 10**6)).text()
    assert engine.submit(ask(opened, "Woe")).text()


def test_own_drafter_and_policy(opened):
    told = []

    def draft(tasks):
        told.extend(task.tokens.tolist() for task in tasks)
        return [[int(task.tokens[-1])] * min(2, task.most) for task in tasks]

    pool = skald.BlockPool(opened.model, skald.RuntimeConfig(max_tokens=512, rewind_tokens=8))
    with skald.Engine(opened, threads=1) as plain:
        expected = plain.submit(ask(opened, "begat Enoch: And Enoch begat", max_tokens=40)).text()
    for drafter in (draft, skald.PromptLookup(), opened.model, lambda tasks: 1 / 0):
        with skald.Engine(opened, threads=1, pool=pool, drafter=drafter, policy=lambda standing: -standing.tokens) as engine:
            assert engine.submit(ask(opened, "begat Enoch: And Enoch begat", max_tokens=40)).text() == expected
    assert told


def test_policies_that_fail(opened, engine, monkeypatch):
    expected, told = engine.submit(ask(opened, "Woe")).text(), []
    monkeypatch.setattr(sys, "unraisablehook", lambda failure: told.append(failure.exc_type))
    for policy, failure in ((lambda standing: 1 / 0, ZeroDivisionError), (lambda standing: "soon", ValueError)):
        told.clear()
        with skald.Engine(opened, threads=1, policy=policy) as odd:
            assert odd.submit(ask(opened, "Woe")).text() == expected
        assert told and set(told) == {failure}


def test_keyboard_interrupt_ends_a_wait(opened, engine):
    slow = engine.submit(ask(opened, "Woe", max_tokens=400, own_sampler=lambda logits, context: time.sleep(0.05) or 7))
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        slow.text()
    timer.join()
    slow.cancel()
    assert engine.submit(ask(opened, "Woe")).text()


def test_json(opened, engine):
    vocabulary = skald.TokenVocabulary(opened.tokenizer)
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer", "maximum": 969}},
              "required": ["name", "age"], "additionalProperties": False}
    held = skald.TokenFilter.json_schema(schema, vocabulary)
    for _ in range(2):
        answer = json.loads(engine.submit(ask(opened, "These are the names:", filter=held, max_tokens=80)).text())
        assert set(answer) == {"name", "age"}
    yes = skald.TokenFilter.gbnf('root ::= "yes" | "no"', vocabulary)
    assert engine.submit(ask(opened, "Is it?", filter=yes)).text() in ("yes", "no")
    with pytest.raises(skald.Error, match="not"):
        skald.TokenFilter.json_schema({"type": "string", "not": {}}, vocabulary)
    assert not yes.is_complete() and yes.allowed().dtype == np.uint64
    clone = yes.clone()
    with pytest.raises(skald.Error):
        clone.accept(0)


class EvenOnly:
    """A filter of our own: ids that are even."""

    def __init__(self, vocab_size):
        self.mask = np.arange(vocab_size) % 2 == 0

    def clone(self):
        return self

    def allowed(self):
        return self.mask

    def accept(self, token):
        assert token % 2 == 0

    def is_complete(self):
        return True


def test_own_filter(opened, engine):
    events = list(engine.submit(ask(opened, "Woe", filter=EvenOnly(opened.model.vocab_size))))
    ids = [token.id for event in events for token in event.tokens]
    assert ids and all(token % 2 == 0 for token in ids)

    class Broken(EvenOnly):
        def allowed(self):
            return "nothing"

    with pytest.raises(skald.Error, match="allowed"):
        engine.submit(ask(opened, "Woe", filter=Broken(4))).text()


def run(engine):
    text = {}
    while engine.has_work:
        for event in engine.step():
            text[event.request] = text.get(event.request, "") + event.text
            assert event.error is None
    return text


def test_stepping_and_suspending(opened, engine):
    texts = ["And God said", "The king of Babylon", "Woe"]
    expected = [engine.submit(ask(opened, text, max_tokens=30)).text() for text in texts]
    first = skald.StepEngine(opened, threads=1, policy=skald.Policy.SHORTEST_FIRST)
    ids = [first.submit(ask(opened, text, max_tokens=30)) for text in texts]
    assert first.check(ask(opened, "Woe")) is None and first.has_work and first.stats.waiting == 3
    begun = dict.fromkeys(ids, "")
    for _ in range(5):
        for event in first.step():
            begun[event.request] += event.text
    first.pause(ids[0])
    written = first.suspend()
    assert isinstance(written, bytes) and not first.has_work
    second = skald.StepEngine(opened, threads=1)
    assert second.resume(written) == ids
    rest = run(second)
    assert [begun[i] + rest[i] for i in ids] == expected
    with pytest.raises(skald.Error, match="is there already"):
        third = skald.StepEngine(opened, threads=1)
        third.resume(written), third.resume(written)
    with pytest.raises(skald.Error):
        second.resume(b"nothing of the kind")


def test_what_cannot_be_written_down_is_made_again(opened, engine):
    expected = engine.submit(ask(opened, "Woe", filter=EvenOnly(opened.model.vocab_size), max_tokens=20)).text()
    first = skald.StepEngine(opened, threads=1)
    request = ask(opened, "Woe", filter=EvenOnly(opened.model.vocab_size), max_tokens=20, note="even",
                  own_sampler=lambda logits, context: context.sample(logits))
    (number,) = [first.submit(request)]
    text = "".join(event.text for _ in range(3) for event in first.step())
    written, second = first.suspend(), skald.StepEngine(opened, threads=1)
    with pytest.raises(skald.Error, match="make_filter"):
        second.resume(written)
    with pytest.raises(skald.Error, match="make_filter raised ZeroDivisionError"):
        second.resume(written, make_filter=lambda request: 1 / 0)

    def make(request):
        assert request.note == "even" and request.prompt.tolist()[0] == opened.tokenizer.bos_id
        return EvenOnly(opened.model.vocab_size)

    second.resume(written, make_filter=make, make_sampler=lambda request: lambda logits, context: context.sample(logits))
    assert text + run(second)[number] == expected


def test_a_loop_suspends(opened, engine):
    expected = engine.submit(ask(opened, "Woe", max_tokens=60)).text()
    running = skald.Engine(opened, threads=1)
    answer = running.submit(ask(opened, "Woe", max_tokens=60))
    begun = next(iter(answer)).text
    written = running.stop(skald.StopMode.SUSPEND)
    begun += "".join(event.text for event in answer)
    steps = skald.StepEngine(opened, threads=1)
    steps.resume(written)
    assert begun + "".join(run(steps).values()) == expected


def test_parts_that_do_not_fit(opened, tiny):
    for engine in (skald.Engine, skald.StepEngine):
        with pytest.raises(skald.Error, match="Engine: the pool has another layout than the model"):
            engine(opened, threads=1, pool=skald.BlockPool(tiny))
    with pytest.raises(skald.Error):
        opened.draft_head()
    with pytest.raises(skald.Error):
        opened.draft_head(eagle="no such folder")
    with pytest.raises(skald.Error):
        opened.draft_head(assistant="no such folder")
    with pytest.raises(skald.Error, match="both"):
        opened.draft_head(eagle="a", assistant="b")


def test_swapping(opened, engine):
    texts = ["And God said", "The king of Babylon", "Woe"]
    expected = [engine.submit(ask(opened, text, max_tokens=60)).text() for text in texts]
    pool = skald.BlockPool(opened.model, skald.RuntimeConfig(max_tokens=128, cache_bytes=engine.loop.pool.usage.limit_bytes // 4))
    small = skald.StepEngine(opened, threads=1, pool=pool, swap=skald.MemoryStore(1 << 26), identity=opened.identity())
    ids = [small.submit(ask(opened, text, max_tokens=60)) for text in texts]
    given = run(small)
    assert [given[i] for i in ids] == expected


def test_engines_end_in_any_order(opened):
    engine = skald.Engine(opened, threads=1)
    answer = engine.submit(ask(opened, "Woe", max_tokens=300))
    del engine
    assert answer.text()
    answer = skald.Engine(opened, threads=1).submit(ask(opened, "Woe", max_tokens=300))
    del answer  # in the middle of its work


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here")
def test_children_of_fork_have_no_engine(opened):
    engine = skald.Engine(opened, threads=1)
    engine.submit(ask(opened, "Woe")).text()
    child = os.fork()
    if child == 0:
        try:
            engine.submit(ask(opened, "Woe"))
        except skald.Error as error:
            engine = None  # its end waits for no thread
            os._exit(0 if "fork()" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert engine.submit(ask(opened, "Woe")).text()


def test_programs_end_in_the_middle_of_answers():
    program = f"""
import skald
opened = skald.open_model({str(ROOT / "examples/demo_model")!r})
engine = skald.Engine(opened, threads=1)
kept = [engine.submit(skald.Request([2, 3], max_tokens=400, own_sampler=lambda logits, context: context.sample(logits))) for _ in range(3)]
print(len(kept[0]._ticket.next().tokens))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0 and ended.stdout.strip() and not ended.stderr, ended.stderr


def write_tokenizer(path, vocab_size):
    """One token for each byte, and others that no text has."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(byte) for byte in printed] + [chr(256 + i) for i in range(256 - len(printed))]
    letters += [f"unused {i}" for i in range(256, vocab_size)]
    bytes_alone = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    path.write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": bytes_alone, "post_processor": None, "decoder": bytes_alone,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                  "vocab": {letter: i for i, letter in enumerate(letters)}, "merges": []}}))


def test_drafter_of_gemma_4(opened, tmp_path):
    write_tokenizer(tmp_path / "tokenizer.json", 264)
    gemma = skald.open_model(GOLDEN / "gemma4", weight_type=skald.DType.F32, tokenizer=tmp_path)
    head = gemma.draft_head(assistant=GOLDEN / "gemma4/assistant")

    def answer(**settings):
        pool = skald.BlockPool(gemma.model, skald.RuntimeConfig(max_tokens=64, rewind_tokens=8))
        request = skald.Request(list(range(1, 20)), sampler=skald.SamplerSettings(temperature=0), max_tokens=24)
        with skald.Engine(gemma, threads=1, pool=pool, **settings) as engine:
            drawn = [token.id for event in engine.submit(request) for token in event.tokens]
            return drawn, engine.stats.drafted_tokens

    plain, guessed = answer()
    assert len(plain) == 24 and guessed == 0
    drafted, guessed = answer(drafter=head)
    assert drafted == plain and guessed > 0
    with pytest.raises(skald.Error, match="assistant"):
        opened.draft_head(assistant=GOLDEN / "gemma4/assistant")
