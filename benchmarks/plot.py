#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the results of `skald bench --json`.

usage: plot.py OUTPUT_FOLDER RESULTS.json...

Writes SVG files: prefill.svg (tokens/s against the prompt's length), decode.svg (against the tokens before), batch.svg
(against conversations at once) and simd.svg (for each SIMD target), as far as the results have more than one point for
it. The machine's limit is drawn dashed. Needs matplotlib (Debian: python3-matplotlib).
"""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

# The same input gives the same file.
matplotlib.rcParams.update({"svg.hashsalt": "skald", "svg.fonttype": "none", "font.size": 9})


def read_rows(paths):
    """Returns the rows of all files; of several measurements of the same thing the last one."""
    rows = {}
    for path in paths:
        for row in json.loads(pathlib.Path(path).read_text())["rows"]:
            key = tuple(row[name] for name in ("model", "weights", "simd", "threads", "test", "tokens", "depth", "sequences"))
            rows[key] = row
    return list(rows.values())


def most_threads(rows):
    most = max((row["threads"] for row in rows), default=0)
    return [row for row in rows if row["threads"] == most]


def best_target(rows):
    """The target that most rows are of: the one that a run without --simd uses."""
    names = [row["simd"] for row in rows]
    best = max(names, key=names.count, default=None)
    return [row for row in rows if row["simd"] == best]


def lines_of(rows, position):
    """Returns {label: rows sorted by position}, without lines of a single point."""
    lines = {}
    for row in sorted(rows, key=position):
        lines.setdefault(f"{row['model']}, {row['weights']}", []).append(row)
    return {label: line for label, line in lines.items() if len({position(row) for row in line}) > 1}


def save(figure, folder, name):
    figure.tight_layout()
    figure.savefig(folder / name, metadata={"Date": None})
    plt.close(figure)
    print(folder / name)


def draw_lines(folder, rows, name, title, field, x_label, logarithmic=False):
    """Tokens per second against one field of the rows, a line for each model and type of weights."""
    def position(row):
        return row[field]

    lines = lines_of(best_target(most_threads(rows)), position)
    if not lines:
        return
    figure, axes = plt.subplots(figsize=(6, 3.5))
    for label, line in lines.items():
        x = [position(row) for row in line]
        [drawn] = axes.plot(x, [row["tokens_per_second"] for row in line], marker="o", markersize=4, label=label)
        axes.plot(x, [row["limit_tokens_per_second"] for row in line], linestyle="--", linewidth=0.8,
                  color=drawn.get_color())
    if logarithmic:
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        ticks = sorted({position(row) for line in lines.values() for row in line})
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(x_label)
    axes.set_ylabel("tokens/s in all")
    axes.set_title(title)
    axes.legend(fontsize=8)
    save(figure, folder, name)


def draw_simd(folder, rows):
    """Bars for each target, prefill and decode side by side on scales of their own."""
    rows = most_threads([row for row in rows if row["depth"] == 0 and row["sequences"] == 1])
    if len({row["simd"] for row in rows}) < 2:
        return
    figure, plots = plt.subplots(1, 2, figsize=(8, 3.5))
    for axes, test in zip(plots, ("prefill", "decode")):
        of_test = [row for row in rows if row["test"] == test]
        counts = [row["tokens"] for row in of_test]
        of_test = [row for row in of_test if row["tokens"] == max(counts, key=counts.count)]
        targets = list(dict.fromkeys(row["simd"] for row in of_test))
        labels = list(dict.fromkeys(f"{row['model']}, {row['weights']}" for row in of_test))
        width = 0.8 / max(1, len(labels))
        for i, label in enumerate(labels):
            bars = {row["simd"]: row["tokens_per_second"] for row in of_test
                    if f"{row['model']}, {row['weights']}" == label}
            axes.bar([targets.index(target) + i * width for target in bars], list(bars.values()), width, label=label)
        axes.set_xticks([i + 0.4 - width / 2 for i in range(len(targets))], targets)
        axes.set_title(f"{test.capitalize()} by SIMD target")
        axes.set_ylabel("tokens/s")
        axes.legend(fontsize=8)
    save(figure, folder, "simd.svg")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rows = read_rows(sys.argv[2:])
    prefill = [row for row in rows if row["test"] == "prefill" and row["depth"] == 0]
    decode = [row for row in rows if row["test"] == "decode"]
    draw_lines(folder, prefill, "prefill.svg", "Prefill against length", "tokens", "tokens of the prompt")
    draw_lines(folder, [row for row in decode if row["sequences"] == 1], "decode.svg", "Decode against context length",
               "depth", "tokens before")
    draw_lines(folder, [row for row in decode if row["depth"] == 0], "batch.svg",
               "Decode against conversations at once", "sequences", "conversations", logarithmic=True)
    draw_simd(folder, rows)


if __name__ == "__main__":
    main()
