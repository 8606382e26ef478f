"""The projection of bench/cluster.py to large clusters."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parents[2] / "bench" / "support" / "projection.py"


@pytest.fixture(scope="module")
def projection() -> ModuleType:
    spec = importlib.util.spec_from_file_location("projection", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_parts_of_a_pass(projection: ModuleType) -> None:
    costs = projection.Costs(
        pair=0.01, chunk=0.001, byte=1e-9, merged=1e-7, mixed=1e-8, change_bytes=20.0,
        weight_bytes=12.0, changed=(100.0, 0.5), network=1e9,
    )  # fmt: skip
    parts = projection.project(costs, 1_000_000, 100)
    changed = 100 * 10_000**0.5  # of each learner
    every = 100 * 1_000_000**0.5
    assert parts.work == pytest.approx(100)
    assert parts.weights == pytest.approx(every * 12 / 1e9 * 3)  # 7 machines: 3 steps
    assert parts.changes == pytest.approx(100 * changed * 20 * 2e-9)
    assert parts.merge == pytest.approx(100 * changed * 1e-7 + every * 1e-8)
    assert parts.chunks == pytest.approx(0.1)
    assert parts.seconds == pytest.approx(sum(vars(parts).values()))
    assert parts.bottleneck == "work"


def test_the_bottleneck_is_named(projection: ModuleType) -> None:
    costs = projection.Costs(
        pair=0.01, chunk=0.0, byte=1e-9, merged=1e-7, mixed=0.0, change_bytes=20.0,
        weight_bytes=12.0, changed=(500.0, 0.7),
    )  # fmt: skip
    slow = replace(costs, merged=1e-5)
    assert projection.project(costs, 1_000_000, 10).bottleneck == "work"
    assert projection.project(slow, 1_000_000, 1_000).bottleneck == "merge"
    assert projection.project(replace(costs, byte=1e-6), 10**6, 1_000).bottleneck == "changes"
    # Twice the workers: half the work, and more to merge.
    few, many = (projection.project(costs, 1e6, workers) for workers in (50, 100))
    assert few.work == pytest.approx(2 * many.work)
    assert few.merge < many.merge


def test_a_power_law_through_two_points(projection: ModuleType) -> None:
    a, b = projection.power((250, 1000), (3 * 250**0.6, 3 * 1000**0.6))
    assert (a, b) == (pytest.approx(3), pytest.approx(0.6))
