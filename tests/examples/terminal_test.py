#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The prompt of `skald chat` on a terminal: editing, history, and messages of several lines.

usage: terminal_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import os
import unittest

from skald_program import Terminal, TestCase

EDITS = "\033[?2004h"  # the editor asks the terminal to mark pastes


class Prompt(TestCase):
    def chat(self, term="xterm", editor="false"):
        env = {**os.environ, "TERM": term, "XDG_STATE_HOME": str(self.folder), "HOME": str(self.folder),
               "TMPDIR": str(self.folder), "VISUAL": editor}
        chat = Terminal(self, "chat", "--seed", "3", "--max-tokens", "4", "--no-packed-cache", env=env)
        chat.wait_for("/quit ends the chat]")
        if term == "xterm":
            self.assertTrue(chat.wait_for("> "))
        return chat

    def setUp(self):
        super().setUp()
        chat = self.chat("xterm")
        chat.write("\004")
        chat.wait_for("seed 3]")
        if EDITS not in chat.all:
            self.skipTest("SKIPPED: the program was built without libedit")

    def said(self, chat):
        """Saves the chat and ends it. Returns the lines of its history."""
        chat.write("/quit\r")
        self.assertEqual(chat.exit_code(), 0)
        history = (self.folder / "skald" / "chat_history")
        self.assertEqual(history.stat().st_mode & 0o777, 0o600)
        return history.read_text().splitlines()[1:]

    def ask(self, chat, keys):
        chat.write(keys)
        chat.wait_for("ended the answer")
        chat.wait_for("> ")

    def test_a_line_is_edited(self):
        chat = self.chat()
        self.ask(chat, "And the kXng\033[D\033[D\033[D\033[3~i\r")
        self.assertEqual(self.said(chat), ["And\\040the\\040king", "/quit"])

    def test_a_paste_is_one_message(self):
        chat = self.chat()
        self.ask(chat, "\033[200~one\rtwo\rthree\a\r\033[201~\r")
        self.assertEqual(self.said(chat), ["one\\012two\\012three\\012", "/quit"])

    def test_a_message_of_several_lines_is_typed(self):
        chat = self.chat()
        self.ask(chat, "one\033\rtwo\r")
        self.ask(chat, "three\\\rfour\r")
        self.assertEqual(self.said(chat), ["one\\012two", "three\\012four", "/quit"])

    def test_the_next_chat_knows_what_was_said(self):
        chat = self.chat()
        self.ask(chat, "And the king said\r")
        self.said(chat)
        chat = self.chat()
        chat.write("\033[A\033[A")
        chat.wait_for("And the king said")

    def test_tab_completes_commands(self):
        chat = self.chat()
        chat.write("/und\t\r")
        chat.wait_for("there is no message to take back")

    def editor(self, script):
        """A program that is given the file of a message."""
        path = self.folder / "an editor"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return f"'{path}'"

    def test_a_message_is_written_in_an_editor(self):
        script = 'test -t 0 && test -t 1 && stat -c %a "${1%/*}" > mode; cp "$1" before; printf "one\\ntwo\\n\\n" >> "$1"'
        chat = self.chat(editor=self.editor(f"cd '{self.folder}'; {script}"))
        self.ask(chat, "/edit And the king\r")
        self.assertEqual((self.folder / "before").read_text(), "And the king")
        self.assertEqual((self.folder / "mode").read_text(), "700\n")
        # A key does the same with the line as it is.
        self.ask(chat, "unto\030\005\r")
        self.assertEqual((self.folder / "before").read_text(), "unto")
        self.assertEqual(self.said(chat), ["/edit\\040And\\040the\\040king", "untoone\\012two", "/quit"])
        self.assertEqual(list(self.folder.glob("skald-message-*")), [])

    def test_an_editor_that_fails_sends_nothing(self):
        for editor, said in (("false", "false failed: its text is not used"), ("no-such-editor", "no-such-editor cannot be run"),
                             ("true", "there is no text: nothing was sent")):
            with self.subTest(editor):
                chat = self.chat(editor=editor)
                chat.write("/edit\r")
                chat.wait_for(said)
                chat.write("/undo\r")
                chat.wait_for("there is no message to take back")

    def test_an_interrupt_forgets_the_line_alone(self):
        chat = self.chat()
        chat.write("And the\003")
        chat.wait_for("Ctrl-D ends the chat]")
        self.ask(chat, "unto\r")
        self.assertEqual(self.said(chat), ["unto", "/quit"])

    def test_a_terminal_that_cannot_move_its_cursor_has_plain_lines(self):
        chat = self.chat("dumb")
        chat.write("/undo\n")
        chat.wait_for("there is no message to take back")
        self.assertNotIn(EDITS, chat.all)


if __name__ == "__main__":
    unittest.main()
