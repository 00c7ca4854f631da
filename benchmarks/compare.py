#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `skald bench` with llama-bench, of llama.cpp or a program that descends from it, on the same GGUF files.

usage: compare.py [--rounds N] [--prompts 512,2048] [--depths 0,2048] [--tokens 64] [--record TABLE.md]
                  --skald 'PROGRAM [OPTIONS]' --peer 'PROGRAM [OPTIONS]' [--peer ...] FILE.gguf...

Programs take turns, so that a machine's changing mood meets all of them alike. Prints a Markdown table of median tokens
per second and of their ratio to the best peer. A peer given twice with different options counts as two. Its options must
include its number of threads, such as '-t 2'. Those of skald are options of `skald bench`, such as '--simd AVX2'.

With --record the rows are also appended to a table (made where it is not there) with the date, the CPU's name and what skald
and the best peer were called with: one file keeps what every machine has shown.
"""

import argparse
import datetime
import json
import pathlib
import re
import shlex
import statistics
import subprocess
import tempfile


def numbers(text):
    return [int(part) for part in text.split(",")]


def skald_results(command, file, options):
    """Returns {test: tokens per second} of one run of each test."""
    results = {}
    for arguments in (["-p", options.prompts, "-n", "0"], ["-p", "0", "-n", str(options.tokens), "-d", options.depths]):
        with tempfile.NamedTemporaryFile(suffix=".json") as output:
            program, *extra = shlex.split(command)
            command_line = [program, "bench", *extra, "--model", file, *arguments, "-r", "1", "--json", output.name]
            subprocess.run(command_line, check=True, stdout=subprocess.DEVNULL)
            for row in json.loads(pathlib.Path(output.name).read_text())["rows"]:
                name = "prefill" if row["test"] == "prefill" else "decode"
                place = row["tokens"] if name == "prefill" else row["depth"]
                results[name, place] = row["tokens_per_second"]
    return results


def peer_runs(program, options):
    """Returns the options of each run: llama.cpp is told depths, ik_llama.cpp prompts before what it times."""
    tokens, depths = str(options.tokens), numbers(options.depths)
    usage = subprocess.run([*program, "--help"], capture_output=True, text=True)
    if not re.search(r"\s-gp\b", usage.stdout + usage.stderr):
        return [["-p", options.prompts, "-n", "0"], ["-p", "0", "-n", tokens, "-d", options.depths]]
    before = [word for depth in depths if depth > 0 for word in ("-gp", f"{depth},{tokens}")]
    return [["-p", options.prompts, "-n", tokens, *before]]


def peer_results(command, file, options):
    program, results = shlex.split(command), {}
    for arguments in peer_runs(program, options):
        output = subprocess.run([*program, "-m", file, *arguments, "-r", "1", "-o", "json"], check=True,
                                capture_output=True, text=True).stdout
        for row in json.loads(output[output.index("["):]):
            if row["n_gen"] == 0:
                results["prefill", row["n_prompt"]] = row["avg_ts"]
            else:
                results["decode", row["n_prompt"] or row.get("n_depth", 0)] = row["avg_ts"]
    return results


COLUMNS = "| date | CPU | skald | best peer | file | test | skald, tokens/s | peer | ratio |"


def cpu_name():
    """Returns the CPU's name, and its family and model, since some name themselves by their maker alone."""
    fields = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines():
        name, _, value = line.partition(":")
        fields[name.strip()] = value.strip()
    return f"{fields.get('model name', 'unknown')} ({fields.get('cpu family', '?')}/{fields.get('model', '?')})"


def shown(command):
    """Returns a command without the folder of its program."""
    program, *rest = shlex.split(command)
    return " ".join([pathlib.Path(program).name, *rest])


def record(table, row):
    """Appends a row to a file, which begins with the names of its columns."""
    path = pathlib.Path(table)
    if not path.exists():
        path.write_text(f"{COLUMNS}\n|{'---|' * (COLUMNS.count('|') - 1)}\n")
    with path.open("a") as file:
        file.write("| " + " | ".join(row) + " |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skald", required=True, metavar="'PROGRAM [OPTIONS]'")
    parser.add_argument("--peer", action="append", required=True, metavar="'PROGRAM [OPTIONS]'")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompts", default="512,2048")
    parser.add_argument("--depths", default="0,2048")
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--record", metavar="TABLE.md")
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
            ours = median.pop(None)
            peer, best = max(median.items(), key=lambda item: item[1])
            name = f"prefill of {test[1]}" if test[0] == "prefill" else f"decode at {test[1]}"
            figures = [pathlib.Path(file).stem, name, f"{ours:.1f}", f"{best:.1f}", f"{ours / best:.2f}"]
            print("| " + " | ".join(figures) + " |", flush=True)
            if options.record:
                today = datetime.date.today().isoformat()
                record(options.record, [today, cpu_name(), shown(options.skald), shown(peer), *figures])


if __name__ == "__main__":
    main()
