"""Charts: round ticks around the data, and all points inside the picture."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hopefear.analysis.report.charts import (
    HEIGHT,
    WIDTH,
    Chart,
    Line,
    draw,
    powers,
    sparkline,
    ticks,
)

numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3))


@given(numbers, numbers)
def test_ticks_cover_the_data(first: float, second: float) -> None:
    low, high = min(first, second), max(first, second)
    values = ticks(low, high)
    assert values[0] <= low + 1e-6 * max(1, abs(low))
    assert values[-1] >= high - 1e-6 * max(1, abs(high))
    assert 2 <= len(values) <= 7


def test_ticks_are_round() -> None:
    assert ticks(47.9, 50.3) == [47, 48, 49, 50, 51]
    assert ticks(0, 4, 7, whole=True) == [0, 1, 2, 3, 4]
    assert ticks(0.961, 1.03) == pytest.approx([0.96, 0.98, 1.0, 1.02, 1.04])
    assert powers(0.8, 120) == [0.5, 2.0, 10.0, 50.0, 200.0]


@given(
    st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8),
    st.booleans(),
    st.booleans(),
)
@example([(1.0, 0.0)], True, False)
def test_points_are_inside(points: list[tuple[float, float]], log: bool, whole: bool) -> None:
    if whole:
        points = [(float(n), y) for n, (_, y) in enumerate(points)]
    bars = [(x, y - 1, y + 1) for x, y in points]
    drawn = draw(Chart("t", "x", "y", [Line("a", 0, points, bars=bars)], log_x=log, whole_x=whole))
    picture = drawn.partition('class="legend"')[0]
    circles = re.findall(r'<circle cx="([^"]+)" cy="([^"]+)"', picture)
    assert len(circles) == len(points)
    for x, y in circles:
        assert 0 <= float(x) <= WIDTH
        assert 0 <= float(y) <= HEIGHT
    assert "nan" not in drawn


def test_names_are_escaped() -> None:
    drawn = draw(Chart("<t>", "<x>", "<y>", [Line("<a>", 0, [(0, 1)], best=0)]))
    assert "<t>" not in drawn
    assert "<a>" not in drawn
    assert "&lt;a&gt;, 0: 1.00, chosen" in drawn


def test_series_beyond_the_colours_have_other_marks() -> None:
    first, ninth = (draw(Chart("t", "x", "y", [Line("a", n, [(0, 1)])])) for n in (0, 8))
    assert first != ninth


def test_a_sparkline_includes_0() -> None:
    assert 'd="M0 17.0H64"' in sparkline([1, 2, 3], 0, "up")
    assert 'd="M0 3.0H64"' in sparkline([-1, -2], 0, "down")
