"""TER, chrF, length and sums of metrics: equal to sacreBLEU where it has them."""

from __future__ import annotations

import random

import pytest
import sacrebleu

from hopefear.base.errors import OptionError
from hopefear.metrics import create

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("hypothesis", "reference", "edits"),
    [
        ("a b c d", "a b c d", 0),
        ("c d a b", "a b c d", 1),  # one shift of two words
        ("a b c d e f", "d e f a b c", 1),
        ("a x c", "a b c", 1),
        ("", "a b c", 3),
        ("a b", "", 2),
        ("A b", "a B", 0),
        ("e d c b a", "a b c d e", 4),
    ],
)
def test_ter_by_hand(hypothesis: str, reference: str, edits: int) -> None:
    assert create("ter").statistics([hypothesis], [[reference]])[0, 0] == edits
    theirs = sacrebleu.TER().sentence_score(hypothesis, [reference])
    assert theirs.num_edits == edits


def shuffled_pairs(count: int, longest: int, words: int, seed: int) -> list[tuple[str, list[str]]]:
    """References, and hypotheses that are them with phrases moved and words changed."""
    chance = random.Random(seed)
    vocabulary = [f"w{i}" for i in range(words)]
    result = []
    for _ in range(count):
        reference = chance.choices(vocabulary, k=chance.randint(0, longest))
        hypothesis = list(reference)
        for _ in range(chance.randint(0, 4)):
            i, j, k = sorted(chance.randint(0, len(hypothesis)) for _ in range(3))
            hypothesis = hypothesis[:i] + hypothesis[j:k] + hypothesis[i:j] + hypothesis[k:]
        kept = [word for word in hypothesis if chance.random() > 0.1]
        hypothesis = [word for word in kept for _ in range(chance.choice([1, 1, 1, 2]))]
        other = chance.sample(reference, len(reference))
        result.append((" ".join(hypothesis), [" ".join(reference), " ".join(other)]))
    return result


@pytest.mark.parametrize(
    ("count", "longest", "words", "seed"),
    [(60, 8, 4, 1), (25, 20, 12, 2), (15, 25, 300, 3), (1, 75, 300, 4)],
)
def test_ter_equals_sacrebleu(count: int, longest: int, words: int, seed: int) -> None:
    pairs = shuffled_pairs(count, longest, words, seed)
    metric, theirs = create("ter"), sacrebleu.TER()
    rows = metric.statistics([h for h, _ in pairs], [r for _, r in pairs])
    for (hypothesis, references), row in zip(pairs, rows, strict=True):
        score = theirs.sentence_score(hypothesis, references)
        assert (row[0], row[1] / 840) == (score.num_edits, score.ref_length)
        assert float(metric.shown(row)) == pytest.approx(score.score)


def test_ter_beyond_the_band() -> None:
    """Lengths so different that the diagonal's band is widened; and equal ones beyond it."""
    for hypothesis, reference in (("a b", "x " * 150 + "a b"), ("x " * 60 + "a b c", "a b c")):
        theirs = sacrebleu.TER().sentence_score(hypothesis, [reference])
        assert create("ter").statistics([hypothesis], [[reference]])[0, 0] == theirs.num_edits


def test_ter_of_a_very_long_line() -> None:
    """Only a band of the matrix is kept: its square would be 30 GB."""
    words = [f"w{i}" for i in range(60_000)]
    row = create("ter").statistics([[*words[1:], "x"]], [[words]])[0]
    assert row.tolist() == [2, 840 * 60_000]


def test_ter_can_mind_case() -> None:
    assert create("ter", {"lowercase": False}).statistics(["A"], [["a"]])[0, 0] == 1


def test_chrf_equals_sacrebleu() -> None:
    hypotheses = ["the cat", "a", "", "猫坐在", "É e\u0301 ß", "x y z"]
    references = [
        ["the  cat sat", "cats"],
        ["b", "ab"],
        ["a", ""],
        ["猫 在", "坐"],
        ["é É", "ß"],
        ["", " "],
    ]
    metric, theirs = create("chrf"), sacrebleu.CHRF()
    rows = metric.statistics(hypotheses, references)
    each = [theirs.sentence_score(h, r).score for h, r in zip(hypotheses, references, strict=True)]
    assert 100 * metric.sentence_scores(rows) == pytest.approx(each, abs=1e-12)
    corpus = theirs.corpus_score(hypotheses, list(zip(*references, strict=True)))
    assert float(metric.shown(rows.sum(axis=0))) == pytest.approx(corpus.score)


@pytest.mark.parametrize(("order", "beta"), [(1, 1), (4, 3)])
def test_chrf_options(order: int, beta: int) -> None:
    metric = create("chrf", {"order": order, "beta": beta, "lowercase": True})
    theirs = sacrebleu.CHRF(char_order=order, beta=beta, lowercase=True)
    rows = metric.statistics(["The Cat"], [["the mat sat", "TCE"]])
    score = theirs.sentence_score("The Cat", ["the mat sat", "TCE"]).score
    assert float(metric.shown(rows[0])) == pytest.approx(score)


def test_length() -> None:
    metric = create("length")
    rows = metric.statistics(["a b c", "a"], [["a b"], ["a b"]])
    assert rows.tolist() == [[3, 2], [1, 2]]
    assert metric.shown(rows).tolist() == [1.5, 0.5]
    assert metric.score(rows).tolist() == [-0.5, -0.5]
    assert float(metric.shown(rows.sum(axis=0))) == 1.0
    average = create("length", {"reference_length": "average", "unit": "char"})
    rows = average.statistics(["ab c"], [["a b", "abc"]])
    assert average.shown(rows).tolist() == [3 / 2.5]


def test_ter_minus_bleu() -> None:
    hypotheses, references = ["a b c d x", "e f g h"], [["a b c d y"], ["g h e f"]]
    bleu, ter, both = create("bleu"), create("ter"), create("ter-bleu")
    shown = [
        float(m.shown(m.statistics(hypotheses, references).sum(axis=0))) for m in (bleu, ter, both)
    ]
    assert shown[2] == pytest.approx((shown[1] - shown[0]) / 2)
    rows = both.statistics(hypotheses, references)
    assert rows.shape == (2, 11)
    assert float(both.score(rows.sum(axis=0))) == pytest.approx(-shown[2] / 100)


def test_any_sum_of_metrics() -> None:
    metric = create(
        "ter-bleu",
        {
            "parts": ["bleu+1", "length", "chrf"],
            "weights": [1.0, 0.2, 0.0],
            "part_options": ["bleu+1.variant=lin-och", "length.unit=char"],
        },
    )
    assert "(bleu+1|" in metric.signature()
    assert "variant:lin-och" in metric.signature()
    rows = metric.statistics(["a b"], [["a bc"]])
    lin_och = create("bleu+1", {"variant": "lin-och"})
    wanted = lin_och.sentence_scores(lin_och.statistics(["a b"], [["a bc"]])) - 0.2 / 3
    assert metric.sentence_scores(rows) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1.0]}, "1 for 2 parts"),
        ({"parts": ["bleu", "bleu"]}, "name each part once"),
        ({"parts": ["bleu", "tre"]}, "unknown metric 'tre'"),
        ({"parts": ["bleu", "ter-bleu"]}, "cannot contain itself"),
        ({"part_options": ["order=3"]}, "expected PART.KEY=VALUE with PART one of bleu, ter"),
        ({"part_options": ["bleu.ordr=3"]}, "unknown key 'ordr'"),
    ],
)
def test_bad_sums(options: dict, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        create("ter-bleu", options)
