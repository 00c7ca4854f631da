#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`skald embed` and `skald rank` with small encoders of random weights.

usage: encoders_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import json
import math
import pathlib
import signal
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path("tests/support").resolve()))
import tiny_encoder  # noqa: E402
from skald_program import PROGRAM, TestCase, Terminal  # noqa: E402

TEXTS = ["And God said, Let there be light", "light", "the waters", "And the evening and the morning were the first day"]


def lines(texts):
    return "".join(text + "\n" for text in texts)


def read_array(path):
    """(descr, shape, bytes) of an array in numpy's format."""
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    size = struct.unpack("<H", data[8:10])[0]
    assert (10 + size) % 64 == 0
    head = eval(data[10:10 + size])  # a dictionary of Python's, as the format has it
    assert not head["fortran_order"]
    return head["descr"], head["shape"], data[10 + size:]


class Encoders(TestCase):
    def setUp(self):
        super().setUp()
        self.model = tiny_encoder.write_encoder(self.folder / "model")

    def embed(self, *arguments, stdin=lines(TEXTS)):
        out, _ = self.run_skald("embed", self.model, "--f32", *arguments, stdin=stdin)
        return [json.loads(line) for line in out.splitlines()]

    def test_lines_become_lines(self):
        rows = self.embed()
        self.assertEqual([row["index"] for row in rows], [0, 1, 2, 3])
        self.assertEqual([len(row["embedding"]) for row in rows], [tiny_encoder.DIMENSION] * 4)
        for row in rows:
            self.assertAlmostEqual(sum(x * x for x in row["embedding"]), 1, places=5)
        out, _ = self.run_skald("tokenize", "--model", self.model, "--add-special", "--ids", TEXTS[0])
        self.assertEqual(rows[0]["tokens"], len(out.split(",")))

    def test_a_text_has_one_embedding_whatever_stands_beside_it(self):
        rows = [row["embedding"] for row in self.embed()]
        self.assertEqual([row["embedding"] for row in self.embed("-t", 2, stdin=lines(TEXTS[::-1] * 80))], rows[::-1] * 80)
        self.assertEqual(self.embed(stdin=TEXTS[2])[0]["embedding"], rows[2])
        (self.folder / "a.txt").write_text(lines(TEXTS[:2]))
        (self.folder / "b.txt").write_text(lines(["", *TEXTS[2:], ""]))
        self.assertEqual([row["embedding"] for row in self.embed(self.folder / "a.txt", self.folder / "b.txt")], rows)
        whole = self.embed("--whole", self.folder / "a.txt")
        self.assertEqual(len(whole), 1)

    def test_arrays(self):
        rows, path = self.embed(), self.folder / "all.npy"
        self.assertEqual(self.embed("-o", path), [])
        descr, shape, data = read_array(path)
        self.assertEqual((descr, shape), ("<f4", (4, tiny_encoder.DIMENSION)))
        flat = [struct.unpack("<f", struct.pack("<f", x))[0] for row in rows for x in row["embedding"]]
        self.assertEqual(list(struct.unpack(f"<{len(flat)}f", data)), flat)
        self.embed("-o", path, "--form", "binary")
        descr, shape, data = read_array(path)
        self.assertEqual((descr, shape), ("|u1", (4, tiny_encoder.DIMENSION // 8)))
        bits = [1 if x > 0 else 0 for row in rows for x in row["embedding"]]
        self.assertEqual([byte >> (7 - i) & 1 for byte in data for i in range(8)], bits)

    def test_forms_and_dimensions(self):
        rows = self.embed("--no-normalize")
        codes = self.embed("--no-normalize", "--form", "int8")
        for row, code in zip(rows, codes):
            self.assertEqual(max(map(abs, code["embedding"])), 127)
            for value, number in zip(row["embedding"], code["embedding"]):
                self.assertAlmostEqual(value, number * code["scale"], delta=code["scale"] * 0.51)
        cut = self.embed("--no-normalize", "--dimensions", 8)
        self.assertEqual([row["embedding"] for row in cut], [row["embedding"][:8] for row in rows])
        first = self.embed("--pooling", "cls")
        self.assertNotEqual(first[0]["embedding"], rows[0]["embedding"])

    def test_prompts(self):
        named = self.embed("--prompt-name", "query", stdin="light")
        given = self.embed("--prompt", tiny_encoder.PROMPTS["query"], stdin="light")
        self.assertEqual(named, given)
        self.assertEqual(self.embed(stdin=tiny_encoder.PROMPTS["query"] + "light")[0]["embedding"], named[0]["embedding"])
        self.refused(1, ".*no-such", "embed", self.model, "--prompt-name", "no-such", __file__)

    def test_long_texts(self):
        (self.folder / "long").write_text("light " * 200 + "\n")
        long = self.folder / "long"
        self.refused(1, ".*(202|too long|longer)", "embed", self.model, long)
        cut = self.embed("--long", "cut", long)
        self.assertEqual(cut[0]["tokens"], tiny_encoder.POSITIONS)
        self.assertNotEqual(self.embed("--long", "windows", long)[0]["embedding"], cut[0]["embedding"])

    def test_ranking_orders_documents_and_keeps_the_order_of_equal_ones(self):
        documents = [*TEXTS, TEXTS[1]]
        out, _ = self.run_skald("rank", self.model, "light", stdin=lines(documents))
        rows = [line.split("\t") for line in out.splitlines()]
        self.assertEqual(sorted(row[2] for row in rows), sorted(documents))
        scores = [float(row[0]) for row in rows]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertLess([row[1] for row in rows].index("1"), [row[1] for row in rows].index("4"))
        self.run_skald("rank", self.model, "light", "--top", 2, "--json", stdin=lines(documents))
        out, _ = self.run_skald("rank", self.model, "light", "--top", 2, "--json", stdin=lines(documents))
        self.assertEqual([json.loads(line)["index"] for line in out.splitlines()], [int(row[1]) for row in rows[:2]])

    def test_rerankers(self):
        reranker = tiny_encoder.write_reranker(self.folder / "reranker")
        out, _ = self.run_skald("rank", "--model", reranker, "light", "--json", stdin=lines(TEXTS))
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertTrue(all(0 < row["score"] < 1 for row in rows))
        out, _ = self.run_skald("rank", "--model", reranker, "light", "--json", "--raw", stdin=lines(TEXTS))
        raw = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([row["index"] for row in raw], [row["index"] for row in rows])
        for one, other in zip(rows, raw):
            self.assertAlmostEqual(one["score"], 1 / (1 + math.exp(-other["score"])), places=5)
        self.refused(1, ".*rank", "embed", reranker, __file__)

    def test_texts_of_a_pipe_are_embedded_as_they_come(self):
        with subprocess.Popen([PROGRAM, "embed", self.model, "--f32"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as process:
            for i, text in enumerate(TEXTS):
                process.stdin.write((text + "\n").encode())
                process.stdin.flush()
                self.assertEqual(json.loads(process.stdout.readline())["index"], i)
            process.send_signal(signal.SIGINT)  # while it waits for a text
            self.assertEqual(process.wait(), 130)

    def test_an_array_of_a_pipe(self):
        path = self.folder / "piped.npy"
        self.embed("-o", path, stdin=lines(TEXTS * 100))
        self.assertEqual(read_array(path)[1], (400, tiny_encoder.DIMENSION))

    def test_errors_count_all_texts(self):
        (self.folder / "many").write_text(lines(["light"] * 600 + ["light " * 200]))
        many = self.folder / "many"
        self.refused(1, "text 600: it has 202 tokens", "embed", self.model, many, "-o", self.folder / "out.jsonl")
        self.assertFalse((self.folder / "out.jsonl").exists())
        self.refused(1, "text 600: it has 202 tokens", "rank", self.model, "light", many)
        self.refused(1, ".*not a folder", "embed", self.model, self.folder)
        self.refused(1, ".*no such file", "embed", self.model, self.folder / "nothing")

    def rank(self, model, wanted, *arguments):
        out, _ = self.run_skald("rank", "--model", model, wanted["query"], "--json", "--f32", *arguments,
                                stdin=lines(wanted["documents"]))
        return {row["index"]: row["score"] for row in map(json.loads, out.splitlines())}

    def test_scores_are_those_of_the_originals(self):
        of_bert, of_judge = tiny_encoder.ranks_of("bert"), tiny_encoder.ranks_of("judge")
        bert = tiny_encoder.write_reranker(self.folder / "bert")
        judge = tiny_encoder.write_judge(self.folder / "judge")
        silent = tiny_encoder.write_judge(self.folder / "silent", says_so=False)
        for model, wanted, name, arguments in [(bert, of_bert, "scores", []), (bert, of_bert, "raw", ["--raw"]),
                                               (judge, of_judge, "scores", []),
                                               (silent, of_judge, "scores", ["--yes-or-no"]),
                                               (judge, of_judge, "instructed", ["--instruction", of_judge["instruction"]])]:
            scores = wanted[name]
            given = self.rank(model, wanted, *arguments)
            for i, score in enumerate(scores):
                self.assertAlmostEqual(given[i], score, places=5)
            self.assertEqual(list(given), sorted(range(len(scores)), key=lambda i: -scores[i]))
        self.refused(1, ".*no token.*yes.*no", "rank", "examples/demo_model", "light", "--yes-or-no", __file__)

    def test_embeddings_of_tokens(self):
        colbert = tiny_encoder.write_colbert(self.folder / "colbert")
        out, _ = self.run_skald("embed", colbert, "--f32", stdin=lines(TEXTS))
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([len(row["embeddings"]) for row in rows], [row["tokens"] for row in rows])
        self.assertEqual({len(one) for row in rows for one in row["embeddings"]}, {tiny_encoder.TOKEN_DIMENSION})
        self.refused(1, ".*npy", "embed", colbert, "-o", self.folder / "x.npy", __file__)

    def test_progress_is_shown_on_a_terminal(self):
        (self.folder / "texts").write_text(lines(TEXTS))
        terminal = Terminal(self, "embed", self.model, self.folder / "texts", "-o", self.folder / "out.jsonl")
        terminal.wait_for("100% of 4 texts")
        self.assertEqual(terminal.exit_code(), 0)
        self.assertEqual(len((self.folder / "out.jsonl").read_text().splitlines()), 4)

    def test_mistakes_are_named(self):
        self.refused(2, "MODEL", "embed")
        self.refused(2, "MODEL and QUERY", "rank", self.model)
        (self.folder / "empty").write_text("\n")
        self.refused(1, ".*no text", "embed", self.model, self.folder / "empty")
        self.refused(1, ".*int8", "embed", self.model, "--form", "int8", "-o", self.folder / "x.npy", __file__)
        self.refused(1, ".*pooling", "embed", self.model, "--pooling", "best", __file__)
        self.refused(1, ".*no logits", "rank", self.model, "light", "--yes-or-no", __file__)


if __name__ == "__main__":
    unittest.main()
