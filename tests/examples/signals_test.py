#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The effects of signals on the skald program, and on its saved work.

usage: signals_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import fcntl
import os
import re
import signal
import subprocess
import sys
import termios
import time
import unittest

from skald_program import NO_END, PROGRAM, TIMEOUT, Terminal, TestCase, skald

F_SETPIPE_SZ = 1031  # Linux's; Python names it from 3.10 on
ENDLESS = ("--max-tokens", "1000000", "--max-context", "1000000", "--logit-bias", NO_END)


def small_pipe():
    """Returns descriptors to read from and to write to. It takes no more than 4096 bytes at once."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
    return reader, writer


def unread(reader):
    return int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), sys.byteorder)


def close(program, *descriptors):
    program.kill()
    program.communicate()
    for descriptor in descriptors:
        os.close(descriptor)


def start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE):
    """Starts the program with pipes, and with no signal ignored."""
    def forget_what_is_ignored():
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
    return subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.PIPE, stdout=stdout, stderr=stderr,
                            preexec_fn=forget_what_is_ignored)


class Generate(TestCase):
    def test_each_signal_ends_a_text_and_is_told(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number), start("generate", "--prompt", "In the beginning", *ENDLESS) as program:
                self.assertEqual(program.stdout.read(40)[:16], b"In the beginning")
                program.send_signal(number)
                out, err = program.communicate(timeout=TIMEOUT)
                self.assertEqual(program.returncode, 128 + number)
                self.assertTrue(out.endswith(b"\n"))
                self.assertRegex(err.decode(), r"\A\[demo: .*; interrupted\]\n\Z")

    def test_nohup_is_obeyed(self):
        with subprocess.Popen([PROGRAM, "generate", "--prompt", "In the beginning", *ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as program:
            self.addCleanup(program.kill)
            program.stdout.read(40)
            program.send_signal(signal.SIGHUP)
            self.assertTrue(program.stdout.read(4000))
            program.send_signal(signal.SIGTERM)
            program.communicate(timeout=TIMEOUT)
            self.assertEqual(program.returncode, 128 + signal.SIGTERM)


class Chat(TestCase):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "chat.skald"
        if "built without" in skald("chat", "--session", self.file).stderr:
            self.skipTest("this program was built without skald::store")
        self.file.unlink()

    def messages_of_session(self):
        _, err = self.run_skald("chat", "--session", self.file, *ENDLESS)
        return int(re.search(r"going on from .*: (\d+) messages", err)[1])

    def test_a_request_to_end_saves_the_conversation(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number), start("chat", "--session", self.file, *ENDLESS) as program:
                self.addCleanup(program.kill)
                self.begin_an_answer(program)
                program.send_signal(number)
                program.send_signal(number)  # as a closed terminal may send it: to the process, and to its group
                program.stdout.read()
                self.assertEqual(program.wait(TIMEOUT), 128 + number)
                self.assertIn("saved to", program.stderr.read().decode())
            self.assertEqual(self.messages_of_session(), 1)
            self.file.unlink()

    def test_a_request_while_it_waits_for_a_message(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                chat = Terminal(self, "chat", "--session", self.file, "-n", 5)
                chat.wait_for("> ")
                chat.write("And the king said\n")
                chat.wait_for("> ")
                chat.program.send_signal(number)
                chat.wait_for("saved to")
                self.assertEqual(chat.exit_code(), 128 + number)
                self.assertEqual(self.messages_of_session(), 1)
                self.file.unlink()

    def test_a_second_signal_ends_it_at_once(self):
        for number, seconds in ((signal.SIGINT, 0.1), (signal.SIGTERM, 3)):  # that it comes after the first
            with self.subTest(number):
                reader, writer = small_pipe()
                os.write(writer, bytes(4096))  # so that its last line, before it saves, waits for ever
                program = start("chat", "--chat-template", "llama2", "--session", self.file, *ENDLESS, stderr=writer)
                self.addCleanup(close, program, reader, writer)
                self.begin_an_answer(program)
                program.send_signal(signal.SIGTERM)
                deadline = time.monotonic() + TIMEOUT
                while program.poll() is None and time.monotonic() < deadline:
                    time.sleep(seconds)
                    program.send_signal(number)
                self.assertEqual(program.returncode, -number)
                self.assertFalse(self.file.exists())

    def test_a_reader_that_is_stuck_does_not_hold_it_up(self):
        reader, writer = small_pipe()
        program = start("chat", "--session", self.file, *ENDLESS, stdout=writer)
        self.addCleanup(close, program, reader, writer)
        self.begin_an_answer(program, reader)
        deadline = time.monotonic() + TIMEOUT
        while unread(reader) < 3900:  # then few more words find room in the pipe
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        program.send_signal(signal.SIGTERM)
        self.assertEqual(program.wait(TIMEOUT), 128 + signal.SIGTERM)
        self.assertEqual(self.messages_of_session(), 1)

    def begin_an_answer(self, program, output=None):
        program.stdin.write(b"And the king said\n")
        program.stdin.flush()
        self.assertTrue(os.read(output or program.stdout.fileno(), 1))


if __name__ == "__main__":
    unittest.main()
