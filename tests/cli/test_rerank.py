"""`hopefear rerank tune|apply`: their output and their messages about bad input."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

REFERENCES = ["the cat sat on the mat", "a dog ran in the park", "birds sing in the morning"]
# The last candidate of each list is correct; the feature "good" prefers it, "lm" does not.
TEXTS = [
    ["the cat on mat", "cat sat the mat on", "the cat sat on the mat"],
    ["a dog in the park", "dog ran park", "a dog ran in the park"],
    ["birds sing in morning", "bird sings in the morning", "birds sing in the morning"],
]


def moses(order: tuple[int, ...] = (0, 1, 2)) -> str:
    lines = []
    for s in order:
        for i, text in enumerate(TEXTS[s]):
            lines.append(f"{s} ||| {text} ||| LM0= {-i} TM0= {i * i} 0.5 ||| {-i}")
    return "\n".join(lines) + "\n"


def cdec() -> str:
    lines = []
    for s, texts in enumerate(TEXTS):
        for i, text in enumerate(texts):
            lines.append(f"{s} ||| {text} ||| lm={-i} good={i * i} ||| {-i}")
    return "\n".join(lines) + "\n"


def jsonl(*, score: bool = False, ids: list[str] | None = None) -> str:
    lines = []
    for s, texts in enumerate(TEXTS):
        for i, text in enumerate(texts):
            record = {
                "id": ids[s] if ids else s,
                "text": text,
                "features": {"lm": -i, "good": i * i, f"sparse{s}": 1},
            }
            if score:
                record["score"] = 0.1 * i
            lines.append(json.dumps(record))
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "refs").write_text("\n".join(REFERENCES) + "\n")
    (tmp_path / "dev.nbest").write_text(moses())
    (tmp_path / "dev.jsonl").write_text(jsonl())
    return tmp_path


def tune(hopefear: Run, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    given = ["--refs", "refs"] if "given" not in words and "--refs" not in words else []
    given += ["--tuner", "batch-mira"] if "--tuner" not in words else []
    return hopefear("rerank", "tune", *given, "-o", "w.tsv", *words, cwd=folder)


@pytest.mark.parametrize("tuner", ["mert", "batch-mira"])
@pytest.mark.parametrize("format", ["moses", "cdec", "jsonl", "moses.gz"])
def test_tune_and_apply(hopefear: Run, folder: Path, tuner: str, format: str) -> None:
    name = {"jsonl": "list.jsonl", "moses.gz": "list.gz"}.get(format, "list")
    content = {"cdec": cdec(), "jsonl": jsonl()}.get(format, moses())
    if name.endswith(".gz"):
        (folder / name).write_bytes(gzip.compress(content.encode()))
    else:
        (folder / name).write_text(content)
    result = tune(hopefear, folder, "--nbest", name, "--tuner", tuner, "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["oracle"] == pytest.approx(100.0)
    assert report["tuned"] == pytest.approx(100.0)
    assert 0 < report["first_best"] < 60
    assert 0 < report["p_value"] <= 1
    assert report["lists"] == 3

    apply = ["rerank", "apply", "--nbest", name, "--weights", "w.tsv", "-o", "out"]
    applied = hopefear(*apply, "--json", cwd=folder)
    assert applied.returncode == 0, applied.stderr
    assert json.loads(applied.stdout) == {
        "lists": 3,
        "candidates": 9,
        "changed": 3,
        "missing": 0,
    }
    assert (folder / "out").read_text().splitlines() == REFERENCES


def test_same_seed_same_bytes(hopefear: Run, folder: Path) -> None:
    seen = set()
    for threads in ("1", "2"):
        words = ["--nbest", "dev.nbest", "--tuner", "mert", "--threads", threads, "--seed", "4"]
        assert tune(hopefear, folder, *words).returncode == 0
        seen.add((folder / "w.tsv").read_bytes())
    assert len(seen) == 1


def test_given_scores_and_any_ids(hopefear: Run, folder: Path) -> None:
    content = jsonl(score=True, ids=["news-1", "news-2", "x"])
    (folder / "scored.jsonl").write_text(content)
    result = tune(hopefear, folder, "--nbest", "scored.jsonl", "--metric", "given", "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["first_best"] == pytest.approx(0.0, abs=1e-6)
    assert report["oracle"] == pytest.approx(0.2, abs=1e-6)
    assert report["tuned"] == pytest.approx(0.2, abs=1e-6)
    words = ["rerank", "apply", "--nbest", "-", "--format", "jsonl", "--weights", "w.tsv"]
    applied = hopefear(*words, "-o", "-", "--ids", cwd=folder, input=content)
    assert applied.stdout.splitlines() == [
        f"{id}\t{text}" for id, text in zip(["news-1", "news-2", "x"], REFERENCES, strict=True)
    ]


def test_folds(hopefear: Run, folder: Path) -> None:
    words = ["--nbest", "dev.nbest", "--folds", "3", "--tuner", "mert", "--metric", "chrf"]
    result = tune(hopefear, folder, *words)
    assert result.returncode == 0, result.stderr
    assert "tuned, 3 folds" in result.stdout
    assert "p = " in result.stdout
    report = json.loads(tune(hopefear, folder, *words, "--json").stdout)
    assert report["folds"] == 3
    assert report["tuned"] <= report["tuned_on_all"] == pytest.approx(100.0)


def test_ids_in_any_order_and_repeated_lines(hopefear: Run, folder: Path) -> None:
    (folder / "mixed").write_text(moses((2, 0, 1)) + moses((0,)))
    result = tune(hopefear, folder, "--nbest", "mixed", "--json")
    report = json.loads(result.stdout)
    assert report["candidates"] == 9
    assert report["repeated"] == 3
    assert report["tuned"] == pytest.approx(100.0)


def test_options_of_the_tuner_and_of_the_metric(hopefear: Run, folder: Path) -> None:
    words = ["--nbest", "dev.nbest", "--tuner", "mert", "--set", "restarts=1", "kicks=0"]
    assert tune(hopefear, folder, *words).returncode == 0
    result = tune(hopefear, folder, *words, "--metric-set", "order=2", "--json")
    assert "order:2" in json.loads(result.stdout)["signature"]
    bad = tune(hopefear, folder, *words, "restart=3")
    assert bad.returncode == 2
    assert "did you mean 'restarts'?" in bad.stderr


def test_fixed_and_starting_weights(hopefear: Run, folder: Path) -> None:
    (folder / "start").write_text("LM0\t0.25\n")
    words = ["--nbest", "dev.nbest", "--weights", "start", "--fixed", "LM0"]
    assert tune(hopefear, folder, *words).returncode == 0
    weights = dict(line.split("\t") for line in (folder / "w.tsv").read_text().splitlines())
    assert weights["LM0"] == "0.25"


def test_a_sentence_without_candidates(hopefear: Run, folder: Path) -> None:
    (folder / "some").write_text(moses((0, 2)))
    result = tune(hopefear, folder, "--nbest", "some")
    assert result.returncode == 2
    assert "no candidate for sentence 1" in result.stderr
    assert "--skip-missing" in result.stderr
    result = tune(hopefear, folder, "--nbest", "some", "--skip-missing", "--json")
    assert result.returncode == 0
    assert json.loads(result.stdout)["lists"] == 2
    words = ["rerank", "apply", "--nbest", "some", "--weights", "w.tsv", "-o", "-"]
    applied = hopefear(*words, cwd=folder)
    assert applied.stdout.splitlines() == [REFERENCES[0], "", REFERENCES[2]]
    assert "1 sentences without candidates" in applied.stderr


BAD = {
    "id too large": (moses() + "3 ||| x ||| LM0= 1 TM0= 1 1 ||| 0\n", [], "id 3, but the ref"),
    "id is a word": ("a ||| x ||| LM0= 1 ||| 0\n", [], "id 'a' is no number"),
    "negative id": ("-1 ||| x ||| LM0= 1 ||| 0\n", [], "id '-1' is no number"),
    "nan": ("0 ||| x ||| LM0= nan ||| 0\n", [], "list:1"),
    "inf": ("0 ||| x ||| LM0= inf ||| 0\n", [], "list:1"),
    "no feature value": ("0 ||| x ||| LM0= y ||| 0\n", [], "list:1"),
    "empty": ("", [], "no list in it"),
    "not json by its beginning": ("\ufeff {", [], "list:1: not a JSON object"),
    "not json": ("{", ["--format", "jsonl"], "list:1: not a JSON object"),
    "json nan": (
        '{"id": 0, "text": "x", "features": {"a": NaN}}\n',
        ["--format", "jsonl"],
        "list:1: feature 'a' is NaN, expected a finite number",
    ),
    "json integer too large": (
        '{"id": 0, "text": "x", "score": 1' + "0" * 400 + "}\n",
        ["--format", "jsonl"],
        'list:1: "score" is 1000',
    ),
    "no score": (jsonl(), ["--format", "jsonl", "--metric", "given"], "has no score"),
    "infinite score": (
        "0 ||| x ||| LM0= 1 ||| inf\n",
        ["--metric", "given"],
        "list: the score of entry 1 of id '0' is infinite",
    ),
    "too large": ("0 ||| x ||| LM0= 1e50 ||| 0\n", [], "list:1: feature 'LM0' is 1e+50"),
    "weights and report on stdout": (moses(), ["-o", "-", "--json"], "writes the report to stdout"),
    "metric twice": (moses(), ["--metric", "bleu", "bleu=2"], "name each metric once"),
    "weight 0": (moses(), ["--metric", "bleu=0"], "--metric bleu=0: expected NAME or NAME=WEIGHT"),
    "no such score": (
        jsonl(),
        ["--format", "jsonl", "--metric", "comet"],
        "unknown metric 'comet', and no score of that name in list",
    ),
    "uneven references": (moses(), ["--refs", "refs", "short"], "short has 1 line"),
    "unknown tuner": (moses(), ["--tuner", "mrt"], "unknown tuner 'mrt'"),
    "unknown metric": (moses(), ["--metric", "blue"], "unknown metric 'blue'"),
    "too many folds": (moses(), ["--folds", "4"], "--folds 4: there are 3 lists"),
    "fixed": (moses(), ["--fixed", "nobody"], "--fixed nobody: no candidate has"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_exit_2(hopefear: Run, folder: Path, case: str) -> None:
    content, words, message = BAD[case]
    (folder / "list").write_text(content)
    (folder / "short").write_text("one line\n")
    result = tune(hopefear, folder, "--nbest", "list", "--progress", "off", *words)
    assert result.returncode == 2, result.stdout
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""
    assert not (folder / "w.tsv").exists()


def test_bytes_that_are_not_utf8(hopefear: Run, folder: Path) -> None:
    (folder / "list").write_bytes(b"0 ||| a \xff ||| LM0= 1 ||| 0\n")
    result = tune(hopefear, folder, "--nbest", "list", "--progress", "off")
    assert result.returncode == 2
    assert result.stderr.startswith("hopefear: list:1: byte 0xff at column 9 is not UTF-8; ")


def test_byte_order_mark_and_windows_line_ends(hopefear: Run, folder: Path) -> None:
    content = "\ufeff" + moses().replace("\n", "\r\n")
    (folder / "list").write_bytes(content.encode())
    assert tune(hopefear, folder, "--nbest", "list").returncode == 0


@pytest.mark.parametrize("lists", ["list", "list.gz", "-"])
def test_json_lines_are_detected_in_any_file(hopefear: Run, folder: Path, lists: str) -> None:
    content = jsonl()
    (folder / "list").write_text(content)
    (folder / "list.gz").write_bytes(gzip.compress(content.encode()))
    words = ["rerank", "tune", "--nbest", lists, "--refs", "refs", "--tuner", "mert"]
    stdin = {"input": content} if lists == "-" else {}
    assert hopefear(*words, "-o", "w.tsv", cwd=folder, **stdin).returncode == 0
    words = ["rerank", "apply", "--nbest", lists, "--weights", "w.tsv", "-o", "-"]
    result = hopefear(*words, cwd=folder, **stdin)
    assert len(result.stdout.splitlines()) == len(REFERENCES)


def test_no_references(hopefear: Run, folder: Path) -> None:
    words = ["rerank", "tune", "--nbest", "dev.nbest", "--tuner", "mert", "-o", "w.tsv"]
    result = hopefear(*words, cwd=folder)
    assert result.returncode == 2
    assert "--refs is missing" in result.stderr
    result = hopefear(*words, "--metric", "given", "--skip-missing", cwd=folder)
    assert result.returncode == 2
    assert "--skip-missing: has no effect" in result.stderr


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        (moses((0, 1)) + moses((0,)), [], "a second list of id '0'"),
        (moses((2, 1)) + moses((2,)), [], "a second list of id '2'"),
        (moses((0, 1)) + moses((0,)), ["--ids"], "a second list of id '0'"),
        ("99999999999 ||| x ||| LM0= 1 ||| 0\n", [], "expected the numbers of sentences"),
        (moses(), ["-o", "-", "--json"], "--json writes the report to stdout"),
        (moses(), ["--nbest", "-", "--weights", "-"], "stdin can be only one of them"),
    ],
)
def test_bad_input_of_apply(
    hopefear: Run, folder: Path, content: str, words: list[str], message: str
) -> None:
    (folder / "list").write_text(content)
    (folder / "w.tsv").write_text("LM0\t1\n")
    given = ["--nbest", "list", "--weights", "w.tsv", "--progress", "off"]
    given += [] if "-o" in words else ["-o", "out"]
    result = hopefear("rerank", "apply", *given, *words, cwd=folder)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (folder / "out").exists()


def test_lists_in_any_order(hopefear: Run, folder: Path) -> None:
    lists = [f"{number} ||| text {number} ||| LM0= 1 ||| 0\n" for number in (3, 0, 5, 1)]
    (folder / "w.tsv").write_text("LM0\t1\n")
    words = ["rerank", "apply", "--nbest", "-", "--weights", "w.tsv", "-o", "-"]
    result = hopefear(*words, cwd=folder, input="".join(lists))
    assert result.returncode == 0, result.stderr
    assert result.stdout == "text 0\ntext 1\n\ntext 3\n\ntext 5\n"
    assert "2 sentences without candidates are empty lines" in result.stderr


def test_weights_of_other_features(hopefear: Run, folder: Path) -> None:
    (folder / "w.tsv").write_text("other\t1\n")
    words = ["rerank", "apply", "--nbest", "dev.nbest", "--weights", "w.tsv", "-o", "out"]
    result = hopefear(*words, cwd=folder)
    assert result.returncode == 0
    assert "no feature of the lists has a weight" in result.stderr


def test_tokenised_references_are_noticed(hopefear: Run, folder: Path) -> None:
    lines = [f"{i} ||| A house, and a mouse{mark} ||| lm= {-i}" for i in range(3) for mark in ".!"]
    (folder / "raw.nbest").write_text("\n".join(lines) + "\n")
    (folder / "spaced").write_text("A house , or a mouse .\n" * 3)
    (folder / "raw").write_text("A house, or a mouse.\n" * 3)
    done = tune(hopefear, folder, "--nbest", "raw.nbest", "--refs", "spaced")
    assert "the references seem to be tokenised" in done.stderr
    done = tune(hopefear, folder, "--nbest", "raw.nbest", "--refs", "raw")
    assert done.returncode == 0, done.stderr
    assert "tokenised" not in done.stderr
    (folder / "raw").write_text("A house, or a mouse, or a dog, or a cat.\n" * 3)
    for words, hint in (((), True), (("--tokenize", "13a"), False), (("--metric", "wer"), False)):
        done = tune(hopefear, folder, "--nbest", "raw.nbest", "--refs", "raw", *words)
        assert ("the references are raw text" in done.stderr) == hint
