#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A newcomer with CPUs to compare: builds the program, measures a small real model, and makes the page of results.

Without a source for the real model the demo model takes its place.

usage: comparison.py [--words] [--flags FLAGS]
"""
import pathlib
import subprocess

from steps import Newcomer, command, expect


def main():
    newcomer = Newcomer("comparison", __doc__.splitlines()[0])
    builds = command("README.md", "examples/demo.sh")
    fetches = command("README.md", "python3 examples/fetch_stories15m.py")
    measures = command("README.md", "build/release/examples/skald/skald bench --model FOLDER")
    shows = command("README.md", "benchmarks/results.py")
    record, page = measures.split("--record ")[1].split()[0], shows.split()[1]
    newcomer.begin()

    text = newcomer.run(builds, folder=newcomer.clone)
    expect(len(text.split()) > 20, "expected more than 20 words of text", text)
    newcomer.succeeded("the first text")
    model = fetches.split()[-1]
    fetched = subprocess.run(fetches.split(), cwd=newcomer.clone, capture_output=True, text=True)
    if fetched.returncode != 0:
        print("SKIPPED: the real model, which cannot be fetched: " + (fetched.stdout + fetched.stderr).strip().splitlines()[-1])
        model = "examples/demo_model"
    table = newcomer.run(measures.replace("FOLDER", model), folder=newcomer.clone)
    expect("pp512" in table and "tg64" in table, "expected rows of reading and of writing", table)
    newcomer.run(shows, folder=newcomer.clone)
    records = pathlib.Path(newcomer.clone / record).read_text().splitlines()
    html = pathlib.Path(newcomer.clone / page).read_text()
    expect(len(records) == 2 and "pp512" in html and "tg64" in html, "expected a page with both rows", html)
    newcomer.succeeded("a page of results")


if __name__ == "__main__":
    main()
