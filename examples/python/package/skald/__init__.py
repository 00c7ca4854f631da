# SPDX-License-Identifier: Apache-2.0
"""Language models on the CPU, with their state in your hands."""

from skald._skald import *  # noqa: F403
from skald._skald import __version__ as __version__
from skald.engine import Answer as Answer
from skald.engine import Engine as Engine
