"""Every registered format of n-best lists: an example, and damaged files.

The examples are written after the programs' own output code; fairseq, Marian and Sockeye print so.
"""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path
from typing import Any

import pytest

from hopefear.base import registry
from hopefear.base.errors import HopefearError, InputError
from hopefear.forest.io import read_nbest
from hopefear.forest.io.list_writers import write_entries
from hopefear.forest.io.lists.base import ListFormat

BITS = math.log(2)
TEN = math.log(10)
BYTELOG = 1024 / 10000.5

Entry = tuple[Any, str, dict[str, float]]

FAIRSEQ = """2026-01-01 00:00:00 | INFO | fairseq_cli.generate | loading model(s)
S-3\tein H@@ aus
T-3\ta house
H-3\t-0.5\ta hou@@ se
D-3\t-0.5\ta house
P-3\t-0.25 -0.5 -0.75 -0.5
H-3\t-0.75\tthe house
D-3\t-0.75\tthe house
P-3\t-1.0 -0.5
S-0\tja
H-0\t-0.1\tyes
P-0\t-0.1
2026-01-01 00:00:01 | INFO | fairseq_cli.generate | NOTE: hypothesis and token scores
Generate test with beam=5: BLEU4 = 30.00
"""
MARIAN = """0 ||| a house ||| F0= -2.5 F1= -3 ||| -1.25
0 ||| the house ||| 0-0 1-1 ||| WordScores= -1 -2 ||| F0= -3 F1= -3.5 ||| -1.5
1 ||| yes ||| F0=-0.5 ||| -0.25
"""
SOCKEYE = """{"score": 0.5, "sentence_id": 1, "translation": "a house"}
{"scores": [[0.25], [0.75, 0.5]], "sentence_id": 2, "translation": "yes", "score": 0.25, \
"translations": ["yes", "yeah"]}
"""
CTRANSLATE2 = """{"hypotheses": [["▁a", "▁hou", "se"], ["▁the"]], "scores": [-0.5, -1.0]}
{"hypotheses": ["▁yes ▁it ▁is"], "scores": []}
"""
HUGGINGFACE = """[{"translation_text": "a house"}, {"translation_text": "the house"}]
{"sequences": ["yes", "no"], "sequences_scores": [-0.5, -1.5]}
[{"generated_text": "so", "score": 0.5}]
"""
VLLM = """{"custom_id": "r-1", "response": {"status_code": 200, "body": {"choices": [{"index": 0, \
"text": " a  house\\n", "logprobs": {"token_logprobs": [null, -1.0, -0.5], "tokens": []}}]}}}
{"choices": [{"message": {"role": "assistant", "content": "yes"}, "logprobs": {"content": \
[{"token": "yes", "logprob": -0.25}]}}, {"message": {"content": "no"}, "logprobs": null}]}
{"request_id": "7", "outputs": [{"index": 0, "text": "so", "token_ids": [1, 2], \
"cumulative_logprob": -2.0}]}
"""
KALDI = "spk-utt1-1 the cat\nspk-utt1-2 a cat\nspk-utt2-1\n"
SRILM = "-95.5 -3.25 3 the cat sat\n-96 -2 2 the cat\n"
MOSES = "0 ||| a b ||| LM0= -1.5 TM0= -1 -2 ||| -3.5\n1 ||| c ||| LM0= -2 TM0= 0 1 ||| 1\n"
CDEC = "0 ||| a b ||| LanguageModel=-1.5 Glue=1 ||| -3.5\n"
CSV = 'id,text,score,lm,scores.comet,comment\n0,"a, b",0.5,-1.5,0.75,x\n0,c,0.25,-2,0.5,y\n'

