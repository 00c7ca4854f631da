#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`skald tokenize`, and models whose folders hold tokenizer.json, a chat template and generation_config.json.

usage: tokenize_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import json
import pathlib
import shutil
import unittest

from skald_program import TestCase

BYTE_LEVEL = pathlib.Path("tests/text/data/byte_level").resolve()
TOKENIZER = ("--tokenizer", BYTE_LEVEL / "tokenizer.json")


class Tokenize(TestCase):
    def ids(self, *arguments, **options):
        out, _ = self.run_skald("tokenize", *TOKENIZER, "--ids", *arguments, **options)
        return [int(text) for text in out.split(",") if text.strip()]

    def test_pieces_and_ids(self):
        out, _ = self.run_skald("tokenize", *TOKENIZER, "In the beginning")
        rows = [line.split("\t") for line in out.splitlines()]
        self.assertEqual([int(row[0]) for row in rows], self.ids("In the beginning"))
        self.assertEqual("".join(row[1] for row in rows), "In\u0120the\u0120beginning")

    def test_text_comes_from_the_command_line_a_file_or_stdin(self):
        (self.folder / "text").write_text("one two\n")
        expected = self.ids("one two\n")
        self.assertEqual(self.ids("--prompt-file", self.folder / "text"), expected)
        self.assertEqual(self.ids(stdin="one two\n"), expected)

    def test_special_tokens_are_text_unless_asked_for(self):
        config = json.loads((BYTE_LEVEL / "tokenizer.json").read_text())
        special = next(token for token in config["added_tokens"] if token["special"])
        self.assertNotIn(special["id"], self.ids(special["content"]))
        self.assertEqual(self.ids("--parse-special", special["content"]), [special["id"]])
        out, _ = self.run_skald("tokenize", *TOKENIZER, "--token-ids", special["id"])
        self.assertEqual(out, f"{special['id']}\t{special['content']}\tspecial\n")

    def test_ids_beyond_the_vocabulary_and_files_that_are_none(self):
        self.refused(1, "token id 99999 is outside of the vocabulary", "tokenize", *TOKENIZER, "--token-ids", 99999)
        self.refused(1, ".*CMakeLists.txt: not a SentencePiece model", "tokenize", "--tokenizer", "CMakeLists.txt", "x")
        self.refused(1, ".*no-such-file: No such file", "tokenize", *TOKENIZER, "--prompt-file", "no-such-file")


class Published(TestCase):
    """The demo model in a folder with the files that other models publish."""

    def setUp(self):
        super().setUp()
        self.model = self.copy_of_demo()
        (self.model / "generation_config.json").write_text(json.dumps({"do_sample": False}))

    def test_the_publishers_sampling_is_the_default_and_options_go_before_it(self):
        def text(*options):
            return self.run_skald("generate", "--model", self.model, "--prompt", "And", "-n", 8, *options)[0]
        self.assertEqual(text("--seed", 1), text("--seed", 2))
        self.assertNotEqual(text("--seed", 1, "--temperature", 2), text("--seed", 2, "--temperature", 2))
        (self.model / "generation_config.json").write_text('{"temperature": "hot"}')
        self.refused(1, ".*generation_config.json: temperature is not a number", "generate", "--model", self.model)

    def test_a_published_chat_template_is_used_and_takes_variables(self):
        (self.model / "chat_template.jinja").write_text(
            "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}{% if loud %}{{ raise_exception('LOUD') }}"
            "{% endif %}")
        _, err = self.run_skald("chat", "--model", self.model, "-n", 3, stdin="Hello\n")
        self.assertNotIn("no chat template", err)
        _, err = self.run_skald("chat", "--model", self.model, "-n", 3, "--set", "loud=true", stdin="Hello\n")
        self.assertIn("LOUD", err)
        (self.model / "chat_template.jinja").write_text("{% for %}")
        self.refused(1, ".*line 1, column", "chat", "--model", self.model)

    def test_a_byte_level_tokenizer_is_packed_with_the_model(self):
        (self.model / "tokenizer.model").unlink()
        shutil.copy(BYTE_LEVEL / "tokenizer.json", self.model)
        config = json.loads((self.model / "tokenizer.json").read_text())
        pieces = set(config["model"]["vocab"].values())
        filler = [{"id": id, "content": f"<filler {id}>", "single_word": False, "lstrip": False, "rstrip": False,
                   "normalized": False, "special": True} for id in range(2048) if id not in pieces]
        known = {token["id"] for token in config["added_tokens"]}
        config["added_tokens"] += [token for token in filler if token["id"] not in known]
        (self.model / "tokenizer.json").write_text(json.dumps(config))
        packed = self.folder / "byte_level.packed"
        self.run_skald("pack", self.model, packed)
        arguments = ("--prompt", "In the", "-n", 5, "--temperature", 0)
        first, _ = self.run_skald("generate", "--model", self.model, *arguments)
        self.assertTrue(first.startswith("In the"))
        self.assertEqual(self.run_skald("generate", "--model", packed, *arguments)[0], first)


if __name__ == "__main__":
    unittest.main()
