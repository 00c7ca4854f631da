# SPDX-License-Identifier: Apache-2.0
"""The notebooks run from their first to their last cell, and are kept without outputs."""

import json
import os

import pytest

from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "examples/python/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path, monkeypatch):
    cells = json.loads(path.read_text())["cells"]
    assert all(not cell.get("outputs") for cell in cells)
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    if any("matplotlib" in line for cell in cells for line in cell["source"]):
        pytest.importorskip("matplotlib")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), *module_folder()])))
    monkeypatch.setenv("MPLBACKEND", "agg")
    nbclient.NotebookClient(nbformat.read(path, as_version=4), timeout=300, resources={"metadata": {"path": path.parent}}).execute()


def module_folder():
    import skald

    return [os.path.dirname(os.path.dirname(os.path.abspath(skald.__file__)))]
