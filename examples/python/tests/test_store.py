# SPDX-License-Identifier: Apache-2.0
"""Saved state: bytes, folders, Redis, prompt caches. A loaded conversation goes on with the same bits."""

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import skald
from conftest import GOLDEN, ROOT

sys.path.insert(0, str(ROOT / "tests/support"))
from running_redis import RunningRedis  # noqa: E402

LAWS = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="session")
def identity():
    return skald.identity_of_weights(GOLDEN / "llama", weight_type=skald.DType.F32)


@LAWS
@given(st.lists(st.integers(0, 90), min_size=1, max_size=40), st.integers(0, 90))
def test_saved_conversations_go_on(tiny, workspace, identity, tokens, following):
    cache = skald.KVCache(tiny)
    tiny.forward(cache, tokens, workspace)
    loaded = skald.KVCache.load(skald.BlockPool(tiny), identity, cache.save(identity))
    assert loaded.tokens.tolist() == tokens
    assert np.array_equal(tiny.forward(loaded, [following], workspace), tiny.forward(cache, [following], workspace).copy())


def test_state_of_others_is_refused(tiny, workspace, identity):
    cache = skald.KVCache(tiny)
    tiny.forward(cache, [1, 2], workspace)
    data = cache.save(identity)
    other = skald.identity_of_weights(GOLDEN / "llama", weight_type=skald.DType.F32, salt="another tenant")
    pool = skald.BlockPool(tiny)
    for wrong, bytes_ in ((other, data), (identity, data[:-3]), (identity, b""), (identity, data[:20] + b"x" + data[21:])):
        with pytest.raises(skald.Error):
            skald.KVCache.load(pool, wrong, bytes_)
    assert pool.usage.used_bytes == 0
    with pytest.raises(TypeError):
        skald.KVCache.load(pool, identity, "text")


def keeps_and_finds(store, tiny, workspace, identity):
    cache = skald.KVCache(tiny)
    tiny.forward(cache, list(range(80)), workspace)
    key = cache.save(identity, store)
    assert store.has(key) and key in store.keys()
    loaded = skald.KVCache.load(skald.BlockPool(tiny), identity, store, key)
    assert loaded.tokens.tolist() == list(range(80))
    store.drop(key)
    with pytest.raises(skald.Error) as raised:
        skald.KVCache.load(skald.BlockPool(tiny), identity, store, key)
    assert raised.value.code == skald.ErrorCode.NOT_FOUND


def test_stores(tmp_path, tiny, workspace, identity):
    keeps_and_finds(skald.MemoryStore(1 << 24), tiny, workspace, identity)
    keeps_and_finds(skald.DirectoryStore(tmp_path / "states"), tiny, workspace, identity)
    with pytest.raises(skald.Error):
        skald.MemoryStore(1 << 24).has("no key")


def test_redis(tiny, workspace, identity):
    if not RunningRedis.is_installed or not hasattr(skald, "RedisStore"):
        pytest.skip("needs redis-server, and a build with hiredis")
    with RunningRedis() as server:
        store = skald.RedisStore(f"redis://127.0.0.1:{server.port}")
        keeps_and_finds(store, tiny, workspace, identity)


def test_conversations_move(opened):
    identity = opened.identity()
    talk = skald.Conversation(opened, seed=3, max_tokens=12)
    talk.say("And the king said")
    later = skald.Conversation(opened, max_tokens=12)
    later.resume(identity, talk.save(identity))
    store = skald.MemoryStore(1 << 26)
    third = skald.Conversation(opened, max_tokens=12)
    third.resume(identity, store, talk.save(identity, store))
    answers = {str(one.say("Again")) for one in (talk, later, third)}
    assert len(answers) == 1
    fork = talk.fork()
    assert fork.messages == talk.messages
    fork.take_back()
    assert fork.turns == 1 and talk.turns == 2


def test_prompt_cache(tiny, workspace, identity):
    pool = skald.BlockPool(tiny, skald.RuntimeConfig(block_tokens=32))
    prompts = skald.PromptCache(pool, identity)
    cache = skald.KVCache(pool)
    logits = tiny.forward(cache, list(range(70)), workspace)
    prompts.insert(cache, logits)
    known = prompts.lookup(list(range(70)))
    assert known.matched == 70 and np.array_equal(known.logits, logits)
    known = prompts.lookup(list(range(50)) + [1])
    assert known.matched == 50 and len(known.cache) == 50 and known.logits is None
    expected = tiny.forward(skald.KVCache(tiny), list(range(50)) + [1], skald.Workspace(threads=1))
    assert np.array_equal(tiny.forward(known.cache, [1], workspace), expected)
    assert prompts.lookup([9]).matched == 0 and prompts.stats.lookups == 3
    assert prompts.lookup(list(range(70)), salt="another tenant").matched == 0
    with pytest.raises(skald.Error):
        prompts.insert(skald.KVCache(tiny))