#: name -> options, content, the entries
EXAMPLES: dict[str, tuple[dict[str, Any], str, list[Entry]]] = {
    "fairseq": (
        {},
        FAIRSEQ,
        [
            (3, "a house", {"model": -0.5 * BITS, "logprob": -2 * BITS, "tokens": 4}),
            (3, "the house", {"model": -0.75 * BITS, "logprob": -1.5 * BITS, "tokens": 2}),
            (0, "yes", {"model": -0.1 * BITS, "logprob": -0.1 * BITS, "tokens": 1}),
        ],
    ),
    "marian": (
        {},
        MARIAN,
        [
            (0, "a house", {"F0": -2.5, "F1": -3, "model": -1.25}),
            (0, "the house", {"F0": -3, "F1": -3.5, "model": -1.5}),
            (1, "yes", {"F0": -0.5, "model": -0.25}),
        ],
    ),
    "sockeye": (
        {},
        SOCKEYE,
        [
            (0, "a house", {"model": 0.5}),
            (1, "yes", {"model": 0.25}),
            (1, "yeah", {"model": 0.75, "model-1": 0.5}),
        ],
    ),
    "ctranslate2": (
        {"pieces": "sentencepiece"},
        CTRANSLATE2,
        [
            (0, "a house", {"model": -0.5, "tokens": 3}),
            (0, "the", {"model": -1, "tokens": 1}),
            (1, "yes it is", {}),
        ],
    ),
    "huggingface": (
        {},
        HUGGINGFACE,
        [
            (0, "a house", {"rank": 0}),
            (0, "the house", {"rank": 1}),
            (1, "yes", {"model": -0.5}),
            (1, "no", {"model": -1.5}),
            (2, "so", {"model": 0.5}),
        ],
    ),
    "vllm": (
        {},
        VLLM,
        [
            ("r-1", "a house", {"logprob": -1.5, "tokens": 2}),
            (1, "yes", {"logprob": -0.25, "tokens": 1}),
            (1, "no", {"rank": 1}),
            (7, "so", {"logprob": -2, "tokens": 2}),
        ],
    ),
    "kaldi": (
        {},
        KALDI,
        [
            ("spk-utt1", "the cat", {"rank": 1}),
            ("spk-utt1", "a cat", {"rank": 2}),
            ("spk-utt2", "", {"rank": 1}),
        ],
    ),
    "srilm": (
        {},
        SRILM,
        [
            ("lists", "the cat sat", {"acoustic": -95.5 * TEN, "lm": -3.25 * TEN, "words": 3}),
            ("lists", "the cat", {"acoustic": -96 * TEN, "lm": -2 * TEN, "words": 2}),
        ],
    ),
    "moses": (
        {},
        MOSES,
        [
            (0, "a b", {"LM0": -1.5, "TM0_1": -1, "TM0_2": -2}),
            (1, "c", {"LM0": -2, "TM0_2": 1}),
        ],
    ),
    "cdec": ({}, CDEC, [(0, "a b", {"LanguageModel": -1.5, "Glue": 1})]),
    "jsonl": (
        {},
        '{"id": "x", "text": "a  b", "features": {"f": 1}}\n',
        [("x", "a b", {"f": 1})],
    ),
    "csv": ({}, CSV, [(0, "a, b", {"lm": -1.5}), (0, "c", {"lm": -2})]),
    "tsv": (
        {},
        CSV.replace(",", "\t").replace("a\t b", "a, b"),
        [(0, "a, b", {"lm": -1.5}), (0, "c", {"lm": -2})],
    ),
}


def made(name: str, options: dict[str, Any]) -> ListFormat:
    made: ListFormat = registry.create("list-format", name, options)
    return made


def write(folder: Path, content: str) -> Path:
    path = folder / "lists.txt"
    path.write_text(content, encoding="utf-8")
    return path


def test_every_format_has_an_example() -> None:
    assert {*EXAMPLES, "parquet"} == set(registry.names("list-format"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(tmp_path: Path, name: str) -> None:
    options, content, expected = EXAMPLES[name]
    entries = list(made(name, options).read(write(tmp_path, content)))
    assert [(e["id"], e["text"]) for e in entries] == [(id, text) for id, text, _ in expected]
    for entry, (_, _, features) in zip(entries, expected, strict=True):
        assert entry["features"] == pytest.approx(features)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "moses", "parquet"])
def test_written_lists_are_read_back(tmp_path: Path, name: str, kind: Any) -> None:
    options, content, _ = EXAMPLES[name]
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    entries = list(made(name, options).read(write(tmp_path, content)))
    names = {name for entry in entries for name in entry["features"]}
    for entry in entries:  # a table has the same columns in every row
        entry["features"] = {name: entry["features"].get(name, 0.5) for name in sorted(names)}
    out = tmp_path / f"out.{kind}"
    write_entries(out, entries, kind)
    back = list(made(kind, {}).read(out))
    assert len(back) == len(entries)
    for entry, found in zip(entries, back, strict=True):
        assert (found["id"], found["text"]) == (entry["id"], entry["text"])
        kept = {name: value for name, value in entry["features"].items() if value}
        there = {name: value for name, value in found["features"].items() if value}
        assert there == pytest.approx(kept, rel=1e-6)
        if kind != "moses":
            assert found.get("scores", {}) == entry.get("scores", {})


