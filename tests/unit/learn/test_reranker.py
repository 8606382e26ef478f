"""The reranker as an estimator: lists in every form, options as parameters."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopefear import Reranker
from hopefear.base.errors import InputError, OptionError

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(lists are few|may be chance|overstates it|becomes worse)"
)

WORDS = ["the", "a", "red", "old", "house", "dog", "sees", "and", "goes", "to"]
FAST: dict[str, Any] = {"tuner_options": {"restarts": 1, "kicks": 0}, "threads": 1}


def made(count: int, seed: int) -> tuple[list[list[dict[str, Any]]], list[str]]:
    chance = random.Random(seed)
    lists, references = [], []
    for _ in range(count):
        reference = chance.choices(WORDS, k=8)
        candidates = []
        for _ in range(5):
            errors = chance.randint(0, 4)
            text = [*reference[: 8 - errors], *["x"] * errors]
            features = {"model": -errors + chance.gauss(0, 0.7), "noise": chance.gauss(0, 1)}
            candidates.append({"text": " ".join(text), "features": features})
        lists.append(candidates)
        references.append(" ".join(reference))
    return lists, references


LISTS, REFERENCES = made(30, 1)
ENTRIES = [{**c, "id": i} for i, candidates in enumerate(LISTS) for c in candidates]


def test_fit_and_rerank() -> None:
    reranker = Reranker(tuner="mert", metric="wer", **FAST)
    assert reranker.fit(LISTS, REFERENCES) is reranker
    assert reranker.weights["model"] > abs(reranker.weights["noise"])
    assert reranker.weights_ is reranker.weights
    chosen = reranker.rerank(LISTS)
    assert chosen == reranker.predict(ENTRIES) == reranker.apply(ENTRIES)
    assert len(chosen) == len(LISTS)
    assert reranker.report["folds"] == 5
    score = reranker.score(LISTS, REFERENCES)
    assert score == pytest.approx(-reranker.report["tuned_on_all"])  # WER: lower is better
    other, references = made(30, 2)
    first = Reranker.of(reranker.weights.__class__({"none": 1.0}), {})
    first.metric = "wer"
    with pytest.warns(UserWarning, match="no feature of the lists"):
        assert reranker.score(other, references) > first.score(other, references)


def test_every_form_of_lists_is_the_same(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "lists.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in ENTRIES))
    table = pandas.DataFrame(
        [{"id": f"s{e['id']}", "text": e["text"], **e["features"]} for e in ENTRIES]
    )
    table["comment"] = "not a number"

    def stream() -> Iterator[dict[str, Any]]:
        yield from ENTRIES

    expected = Reranker(**FAST).fit(LISTS, REFERENCES)
    for lists in (path, str(path), table, stream(), iter(LISTS)):
        reranker = Reranker(**FAST).fit(lists, REFERENCES)
        assert dict(reranker.weights.items()) == dict(expected.weights.items())
        assert reranker.report == expected.report
    for lists in (path, table, stream(), iter(LISTS)):
        assert expected.rerank(lists) == expected.rerank(LISTS)
    scores = expected.decision_function(table)
    assert scores.shape == (len(table),)
    best = [scores[5 * i : 5 * i + 5].argmax() for i in range(len(LISTS))]
    assert [LISTS[i][b]["text"] for i, b in enumerate(best)] == expected.rerank(LISTS)
    refs = tmp_path / "refs"
    refs.write_text("".join(f"{line}\n" for line in REFERENCES))
    assert Reranker(**FAST).fit(path, refs).report == expected.report


def test_lists_are_taken_one_by_one() -> None:
    reranker = Reranker(**FAST).fit(LISTS, REFERENCES)
    taken = 0

    def endless() -> Iterator[dict[str, Any]]:
        nonlocal taken
        while True:
            for candidate in LISTS[0]:
                yield {**candidate, "id": f"n{taken}"}
            taken += 1

    stream = reranker.stream(endless())
    assert [next(stream) for _ in range(3)] == reranker.rerank([LISTS[0]] * 3)
    assert taken <= 4


def test_scores_in_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [
        {"id": i, "text": f"t{c}", "f": float(c), "scores.comet": -float(c), "score": float(c)}
        for i in range(6)
        for c in (1, 0, 2)
    ]
    table = pandas.DataFrame(rows)
    reranker = Reranker(metric="comet", folds=1, **FAST).fit(table)
    assert reranker.rerank(table) == ["t0"] * 6
    assert {row["metric"] for row in reranker.report["metrics"]} == {"comet", "given"}
    reranker = Reranker(metric="given", folds=1, **FAST).fit(table)
    assert reranker.rerank(table) == ["t2"] * 6


def test_missing_values_and_rows_in_any_order_in_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [
        {"id": number, "text": candidate["text"], "n": number, **candidate["features"]}
        for number, candidates in enumerate(LISTS)
        for candidate in candidates
    ]
    name = next(iter(LISTS[0][0]["features"]))
    for row in rows[::3]:
        row[name] = None
    filled = pandas.DataFrame(rows).fillna(0)
    expected = Reranker(**FAST).fit(filled, REFERENCES)
    with_missing = pandas.DataFrame(rows)
    for table in (with_missing, with_missing.convert_dtypes(), filled.astype({"id": float})):
        reranker = Reranker(**FAST).fit(table, REFERENCES)
        assert dict(reranker.weights.items()) == dict(expected.weights.items())
        assert reranker.rerank(table) == expected.rerank(filled)
    places = [*range(0, len(filled), 2), *range(1, len(filled), 2)]  # each list in two parts
    mixed = filled.iloc[places]
    assert len(expected.rerank(mixed)) == len(LISTS)
    assert (expected.decision_function(mixed) == expected.decision_function(filled)[places]).all()


def test_no_choice_is_silently_left_out_or_added(tmp_path: Path) -> None:
    reranker = Reranker(**FAST).fit(LISTS, REFERENCES)
    for call in (reranker.rerank, lambda lists: Reranker(**FAST).fit(lists, REFERENCES)):
        with pytest.raises(InputError, match="list 1 is empty, expected one candidate or more"):
            call([LISTS[0], [], *LISTS[2:]])
    again = [ENTRIES[0], ENTRIES[-1], ENTRIES[1]]
    with pytest.raises(InputError, match="a second list of id '0'"):
        reranker.rerank(iter(again))
    path = tmp_path / "lists.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in again))
    with pytest.raises(InputError, match="a second list of id '0'"):
        reranker.rerank(path)


def test_several_references_for_some_lists() -> None:
    several = [[text, "x x x"] if number % 2 else text for number, text in enumerate(REFERENCES)]
    reranker = Reranker(**FAST).fit(LISTS, several)
    assert reranker.score(LISTS, several) > 50


def test_parameters() -> None:
    reranker = Reranker(tuner="pro", seed=3)
    params = reranker.get_params()
    assert (params["tuner"], params["metric"], params["seed"]) == ("pro", "bleu", 3)
    assert Reranker(**params).get_params() == params
    assert reranker.set_params(metric="chrf").metric == "chrf"
    with pytest.raises(OptionError, match="unknown parameter 'fold'; did you mean 'folds'"):
        reranker.set_params(fold=3)
    assert repr(reranker) == "Reranker(tuner='pro', metric='chrf')"


def test_scikit_learn_can_clone_it() -> None:
    base = pytest.importorskip("sklearn.base")
    reranker = Reranker(tuner="pro", fixed=("a",), tuner_options={"C": 0.1})
    assert base.clone(reranker).get_params() == reranker.get_params()


def test_scikit_learn_can_cross_validate_it() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    reranker = Reranker(metric="wer", folds=1, **FAST)
    assert len(selection.cross_val_score(reranker, LISTS, REFERENCES, cv=3)) == 3
    search = selection.GridSearchCV(reranker, {"tuner": ["mert"], "seed": [1, 2]}, cv=2)
    assert search.fit(LISTS, REFERENCES).best_params_["tuner"] == "mert"


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no weights yet; call fit"):
        Reranker().rerank(LISTS)
    with pytest.raises(InputError, match=r"list 0: .*expected a list of candidates"):
        Reranker().fit(["a text"], REFERENCES[:1])
    with pytest.raises(InputError, match="lists: int, expected a file"):
        Reranker().fit(3, REFERENCES)
    with pytest.raises(InputError, match="refs: empty"):
        Reranker().fit(LISTS, [])
    with pytest.raises(InputError, match="refs: None of list 0; expected a text, or several"):
        Reranker().fit(LISTS, [None])
    fitted = Reranker(**FAST).fit(LISTS, REFERENCES)
    refs = tmp_path / "refs"
    refs.write_text("".join(f"{line}\n" for line in REFERENCES))
    assert fitted.score(LISTS, refs) == fitted.score(LISTS, REFERENCES)
    with pytest.raises(InputError, match="refs: 1 for 30 lists"):
        fitted.score(LISTS, REFERENCES[:1])
    with pytest.raises(OptionError, match="cannot score text"):
        fitted.set_params(metric="given").score(LISTS, REFERENCES)


def test_saved_reports(tmp_path: Path) -> None:
    fitted = Reranker(ablation=True, **FAST).fit(LISTS, REFERENCES)
    fitted.save_report(tmp_path / "r.json")
    saved = json.loads((tmp_path / "r.json").read_text())
    assert saved["report"] == json.loads(json.dumps(fitted.report))
    assert saved["weights"]["model"] == pytest.approx(fitted.weights["model"])
    assert {row["feature"] for row in saved["report"]["ablation"]} == {"model", "noise"}
    for example in saved["examples"]:
        assert example["first_best"] != example["tuned"]
        assert np.isfinite(example["gain"])
