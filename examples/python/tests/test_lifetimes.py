# SPDX-License-Identifier: Apache-2.0
"""Random programs: caches that fork, rewind, go on and are dropped in any order, beside arrays that outlive them. Each
cache gives what its tokens give alone, and each array stays as it was."""

import gc

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, rule

import skald
from conftest import GOLDEN

MODEL = skald.load_model(GOLDEN / "llama", weight_type=skald.DType.F32)
TOKENS = st.lists(st.integers(0, 90), min_size=1, max_size=12)


class Caches(RuleBasedStateMachine):
    caches = Bundle("caches")

    def __init__(self):
        super().__init__()
        self.pool = skald.BlockPool(MODEL, skald.RuntimeConfig(max_tokens=512, block_tokens=32))
        self.workspace = skald.Workspace(threads=1)
        self.kept = []  # arrays, and what they were

    def keep(self, array):
        self.kept.append((array, array.copy()))
        return array

    @rule(target=caches)
    def begin(self):
        return skald.KVCache(self.pool), []

    @rule(target=caches, cache=caches)
    def fork(self, cache):
        return cache[0].fork(), list(cache[1])

    @rule(cache=caches, tokens=TOKENS)
    def go_on(self, cache, tokens):
        logits = self.keep(MODEL.forward(cache[0], tokens, self.workspace))
        cache[1].extend(tokens)
        alone = MODEL.forward(skald.KVCache(MODEL, skald.RuntimeConfig(max_tokens=512)), cache[1], skald.Workspace(threads=1))
        assert np.array_equal(logits, alone)

    @rule(cache=caches, data=st.data())
    def rewind(self, cache, data):
        keep = data.draw(st.integers(0, len(cache[1])))
        cache[0].truncate(keep)
        del cache[1][keep:]

    @rule(cache=caches)
    def look_inside(self, cache):
        state = cache[0].layer_state(0)
        if state.tokens:
            self.keep(state.keys())
            for block in cache[0].layer_state(1).key_blocks():
                assert block.__dlpack_device__()[0] == 1

    @rule(cache=consumes(caches))
    def drop(self, cache):
        del cache

    @rule()
    def change_workspace(self):
        self.workspace = skald.Workspace(threads=1)
        gc.collect()

    def teardown(self):
        for array, copy in self.kept:
            assert np.array_equal(array, copy)


TestCaches = Caches.TestCase
TestCaches.settings = settings(max_examples=8, stateful_step_count=30, deadline=None)
