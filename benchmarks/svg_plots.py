# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG, by Python's standard library alone: bars with names, and lines over numbers."""

import html
import math

WIDTH, BAR, GAP = 640, 18, 8
LEFT, RIGHT, TOP, BOTTOM = 56, 200, 30, 44
COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#17becf", "#7f7f7f"]


def text(x, y, what, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{html.escape(str(what))}</text>'


def svg(height, parts):
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
            f'height="{height:.0f}" font-family="sans-serif" font-size="12">\n'
            f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>')


def number(value):
    """Three figures, without a power of ten."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def cut(name, most):
    return name if len(name) <= most else name[:most - 3] + "..."


def bars(title, values):
    """Draws [(name, value, limit or None)] from the top down; a limit is a line across its bar."""
    most = max(max(value, limit or 0) for _, value, limit in values) or 1
    left, room = 290, WIDTH - 290 - 70
    parts = [text(WIDTH / 2, 18, title, more=' font-weight="bold"')]
    for place, (name, value, limit) in enumerate(values):
        y = TOP + place * (BAR + GAP)
        width = room * value / most
        parts.append(text(left - 8, y + 13, cut(name, 44), "end", ' font-size="11"'))
        parts.append(f'<rect x="{left}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{COLOURS[0]}"/>')
        if limit:
            x = left + room * limit / most
            parts.append(f'<path d="M{x:.1f} {y - 2}v{BAR + 4}" stroke="black" stroke-dasharray="2 2"/>')
        parts.append(text(left + max(width, room * (limit or 0) / most) + 6, y + 13, number(value), "start"))
    return svg(TOP + len(values) * (BAR + GAP) + 4, parts)


def ticks(most, count=5):
    """Round numbers from 0 to at least `most`."""
    step = 10.0 ** math.floor(math.log10(most / count)) if most > 0 else 1.0
    step *= next(factor for factor in (1, 2, 5, 10) if step * factor * count >= most) if most > 0 else 1
    return [step * i for i in range(math.ceil(most / step) + 1)] if most > 0 else [0.0, 1.0]


def lines(title, x_label, curves, height=300):
    """Draws {name: [(x, y)]} from 0 on, the names beside them."""
    points = [point for curve in curves.values() for point in curve]
    xs = sorted({x for x, _ in points})
    y_ticks = ticks(max(y for _, y in points))
    right, bottom = WIDTH - RIGHT, height - BOTTOM

    def place(x, y):
        span = (xs[-1] - xs[0]) or 1
        return LEFT + (right - LEFT) * (x - xs[0]) / span, bottom - (bottom - TOP) * y / y_ticks[-1]

    parts = [text((LEFT + right) / 2, 18, title, more=' font-weight="bold"')]
    for tick in y_ticks:
        _, y = place(xs[0], tick)
        parts += [f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#ddd"/>', text(LEFT - 6, y + 4, f"{tick:g}", "end")]
    last = -math.inf
    for x in xs:
        at, _ = place(x, 0)
        if at - last >= 36:  # further apart than numbers are wide
            parts.append(text(at, bottom + 16, f"{x:g}"))
            last = at
    parts.append(text((LEFT + right) / 2, height - 8, x_label))
    for index, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[index % len(COLOURS)]
        at = [place(x, y) for x, y in sorted(curve)]
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        parts.append(f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in at]
        y = TOP + 10 + 18 * index
        parts.append(f'<path d="M{right + 12} {y}h18" stroke="{colour}" stroke-width="1.8"/>')
        parts.append(text(right + 36, y + 4, cut(name, 27), "start"))
    return svg(max(height, TOP + 18 * len(curves) + 10), parts)
