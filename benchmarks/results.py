#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a page of results by CPU from the records of `skald bench --record`.

usage: results.py PAGE.html RECORDS.jsonl...

Records of several machines may be in one file or in many. Of several measurements of the same thing the latest counts.
The page is one file with everything in it: tables and plots of each model over the CPUs, then each CPU with what it is
and all of its rows. Rows that were disturbed (repetitions more than 10 % apart, or other programs at work) are marked.
Needs nothing but Python.
"""

import html
import json
import pathlib
import sys

import svg_plots

WIDE_SPREAD, BUSY_CPUS = 0.1, 0.25  # as the warnings of skald bench
TEXTS = ("date", "skald", "build_commit", "compiler", "cpu", "cpu_family", "governor", "transparent_huge_pages", "pinned_to",
         "model", "weights", "simd", "name", "test")
NUMBERS = ("cpus", "numa_nodes", "last_level_cache_bytes", "memory_bytes", "model_bytes", "parameters", "threads", "depth",
           "sequences", "tokens_per_second", "spread", "limit_tokens_per_second", "peak_memory_bytes")
OPTIONAL = ("other_cpus_busy", "cycles_per_token", "instructions_per_token", "joules_per_token")  # or null

STYLE = """body { font: 15px/1.45 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 1em 0 } th, td { padding: .25em .7em; border-bottom: 1px solid #ddd }
th { text-align: left } td.number { text-align: right; font-variant-numeric: tabular-nums } svg { max-width: 100% }"""


def read_record(where, line):
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        sys.exit(f"results.py: {where}: no record: {error}")
    if not isinstance(record, dict):
        sys.exit(f"results.py: {where}: no record: expected an object")
    for name in TEXTS:
        if not isinstance(record.get(name), str):
            sys.exit(f"results.py: {where}: expected {name}, a text")
    for name in NUMBERS + tuple(name for name in OPTIONAL if record.get(name) is not None):
        value = record.get(name)
        if not isinstance(value, (int, float)) or not 0 <= value < 1e18:
            sys.exit(f"results.py: {where}: expected {name}, a number")
    return record


def read_records(paths):
    """Returns the latest record of each thing that was measured, in the order of the files."""
    latest = {}
    for path in paths:
        try:
            content = pathlib.Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            sys.exit(f"results.py: {path}: {error}")
        for place, line in enumerate(content.split("\n"), 1):
            if not line.strip():
                continue
            record = read_record(f"{path}:{place}", line)
            key = (cpu_of(record), model_of(record), *(record[name] for name in ("simd", "threads", "name", "pinned_to")))
            if key not in latest or record["date"] >= latest[key]["date"]:
                latest[key] = record
    return list(latest.values())


def cpu_of(record):
    """Some processors, and those of most virtual machines, are told apart by their families alone."""
    return f"{record['cpu']} ({record['cpu_family']}), {record['cpus']} CPUs"


def model_of(record):
    return f"{record['model']}, {record['weights']}"


def short_names(records):
    """Returns {CPU: its name without family, where no other CPU has the same name}."""
    names = {cpu_of(record): record["cpu"] for record in records}
    shown = list(names.values())
    return {cpu: name if shown.count(name) == 1 else cpu for cpu, name in names.items()}


def grouped(records, key):
    groups = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def limit_of(record):
    """The limit as a number, or None if the weights were not read from memory."""
    return None if record.get("weights_fit_cache") else record["limit_tokens_per_second"]


def is_disturbed(record):
    return record["spread"] > WIDE_SPREAD or (record.get("other_cpus_busy") or 0) > BUSY_CPUS


def size(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.2f} {unit}"
        count /= 1024
    return ""


def table(head, rows):
    """Cells that are numbers are to the right; texts are escaped."""
    def cell(value):
        kind = ' class="number"' if isinstance(value, Figure) else ""
        return f"<td{kind}>{html.escape(str(value))}</td>"

    lines = ["<table>", "<tr>" + "".join(f"<th>{html.escape(name)}</th>" for name in head) + "</tr>"]
    lines += ["<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows]
    return "\n".join([*lines, "</table>"])


class Figure(str):
    """A number as it is shown."""


def rate(record):
    return Figure(svg_plots.number(record["tokens_per_second"]) + ("*" if is_disturbed(record) else ""))


def fastest(records):
    return max(records, key=lambda record: record["tokens_per_second"])


def section_of_model(model, records, names):
    """The model on all CPUs, with the threads and the SIMD target that are fastest there."""
    tests = list(grouped(records, lambda record: record["name"]))
    by_cpu = grouped(records, cpu_of)
    rows = []
    for cpu, of_cpu in by_cpu.items():
        by_test = {name: fastest(found) for name, found in grouped(of_cpu, lambda record: record["name"]).items()}
        rows.append([cpu, *(rate(by_test[test]) if test in by_test else Figure("") for test in tests)])
    first = records[0]
    yield f"<h3>{html.escape(model)}</h3>"
    yield f"<p>{first['parameters'] / 1e6:,.0f} million parameters, {size(first['model_bytes'])}. Tokens/s:</p>"
    yield table(["CPU", *tests], rows)
    for test in tests:
        values = [(names[cpu], best["tokens_per_second"], limit_of(best)) for cpu, of_cpu in by_cpu.items()
                  if (of_test := [record for record in of_cpu if record["name"] == test])
                  for best in [fastest(of_test)]]
        if len(values) > 1:
            values.sort(key=lambda value: -value[1])
            yield svg_plots.bars(f"{test}, tokens/s", values)


def curves_of(records, field, label):
    """Returns {label: [(field, tokens/s)]} of those with more than one point. `label` gives parts of a label: those that
    all curves share are left out."""
    curves = {}
    for parts, found in grouped(records, label).items():
        points = {record[field]: record["tokens_per_second"] for record in found}
        if len(points) > 1:
            curves[parts] = list(points.items())
    differs = [len(set(values)) > 1 for values in zip(*curves)]
    return {", ".join(part for part, shown in zip(parts, differs) if shown) or parts[0]: curve
            for parts, curve in curves.items()}


def plots_of_cpu(records):
    def test_without(mark):
        return lambda record: (record["model"], record["weights"], record["name"].split(mark)[0], record["simd"],
                               f"{record['threads']} threads", record["pinned_to"])

    def of_threads(record):
        return record["model"], record["weights"], record["name"], record["simd"], record["pinned_to"]

    most = max(record["threads"] for record in records)
    alone = [record for record in records if record["sequences"] == 1]
    decode = [record for record in records if record["test"] == "decode" and record["threads"] == most]
    for title, x_label, curves in (
            (f"Decode against context, {most} threads, tokens/s", "tokens before", curves_of(
                [record for record in decode if record["sequences"] == 1], "depth", test_without(" @ "))),
            ("Threads, tokens/s", "threads", curves_of(
                [record for record in alone if record["depth"] == 0], "threads", of_threads)),
            (f"Conversations together, {most} threads, tokens/s of all", "conversations", curves_of(
                [record for record in decode if record["depth"] == 0], "sequences", test_without(" x ")))):
        if curves:
            yield svg_plots.lines(title, x_label, curves)


def share_of(record):
    limit = limit_of(record)
    return Figure(f"{100 * record['tokens_per_second'] / limit:.0f} %") if limit else "weights fit the cache"


def counted(record):
    """The counters' columns, as far as there are any."""
    cycles, joules = record.get("cycles_per_token"), record.get("joules_per_token")
    parts = [f"{(record.get('instructions_per_token') or 0) / cycles:.2f} instructions a cycle"] if cycles else []
    return ", ".join(parts + ([f"{joules:.3f} J a token"] if joules is not None else []))


def section_of_cpu(cpu, records):
    last = max(records, key=lambda record: record["date"])
    facts = [["governor", last["governor"]], ["last-level cache", size(last["last_level_cache_bytes"])],
             ["memory", size(last["memory_bytes"])], ["NUMA nodes", last["numa_nodes"]],
             ["transparent huge pages", last["transparent_huge_pages"]],
             ["skald", f"{last['skald']}, commit {last['build_commit']}, {last['compiler']}"], ["last measured", last["date"]]]
    yield f"<h3>{html.escape(cpu)}</h3>"
    yield table(["", ""], facts)
    yield from plots_of_cpu(records)
    rows = [[model_of(record), record["simd"], Figure(record["threads"]), record["name"], rate(record),
             Figure(f"{100 * record['spread']:.1f} %"), share_of(record), Figure(size(record["peak_memory_bytes"])),
             record["pinned_to"], counted(record)] for record in records]
    head = ["model", "SIMD", "threads", "test", "tokens/s", "spread", "of the limit", "peak memory", "on CPUs", "counted"]
    kept = [i for i in range(len(head)) if any(row[i] != "" for row in rows)]
    yield table([head[i] for i in kept], [[row[i] for i in kept] for row in rows])


def page(records):
    parts = ["<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8"><title>Skald: results by CPU</title>',
             f"<style>{STYLE}</style></head><body>", "<h1>Skald: results by CPU</h1>",
             "<p>Measured by <code>skald bench</code>. pp512 is a prompt of 512 tokens read at once, tg64 are 64 tokens "
             "written one after the other, @ 2048 after so many tokens, x 16 for so many conversations together. Dashed "
             "lines are what the machine allows. A star marks rows that other programs have disturbed, or whose "
             "repetitions are far apart.</p>", "<h2>Models</h2>"]
    names = short_names(records)
    for model, found in grouped(records, model_of).items():
        parts += section_of_model(model, found, names)
    parts.append("<h2>CPUs</h2>")
    for cpu, found in grouped(records, cpu_of).items():
        parts += section_of_cpu(cpu, found)
    return "\n".join([*parts, "</body></html>", ""])


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    records = read_records(sys.argv[2:])
    if not records:
        sys.exit("results.py: there are no records")
    try:
        pathlib.Path(sys.argv[1]).write_text(page(records), encoding="utf-8")
    except OSError as error:
        sys.exit(f"results.py: {error}")


if __name__ == "__main__":
    main()
