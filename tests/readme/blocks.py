#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a program that runs the C++ code of README files: blocks.py OUTPUT README...

The statements of one README are one function, in which the members of `Names` (program.h) are variables. A block that
begins with a definition or an #include is put before it. Blocks with a main function are programs of their own, which
consumer.readme compiles.
"""

import pathlib
import re
import sys

NAMES = ("runtime", "tokenizer", "model", "workspace", "pool", "chat", "prompt", "tokens", "ids", "next", "other", "last")


def code_of(number, text):
    includes, definitions, statements = [], [], []
    for block in re.findall(r"```cpp\n(.*?)```", text, re.DOTALL):
        if "int main" in block:
            continue
        lines = block.splitlines()
        includes += [line for line in lines if line.startswith("#include")]
        rest = "\n".join(line for line in lines if not line.startswith("#include")).strip("\n")
        (definitions if re.match(r"\s*(struct|class|template)\b", rest) else statements).append(rest)
    names = "\n".join(f"[[maybe_unused]] auto& {name} = names.{name};" for name in NAMES)
    body = "\n".join(statements)
    return includes, f"""namespace readme_{number} {{
using skald::testing::MyModel;
namespace own {{
{chr(10).join(definitions)}
}}
skald::Result<void> Run(skald::testing::Names& names) {{
{names}
{{
{body}
return {{}};
}}
}}
}}"""


def main():
    output, *readmes = sys.argv[1:]
    codes = [code_of(number, pathlib.Path(readme).read_text()) for number, readme in enumerate(readmes)]
    includes = sorted({include for found, _ in codes for include in found})
    runs = "\n".join(f'if (!Ran("{pathlib.Path(readme).parent.name}", argv[1], readme_{number}::Run)) return 1;'
                     for number, readme in enumerate(readmes))
    pathlib.Path(output).write_text("\n".join(
        [*includes, '#include "tests/readme/program.h"', "using skald::testing::Ran;", *(code for _, code in codes),
         "int main(int, char** argv) {", runs, "}", ""]))


if __name__ == "__main__":
    main()
