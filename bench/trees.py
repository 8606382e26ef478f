"""Trees: extraction of string-to-tree rules, training of the parser, parsing.

Budgets, in CPU seconds on a machine where `sum(i*i for i in range(10**7))` takes 1.05 s: composed
rules (size 3, depth 3, 15 nodes) of 29,000 pairs of Multi30k with silver trees at least five times
as fast as Moses's extract-ghkm with sorting and scoring (17.1 s for 5,000 pairs); training a parser
on sections 1 to 180 of the treebank sample in 300 s on two cores; and F1
of at least 84 on the other sections. Parsed sentences per second, at least 50, are those of two
cores of this machine.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

from support.figures import Columns, Figure, main
from support.machine import best, first_lines, shared, slowness

from hopefear.rules.extract import extract
from hopefear.rules.ghkm import GhkmExtractOptions
from hopefear.syntax.parser import Parser, ParserOptions, train
from hopefear.syntax.score import score_trees
from hopefear.syntax.tree import Tree, normalised, read_tree

MOSES = (6.1 + 11) / 5000  # CPU seconds per pair
CORES = 2
SECTIONS = 180  # of the treebank sample for training


def sections(folder: Path) -> tuple[Path, list[Tree]]:
    """The training sections in a file, and the trees of the others."""
    sample = shared("data/treebank-sample")
    with gzip.open(sample / "trees.ids.gz", "rt") as file:
        numbers = [int(line.rpartition("_")[2]) for line in file]
    with gzip.open(sample / "trees.mrg.gz", "rt") as file:
        lines = file.readlines()
    path = folder / "train.mrg"
    kept = zip(numbers, lines, strict=True)
    path.write_text("".join(line for number, line in kept if number <= SECTIONS))
    rest = [line for number, line in zip(numbers, lines, strict=True) if number > SECTIONS]
    trees = [tree and normalised(tree) for tree in map(read_tree, rest)]
    return path, [tree for tree in trees if tree is not None]


def extraction(pairs: int, folder: Path, threads: int = 1) -> float:
    """CPU seconds of extraction, counting and scoring."""
    texts = shared("golden/aligned/fr-en")
    trees = shared("data/trees/silver") / "multi30k.train.en.penn.gz"
    named = {"f": "train.fr", "e": "train.en", "a": "train.gdfa"}
    files = {}
    for name, file in named.items():
        found = sorted(texts.glob(f"{file}*"))
        files[name] = first_lines(found[0], pairs, folder / name)
    options = GhkmExtractOptions(trees=first_lines(trees, pairs, folder / "trees"), threads=threads)
    return best(
        1, lambda: extract(files["f"], files["e"], files["a"], folder / "rules.bin", options)
    )


def parsing(options: ParserOptions, count: int | None) -> tuple[float, float, float, float]:
    """CPU seconds of training, sentences per CPU second, F1, accuracy of tags."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, gold = sections(folder)
        gold = gold[:count]
        seconds = best(1, lambda: train([path], folder / "parser", options))
        parser = Parser.load(folder / "parser")
        found: list[str] = []
        each = best(1, lambda: found.extend(parser.parse(tree.words) for tree in gold))
        score = score_trees(map(read_tree, found), gold)
    return seconds, len(gold) / each, 100 * score.f1, 100 * score.tags


def run(quick: bool) -> list[Figure]:
    speed = slowness()
    pairs = 5000 if quick else 29000
    with tempfile.TemporaryDirectory() as name:
        seconds = extraction(pairs, Path(name)) / speed
    figures = [
        Figure(f"tree rules of {pairs:,} pairs", seconds, "s", most=pairs * MOSES / 5),
    ]
    cycles = 2 if quick else 4
    trained, rate, f1, _tags = parsing(ParserOptions(cycles=cycles), None)
    figures += [
        Figure(f"training a parser, {cycles} cycles", trained / speed / CORES, "s", most=300),
        Figure("sentences parsed per second, unscaled", rate * CORES, "/s", least=50),
        Figure("F1 of the parser", f1, "", least=75 if quick else 84),
    ]
    return figures


def full(*, pairs: int = 29000, seeds: tuple[int, ...] = (1, 2, 3)) -> None:
    speed = slowness()
    with tempfile.TemporaryDirectory() as name:
        seconds = extraction(pairs, Path(name)) / speed
    print(f"tree rules of {pairs:,} pairs: {seconds:.1f} s; Moses {pairs * MOSES:.1f} s")
    print("training in CPU seconds there; sentences per CPU second here")
    table = Columns(28, "train s", "sent/s", "F1", "tags")
    for cycles in (2, 3, 4):
        for seed in seeds if cycles == 4 else seeds[:1]:
            trained, rate, f1, tags = parsing(ParserOptions(cycles=cycles, seed=seed), None)
            row = (trained / speed, rate, f1, tags)
            table.row(f"{cycles} cycles, seed {seed}", *row)


if __name__ == "__main__":
    main(__doc__, run, full)