@pytest.mark.parametrize("name", EXAMPLES)
def test_byte_order_mark_and_windows_line_ends(tmp_path: Path, name: str) -> None:
    options, content, _ = EXAMPLES[name]
    expected = list(made(name, options).read(write(tmp_path, content)))
    path = tmp_path / "lists.txt"
    path.write_bytes(("\ufeff" + content.replace("\n", "\r\n")).encode())
    assert list(made(name, options).read(path)) == expected


@pytest.mark.parametrize("name", ["sockeye", "ctranslate2", "huggingface", "vllm"])
@pytest.mark.parametrize("indent", [None, 1])
def test_one_array_of_all_lists(tmp_path: Path, name: str, indent: int | None) -> None:
    options, content, _ = EXAMPLES[name]
    lines = content.splitlines()
    for part in (lines, lines[:1], lines[1:2]):
        expected = list(made(name, options).read(write(tmp_path, "\n".join(part))))
        array = json.dumps([json.loads(line) for line in part], indent=indent)
        found = list(made(name, options).read(write(tmp_path, array)))
        if part is lines and name == "huggingface" and indent is None:
            continue  # lists and objects mixed: no pipeline writes this
        assert found == expected


def test_half_a_character(tmp_path: Path) -> None:
    path = write(tmp_path, '{"choices": [{"text": "a \\ud83d"}]}\n')
    with pytest.raises(InputError, match=r"txt:1: '\\ud83d' is half of a character"):
        list(made("vllm", {}).read(path))
    path = write(tmp_path, '{"choices": [{"text": "a \\ud83d\\ude42"}]}\n')
    assert next(made("vllm", {}).read(path))["text"] == "a 🙂"


def test_a_column_twice(tmp_path: Path) -> None:
    path = write(tmp_path, "id,text,lm,lm\n0,a,1,2\n")
    with pytest.raises(InputError, match="two columns 'lm'; rename one of them"):
        list(made("csv", {}).read(path))


def test_a_text_of_two_lines_is_one_line_of_moses(tmp_path: Path) -> None:
    path = tmp_path / "out.nbest"
    write_entries(path, [{"id": 0, "text": "a\nb  c", "features": {"f": 1.0}}])
    assert path.read_text() == "0 ||| a b c ||| f= 1.0 ||| 0\n"


@pytest.mark.parametrize("name", EXAMPLES)
def test_damaged_files_are_refused_or_read(tmp_path: Path, name: str) -> None:
    options, content, _ = EXAMPLES[name]
    for place in range(0, len(content), 7):
        for damaged in (content[:place], content[:place] + "\x00}" + content[place + 2 :]):
            entries = []
            with contextlib.suppress(HopefearError):  # any other error fails the test
                entries = list(made(name, options).read(write(tmp_path, damaged)))
            for entry in entries:
                assert isinstance(entry["text"], str)
                assert all(math.isfinite(v) for v in entry["features"].values())


def test_costs_of_kaldi(tmp_path: Path) -> None:
    words = write(tmp_path, KALDI)
    ac, lm = tmp_path / "ac_cost", tmp_path / "lm"
    ac.write_text("spk-utt1-1 12.5\nspk-utt1-2 13\nspk-utt2-1 1\n")
    lm.write_text("spk-utt1-1 2.5\nspk-utt1-2 3\n")
    entries = list(made("kaldi", {"costs": [str(ac), f"old={ac}"]}).read(words))
    assert entries[0]["features"] == {"ac_cost": -12.5, "old": -12.5}
    with pytest.raises(InputError, match="no cost of spk-utt2-1"):
        list(made("kaldi", {"costs": [str(lm)]}).read(words))


