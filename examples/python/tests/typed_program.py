# SPDX-License-Identifier: Apache-2.0
"""A program that mypy reads: what it asserts of types must follow from the stubs."""

from typing_extensions import assert_type

import numpy
import numpy.typing

import skald


def program(path: str) -> str:
    opened = skald.open_model(path, weight_type=skald.DType.Q8_0)
    assert_type(opened.model, skald.Model)
    workspace, cache = skald.Workspace(threads=2), skald.KVCache(opened.model, skald.RuntimeConfig(max_tokens=64))
    logits = opened.model.forward(cache, [1, 2, 3], workspace, hooks=[("stream.*", print)])
    assert_type(logits, numpy.typing.NDArray[numpy.float32])
    outputs = opened.model.forward(skald.Batch().add(cache.fork(), numpy.array([1]), skald.Want.HIDDEN), workspace)
    assert_type(outputs, skald.Outputs)
    assert_type(cache.save(opened.identity()), bytes)
    assert_type(cache.layer_state(0).keys(), numpy.typing.NDArray[numpy.float32])
    try:
        skald.sample(logits, skald.SamplerSettings(temperature=0.5), 3)
    except skald.Error as error:
        assert_type(error.code, skald.ErrorCode)
    with skald.Engine(opened, threads=1) as engine:
        return engine.submit(skald.Request([1], max_tokens=3)).text()
