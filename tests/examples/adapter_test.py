#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The skald program with an adapter or control vectors for the demo model.

usage: adapter_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""
import struct
import sys
import unittest

sys.path.insert(0, "tests/support")
import demo_adapter
import gguf_writer
import skald_program

def write_adapter(folder, seed, **shape):
    demo_adapter.write(folder, seed, **shape)
    return ("--adapter", folder)


class Program(skald_program.TestCase):
    def skald(self, *arguments, stdin="", status=0):
        done = skald_program.skald(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout, done.stderr

    def generate(self, *options):
        return self.skald("generate", "-n", 30, "--temperature", 0, "--prompt", "And it came to pass " * 8, *options)[0]


class Adapter(Program):
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


class ControlVector(Program):
    def write(self, name, layers, columns=256):
        data = struct.pack(f"<{columns}f", *((i * 37 % 11 - 5) / 4 for i in range(columns)))
        path = self.folder / name
        path.write_bytes(gguf_writer.gguf({"general.architecture": "controlvector"}, {
            f"direction.{layer}": (gguf_writer.F32, [columns], data) for layer in layers}))
        return path

    def test_vectors_change_what_is_written_in_their_layers_and_by_their_scale(self):
        both, first = self.write("both.gguf", [1, 2]), self.write("first.gguf", [1])
        steered = self.generate("--control-vector", both)
        self.assertEqual(steered, self.generate("--control-vector", f"{both}:1", "--threads", 1))
        self.assertEqual(steered, self.generate("--control-vector", f"{both}:0.5", "--control-vector", f"{both}:0.5"))
        of_first = self.generate("--control-vector", both, "--control-vector-layers", "0-1")
        self.assertEqual(of_first, self.generate("--control-vector", first))
        self.assertEqual(self.generate("--control-vector", f"{both}:0"), self.generate())
        self.assertEqual(len({self.generate(), steered, of_first}), 3)

    def test_prompts_and_chats_belong_to_their_vectors(self):
        vector = ("--control-vector", self.write("vector.gguf", [1, 2]))
        prompts = ("--prompt-cache", self.folder / "prompts")
        self.assertEqual(self.generate(*prompts), self.generate())
        for _ in range(2):
            self.assertEqual(self.generate(*prompts, *vector), self.generate(*vector))
        chat = ("chat", "-n", 5, "--session", self.folder / "chat.skald")
        self.skald(*chat, *vector, stdin="And\n")
        _, err = self.skald(*chat, stdin="And\n", status=1)
        self.assertIn("the snapshot was made with", err)

    def test_wrong_vectors_and_layers_are_refused(self):
        vector = self.write("vector.gguf", [1])
        for options, expected in (
                (("--control-vector", self.folder / "nothing"), "nothing"),
                (("--control-vector", self.write("wide.gguf", [1], 300)), "expected the shape [256]"),
                (("--control-vector", self.write("deep.gguf", [4])), "directions are for the layers 1 to 3"),
                (("--control-vector", vector, "--control-vector-layers", "2-9"), "the model has the layers 0 to 3")):
            _, err = self.skald("generate", "--prompt", "And", *options, status=1)
            self.assertIn(expected, err)


if __name__ == "__main__":
    unittest.main()
