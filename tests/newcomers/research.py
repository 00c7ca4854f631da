#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A newcomer with research code: Skald as a subdirectory, the hidden rows of a model that OpenModel opens, by the hook that
open/README.md shows, and the example of a Config of one's own that README names.

usage: research.py [--words] [--flags FLAGS]
"""
import re

from steps import ROOT, Newcomer, block, expect, stop

STUDY = """{includes}
#include <iostream>

skald::Result<void> Study() {{
{statements}
  for (const std::vector<float>& row : hidden) std::cout << row.size() << ' ' << row.front() << '\\n';
  return {{}};
}}

int main() {{
  const skald::Result<void> done = Study();
  if (!done) std::cerr << done.error().message << '\\n';
  return done ? 0 : 1;
}}
"""


def main():
    newcomer = Newcomer("research", __doc__.splitlines()[0])
    adds = block("README.md", "cmake", "add_subdirectory(skald)")
    readme = " ".join((ROOT / "README.md").read_text().split())
    inside = re.search(r"a look inside .*?\((\S+README\.md)#a-look-inside\)", readme)
    hook = block(inside[1] if inside else stop("README.md: expected a link to a look inside"), "cpp", ".hooks")
    number = re.search(r"a Config, a hybrid and a layer of your own \(`(\d+)`", readme)
    examples = sorted((ROOT / "examples").glob(f"{number[1]}_*.cc")) if number else []
    if len(examples) != 1:
        stop("README.md: expected the number of the example with a Config of one's own")
    newcomer.begin()

    lines = hook.splitlines()
    (newcomer.folder / "study.cc").write_text(STUDY.format(
        includes="\n".join(line for line in lines if line.startswith("#include")),
        statements="\n".join(line for line in lines if not line.startswith("#include"))))
    link = re.search(r"target_link_libraries\(\w+ (.*)\)", adds)
    own = f"skald/examples/{examples[0].name}"
    (newcomer.folder / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.21)\nproject(research CXX)\nadd_subdirectory(skald)\n"
        f"add_executable(study study.cc)\ntarget_link_libraries(study {link[1]})\n"
        f"add_executable(own_config {own})\ntarget_link_libraries(own_config {link[1]})\n")
    (newcomer.folder / "my-model").symlink_to("skald/examples/demo_model")
    newcomer.build()
    rows = newcomer.run("build/study").splitlines()
    # Before each of 8 blocks (4 layers) and before the head, the demo model's rows of 256.
    expect(len(rows) == 9 and all(row.startswith("256 ") for row in rows) and len(set(rows)) == 9,
           "expected nine different rows of 256 floats", "\n".join(rows))
    newcomer.succeeded("hidden rows")
    said = newcomer.run("../build/own_config", folder=newcomer.clone)
    expect("Blessed are the" in said and "not what the Config says" in said, "expected what the example says of both Configs", said)
    newcomer.succeeded("a Config of one's own")


if __name__ == "__main__":
    main()
