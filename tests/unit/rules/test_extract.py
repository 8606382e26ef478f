"""Extraction from texts small enough to count by hand; memory and threads change nothing."""

from __future__ import annotations

import math
import os
import random
from pathlib import Path

import pytest

from hopefear import _engine
from hopefear.base.config import Size
from hopefear.base.errors import InputError, OptionError
from hopefear.rules.extract import TextExport, extract
from hopefear.rules.phrase import PhraseExtractOptions, Significance
from hopefear.rules.table import Rule, RuleTable

pytestmark = pytest.mark.engine


def write(folder: Path, source: list[str], target: list[str], alignment: list[str]) -> list[Path]:
    paths = [folder / "a.fr", folder / "a.en", folder / "a.align"]
    for path, lines in zip(paths, (source, target, alignment), strict=True):
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return paths


def made(folder: Path, *texts: list[str], **options: object) -> RuleTable:
    files = write(folder, *texts)
    extract(*files, folder / "rules.bin", PhraseExtractOptions(threads=1, **options))
    return RuleTable.open(folder / "rules.bin")


def by_pair(table: RuleTable) -> dict[tuple[str, str], Rule]:
    return {(" ".join(rule.source), " ".join(rule.target)): rule for rule in table}


def test_phrases_extend_over_unaligned_words_on_both_sides(tmp_path: Path) -> None:
    table = made(tmp_path, ["a b c"], ["x y z"], ["0-0 2-1"])
    assert set(by_pair(table)) == {
        ("a", "x"),
        ("a b", "x"),
        ("b c", "y"),
        ("b c", "y z"),
        ("c", "y"),
        ("c", "y z"),
        ("a b c", "x y"),
        ("a b c", "x y z"),
    }


def test_directories_with_names_that_are_not_utf8(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"d\xff")
    folder.mkdir()
    assert len(made(folder, ["a b"], ["x y"], ["0-0 1-1"], tmp=folder)) == 3


def test_the_limit_holds_for_each_side(tmp_path: Path) -> None:
    table = made(tmp_path, ["a b c"], ["x y z"], ["0-0 1-1 2-2"], max_length=2)
    assert len(table) == 5
    crossed = made(tmp_path, ["a b c"], ["x y z"], ["0-2 2-0"], max_length=2)
    assert set(by_pair(crossed)) == {
        *(("a", "z"), ("a", "y z"), ("a b", "z"), ("a b", "y z")),
        *(("c", "x"), ("c", "x y"), ("b c", "x"), ("b c", "x y")),
    }


def test_scores(tmp_path: Path) -> None:
    table = made(tmp_path, ["a", "a", "a", "b"], ["x", "x", "y", "x"], ["0-0"] * 4)
    assert table.columns[:4] == ("p(f|e)", "lex(f|e)", "p(e|f)", "lex(e|f)")
    rule = by_pair(table)["a", "x"]
    expected = [2 / 3, 2 / 3, 2 / 3, 2 / 3, 5 / 7, 1 / 7, 1 / 7, 5 / 7, 1 / 7, 1 / 7]
    assert [math.exp(score) for score in rule.scores] == pytest.approx(expected)
    assert rule.counts == (3, 3, 2)
    assert rule.alignment == ((0, 0),)
    assert rule.sentence is None
    assert by_pair(table)["b", "x"].sentence == 3
    assert [" ".join(rule.target) for rule in table.lookup(["a"])] == ["x", "y"]  # best first


def test_lexical_weights(tmp_path: Path) -> None:
    # c is unaligned, y is aligned to both a and b: p(y|a) = p(y|b) = 1/2, p(c|NULL) = 1.
    table = made(tmp_path, ["a b c"], ["x y"], ["0-0 0-1 1-1"])
    rule = by_pair(table)["a b c", "x y"]
    # lex(e|f): p(x|a) * mean(p(y|a), p(y|b)); lex(f|e): mean(p(a|x), p(a|y)) * p(b|y) * p(c|NULL)
    scores = [math.exp(score) for score in rule.scores[:4]]
    assert scores == pytest.approx([1 / 2, (1 + 1 / 2) / 2 * 1 / 2, 1, 1 / 2 * (1 / 2 + 1) / 2])


def test_lexical_weights_of_very_long_phrases(tmp_path: Path) -> None:
    """The product of a hundred small probabilities underflows a double; its log does not."""
    words = [[f"w{line}.{i}" for i in range(99)] for line in range(60)]
    target = [" ".join(["x", *line]) for line in words]
    table = made(tmp_path, ["a"] * 60, target, ["0-0"] * 60, max_length=100, limit=0)
    rule = by_pair(table)["a", target[7]]
    # Every w occurs once, and is aligned to NULL.
    assert rule.scores[3] == pytest.approx(99 * math.log(1 / (99 * 60)))
    assert all(math.isfinite(score) for rule in table for score in rule.scores)


