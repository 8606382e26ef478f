"""BLEU in context: the pseudo-document of k-best MIRA, the previous 1-bests of the thesis."""

from __future__ import annotations

import numpy as np
import pytest

from hopefear.base.errors import OptionError
from hopefear.metrics import create
from hopefear.metrics.context_bleu import ContextBleu

REFERENCES = [["a b c d e"], ["f g h i"], ["a c e g i k"]]
LISTS = [["a b c d x", "a b c", "x y"], ["f g h", "f g h i", "g"], ["a c e", "a c e g i", "k"]]
BLEU = create("bleu")


def rows_of(sentence: int) -> np.ndarray:
    return BLEU.prepare(REFERENCES).statistics(LISTS[sentence], [sentence] * 3)


def context_bleu(**options: object) -> ContextBleu:
    metric = create("bleu-context", options)
    assert isinstance(metric, ContextBleu)
    return metric


def test_a_document_as_kbmira_has_it() -> None:
    """exp(mean ln((match + b) / (total + b)) + min(0, 1 - r'/c')) r', b = 1 at first."""
    context = context_bleu(decay=0.9).start(3)
    background = np.ones(9)
    for sentence in (0, 1, 2, 0):
        rows = rows_of(sentence)
        together = rows + background
        match, total = together[:, 0:8:2], together[:, 1:8:2]
        reference = together[:, 8]
        log = np.log(match / total).mean(axis=1) + np.minimum(0, 1 - reference / total[:, 0])
        gains = context.gains(rows, sentence)
        assert gains == pytest.approx(np.exp(log) * reference)
        chosen = rows[np.argmax(gains)]
        context.record(chosen, sentence)
        background = 0.9 * background + chosen


def test_the_document_remembers_lengths_and_counts() -> None:
    rows = rows_of(0)
    lengths = [7, 5, 9]
    by_length = context_bleu(scale="source-length", decay=0.5).start(3, lengths)
    by_count = context_bleu(scale="sentences", decay=0.5, factor=2).start(3)
    plain = context_bleu(scale="constant", decay=0.5).start(3)
    for context in (by_length, by_count, plain):
        context.record(rows_of(1)[0], 1)
        context.end_iteration()
    assert by_length.gains(rows, 0) == pytest.approx((0.5 + 5 + 7) * plain.gains(rows, 0))
    assert by_count.gains(rows, 0) == pytest.approx(2 * 2 * plain.gains(rows, 0))


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_the_previous_iteration_without_the_sentence_itself(weight: float) -> None:
    metric = context_bleu(context="previous", scale="constant", factor=1000, context_weight=weight)
    context = metric.start(3)
    for sentence in range(3):
        context.record(rows_of(sentence)[0], sentence)
    context.end_iteration()
    others = weight * (rows_of(1)[0] + rows_of(2)[0])
    wanted = 1000 * BLEU.score(rows_of(0) + others)
    assert context.gains(rows_of(0), 0) == pytest.approx(wanted)
    # What is recorded now counts in the next iteration only.
    context.record(rows_of(1)[2], 1)
    assert context.gains(rows_of(0), 0) == pytest.approx(wanted)
    context.end_iteration()
    assert context.gains(rows_of(0), 0) != pytest.approx(wanted)


@pytest.mark.parametrize("weight", [1.0, 0.5])
@pytest.mark.parametrize("scale", ["constant", "sentences", "source-length", "reference-length"])
def test_learners_that_exchange_have_the_context_of_one(scale: str, weight: float) -> None:
    metric = context_bleu(context="previous", scale=scale, context_weight=weight)
    lengths = [7, 5, 9]
    whole = metric.start(3, lengths)
    first = metric.start(2, lengths[:2], elsewhere=(1, 9.0))
    second = metric.start(1, lengths[2:], elsewhere=(2, 12.0))
    parts = [(first, 0), (first, 1), (second, 0)]
    for iteration in range(3):
        for sentence, (part, number) in enumerate(parts):
            rows = rows_of(sentence)
            assert (part.gains(rows, number) == whole.gains(rows, sentence)).all()
            for context, at in ((part, number), (whole, sentence)):
                context.record(rows[iteration], at)
        recorded = [first.recorded(), second.recorded()]
        first.receive(recorded[1])
        second.receive(recorded[0])
        again = metric.start(2, lengths[:2], elsewhere=(1, 9.0))
        again.restore(first.state())
        first, parts[:2] = again, [(again, 0), (again, 1)]
        for context in (whole, first, second):
            context.end_iteration()


@pytest.mark.parametrize(
    ("scale", "share"),
    [("constant", 12 / 3), ("sentences", 12), ("source-length", 12 * 7), ("reference-length", 60)],
)
def test_the_first_iteration_is_decayed_smoothing(scale: str, share: float) -> None:
    context = context_bleu(context="previous", scale=scale, factor=12).start(3, [7, 5, 9])
    rows = rows_of(0)
    wanted = share * create("bleu-decayed").sentence_scores(rows)
    assert context.gains(rows, 0) == pytest.approx(wanted)


def test_scales_make_gains_of_a_sentence_as_large_as_those_alone() -> None:
    """Why there is a scale: BLEU of N sentences moves by 1/N of what a sentence's does."""
    metric = context_bleu(context="previous", scale="sentences")
    context = metric.start(300)
    for sentence in range(300):
        context.record(rows_of(sentence % 3)[1], sentence)
    context.end_iteration()
    spread = np.ptp(context.gains(rows_of(0), 0))
    assert 0.1 < spread < 10


@pytest.mark.parametrize("kind", ["document", "previous"])
def test_a_checkpoint_keeps_the_context(kind: str) -> None:
    metric = context_bleu(context=kind, scale="sentences")
    context = metric.start(3)
    for sentence in range(3):
        context.record(rows_of(sentence)[1], sentence)
    context.end_iteration()
    context.record(rows_of(2)[0], 2)
    again = metric.start(3)
    again.restore(context.state())
    for each in (context, again):
        each.end_iteration()
    assert (again.gains(rows_of(0), 0) == context.gains(rows_of(0), 0)).all()


def test_average_lengths_start_with_one_word() -> None:
    metric = context_bleu(reference_length="average", scale="constant")
    rows = metric.prepare(REFERENCES).statistics(LISTS[0], [0] * 3)
    plain = context_bleu(scale="constant")
    assert metric.start(3).gains(rows, 0) == pytest.approx(plain.start(3).gains(rows_of(0), 0))


def test_the_scale_is_in_the_signature() -> None:
    metric = context_bleu(context="previous", scale="constant", factor=1000.0)
    assert "|context:previous|" in metric.signature()
    assert "|scale:constant|factor:1000|" in metric.signature()


@pytest.mark.parametrize(
    "options", [{"context": "previous", "decay": 0.9}, {"context_weight": 0.5}]
)
def test_options_of_the_other_context(options: dict) -> None:
    with pytest.raises(OptionError, match="no effect with context"):
        context_bleu(**options)


def test_source_lengths_are_required() -> None:
    with pytest.raises(OptionError, match="give the lengths of the source sentences"):
        context_bleu(scale="source-length").start(3)
