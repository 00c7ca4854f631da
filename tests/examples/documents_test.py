#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The texts of the program about its own command line: help, completions of shells, the manual page.

usage: documents_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import re
import shutil
import subprocess
import unittest

from skald_program import PROGRAM, TestCase, skald

COMMANDS = re.findall(r"^  (?!help)([a-z]+) {4,}", skald("--help").stdout.split("Subcommands:")[1], re.MULTILINE)


def run_in(shell, script, *arguments):
    done = subprocess.run([shell, *arguments, script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


class Documents(TestCase):
    def written(self, name, *arguments):
        path = self.folder / name
        path.write_text(self.run_skald(*arguments)[0])
        return path

    def test_help_is_that_of_the_command(self):
        self.assertGreater(len(COMMANDS), 8)
        for command in COMMANDS:
            self.assertEqual(self.run_skald("help", command), self.run_skald(command, "--help"))
        self.assertIn("Subcommands:", self.run_skald("help")[0])
        self.refused(2, "help: there is no command nothing", "help", "nothing")

    def test_bash_completes(self):
        script = self.written("completion", "completion", "bash")
        def words(*typed):
            given = " ".join(f"'{word}'" for word in typed)
            return run_in("bash", f"source {script}; COMP_WORDS=({given}); COMP_CWORD={len(typed) - 1}; _skald; "
                                  'echo "${COMPREPLY[*]}"', "-c")
        self.assertEqual(words("skald", "ch"), ["chat"])
        self.assertLessEqual(set(COMMANDS), set(words("skald", "")))
        self.assertEqual(words("skald", "chat", "--dty"), ["--dtype"])
        self.assertEqual(words("skald", "chat", "--dtype", "q"), ["q8_0", "q4_0"])
        self.assertEqual(words("skald", "completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(words("skald", "serve", "--tool-format", "deep"), ["deepseek-v3", "deepseek-v3.1", "deepseek-v3.2", "deepseek-v4"])
        self.assertEqual(words("skald", "inspect", "examples/demo_m"), ["examples/demo_model"])

    @unittest.skipUnless(shutil.which("zsh"), "SKIPPED: there is no zsh")
    def test_zsh_takes_its_script(self):
        script = self.written("_skald", "completion", "zsh")
        found = run_in("zsh", f"autoload -Uz compinit; compinit -D -u; source {script}; echo $_comps[skald]", "-f", "-c")
        self.assertEqual(found, ["_skald"])

    @unittest.skipUnless(shutil.which("fish"), "SKIPPED: there is no fish")
    def test_fish_completes(self):
        script = self.written("completion", "completion", "fish")
        found = run_in("fish", f"source {script}; complete -C 'skald chat --dtype q'", "-c")
        self.assertLessEqual({"q8_0", "q4_0"}, set(found))

    def test_the_manual_page_has_every_option(self):
        page = self.run_skald("man")[0].replace("\\-", "-")
        for command in COMMANDS:
            self.assertTrue(f'.SS "skald {command}"' in page, command)
            for option in re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+)", self.run_skald(command, "--help")[0], re.MULTILINE):
                self.assertTrue(option in page, option)

    @unittest.skipUnless(shutil.which("man"), "SKIPPED: there is no man")
    def test_man_shows_the_page_without_a_warning(self):
        page = self.written("skald.1", "man")
        shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, timeout=60)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn("--temperature", shown.stdout)

    def test_run_is_chat(self):
        self.assertEqual(self.run_skald("run", "--help"), self.run_skald("chat", "--help"))


if __name__ == "__main__":
    unittest.main()
