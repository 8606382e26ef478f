"""Feature functions of moses.ini: their values by definition, and models in both ini formats."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hopefear.base.errors import InputError
from hopefear.forest import kbest, viterbi
from hopefear.model.directory import Model
from hopefear.model.importing import import_model

SENTENCE = ["a", "b", "c", "d"]
WORDS = {"a": "x", "b": "y", "c": "z", "d": "w", "a b": "x y", "c d": "w z"}
ARPA = (
    "\\data\\\nngram 1=6\nngram 2=2\n\n\\1-grams:\n-2\t<unk>\t0\n-99\t<s>\t-0.5\n-0.9\t</s>\n"
    "-0.6\tx\t-0.3\n-0.7\ty\t-0.4\n-1.2\tz\t-0.25\n\n"
    "\\2-grams:\n-0.3\t<s> x\n-0.2\tx y\n\n\\end\\\n"
)
BASE = """
[input-factors]
0
[mapping]
0 T 0
[distortion-limit]
-1
[search-algorithm]
1
[cube-pruning-pop-limit]
5000
[stack]
500
"""
FEATURES = """
[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
Distortion
PhraseDictionaryMemory name=TM num-features=2 path=table
{more}

[weight]
TM= 0.3 0.2
WordPenalty0= -0.5
PhrasePenalty0= 0.1
Distortion0= 0.25
{weights}
"""


def make(folder: Path, ini: str, columns: int = 0, by_source: bool = False) -> Path:
    """A model of six phrase pairs; `columns`: reordering scores of each."""
    folder.mkdir(parents=True)
    generator = random.Random(columns)
    table, reordering = [], []
    for source, target in WORDS.items():
        p = [generator.uniform(0.05, 1) for _ in range(2 + columns)]
        table.append(f"{source} ||| {target} ||| {p[0]:.4f} {p[1]:.4f}\n")
        key = source if by_source else f"{source} ||| {target}"
        reordering.append(f"{key} ||| {' '.join(f'{x:.4f}' for x in p[2:])}\n")
    (folder / "table").write_text("".join(table))
    if columns:
        (folder / "reordering").write_text("".join(reordering))
    (folder / "lm.arpa").write_text(ARPA)
    (folder / "moses.ini").write_text(ini)
    return folder / "moses.ini"


def imported(tmp_path: Path, more: str, weights: str, columns: int = 0, **others: bool) -> Model:
    ini = make(
        tmp_path / "theirs", BASE + FEATURES.format(more=more, weights=weights), columns, **others
    )
    import_model(ini, tmp_path / "ours")
    return Model.load(tmp_path / "ours")


def named(model_weights: Any, features: Any) -> dict[str, float]:
    """Features by name."""
    pairs = zip(features.ids.tolist(), features.values.tolist(), strict=True)
    return {model_weights.names.name(id): value for id, value in pairs}


def derivations(words: list[str]) -> Iterator[list[tuple[int, int, str]]]:
    """All segmentations into phrases of the table, in all orders."""
    for cuts in itertools.product([False, True], repeat=len(words) - 1):
        bounds = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), len(words)]
        spans = list(itertools.pairwise(bounds))
        texts = [" ".join(words[i:j]) for i, j in spans]
        known = [text in WORDS or len(text.split()) == 1 for text in texts]
        if all(known):
            uses = [(i, j, WORDS.get(t, t)) for (i, j), t in zip(spans, texts, strict=True)]
            yield from map(list, itertools.permutations(uses))


def orientation(kind: str, last: tuple[int, int] | None, span: tuple[int, int]) -> int:
    """Moses's GetOrientation for phrases."""
    begin, end = span[0], span[1] - 1
    if last is None:
        first = 0 if begin == 0 else {"msd": 2, "mslr": 2, "monotonicity": 1}.get(kind, 0)
        return 0 if kind == "leftright" else first
    last_begin, last_end = last[0], last[1] - 1
    if kind == "leftright":
        return 0 if last_end <= begin else 1
    if begin == last_end + 1:
        return 0
    if kind == "monotonicity":
        return 1
    if last_begin == end + 1:
        return 1
    if kind == "msd":
        return 2
    return 2 if begin > last_end else 3


def reordering_values(
    model: Model, kind: str, directions: str, collapse: bool, phrases: list[tuple[int, int, str]]
) -> list[float]:
    size = {"msd": 3, "mslr": 4}.get(kind, 2)
    backward, forward = directions != "forward", directions != "backward"
    values = [0.0] * ((backward + forward) * size)
    last: tuple[int, int] | None = None
    last_scores: tuple[float, ...] = ()
    for begin, end, target in phrases:
        rules = model.rules.lookup(SENTENCE[begin:end])
        scores = next((rule.scores[2:] for rule in rules if " ".join(rule.target) == target), ())
        o = orientation(kind, last, (begin, end))
        if backward and scores:
            values[o] += scores[o]
        if forward and last is not None and last_scores:
            offset = size * backward + o
            values[offset] += last_scores[offset]
        last, last_scores = (begin, end), scores
    if collapse:
        return [sum(values[i : i + size]) for i in range(0, len(values), size)]
    return values


@pytest.mark.parametrize("kind", ["msd", "mslr", "monotonicity", "leftright"])
@pytest.mark.parametrize("directions", ["bidirectional", "backward", "forward"])
@pytest.mark.parametrize("collapse", [False, True])
def test_reordering(tmp_path: Path, kind: str, directions: str, collapse: bool) -> None:
    columns = {"msd": 3, "mslr": 4}.get(kind, 2) * (2 if directions == "bidirectional" else 1)
    size = (2 if directions == "bidirectional" else 1) if collapse else columns
    by_source = directions == "backward"
    name = f"wbe-{kind}-{directions}-{'f' if by_source else 'fe'}-"
    more = f"LexicalReordering name=LR type={name}{'collapseff' if collapse else 'allff'} "
    more += f"path=reordering num-features={size}"
    weights = "LR= " + " ".join(str(0.1 + 0.07 * i) for i in range(size))
    model = imported(tmp_path, more, weights, columns, by_source=by_source)
    decoder, trained = model.decoder(table_limit=0), model.weights()
    labels = ["LR"] if size == 1 else [f"LR_{i + 1}" for i in range(size)]
    assert [name for name in decoder.dense if name.startswith("LR")] == labels
    best = -math.inf
    for phrases in derivations(SENTENCE):
        features = decoder.score_derivation(SENTENCE, phrases)
        values = named(trained, features)
        found = [values.get(label, 0.0) for label in labels]
        expected = reordering_values(model, kind, directions, collapse, phrases)
        assert found == pytest.approx(expected, abs=1e-5)
        best = max(best, trained.dot(features))
    result = viterbi(decoder.forest(SENTENCE, trained), trained)
    assert result.score == pytest.approx(best, abs=1e-4)


def early_distortion(phrases: list[tuple[int, int, str]]) -> float:
    """CalculateDistortionScore of Moses with early-distortion-cost, case by case."""
    covered: set[int] = set()
    total, last_end = 0.0, -1
    for begin, end, _ in phrases:
        prefix_end = next(i for i in itertools.count() if i not in covered) - 1
        words = end - begin
        if begin == prefix_end + 1:
            pass
        elif end - 1 < last_end:
            total -= 2 * words
        elif last_end <= prefix_end:
            total -= 2 * (begin - prefix_end - 1 + words)
        else:
            total -= 2 * (begin - last_end - 1 + words)
        covered.update(range(begin, end))
        last_end = end - 1
    return total


def test_early_distortion(tmp_path: Path) -> None:
    ini = make(
        tmp_path / "theirs",
        BASE + "[early-distortion-cost]\ntrue\n" + FEATURES.format(more="", weights=""),
    )
    import_model(ini, tmp_path / "ours")
    model = Model.load(tmp_path / "ours")
    decoder, weights = model.decoder(), model.weights()
    best = -math.inf
    for phrases in derivations(SENTENCE):
        features = decoder.score_derivation(SENTENCE, phrases)
        value = named(weights, features).get("Distortion0", 0.0)
        assert value == pytest.approx(early_distortion(phrases))
        best = max(best, weights.dot(features))
    for search in ("cube", "stack"):
        decoder = model.decoder(search=search)
        result = viterbi(decoder.forest(SENTENCE, weights), weights)
        assert result.score == pytest.approx(best, abs=1e-4)


def test_a_feature_for_unknown_words(tmp_path: Path) -> None:
    """oov-feature=1: a second score of a language model."""
    more = "KENLM name=LM0 path=lm.arpa order=2 oov-feature=1 num-features=2"
    model = imported(tmp_path, more, "LM0= 0.5 -0.75")
    weights = model.weights()
    assert (weights["LM0_1"], weights["LM0_2"]) == (0.5, -0.75)
    assert list(model.lms) == ["LM0_1"]
    decoder = model.decoder(table_limit=1)
    assert [name for name in decoder.dense if name.startswith("LM0")] == ["LM0_1", "LM0_2"]
    words = ["a", "d", "q"]  # w and q are unknown to the language model
    found = viterbi(decoder.forest(words, weights), weights)
    values = named(weights, found.features)
    assert found.words == ["x", "w", "q"]
    assert values["LM0_2"] == 2
    assert values["LM0_1"] == pytest.approx(math.log(10) * model.lm.score("x w q"), abs=1e-4)
    replayed = decoder.score_derivation(words, [(0, 1, "x"), (1, 2, "w"), (2, 3, "q")])
    assert weights.dot(replayed) == pytest.approx(found.score, abs=1e-4)
    # Ranking under a table limit counts them, too: y against the unknown v.
    (tmp_path / "theirs" / "table").write_text("b ||| v ||| 0.9 0.9\nb ||| y ||| 0.8 0.8\n")
    import_model(tmp_path / "theirs" / "moses.ini", tmp_path / "ours")
    model = Model.load(tmp_path / "ours")
    for weight, best in ((-3.0, ["y"]), (3.0, ["v"])):
        weights["LM0_2"] = weight
        decoder = model.decoder(table_limit=1)
        assert viterbi(decoder.forest(["b"], weights), weights).words == best


OLD = """
[ttable-file]
0 0 0 2 table
[ttable-limit]
20
[lmodel-file]
8 0 2 lm.arpa
[distortion-file]
0-0 wbe-msd-bidirectional-fe-allff 6 reordering
[weight-t]
0.3
0.2
[weight-l]
0.5
[weight-d]
0.25
0.1
0.2
0.3
0.4
0.5
0.6
[weight-w]
-0.5
"""
NEW = """
[feature]
UnknownWordPenalty
WordPenalty
PhraseDictionaryMemory num-features=2 path=table table-limit=20
LexicalReordering type=wbe-msd-bidirectional-fe-allff num-features=6 path=reordering
Distortion
KENLM factor=0 path=lm.arpa order=2

[weight]
PhraseDictionaryMemory0= 0.3 0.2
LexicalReordering0= 0.1 0.2 0.3 0.4 0.5 0.6
Distortion0= 0.25
WordPenalty0= -0.5
KENLM0= 0.5
"""


def test_the_format_before_2013(tmp_path: Path) -> None:
    """Both formats of a model give the same weights, translations and scores."""
    models = []
    for name, text in (("old", OLD), ("new", NEW)):
        import_model(make(tmp_path / name, BASE + text, 6), tmp_path / f"{name}-model")
        models.append(Model.load(tmp_path / f"{name}-model"))
    old, new = models
    assert dict(old.weights().items()) == dict(new.weights().items())
    old_decoder, new_decoder = dict(old.settings["decoder"]), dict(new.settings["decoder"])
    assert old_decoder == new_decoder
    for words in (SENTENCE, ["d", "a", "b", "q"], ["c", "c", "d", "b"]):
        lists = []
        for model in models:
            forest = model.decoder().forest(words, model.weights())
            lists.append([(d.words, d.score) for d in kbest(forest, model.weights(), 50)])
        assert lists[0] == lists[1]


def test_unknown_words_in_the_format_before_2013(tmp_path: Path) -> None:
    text = OLD.replace("[weight-l]\n0.5\n", "[lmodel-oov-feature]\n1\n[weight-l]\n0.5\n-0.25\n")
    import_model(make(tmp_path / "old", BASE + text, 6), tmp_path / "model")
    weights = Model.load(tmp_path / "model").weights()
    assert (weights["KENLM0_1"], weights["KENLM0_2"]) == (0.5, -0.25)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.6\n[weight-w]", "[weight-w]", "6 weights needed, but only 5 left in [weight-d]"),
        ("[weight-w]", "0.7\n[weight-w]", "'0.7' of [weight-d] belongs to no score"),
        ("0 0 0 2 table", "0 0 2 table", "expected TYPE INPUT OUTPUT SCORES FILE"),
        ("0 0 0 2 table", "6 0 0 2 table", "unsupported type 6 of phrase table"),
        ("0 0 0 2 table", "12 0 0 2 table", "binary table"),
        ("8 0 2 lm.arpa", "7 0 2 lm.arpa", "unsupported type 7 of language model"),
        ("0-0 wbe", "0 wbe", "expected SOURCE-TARGET"),
        ("[weight-w]", "[weight]\nx= 1\n[weight-w]", "keep one format"),
        ("[weight-w]\n-0.5", "[weight-w]\nnan", "weight 'nan', expected a finite number"),
        ("0.3\n0.2\n[weight-l]", "0.3\ninf\n[weight-l]", "weight 'inf', expected a finite number"),
        ("[weight-w]", "[weight-dlm]\n1\n[weight-w]", "unsupported section [weight-dlm]"),
    ],
)
def test_faults_of_the_format_before_2013(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in OLD
    ini = make(tmp_path / "old", BASE + OLD.replace(old, new, 1), 6)
    with pytest.raises(InputError) as caught:
        import_model(ini, tmp_path / "model")
    assert message in str(caught.value)
    assert "moses.ini:" in str(caught.value)
    assert not (tmp_path / "model").exists()
