"""The parser: training, parsing, files."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest

from hopefear import _engine
from hopefear.base.errors import InputError
from hopefear.syntax.parser import GRAMMAR_FILE, ParseOptions, Parser, ParserOptions, train
from hopefear.syntax.score import score_trees
from hopefear.syntax.tree import read_tree, read_trees
from hopefear.text.world import generate

pytestmark = pytest.mark.engine
SMALL = (
    "(TOP (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat)))))",
    "(TOP (S (NP (PRP she)) (VP (VBD saw) (NP (PRP her)))))",
    "(TOP (S (NP (DT the) (JJ old) (NN dog)) (VP (VBD slept))))",
    "(TOP (NP (NN rain)))",
    "(S (NP (NNP Mary)) (VP (VBD slept)))",
)


def training(trees: tuple[str, ...] = SMALL, **options: Any) -> Any:
    import io

    defaults = {
        "merge_share": 0.5,
        "rule_smoothing": 0.01,
        "word_smoothing": 0.1,
        "seed": 1,
        "threads": 2,
        "binarise": "right",
        "lowercase": False,
        "rare": 5,
        "prior": 1.0,
    }
    made = _engine.ParserTraining(**{**defaults, **options})
    made.read(io.BytesIO("".join(f"{tree}\n" for tree in trees).encode()), "trees", None)
    made.begin()
    return made


def test_likelihoods_equal_enumeration() -> None:
    made = training()
    for _ in range(2):
        made.split()
        for _ in range(2):
            made.iterate()
        found = made.likelihoods()
        # Four substates at seven nodes are 16,384 assignments: the short trees only.
        for tree in (1, 3, 4):
            assert found[tree] == pytest.approx(made.enumerated(tree), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_em_never_lowers_the_likelihood(seed: int) -> None:
    made = training(seed=seed)
    for _ in range(2):
        made.split()
        expected = sum(made.likelihoods())
        values = [made.iterate() for _ in range(12)]
        assert values[0] == pytest.approx(expected)
        assert all(b >= a - 1e-9 for a, b in itertools.pairwise(values))
        made.merge()


def test_merging_undoes_half_of_the_splits() -> None:
    made = training()
    before = made.sizes()["substates"]
    made.split()
    for _ in range(5):
        made.iterate()
    split = made.sizes()["substates"]
    merged = made.merge()
    assert split == 2 * before - 1  # the root is not split
    assert merged == (split - before) // 2
    assert made.sizes()["substates"] == split - merged
    assert all(math.isfinite(value) for value in made.likelihoods())


def test_threads_do_not_change_the_grammar(tmp_path: Path) -> None:
    world = generate(train=200, dev=0, test=0, seed=3, trees=True)
    path = tmp_path / "trees"
    path.write_text("".join(f"{s.trees[0]}\n" for s in world.train))
    for threads in (1, 3):
        options = ParserOptions(cycles=1, split_iterations=3, threads=threads)
        train([path], tmp_path / str(threads), options)
    grammars = [(tmp_path / str(threads) / GRAMMAR_FILE).read_bytes() for threads in (1, 3)]
    assert grammars[0] == grammars[1]


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Parser:
    folder = tmp_path_factory.mktemp("parser")
    world = generate(train=600, dev=0, test=0, seed=1, trees=True)
    (folder / "trees").write_text("".join(f"{s.trees[0]}\n" for s in world.train))
    options = ParserOptions(cycles=2, split_iterations=8, merge_iterations=3, smooth_iterations=2)
    report = train([folder / "trees"], folder / "parser", options)
    assert report["trees"] == 600
    return Parser.load(folder / "parser")


def test_it_parses_the_world(parser: Parser) -> None:
    world = generate(train=0, dev=60, test=0, seed=2, trees=True)
    gold = [read_tree(s.trees[0]) for s in world.dev]
    found = [read_tree(parser.parse(s.references[0].split())) for s in world.dev]
    score = score_trees(found, gold)
    assert score.missing == 0
    assert score.f1 > 0.9
    assert score.tags > 0.9


def test_any_words(parser: Parser) -> None:
    assert parser.parse([]) == "()"
    assert parser.parse(["a"] * 201) == "()"
    for words in (["xyzzy"], ["("], [")", "é", "A-1"], ["."] * 30, ["the"] * 40):
        tree = read_tree(parser.parse(words))
        assert tree is not None
        plain = [word.replace("-LRB-", "(").replace("-RRB-", ")") for word in tree.words]
        assert plain == words
        assert tree.labels[0] == "TOP"
        assert not any(label.startswith("@") for label in tree.labels)


def test_pruning_keeps_most_of_the_likelihood(parser: Parser, tmp_path: Path) -> None:
    words = ["the", "dog", "saw", "a", "friend", "."]
    assert parser.engine.likelihood(words) < 100
    assert math.isfinite(parser.engine.likelihood(words))


def test_files(parser: Parser, tmp_path: Path) -> None:
    lines = ["he slept .", "", "the president said that he left ."] * 200
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in lines))
    reports = []
    for threads in (1, 3):
        path = tmp_path / f"{threads}.trees"
        reports.append(parser.parse_file(tmp_path / "text", path, threads=threads))
    assert reports[0] == reports[1]
    assert reports[0]["sentences"] == 600
    assert reports[0]["none"] == 200
    assert (tmp_path / "1.trees").read_bytes() == (tmp_path / "3.trees").read_bytes()
    trees = list(read_trees(tmp_path / "1.trees"))
    assert [" ".join(tree.words) if tree else "" for tree in trees] == lines


def test_bad_input(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("()\n")
    with pytest.raises(InputError, match="no trees to learn from"):
        train([tmp_path / "empty"], tmp_path / "p")
    (tmp_path / "bad").write_text("(S (NP\n")
    with pytest.raises(InputError, match=r"bad:1: the tree ends early|bad:1: label"):
        train([tmp_path / "bad"], tmp_path / "p")
    with pytest.raises(InputError, match=r"parser\.bin is missing"):
        Parser.load(tmp_path)


def test_a_damaged_grammar(parser: Parser, tmp_path: Path) -> None:
    training().save(str(tmp_path / GRAMMAR_FILE), "{}")
    data = bytearray((tmp_path / GRAMMAR_FILE).read_bytes())
    assert Parser.load(tmp_path, ParseOptions()).parse(["rain"])
    data[len(data) // 2] ^= 0x55
    (tmp_path / GRAMMAR_FILE).write_bytes(data)
    with pytest.raises(InputError):
        Parser.load(tmp_path)
