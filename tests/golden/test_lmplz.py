"""Estimated models against those that lmplz wrote: same lines, same order, same numbers."""

from __future__ import annotations

import gzip
import io
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from hopefear.lm.estimate import estimate

CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("en3000.txt", "en3000.o3.arpa.gz", {"order": 3}),
    ("en3000.txt", "en3000.o5.arpa.gz", {"order": 5}),
    ("en3000.txt", "en3000.o4.prune001.arpa.gz", {"order": 4, "prune": [0, 0, 1]}),
    ("zh800.txt", "zh800.o3.arpa.gz", {"order": 3}),
    ("tiny.txt", "tiny.o3.fallback.arpa.gz", {"order": 3, "discount_fallback": True}),
]
TOLERANCE = 1e-6  # lmplz computes in float, and so do we in places


def compare(found: list[str], expected: list[str]) -> None:
    for number, (ours, theirs) in enumerate(zip_longest(found, expected), 1):
        if ours == theirs:
            continue
        a, b = (ours or "").split("\t"), (theirs or "").split("\t")
        assert len(a) == len(b) > 1, f"line {number}: {ours!r}, expected {theirs!r}"
        assert a[1] == b[1], f"line {number}: {ours!r}, expected {theirs!r}"
        for x, y in zip(a[::2], b[::2], strict=True):
            assert abs(float(x) - float(y)) <= TOLERANCE, f"line {number}: {ours}, {theirs}"


@pytest.mark.parametrize(("text", "arpa", "options"), CASES, ids=[case[1] for case in CASES])
def test_models_equal_lmplz(shared: Path, text: str, arpa: str, options: dict[str, Any]) -> None:
    output = io.BytesIO()
    report = estimate(shared / "golden/lm" / text, output, **options)
    expected = gzip.decompress((shared / "golden/lm" / arpa).read_bytes()).decode()
    compare(output.getvalue().decode().split("\n"), expected.split("\n"))
    header = [f"ngram {order.order}={order.ngrams}" for order in report.orders]
    assert header == expected.split("\n")[1 : 1 + options["order"]]


def test_fallback_only_where_needed(shared: Path) -> None:
    report = estimate(shared / "golden/lm/tiny.txt", io.BytesIO(), discount_fallback=True)
    assert [order.fell_back for order in report.orders] == [False, True, True]


def test_the_large_model_in_little_memory(shared: Path) -> None:
    """All 29,000 training lines of Multi30k, from .gz, with 40 MB: most of it goes through disk."""
    output = io.BytesIO()
    report = estimate(shared / "golden/aligned/fr-en/train.en.gz", output, order=3, memory=40 << 20)
    assert report.spilled_bytes > 0
    assert report.tokens == 377_534
    expected = gzip.decompress((shared / "golden/lm3.arpa.gz").read_bytes()).decode()
    compare(output.getvalue().decode().split("\n"), expected.split("\n"))
