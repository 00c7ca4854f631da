#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A smaller model guesses tokens, and changes no answer: draft_test.py PROGRAM."""

import array
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest

from running_server import RunningServer

PROGRAM = sys.argv[1]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DEMO = os.path.join(ROOT, "examples", "demo_model")
OTHER = os.path.join(ROOT, "tests", "golden", "data", "stories260K")


def answers(server):
    found = []
    for temperature in (0, 0.8, 1.5):
        for seed in range(3):
            body = {"prompt": "And it came to pass", "max_tokens": 40, "temperature": temperature, "seed": seed}
            status, answer = server.post("/v1/completions", body)
            assert status == 200, answer
            found.append(answer["choices"][0]["text"])
    return found


def write_head(folder):
    """An EAGLE-3 head of random weights for the model OTHER, of the same width."""
    width, inner, drafts, vocabulary = 64, 96, 300, 512
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump({"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "num_hidden_layers": 1,
                   "hidden_size": width, "intermediate_size": inner, "num_attention_heads": 4, "num_key_value_heads": 2,
                   "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "vocab_size": vocabulary,
                   "draft_vocab_size": drafts}, file)
    layer = {"hidden_norm": (width,), "input_layernorm": (width,), "post_attention_layernorm": (width,),
             "self_attn.q_proj": (width, 2 * width), "self_attn.k_proj": (width // 2, 2 * width),
             "self_attn.v_proj": (width // 2, 2 * width), "self_attn.o_proj": (width, width),
             "mlp.gate_proj": (inner, width), "mlp.up_proj": (inner, width), "mlp.down_proj": (width, inner)}
    shapes = {"fc": (width, 3 * width), "norm": (width,), "lm_head": (drafts, width),
              **{"midlayer." + name: shape for name, shape in layer.items()}}
    randoms, header, data = random.Random(1), {}, b""
    for name, shape in shapes.items():
        values = array.array("f", (randoms.uniform(-0.2, 0.2) for _ in range(math.prod(shape)))).tobytes()
        header[name + ".weight"] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    distances = array.array("q", [vocabulary - drafts] * drafts).tobytes()
    header["d2t"] = {"dtype": "I64", "shape": [drafts], "data_offsets": [len(data), len(data) + len(distances)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data + distances)


class Draft(unittest.TestCase):
    def test_answers_are_those_of_the_model_alone(self):
        with RunningServer(PROGRAM, "--model", DEMO) as server:
            expected = answers(server)
        # As its own draft the model is right as often as can be, and pays so little that few guesses are made.
        with RunningServer(PROGRAM, "--model", DEMO, "--draft-model", DEMO) as server:
            self.assertEqual(answers(server), expected)
            metrics = server.request("GET", "/metrics")[2].decode()
        accepted = float(re.search(r"^skald_accepted_tokens_total(?:\{[^}]*\})? ([0-9.e+]+)", metrics, re.MULTILINE)[1])
        self.assertGreater(accepted, 5)

    def test_a_head_that_reads_the_model_changes_no_answer(self):
        with RunningServer(PROGRAM, "--model", OTHER) as server:
            expected = answers(server)
        with tempfile.TemporaryDirectory() as head:
            write_head(head)
            with RunningServer(PROGRAM, "--model", OTHER, "--draft-model", head) as server:
                self.assertEqual(answers(server), expected)
                metrics = server.request("GET", "/metrics")[2].decode()
        drafted = re.search(r"^skald_drafted_tokens_total(?:\{[^}]*\})? ([0-9.e+]+)", metrics, re.MULTILINE)[1]
        self.assertGreater(float(drafted), 0)

    def refused(self, *options):
        done = subprocess.run([PROGRAM, "serve", "--port", "0", "--model", DEMO, *options], capture_output=True, text=True,
                              timeout=60)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_another_vocabulary_is_refused(self):
        self.assertRegex(self.refused("--draft-model", OTHER),
                         r"--draft-model: .*has a vocabulary of 512 tokens, expected the model's 2048")

    def test_one_of_two_guesses(self):
        self.assertIn("--prompt-lookup", self.refused("--draft-model", DEMO, "--prompt-lookup"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
