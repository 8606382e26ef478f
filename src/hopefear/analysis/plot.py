"""Small line plots as SVG: panels side by side, one line per series, a legend.

Takes points and returns the text of a self-contained SVG file for documents. The charts of a report
take their colours from its page instead (`report/charts.py`). Avoids a dependency on a plotting
library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#e29b1f", "#7b4ea3", "#444444", "#18a0a0", "#a0522d")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, LEGEND = 320, 240, 46, 30, 42, 110
_LABELS = 12  # maximum number of labels on the x axis
_APART = 24  # minimum distance of labels in pixels
_LETTER = 6  # approximate width of a letter in pixels

Series = Mapping[str, Sequence[tuple[float, float]]]  # name -> (x, y)


def line_plot(
    panels: Mapping[str, Series],
    x_label: str,
    y_label: str,
    *,
    log_x: bool = True,
    log_y: bool = False,
    y_range: tuple[float, float] | None = (0.0, 1.0),
) -> str:
    """Draw a panel for each group of series and return the SVG.

    `y_range`: limits of the y axis; None fits them to the points, on a logarithmic axis to powers
    of ten.
    """
    names = list(dict.fromkeys(name for series in panels.values() for name in series))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    points = [p for series in panels.values() for line in series.values() for p in line]
    xs = sorted({x for x, _ in points}) or [1.0]
    low, high = y_range or _range([y for _, y in points], log_y)
    if log_y:
        low, high = max(low, 1e-300), max(high, 1e-299)
    x = _Scale(xs[0], xs[-1], log_x)
    if not log_x and any(value % 1 for value in xs):  # not counts: use round numbers as ticks
        xs = [value for value, _ in x.ticks()]
    axes = _Axes(xs, x, _Scale(low, high, log_y), x_label, y_label)
    longest = max(map(len, names), default=0)
    width = len(panels) * (WIDTH + LEFT) + max(LEGEND, 40 + _LETTER * longest)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT + TOP + BOTTOM}" '
        f'font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{HEIGHT + TOP + BOTTOM}" fill="white"/>',
    ]
    for number, (title, series) in enumerate(panels.items()):
        parts += _panel(number * (WIDTH + LEFT) + LEFT, title, series, colours, axes)
    place = len(panels) * (WIDTH + LEFT) + 12
    for i, name in enumerate(names):
        y = TOP + 14 + 18 * i
        parts.append(f'<path d="M{place} {y}h20" stroke="{colours[name]}" stroke-width="2"/>')
        parts.append(f'<text x="{place + 26}" y="{y + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _range(values: Sequence[float], log: bool) -> tuple[float, float]:
    top = max(values, default=1.0)
    if log:
        bottom = min(values, default=1.0)
        return 10.0 ** math.floor(math.log10(bottom)), 10.0 ** math.ceil(math.log10(top) or 1)
    step = 10.0 ** math.floor(math.log10(top)) if top > 0 else 1.0
    return 0.0, step * math.ceil(top / step) if top > 0 else 1.0


class _Scale:
    """A map from values to positions on an axis, from 0 to 1."""

    def __init__(self, low: float, high: float, log: bool) -> None:
        self.low, self.high, self.log = low, high, log
        self._by: Callable[[float], float] = math.log if log else float
        if high <= low:
            self.high = low * 1.01 if log else low + 1

    def __call__(self, value: float) -> float:
        low, high = self._by(self.low), self._by(self.high)
        return (self._by(min(max(value, self.low), self.high)) - low) / (high - low)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield the values of ticks with their labels."""
        if not self.log:
            step = 10.0 ** math.floor(math.log10((self.high - self.low) / 5))
            step *= next(n for n in (1, 2, 5, 10) if (self.high - self.low) <= 5.001 * n * step)
            for i in range(
                math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1
            ):
                yield i * step, f"{i * step:.1f}" if self.high <= 1 else f"{i * step:g}"
            return
        first, last = round(math.log10(self.low)), round(math.log10(self.high))
        for power in range(first, last + 1, max(1, (last - first) // 5)):
            yield 10.0**power, f"1e{power}" if abs(power) > 3 else f"{10.0**power:g}"


@dataclass(frozen=True)
class _Axes:
    xs: Sequence[float]
    x: _Scale
    y: _Scale
    x_label: str
    y_label: str


def _panel(
    left: float, title: str, series: Series, colours: Mapping[str, str], axes: _Axes
) -> list[str]:
    def at(x: float, y: float) -> tuple[float, float]:
        return left + 8 + axes.x(x) * (WIDTH - 24), TOP + HEIGHT * (1 - axes.y(y))

    bottom = TOP + HEIGHT
    parts = [
        f'<text x="{left + WIDTH / 2}" y="{TOP - 10}" text-anchor="middle" font-weight="bold">'
        f"{escape(title)}</text>",
        f'<text x="{left + WIDTH / 2}" y="{bottom + 34}" text-anchor="middle">'
        f"{escape(axes.x_label)}</text>",
        f'<text x="{left - 34}" y="{TOP + HEIGHT / 2}" text-anchor="middle" '
        f'transform="rotate(-90 {left - 34} {TOP + HEIGHT / 2})">{escape(axes.y_label)}</text>',
    ]
    for value, text in axes.y.ticks():
        y = at(axes.xs[0], value)[1]
        parts.append(f'<path d="M{left} {y:.1f}h{WIDTH - 8}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 4}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    before = -math.inf
    for x in axes.xs[:: math.ceil(len(axes.xs) / _LABELS)]:
        px = at(x, axes.y.low)[0]
        if px < before + _APART:
            continue
        before = px
        parts.append(f'<path d="M{px:.1f} {bottom}v4" stroke="#888"/>')
        parts.append(f'<text x="{px:.1f}" y="{bottom + 16}" text-anchor="middle">{x:g}</text>')
    for name, points in series.items():
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in (at(x, y) for x, y in points))
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="2"/>'
        )
    return parts
