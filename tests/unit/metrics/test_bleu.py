"""BLEU and its sentence-level forms: hand-made values, options, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sacrebleu
from hopefear._engine import LENGTH_UNIT, BleuReferences

from hopefear.base.errors import InputError, OptionError
from hopefear.metrics import create

pytestmark = pytest.mark.engine


def test_statistics_by_hand() -> None:
    rows = create("bleu").statistics(["a a b c x"], [["a b c d", "a a y"]])
    # unigrams a a b c of 5; bigrams "a a", "a b", "b c" of 4; trigram "a b c" of 3; reference
    # lengths 4 and 3: the closest to 5 is 4.
    assert rows.tolist() == [[4, 5, 3, 4, 1, 3, 0, 2, 4]]


def test_counts_are_clipped_by_one_reference() -> None:
    rows = create("bleu", {"order": 1}).statistics(["a a a"], [["a b a", "a", "b a b"]])
    assert rows.tolist() == [[2, 3, 3]]


@pytest.mark.parametrize(
    ("choice", "unit", "expected"),
    [("closest", 1, 3), ("shortest", 1, 1), ("average", LENGTH_UNIT, LENGTH_UNIT * 9 // 3)],
)
def test_reference_length(choice: str, unit: int, expected: int) -> None:
    metric = create("bleu", {"reference_length": choice})
    rows = metric.statistics(["w w w w"], [["a b c d e", "a", "a b c"]])  # 5 and 3 are as close
    assert rows[0, -1] == expected
    assert metric.length_unit == unit


def test_the_average_length_is_exact_for_up_to_eight_references() -> None:
    metric = create("bleu", {"reference_length": "average"})
    for count in range(1, 9):
        references = [["w " * (k + 1) for k in range(count)]]
        row = metric.statistics(["w"], references)[0]
        assert row[-1] / LENGTH_UNIT == pytest.approx((count + 1) / 2, abs=1e-12)


def test_length_ratio() -> None:
    metric = create("bleu", {"reference_length": "average"})
    rows = metric.statistics(["a b c"], [["a b", "a b c"]])
    assert metric.length_ratio(rows[0]) == pytest.approx(3 / 2.5)


@pytest.mark.parametrize(
    ("smooth", "value"),
    [("exp", None), ("none", None), ("floor", None), ("floor", 0.3), ("add-k", None), ("add-k", 2)],
)
def test_smoothing_equals_sacrebleu(smooth: str, value: float | None) -> None:
    hypotheses = ["a b x y", "a x b y z", "q r s", "a b", "x y z w v", "a", ""]
    references = [["a b c d"], ["a b c"], ["t u v"], ["a b c d e"], ["x y z w v"], ["a"], ["a"]]
    options = {"smooth": smooth, "smooth_value": value}
    metric = create("bleu", options)
    rows = metric.statistics(hypotheses, references)
    corpus = sacrebleu.BLEU(tokenize="none", smooth_method=smooth, smooth_value=value, force=True)
    single = sacrebleu.BLEU(
        tokenize="none", smooth_method=smooth, smooth_value=value, effective_order=True
    )
    for end in range(1, len(hypotheses) + 1):
        theirs = corpus.corpus_score(hypotheses[:end], [[r[0] for r in references[:end]]])
        assert 100 * metric.corpus_score(rows[:end]) == pytest.approx(theirs.score, abs=1e-9)
    theirs_each = [
        single.sentence_score(h, r).score for h, r in zip(hypotheses, references, strict=True)
    ]
    assert 100 * metric.sentence_scores(rows) == pytest.approx(theirs_each, abs=1e-9)


def test_effective_order() -> None:
    metric = create("bleu")
    rows = metric.statistics(["a b c"], [["a b c d e"]])
    assert metric.shown(rows[0]) == 0
    assert 100 * metric.sentence_scores(rows)[0] == pytest.approx(51.34, abs=0.005)


def test_characters() -> None:
    metric = create("bleu", {"unit": "char"})
    rows = metric.statistics(["猫坐 在", ["ab", "c"]], [["猫 坐在"], ["a bc"]])
    assert rows[:, :2].tolist() == [[3, 3], [3, 3]]
    assert rows[:, 4].tolist() == [1, 1]


def test_lowercase() -> None:
    metric = create("bleu", {"lowercase": True})
    for text in ("Ab Cd Ef Gh", ["Ab", "Cd", "Ef", "Gh"]):
        assert metric.corpus_score(metric.statistics([text], [["aB cD eF gH"]])) == 1.0
    assert create("bleu").statistics(["Ab"], [["ab"]])[0, 0] == 0


def test_tokens_are_taken_as_they_are() -> None:
    """A no-break space is white space in a line, but not within a token."""
    metric = create("bleu")
    assert metric.statistics(["10\u00a0000 x"], [["10 000 x"]])[0, :2].tolist() == [3, 3]
    assert metric.statistics([["10\u00a0000", "x"]], [["10 000 x"]])[0, :2].tolist() == [1, 2]


def test_white_space_is_pythons() -> None:
    blanks = [c for c in map(chr, range(0x11000)) if c.isspace()]
    line = "".join(f"w{blank}" for blank in blanks) + "\u200bx"  # U+200B is none
    row = create("bleu").statistics([line], [[line.split()]])[0]
    assert row[:2].tolist() == [len(blanks) + 1, len(blanks) + 1]


def test_bleu_plus_one_variants() -> None:
    rows = create("bleu").statistics(["a b x"], [["a b c d"]])
    brevity = math.exp(1 - 4 / 3)
    moses = brevity * math.exp((math.log(3 / 4) + math.log(2 / 3) + math.log(1 / 2) + 0) / 4)
    plain = brevity * math.exp((math.log(2 / 3) + math.log(2 / 3) + math.log(1 / 2) + 0) / 4)
    assert create("bleu+1").sentence_scores(rows) == pytest.approx([moses])
    lin_och = create("bleu+1", {"variant": "lin-och"})
    assert lin_och.sentence_scores(rows) == pytest.approx([plain])
    nakov = create("bleu+1", {"smooth_brevity": True})
    wanted = moses / brevity * math.exp(1 - 5 / 3)
    assert nakov.sentence_scores(rows) == pytest.approx([wanted])
    none = create("bleu").statistics(["x y"], [["a b"]])
    assert lin_och.sentence_scores(none).tolist() == [0.0]
    assert create("bleu+1").sentence_scores(none)[0] > 0


@pytest.mark.parametrize(("smooth_brevity", "expected"), [(False, 0.5985), (True, 0.5067)])
def test_bleu_plus_one_equals_moses(smooth_brevity: bool, expected: float) -> None:
    """By what Moses's program gives for these counts: six words, the reference has seven."""
    metric = create("bleu+1", {"smooth_brevity": smooth_brevity})
    assert metric.sentence_scores([[6, 6, 4, 5, 2, 4, 1, 3, 7]])[0] == pytest.approx(
        expected, rel=1e-4
    )


