#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What outlives a run of the skald program: conversations in files, prompts in a folder.

usage: saved_state_test.py FOLDER

FOLDER is where the examples are built. Runs in the repository's root.
"""
import re
import unittest

import skald_program

PROMPT = "And it came to pass in those days, that the king of Israel went up to the house of the LORD, " * 3


class TestCase(skald_program.TestCase):
    def skald(self, *arguments, stdin="", status=0):
        done = skald_program.skald(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout, done.stderr


class PromptCache(TestCase):
    def generate(self, prompt, *options):
        out, err = self.skald("generate", "--prompt", prompt, "-n", 20, "--seed", 3, *options)
        known = re.search(r"\((\d+) known before\)", err)
        return out, int(known[1]) if known else 0

    def test_a_prompt_is_computed_once(self):
        cache = ("--prompt-cache", self.folder / "prompts")
        expected, _ = self.generate(PROMPT)
        self.assertEqual(self.generate(PROMPT, *cache), (expected, 0))
        again, known = self.generate(PROMPT, *cache)
        self.assertEqual(again, expected)
        self.assertGreater(known, 60)

    def test_prompts_that_begin_alike_share_what_they_can(self):
        cache = ("--prompt-cache", self.folder / "prompts")
        self.generate(PROMPT, *cache)
        longer = PROMPT + "and all the people"
        text, known = self.generate(longer, *cache)
        self.assertEqual(text, self.generate(longer)[0])
        self.assertGreater(known, 60)

    def test_other_weights_share_nothing(self):
        cache = ("--prompt-cache", self.folder / "prompts")
        self.generate(PROMPT, *cache)
        self.assertEqual(self.generate(PROMPT, "--f32", *cache)[1], 0)

    def test_a_folder_that_is_none(self):
        file = self.folder / "file"
        file.write_text("")
        _, err = self.skald("generate", "--prompt-cache", file, status=1)
        self.assertIn(str(file), err)


class Sessions(TestCase):
    def chat(self, *lines, options=(), status=0):
        return self.skald("chat", "-n", 30, *options, stdin="\n".join(lines) + "\n", status=status)

    def test_a_chat_goes_on_as_if_it_had_never_stopped(self):
        whole, _ = self.chat("And the king said", "unto the people", "of the land", options=("--seed", 4))
        session = ("--session", self.folder / "chat.skald")
        first, _ = self.chat("And the king said", options=("--seed", 4, *session))
        second, err = self.chat("unto the people", options=session)  # the seed comes with the session
        self.assertIn("1 messages", err)
        third, _ = self.chat("of the land", options=(*session, "--threads", 1))
        self.assertEqual(first + second + third, whole)

    def test_undo_reaches_back_beyond_the_stop(self):
        session = ("--session", self.folder / "chat.skald")
        self.chat("And the king said", "unto the people", options=session)
        _, err = self.chat("/undo", "/undo", "/undo", options=session)
        self.assertIn("there is no message to take back", err)
        self.assertIn("context 0 of", err)

    def test_save_load_fork_and_list(self):
        one, two = self.folder / "one.skald", self.folder / "two.skald"
        _, err = self.chat("And the king said", f"/save {one}", "unto the people", f"/load {one}", "/sessions",
                           f"/fork {two}", "of the land")
        self.assertIn(f"going on from {one}: 1 messages", err)
        self.assertIn("one.skald (this one)", err)
        self.assertTrue(two.exists())  # written at the end too: it is the chat's file now
        _, err = self.chat("/sessions", options=("--session", two))
        self.assertIn("2 messages", err)
        self.assertIn("one.skald]", err)
        _, err = self.chat("", options=("--session", one))
        self.assertIn("1 messages", err)

    def test_what_cannot_be_loaded_is_left_alone(self):
        session = self.folder / "chat.skald"
        self.chat("And the king said", options=("--session", session))
        saved = session.read_bytes()
        session.write_bytes(saved[:-1])
        _, err = self.chat("", options=("--session", session), status=1)
        self.assertIn(str(session), err)
        self.assertEqual(session.read_bytes(), saved[:-1])
        session.write_bytes(saved)

        model = self.copy_of_demo()
        weights = bytearray((model / "model.safetensors").read_bytes())
        weights[-1] ^= 1
        (model / "model.safetensors").write_bytes(weights)
        _, err = self.chat("", options=("--model", model, "--session", session), status=1)
        self.assertIn("other weights", err)
        _, err = self.chat(f"/load {self.folder / 'absent'}", "/load", "/save")
        self.assertIn("absent", err)
        self.assertIn("/load needs the name of a file", err)
        self.assertIn("/save needs the name of a file", err)


if __name__ == "__main__":
    unittest.main()
