"""cdec's grammars: all forms of rules, features, and malformed lines with their places."""

from __future__ import annotations

import gzip
import threading
from pathlib import Path

import pytest

from hopefear.base.errors import InputError
from hopefear.rules.cdec import import_grammar, read_grammar, write_grammar
from hopefear.rules.extract import extract
from hopefear.rules.hiero import HieroExtractOptions
from hopefear.rules.table import Rule, RuleTable

pytestmark = pytest.mark.engine


def grammar(folder: Path, *lines: str, name: str = "g.txt") -> RuleTable:
    path = folder / name
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return read_grammar(path)


def only(table: RuleTable) -> Rule:
    (rule,) = table
    return rule


def test_a_rule(tmp_path: Path) -> None:
    table = grammar(tmp_path, "[X] ||| ne [X,1] pas ||| not [X,1] ||| A=1.5 B=-2e-1 ||| 0-0 2-0")
    rule = only(table)
    assert rule.source == ("ne", "[X,1]", "pas")
    assert rule.target == ("not", "[X,1]")
    assert table.columns == ("A", "B")
    assert rule.scores == pytest.approx((1.5, -0.2))
    assert rule.alignment == ((0, 0), (2, 0))
    assert rule.label == "X"
    assert rule.sentence is None
    assert table.lookup(["ne", "[X,1]", "pas"]) == [rule]
    assert table.lookup(["ne", "[X]", "pas"]) == [rule]
    assert table.info["system"] == "hiero"


@pytest.mark.parametrize(
    ("source", "target", "read"),
    [
        ("[X,1] a [X,2]", "[2] b [1]", "[X,2] b [X,1]"),
        ("[X] a [X]", "[2] b [1]", "[X,2] b [X,1]"),
        ("[X,2] a [X,1]", "[X,2] [X,1]", "[X,1] [X,2]"),  # numbered in the order of the source
        ("[NP,1] a [VP,2]", "[VP,2] [NP,1]", "[VP,2] [NP,1]"),
        ("[X,1]", "[1]", "[X,1]"),
        ("a", "", ""),
        ("[ a ]", "[sic] b|c [] ]", "[sic] b|c [] ]"),
    ],
)
def test_nonterminals(tmp_path: Path, source: str, target: str, read: str) -> None:
    rule = only(grammar(tmp_path, f"[X] ||| {source} ||| {target} ||| A=1"))
    assert " ".join(rule.target) == read
    assert len(rule.source) == len(source.split())


def test_labels(tmp_path: Path) -> None:
    table = grammar(
        tmp_path,
        "[S] ||| [NP,1] [VP,2] ||| [1] [2] ||| Glue=1",
        "[NP] ||| chat ||| cat",
        "[VP] ||| chat ||| chats",
        "[Goal] ||| [S,1] ||| [1]",
    )
    assert [rule.label for rule in table.lookup(["chat"])] == ["NP", "VP"]
    assert table.lookup(["[NP,1]", "[VP,2]"])[0].label == "S"
    assert table.lookup(["[S]"])[0].label == "Goal"
    assert table.lookup(["[X]"]) == []
    assert table.statistics()["labels"] == 4


def test_labels_with_commas(tmp_path: Path) -> None:
    table = grammar(tmp_path, "[$,] ||| [$,,1] a ||| b [1] ||| A=1")
    write_grammar(table, tmp_path / "again")
    assert (tmp_path / "again").read_text() == "[$,] ||| [$,,1] a ||| b [1] ||| A=1\n"


def test_features(tmp_path: Path) -> None:
    table = grammar(
        tmp_path,
        "# a comment",
        "[X] ||| a ||| b ||| 0.5 A=1 +0.25 ||| 0-0",
        "",
        "[X] ||| a ||| c ||| B=3 A=2",
        "[X] ||| a ||| b ||| 0.5 A=1 +0.25 x=y=7",
    )
    assert table.columns == ("PhraseModel_0", "A", "PhraseModel_1", "B", "x=y")
    first, second, third = table.lookup(["a"])  # in the order of the file; duplicates are kept
    assert first.scores == (0.5, 1, 0.25, 0, 0)
    assert second.scores == (0, 2, 0, 3, 0)
    assert third.scores == (0.5, 1, 0.25, 0, 7)
    assert first.target == third.target


