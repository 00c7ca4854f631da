# SPDX-License-Identifier: Apache-2.0
"""The words of README files, a clean clone, and commands that are timed: all three newcomers use them."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def stop(message):
    sys.exit(f"newcomers: {message}")


def words_of(readme):
    return (ROOT / readme).read_text()


def block(readme, language, part):
    """The first block of code in this language that has the part."""
    found = next((code for code in re.findall(rf"^```{language}\n(.*?)^```", words_of(readme), re.DOTALL | re.MULTILINE)
                  if part in code), None)
    return found or stop(f"{readme}: expected a block of {language} with '{part}'")


def command(readme, beginning):
    """The first indented line that begins so, without its comment."""
    found = re.search(rf"^ {{4}}({re.escape(beginning)}.*?)(?:\s+# .*)?$", words_of(readme), re.MULTILINE)
    return found[1] if found else stop(f"{readme}: expected the command '{beginning} ...'")


def quoted(readme, pattern):
    """The first `text` in backticks that matches, from its first group on."""
    found = re.search(f"`{pattern}`", words_of(readme))
    return found[1] if found else stop(f"{readme}: expected `{pattern}`")


class Newcomer:
    """Works in an empty folder with a clean clone of the last commit, `skald`. The clone gets what `.ci/setup` has fetched
    for this checkout, so that nothing is fetched twice."""

    def __init__(self, name, description):
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--words", action="store_true", help="only find all words in the README files")
        parser.add_argument("--flags", default="", help="of the compiler, for a quick look; seconds mean nothing then")
        arguments = parser.parse_args()
        self.words_only, self.flags = arguments.words, arguments.flags
        self.name, self.folder = name, ROOT / "build/newcomers" / name
        self.clone = self.folder / "skald"

    def begin(self):
        if self.words_only:
            print(f"{self.name}: all words are there")
            sys.exit(0)
        if not (ROOT / ".git").exists() or not shutil.which("git"):
            print(f"SKIPPED: {self.name} needs git and a repository")
            sys.exit(77)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.start = time.monotonic()
        self.run("git clone --quiet " + ROOT.as_uri() + " skald")
        if (ROOT / "build/deps").is_dir():
            (self.clone / "build").mkdir()
            (self.clone / "build/deps").symlink_to(ROOT / "build/deps")

    def run(self, line, stdin="", folder=None):
        """Runs a line of the shell, shows it with its seconds, and returns what it wrote to stdout."""
        begin = time.monotonic()
        environment = dict(os.environ)
        if self.flags:
            environment["CXXFLAGS"] = self.flags
        done = subprocess.run(["bash", "-c", line], cwd=folder or self.folder, input=stdin, env=environment,
                              capture_output=True, text=True, errors="replace")
        print(f"{time.monotonic() - begin:7.1f} s  {line}", flush=True)
        if done.returncode != 0:
            print("\n".join((done.stdout + done.stderr).splitlines()[-40:]))
            stop(f"{self.name}: exit status {done.returncode}")
        return done.stdout

    def build(self, folder=None):
        """CMake's two commands. Without a number make would start all compilers at once."""
        self.run(f"cmake -B build && cmake --build build --parallel {os.cpu_count()}", folder=folder)

    def succeeded(self, what):
        print(f"{self.name}: {time.monotonic() - self.start:.0f} s from nothing to {what}", flush=True)


def expect(holds, message, output=""):
    if not holds:
        print(output)
        stop(message)