def test_decayed_smoothing() -> None:
    """Thesis eq. 2.19; an order without n-grams has precision 1."""
    rows = create("bleu").statistics(["a b x"], [["a b c d"]])
    logs = [math.log(2.5 / 3.5), math.log(1.25 / 2.25), math.log(0.125 / 1.125), 0.0]
    wanted = math.exp(1 - 4 / 3 + sum(logs) / 4)
    assert create("bleu-decayed").sentence_scores(rows) == pytest.approx([wanted])


def test_sentence_forms_have_the_corpus_score_of_bleu() -> None:
    rows = create("bleu").statistics(["a b c d x", "a"], [["a b c d e"], ["b"]])
    for name in ("bleu+1", "bleu-decayed", "bleu-context"):
        assert create(name).corpus_score(rows) == create("bleu").corpus_score(rows)


def test_word_numbers() -> None:
    """Derivations of a forest come as numbers of words."""
    prepared = create("bleu").prepare([["a b c d"], ["c d"]])
    ids = prepared.references.word_ids("a b c x")
    assert ids[3] == 0
    assert 0 not in ids[:3]
    rows = prepared.word_statistics([*ids, *ids[2:3], *ids[:0]], [0, 4, 5, 5], [0, 1, 1])
    assert (rows == prepared.statistics(["a b c x", "c", ""], [0, 1, 1])).all()


@pytest.mark.parametrize(
    ("hypotheses", "sentences", "message"),
    [
        (["a"], None, "1 hypotheses, but references for 2 sentences"),
        (["a"], [2], "hypothesis 1: sentence number 2, but there are references for 2"),
        (["a"], [-1], "sentence number -1"),
        (["\ud800"], [0], "unpaired surrogate"),
    ],
)
def test_bad_hypotheses(hypotheses: list[str], sentences: list[int] | None, message: str) -> None:
    prepared = create("bleu").prepare([["a"], ["b"]])
    with pytest.raises(InputError, match=message):
        prepared.statistics(hypotheses, sentences)


def test_bad_references() -> None:
    with pytest.raises(InputError, match="sentence 2 has no reference"):
        create("bleu").prepare([["a"], []])
    with pytest.raises(InputError, match="sentence 1: found an unpaired surrogate"):
        create("bleu").prepare([["\udcff"]])
    with pytest.raises(TypeError):
        create("bleu").prepare([[3]])
    with pytest.raises(ValueError, match="order"):
        BleuReferences([["a"]], 0, "word", "closest", True)


def test_bad_offsets() -> None:
    prepared = create("bleu").prepare([["a"]])
    for offsets in ([0, 3], [1, 0], [-1, 1]):
        with pytest.raises(ValueError, match="offsets"):
            prepared.word_statistics([1], offsets, [0])


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="metric bleu: order: 0 is out of range"):
        create("bleu", {"order": 0})
    with pytest.raises(OptionError, match="unknown metric 'bleau'; did you mean 'bleu'"):
        create("bleau")
    with pytest.raises(OptionError, match="unknown key 'ordr'"):
        create("bleu", {"ordr": 3})
    with pytest.raises(OptionError, match="no effect with smooth exp"):
        create("bleu", {"smooth_value": 0.2})


def test_a_long_sentence() -> None:
    words = [f"w{i % 700}" for i in range(20_000)]
    rows = create("bleu").statistics([words], [[words]])
    assert rows[0].tolist() == [20000, 20000, 19999, 19999, 19998, 19998, 19997, 19997, 20000]


def test_signature() -> None:
    metric = create("bleu", {"reference_length": "average", "smooth": "floor", "smooth_value": 0.2})
    assert metric.signature().startswith(
        "bleu|order:4|reference-length:average|unit:word|lowercase:no|smooth:floor|smooth-value:0.2"
    )


def test_shown_is_a_percentage() -> None:
    rows = create("bleu").statistics(["a b c d"], [["a b c d"]])
    assert create("bleu").shown(rows.sum(axis=0)) == 100
    assert np.isclose(create("ter").shown(create("ter").statistics(["a x"], [["a b"]])[0]), 50)
    assert create("ter").score([1, 2 * LENGTH_UNIT]) == -0.5
