"""A small line plot as SVG text: panels side by side, one line per series, a legend.

A plotting library would be a dependency for two pictures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#e29b1f", "#7b4ea3", "#444444", "#18a0a0", "#a0522d")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, LEGEND = 320, 240, 46, 30, 42, 110

Series = Mapping[str, Sequence[tuple[float, float]]]  # name -> (x, y)


def line_plot(
    panels: Mapping[str, Series], x_label: str, y_label: str, *, linear: bool = False
) -> str:
    """x is on a logarithmic axis and y goes from 0 to 1; or both are linear, as far as they go."""
    names = list(dict.fromkeys(name for series in panels.values() for name in series))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    xs = sorted({x for series in panels.values() for points in series.values() for x, _ in points})
    width = len(panels) * (WIDTH + LEFT) + LEGEND
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT + TOP + BOTTOM}" '
        f'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{HEIGHT + TOP + BOTTOM}" fill="white"/>',
    ]
    for number, (title, series) in enumerate(panels.items()):
        parts += _panel(
            number * (WIDTH + LEFT) + LEFT, title, series, colours, xs, x_label, y_label, linear
        )
    x = len(panels) * (WIDTH + LEFT) + 12
    for i, name in enumerate(names):
        y = TOP + 14 + 18 * i
        parts.append(f'<path d="M{x} {y}h20" stroke="{colours[name]}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 26}" y="{y + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(
    left: float,
    title: str,
    series: Series,
    colours: Mapping[str, str],
    xs: Sequence[float],
    x_label: str,
    y_label: str,
    linear: bool,
) -> list[str]:
    def along(x: float) -> float:
        return x if linear else math.log(x)

    low, high = along(xs[0]), along(max(xs[-1], xs[0] * 1.01))
    ys = [y for points in series.values() for _, y in points] if linear else [0.0, 1.0]
    bottom_y, top_y = min(ys), max(max(ys), min(ys) + 1e-9)
    marks = [bottom_y + i / 5 * (top_y - bottom_y) for i in range(6)]

    def at(x: float, y: float) -> tuple[float, float]:
        share = (along(x) - low) / max(high - low, 1e-9)
        height = min(max((y - bottom_y) / (top_y - bottom_y), 0.0), 1.0)
        return left + 8 + share * (WIDTH - 24), TOP + HEIGHT * (1 - height)

    bottom = TOP + HEIGHT
    parts = [
        f'<text x="{left + WIDTH / 2}" y="{TOP - 10}" text-anchor="middle" font-weight="bold">'
        f"{escape(title)}</text>",
        f'<text x="{left + WIDTH / 2}" y="{bottom + 34}" text-anchor="middle">'
        f"{escape(x_label)}</text>",
        f'<text x="{left - 34}" y="{TOP + HEIGHT / 2}" text-anchor="middle" '
        f'transform="rotate(-90 {left - 34} {TOP + HEIGHT / 2})">{escape(y_label)}</text>',
    ]
    for mark in marks:
        y = at(xs[0], mark)[1]
        parts.append(f'<path d="M{left} {y:.1f}h{WIDTH - 8}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 4}" y="{y + 4:.1f}" text-anchor="end">{mark:.1f}</text>')
    for x in xs[:: -(-len(xs) // 8)] if linear else xs:
        px = at(x, 0)[0]
        parts.append(f'<path d="M{px:.1f} {bottom}v4" stroke="#888"/>')
        parts.append(f'<text x="{px:.1f}" y="{bottom + 16}" text-anchor="middle">{x:g}</text>')
    for name, points in series.items():
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in (at(x, y) for x, y in points))
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="2"/>'
        )
    return parts
