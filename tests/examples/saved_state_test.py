#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""State that outlives a run of the skald program: conversations in files, prompts in a folder.

usage: saved_state_test.py FOLDER

FOLDER is where the examples are built. Runs in the repository's root.
"""
import os
import pathlib
import re
import resource
import shutil
import stat
import subprocess
import unittest

import skald_program

PROMPT = "And it came to pass in those days, that the king of Israel went up to the house of the LORD, " * 3


def limit_files():
    """A full disk: no file can have more than some bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


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

    def assert_one_warning(self, arguments, **streams):
        expected, _ = self.generate(PROMPT)
        done = subprocess.run([skald_program.PROGRAM, "generate", "--prompt", PROMPT, "-n", "20", "--seed", "3",
                               *map(str, arguments)], capture_output=True, text=True, **streams)
        self.assertEqual((done.returncode, done.stdout), (0, expected), done.stderr)
        self.assertEqual(done.stderr.count("skald: warning: "), 1, done.stderr)
        return done.stderr

    def test_a_folder_that_fails_costs_a_warning(self):
        file = self.folder / "file"
        file.write_text("")
        err = self.assert_one_warning(["--prompt-cache", file / "prompts"])  # it cannot be made
        self.assertIn("Not a directory; the run goes on without the prompt cache", err)
        err = self.assert_one_warning(["--prompt-cache", self.folder / "prompts"], preexec_fn=limit_files)
        self.assertIn("File too large; the run goes on without the prompt cache", err)
        for chunk_folder in (self.folder / "prompts").glob("??"):
            shutil.rmtree(chunk_folder)
            chunk_folder.write_text("")
        for first in range(256):  # where chunks would be
            (self.folder / "prompts" / f"{first:02x}").write_text("")
        self.assert_one_warning(["--prompt-cache", self.folder / "prompts"])

    def test_weights_that_cannot_be_kept_cost_a_warning(self):
        file = self.folder / "file"
        file.write_text("")
        self.assertIn("Not a directory", self.assert_one_warning(["--packed-cache", file]))
        err = self.assert_one_warning(["--packed-cache", self.folder / "packed"], preexec_fn=limit_files)
        self.assertIn("File too large", err)


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

    def test_a_conversation_is_nobody_elses(self):
        session = self.folder / "chat.skald"
        self.chat("And", options=("--session", session))
        self.assertEqual(stat.S_IMODE(session.stat().st_mode), 0o600)
        session.chmod(0o640)  # unless its owner wants it otherwise
        link = self.folder / "link.skald"
        link.symlink_to(session)
        self.chat("he said", options=("--session", link))
        self.assertEqual(stat.S_IMODE(session.stat().st_mode), 0o640)
        self.assertTrue(link.is_symlink())
        _, err = self.chat("", options=("--session", session))
        self.assertIn(": 2 messages", err)

    def test_what_cannot_be_kept_is_told_before_the_first_message(self):
        os.mkfifo(self.folder / "pipe")
        for session, pattern in ((self.folder / "absent" / "chat.skald", "No such file or directory"),
                                 (self.folder, "this is a folder, expected a file"), (self.folder / "pipe", "expected a regular file")):
            out, err = self.chat("And", options=("--session", session), status=1)
            self.assertEqual(out, "")
            self.assertRegex(err, rf"\nskald: {session}: {pattern}\n\Z")

    def test_a_model_that_changed_meanwhile_owns_nothing(self):
        model = self.copy_of_demo()
        chat = skald_program.Terminal(self, "chat", "--model", model, "-n", 5)
        chat.wait_for("> ")
        weights = bytearray((model / "model.safetensors").read_bytes())
        weights[-1] ^= 1
        (model / "model.safetensors").write_bytes(weights)
        chat.write(f"And\n/save {self.folder / 'one.skald'}\n")
        chat.wait_for("the model has changed since the chat began]")
        self.assertFalse((self.folder / "one.skald").exists())

        # With a session it was known before.
        chat = skald_program.Terminal(self, "chat", "--model", model, "-n", 5, "--session", self.folder / "two.skald")
        chat.wait_for("> ")
        shutil.rmtree(model)
        chat.write("And\n/quit\n")
        chat.wait_for("saved to")
        self.assertEqual(chat.exit_code(), 0)


