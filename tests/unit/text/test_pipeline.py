"""The steps of a model: learned, saved, loaded, used."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import tomli_w

from hopefear.base.config import load_toml
from hopefear.base.errors import InputError, OptionError
from hopefear.text.casing import Casing
from hopefear.text.pipeline import TextPipeline, language_of
from hopefear.text.subwords import Subwords

RAW = [
    "The man didn’t see the dog: it’s in Paris!",
    "Is the dog in Paris? The man said so: yes.",
    "The dog saw the man; the man ran to Paris? Yes!",
    "Then the man and the dog went: home.",
    "What did the dog see? It was the man: him.",
    "So the dog, the man: who?",
]


@pytest.fixture(params=["truecase", "lower", "none"])
def pipeline(request: pytest.FixtureRequest) -> TextPipeline:
    result = TextPipeline(language="en", casing=request.param)
    result.learn(RAW)
    return result


def test_raw_to_raw(pipeline: TextPipeline) -> None:
    for line in RAW:
        assert pipeline.restore(pipeline.prepare(line)) == line


def test_words(pipeline: TextPipeline) -> None:
    expected = {
        "truecase": "the man is in Paris .",
        "lower": "the man is in paris .",
        "none": "The man is in Paris .",
    }[pipeline.casing]
    assert " ".join(pipeline.prepare(" The\u00a0man is in\tParis. ")) == expected
    assert pipeline.prepare(" \t\u3000") == []
    assert pipeline.restore([]) == ""


def test_save_and_load(pipeline: TextPipeline, tmp_path: Path) -> None:
    table = pipeline.save(tmp_path, "target")
    (tmp_path / "model.toml").write_text(tomli_w.dumps({"text": {"target": table}}), "utf-8")
    table = load_toml(tmp_path / "model.toml")["text"]["target"]
    complaints: list[str] = []
    loaded = TextPipeline.load(tmp_path, "target", table, warn=complaints.append)
    assert loaded == pipeline
    assert complaints == []
    assert table["tokenizer"] == "moses"
    assert set(table["tools"]) == {"sacremoses"}
    assert table["spacing"][":"] == "after"
    assert (tmp_path / "casing.target.tsv").exists() == (pipeline.casing != "none")


def test_another_version_is_warned_about(tmp_path: Path) -> None:
    table = TextPipeline(language="fr", casing="lower").save(tmp_path, "source")
    table["tools"]["sacremoses"] = "0.0.1"
    complaints: list[str] = []
    TextPipeline.load(tmp_path, "source", table, warn=complaints.append)
    (complaint,) = complaints
    assert "text.source: made with sacremoses 0.0.1, but" in complaint
    with pytest.warns(UserWarning, match="sacremoses 0.0.1"):
        TextPipeline.from_mapping(table)


def test_broken_tables_are_refused(tmp_path: Path) -> None:
    good = TextPipeline(language="fr", casing="truecase", forms=Casing("fr")).to_mapping()
    with pytest.raises(InputError, match=r"casing\.source\.tsv: no such file"):
        TextPipeline.load(tmp_path, "source", good)
    with pytest.raises(OptionError, match=r"model\.toml: text\.source: unknown key 'tokeniser'"):
        TextPipeline.load(tmp_path, "source", {**good, "tokeniser": "moses"})
    with pytest.raises(InputError, match="tools: expected a table"):
        TextPipeline.from_mapping({**good, "tools": "moses"})
    with pytest.raises(OptionError, match="unknown tokenizer 'mose'"):
        TextPipeline.from_mapping({**good, "tokenizer": "mose"})


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="language: ''"):
        TextPipeline(language="")
    with pytest.raises(OptionError, match="need normalisation"):
        TextPipeline(normalize=False, narrow=True)
    with pytest.raises(OptionError, match="needs forms learned from text"):
        TextPipeline(casing="truecase").prepare("x")


def test_as_it_is() -> None:
    pipeline = TextPipeline.as_it_is("fr")
    words = ["L'", "Homme\u00a0x", "&apos;", "|||", "e\u0301", "."]
    assert pipeline.prepare("  ".join(words)) == words
    assert pipeline.restore(words) == " ".join(words)
    assert TextPipeline.from_mapping(pipeline.to_mapping()) == pipeline


def test_files(tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_bytes("\ufeffL'homme.\r\n\r\nA\u2028b\r\n".encode())
    pipeline = TextPipeline(language="fr", casing="lower")
    assert pipeline.prepare_file(tmp_path / "a.fr", tmp_path / "b.fr") == (3, 5)
    assert (tmp_path / "b.fr").read_bytes() == b"l' homme .\n\na b\n"


def test_lowered_text_without_learning_stays_lower() -> None:
    pipeline = TextPipeline(language="en", casing="lower")
    assert pipeline.restore(["the", "dog", "."]) == "the dog."


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("x/train.fr.gz", "fr"),
        ("dev.en.0", "en"),
        ("train.seg.zh", "zh"),
        ("news.pt-BR", "pt-BR"),
        ("corpus.tok.de", "de"),
        ("train.fr.txt", "fr"),
        ("corpus.txt", None),
        ("corpus", None),
        ("-", None),
    ],
)
def test_language_of(name: str, language: str | None) -> None:
    assert language_of(name) == language


def test_subwords(tmp_path: Path) -> None:
    pipeline = TextPipeline(language="en", casing="truecase")
    pipeline.learn(RAW)
    words = [word for line in RAW for word in pipeline.prepare(line)]
    pipeline.subwords = Subwords.learn(Counter(words), 20)
    table = pipeline.save(tmp_path, "target")
    assert table["subwords"] == len(pipeline.subwords.merges)
    loaded = TextPipeline.load(tmp_path, "target", table)
    for line in RAW:
        assert loaded.prepare(line) == pipeline.prepare(line)
        assert any(word.endswith("@@") for word in loaded.prepare(line))
        assert loaded.restore(loaded.prepare(line)) == line
    tokenized = TextPipeline.as_it_is("en", loaded.subwords)
    assert tokenized.restore(tokenized.prepare("a strange man")) == "a strange man"
    (tmp_path / "subwords.target.txt").unlink()
    with pytest.raises(InputError, match=r"subwords\.target\.txt: no such file"):
        TextPipeline.load(tmp_path, "target", table)
