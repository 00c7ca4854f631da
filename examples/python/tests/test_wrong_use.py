# SPDX-License-Identifier: Apache-2.0
"""Wrong use of every kind: an exception with a sentence, nothing half-done, never a crash."""

import gc
import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest

import skald
from conftest import GOLDEN

CHATS = 10_000


def test_arrays_outlive_everything():
    def make():
        model = skald.load_model(GOLDEN / "llama")
        workspace = skald.Workspace(threads=1)
        cache = skald.KVCache(model)
        return model.forward(cache, [1, 2, 3], workspace), workspace, model, cache

    logits, workspace, model, cache = make()
    expected = logits.copy()
    for _ in range(3):
        model.forward(cache, [4], workspace)  # does not write to the array
    assert np.array_equal(logits, expected)
    del workspace, model, cache
    gc.collect()
    assert np.array_equal(logits, expected)


def test_outputs_reuse_memory_that_nothing_shows(tiny, workspace):
    cache = skald.KVCache(tiny)
    places = set()
    for _ in range(10):
        logits = tiny.forward(cache, [1], workspace)
        places.add(logits.ctypes.data)
        del logits
    assert len(places) == 1


def test_arrays_are_read_only_unless_asked(tiny, workspace):
    logits = tiny.forward(skald.KVCache(tiny), [1], workspace)
    with pytest.raises(ValueError, match="read-only"):
        logits[0] = 1
    logits = tiny.forward(skald.KVCache(tiny), [1], workspace, writable=True)
    logits[0] = 1


@pytest.mark.parametrize("tokens", ["abc", [1.5], [None], [[1]], np.zeros(2), np.zeros((2, 2), int), None, 7, object()])
def test_tokens_of_wrong_types(tiny, workspace, tokens):
    cache = skald.KVCache(tiny)
    with pytest.raises(TypeError):
        tiny.forward(cache, tokens, workspace)
    assert len(cache) == 0


@pytest.mark.parametrize("tokens", [[-1], [10**6], [2**40], np.array([2**40]), [1, 2, -2**31]])
def test_ids_out_of_range(tiny, workspace, tokens):
    cache = skald.KVCache(tiny)
    with pytest.raises(skald.Error) as raised:
        tiny.forward(cache, tokens, workspace)
    assert raised.value.code == skald.ErrorCode.INVALID_ARGUMENT
    assert len(cache) == 0


@pytest.mark.parametrize("logits", [np.zeros(8), np.zeros((2, 2), np.float32), [0.0], np.zeros(16, np.float32)[::2], "x"])
def test_logits_of_wrong_types(logits):
    with pytest.raises(TypeError):
        skald.sample(logits, skald.SamplerSettings(), 0)


def test_settings_that_cannot_be():
    with pytest.raises(skald.Error, match="temperature"):
        skald.sample(np.zeros(4, np.float32), skald.SamplerSettings(temperature=-1), 0)
    with pytest.raises(skald.Error):
        skald.sample(np.full(4, np.nan, np.float32), skald.SamplerSettings(), 0)
    with pytest.raises(skald.Error):
        skald.score(np.zeros(4, np.float32), 4)


def test_files_that_are_none(tmp_path):
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    for path in (tmp_path / "no-such", tmp_path / "x.gguf", tmp_path):
        with pytest.raises(skald.Error) as raised:
            skald.open_model(path)
        assert str(tmp_path) in str(raised.value)


def test_caches_of_other_models(tiny, model, workspace):
    with pytest.raises(skald.Error) as raised:
        tiny.forward(skald.KVCache(model), [1], workspace)
    assert raised.value.code == skald.ErrorCode.INVALID_ARGUMENT
    cache = skald.KVCache(tiny)
    with pytest.raises(skald.Error):
        tiny.forward(skald.Batch().add(cache, [1]).add(cache, [2]), workspace)
    assert len(cache) == 0


