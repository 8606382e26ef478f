"""Pictures of derivations: the order of words and the positions of steps."""

from __future__ import annotations

import re

import pytest

from hopefear.analysis.report.derivations import columns, picture, steps_table, visible
from hopefear.analysis.report.outputs import DerivationStep, Translation
from hopefear.base.weights import sparse_vector
from hopefear.decode.trace import Use, source_side


def step(
    depth: int, span, source, places, target, *, gaps=(), rule=1, symbol="X"
) -> DerivationStep:
    use = Use(
        edge=0, rule=rule, symbol=symbol, span=span, source=source, gaps=gaps, target=target,
        begin=0, end=0, places=places, depth=depth, features=sparse_vector({}),
    )  # fmt: skip
    return DerivationStep(use, -1.5)


#: das <b> haus -> the house, with the second phrase first
PHRASES = [
    step(2, (1, 3), (1, 2), (0,), (0, "house")),
    step(1, (0, 1), (0,), (1, 2), (0, "the", "<i>")),
    step(0, None, (), (), (0,), rule=-1),
]
#: S -> S X, X -> X1 de X2
TREE = [
    step(0, (0, 4), (), (), (0,), rule=-1, symbol="S", gaps=((0, 4),)),
    step(1, (0, 4), (), (), (0, 1), rule=-1, symbol="S", gaps=((0, 3), (3, 4))),
    step(2, (0, 3), (1,), (1,), (1, "of", 0), gaps=((0, 1), (2, 3))),
    step(3, (0, 1), (0,), (2,), ("b",)),
    step(3, (2, 3), (2,), (0,), ("a",)),
    step(2, (3, 4), (3,), (3,), ("zz",), rule=-1),
]


def texts(markup: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", markup)


def test_phrases() -> None:
    drawn = picture(["das", "<b>", "haus"], Translation(["house", "the", "<i>"], -3.0, PHRASES))
    assert drawn is not None
    assert sorted(texts(drawn)) == sorted(["das", "&lt;b&gt;", "haus", "house", "the", "&lt;i&gt;"])
    assert drawn.count('class="ribbon"') == 2
    assert "<b>" not in drawn
    assert "&lt;b&gt; haus → house; das → the &lt;i&gt;" in drawn
    # The reordered phrase is first in the output row.
    places = {word: float(x) for x, word in re.findall(r'<text x="([^"]+)"[^>]*>([^<]*)<', drawn)}
    assert places["house"] < places["the"] < places["&lt;i&gt;"]
    assert places["das"] < places["haus"]


def test_a_tree_without_its_glue() -> None:
    shown = visible(TREE)
    assert [(s.use.span, level) for s, level in shown] == [
        ((0, 3), 0),
        ((0, 1), 1),
        ((2, 3), 1),
        ((3, 4), 0),
    ]
    links = [(0, 2), (1, 1), (2, 0)]
    drawn = picture(list("bdac"), Translation(["a", "of", "b", "zz"], -3.0, TREE, links))
    assert drawn is not None
    assert texts(drawn).count("X") == 4
    assert "S" not in texts(drawn)
    assert drawn.count('class="link"') == 4  # three of rules, one of the copied word
    assert "unknown" in drawn


def test_source_sides() -> None:
    assert source_side(TREE[2].use, list("bdac")) == "[1] d [2]"
    table = steps_table(list("bdac"), Translation(["a", "of", "b", "zz"], -3.0, TREE))
    assert table is not None
    assert "[2] of [1]" in table
    assert "-1.500" in table


def test_empty_derivation_has_no_picture() -> None:
    assert picture(["a"], Translation([])) is None
    assert picture(["a"], Translation(["b"])) is None
    assert steps_table(["a"], Translation(["b"])) is None


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("中", 1.7), ("é", 1), ("", 0)])
def test_widths(text: str, width: float) -> None:
    assert columns(text) == width