class FailedSaves(TestCase):
    """A conversation whose file can no longer be written."""

    def setUp(self):
        super().setUp()
        self.home = self.folder / "home"
        self.home.mkdir()
        self.environment = os.environ | {"HOME": str(self.home), "TMPDIR": str(self.folder / "no folder")}
        self.environment.pop("XDG_CACHE_HOME", None)
        self.session = self.folder / "talks" / "chat.skald"
        self.session.parent.mkdir()

    def start(self, **streams):
        """Starts a chat, has a message answered, and takes the folder of its session away."""
        chat = subprocess.Popen([skald_program.PROGRAM, "chat", "-n", "5", "--session", self.session],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment, **streams)
        self.addCleanup(lambda: chat.kill() or chat.communicate())
        chat.stdin.write("And\n")
        chat.stdin.flush()
        chat.stdout.readline()
        return chat

    def assert_rescued(self, error):
        file = pathlib.Path(re.search(r"; the conversation is in (.*)\n", error)[1])
        self.assertEqual(stat.S_IMODE(file.parent.stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        _, err = self.skald("chat", "--session", file)
        self.assertIn(": 1 messages", err)
        return file

    def test_it_goes_to_the_users_cache_folder(self):
        chat = self.start()
        shutil.rmtree(self.session.parent)
        _, err = chat.communicate(timeout=skald_program.TIMEOUT)
        self.assertEqual(chat.returncode, 1)
        self.assertIn(f"\nskald: {self.session}: No such file or directory; the conversation is in ", err)
        file = self.assert_rescued(err)
        self.assertEqual(file.relative_to(self.home).parts[0], ".cache")
        self.assertEqual(file.name, "chat.skald")

    def test_it_goes_beside_a_file_that_is_in_the_way(self):
        chat = self.start()
        self.session.mkdir()
        _, err = chat.communicate(timeout=skald_program.TIMEOUT)
        self.assertEqual(chat.returncode, 1)
        self.assertEqual(self.assert_rescued(err).parent.parent, self.session.parent)

    def test_a_signal_rescues_it_too(self):
        chat = self.start()
        shutil.rmtree(self.session.parent)
        chat.terminate()
        self.assertEqual(chat.wait(skald_program.TIMEOUT), 1)
        self.assert_rescued(chat.stderr.read())

    def test_nowhere_left(self):
        chat = self.start(preexec_fn=limit_files)
        _, err = chat.communicate(timeout=skald_program.TIMEOUT)
        self.assertEqual(chat.returncode, 1)
        self.assertRegex(err, r"\nskald: .*chat.skald: File too large; nor can it be saved elsewhere: .*\n\Z")
        self.assertEqual([*self.home.rglob("*.skald"), *self.session.parent.iterdir()], [])

    def test_on_a_terminal_another_file_can_be_named(self):
        for name, rescued in (("", True), (self.folder / "other.skald", False)):
            self.session.parent.mkdir(exist_ok=True)
            chat = skald_program.Terminal(self, "chat", "-n", 5, "--session", self.session, env=self.environment)
            chat.wait_for("> ")
            chat.write("And\n")
            chat.wait_for("> ")
            shutil.rmtree(self.session.parent)
            chat.write("/quit\n")
            chat.wait_for("No such file or directory]")
            chat.wait_for("the conversation is not saved; name a file for it")
            chat.wait_for("> ")
            chat.write(f"{self.folder}/no folder/file\n")  # does not help either
            chat.wait_for("> ")
            chat.write(f"{name}\n")
            if rescued:
                chat.wait_for("the conversation is in ")
            else:
                chat.wait_for(f"[saved to {name}]")
            self.assertEqual(chat.exit_code(), 1)
        _, err = self.skald("chat", "--session", self.folder / "other.skald")
        self.assertIn(": 1 messages", err)


if __name__ == "__main__":
    unittest.main()
