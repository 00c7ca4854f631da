#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`skald pack`, and packed files as models.

usage: pack_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import os
import sys
import unittest
import unittest.mock

from skald_program import DEMO, TestCase, skald

sys.path.insert(0, "tests/support")
import gguf_writer


class Pack(TestCase):
    def setUp(self):
        super().setUp()
        self.packed = self.folder / "demo.packed"

    def test_a_packed_file_is_all_that_a_model_needs(self):
        arguments = ("--max-tokens", 20, "--seed", 5, "--prompt", "In the beginning")
        wanted = self.text(*arguments)
        self.assertRegex(self.run_skald("pack", DEMO, self.packed)[0], r"\A.*demo.packed: demo, \d+ bytes\n\Z")
        self.assertEqual(self.text("--model", self.packed, *arguments), wanted)
        self.assertRegex(self.run_skald("pack", "--verify", self.packed)[0], r"\A.*demo.packed: whole; demo as BF16\n\Z")
        self.assertRegex(self.run_skald("inspect", self.packed)[0], r"\nfamily: gemma3_text\nConfig: demo\n")
        done = skald("generate", "--model", self.packed, "--f32", *arguments)
        self.assertRegex(done.stderr, r"\Askald: .*demo.packed: packed as BF16, but .* F32\n\Z")

    def write_gguf(self, **changed):
        values, tensors = gguf_writer.from_gemma3(DEMO)
        path = self.folder / "demo.gguf"
        path.write_bytes(gguf_writer.gguf(values | changed, tensors))
        return path

    def test_a_gguf_file_becomes_one_that_runs_alone(self):
        gguf = self.write_gguf(**{"tokenizer.chat_template": "... '<|assistant|>' ..."})
        arguments = ("--max-tokens", 20, "--seed", 5, "--prompt", "And the LORD said \u00e9")
        wanted = self.run_skald("generate", "--model", gguf, *arguments)
        chat, _ = self.run_skald("chat", "--model", gguf, "-n", 12, "--seed", 2, stdin="Hello\n")
        self.run_skald("pack", gguf, self.packed)
        self.assertRegex(self.run_skald("inspect", self.packed)[0],
                         r"\nfamily: not told by this packed file\nConfig: demo\n")
        gguf.unlink()
        found = self.run_skald("generate", "--model", self.packed, *arguments)
        self.assertEqual(found[0], wanted[0])
        self.assertIn(" of 512, seed 5", found[1])  # the trained context
        found = self.run_skald("chat", "--model", self.packed, "-n", 12, "--seed", 2, stdin="Hello\n")
        self.assertEqual(found[0], chat)
        self.assertNotIn("no chat template", found[1])

    def test_a_gguf_file_without_a_tokenizer_for_skald_runs_on_token_ids(self):
        self.run_skald("pack", self.write_gguf(**{"tokenizer.ggml.model": "gpt2"}), self.packed)
        self.assertRegex(self.text("--model", self.packed, "--token-ids", "2,300", "-n", 3), r"\A2,300,")
        self.refused(1, ".*demo.packed: has no tokenizer.skald packed into it", "chat", "--model", self.packed)

    def test_a_gguf_file_with_damaged_metadata_is_not_packed(self):
        damaged = self.write_gguf(**{"tokenizer.ggml.unknown_token_id": 5000})
        self.refused(1, ".*demo.gguf: metadata: .*unknown_token_id", "pack", damaged, self.packed)
        self.assertFalse(self.packed.exists())

    def test_a_safetensors_file_is_packed_with_its_folder(self):
        self.run_skald("pack", DEMO / "model.safetensors", self.packed)
        self.assertEqual(self.text("--model", self.packed, "-n", 20, "--seed", 5, "--prompt", "And"),
                         self.text("--model", DEMO, "-n", 20, "--seed", 5, "--prompt", "And"))

    def test_inspect(self):
        self.run_skald("pack", DEMO, self.packed)
        out, _ = self.run_skald("inspect", self.packed)
        self.assertRegex(out, r"\A.*demo.packed: packed, to load as BF16\npacked from:\n  model.safetensors \d+ bytes\n"
                              r"attached:\n  spec.json \d+ bytes\n  tokenizer.skald \d+ bytes\n  config.json \d+ bytes\n")
        self.assertRegex(out, r"\nConfig: demo\ntensors:\n  0 +BF16 +\[2048, 256\] +1048576 bytes\n")
        self.assertRegex(out, r"\n  all +\d+ tensors +\d+ elements +\d+ bytes\n\Z")

    def test_damage_is_found(self):
        self.run_skald("pack", DEMO, self.packed)
        content = bytearray(self.packed.read_bytes())
        content[-1] ^= 1
        self.packed.write_bytes(content)
        done = skald("pack", "--verify", self.packed)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\Askald: .*demo.packed: parameter \d+ is damaged; pack it again\n\Z")
        self.packed.write_bytes(content[:-1])
        self.assertIn("cut short", skald("chat", "--model", self.packed).stderr)

    def test_a_cache_of_packed_weights_is_filled_once(self):
        for model in (DEMO, self.write_gguf()):
            with self.subTest(model):
                cache = self.folder / f"cache of {model.name}"
                arguments = ("--model", model, "-n", 20, "--seed", 5, "--prompt", "And", "--packed-cache", cache)
                first = self.text(*arguments)
                [file] = cache.glob("*.packed")
                written = file.stat()
                self.assertEqual(self.text(*arguments), first)
                self.assertEqual((file.stat().st_ino, file.stat().st_mtime_ns), (written.st_ino, written.st_mtime_ns))

    def test_weights_are_kept_in_the_users_cache_folder(self):
        kept = self.folder / "skald" / "packed"
        with unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=str(self.folder)):
            plain = self.text("--seed", 5, "-n", 20, "--no-packed-cache")
            self.assertFalse(kept.exists())
            _, err = self.run_skald("generate", "--seed", 5, "-n", 20, "--packed-cache-size", "1kB")
            self.assertIn("the packed weights are not kept: ", err)
            self.assertEqual(list(kept.glob("*.packed")), [])
            for _ in range(2):
                self.assertEqual(self.text("--seed", 5, "-n", 20), plain)
                self.assertEqual(len(list(kept.glob("demo_model-*-BF16.packed"))), 1)


if __name__ == "__main__":
    unittest.main()
