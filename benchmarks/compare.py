#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `skald bench` with llama-bench, of llama.cpp or a program that descends from it, on the same GGUF files.

usage: compare.py [--rounds N] [--prompts 512,2048] [--depths 0,2048] [--tokens 64] --skald PROGRAM
                  --peer 'PROGRAM [OPTIONS]' [--peer ...] FILE.gguf...

Programs take turns, so that a machine's changing mood meets all of them alike. Prints a Markdown table of median tokens
per second and of their ratio to the best peer. A peer given twice with different options counts as two. Its options must
include its number of threads, such as '-t 2'.
"""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import tempfile


def numbers(text):
    return [int(part) for part in text.split(",")]


def skald_results(program, file, options):
    """Returns {test: tokens per second} of one run of each test."""
    results = {}
    for arguments in (["-p", options.prompts, "-n", "0"], ["-p", "0", "-n", str(options.tokens), "-d", options.depths]):
        with tempfile.NamedTemporaryFile(suffix=".json") as output:
            command = [program, "bench", "--model", file, *arguments, "-r", "1", "--json", output.name]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            for row in json.loads(pathlib.Path(output.name).read_text())["rows"]:
                name = "prefill" if row["test"] == "prefill" else "decode"
                place = row["tokens"] if name == "prefill" else row["depth"]
                results[name, place] = row["tokens_per_second"]
    return results


def peer_results(command, file, options):
    arguments = ["-m", file, "-p", options.prompts, "-n", str(options.tokens), "-r", "1", "-o", "json"]
    for depth in numbers(options.depths):
        if depth > 0:
            arguments += ["-gp", f"{depth},{options.tokens}"]
    output = subprocess.run([*shlex.split(command), *arguments], check=True, capture_output=True, text=True).stdout
    results = {}
    for row in json.loads(output[output.index("["):]):
        if row["n_gen"] == 0:
            results["prefill", row["n_prompt"]] = row["avg_ts"]
        else:
            results["decode", row["n_prompt"]] = row["avg_ts"]
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skald", required=True, metavar="PROGRAM")
    parser.add_argument("--peer", action="append", required=True, metavar="'PROGRAM [OPTIONS]'")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompts", default="512,2048")
    parser.add_argument("--depths", default="0,2048")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("files", nargs="+", metavar="FILE.gguf")
    options = parser.parse_args()

    print("| file | test | skald | best peer | ratio |")
    print("|---|---|---|---|---|")
    for file in options.files:
        rounds = {None: [], **{peer: [] for peer in options.peer}}
        for _ in range(options.rounds):
            rounds[None].append(skald_results(options.skald, file, options))
            for peer in options.peer:
                rounds[peer].append(peer_results(peer, file, options))
        for test in rounds[None][0]:
            median = {who: statistics.median(results[test] for results in all_of) for who, all_of in rounds.items()}
            ours, best = median.pop(None), max(median.values())
            name = f"prefill of {test[1]}" if test[0] == "prefill" else f"decode at {test[1]}"
            print(f"| {pathlib.Path(file).stem} | {name} | {ours:.1f} | {best:.1f} | {ours / best:.2f} |", flush=True)


if __name__ == "__main__":
    main()
