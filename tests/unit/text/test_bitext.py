"""Bitexts and documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopefear.base.errors import InputError, OptionError
from hopefear.text.bitext import Bitext, Pair
from hopefear.text.documents import Document, group, read_documents


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "a.fr").write_text("un\n\ntrois petits chats\n")
    (tmp_path / "a.en.0").write_text("one\ntwo\nthree little cats here\n")
    (tmp_path / "a.en.1").write_text("1\n2\n3\n")
    (tmp_path / "a.doc").write_text("x\nx\ny\n")
    (tmp_path / "a.ids").write_text("x.1.1\nx.1.2\nx.2.1\n")
    return tmp_path


def test_pairs(corpus: Path) -> None:
    bitext = Bitext(corpus / "a.fr", [corpus / "a.en.0", corpus / "a.en.1"], corpus / "a.doc")
    pairs = list(bitext)
    assert pairs[2] == Pair(3, "trois petits chats", ("three little cats here", "3"), "y")
    assert pairs[0].target == "one"
    assert list(bitext) == pairs  # again
    assert bitext.check() == 3
    alone = Bitext(corpus / "a.fr", corpus / "a.en.0")
    assert [pair.document for pair in alone] == [None] * 3


def test_ids_are_documents_without_their_last_part(corpus: Path) -> None:
    bitext = Bitext(corpus / "a.fr", corpus / "a.en.0", corpus / "a.ids", id_separator=".")
    assert [pair.document for pair in bitext] == ["x.1", "x.1", "x.2"]
    assert read_documents(corpus / "a.ids", ".") == ["x.1", "x.1", "x.2"]


def test_statistics(corpus: Path) -> None:
    source, target = Bitext(corpus / "a.fr", corpus / "a.en.0").statistics()
    assert (source.sentences, source.words, source.empty) == (3, 4, 1)
    assert (target.longest, target.longest_line, target.mean) == (4, 3, 2.0)
    assert [source.quantile(share) for share in (0.0, 0.5, 1.0)] == [0, 1, 3]


def test_bad_bitexts(corpus: Path) -> None:
    (corpus / "b.en").write_text("one\n")
    with pytest.raises(InputError, match=r"a\.fr has 3 lines, .*b\.en has 1 line"):
        Bitext(corpus / "a.fr", corpus / "b.en").check()
    with pytest.raises(OptionError, match="only one of them"):
        Bitext("-", ["-"])
    (corpus / "a.doc").write_text("x\n \ny\n")
    with pytest.raises(InputError, match=r"a\.doc:2: an empty line; expected the name"):
        Bitext(corpus / "a.fr", corpus / "a.en.0", corpus / "a.doc").check()
    with pytest.raises(InputError, match=r"a\.doc:2: an empty line"):
        read_documents(corpus / "a.doc")


def test_documents_are_grouped() -> None:
    documents = group(["a", "a", "b", "c", "c"])
    assert documents == [Document("a", 0, 2), Document("b", 2, 3), Document("c", 3, 5)]
    assert list(documents[2].lines) == [3, 4]
    assert group([]) == []
    with pytest.raises(InputError, match=r"x\.doc:3: document 'a' began at line 1 and occurs"):
        group(["a", "b", "a"], "x.doc")
