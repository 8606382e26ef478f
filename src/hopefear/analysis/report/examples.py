"""The examples of the page: sentences with each system's translation and its derivation.

Takes systems and outputs, and returns a list of sentences that can be opened, those first on which
the systems differ most. The script of the page sorts and filters the list and adds arrow keys;
without a script the list is complete.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

import numpy as np

from hopefear.analysis.report.derivations import picture, steps_table
from hopefear.analysis.report.html import Child, Markup, element
from hopefear.analysis.report.outputs import Outputs, Translation
from hopefear.analysis.report.runs import ComparedSystem
from hopefear.analysis.report.tables import named, prose, section


def chosen(outputs: Outputs, count: int) -> list[int]:
    """The numbers of the `count` sentences to show: the largest score differences first.

    With a single system, the lowest scores first.
    """
    table = np.array([scores.sentences for scores in outputs.scores])
    measure = np.ptp(table, axis=0) if len(table) > 1 else -table[0]
    order = np.argsort(-measure, kind="stable")
    return [int(number) for number in order[:count]]


def examples(systems: Sequence[ComparedSystem], outputs: Outputs, count: int) -> Markup | None:
    """The section with `count` examples; None without any sentence."""
    numbers = chosen(outputs, count)
    if not numbers:
        return None
    total = len(outputs.source)
    shown = "all sentences" if len(numbers) == total else f"{len(numbers)} of {total:,} sentences"
    order = "largest differences first" if len(systems) > 1 else "lowest scores first"
    text = (
        f"{shown[:1].upper()}{shown[1:]} of {outputs.title}, {order}. Numbers are sentence BLEU; "
        "underlined words are in no reference. Open a sentence to see the derivations of its "
        "translations; arrow keys move along the list."
    )
    rows = [_example(systems, outputs, number) for number in numbers]
    return section(
        "examples",
        "Examples",
        prose(text),
        _controls(systems),
        element("p", "", id="count", class_="small", role="status"),
        element("ol", rows, class_="examples", id="list"),
    )


def _controls(systems: Sequence[ComparedSystem]) -> Markup:
    """The controls that sort and filter the examples; hidden without a script."""
    choices: list[Child] = []
    if len(systems) > 1:
        choices.append(element("option", "difference", value="difference", selected=True))
    choices += [
        element("option", "score, lowest first", value="score"),
        element("option", "number", value="number"),
        element("option", "length", value="length"),
    ]
    parts: list[Child] = [element("label", "sort by ", element("select", choices, id="sort"))]
    if len(systems) > 1:
        for id, title, first in (("first", "of ", 0), ("second", "and ", len(systems) - 1)):
            names = [
                element("option", system.name, value=number, selected=number == first)
                for number, system in enumerate(systems)
            ]
            parts.append(element("label", title, element("select", names, id=id)))
    parts.append(
        element(
            "label", "containing ", element("input", type="search", id="filter", autocomplete="off")
        )
    )
    return element("form", parts, class_="controls", hidden=True, id="controls")


def _example(systems: Sequence[ComparedSystem], outputs: Outputs, number: int) -> Markup:
    source, references = outputs.source[number], outputs.references[number]
    values = [float(scores.sentences[number]) for scores in outputs.scores]
    known = _reference_words(references)
    rows: list[Child] = []
    for members, translation in _distinct(systems, outputs, number):
        marks = [
            element(
                "span",
                named(member, systems[member]),
                element("span", f"{values[member]:.1f}", class_="badge"),
                class_="name",
            )
            for member in members
        ]
        rows.append(element("dt", marks))
        by = systems[members[0]].name if members[1:] else ""
        rows.append(element("dd", _words(translation, known), _derivation(source, translation, by)))
    spread = f"{max(values) - min(values):.1f}" if len(values) > 1 else f"{values[0]:.1f}"
    title = element(
        "summary",
        element("span", f"{number + 1}", class_="place"),
        element("span", " ".join(source) or "(empty)", class_="text", dir="auto"),
        element("span", spread, class_="badge", title="difference" if len(values) > 1 else "BLEU"),
    )
    items = [element("li", text or "(empty)", dir="auto") for text in references]
    body = element(
        "div",
        element("h4", "references" if len(references) > 1 else "reference"),
        element("ul", items, class_="references"),
        element("dl", rows),
        class_="body",
    )
    return element(
        "li",
        element("details", title, body),
        data_number=number + 1,
        data_length=len(source),
        data_scores=json.dumps([round(value, 2) for value in values]),
    )


def _distinct(
    systems: Sequence[ComparedSystem], outputs: Outputs, number: int
) -> list[tuple[list[int], Translation]]:
    """Distinct translations of a sentence, each with the systems that share it.

    Translations are the same if their words and their derivations are.
    """
    groups: dict[object, tuple[list[int], Translation]] = {}
    for member, system in enumerate(systems):
        translation = outputs.shown(member, system.best, number)
        steps = translation.steps or ()
        derivation = tuple((step.use.span, step.use.source, step.use.places) for step in steps)
        key = (tuple(translation.words), derivation)
        groups.setdefault(key, ([], translation))[0].append(member)
    return list(groups.values())


def _reference_words(references: Sequence[str]) -> Counter[str]:
    """The clipping count of each word: its maximum count in a reference."""
    known: Counter[str] = Counter()
    for text in references:
        known |= Counter(text.split())
    return known


def _words(translation: Translation, known: Counter[str]) -> Markup:
    if not translation.words:
        return element("p", element("em", "no translation"), class_="output")
    left = Counter(known)
    parts: list[Child] = []
    for number, word in enumerate(translation.words):
        if number:
            parts.append(" ")
        if left[word] > 0:
            left[word] -= 1
            parts.append(word)
        else:
            parts.append(element("span", word, class_="miss"))
    return element("p", parts, class_="output", dir="auto")


def _derivation(source: Sequence[str], translation: Translation, by: str) -> Markup | None:
    """The picture and the steps of the derivation; `by`: the system that scores a shared one."""
    drawn = picture(source, translation)
    if drawn is None:
        return None
    title = "Steps and their scores" + (f" by the weights of {by}" if by else "")
    table = steps_table(source, translation)
    steps = element("details", element("summary", title), table, class_="how")
    return element("div", drawn, steps)
