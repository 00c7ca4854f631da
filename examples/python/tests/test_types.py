# SPDX-License-Identifier: Apache-2.0
"""mypy finds nothing wrong with the stubs, the package, and a program that uses them."""

import os
import pathlib

import pytest

import skald


def test_stubs(tmp_path):
    api = pytest.importorskip("mypy.api")
    package = tmp_path / "package"  # a folder of its own: mypy refuses to be pointed to all that is installed
    package.mkdir()
    (package / "skald").symlink_to(os.path.dirname(os.path.abspath(skald.__file__)))
    os.environ["MYPYPATH"] = str(package)
    program = pathlib.Path(__file__).with_name("typed_program.py")
    text, errors, status = api.run(["--strict", "--allow-any-generics", "--cache-dir", str(tmp_path), "--ignore-missing-imports",
                                    "--allow-subclassing-any", "--disable-error-code", "untyped-decorator",
                                    f"{package}/skald", str(program)])
    assert status == 0, text + errors


def test_everything_public_is_documented():
    for name, value in vars(skald).items():
        if not name.startswith("_") and isinstance(value, type):
            assert value.__doc__, name
