#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes examples/server/FIELDS.md, the table of fields for people, out of openapi.json: fields_page.py [--write]."""

import json
import os
import sys

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "server")
PAGE = os.path.join(SERVER, "FIELDS.md")
HEAD = """# Fields of requests

Each field of each API is done, ignored because it cannot change what is promised, or refused by name because the answer
would not be what the client relies on. `null` is as if a field were not there. Fields that are not named here are ignored
and told in `skald.ignored`, or refused with `--strict`. This page is written by `tests/server/fields_page.py` out of
`api/openapi.json`, which the server reads too.
"""


def words(value):
    return ", ".join(f"`{json.dumps(one)}`" for one in value if one is not None)


def section(name, schema):
    lines = [f"\n## {name}\n"]
    if "description" in schema:
        lines.append(schema["description"] + "\n")
    done = [f"`{field}`" for field, rule in schema["properties"].items() if "x-skald" not in rule]
    lines.append("Done: " + ", ".join(done) + ".\n")
    rows = []
    for field, rule in schema["properties"].items():
        kind = rule.get("x-skald")
        if kind == "ignored":
            rows.append(f"| `{field}` | ignored | {rule['description']} |")
        elif kind == "refused":
            harmless = words(rule["enum"])
            rows.append(f"| `{field}` | refused{', but ' + harmless if harmless else ''} | {rule['description']} |")
    if rows:
        lines += ["| field | | |", "|---|---|---|", *rows]
    return "\n".join(lines).rstrip("\n") + "\n"


def page():
    with open(os.path.join(SERVER, "api", "openapi.json")) as file:
        schemas = json.load(file)["components"]["schemas"]
    kinds = [(name, schema) for name, schema in schemas.items() if "properties" in schema and name not in ("Error", "OllamaError", "Object")]
    return HEAD + "".join(section(name, schema) for name, schema in kinds)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        with open(PAGE, "w") as out:
            out.write(page())
    else:
        print(page(), end="")
