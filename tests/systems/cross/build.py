# SPDX-License-Identifier: Apache-2.0
"""Compiles, links and runs for one system, in build/cross/SYSTEM."""
import os
import pathlib
import subprocess

from systems import Missing

ROOT = pathlib.Path(__file__).resolve().parents[3]
WORK = ROOT / "build" / "cross"

# All hashes are those of targets with fused multiply-add: AVX2 here, NEON there.
FLAGS = ["-std=c++20", "-ffp-contract=off", "-DHWY_COMPILE_ONLY_STATIC", "-Wall", "-Wextra", "-Werror"]


def call(words, folder=ROOT, accepted=(0,), **options):
    """Runs a command; prints what it said, and raises, if it fails."""
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, errors="replace", cwd=folder,
                            **options)
    if result.returncode not in accepted:
        print(" ".join(str(word) for word in words))
        print(result.stdout[-4000:], result.stderr[-8000:], sep="\n")
        raise RuntimeError(f"{words[0]} failed with {result.returncode}")
    return result.stdout


def find_include(header):
    """The folder of a library's headers, beside which a system's own may be."""
    for folder in [*ROOT.glob("build/deps/*"), *ROOT.glob("build/*/_deps/*-src"),
                   *ROOT.glob("build/*/_deps/*-src/*include*"), pathlib.Path("/usr/include"), pathlib.Path("/usr/local/include")]:
        if (folder / header).exists():
            return folder
    raise Missing(f"needs {header}")


def link_includes():
    """A folder with the headers that the library needs and nothing of this system's."""
    folder = WORK / "include"
    folder.mkdir(parents=True, exist_ok=True)
    # The sources are compiled for each system (tests/consumer/highway.cc), so its installed headers are not enough.
    for header in ["hwy/targets.cc", "nlohmann/json.hpp", "tl/expected.hpp", "doctest/doctest.h"]:
        name = header.split("/")[0]
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(find_include(header) / name)
    return ["-I", ROOT / "include", "-I", ROOT, "-I", ROOT / "examples", "-isystem", folder]


def is_made(into, words):
    """Whether an earlier run made an object by the same command, from files that have not changed since."""
    said, needs = into.with_suffix(".words"), into.with_suffix(".d")
    if not (into.exists() and said.exists() and needs.exists()) or said.read_text() != " ".join(map(str, words)):
        return False
    paths = needs.read_text().split(":", 1)[1].replace("\\\n", " ").split()
    made = into.stat().st_mtime
    return all((ROOT / path).exists() and (ROOT / path).stat().st_mtime < made for path in paths)


class Build:
    def __init__(self, system):
        self.system = system
        self.folder = WORK / system.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.includes = link_includes()
        self.level = "-O0" if system.runner is None else "-O1"  # optimised only where it runs
        self.made = {}  # objects of the library and of Highway, by their names

    def object(self, name, source, *flags):
        """Compiles a source, given as its path or as its text."""
        if isinstance(source, str):
            path = self.folder / f"{name}.cc"
            if not path.exists() or path.read_text() != source:
                path.write_text(source)
            source = path
        into = self.folder / f"{name}.o"
        words = [*self.system.compiler, *FLAGS, self.level, *self.system.flags, *flags, *self.includes, "-MD", "-MF",
                 into.with_suffix(".d"), "-c", source, "-o", into]
        if not is_made(into, words):
            call(words)
            into.with_suffix(".words").write_text(" ".join(map(str, words)))
        return into

    def program(self, name, objects):
        into = self.folder / f"{name}.exe"
        call([*self.system.compiler, *objects, *self.system.link, "-o", into])
        return into

    def run(self, program, *arguments, **options):
        # A path of Wine's is also one of this system's.
        environment = {**os.environ, "WINEDEBUG": "-all", "WINEPATH": ""}
        return call([*self.system.runner, program, *arguments], env=environment, **options)

    def once(self, name, source, *flags):
        if name not in self.made:
            self.made[name] = self.object(name, source, *flags)
        return self.made[name]

    def highway(self):
        # Arm's targets ask how long their vectors are.
        return [self.once("highway", ROOT / "tests/consumer/highway.cc"),
                self.once("highway_per_target", WORK / "include/hwy/per_target.cc")]

    def parts(self, names, *flags):
        """The library's own objects, of parts of skald/compiled/."""
        return [self.once(f"compiled_{name}", f'#include "skald/compiled/{name}.h"\n', "-DSKALD_COMPILED", *flags)
                for name in names]
