"""What every registered list feature must do (learn/list_features/base.py)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopefear.align import Aligner, read_pairs
from hopefear.base import registry
from hopefear.base.errors import HopefearError, InputError, OptionError
from hopefear.forest.io import read_nbest
from hopefear.learn.list_features.base import CandidateList, ListFeature
from hopefear.learn.rerank_features import make_features, with_features
from hopefear.lm.estimate import estimate

WORDS = ["the", "a", "red", "old", "house", "dog", "sees"]
GERMAN = ["das", "ein", "rot", "alt", "haus", "hund", "sieht"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The options that the features need."""
    folder = tmp_path_factory.mktemp("models")
    chance = random.Random(1)
    pairs = [[chance.randrange(7) for _ in range(5)] for _ in range(60)]
    for name, words in (("en", WORDS), ("de", GERMAN)):
        lines = (" ".join(words[i] for i in pair) for pair in pairs)
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    estimate(folder / "en", folder / "lm.arpa", order=2, discount_fallback=True)
    Aligner.train(read_pairs(folder / "de", folder / "en")).save(folder / "align")
    return {"lm": {"model": folder / "lm.arpa"}, "align": {"model": folder / "align"}}


@pytest.fixture(params=registry.names("list-feature"))
def feature(request: pytest.FixtureRequest, models: dict[str, dict[str, Any]]) -> ListFeature:
    options = models.get(request.param, {})
    made: ListFeature = registry.create("list-feature", request.param, options)
    return made


TEXTS = ["the red house", "", "a dog sees", "the red house", "unheard of", "the " * 40, "猫 😀"]


def lists(texts: list[str], source: str = "das rot haus") -> CandidateList:
    entries = [{"id": 0, "text": text, "features": {"f": i}} for i, text in enumerate(texts)]
    (found,) = read_nbest("memory", entries=entries)
    return CandidateList(found, source)


def test_a_finite_number_for_each_candidate(feature: ListFeature) -> None:
    columns = feature.columns(lists(TEXTS))
    assert columns
    for name, values in columns.items():
        assert name
        assert not any(c.isspace() for c in name)
        assert np.asarray(values).shape == (len(TEXTS),)
        assert np.isfinite(np.asarray(values, np.float64)).all()


def test_same_list_same_numbers(feature: ListFeature) -> None:
    first = {k: np.asarray(v).tolist() for k, v in feature.columns(lists(TEXTS)).items()}
    feature.columns(lists(["other"]))
    again = {k: np.asarray(v).tolist() for k, v in feature.columns(lists(TEXTS)).items()}
    assert first == again


def test_one_empty_candidate(feature: ListFeature) -> None:
    for values in feature.columns(lists([""], "")).values():
        assert np.isfinite(np.asarray(values, np.float64)).all()


def test_what_they_measure(models: dict[str, dict[str, Any]]) -> None:
    def columns(name: str, **options: Any) -> dict[str, list[float]]:
        made = registry.create("list-feature", name, {**models.get(name, {}), **options})
        return {k: np.asarray(v).tolist() for k, v in made.columns(lists(TEXTS)).items()}

    assert columns("length")["words"][:3] == [3, 0, 3]
    assert columns("length")["length-ratio"][0] == 0
    assert columns("rank")["rank"] == list(range(len(TEXTS)))
    assert columns("lm")["lm-unknown"][4] == 2
    align = columns("align")
    assert align["align(t|s)"][0] > align["align(t|s)"][2]
    assert align["align(s|t)"][0] > align["align(s|t)"][2]
    assert int(np.argmax(columns("agreement", metric="chrf")["agreement.chrf"])) == 0


def test_specifications(models: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    path.write_text('{"id": "u", "text": "a dog", "features": {"f": 0.1}, "scores": {"x": 2}}\n')
    made = make_features(["length", "agreement:metric=chrf,scale=2"])
    ((entry,),) = with_features(path, made, source=["ein hund"], threads=2)
    assert list(entry["features"]) == [
        *("f", "words", "characters", "length-ratio", "agreement.chrf")
    ]
    assert entry["features"]["f"] == 0.1
    assert entry["scores"] == {"x": 2}
    for specifications, message in (
        (["lenght"], "did you mean 'length'"),
        (["length:unit=x"], "unknown key 'unit'"),
        (["lm"], "lm:model=FILE"),
        (["align"], "align:model=DIR"),
        (["length", "length"], "words is added twice"),
        ([], "name at least one"),
    ):
        with pytest.raises((OptionError, InputError), match=message):
            list(with_features(path, make_features(specifications), source=["x"]))
    with pytest.raises(OptionError, match="--source is missing: align needs"):
        list(with_features(path, make_features([f"align:model={models['align']['model']}"])))
    with pytest.raises(HopefearError, match="the source text has 0 lines"):
        list(with_features(path, make_features(["length"]), source=[]))
