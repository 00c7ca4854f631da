#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the skald program on GGUF files, as a user would: above all the demo model, converted.

usage: gguf_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import ctypes
import json
import os
import re
import struct
import sys
import threading
import time
import unittest

from skald_program import DEMO, TestCase, skald

sys.path.insert(0, "tests/support")
import gguf_writer


class Openings:
    """Counts how often a file is opened while the `with` block runs. Linux tells that, but may tell two openings as one
    if they come in the same moment: the count is never too large."""

    IN_OPEN, EVENT = 0x20, struct.Struct("iIII")  # events of a file have no name

    def __init__(self, path):
        self.count = 0
        libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = libc.inotify_init1(0)
        if self.descriptor < 0 or libc.inotify_add_watch(self.descriptor, os.fsencode(path), self.IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        self.path, self.reader = path, threading.Thread(target=self._read, daemon=True)

    def _read(self):
        while True:
            self.count += len(os.read(self.descriptor, 1 << 16)) // self.EVENT.size
            if self.is_over:
                return

    def __enter__(self):
        self.is_over = False
        self.reader.start()
        return self

    def __exit__(self, *_):
        time.sleep(0.05)
        self.is_over = True
        open(self.path, "rb").close()  # which wakes the reader
        self.reader.join()
        self.count -= 1
        os.close(self.descriptor)


class Gguf(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.values, cls.tensors = gguf_writer.from_gemma3(DEMO)
        cls.content = gguf_writer.gguf(cls.values, cls.tensors)

    def setUp(self):
        super().setUp()
        self.file = self.folder / "demo.gguf"
        self.file.write_bytes(self.content)

    def changed(self, values, tensors=None):
        """Returns a file with other metadata: None leaves a value out."""
        path = self.folder / "changed.gguf"
        all_values = {name: value for name, value in (self.values | values).items() if value is not None}
        path.write_bytes(gguf_writer.gguf(all_values, self.tensors if tensors is None else tensors))
        return path

    def test_the_same_model_writes_the_same_text_from_either_format(self):
        prompt = ["--prompt", "And the LORD said \u00e9", "-n", 40, "--seed", 3]
        for options in ([], ["--f32"]):
            folder = self.run_skald("generate", "--model", DEMO, *prompt, *options)
            file = self.run_skald("generate", "--model", self.file, *prompt, *options)
            self.assertEqual(file[0], folder[0])
            self.assertIn("context", file[1])
            self.assertIn(" of 512, seed 3", file[1])  # the trained context is in the metadata

    @unittest.skipUnless(sys.platform == "linux", "only Linux tells who opens a file")
    def test_a_file_is_opened_once(self):
        def openings(*arguments, stdin=""):
            with Openings(self.file) as opened:
                self.run_skald(*arguments, stdin=stdin)
            return opened.count

        generate = ["generate", "--model", self.file, "--prompt", "And", "-n", 3]
        self.assertEqual(openings(*generate, "--no-packed-cache"), 1)
        self.assertEqual(openings("tokenize", "--model", self.file, stdin="And"), 1)
        self.assertEqual(openings("inspect", self.file), 1)
        self.assertEqual(openings("inspect", self.file, "--config"), 1)
        self.run_skald(*generate)
        self.assertEqual(openings(*generate), 1)  # the weights are in the cache, and are those of this file

    def test_chat(self):
        options = ["--temperature", 0, "-n", 20]
        stdin = "In the beginning\n/undo\nAnd\n/quit\n"
        self.assertEqual(self.run_skald("chat", "--model", self.file, *options, stdin=stdin)[0],
                         self.run_skald("chat", "--model", DEMO, *options, stdin=stdin)[0])

    def test_a_session_belongs_to_its_file(self):
        session = self.folder / "chat.skald"
        first = skald("chat", "--model", self.file, "--session", session, "-n", 5, stdin="Hello\n")
        if "built without" in first.stderr:
            return
        self.assertEqual(first.returncode, 0, first.stderr)
        self.run_skald("chat", "--model", self.file, "--session", session, "-n", 5, stdin="And\n")
        other = self.changed({"general.name": "other"})
        done = skald("chat", "--model", other, "--session", session)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the snapshot was made with other weights", done.stderr)

    def test_inspect_a_file(self):
        out, _ = self.run_skald("inspect", self.file)
        self.assertRegex(out, r"\A.*demo.gguf: GGUF\nmetadata:\n")
        self.assertIn('  general.architecture = "gemma3"\n', out)
        self.assertIn("  gemma3.block_count = 4\n", out)
        self.assertRegex(out, r'\n  tokenizer.ggml.tokens = 2048 values: "<pad>", .*\.\.\.\n')
        self.assertIn("\nConfig: demo\ntensors:\n", out)
        self.assertRegex(out, r"\n  'token_embd.weight' +BF16 +\[2048, 256\] +1048576 bytes\n")
        self.assertRegex(out, r"\n  all +\d+ tensors +\d+ elements +\d+ bytes\n\Z")
        self.assertLess(max(map(len, out.splitlines())), 200)

    def test_inspect_a_folder_and_a_safetensors_file(self):
        for path in (DEMO, DEMO / "model.safetensors"):
            out, _ = self.run_skald("inspect", path)
            self.assertRegex(out, r"\A.*model.safetensors: safetensors\nfamily: gemma3_text\nConfig: demo\ntensors:\n")
            self.assertRegex(out, r"\n  'model.norm.weight' +BF16 +\[256\] +512 bytes\n")

    def test_what_is_not_computed_is_named(self):
        data = (DEMO / "model.safetensors").read_bytes()
        size = int.from_bytes(data[:8], "little")
        header, tensors = json.loads(data[8:8 + size]), data[8 + size:]
        for name in ("mtp.fc.weight", "vision_tower.blocks.0.weight", "vision_tower.blocks.1.weight"):
            header[name] = {"dtype": "F32", "shape": [3], "data_offsets": [len(tensors), len(tensors) + 12]}
            tensors += bytes(12)
        folder = self.folder / "more"
        folder.mkdir()
        text = json.dumps(header).encode()
        (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + tensors)
        (folder / "config.json").write_bytes((DEMO / "config.json").read_bytes())
        self.assertIn("\nConfig: demo\nnot computed: mtp, 1 tensors, 12 bytes\n"
                      "not computed: vision_tower, 2 tensors, 24 bytes\n", self.run_skald("inspect", folder)[0])
        for command in ("convert", "pack"):
            _, err = self.run_skald(command, folder, self.folder / f"less.{command}")
            self.assertIn("not in the file: mtp (1 tensors)\n", err)
            self.assertIn("not in the file: vision_tower (2 tensors)\n", err)

    def test_inspect_prints_the_config_to_paste(self):
        """tests/compile/config_texts.cc compiles such texts."""
        out, _ = self.run_skald("inspect", "--config", self.file)
        self.assertRegex(out, r"(?s)\A#include <array>\n.*\nstruct Demo {\n"
                              r'  static constexpr std::string_view kName = "demo";\n'
                              r'  static constexpr std::string_view kModelType = "gemma3_text";\n.*\n};\n\Z')
        for path in (DEMO, DEMO / "model.safetensors"):
            same, _ = self.run_skald("inspect", path, "--config")
            self.assertEqual(same.replace("emo_model", "emo"), out)
        for path in (self.changed({"gemma3.block_count": None}), self.folder):
            self.refused(1, f"{re.escape(str(path))}.*", "inspect", "--config", path)

    def test_inspect_says_why_there_is_no_config(self):
        path = self.changed({"gemma3.embedding_length": 320})  # no obstacle, did the tensors have that size too
        self.assertRegex(self.run_skald("inspect", path)[0],
                         r"\nfamily: gemma3_text\nConfig: none is needed to run it; the nearest Config, demo, differs in .*320")
        self.refused(1, r".*token_embd.weight: expected shape \[\d+, 320\], found \[\d+, 256\]",
                     "generate", "--model", path, "--prompt", "x")
        for values, pattern in (({"general.architecture": "mpt"}, '.*general.architecture is "mpt"; Skald supp'),
                                ({"gemma3.block_count": None}, ".*gemma3.block_count is missing or null")):
            out, _ = self.run_skald("inspect", self.changed(values))
            self.assertRegex(out, rf"\nConfig: none: .*changed.gguf: {pattern}")
            self.refused(1, rf".*changed.gguf: {pattern}", "generate", "--model", self.changed(values), "--prompt", "x")

    def test_a_context_that_is_no_number_is_none(self):
        for context in (b"\xff\xfe", "many", 0, 1.5, [1]):
            path = self.changed({"gemma3.context_length": context})
            self.assertIn("\nConfig: demo\n", self.run_skald("inspect", path)[0])
            self.assertIn(" of 8192, ", self.run_skald("generate", "--model", path, "--prompt", "x", "-n", 1)[1])

    def test_tokenizers_that_are_none(self):
        for values, pattern in (({"tokenizer.ggml.model": "syllables"}, '.*tokenizer.ggml.model is "syllables"'),
                                ({"tokenizer.ggml.scores": None}, ".*tokenizer.ggml.scores is missing")):
            path = self.changed(values)
            self.refused(1, rf".*changed.gguf: metadata: {pattern}", "generate", "--model", path, "--prompt", "x")
            out, _ = self.run_skald("generate", "--model", path, "--token-ids", "2,300", "-n", 3, "--temperature", 0)
            self.assertRegex(out, r"\A2,300,")
            self.run_skald("generate", "--model", path, "--tokenizer", DEMO / "tokenizer.model", "--prompt", "x", "-n", 3)

    def test_a_converted_folder_is_the_same_model(self):
        file = self.folder / "converted.gguf"
        out, _ = self.run_skald("convert", DEMO, file)
        self.assertRegex(out, r"converted.gguf: \d+ bytes, tensors: 29 BF16 25 F32\n\Z")
        options = ["--prompt", "And the LORD said", "-n", 30, "--seed", 5]
        self.assertEqual(self.run_skald("generate", "--model", file, *options)[0],
                         self.run_skald("generate", "--model", DEMO, *options)[0])

    def test_quantised_files_lose_little_and_take_less(self):
        text = self.folder / "text.txt"
        text.write_text("And it came to pass, that the king of Israel went out against the Philistines. " * 20)

        def quantised(kind, *options):
            path = self.folder / (kind + ".gguf")
            _, err = self.run_skald("quantize", self.file, path, "--type", kind, *options)
            out, _ = self.run_skald("generate", "--model", path, "--perplexity", text, "--max-context", 512)
            return path.stat().st_size, float(re.search(r"[\d.]+", out.split("perplexity")[-1])[0]), err

        whole, best, _ = quantised("bf16")
        size, last = whole, best
        for kind in ("q8_0", "q6_k", "q5_k_m", "q4_k_m"):
            less, perplexity, err = quantised(kind)
            self.assertEqual(err, "")
            self.assertLess(less, size, kind)
            self.assertLess(perplexity, best * 1.3, kind)
            size = less
        again = self.folder / "again.gguf"
        _, err = self.run_skald("quantize", self.folder / "q4_k_m.gguf", again, "--type", "q8_0")
        self.assertIn("tensors were quantised before (Q", err)

    def test_an_importance_matrix_makes_few_bits_better(self):
        text, matrix = self.folder / "text.txt", self.folder / "imatrix.gguf"
        text.write_text("And it came to pass, that the king of Israel went out against the Philistines. " * 40)
        out, _ = self.run_skald("imatrix", self.file, text, matrix, "--chunk-tokens", 128, "--chunks", 3)
        self.assertRegex(out, r"imatrix.gguf: 28 matrices, 3 pieces of 128 tokens\n\Z")

        def perplexity(*options):
            path = self.folder / "few.gguf"
            _, err = self.run_skald("quantize", self.file, path, "--type", "q3_k_s", *options)
            out, _ = self.run_skald("generate", "--model", path, "--perplexity", text, "--max-context", 512)
            return float(re.search(r"[\d.]+", out.split("perplexity")[-1])[0]), err

        without, _ = perplexity()
        better, err = perplexity("--imatrix", matrix)
        self.assertEqual(err, "")
        self.assertLess(better, without)
        self.refused(1, ".*expected at least 4096", "imatrix", self.file, text, matrix, "--chunk-tokens", 4096)
        self.refused(1, ".*text.txt: no importance matrix", "quantize", self.file, self.folder / "x.gguf", "--imatrix", text)

    def test_quantising_what_cannot_be(self):
        out = self.folder / "out.gguf"
        self.refused(1, ".*type 'q9': expected one of q2_k_s, ", "quantize", self.file, out, "--type", "q9")
        self.refused(1, ".*--output-type: unknown type 'x'", "quantize", self.file, out, "--output-type", "x")
        self.refused(1, ".*cannot be written as IQ1_S", "quantize", self.file, out, "--output-type", "iq1_s")
        self.refused(1, ".*no-such: ", "quantize", self.folder / "no-such", out)
        self.refused(1, ".*no-such", "quantize", self.file, self.folder / "no-such" / "out.gguf")
        self.refused(2, ".*", "quantize", self.file)
        self.refused(2, ".*--type", "convert", DEMO, out, "--type", "q4_0")
        self.assertFalse(out.exists())

    def test_damaged_files(self):
        whole = self.content
        path = self.folder / "damaged.gguf"
        for size in (4, 7, 23, 100, 40000, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:size])
            for command in ("inspect", "generate"):
                arguments = [command, "--model", path] if command == "generate" else [command, path]
                self.refused(1, ".*damaged.gguf: ", *arguments)
        self.refused(1, "no-such-file.gguf: ", "inspect", "no-such-file.gguf")
        self.refused(1, ".*/README.md: not a safetensors file", "inspect", DEMO / "README.md")

    def test_tensors_that_do_not_fit(self):
        fewer = {name: tensor for name, tensor in self.tensors.items() if name != "blk.1.attn_k.weight"}
        self.refused(1, ".*blk.1.attn_k.weight: expected a tensor of shape .*, found none", "generate", "--model",
                     self.changed({}, fewer), "--prompt", "x")
        integers = self.tensors | {"output_norm.weight": (26, [256], bytes(1024))}
        self.refused(1, ".*output_norm.weight: expected .*, found 'I32'", "generate", "--model",
                     self.changed({}, integers), "--prompt", "x")


if __name__ == "__main__":
    unittest.main()
