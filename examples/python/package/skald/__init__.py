# SPDX-License-Identifier: Apache-2.0
"""Language models on the CPU, with their state in your hands."""

from skald._skald import *  # noqa: F403
from skald._skald import version as __version__
from skald.engine import Answer as Answer
from skald.engine import Engine as Engine
from skald.evaluate import Divergence as Divergence
from skald.evaluate import kld as kld
from skald.evaluate import perplexity as perplexity
from skald.evaluate import token_logprobs as token_logprobs
