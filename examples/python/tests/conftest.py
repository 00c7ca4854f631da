# SPDX-License-Identifier: Apache-2.0
"""Models that the tests share. Nothing here needs the network."""

import pathlib

import pytest

import skald

ROOT = pathlib.Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests/golden/data"


@pytest.fixture(scope="session")
def opened():
    """The demo model, with its tokenizer."""
    return skald.open_model(ROOT / "examples/demo_model")


@pytest.fixture(scope="session")
def model(opened):
    return opened.model


@pytest.fixture(scope="session")
def tiny():
    """A model so small that a step takes microseconds."""
    return skald.load_model(GOLDEN / "llama", weight_type=skald.DType.F32)


@pytest.fixture
def workspace():
    return skald.Workspace(threads=1)


@pytest.fixture
def ids(opened):
    return opened.tokenizer.encode("In the beginning God created", add_special=True)