def test_deciphers_formats_of_srilm(tmp_path: Path) -> None:
    (one,) = made("srilm", {}).read(write(tmp_path, "NBestList1.0\n(-1234) the cat\n"))
    assert one["text"] == "the cat"
    assert one["features"] == pytest.approx({"model": -1234 * BYTELOG})
    content = (
        "NBestList2.0\n(-60) the ( st: 0.0 et: 0.5 g: -4 a: -10 ) dh ( st: 0.0 et: 0.2 g: 0 a: -9 )"
        " cat ( st: 0.51 et: 1.0 g: -6 a: -40 )\n"
    )
    (two,) = made("srilm", {}).read(write(tmp_path, content))
    assert two["text"] == "the cat"
    expected = {"model": -60 * BYTELOG, "lm": -10 * BYTELOG, "acoustic": -50 * BYTELOG}
    assert two["features"] == pytest.approx(expected)


def test_pieces(tmp_path: Path) -> None:
    path = write(tmp_path, "0 ||| a hou@@ se no@@ ||| F0= 1 ||| 1\n")
    (entry,) = made("marian", {"pieces": "bpe"}).read(path)
    assert entry["text"] == "a house no"
    path = write(tmp_path, "0 ||| ▁a ▁hou se ||| F0= 1 ||| 1\n")
    (entry,) = made("marian", {"pieces": "sentencepiece"}).read(path)
    assert entry["text"] == "a house"


def test_one_array_of_json(tmp_path: Path) -> None:
    lists = [[{"translation_text": "a"}], [{"translation_text": "b"}, {"translation_text": "c"}]]
    path = write(tmp_path, json.dumps(lists, indent=1))
    entries = list(made("huggingface", {}).read(path))
    assert [(e["id"], e["text"]) for e in entries] == [(0, "a"), (1, "b"), (1, "c")]


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    for name, content, message in (
        ("marian", "a house\n", "lists.txt:1: expected 'id ||| text"),
        ("marian", "0 ||| a ||| F0= x ||| 1\n", "lists.txt:1: F0 is 'x', expected a number"),
        ("sockeye", "{}\n", "lists.txt:1: no 'translation' in it; is this the format"),
        ("ctranslate2", '{"hypotheses": [["a"]], "scores": [1, 2]}', "2 scores of 1 hypotheses"),
        ("huggingface", "[3]\n", "lists.txt:1: 3, expected an object with one of"),
        ("vllm", '{"custom_id": "1", "error": {"code": 400}}\n', "the request failed"),
        ("kaldi", "utterance the cat\n", "key 'utterance', expected UTTERANCE-RANK"),
        ("srilm", "1 2\n", "2 fields, expected 'acoustic lm words"),
        ("csv", "a,b\n1,2\n", "no column id and text"),
        ("csv", "id,text,f\n1,a\n", "lists.txt:2: not as many fields"),
        ("csv", "id,text,f\n1,a,1\n2,b,x\n", "lists.txt:3: f is 'x', expected a number"),
    ):
        with pytest.raises(InputError) as error:
            list(made(name, {}).read(write(tmp_path, content)))
        assert message in str(error.value)


def test_a_file_that_is_no_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match="not a Parquet file"):
        list(made("parquet", {}).read(write(tmp_path, "id,text\n")))


def test_written_json_lines_are_lists(tmp_path: Path) -> None:
    options, content, expected = EXAMPLES["fairseq"]
    out = tmp_path / "out.jsonl"
    write_entries(out, made("fairseq", options).read(write(tmp_path, content)))
    assert [list_.id for list_ in read_nbest(out)] == ["3", "0"]
    early = {"id": 0, "text": "a", "features": {"x": 1}}
    late = {"id": 0, "text": "a", "features": {"F1": 1}}
    write_entries(tmp_path / "both.csv", [early, late])
    assert (tmp_path / "both.csv").read_text() == "id,text,x,F1\n0,a,1,\n0,a,,1\n"
    with pytest.raises(InputError, match="entry 10001: 'F1' is in none of the first 10,000"):
        write_entries(tmp_path / "out.csv", [*[early] * 10_000, late])
    assert not (tmp_path / "out.csv").exists()
    assert expected


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_features_that_are_called_like_columns(tmp_path: Path, kind: Any) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    entry = {"id": 0, "text": "a", "score": 1.0, "scores": {"x": 2.0}}
    entry["features"] = {"score": 3.0, "id": 4.0, "scores.x": 5.0}
    out = tmp_path / f"out.{kind}"
    write_entries(out, [entry], kind)
    assert list(made(kind, {}).read(out)) == [entry]