def test_orientations(tmp_path: Path) -> None:
    table = made(tmp_path, ["a b"], ["x y"], ["0-1 1-0"])
    names = table.reordering_columns
    assert names == tuple(
        f"reorder.{side}.{kind}" for side in ("bwd", "fwd") for kind in ("mono", "swap", "other")
    )
    scores = dict(zip(names, by_pair(table)["a", "y"].scores[4:], strict=True))
    best = {name for name, score in scores.items() if math.exp(score) == pytest.approx(0.6)}
    assert best == {"reorder.bwd.swap", "reorder.fwd.other"}


@pytest.mark.parametrize(
    ("reordering", "columns"), [("msd-backward-fe", 7), ("none", 4), ("msd-bidirectional-fe", 10)]
)
def test_kinds_of_reordering(tmp_path: Path, reordering: str, columns: int) -> None:
    table = made(tmp_path, ["a"], ["x"], ["0-0"], reordering=reordering)
    assert len(table.columns) == columns == len(table.lookup(["a"])[0].scores)


def test_the_limit_keeps_the_best(tmp_path: Path) -> None:
    targets = ["x", "x", "x", "y", "y", "z", "w"]
    table = made(tmp_path, ["a"] * 7, targets, ["0-0"] * 7, limit=2)
    assert [rule.target for rule in table.lookup(["a"])] == [("x",), ("y",)]
    everything = made(tmp_path, ["a"] * 7, targets, ["0-0"] * 7, limit=0)
    assert len(everything.lookup(["a"])) == 4
    rule = everything.lookup(["a"])[0]
    assert rule.counts.source == 7  # dropped pairs still count


def test_min_count(tmp_path: Path) -> None:
    texts = (["a", "a", "a b"], ["x", "x", "x y"], ["0-0", "0-0", "0-0 1-1"])
    files = write(tmp_path, *texts)
    report = extract(*files, tmp_path / "rules.bin", PhraseExtractOptions(min_count=2))
    assert report["below_min_count"] == 2
    assert set(by_pair(RuleTable.open(tmp_path / "rules.bin"))) == {("a", "x")}


def test_significance(tmp_path: Path) -> None:
    # N = 6. (a, x): together in 3 of 3 and 3 sentences, p = 1/C(6,3); (b, y): 1-1-1, p = 1/6.
    source = ["a", "a", "a", "b", "c", "c"]
    target = ["x", "x", "x", "y", "z", "z"]
    texts = (source, target, ["0-0"] * 6)

    def kept(test: str) -> set[tuple[str, str]]:
        return set(by_pair(made(tmp_path, *texts, significance=Significance.parse(test))))

    assert kept("off") == {("a", "x"), ("b", "y"), ("c", "z")}
    assert kept("alpha-epsilon") == kept("off")
    assert kept("alpha+epsilon") == {("a", "x"), ("c", "z")}
    assert kept(str(math.log(20) - 0.01)) == {("a", "x")}
    assert kept(str(math.log(20) + 0.01)) == set()


def test_significance_counts_sentences_with_the_phrase_aligned_or_not(tmp_path: Path) -> None:
    # x is in every sentence, so every word cooccurs with it: p = 1.
    texts = (["a", "b", "c"], ["x", "x", "x"], ["0-0", "", ""])
    table = made(tmp_path, *texts, significance=Significance("0.001"))
    assert len(table) == 0


@pytest.mark.parametrize("text", ["alpha", "-1", "nan", "inf", ""])
def test_bad_significance(text: str) -> None:
    with pytest.raises(ValueError, match="alpha"):
        Significance.parse(text)


def random_bitext(seed: int, sentences: int) -> tuple[list[str], list[str], list[str]]:
    choose = random.Random(seed)
    source, target, alignment = [], [], []
    for _ in range(sentences):
        n, m = choose.randint(0, 12), choose.randint(0, 12)
        source.append(" ".join(f"f{int(choose.expovariate(0.2))}" for _ in range(n)))
        target.append(" ".join(f"e{int(choose.expovariate(0.2))}" for _ in range(m)))
        points = {(choose.randrange(n), choose.randrange(m)) for _ in range(min(n, m)) if n and m}
        alignment.append(" ".join(f"{s}-{t}" for s, t in points))
    return source, target, alignment


def test_memory_and_threads_do_not_change_a_byte(tmp_path: Path) -> None:
    files = write(tmp_path, *random_bitext(1, 3000))
    outputs = []
    for name, memory, threads in (("a", "1G", 1), ("b", "1G", 3), ("c", "1M", 1), ("d", "1M", 2)):
        export = TextExport(tmp_path / f"{name}.pt", tmp_path / f"{name}.rt")
        options = PhraseExtractOptions(memory=Size.parse(memory), threads=threads)
        report = extract(*files, tmp_path / name, options, export=export)
        assert (report["spilled_bytes"] > 0) == (memory == "1M")
        outputs.append([(tmp_path / (name + ending)).read_bytes() for ending in ("", ".pt", ".rt")])
    assert all(output == outputs[0] for output in outputs)
    lines = outputs[0][1].splitlines()
    assert lines == sorted(lines)  # in the order of LC_ALL=C sort


