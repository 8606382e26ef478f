"""Line plots as SVG."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from hopefear.analysis.plot import HEIGHT, TOP, line_plot


def heights(svg: str) -> list[float]:
    """The heights of the points as shares of the panel."""
    (points,) = re.findall(r'polyline points="([^"]*)"', svg)
    return [1 - (float(p.split(",")[1]) - TOP) / HEIGHT for p in points.split()]


@pytest.mark.parametrize("log", [False, True])
def test_positions_of_points(log: bool) -> None:
    series = {"<a>": [(1, 1.0), (2, 10.0), (3, 100.0)]}
    svg = line_plot({"T & U": series}, "x", "y", log_x=False, log_y=log, y_range=None)
    ET.fromstring(svg)
    assert "T &amp; U" in svg
    expected = [0, 0.5, 1] if log else [0.01, 0.1, 1]
    assert heights(svg) == pytest.approx(expected, abs=1e-3)


def test_values_beyond_the_range_are_clipped() -> None:
    svg = line_plot({"": {"a": [(1, -0.5), (10, 0.25), (100, 2.0)]}}, "x", "y")
    assert heights(svg) == pytest.approx([0, 0.25, 1], abs=1e-3)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("series", [{}, {"a": []}, {"a": [(5, 1.0)]}, {"a": [(1, 3.0), (2, 3.0)]}])
def test_few_points(series: dict, log: bool) -> None:
    ET.fromstring(line_plot({"T": series}, "x", "y", log_x=log, log_y=log, y_range=None))


def test_labels_do_not_overlap() -> None:
    points = [(x, 0.5) for x in (0.0, 1.0, 50.0, 51.0, 100.0)]
    svg = line_plot({"": {"a": points}}, "x", "y", log_x=False)
    shown = [text for text in ("1", "50", "51", "100") if f">{text}</text>" in svg]
    assert shown == ["50", "100"]


def test_axes_have_round_ticks() -> None:
    points = [(0.3, 22.4), (7.4, 31.0), (14.7, 48.0), (23.4, 50.1)]
    svg = line_plot({"": {"a": points}}, "s", "y", log_x=False, y_range=(20, 55))
    assert re.findall(r'text-anchor="end">([^<]*)<', svg) == ["20", "30", "40", "50"]
    assert re.findall(r'y="[\d.]+" text-anchor="middle">([\d.]+)<', svg) == ["5", "10", "15", "20"]


def test_the_legend_has_room_for_its_names() -> None:
    short, long = (
        float(ET.fromstring(line_plot({"": {name: [(1, 1.0)]}}, "x", "y")).attrib["width"])
        for name in ("a", "a" * 40)
    )
    assert long > short
