#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Draws how long users wait for their first token, against load.

usage: plot_schedules.py RESULTS.csv OUTPUT.svg

Reads what `schedule_sim --csv` wrote, and draws the 99th percentile of the first trace in it: a line for each way to
schedule, on a logarithmic scale. Needs nothing but Python.
"""

import csv
import math
import pathlib
import sys

WIDTH, HEIGHT = 640, 380
LEFT, RIGHT, TOP, BOTTOM = 60, 150, 34, 48
COLOURS = ["#8c8c8c", "#8c564b", "#1f77b4", "#d62728", "#2ca02c", "#ff7f0e"]


def read_lines(path):
    """Returns the trace's name and {scheduler: [(load, seconds)]}, ascending."""
    rows = list(csv.DictReader(pathlib.Path(path).open()))
    if not rows:
        sys.exit(f"plot_schedules.py: {path} has no rows")
    lines = {}
    for row in rows:
        if row["trace"] == rows[0]["trace"]:
            lines.setdefault(row["scheduler"], []).append((float(row["load"]), float(row["first99"])))
    return rows[0]["trace"], {name: sorted(points) for name, points in lines.items()}


def text(x, y, what, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{what}</text>'


class Plot:
    def __init__(self, lines):
        loads = [load for line in lines.values() for load, _ in line]
        seconds = [time for line in lines.values() for _, time in line]
        self.loads = min(loads), max(loads)
        self.decades = math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)))
        self.lines = lines

    def x(self, load):
        least, most = self.loads
        return LEFT + (WIDTH - LEFT - RIGHT) * (load - least) / ((most - least) or 1)

    def y(self, seconds):
        least, most = self.decades
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(seconds) - least) / ((most - least) or 1)

    def axes(self):
        for decade in range(self.decades[0], self.decades[1] + 1):
            y = self.y(10.0 ** decade)
            yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
            yield text(LEFT - 6, y + 4, f"{10.0 ** decade:g}", "end")
        for load in sorted({load for line in self.lines.values() for load, _ in line}):
            if round(load * 100) % 20 == 0:
                yield text(self.x(load), HEIGHT - BOTTOM + 16, f"{load:g}")
        yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, "load, as a part of what continuous batches can serve")

    def curves(self):
        for place, (name, line) in enumerate(self.lines.items()):
            colour = COLOURS[place % len(COLOURS)]
            points = " ".join(f"{self.x(load):.1f},{self.y(seconds):.1f}" for load, seconds in line)
            yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"/>'
            y = TOP + 10 + 18 * place
            yield f'<path d="M{WIDTH - RIGHT + 12} {y}h18" stroke="{colour}" stroke-width="1.8"/>'
            yield text(WIDTH - RIGHT + 36, y + 4, name, "start")

    def svg(self, title):
        body = [text((LEFT + WIDTH - RIGHT) / 2, 20, title, more=' font-weight="bold"'), *self.axes(), *self.curves()]
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
                'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
                + "\n".join(body) + "\n</svg>\n")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    trace, lines = read_lines(sys.argv[1])
    pathlib.Path(sys.argv[2]).write_text(
        Plot(lines).svg(f"Seconds to the first token, 99th percentile ({trace})"))


if __name__ == "__main__":
    main()
