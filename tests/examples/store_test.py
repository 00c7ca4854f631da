#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`skald store` on a folder of two chunks.

usage: store_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import os
import pathlib
import unittest

from skald_program import TestCase, skald

# Two chunks as format version 1 has them: a pointer, and 1000 bytes of tokens' state, split and compressed.
POINTER_KEY = "1cdf95bd12e993d5aaf216f5f4ac1148b4b003ed0a253b781b25866eeaa27af3"
POINTER = bytes.fromhex("536b616c6443686b010004000000000020000000000000002000000000000000" + POINTER_KEY +
                        "be42de1b499ba224" + "70" * 32)
TOKENS_KEY = "c51e455b41df6c017327e16001dd064b8b6733faeaa69b23d9bd79c8079237d5"
TOKENS = bytes.fromhex("536b616c6443686b0100010103000000e8030000000000003600000000000000" + TOKENS_KEY +
                       "64fe177877ec5d7813000000000000001300000000000000" +
                       "28b52ffd60f4004d00001074740100ef2ac002" * 2)


class Store(TestCase):
    def setUp(self):
        super().setUp()
        if "built without" in skald("store", "tests").stderr:
            self.skipTest("this program was built without skald::store")
        self.pointer = self.put(POINTER_KEY, POINTER, last_used=2_000_000_000)
        self.tokens = self.put(TOKENS_KEY, TOKENS, last_used=1_000_000_000)

    def put(self, key, value, last_used):
        path = self.folder / key[:2] / key
        path.parent.mkdir()
        path.write_bytes(value)
        os.utime(path, (last_used, last_used))
        return path

    def test_list(self):
        out, err = self.run_skald("store", self.folder)
        self.assertEqual([line.split() for line in out.splitlines()], [
            [TOKENS_KEY, "tokens", "126", "1000", "split+zstd"],
            [POINTER_KEY, "pointer", "104", "32", "none"],
            "2 chunks, 230 bytes, 1032 bytes of content".split()])
        self.assertEqual(err, "")
        self.assertEqual(out, self.run_skald("store", self.folder)[0])  # a look is no use

    def test_verify(self):
        self.assertEqual(self.run_skald("store", self.folder, "--verify")[0],
                         "whole: 2 chunks, 230 bytes; damaged: 0 chunks, 0 bytes\n")
        self.tokens.write_bytes(TOKENS[:-1] + b"!")
        done = skald("store", self.folder, "--verify")
        self.assertEqual((done.returncode, done.stdout),
                         (1, "whole: 1 chunk, 104 bytes; damaged: 1 chunk, 126 bytes\n"))
        self.assertRegex(done.stderr, rf"\Askald: chunk {TOKENS_KEY} is damaged: checksum: .*\n\Z")

    def test_what_is_no_chunk(self):
        self.tokens.write_bytes(b"")
        out, err = self.run_skald("store", self.folder)
        self.assertIn(f"{TOKENS_KEY} damaged", out)
        self.assertIn("2 chunks, 104 bytes, 32 bytes of content", out)
        self.assertRegex(err, rf"\Askald: chunk {TOKENS_KEY} is damaged: expected at least 72 bytes, found 0\n\Z")

    def test_prune(self):
        self.assertEqual(self.run_skald("store", self.folder, "--prune", "230")[0], "dropped: 0 chunks, 0 bytes\n")
        self.assertEqual(self.run_skald("store", self.folder, "--prune", "229", "--verify")[0],
                         "dropped: 1 chunk, 126 bytes\nwhole: 1 chunk, 104 bytes; damaged: 0 chunks, 0 bytes\n")
        self.assertTrue(self.pointer.exists())
        self.run_skald("store", self.folder, "--prune", "0")
        self.assertEqual(self.run_skald("store", self.folder)[0], "0 chunks, 0 bytes, 0 bytes of content\n")

    def test_folders_that_are_none(self):
        for folder, pattern in (("no-such-folder", "no-such-folder: no such folder"),
                                (self.tokens, ".*: Not a directory")):
            done = skald("store", folder)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, rf"\Askald: {pattern}\n\Z")
        self.assertFalse(pathlib.Path("no-such-folder").exists())


if __name__ == "__main__":
    unittest.main()
