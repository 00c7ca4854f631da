#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`skald generate` in scripts: many prompts, stops, grammars, log-probabilities, vectors, perplexity.

usage: texts_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import json
import math
import pathlib
import re
import signal
import subprocess
import unittest

from skald_program import NO_END, PROGRAM, TIMEOUT, TestCase, skald

PROMPTS = ["And the king said", "In the beginning", "unto the people of the land", "Go"]


class Texts(TestCase):
    @classmethod
    def setUpClass(cls):
        if "built without skald::store" in skald("generate", "--prompt", "x", "--json").stderr:
            raise unittest.SkipTest("SKIPPED: this program was built without skald::store")

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def lines(self, *arguments, stdin=""):
        # Texts may have letters that end lines for Python, and not for JSON.
        return [json.loads(line) for line in self.text(*arguments, stdin=stdin).split("\n") if line]

    def test_many_prompts_have_the_texts_that_each_has_alone(self):
        options = ("-n", 30, "--seed", 5)
        alone = [self.text("--prompt", prompt, *options) for prompt in PROMPTS]
        plain = self.file("prompts.txt", "\n".join(PROMPTS) + "\n\n")
        self.assertEqual(self.text("--prompts", plain, *options), "".join(alone))
        quoted = self.file("prompts.jsonl", "".join(json.dumps(prompt) + "\n" for prompt in PROMPTS[:2]) +
                           "".join(json.dumps({"prompt": prompt}) + "\n" for prompt in PROMPTS[2:]))
        found = self.lines("--prompts", quoted, "--json", "--threads", 1, *options)
        self.assertEqual([prompt + line["text"] + "\n" for prompt, line in zip(PROMPTS, found)], alone)
        self.assertEqual([line["prompt"] for line in found], [0, 1, 2, 3])
        self.assertTrue(all(line["finish"] == "length" and line["seed"] == 5 for line in found))

    def test_guesses_change_no_text(self):
        data = pathlib.Path("tests/golden/data").resolve()
        with_head = self.folder / "with_head"
        with_head.mkdir()
        weight_map = {}
        for shard in ("model.safetensors", "mtp.safetensors"):
            tensors = (data / "glm4_moe" / shard).read_bytes()
            (with_head / ("part-" + shard)).write_bytes(tensors)
            names = json.loads(tensors[8:8 + int.from_bytes(tensors[:8], "little")])
            weight_map.update({name: "part-" + shard for name in names if name != "__metadata__"})
        (with_head / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
        (with_head / "config.json").write_bytes((data / "glm4_moe" / "config.json").read_bytes())
        for model, options in ((with_head, ("--mtp",)), (data / "llama", ("--draft-model", data / "llama" / "eagle3")),
                               (data / "llama", ("--draft-model", data / "llama" / "eagle3" / "model.safetensors")),
                               (data / "qwen3", ("--draft-model", data / "qwen3"))):
            for form in ((), ("--json",)):
                for temperature in (0, 1):
                    plain = ("--model", model, "--token-ids", "3,4,5,6,7,8,9", "-n", 40, "--seed", 1, "--temperature", temperature, *form)
                    drafted = skald("generate", *plain, *options)
                    self.assertEqual(drafted.returncode, 0, drafted.stderr)
                    self.assertIn("guess", drafted.stderr.splitlines()[0])
                    self.assertRegex(drafted.stderr, r"\d+ of \d+ guesses right")
                    self.assertEqual(drafted.stdout, skald("generate", *plain).stdout)
        self.assertIn("is a head of EAGLE-3, which guesses tokens for a model and is none: give it as --draft-model",
                      skald("generate", "--model", data / "llama" / "eagle3", "--token-ids", "3").stderr)
        self.assertIn("no layers that predict further tokens",
                      skald("generate", "--model", data / "llama", "--token-ids", "3", "--mtp").stderr)

    def test_samples_differ(self):
        found = self.lines("--prompt", "And he said", "--samples", 4, "-n", 20, "--seed", 1, "--json")
        self.assertEqual([line["sample"] for line in found], [0, 1, 2, 3])
        self.assertEqual(len({line["text"] for line in found}), 4)

    def test_stops_end_a_text(self):
        options = ("--prompt", "And the king said", "--seed", 1, "-n", 40)
        whole = self.text(*options)
        stopped = self.text(*options, "--stop", ",", "--stop", ".")
        self.assertEqual(stopped.rstrip("\n"), re.split("[,.]", whole)[0])

    def test_grammars_and_schemas_hold_texts(self):
        grammar = self.file("answer.gbnf", 'root ::= ("yes" | "no") "!"')
        for seed in range(4):
            self.assertIn(self.text("--prompt", "And", "--no-echo", "--grammar", grammar, "--seed", seed), ("yes!\n", "no!\n"))
        schema = self.file("name.json", json.dumps({
            "type": "object", "properties": {"name": {"type": "string", "maxLength": 9}, "age": {"type": "integer"}},
            "required": ["name", "age"], "additionalProperties": False}))
        for line in self.lines("--prompt", "And", "--json-schema", schema, "--samples", 3, "-n", 80, "--seed", 1, "--json"):
            self.assertEqual(set(json.loads(line["text"])), {"name", "age"})

    def test_logprobs_are_those_of_the_tokens(self):
        line, = self.lines("--prompt", "And the king", "-n", 5, "--temperature", 0, "--logprobs", 3)
        self.assertEqual(len(line["tokens"]), 5)
        for token in line["tokens"]:
            self.assertEqual(len(token["top"]), 3)
            self.assertEqual(token["top"][0]["id"], token["id"])  # greedy
            self.assertEqual(token["top"][0]["logprob"], token["logprob"])
            self.assertLess(sum(math.exp(top["logprob"]) for top in token["top"]), 1.0001)
        self.assertEqual("".join(token["piece"] for token in line["tokens"]).replace("\u2581", " "), line["text"])

    def test_vectors_of_prompts(self):
        prompts = self.file("prompts.txt", "\n".join(PROMPTS))
        last, mean = (self.lines("--prompts", prompts, "--embed", pooling) for pooling in ("last", "mean"))
        self.assertEqual(len(last), len(PROMPTS))
        self.assertNotEqual(last[0]["embedding"], mean[0]["embedding"])
        alone, = self.lines("--prompt", PROMPTS[2], "--embed", "mean")
        self.assertEqual(alone["embedding"], mean[2]["embedding"])

    def test_perplexity(self):
        near = self.file("near.txt", self.text("--prompt", "In the beginning", "--temperature", 0.5, "-n", 300, "--seed", 2))
        far = self.file("far.txt", "".join(chr(33 + i * i % 90) for i in range(600)))
        def measure(*arguments):
            return self.lines("--json", *arguments)[0]
        found = measure("--perplexity", near, "--max-context", 128)
        self.assertEqual((found["window"], found["tokens"] % 63), (128, 0))  # of 128, the last 63 of a window count
        self.assertEqual(found, measure("--perplexity", near, "--max-context", 128, "--threads", 1))
        self.assertLess(10 * found["perplexity"], measure("--perplexity", far)["perplexity"])
        self.assertRegex(self.text("--perplexity", near), r"\Aperplexity [\d.]+ \+- [\d.]+, \d+ tokens in windows of 512\n\Z")

    def test_a_prompt_comes_through_a_pipe(self):
        options = ("-n", 5, "--seed", 1)
        self.assertEqual(self.text(*options, stdin="And he\n"), self.text(*options, "--prompt", "And he"))

    def test_an_interrupt_ends_all(self):
        prompts = self.file("prompts.txt", "\n".join(PROMPTS))
        with subprocess.Popen([PROGRAM, "generate", "--prompts", prompts, "--max-tokens", "1000000", "--max-context",
                               "1000000", "--logit-bias", NO_END], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
            program.stdout.read(100)
            program.send_signal(signal.SIGINT)
            program.communicate(timeout=TIMEOUT)
            self.assertEqual(program.returncode, 130)

    def test_lost_output_fails(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "generate", "--prompt", "x", "--json"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left on device", done.stderr)

    def test_what_cannot_be_is_named(self):
        empty, bad = self.file("empty.txt", "\n\n"), self.file("bad.jsonl", '"x"\n{"text": 1}\n')
        self.refused(1, f"{empty}: there is no prompt in it", "generate", "--prompts", empty)
        self.refused(1, f"{bad}: line 2: expected a JSON text", "generate", "--prompts", bad)
        self.refused(1, f"{bad}: ", "generate", "--prompt", "x", "--grammar", bad)
        self.refused(1, f"{bad}: ", "generate", "--prompt", "x", "--json-schema", bad)
        self.refused(1, f"{self.file('one', '')}: the text has less than two tokens", "generate", "--perplexity",
                     self.file("one", ""))
        self.refused(1, "prompt 0 has \\d+ tokens, but the context has 3", "generate", "--prompt", "And the king said unto",
                     "--json", "--max-context", 3)
        self.refused(2, "--embed writes no text", "generate", "--embed", "last", "--stop", "x")
        self.refused(2, "give only one of", "generate", "--prompt", "x", "--perplexity", bad)
        self.refused(2, "--prompt-cache is for one text", "generate", "--prompt-cache", "x", "--json")


if __name__ == "__main__":
    unittest.main()
