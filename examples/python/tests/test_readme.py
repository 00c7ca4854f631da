# SPDX-License-Identifier: Apache-2.0
"""The programs of README.md run as they are written, one after the other."""

import re

from conftest import ROOT

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "examples/python/README.md").read_text(), re.DOTALL)


def test_programs(tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "all-MiniLM-L6-v2").symlink_to(ROOT / "examples/demo_model")  # any model embeds; which one is no matter here
    monkeypatch.chdir(tmp_path)
    names = {}
    assert len(BLOCKS) >= 5
    for block in BLOCKS:
        if "open_encoder" in block:
            block = block.replace('open_encoder("all-MiniLM-L6-v2")', 'open_encoder("all-MiniLM-L6-v2", kind=skald.EncoderKind.DECODER)')
        exec(block, names)
    assert names["seen"] and len(names["later"]) == len(names["cache"]) and names["vectors"].shape[0] == 2
