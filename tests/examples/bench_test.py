#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`skald bench`: what it measures, not how fast.

usage: bench_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import json
import re
import unittest

from skald_program import TestCase


class Bench(TestCase):
    def test_every_combination_is_a_row_of_the_table_and_of_the_json(self):
        json_file = self.folder / "bench.json"
        out, _ = self.run_skald("bench", "--shape", "demo", "-p", "8", "-n", "4", "-d", "0,32", "-b", "1,3", "-t", 1,
                                "-r", 2, "--json", json_file)
        tests = re.findall(r"^\| demo \| BF16 \| \w+ \| 1 \| ([^|]+) \| [\d.]+ \| [\d.]+ % \| \d+ % \|$", out, re.MULTILINE)
        self.assertEqual(tests, ["pp8", "tg4", "tg4 x 3", "pp8 @ 32", "tg4 @ 32", "tg4 @ 32 x 3"])
        self.assertRegex(out, r"\| \w+ \| 1 \| [\d.]+ \| \d+ \| \d+ \| \d+ \|\n\Z")
        results = json.loads(json_file.read_text())
        self.assertEqual([(row["test"], row["depth"], row["sequences"]) for row in results["rows"]],
                         [("prefill", 0, 1), ("decode", 0, 1), ("decode", 0, 3),
                          ("prefill", 32, 1), ("decode", 32, 1), ("decode", 32, 3)])
        for row in results["rows"]:
            self.assertEqual(len(row["samples"]), 2)
            self.assertGreater(row["limit_tokens_per_second"], 0)
        [limits] = results["limits"]
        self.assertGreater(limits["read_bytes_per_second"], 1e8)

    def test_a_model_in_several_types(self):
        for arguments in ((), ("--dtype", "f32,bf16")):
            out, _ = self.run_skald("bench", "-p", 4, "-n", 0, "-t", 1, "-r", 1, *arguments)
            types = re.findall(r"^\| demo \| (\w+) \|", out, re.MULTILINE)
            self.assertEqual(types, ["F32", "BF16"] if arguments else ["BF16"])

    def test_a_cache_of_another_type(self):
        out, _ = self.run_skald("bench", "-p", 4, "-n", 0, "-t", 1, "-r", 1, "--kv-type", "i8")
        self.assertIn("| pp4, cache I8 |", out)


if __name__ == "__main__":
    unittest.main()
