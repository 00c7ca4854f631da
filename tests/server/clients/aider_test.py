#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server as aider sees it, the program itself: aider_test.py PROGRAM. Exits with 77 and a word where it is missing:
`pip install aider-chat==0.86.2`, with its folder in PATH.

A grammar scripts what the model answers: a file in aider's form of edits, which aider then writes."""

import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from running_server import RunningServer, temporary_folder, tool_model  # noqa: E402

AIDER = shutil.which("aider")
if AIDER is None:
    print("skipped: no aider in PATH")
    sys.exit(77)

PROGRAM = sys.argv[1]
DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "demo_model")
EDIT = "a.txt\\n```\\nIn the beginning\\n```\\n"


class Aider(unittest.TestCase):
    def test_an_edit_whole_and_as_a_stream(self):
        for streams in ["--stream", "--no-stream"]:
            with self.subTest(streams), temporary_folder() as folder, temporary_folder() as home, RunningServer(
                    PROGRAM, "--model", tool_model(DEMO, folder), "--model-name", "demo", "--max-context", "32768") as server:
                file = os.path.join(home, "a.txt")
                with open(file, "w") as text:
                    text.write("nothing\n")
                settings = [{"name": "openai/demo", "edit_format": "whole",
                             "extra_params": {"max_tokens": 200, "extra_body": {"grammar": f'root ::= "{EDIT}"'}}}]
                with open(os.path.join(home, ".aider.model.settings.yml"), "w") as text:
                    json.dump(settings, text)  # YAML too
                environment = {"PATH": os.environ["PATH"], "HOME": home, "OPENAI_API_BASE": f"http://127.0.0.1:{server.port}/v1",
                               "OPENAI_API_KEY": "none", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
                done = subprocess.run(
                    [AIDER, "--model", "openai/demo", "--no-show-model-warnings", "--no-check-update", "--analytics-disable",
                     "--no-show-release-notes", "--yes-always", "--no-git", "--no-pretty", streams, "--message", "Write", "a.txt"],
                    cwd=home, env=environment, capture_output=True, text=True, timeout=300)
                with open(file) as text:
                    self.assertEqual(text.read(), "In the beginning\n", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