def test_rare_features_become_sparse_scores(tmp_path: Path) -> None:
    lines = [f"[X] ||| w{i} ||| v{i} ||| A={i} rule{i % 50}=0.5 odd=-1" for i in range(200)]
    table = grammar(tmp_path, *lines)
    assert table.columns == ("A", "odd")
    assert table.statistics()["sparse_features"] == 50
    rule = only_of(table, "w57")
    assert rule.scores == (57, -1)
    assert rule.sparse == (("rule7", 0.5),)
    import_grammar(tmp_path / "g.txt", output=tmp_path / "rules.bin")
    assert list(RuleTable.open(tmp_path / "rules.bin")) == list(table)
    write_grammar(table, tmp_path / "again.txt")
    again = read_grammar(tmp_path / "again.txt")
    assert list(again) == list(table)


def only_of(table: RuleTable, word: str) -> Rule:
    (rule,) = table.lookup([word])
    return rule


def test_several_files_and_members(tmp_path: Path) -> None:
    line = "[X] ||| {} ||| {} ||| A=1\n"
    (tmp_path / "a.txt").write_text(line.format("a", "b"))
    packed = gzip.compress(line.format("c", "d").encode()) + gzip.compress(
        line.format("e", "é").encode()
    )
    (tmp_path / "b.gz").write_bytes(packed)
    table = read_grammar(tmp_path / "a.txt", tmp_path / "b.gz")
    assert {rule.source + rule.target for rule in table} == {("a", "b"), ("c", "d"), ("e", "é")}
    report = import_grammar(tmp_path / "a.txt", tmp_path / "b.gz", output=tmp_path / "rules.bin")
    assert report == {"rules": 3, "source_sides": 3, "columns": 1, "sparse_features": 0}
    assert list(RuleTable.open(tmp_path / "rules.bin")) == list(table)


def test_empty_grammar(tmp_path: Path) -> None:
    table = grammar(tmp_path)
    assert len(table) == 0
    assert table.lookup(["a"]) == []


def test_the_file_does_not_depend_on_memory(tmp_path: Path) -> None:
    words = [f"w{i % 97} [X,1] v{i % 13}" for i in range(6000)]
    lines = [f"[X] ||| {w} ||| [1] t{i} ||| A={i}" for i, w in enumerate(words)]
    (tmp_path / "g").write_text("\n".join(lines))
    made = []
    for memory, threads in ((1 << 30, 1), (1, 3)):
        import_grammar(tmp_path / "g", output=tmp_path / "r", memory=memory, threads=threads)
        made.append((tmp_path / "r").read_bytes())
    assert made[0] == made[1]
    assert list(RuleTable.open(tmp_path / "r")) == list(read_grammar(tmp_path / "g"))


