#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`skald bench`: what it measures, not how fast.

usage: bench_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import csv
import io
import json
import os
import re
import resource
import sqlite3
import subprocess
import time
import unittest

from skald_program import DEMO, PROGRAM, TIMEOUT, TestCase

ONE_ROW = ("-p", 4, "-n", 0, "-t", 1, "-r", 1)
FACTS = {"date": str, "skald": str, "build_commit": str, "compiler": str, "cpu": str, "cpu_family": str, "cpus": int,
         "governor": str, "transparent_huge_pages": str, "model": str, "model_bytes": int, "parameters": int,
         "weights": str, "simd": str, "threads": int, "name": str, "tokens_per_second": float, "peak_memory_bytes": int,
         "weights_in_huge_pages_bytes": int, "counters": str, "energy": str}


class Bench(TestCase):
    def test_every_combination_is_a_row_of_the_table_and_of_the_json(self):
        json_file = self.folder / "bench.json"
        out, _ = self.run_skald("bench", "--shape", "demo", "-p", "8", "-n", "4", "-d", "0,32", "-b", "1,3", "-t", 1,
                                "-r", 2, "--json", json_file)
        tests = re.findall(r"^\| demo \| BF16 \| \w+ \| 1 \| ([^|]+) \| [\d.]+ \| [\d.]+ % \| (?:\d+ %|weights fit the cache) \|", out, re.MULTILINE)
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
        self.assertGreater(limits["read_bytes_per_second"], 0)

    def test_each_measurement_waits(self):
        start = time.monotonic()
        self.run_skald("bench", *ONE_ROW, "-d", "0,8", "--delay", 0.7)
        self.assertGreater(time.monotonic() - start, 1.4)
        self.refused(2, "--delay: ", "bench", "--delay", -1)

    def test_a_model_in_several_types(self):
        for arguments in ((), ("--dtype", "f32,bf16")):
            out, _ = self.run_skald("bench", "-p", 4, "-n", 0, "-t", 1, "-r", 1, *arguments)
            types = re.findall(r"^\| demo \| (\w+) \|", out, re.MULTILINE)
            self.assertEqual(types, ["F32", "BF16"] if arguments else ["BF16"])

    def test_a_cache_of_another_type(self):
        out, _ = self.run_skald("bench", "-p", 4, "-n", 0, "-t", 1, "-r", 1, "--kv-type", "i8")
        self.assertIn("| pp4, cache I8 |", out)

    def check_facts(self, record):
        for name, kind in FACTS.items():
            self.assertIsInstance(record[name], kind, name)
        self.assertRegex(record["date"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z")
        self.assertEqual((record["model"], record["weights"], record["name"]), ("demo", "BF16", "pp4"))
        self.assertGreater(record["parameters"], 3e6)
        self.assertGreater(record["model_bytes"], record["parameters"])
        self.assertGreater(record["peak_memory_bytes"], record["model_bytes"])
        for column, state in (("cycles_per_token", "counters"), ("joules_per_token", "energy")):
            if record[state] != "read":
                self.assertIn(record[state], ("refused", "missing", "unsupported"))
                self.assertNotIn(column, record)

    def test_every_form_has_the_facts(self):
        [line] = self.run_skald("bench", *ONE_ROW, "-o", "jsonl")[0].splitlines()
        record = json.loads(line)
        self.check_facts(record)
        [row] = json.loads(self.run_skald("bench", *ONE_ROW, "-o", "json")[0])["rows"]
        self.check_facts(row)
        [row] = csv.DictReader(io.StringIO(self.run_skald("bench", *ONE_ROW, "-o", "csv")[0]))
        self.assertEqual(set(row), set(record))
        self.check_facts({name: FACTS.get(name, str)(value) for name, value in row.items()})
        database = sqlite3.connect(":memory:")
        database.row_factory = sqlite3.Row
        for _ in range(2):  # rows of several runs fit one table
            database.executescript(self.run_skald("bench", *ONE_ROW, "-o", "sql")[0])
        rows = list(database.execute("SELECT * FROM skald_bench"))
        self.assertEqual(len(rows), 2)
        self.check_facts({name: rows[0][name] for name in rows[0].keys() if rows[0][name] is not None})
        markdown = self.run_skald("bench", *ONE_ROW)[0]
        for text in (record["cpu"], record["cpu_family"], record["governor"], record["build_commit"], record["compiler"],
                     "load at the start", "transparent huge pages", "hardware counters, energy", "peak memory", "MiB"):
            self.assertIn(text, markdown)

    def test_several_models_in_a_run(self):
        copy = self.copy_of_demo()
        lines = self.run_skald("bench", *ONE_ROW, "-m", DEMO, "-m", copy, "-o", "jsonl")[0].splitlines()
        self.assertEqual([json.loads(line)["model_file"] for line in lines], ["demo_model", "model"])
        lines = self.run_skald("bench", *ONE_ROW, "--shape", "demo,stories260k", "-o", "jsonl")[0].splitlines()
        self.assertEqual([json.loads(line)["model"] for line in lines], ["demo", "stories260k"])
        # Nothing is measured before all of them are known to be there.
        self.refused(1, "/nonexistent: no such", "bench", *ONE_ROW, "-m", DEMO, "-m", "/nonexistent")

    def test_a_prompt_and_tokens_after_it(self):
        out, _ = self.run_skald("bench", "-p", 0, "-n", 0, "-pg", "8,4", "-pg", "4,2", "-d", "0,16", "-t", 1, "-r", 1,
                                "-o", "jsonl")
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([row["name"] for row in rows], ["pp8+tg4", "pp4+tg2", "pp8+tg4 @ 16", "pp4+tg2 @ 16"])
        self.assertEqual((rows[0]["test"], rows[0]["tokens"]), ("both", 12))
        for text in ("5", "5,", "0,4", "4,0", "a,b", "1,2,3"):
            self.refused(2, f"-pg: expected PROMPT,GENERATED, .*got {text}", "bench", "-pg", text)

    def test_records_are_added_to_a_file(self):
        records = self.folder / "records.jsonl"
        for _ in range(2):
            self.run_skald("bench", *ONE_ROW, "--record", records)
        self.assertEqual([json.loads(line)["name"] for line in records.read_text().splitlines()], ["pp4", "pp4"])

    def test_files_that_cannot_be_written_are_told_first(self):
        long = ("bench", "-p", 8192, "-n", 0, "-r", 1000)  # would take longer than a test may
        for option in ("--json", "--record"):
            self.refused(1, "/nonexistent/file: No such file or directory", *long, option, "/nonexistent/file")
            self.refused(1, f"{self.folder}: Is a directory", *long, option, self.folder)
            kept = self.folder / "kept"
            kept.write_text("before")
            done = subprocess.run([PROGRAM, *map(str, long), option, kept], capture_output=True, text=True, timeout=TIMEOUT,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("kept: File too large", done.stderr)
            self.assertEqual(kept.read_text(), "before")
        with open("/dev/full", "w") as full:
            for form in ("md", "csv", "json", "sql"):
                done = subprocess.run([PROGRAM, *map(str, long), "-o", form], stdout=full, stderr=subprocess.PIPE, timeout=TIMEOUT)
                self.assertEqual(done.returncode, 1)

    def test_weights_that_fit_the_cache_have_no_share_of_the_limit(self):
        out, errors = self.run_skald("bench", "-p", 0, "-n", 4, "-t", 1, "-r", 1, "-o", "jsonl")
        record = json.loads(out)
        if not record["weights_fit_cache"]:
            self.skipTest("SKIPPED: the caches are small here, or unknown")
        self.assertIn("warning: the weights of demo (7.0 MiB) fit the last-level cache", errors)

    @unittest.skipUnless(hasattr(os, "sched_getaffinity"), "SKIPPED: this system keeps no threads to CPUs")
    def test_threads_keep_to_cpus(self):
        cpus = sorted(os.sched_getaffinity(0))
        out, _ = self.run_skald("bench", "-p", 4, "-n", 0, "-r", 1, "--cpus", cpus[0], "-o", "jsonl")
        record = json.loads(out)
        self.assertEqual(record["threads"], 1)
        self.assertEqual(record["pinned_to"], str(cpus[0]) if record["cpus"] > 1 else "")
        self.refused(1, r"(there is no|this process may not use) CPU 8000.*, only [\d,-]+", "bench", *ONE_ROW, "--cpus", f"{cpus[0]},8000")
        self.refused(1, "there is no NUMA node 900 with CPUs here", "bench", *ONE_ROW, "--numa-nodes", 900)
        for text in ("3-1", "a", "0-", "1,,2"):
            self.refused(2, f"--cpus: expected numbers such as 0-3,8, got {text}", "bench", "--cpus", text)
        self.refused(2, "--cpus excludes", "bench", "--cpus", 0, "--ranks")

    def test_a_busy_machine_is_told(self):
        """Beside as many busy programs as there are CPUs."""
        busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(os.cpu_count() or 1)]
        try:
            out, errors = self.run_skald("bench", "-p", 0, "-n", 256, "-t", 1, "-r", 20, "-o", "jsonl")
        finally:
            for program in busy:
                program.kill()
                program.wait()
        if json.loads(out)["other_cpus_busy"] is None:
            self.skipTest("SKIPPED: this system does not say how busy others are")
        self.assertRegex(errors, r"warning: other programs were busy while 1 of 1 rows were measured, at most on [\d.]+ CPUs")


if __name__ == "__main__":
    unittest.main()
