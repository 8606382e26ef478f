"""The Python interface of the rule table, and damaged files."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopefear.base.errors import InputError
from hopefear.rules.extract import extract
from hopefear.rules.phrase import PhraseExtractOptions
from hopefear.rules.table import RuleTable

pytestmark = pytest.mark.engine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "f").write_text("la maison bleue\nla maison\n")
    (tmp_path / "e").write_text("the blue house\nthe house\n")
    (tmp_path / "a").write_text("0-0 1-2 2-1\n0-0 1-1\n")
    table = tmp_path / "rules.bin"
    extract(tmp_path / "f", tmp_path / "e", tmp_path / "a", table, PhraseExtractOptions(limit=0))
    return table


def test_lookup(path: Path) -> None:
    table = RuleTable.open(path)
    (rule,) = table.lookup(["maison", "bleue"])
    assert rule.source == ("maison", "bleue")
    assert rule.target == ("blue", "house")
    assert rule.alignment == ((1, 0), (0, 1))
    assert rule.sentence == 0
    assert rule.label is None
    assert table.lookup(["la", "maison"])[0].target == ("the", "house")
    for absent in (["bleue", "maison"], ["rouge"], ["la", "rouge"], [], ["[X,1]"]):
        assert table.lookup(absent) == []
    with pytest.raises(TypeError, match="split"):
        table.lookup("la maison")


def test_iteration_agrees_with_lookup(path: Path) -> None:
    table = RuleTable.open(path, verify=True)
    rules = list(table)
    assert len(rules) == len(table) == 6
    assert len(set(rules)) == 6
    for rule in rules:
        assert rule in table.lookup(rule.source)


def test_statistics_and_info(path: Path) -> None:
    table = RuleTable.open(path)
    statistics = table.statistics()
    assert statistics["rules"] == 6
    assert statistics["source_words"] == 3
    assert statistics["longest_source"] == 3
    assert statistics["one_sentence"] == sum(rule.sentence is not None for rule in table) == 4
    assert statistics["source_sides"] == len({rule.source for rule in table})
    assert statistics["bytes"] == path.stat().st_size
    assert table.info["max_length"] == 7
    assert table.info["system"] == "phrase"


def test_damage_is_refused(path: Path) -> None:
    good = path.read_bytes()
    rules = list(RuleTable.open(path))
    messages = []
    for at in range(0, len(good), 97):
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :])
        try:
            assert list(RuleTable.open(path)) == rules  # a byte between sections
        except InputError as error:
            messages.append(str(error))
    assert len(messages) > 10
    assert all("rules.bin" in text and "hopefear extract" in text for text in messages)
    path.write_bytes(good[: len(good) // 2])
    with pytest.raises(InputError, match="truncated"):
        RuleTable.open(path)
    path.write_bytes(b"la maison ||| the house ||| 1 1 1 1\n")
    with pytest.raises(InputError, match="expected a Hopefear rules file"):
        RuleTable.open(path)
    with pytest.raises(FileNotFoundError):
        RuleTable.open(path.parent / "none")


def test_words_and_the_phrases_of_a_sentence(path: Path) -> None:
    table = RuleTable.open(path)
    assert table.single_words() == {"la": 2.0, "maison": 2.0, "bleue": 1.0}
    assert table.covered(["une", "maison", "bleue", "et", "la", "porte"]) == {1, 2, 4}
    assert table.covered([]) == set()


def test_a_word_may_be_covered_by_a_phrase_only(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("il y a\nil\n")
    (tmp_path / "e").write_text("there is\nhe\n")
    (tmp_path / "a").write_text("0-0 1-0 2-1 0-1 2-0 1-1\n0-0\n")
    rules = tmp_path / "rules.bin"
    extract(tmp_path / "f", tmp_path / "e", tmp_path / "a", rules, PhraseExtractOptions(limit=0))
    table = RuleTable.open(rules)
    assert set(table.single_words()) == {"il"}
    assert table.covered(["il", "y", "a"]) == {0, 1, 2}
    assert table.covered(["il", "a"]) == {0}