def test_threads_that_share_a_workspace_or_a_cache(model):
    workspace, cache = skald.Workspace(threads=1), skald.KVCache(model)
    errors, done = [], threading.Event()

    def compute():
        while not done.is_set():
            try:
                model.forward(skald.KVCache(model), [1] * 64, workspace)
                len(cache.fork())
                model.forward(cache, [1], skald.Workspace(threads=1))
                cache.truncate(0)
            except skald.Error as error:
                errors.append(error)

    threads = [threading.Thread(target=compute) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    deadline = time.monotonic() + 60
    while not errors and time.monotonic() < deadline:
        time.sleep(0.01)
    done.set()
    for thread in threads:
        thread.join()
    assert errors and all("in use by another thread" in str(error) for error in errors)
    model.forward(cache, [1], workspace)


def test_threads_with_workspaces_of_their_own_compute_at_once(model):
    expected = model.forward(skald.KVCache(model), [1, 2, 3], skald.Workspace(threads=1)).copy()
    results = []

    def compute():
        workspace = skald.Workspace(threads=1)
        for _ in range(20):
            results.append(np.array_equal(model.forward(skald.KVCache(model), [1, 2, 3], workspace), expected))

    threads = [threading.Thread(target=compute) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80 and all(results)


def test_keyboard_interrupt_ends_an_answer(opened):
    talk = skald.Conversation(opened, seed=1, max_tokens=4000, threads=1)
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        for _ in range(200):
            talk.say("And the king said")
    timer.join()
    talk.set_max_tokens(3)
    assert len(talk.say("And").tokens) == 3


def test_exceptions_in_sinks(opened):
    talk = skald.Conversation(opened, seed=1, max_tokens=10)

    def fail(piece):
        raise LookupError(piece)

    with pytest.raises(LookupError):
        talk.say("And the king said", fail)
    assert talk.turns == 0 and talk.messages == []
    pieces = []
    reply = talk.say("And the king said", lambda piece: pieces.append(piece) or len(pieces) < 3)
    assert reply.end == skald.AnswerEnd.STOPPED and len(pieces) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here")
def test_fork_of_the_interpreter(model):
    workspace, cache = skald.Workspace(threads=2), skald.KVCache(model)
    model.forward(cache, [1, 2], workspace)
    expected = model.forward(cache.fork(), [3], workspace).tobytes()
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe()

    def child():
        writer.send_bytes(model.forward(cache, [3], workspace).tobytes())

    process = context.Process(target=child)
    process.start()
    assert reader.poll(60) and reader.recv_bytes() == expected
    process.join()
    assert process.exitcode == 0


def rss():
    """Bytes of this process in memory."""
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("needs /proc")
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_ten_thousand_conversations_leak_nothing(opened):
    """Whole chats; of some a fork that goes on, a turn taken back, and one that is written down."""
    identity, runtime = opened.identity(), skald.RuntimeConfig(max_tokens=64)

    def talk(count):
        for i in range(count):
            chat = skald.Conversation(opened, seed=i, max_tokens=1, runtime=runtime, threads=1)
            chat.say("A", lambda piece: True)
            if i % 4 == 0:
                other = chat.fork()
                other.say("B")
                chat.take_back()
            if i % 16 == 0:
                other.resume(identity, other.save(identity))

    talk(CHATS // 10)
    before = rss()
    talk(CHATS)
    assert rss() - before < 8 << 20


def test_caches_and_forks_leak_nothing(tiny, workspace):
    pool = skald.BlockPool(tiny)

    def converse(count):
        for i in range(count):
            cache = skald.KVCache(pool)
            logits = tiny.forward(cache, [1, 2, i % 50], workspace)
            fork = cache.fork()
            tiny.forward(fork, [skald.sample(logits, skald.SamplerSettings(seed=i), 3).id], workspace)

    converse(1000)
    before = rss()
    converse(10_000)
    assert pool.usage.used_bytes == 0
    assert rss() - before < 8 << 20
