#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The unit for systemd, as systemd reads it: deploy_test.py PROGRAM."""

import os
import shutil
import subprocess
import sys
import unittest

from running_server import temporary_folder

PROGRAM = sys.argv[1]
UNIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "server", "deploy", "skald.service")


def analyze(*arguments):
    return subprocess.run(["systemd-analyze", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)


class Unit(unittest.TestCase):
    def setUp(self):
        with open(UNIT) as file:
            self.text = file.read()

    def test_what_it_denies(self):
        for line in ("SystemCallFilter=@system-service\n", "CapabilityBoundingSet=\n", "MemoryMax=", "NoNewPrivileges=yes\n",
                     "ExecReload=/bin/kill -HUP $MAINPID\n"):
            self.assertIn("\n" + line, self.text)

    def test_its_command_line(self):
        (command,) = [line for line in self.text.splitlines() if line.startswith("ExecStart=")]
        words = command.split()[2:]
        model = words.index("--model") + 1
        words[model] = "/nowhere/at/all"
        words[words.index("--state") + 1] = "/nowhere/else"
        done = subprocess.run([PROGRAM, "serve", *words], stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)  # a model that is not there, and not a wrong option
        self.assertIn("/nowhere", done.stderr)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "SKIPPED: there is no systemd-analyze")
    def test_what_systemd_says(self):
        with temporary_folder() as folder:
            unit = os.path.join(folder, "skald.service")
            with open(unit, "w") as file:
                file.write(self.text.replace("/usr/local/bin/skald", os.path.abspath(PROGRAM)))
            done = analyze("verify", "--man=no", unit)
            self.assertNotIn("skald.service", done.stdout.replace(folder, ""), done.stdout)
            done = analyze("security", "--offline=true", "--threshold=20", unit)  # tenths of points; 100 is the worst
            if "unrecognized option" not in done.stdout:
                self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