def test_threads_may_read_grammars_concurrently(tmp_path: Path) -> None:
    table = grammar(tmp_path, *(f"[X] ||| w{i} ||| v{i} ||| A={i}" for i in range(2000)))
    expected = list(table)
    grammars: list[list[Rule]] = []
    threads = [
        threading.Thread(target=lambda: grammars.append(list(read_grammar(tmp_path / "g.txt"))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert grammars == [expected] * 4


def test_words_that_look_like_something_else_survive_as_entities(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("f", "e", "a")]
    for path, text in zip(paths, ("[1] |||", "[2] a]", "0-0 1-1"), strict=True):
        path.write_text(text + "\n")
    extract(*paths, tmp_path / "rules.bin", HieroExtractOptions())
    write_grammar(RuleTable.open(tmp_path / "rules.bin"), tmp_path / "g")
    table = read_grammar(tmp_path / "g")
    assert len(table) == 5
    assert only_of(table, "&#91;1&#93;").target == ("&#91;2&#93;",)
    assert only_of(table, "&#124;&#124;&#124;").target == ("a]",)


GOOD = "[X] ||| a ||| b ||| A=1"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a ||| b", "2 fields, expected '[X] ||| source ||| target ||| features ||| alignment'"),
        ("X ||| a ||| b ||| A=1", "left-hand side 'X', expected a label in brackets such as [X]"),
        ("[X,1] ||| a ||| b ||| A=1", "left-hand side '[X,1]', expected a label"),
        ("[X] ||| ||| b ||| A=1", "the source side is empty"),
        ("[X] ||| [X,1] ||| b ||| A=1", "has 1 nonterminals, the target side 0"),
        ("[X] ||| a ||| [X,1] ||| A=1", "the source side has no nonterminal 1"),
        ("[X] ||| [X,1] [X,1] ||| [1] ||| A=1", "nonterminal 1 comes twice on the source side"),
        ("[X] ||| [X,1] [X,2] ||| [1] [1] ||| A=1", "'[1]' comes twice on the target side"),
        ("[X] ||| [X,1] a ||| [X] ||| A=1", "'[X]' on the target side, expected a nonterminal"),
        ("[X] ||| a ||| b ||| A=x", "feature 'A=x', expected name=value with a finite number"),
        ("[X] ||| a ||| b ||| A=", "feature 'A=', expected name=value"),
        ("[X] ||| a ||| b ||| =1", "feature '=1', expected name=value"),
        ("[X] ||| a ||| b ||| A=nan", "feature 'A=nan', expected name=value"),
        ("[X] ||| a ||| b ||| A=1e99", "feature 'A=1e99' is too large"),
        ("[X] ||| a ||| b ||| A=1 A=2", "feature 'A' comes twice"),
        ("[X] ||| a ||| b ||| A=1 ||| 0-1", "point 0-1 is outside"),
        ("[X] ||| a ||| b ||| A=1 ||| 0", "'0' is no alignment point"),
        ("[X] ||| a ||| b ||| A=1 ||| ||| x", "more than 5 fields"),
        ("[X] ||| " + "a " * 256 + "||| b", "the source side has more than 255 symbols"),
    ],
)
def test_errors_name_their_place(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "g.txt"
    path.write_text(f"{GOOD}\n{line}\n")
    with pytest.raises(InputError) as raised:
        read_grammar(path)
    assert str(raised.value).startswith(f"{path}:2: ")
    assert message in str(raised.value)
    with pytest.raises(InputError):
        import_grammar(path, output=tmp_path / "rules.bin")
    assert not (tmp_path / "rules.bin").exists()


def test_odd_files(tmp_path: Path) -> None:
    path = tmp_path / "g.gz"
    path.write_bytes(gzip.compress((GOOD * 100).encode())[:-12])
    with pytest.raises(InputError, match=r"g\.gz: truncated gzip file"):
        read_grammar(path)
    path.write_text(GOOD)
    with pytest.raises(InputError, match=r"g\.gz: not a gzip file"):
        read_grammar(path)
    with pytest.raises(FileNotFoundError):
        read_grammar(tmp_path / "absent.gz")
    (tmp_path / "g.txt").write_bytes(b"[X] ||| a\xff ||| b")
    with pytest.raises(InputError, match=r"g\.txt:1: byte 0xff at column 10 is not UTF-8"):
        read_grammar(tmp_path / "g.txt")


def test_numbers_that_cdec_reads(tmp_path: Path) -> None:
    """cdec reads an exponent only after a decimal point: 1e-05 would end its reading."""
    (tmp_path / "in").write_text("[X] ||| a ||| b ||| A=0.00001 B=-2.5e-9 C=1e20\n")
    write_grammar(read_grammar(tmp_path / "in"), tmp_path / "out")
    assert "A=1.0e-05 B=-2.5e-09 C=1.0e+20" in (tmp_path / "out").read_text()


def test_labels_on_the_target_side(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("[X] ||| [NP,1] a [VP,2] ||| [2] b [1] ||| A=1\n")
    write_grammar(read_grammar(tmp_path / "in"), tmp_path / "out", target_labels=True)
    expected = "[X] ||| [NP,1] a [VP,2] ||| [VP,2] b [NP,1] ||| A=1\n"  # Joshua: no empty field
    assert (tmp_path / "out").read_text() == expected
    assert next(iter(read_grammar(tmp_path / "out"))) == next(iter(read_grammar(tmp_path / "in")))
