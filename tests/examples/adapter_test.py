#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The skald program with an adapter for the demo model.

usage: adapter_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""
import sys
import unittest

sys.path.insert(0, "tests/support")
import demo_adapter
import skald_program

def write_adapter(folder, seed, **shape):
    demo_adapter.write(folder, seed, **shape)
    return ("--adapter", folder)


class Adapter(skald_program.TestCase):
    def skald(self, *arguments, stdin="", status=0):
        done = skald_program.skald(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout, done.stderr

    def generate(self, *options):
        return self.skald("generate", "-n", 30, "--temperature", 0, "--prompt", "And it came to pass " * 8, *options)[0]

    def test_an_adapter_changes_what_is_written(self):
        one, other = (write_adapter(self.folder / str(seed), seed) for seed in (1, 2))
        self.assertEqual(self.generate(*one), self.generate(*one, "--threads", 1))
        self.assertEqual(len({self.generate(), self.generate(*one), self.generate(*other)}), 3)

    def test_prompts_and_chats_are_of_one_adapter(self):
        adapter = write_adapter(self.folder / "adapter", 1)
        prompts = ("--prompt-cache", self.folder / "prompts")
        expected = self.generate(*adapter)
        self.assertEqual(self.generate(*prompts), self.generate())
        for _ in range(2):
            self.assertEqual(self.generate(*prompts, *adapter), expected)
        chat = ("chat", "-n", 5, "--session", self.folder / "chat.skald")
        self.skald(*chat, *adapter, stdin="And\n")
        self.skald(*chat, *adapter, stdin="And\n")
        _, err = self.skald(*chat, stdin="And\n", status=1)
        self.assertIn("the snapshot was made with another adapter", err)

    def test_an_adapter_for_another_model_is_refused(self):
        _, err = self.skald("generate", *write_adapter(self.folder / "wide", 1, columns=300), status=1)
        self.assertIn("expected shape [2, 256], found [2, 300]; the adapter is for another model", err)
        _, err = self.skald("generate", "--adapter", self.folder / "nothing", status=1)
        self.assertIn("nothing", err)


if __name__ == "__main__":
    unittest.main()
