"""The phrase decoder beside Moses: the same scores for its derivations, none better than ours."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from phrase_small import phrases_of

from hopefear.base.weights import Weights
from hopefear.decode.contract import FeatureSpec, Sentence
from hopefear.decode.phrase import PhraseDecoder, PhraseOptions
from hopefear.forest import viterbi
from hopefear.lm import LanguageModel
from hopefear.rules.moses import read_table
from hopefear.rules.table import RuleTable

FEATURES = {
    "words": FeatureSpec("WordPenalty0", -1.0),
    "phrases": FeatureSpec("PhrasePenalty0"),
    "distortion": FeatureSpec("Distortion0"),
    "unknown": FeatureSpec("UnknownWordPenalty0", -100.0),
}
UNKNOWN = 100.0
CUBE_300, STACK_30 = -4201.88, -4201.83  # Moses's sums


class Entry(NamedTuple):
    sentence: int
    phrases: list[tuple[int, int, list[str]]]
    features: dict[str, float]
    score: float


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "golden/moses/decode"


@pytest.fixture(scope="module")
def weights(folder: Path) -> Weights:
    """From the last section of moses.ini: `Name= v1 v2 …`."""
    weights = Weights()
    for line in (folder / "moses.ini").read_text().splitlines():
        if match := re.fullmatch(r"(\w+)= *(.*)", line):
            values = match[2].split()
            for i, value in enumerate(values, 1):
                weights[f"{match[1]}_{i}" if len(values) > 1 else match[1]] = float(value)
    assert len(weights) == 15
    return weights


@pytest.fixture(scope="module")
def parts(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[RuleTable, dict]:
    output = tmp_path_factory.mktemp("moses") / "rules.bin"
    read_table(
        folder / "phrase-table.gz",
        folder / "reordering-table.gz",
        output=output,
        columns=[f"TranslationModel0_{i}" for i in range(1, 5)],
        reordering_columns=[f"LexicalReordering0_{i}" for i in range(1, 7)],
    )
    lm = LanguageModel.load(folder.parents[1] / "lm3.arpa.gz")
    return RuleTable.open(output), {"LM0": lm}


@pytest.fixture(scope="module")
def source(folder: Path) -> list[Sentence]:
    lines = (folder / "input.fr").read_text(encoding="utf-8").splitlines()
    return [Sentence.of(line, str(i)) for i, line in enumerate(lines)]


def decoder(parts: tuple[RuleTable, dict], **options: object) -> PhraseDecoder:
    return PhraseDecoder(
        *parts,
        features=FEATURES,
        options=PhraseOptions(**options),  # type: ignore[arg-type]
    )


def entries(path: Path) -> Iterator[Entry]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            number, text, features, score, trace = line.split("|||")
            words = text.split()
            phrases = []
            for pair in trace.split():
                spans = [[int(i) for i in side.split("-")] for side in pair.split("=")]
                (begin, end), (first, last) = [(s[0], s[-1] + 1) for s in spans]
                phrases.append((begin, end, words[first:last]))
            values: dict[str, list[float]] = {}
            for word in features.split():
                if word.endswith("="):
                    values[word[:-1]] = []
                else:
                    values[list(values)[-1]].append(float(word))
            named = {
                f"{name}_{i}" if len(each) > 1 else name: value
                for name, each in values.items()
                for i, value in enumerate(each, 1)
            }
            yield Entry(int(number), phrases, named, float(score))


@pytest.mark.parametrize("name", ["nbest10.cube300.txt.gz", "nbest10.stack30.txt.gz"])
def test_derivations_have_the_scores_of_moses(
    folder: Path, parts: tuple[RuleTable, dict], source: list[Sentence], weights: Weights, name: str
) -> None:
    replay = decoder(parts)
    count = 0
    for entry in entries(folder / name):
        vector = replay.score_derivation(source[entry.sentence], entry.phrases)
        assert weights.dot(vector) == pytest.approx(entry.score, abs=1e-3)
        for feature, value in entry.features.items():
            ours = vector.get(replay.names.intern(feature))
            assert ours == pytest.approx(value, abs=1e-3), feature
        count += 1
    assert count == 2000


@pytest.mark.parametrize(
    ("name", "options", "goal"),
    [
        ("nbest10.cube300.txt.gz", {"beam": 300, "pop_limit": 300}, CUBE_300),
        ("nbest10.stack30.txt.gz", {"beam": 30, "search": "stack"}, STACK_30),
    ],
)
def test_search_is_as_good(
    folder: Path,
    parts: tuple[RuleTable, dict],
    source: list[Sentence],
    weights: Weights,
    name: str,
    options: dict,
    goal: float,
) -> None:
    moses: dict[int, float] = {}
    for entry in entries(folder / name):
        moses.setdefault(entry.sentence, entry.score)
    ours = decoder(parts, distortion_limit=6, **options)
    total, as_good = 0.0, 0
    for i, forest in enumerate(ours.forests(source, weights, threads=2)):
        best = viterbi(forest, weights)
        assert best is not None
        assert weights.dot(best.features) == pytest.approx(best.score, abs=1e-3)
        total += best.score
        as_good += best.score >= moses[i] - 1e-3
    assert as_good >= 190  # of 200
    assert total >= goal


def test_the_replay_of_a_search_is_its_vector(
    parts: tuple[RuleTable, dict], source: list[Sentence], weights: Weights
) -> None:
    ours = decoder(parts, beam=30, pop_limit=100)
    for sentence in source[::10]:
        best = viterbi(ours.forest(sentence, weights), weights)
        assert best is not None
        vector = ours.score_derivation(sentence, phrases_of(best))
        difference = vector - best.features
        assert difference.max_norm < 1e-3


def test_forced_decoding_reaches_the_output_of_moses(
    folder: Path, parts: tuple[RuleTable, dict], source: list[Sentence], weights: Weights
) -> None:
    """All of it is reachable, by a derivation that is at least as good as Moses's own."""
    ours = decoder(parts, distortion_limit=6)
    for entry in list(entries(folder / "nbest10.stack30.txt.gz"))[::7]:
        target = [word for _, _, words in entry.phrases for word in words]
        best = viterbi(ours.forest(source[entry.sentence], weights, target), weights)
        assert best is not None
        assert best.words == target
        assert best.score >= entry.score - 1e-3
