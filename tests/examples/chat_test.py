#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`skald chat` with the demo model, as a user would talk with it.

usage: chat_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import json
import re
import unittest

from skald_program import NO_END, Terminal, TestCase


class Chat(TestCase):
    OPTIONS = ("--max-tokens", 12, "--seed", 2)

    def chat(self, *lines, options=OPTIONS):
        return self.run_skald("chat", *options, stdin="".join(line + "\n" for line in lines))

    def context(self, *lines):
        """Returns how many tokens the conversation has at its end."""
        return int(re.search(r"context (\d+) of", self.chat(*lines)[1])[1])

    def test_turns(self):
        out, err = self.chat("And the king said", "", "unto the people", "/quit", "not seen")
        self.assertEqual(len(out.splitlines()), 2)
        self.assertIn("demo continues what you write; see --chat-template", err)
        self.assertRegex(err, r"\[demo: prompt \d+ tokens .*generated \d+ tokens .*seed 2\]\n\Z")
        self.assertEqual(out, self.chat("And the king said", "unto the people")[0])

    def test_a_turn_computes_only_its_own_tokens(self):
        prompts = [int(re.search(r"prompt (\d+) tokens", self.chat(*["And he said"] * turns)[1])[1]) for turns in (1, 2, 3)]
        self.assertLess(prompts[2] - prompts[1], 8)

    def test_undo(self):
        once = self.context("And the king said")
        self.assertEqual(once, self.context("And the king said", "unto the people", "/undo"))
        self.assertEqual(0, self.context("And the king said", "/undo"))
        self.assertIn("[there is no message to take back]", self.chat("/undo")[1])

    def test_undo_beyond_what_a_window_keeps(self):
        long = ("--max-tokens", 150, "--seed", 2, "--logit-bias", NO_END)
        def context(*lines):
            return int(re.search(r"context (\d+) of", self.chat(*lines, options=long)[1])[1])
        once = context("And the king said")
        self.assertGreater(once, 150)
        self.assertEqual(once, context("And the king said", "unto the people", "/undo"))
        self.assertEqual(0, context("And the king said", "unto the people", "/undo", "/undo"))

    def test_clear(self):
        self.assertEqual(0, self.context("And the king said", "unto the people", "/clear"))
        self.assertIn("[there is no message to take back]", self.chat("And", "/clear", "/undo")[1])

    def test_unknown_commands_are_explained(self):
        self.assertRegex(self.chat("/forget")[1], r"there is no command /forget; /undo .*, /clear .*, /quit")

    def test_a_full_context_forgets_old_turns(self):
        out, err = self.chat(*["And he said"] * 30, options=("--max-tokens", 12, "--seed", 2, "--max-context", 60))
        self.assertEqual(len(out.splitlines()), 30)
        self.assertIn("the context is full: of the turns after the first one, the oldest", err)
        self.assertLessEqual(int(re.search(r"context (\d+) of 60", err)[1]), 60)

    def test_a_full_context_of_windows_is_computed_again(self):
        # Longer than the context, and than the windows of the demo model: tokens after forgotten turns cannot be moved.
        for seed in range(3):
            lines = ["And he said", "unto the king of Israel and all his servants", "Go"] * 5
            out, err = self.chat(*lines, options=("--max-tokens", 90, "--seed", seed, "--logit-bias", NO_END))
            self.assertEqual(len(out.splitlines()), len(lines))
            self.assertNotIn("sliding-window", err)
            self.assertGreaterEqual(err.count("forgotten"), 3)

    def test_a_turn_that_fills_the_context_is_forgotten(self):
        out, err = self.chat("And he said", "Go", options=("--max-tokens", 600, "--seed", 2, "--logit-bias", NO_END))
        self.assertEqual(len(out.splitlines()), 2)
        self.assertIn("the context is full: all turns are forgotten", err)

    def test_the_limit_of_an_answer_is_told(self):
        _, err = self.chat("And he said", options=("--max-tokens", 5, "--seed", 2, "--logit-bias", NO_END))
        self.assertIn("the limit of 5 tokens ended the answer", err)

    def test_a_message_that_cannot_fit(self):
        out, err = self.chat("And", "the " * 100, "he said", options=(*self.OPTIONS, "--max-context", 60))
        self.assertEqual(len(out.splitlines()), 2)
        self.assertRegex(err, r"the message has \d+ tokens, but at most \d+ fit .*--max-context")
        self.assertNotIn("forgotten", err)

    def test_templates(self):
        for name in ("llama2", "mistral", "zephyr"):
            with self.subTest(name):
                options = (*self.OPTIONS, "--chat-template", name, "--system", "Be brief.")
                out, err = self.chat("Hello", "Go on", options=options)
                self.assertEqual(len(out.splitlines()), 2)
                self.assertNotIn("no chat template", err)
        self.assertIn("[INST], which the chat template llama2 uses",
                      self.chat("[INST]", options=(*self.OPTIONS, "--chat-template", "llama2"))[1])

    def test_a_published_template_is_recognised(self):
        model = self.copy_of_demo()
        (model / "tokenizer_config.json").write_text(json.dumps({"chat_template": "... '<|assistant|>' ..."}))
        self.assertNotIn("no chat template", self.chat("Hello", options=(*self.OPTIONS, "--model", model))[1])

    def test_ctrl_c_ends_the_answer_but_not_the_chat(self):
        chat = Terminal(self, "chat", "--max-tokens", 1000000, "--max-context", 1000000, "--logit-bias", NO_END)
        for _ in range(20):
            chat.wait_for("> ")
            chat.write("\x03")
            chat.wait_for("/quit or Ctrl-D ends the chat")
        chat.wait_for("> ")
        chat.write("And the king said\n")
        chat.wait_for("\n")
        chat.wait_for(" ")  # of the answer
        chat.write("\x03")
        chat.wait_for("[interrupted]")
        chat.wait_for("> ")
        chat.write("/undo\n")
        chat.wait_for("> ")
        chat.write("\x04")
        chat.wait_for("context 0 of")
        self.assertEqual(chat.exit_code(), 0)


if __name__ == "__main__":
    unittest.main()
