"""Charts of the report as SVG: line charts with bands and bars, and sparklines for table cells.

Takes points and returns markup without colours: the page's classes `s0` to `s7` colour the series,
so that charts suit light and dark screens and paper. A chart scales with its column; each point has
a tooltip with its values, which are also in the tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hopefear.analysis.report.html import Markup, element

WIDTH, HEIGHT = 400, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 10, 40
SERIES = 8  # number of classes of colours and marks
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """A series: its points, and a band or bars around them."""

    name: str
    colour: int
    points: Sequence[Point]
    band: Sequence[tuple[float, float, float]] = ()  # x, low, high
    bars: Sequence[tuple[float, float, float]] = ()  # x, low, high
    dashed: bool = False
    best: int | None = None  # index of the chosen point
    bar_names: tuple[str, str] = ("low", "high")


@dataclass(frozen=True)
class Chart:
    """The title, axes and lines of a chart."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line] = field(default_factory=list)
    log_x: bool = False
    whole_x: bool = False  # whether x values are integers


def ticks(low: float, high: float, count: int = 5, *, whole: bool = False) -> list[float]:
    """Round numbers from at most `low` to at least `high`, about `count` of them."""
    if not high > low:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / max(1, count - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in _STEPS if s * power >= rough * 0.999)
    if whole:
        step = max(1.0, math.ceil(step))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * i for i in range(first, last + 1)]


def powers(low: float, high: float) -> list[float]:
    """Ticks 1, 2, 5, 10, 20 … that cover a positive range, at most seven."""
    values = [m * 10.0**p for p in range(-4, 8) for m in (1, 2, 5)]
    first = max((v for v in values if v <= low), default=values[0])
    last = min((v for v in values if v >= high), default=values[-1])
    inside = [v for v in values if first <= v <= last]
    return inside[:: math.ceil(len(inside) / 7)]


def draw(chart: Chart) -> Markup:
    """Draw a chart as a figure with a legend."""
    xs = [x for line in chart.lines for x, _ in line.points]
    ys = [y for line in chart.lines for _, y in line.points]
    ys += [y for line in chart.lines for _, *ends in (*line.band, *line.bars) for y in ends]
    log = chart.log_x and min(xs) > 0
    x_ticks = powers(min(xs), max(xs)) if log else ticks(min(xs), max(xs), 7, whole=chart.whole_x)
    if chart.whole_x:
        x_ticks = [x for x in x_ticks if min(xs) <= x <= max(xs)]
    y_ticks = ticks(min(ys), max(ys))
    margin = 0.02 * (max(xs) - min(xs)) if chart.whole_x else 0.0
    x_ends = (min(x_ticks[0], min(xs)) - margin, max(x_ticks[-1], max(xs)) + margin)
    x = _scale(*x_ends, LEFT, WIDTH - RIGHT, log)
    y = _scale(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP, False)
    parts = [_axes(chart, x, y, x_ticks, y_ticks)]
    parts += [_line(line, x, y) for line in chart.lines]
    picture = element(
        "svg",
        parts,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"{chart.title}: {chart.y_label} against {chart.x_label}",
    )
    legend = element("p", [_legend(line) for line in chart.lines], class_="legend")
    return element("figure", element("figcaption", chart.title), picture, legend, class_="chart")


def _scale(
    low: float, high: float, begin: float, end: float, log: bool
) -> Callable[[float], float]:
    if high <= low:
        low, high = (low / 2, high * 2) if log else (low - 1, high + 1)
    by: Callable[[float], float] = math.log if log else float
    return lambda value: begin + (by(value) - by(low)) / (by(high) - by(low)) * (end - begin)


def _axes(
    chart: Chart,
    x: Callable[[float], float],
    y: Callable[[float], float],
    x_ticks: Sequence[float],
    y_ticks: Sequence[float],
) -> Markup:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for value in y_ticks:
        at = round(y(value), 1)
        parts.append(element("path", d=f"M{LEFT} {at}H{right}", class_="grid"))
        parts.append(element("text", _short(value), x=LEFT - 7, y=at + 4, class_="end"))
    for value in x_ticks:
        at = round(x(value), 1)
        parts.append(element("path", d=f"M{at} {bottom}v4", class_="axis"))
        parts.append(element("text", _short(value), x=at, y=bottom + 17, class_="middle"))
    parts.append(element("path", d=f"M{LEFT} {bottom}H{right}", class_="axis"))
    parts.append(
        element("text", chart.x_label, x=(LEFT + right) / 2, y=HEIGHT - 6, class_="middle label")
    )
    middle = (TOP + bottom) / 2
    parts.append(
        element(
            "text",
            chart.y_label,
            x=11,
            y=middle,
            transform=f"rotate(-90 11 {middle})",
            class_="middle label",
        )
    )
    return element("g", parts, class_="axes", aria_hidden="true")


