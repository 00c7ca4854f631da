# SPDX-License-Identifier: Apache-2.0
"""Shared by all tests of the skald program. Takes the folder of the executables off the command line."""

import fcntl
import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import termios
import time
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve() / "skald" / "skald"
DEMO = pathlib.Path("examples/demo_model").resolve()
NO_END = "1=-inf"  # bans the token that ends a text
TIMEOUT = 120  # seconds

# The program's files of the user go where they can be removed.
CACHE = tempfile.TemporaryDirectory()
os.environ["XDG_CACHE_HOME"] = CACHE.name


def skald(*arguments, stdin=""):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=TIMEOUT)


class Terminal:
    """The program, as it runs on a terminal."""

    def __init__(self, test, *arguments, env=None):
        self.test, self.shown = test, ""
        self.all = ""  # that was shown since the start
        self.controller, end = pty.openpty()
        env = {"XDG_STATE_HOME": str(test.folder), **(env or os.environ)}  # lines of tests are no user's history
        self.program = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=end, stdout=end, stderr=end,
                                        start_new_session=True, env=env,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(end)
        test.addCleanup(self.program.wait)
        test.addCleanup(self.program.kill)
        test.addCleanup(os.close, self.controller)

    def wait_for(self, text):
        """Reads on until the program has shown it. Returns what came before."""
        deadline = time.monotonic() + TIMEOUT
        while text not in self.shown:
            ready, _, _ = select.select([self.controller], [], [], max(0, deadline - time.monotonic()))
            self.test.assertTrue(ready, f"{text!r} never came; so far: {self.shown!r}")
            piece = os.read(self.controller, 65536).decode(errors="replace")
            self.shown += piece
            self.all += piece
        before, self.shown = self.shown.split(text, 1)
        return before

    def write(self, text):
        os.write(self.controller, text.encode())

    def exit_code(self):
        return self.program.wait(TIMEOUT)


class TestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_skald(self, *arguments, stdin=""):
        """Returns what a run that must succeed wrote to stdout and stderr."""
        done = skald(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def refused(self, exit_code, pattern, *arguments):
        """Expects a clear sentence on stderr, nothing else, and nothing on stdout."""
        with self.subTest(arguments):
            done = skald(*arguments)
            self.assertEqual((done.returncode, done.stdout), (exit_code, ""), done.stderr)
            lines = done.stderr.splitlines()
            self.assertRegex(lines[0], r"\Askald: " + pattern)
            self.assertEqual(lines[1:], ["Try 'skald --help'."] if exit_code == 2 else [])

    def text(self, *arguments, stdin=""):
        return self.run_skald("generate", *arguments, stdin=stdin)[0]

    def copy_of_demo(self):
        path = self.folder / "model"
        path.mkdir()
        for name in ("config.json", "model.safetensors", "tokenizer.model"):
            shutil.copy(DEMO / name, path / name)
        return path
