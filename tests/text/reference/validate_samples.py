#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks Python's jsonschema whether what a random model wrote under random schemas is valid.

usage: validate_samples.py <text_tests> [schemas]

Runs the program of tests/text with that many random schemas (300 without it), and validates each text by its schema.
Ends with 77, which ctest counts as skipped, where jsonschema is not installed (python3-jsonschema).
"""

import json
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)


def write_samples(program, schemas, path):
    environment = {**os.environ, "SKALD_SCHEMAS": schemas, "SKALD_SAMPLES": path}
    subprocess.run([program, "--test-case=Random schemas*"], env=environment, check=True, stdout=subprocess.DEVNULL)


def complaint(schema, text):
    """The error in a text, or nothing."""
    value = json.loads(text)
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    return next((error.message for error in validator.iter_errors(value)), None)


def main():
    program, schemas = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "300"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "samples")
        write_samples(program, schemas, path)
        with open(path, encoding="utf-8") as lines:
            samples = [json.loads(line) for line in lines]
    wrong = 0
    for sample in samples:
        schema = json.loads(sample["schema"])
        jsonschema.Draft202012Validator.check_schema(schema)
        if message := complaint(schema, sample["text"]):
            wrong += 1
            print(f"{message}\n  schema: {sample['schema']}\n  text:   {sample['text']}")
    print(f"{len(samples)} texts of {schemas} schemas, {wrong} not valid")
    sys.exit(1 if wrong or not samples else 0)


main()