def test_empty_lines_keep_the_numbers(tmp_path: Path) -> None:
    table = made(tmp_path, ["", "a", ""], ["", "x", "y"], ["", "0-0", ""])
    assert [rule.sentence for rule in table] == [1]


def test_no_text_at_all(tmp_path: Path) -> None:
    table = made(tmp_path, [], [], [])
    assert len(table) == 0
    assert list(table) == []
    assert table.lookup(["a"]) == []


def test_words_of_any_kind(tmp_path: Path) -> None:
    files = write(tmp_path, ["a|b ||| é [X]"], ["| b ~ \u2028c"], ["0-0 1-1 2-2 3-3"])
    extract(
        *files, tmp_path / "rules.bin", PhraseExtractOptions(), export=TextExport(tmp_path / "pt")
    )
    table = RuleTable.open(tmp_path / "rules.bin")
    assert table.lookup(["|||"])[0].target == ("b",)
    assert table.lookup(["[X]"])[0].target == ("\u2028c",)
    text = (tmp_path / "pt").read_text(encoding="utf-8")
    assert text.count("\n") == len(table) == 10
    assert "&#124;&#124;&#124; ||| b ||| 1 1 1 1 ||| 0-0 ||| 1 1 1 ||| |||\n" in text


def test_windows_text_and_a_byte_order_mark(tmp_path: Path) -> None:
    files = write(tmp_path, [], [], [])
    files[0].write_bytes(b"\xef\xbb\xbfa b\r\n")
    files[1].write_bytes(b"x  y\r\n")
    files[2].write_bytes(b"0-0 1-1\r\n")
    extract(*files, tmp_path / "rules.bin", PhraseExtractOptions())
    assert RuleTable.open(tmp_path / "rules.bin").lookup(["a"])[0].target == ("x",)


BAD = [
    (["a b"], ["x"], ["0-0 2-0"], r"a\.align:1: point 2-0 is outside .* 2 and 1 words"),
    (["a b"], ["x"], ["0-0 1-1"], r"a\.align:1: point 1-1 is outside"),
    (["a"], ["x"], ["0-0", ""], r"a\.fr has 1 line, .*a\.en has 1 line, .*a\.align has 2 lines;"),
    (["a", "b"], ["x"], ["0-0", ""], r"a\.fr has 2 lines, .*a\.en has 1 line"),
    (["a"], ["x"], ["0:0"], r"a\.align:1: '0:0' is no alignment point"),
    (["a"], ["x"], ["0-"], r"a\.align:1: '0-' is no alignment point"),
    (["a"], ["x"], ["-1-0"], r"'-1-0' is no alignment point"),
    (["a"], ["x"], ["0-99999999999999999999"], r"is no alignment point"),
    ([""], ["x"], ["0-0"], r"outside the sentence pair of 0 and 1 words"),
]


@pytest.mark.parametrize(("source", "target", "alignment", "message"), BAD)
def test_bad_input(
    tmp_path: Path, source: list[str], target: list[str], alignment: list[str], message: str
) -> None:
    files = write(tmp_path, source, target, alignment)
    with pytest.raises(InputError, match=message):
        extract(*files, tmp_path / "rules.bin", PhraseExtractOptions())
    assert sorted(tmp_path.iterdir()) == sorted(files)


def test_odd_bytes_name_their_place(tmp_path: Path) -> None:
    files = write(tmp_path, ["a", ""], ["x", ""], ["0-0", ""])
    files[1].write_bytes(b"x\nab\xff\n")
    with pytest.raises(InputError, match=r"a\.en:2: byte 0xff at column 3 is not UTF-8"):
        extract(*files, tmp_path / "rules.bin", PhraseExtractOptions())


def test_bad_options(tmp_path: Path) -> None:
    files = write(tmp_path, ["a"], ["x"], ["0-0"])
    with pytest.raises(OptionError, match="not a directory"):
        extract(*files, tmp_path / "rules.bin", PhraseExtractOptions(tmp=tmp_path / "none"))
    with pytest.raises(OptionError, match="no orientation scores"):
        extract(
            *files,
            tmp_path / "rules.bin",
            PhraseExtractOptions(reordering="none"),
            export=TextExport(tmp_path / "pt", tmp_path / "rt"),
        )


def test_the_steps_have_an_order() -> None:
    engine = _engine.RuleExtraction(None, None, False, "none", 7, 6, 20, 1.0, "off", 1 << 30, 1, "")
    for step in (engine.extract, engine.count):
        with pytest.raises(RuntimeError, match="in this order"):
            step(None)
    with pytest.raises(RuntimeError, match="call read first"):
        print(engine.sentences)
