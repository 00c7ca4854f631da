# SPDX-License-Identifier: Apache-2.0
"""Language models on the CPU, with their state in your hands."""

from typing import TYPE_CHECKING, Any

from skald._skald import *  # noqa: F403
from skald._skald import version as __version__
from skald.engine import Answer as Answer
from skald.engine import Engine as Engine

if TYPE_CHECKING:
    from skald.evaluate import Divergence as Divergence
    from skald.evaluate import kld as kld
    from skald.evaluate import perplexity as perplexity
    from skald.evaluate import token_logprobs as token_logprobs

_EVALUATE = ("Divergence", "kld", "perplexity", "token_logprobs")


def __getattr__(name: str) -> Any:
    """Functions that need numpy, which takes longer to import than all of this, are found when they are used."""
    if name in _EVALUATE:
        from skald import evaluate

        return getattr(evaluate, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
