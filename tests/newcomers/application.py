#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A newcomer with an application to put a model into: README's chat program by README's g++ line, from the headers alone,
then by README's lines of CMake.

usage: application.py [--words] [--flags FLAGS]
"""
import re
import shutil

from steps import Newcomer, block, command, expect, quoted

SAID = "And the king said\nunto the people\n"


def has_new_highway(newcomer):
    probe = "#include <hwy/base.h>\n#if HWY_MAJOR * 100 + HWY_MINOR < 102\n#error\n#endif"
    said = newcomer.run("g++ -fsyntax-only -xc++ - 2> /dev/null && echo yes || echo no", stdin=probe)
    return said.strip() == "yes"


def main():
    newcomer = Newcomer("application", __doc__.splitlines()[0])
    program = block("README.md", "cpp", "int main")
    compiles = command("README.md", "g++ ")
    setup = quoted("README.md", r"(\.ci/setup program)")
    own_highway = quoted("README.md", r"(-isystem [^`]*hwy[^`]*)")
    adds = block("README.md", "cmake", "add_subdirectory(skald)")
    target = re.search(r"target_link_libraries\((\w+) ", adds)[1]
    newcomer.begin()

    newcomer.run(setup, folder=newcomer.clone)
    application = newcomer.folder / "application"
    shutil.copytree(newcomer.clone / "include", application / "include")  # headers are all that it takes
    (application / "chat.cc").write_text(program)
    if not has_new_highway(newcomer):
        (application / "build").symlink_to(newcomer.clone / "build")
        compiles = compiles.replace("-lhwy", own_highway)
    newcomer.run(f"{compiles} {newcomer.flags}", folder=application)
    text = newcomer.run("./a.out ../skald/examples/demo_model", stdin=SAID, folder=application)
    expect(len(text.split()) > 20, "expected more than 20 words of text", text)
    newcomer.succeeded("the first text, headers alone")

    project = newcomer.folder / "project"
    project.mkdir()
    (project / "skald").symlink_to(newcomer.clone)
    shutil.copy(application / "chat.cc", project)
    (project / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.21)\nproject({target} CXX)\nadd_executable({target} chat.cc)\n{adds}")
    newcomer.build(project)
    by_cmake = newcomer.run(f"build/{target} skald/examples/demo_model", stdin=SAID, folder=project)
    expect(by_cmake == text, "expected the same text of both programs", text + by_cmake)
    newcomer.succeeded("the first text of both")


if __name__ == "__main__":
    main()
