#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`skald chat` with the demo model, as a user would talk with it.

usage: chat_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import json
import re
import sys
import unittest

from skald_program import DEMO, NO_END, Terminal, TestCase

sys.path.insert(0, "tests/support")
import demo_adapter


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
        self.assertIn("[there is no command /forget; /help lists them]", self.chat("/forget")[1])
        self.assertIn("[/undo takes nothing, got twice]", self.chat("/undo twice")[1])
        self.assertIn("[/load needs the name of a file]", self.chat("/load")[1])
        help_text = self.chat("/help")[1]
        for command in ("/undo", "/regen", "/clear", "/system [TEXT]", "/read FILE", "/edit [TEXT]", "/show [PART]",
                        "/adapter [PATH]", "/set [NAME VALUE]", "/save [FILE]", "/load FILE",
                        "/fork FILE", "/sessions", "/help", "/quit"):
            self.assertIn(f"[{command}: ", help_text)

    def test_an_answer_is_drawn_anew(self):
        out, err = self.chat("And the king said", "/regen", "/regen")
        self.assertEqual(len(set(out.splitlines())), 3)
        self.assertEqual(self.context("And the king said"), int(re.search(r"context (\d+) of", err)[1]))
        self.assertIn("[there is no answer to draw again", self.chat("/regen")[1])

    def test_settings_change_later_answers(self):
        greedy = self.chat("And the king said", options=("--max-tokens", 5, "--temperature", 0))[0]
        set_later = self.chat("/set temperature 0", "/set max_tokens=5", "And the king said")
        self.assertEqual(set_later[0], greedy)
        listed = self.chat("/set top_k 3", "/set seed 9", "/set")[1]
        for setting in ("top_k 3", "seed 9", "max_tokens 12", "top_p 0.95"):
            self.assertIn(f"[{setting}]", listed)
        for line, reason in (("/set heat 1", "there is no setting heat; /set lists them"),
                             ("/set temperature hot", "temperature: expected a number, got hot"),
                             ("/set temperature -1", "temperature"), ("/set max_tokens 0", "max_tokens: expected 1 or more"),
                             ("/set seed", "seed: expected a whole number, got ")):
            self.assertIn(f"[{reason}", self.chat(line)[1])

    def test_a_system_message_begins_again(self):
        options = (*self.OPTIONS, "--chat-template", "llama2")
        def talk(*lines, system=()):
            return self.chat(*lines, options=(*options, *system))
        self.assertEqual(talk("/system Be brief.", "Hello")[0], talk("Hello", system=("--system", "Be brief."))[0])
        self.assertEqual(talk("/system Be brief.", "/system", "Hello")[0], talk("Hello")[0])
        self.assertEqual(0, int(re.search(r"context (\d+) of", talk("Hello", "/system Be brief.")[1])[1]))

    def test_a_chat_tells_what_it_is_made_of(self):
        _, err = self.chat("And", "/show", options=(*self.OPTIONS, "--chat-template", "llama2", "--system", "Be brief."))
        for line in (r"model demo \(.*demo_model\)", r"family gemma3_text, 3\.7 million parameters, weights BF16 \(7\.4 million bytes\)",
                     r"context \d\d of 512 tokens, trained on 512", r"chat template: built-in llama2, tool calls in the form json",
                     r"system message: Be brief\.", r"seed 2", r"max_tokens 12"):
            self.assertRegex(err, rf"(?m)^\[{line}\]$")
        template = self.chat("/show template", options=(*self.OPTIONS, "--chat-template", "zephyr"))[1]
        self.assertIn("<|assistant|>", template)
        self.assertNotIn("top_p", template)
        _, err = self.chat("/show model", "/show template", "/show system", "/show licence")
        self.assertNotIn("top_p", err)
        for line in ("no chat template: the model continues what you write", "no system message",
                     "/show knows model, system, settings and template, not licence"):
            self.assertIn(f"[{line}]", err)

    def test_an_editor_needs_a_terminal(self):
        self.assertIn("[an editor needs a terminal]", self.chat("/edit")[1])

    def test_guesses_change_no_answer(self):
        adapter = self.folder / "adapter"
        demo_adapter.write(adapter, 1)  # so that guesses of the model alone are right and wrong
        lines = ("And the king said", "unto him", "/regen", "/undo", "Go")
        for options in (("-n", 12), ("-n", 12, "--temperature", 0), ("-n", 1), ("--logit-bias", NO_END, "--max-context", 45)):
            with self.subTest(options):
                options = ("--seed", 2, "--adapter", adapter, *options)
                plain = self.chat(*lines, options=options)
                guessed = self.chat(*lines, options=(*options, "--draft-model", DEMO))
                self.assertEqual(plain[0], guessed[0])
                without = re.sub(r", \d+ of \d+ guesses right", "", guessed[1])
                self.assertEqual(re.findall(r"context \d+", plain[1]), re.findall(r"context \d+", without))
        right, all_of_them = map(int, re.search(r", (\d+) of (\d+) guesses right", self.chat(
            *lines, options=("--seed", 2, "-n", 100, "--adapter", adapter, "--draft-model", DEMO))[1]).groups())
        self.assertTrue(0 < right < all_of_them)
        self.refused(1, "--draft-model: .*no such model", "chat", "--draft-model", self.folder / "no such model")

    def test_the_adapter_can_be_changed(self):
        one, other = self.folder / "one", self.folder / "other"
        for seed, path in ((1, one), (2, other)):
            demo_adapter.write(path, seed)
        def talk(*lines, options=()):
            return self.chat(*lines, options=(*self.OPTIONS, "--temperature", 0, *options))
        self.assertEqual(talk(f"/adapter {one}", "And", "Go")[0], talk("And", "Go", options=("--adapter", one))[0])
        self.assertEqual(talk("/adapter", "And", "Go", options=("--adapter", one))[0], talk("And", "Go")[0])
        # Earlier turns stay, and are computed anew.
        changed = talk("And", f"/adapter {other}", "Go", "/show model", f"/adapter {self.folder / 'nothing'}", "/undo", "/undo")
        self.assertEqual(changed[0].splitlines()[0], talk("And")[0].splitlines()[0])
        self.assertNotEqual(changed[0], talk("And", "Go")[0])
        for line in ("[going on with the adapter ", f"[adapter {other}]", "nothing: cannot open", "context 0 of"):
            self.assertIn(line, changed[1])
        saved = self.folder / "chat.skald"
        talk("And", f"/adapter {one}", "Go", f"/save {saved}")
        self.assertIn("going on from", talk(f"/load {saved}", options=("--adapter", one))[1])
        self.assertIn("made with another adapter", talk(f"/load {saved}")[1])

    def test_a_file_begins_the_next_message(self):
        options = (*self.OPTIONS, "--chat-template", "llama2")
        paths = {}
        for name, text in (("one", "The king is Saul."), ("two", "His son is Jonathan.\n")):
            paths[name] = self.folder / f"a file {name}.txt"
            paths[name].write_text(text)
        def talk(*lines):
            return self.chat(*lines, options=options)
        read = [f"/read {path}" for path in paths.values()]
        out, err = talk(*read, "Who is king?", "Go on")
        self.assertIn("one.txt: its 17 bytes will begin your next message]", err)
        together = "The king is Saul.\n\nHis son is Jonathan.\n"
        (self.folder / "all.txt").write_text(together)
        self.assertEqual(out, talk(f"/read {self.folder / 'all.txt'}", "Who is king?", "Go on")[0])
        self.assertNotEqual(out, talk("Who is king?", "Go on")[0])
        self.assertEqual(talk("Hello")[0], talk(read[0], "/clear", "Hello")[0])
        self.assertIn("no file.txt", talk("/read no file.txt")[1])
        self.assertIn("this is a folder, expected a file", talk(f"/read {self.folder}")[1])

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
