# SPDX-License-Identifier: Apache-2.0
"""Many threads on shared objects, also without a GIL: each gets what it gets alone."""

import sys
import threading

import numpy as np

import skald
from conftest import GOLDEN

THREADS = 4


def in_threads(function):
    """Calls function(number) in several threads at once; raises what one of them raised."""
    errors, start = [], threading.Barrier(THREADS)

    def run(number):
        try:
            start.wait()
            function(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_the_gil_stays_as_it_was():
    if hasattr(sys, "_is_gil_enabled") and "free-threading" in sys.version:
        assert not sys._is_gil_enabled()


def test_shared_models_tokenizers_and_encoders(opened):
    text = "In the beginning God created the heaven"
    ids = opened.tokenizer.encode(text, add_special=True)
    expected = opened.model.forward(skald.KVCache(opened.model), ids, skald.Workspace(threads=1)).copy()
    encoder = skald.open_encoder(GOLDEN / "encoders/bert", weight_type=skald.DType.F32, has_text=False)
    rows = encoder.model.encode([[1, 2, 3]], skald.Workspace(threads=1))[0].copy()

    def work(number):
        workspace, seen = skald.Workspace(threads=1), []
        for _ in range(10):
            assert opened.tokenizer.encode(text, add_special=True) == ids
            hooks = [("stream.0", lambda rows: seen.append(rows.values.copy()))]
            logits = opened.model.forward(skald.KVCache(opened.model), ids, workspace, hooks=hooks)
            assert np.array_equal(logits, expected)
            assert np.array_equal(encoder.model.encode([[1, 2, 3]], workspace)[0], rows)
            assert len(opened.model.places()) > 10
        assert len(seen) == 10

    in_threads(work)


def test_shared_pools_stores_and_prompts(tiny):
    pool, store = skald.BlockPool(tiny), skald.MemoryStore(1 << 24)
    identity = skald.identity_of_weights(GOLDEN / "llama", weight_type=skald.DType.F32)
    prompts = skald.PromptCache(pool, identity)

    def work(number):
        workspace = skald.Workspace(threads=1)
        for i in range(20):
            tokens = [number, *range(40 + i)]
            cache = prompts.lookup(tokens[:-1]).cache
            logits = tiny.forward(cache, tokens[len(cache) :], workspace)
            prompts.insert(cache, logits)
            loaded = skald.KVCache.load(pool, identity, store, cache.save(identity, store))
            assert loaded.tokens.tolist() == tokens
            alone = tiny.forward(skald.KVCache(tiny), tokens, workspace)
            assert np.array_equal(logits, alone)

    in_threads(work)


def test_a_shared_batch_and_vector(tiny):
    batch, vector = skald.Batch(), skald.ControlVector([[1.0] * tiny.model_dim])
    one = skald.ControlVector([[1.0] * tiny.model_dim])

    def work(number):
        for _ in range(100):
            batch.add(skald.KVCache(tiny), [number])
            vector.add(one)

    in_threads(work)
    assert len(batch) == 100 * THREADS and vector.directions[0][0] == 1 + 100 * THREADS


def test_a_shared_engine(opened):
    def ask(number):
        return skald.Request(opened.tokenizer.encode("Woe", add_special=True), max_tokens=8,
                             sampler=skald.SamplerSettings(temperature=0.8, seed=number))

    with skald.Engine(opened, threads=1) as engine:
        expected = [engine.submit(ask(number)).text() for number in range(THREADS)]

        def work(number):
            for _ in range(5):
                assert engine.submit(ask(number)).text() == expected[number]

        in_threads(work)
