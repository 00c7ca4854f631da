# SPDX-License-Identifier: Apache-2.0
"""Perplexity, divergence, and lm-evaluation-harness, with its shared beginnings."""

import math

import numpy as np
import pytest

import skald
from conftest import GOLDEN


def test_perplexity(tiny, workspace):
    tokens = [int(i * 7 % 90) for i in range(200)]
    scores = skald.token_logprobs(tiny, tokens, workspace)
    assert len(scores) == 199
    assert math.isclose(skald.perplexity(tiny, tokens, workspace, window=512), math.exp(-scores.mean()))
    assert skald.perplexity(tiny, tokens, workspace, window=64, stride=16) > 1
    for wrong in (dict(tokens=[1]), dict(tokens=tokens, stride=0), dict(tokens=tokens, window=8, stride=9)):
        with pytest.raises(ValueError):
            skald.perplexity(tiny, **wrong)


def test_kld(tiny, workspace):
    tokens = list(range(80))
    same = skald.kld(tiny, tiny, tokens, workspace)
    assert same.mean == 0 and same.same_top == 1 and same.tokens == 79
    rounded = skald.load_model(GOLDEN / "llama", weight_type=skald.DType.Q8_0)
    other = skald.kld(tiny, rounded, tokens, workspace)
    assert 0 < other.mean <= other.largest


def test_continuations_are_scored_as_alone(opened):
    pytest.importorskip("lm_eval")
    from skald.lm_eval import Scorer

    examples = opened.tokenizer.encode("In the beginning God created the heaven and the earth.", add_special=True)
    pairs = [(examples + [200 + question], [300 + answer, 17, 18][: 1 + answer % 3]) for question in range(6) for answer in range(4)]
    scorer = Scorer(opened.model, 256, threads=1)
    scores = scorer.score(pairs)
    for (context, continuation), (total, is_greedy) in zip(pairs, scores):
        tokens = context + continuation
        alone = skald.token_logprobs(opened.model, tokens, skald.Workspace(threads=1))[-len(continuation):]
        assert math.isclose(total, alone.sum(), rel_tol=1e-9)
        assert is_greedy in (True, False)
    assert scorer.computed_tokens < scorer.asked_tokens / 2
    assert np.isfinite([total for total, _ in scores]).all()


def test_harness(opened, tmp_path):
    lm_eval = pytest.importorskip("lm_eval")
    from lm_eval.api.instance import Instance

    from conftest import ROOT
    from skald.lm_eval import SkaldLM

    model = SkaldLM(path=ROOT / "examples/demo_model", threads=1, max_length=512)
    assert lm_eval.api.registry.get_model("skald") is SkaldLM

    def ask(kind, *arguments):
        return Instance(kind, {}, arguments, 0)

    scores = model.loglikelihood([ask("loglikelihood", "And God", " said"), ask("loglikelihood", "And God", " xylophone"),
                                  ask("loglikelihood", "", "And")])
    assert scores[0][0] > scores[1][0]
    rolling = model.loglikelihood_rolling([ask("loglikelihood_rolling", "And God said, Let there be light")])
    assert rolling[0] < 0
    texts = model.generate_until([ask("generate_until", "And God said", {"until": [","], "max_gen_toks": 12}),
                                  ask("generate_until", "Woe", {"until": [], "max_gen_toks": 4})])
    assert "," not in texts[0] and texts[1]
