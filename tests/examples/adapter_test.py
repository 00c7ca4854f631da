#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The skald program with an adapter for the demo model.

usage: adapter_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""
import json
import random
import struct
import unittest

import skald_program

QUERY = "base_model.model.model.layers.0.self_attn.q_proj"
RANK = 2


def write_adapter(folder, seed, columns=256):
    """Writes a folder as PEFT does, with random values."""
    draw = random.Random(seed)
    shapes = {QUERY + ".lora_A.weight": [RANK, columns], QUERY + ".lora_B.weight": [256, RANK]}
    header, data = {}, b""
    for name, shape in shapes.items():
        count = shape[0] * shape[1]
        begin = len(data)
        data += struct.pack(f"<{count}f", *(draw.uniform(-1, 1) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    folder.mkdir()
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": RANK, "lora_alpha": 4}))
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
