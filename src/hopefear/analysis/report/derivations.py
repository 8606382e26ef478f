"""Pictures of derivations: phrases and their reordering, or a tree of rules.

Takes the source words, the steps of a derivation and the word alignment, and returns an SVG, source
above, output below. In a phrase derivation a ribbon joins the two sides of each phrase; crossing
ribbons show reordering. In a tree the rules are above the source words they cover, and lines join
aligned words; glue rules are left out, the rules they join appear side by side.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hopefear.analysis.report.html import Markup, element
from hopefear.analysis.report.outputs import DerivationStep, Translation
from hopefear.decode.trace import source_side

TINTS = 6  # classes c0 to c5: neighbours differ
_BOX, _GAP, _RISE, _LEVEL, _EDGE = 26, 5, 62, 36, 4  # heights and distances in pixels
_CHARACTER, _PADDING = 7.9, 14  # in pixels, for the page's monospaced font of 13 px


@dataclass(frozen=True)
class Box:
    """A word and its horizontal position."""

    text: str
    x: float
    width: float

    @property
    def middle(self) -> float:
        """The x coordinate of its centre."""
        return self.x + self.width / 2


def picture(source: Sequence[str], translation: Translation) -> Markup | None:
    """Draw the derivation of a translation; None if its steps are unknown."""
    steps = translation.steps
    if not steps or not translation.words:
        return None
    tree = steps[0].use.depth == 0  # trees are listed from the root, phrases from the left
    shown = visible(steps) if tree else [(step, 0) for step in steps if step.use.source]
    drawn = _draw(source, translation, shown, tree)
    return element("div", drawn, class_="scroll", tabindex=0, role="group", aria_label="derivation")


def steps_table(source: Sequence[str], translation: Translation) -> Markup | None:
    """A table of the steps: each rule with its score; None if the steps are unknown."""
    if not translation.steps:
        return None
    tree = translation.steps[0].use.depth == 0
    pairs = visible(translation.steps) if tree else [(step, 0) for step in translation.steps]
    rows = [
        element(
            "tr",
            element("td", "· " * level, source_side(step.use, source) or "(end)", dir="auto"),
            element("td", target_side(step, tree), dir="auto"),
            element("td", f"{step.score:.3f}", class_="number"),
        )
        for step, level in pairs
        if step.use.source or step.use.places or abs(step.score) >= 0.0005
    ]
    head = element(
        "tr", [element("th", name, scope="col") for name in ("source", "output", "score")]
    )
    table = element("table", element("thead", head), element("tbody", rows))
    return element("div", table, class_="scroll", tabindex=0, role="group", aria_label="steps")


def visible(steps: Sequence[DerivationStep]) -> list[tuple[DerivationStep, int]]:
    """The steps of a tree in pre-order with their level, without those that only join others."""
    shown: list[tuple[DerivationStep, int]] = []
    hidden: list[bool] = []  # whether each ancestor is left out
    for number, step in enumerate(steps):
        depth = step.use.depth
        del hidden[depth:]
        below = number + 1 < len(steps) and steps[number + 1].use.depth > depth
        joins = step.use.rule < 0 and not step.use.places and below
        if not joins:
            shown.append((step, depth - sum(hidden)))
        hidden.append(joins)
    return shown


def target_side(step: DerivationStep, tree: bool) -> str:
    """The target side of a step: words, and [1], [2] for the parts that other steps translate.

    In a phrase derivation the only part is the translation so far, which is left out.
    """
    return " ".join(
        symbol if isinstance(symbol, str) else f"[{symbol + 1}]"
        for symbol in step.use.target
        if tree or isinstance(symbol, str)
    )


# -- drawing --


def _draw(
    source: Sequence[str],
    translation: Translation,
    steps: Sequence[tuple[DerivationStep, int]],
    tree: bool,
) -> Markup:
    above = [0] * len(source)  # the step that translates each word
    below = [0] * len(translation.words)
    for number, (step, _) in enumerate(steps):
        for place in step.use.source:
            above[place] = number
        for place in step.use.places:
            below[place] = number
    upper, lower = _row(source, above), _row(translation.words, below)
    width = max(_end(upper), _end(lower)) + _EDGE
    upper, lower = _centred(upper, width), _centred(lower, width)
    levels = 1 + max((level for _, level in steps), default=0) if tree else 0
    top = _EDGE + levels * _LEVEL
    bottom = top + _BOX + _RISE
    tints = _tints([step for step, _ in steps])
    parts: list[Markup] = []
    branches: list[Markup] = []  # drawn first, behind the rest
    for number, (step, level) in enumerate(steps):
        inside = [
            element(
                "title",
                f"{source_side(step.use, source)} → {target_side(step, tree)} ({step.score:.3f})",
            )
        ]
        if tree:
            branches.append(_branches(steps, number, level, upper, top))
            inside += _node(step, level, upper)
            inside += _links(step, translation.links, upper, lower, top + _BOX, bottom)
        else:
            inside += _ribbon(step, upper, lower, top + _BOX, bottom)
        for places, boxes, y in (
            (step.use.source, upper, top),
            (step.use.places, lower, bottom),
        ):
            for run in _blocks(places):
                inside.append(_block([boxes[place] for place in run], y))
        kind = "unknown" if step.use.rule < 0 and step.use.source else ""
        parts.append(element("g", inside, class_=f"step c{tints[number]} {kind}".strip()))
    label = "; ".join(f"{source_side(s.use, source)} → {target_side(s, tree)}" for s, _ in steps)
    height = bottom + _BOX + _EDGE
    return element(
        "svg",
        branches,
        parts,
        width=round(width),
        height=height,
        viewBox=f"0 0 {width:.0f} {height}",
        class_="derivation",
        role="img",
        aria_label=label,
    )


def _row(words: Sequence[str], owners: Sequence[int]) -> list[Box]:
    """Boxes of words from left to right; those of the same step are adjacent."""
    boxes: list[Box] = []
    x = float(_EDGE)
    for number, word in enumerate(words):
        if number:
            x += 0 if owners[number] == owners[number - 1] else 2 * _GAP
        size = columns(word) * _CHARACTER + _PADDING
        boxes.append(Box(word, x, size))
        x += size
    return boxes


def _end(boxes: Sequence[Box]) -> float:
    return boxes[-1].x + boxes[-1].width if boxes else 0.0


def _centred(boxes: Sequence[Box], width: float) -> list[Box]:
    shift = (width - _EDGE - _end(boxes)) / 2
    return [Box(box.text, box.x + shift, box.width) for box in boxes]


def columns(text: str) -> float:
    """The width of a text in characters; wide East Asian ones count 1.7."""
    return sum(
        0 if unicodedata.combining(c) else 1.7 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _tints(steps: Sequence[DerivationStep]) -> list[int]:
    """A tint for each step, in the order of their first source words."""
    order = sorted(range(len(steps)), key=lambda n: (steps[n].use.source or (10**6,))[0])
    tints = [0] * len(steps)
    for rank, number in enumerate(order):
        tints[number] = rank % TINTS
    return tints


def _blocks(places: Sequence[int]) -> Iterator[list[int]]:
    """Yield runs of consecutive positions."""
    run: list[int] = []
    for place in sorted(places):
        if run and place != run[-1] + 1:
            yield run
            run = []
        run.append(place)
    if run:
        yield run


def _block(boxes: Sequence[Box], y: float) -> Markup:
    left, right = boxes[0].x, boxes[-1].x + boxes[-1].width
    return element(
        "g",
        element("rect", x=round(left, 1), y=y, width=round(right - left, 1), height=_BOX, rx=5),
        [element("text", box.text, x=round(box.middle, 1), y=y + 17.5) for box in boxes],
    )


def _ribbon(
    step: DerivationStep, upper: Sequence[Box], lower: Sequence[Box], top: float, bottom: float
) -> list[Markup]:
    """A ribbon from the source side of a phrase to its target side, if it has both."""
    use = step.use
    if not use.source or not use.places:
        return []
    a, b = upper[min(use.source)].x, _end([upper[max(use.source)]])
    c, d = lower[min(use.places)].x, _end([lower[max(use.places)]])
    half = (bottom - top) / 2
    path = (
        f"M{a + 4:.1f} {top}C{a + 4:.1f} {top + half} {c + 4:.1f} {top + half} {c + 4:.1f} {bottom}"
        f"H{d - 4:.1f}C{d - 4:.1f} {top + half} {b - 4:.1f} {top + half} {b - 4:.1f} {top}z"
    )
    return [element("path", d=path, class_="ribbon")]


def _links(
    step: DerivationStep,
    links: Sequence[tuple[int, int]],
    upper: Sequence[Box],
    lower: Sequence[Box],
    top: float,
    bottom: float,
) -> list[Markup]:
    """Lines between the aligned words of a rule; without an alignment, between all its parts."""
    own = set(step.use.source)
    pairs = [(i, j) for i, j in links if i in own and j in step.use.places]
    if not pairs:
        pairs = [
            (i[len(i) // 2], j[len(j) // 2])
            for i in _blocks(step.use.source)
            for j in _blocks(step.use.places)
        ]
    half = (bottom - top) / 2
    lines = []
    for i, j in pairs:
        a, b = upper[i].middle, lower[j].middle
        d = f"M{a:.1f} {top}C{a:.1f} {top + half} {b:.1f} {top + half} {b:.1f} {bottom}"
        lines.append(element("path", d=d, class_="link"))
    return lines


def _branches(
    steps: Sequence[tuple[DerivationStep, int]],
    number: int,
    level: int,
    upper: Sequence[Box],
    top: float,
) -> Markup:
    """Lines from a rule to the rules and the words directly below it."""
    step = steps[number][0]
    x, y = _middle(step, upper), _height(level)
    ends = [(upper[place].middle, top) for place in step.use.source]
    for other, depth in steps[number + 1 :]:
        if depth <= level:
            break
        if depth == level + 1:
            ends.append((_middle(other, upper), _height(depth)))
    return element("path", d="".join(f"M{x:.1f} {y}L{a:.1f} {b}" for a, b in ends), class_="branch")


def _node(step: DerivationStep, level: int, upper: Sequence[Box]) -> list[Markup]:
    x, y, label = _middle(step, upper), _height(level), step.use.symbol or "·"
    size = max(22.0, columns(label) * _CHARACTER + 10)
    return [
        element("rect", x=round(x - size / 2, 1), y=y - 10, width=round(size, 1), height=20, rx=10),
        element("text", label, x=round(x, 1), y=y + 4, class_="symbol"),
    ]


def _height(level: int) -> int:
    return _EDGE + level * _LEVEL + 11


def _middle(step: DerivationStep, upper: Sequence[Box]) -> float:
    begin, end = step.use.span or (0, 1)
    return (upper[begin].x + _end([upper[end - 1]])) / 2