def _line(line: Line, x: Callable[[float], float], y: Callable[[float], float]) -> Markup:
    parts = []
    if line.band:
        upper = [f"{x(at):.1f},{y(high):.1f}" for at, _, high in line.band]
        lower = [f"{x(at):.1f},{y(low):.1f}" for at, low, _ in reversed(line.band)]
        parts.append(element("polygon", points=" ".join(upper + lower), class_="band"))
    for at, low, high in line.bars:
        left = x(at)
        parts.append(
            element(
                "g",
                element(
                    "title",
                    f"{line.name}, {_short(at)}: {line.bar_names[0]} {low:.2f}, "
                    f"{line.bar_names[1]} {high:.2f}",
                ),
                element("path", d=f"M{left:.1f} {y(low):.1f}V{y(high):.1f}", class_="bar"),
                element("path", d=f"M{left - 6:.1f} {y(high):.1f}h12", class_="cap"),
                element("path", d=f"M{left - 6:.1f} {y(low):.1f}h12", class_="cap low"),
            )
        )
    path = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in line.points)
    parts.append(element("polyline", points=path, class_="line dashed" if line.dashed else "line"))
    for number, (at, value) in enumerate(line.points):
        chosen = number == line.best
        parts.append(
            element(
                "g",
                element("title", f"{line.name}, {_short(at)}: {value:.2f}" + ", chosen" * chosen),
                mark(line.colour, x(at), y(value), 5.5 if chosen else 3.0),
                element("circle", cx=round(x(at), 1), cy=round(y(value), 1), r=5.5, class_="ring")
                if chosen
                else None,
            )
        )
    return element("g", parts, class_=f"s{line.colour % SERIES}")


def mark(number: int, x: float, y: float, size: float) -> Markup:
    """The mark of a series, so that series differ in more than colour."""
    r = min(size, 3.5)
    kind = (number + number // SERIES) % 4
    if kind == 0:
        return element("circle", cx=round(x, 1), cy=round(y, 1), r=r, class_="mark")
    if kind == 1:
        d = f"M{x - r:.1f} {y - r:.1f}h{2 * r:g}v{2 * r:g}h{-2 * r:g}z"
    elif kind == 2:
        d = f"M{x:.1f} {y - 1.3 * r:.1f}l{1.3 * r:g} {2.3 * r:g}h{-2.6 * r:g}z"
    else:
        d = f"M{x:.1f} {y - 1.4 * r:.1f}l{1.4 * r:g} {1.4 * r:g}l{-1.4 * r:g} {1.4 * r:g}"
        d += f"l{-1.4 * r:g} {-1.4 * r:g}z"
    return element("path", d=d, class_="mark")


def key(number: int) -> Markup:
    """A sample of a series' line and mark, to show beside its name."""
    return element(
        "svg",
        element("path", d="M0 7H22", class_="line"),
        mark(number, 11, 7, 3.5),
        viewBox="0 0 22 14",
        class_=f"key s{number % SERIES}",
        aria_hidden="true",
    )


def _legend(line: Line) -> Markup:
    if line.dashed:
        picture = element(
            "svg",
            element("path", d="M0 7H22", class_="line dashed"),
            viewBox="0 0 22 14",
            class_=f"key s{line.colour % SERIES}",
            aria_hidden="true",
        )
    else:
        picture = key(line.colour)
    return element("span", picture, line.name)


def sparkline(values: Sequence[float], colour: int, label: str) -> Markup:
    """A line without axes, on its own scale, which includes 0."""
    width, height = 64, 20
    low, high = min(0.0, *values), max(0.0, *values)
    y = _scale(low, high, height - 3, 3, False)
    step = (width - 8) / max(1, len(values) - 1)
    points = [(4 + i * step, y(value)) for i, value in enumerate(values)]
    return element(
        "svg",
        element("title", label),
        element("path", d=f"M0 {y(0.0):.1f}H{width}", class_="zero"),
        element("polyline", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in points), class_="line"),
        element(
            "circle", cx=round(points[-1][0], 1), cy=round(points[-1][1], 1), r=2.5, class_="mark"
        ),
        viewBox=f"0 0 {width} {height}",
        class_=f"spark s{colour % SERIES}",
        role="img",
        aria_label=label,
    )


def _short(value: float) -> str:
    return f"{round(value, 6) + 0.0:g}"
