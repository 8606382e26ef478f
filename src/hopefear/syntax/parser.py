"""A parser that learns from trees: latent annotations by splitting and merging.  [petrov2006]

Takes files of trees in brackets and writes a directory with a grammar; a `Parser` reads it and
returns the trees of tokenised sentences.

    train(["wsj.mrg"], "parser", ParserOptions())
    Parser.load("parser").parse("the dog barked .".split())

Trees are normalised (function tags and traces removed) and binarised. Each cycle splits the labels
in two, learns the halves by EM, undoes the splits that gain least, and smooths the rules of the
parts of a label towards their mean. Parsing is coarse to fine and returns the tree with the largest
product of posterior rule probabilities. [petrov2007]

Differs: words are scored by p(tag | word) / p(tag), where the counts of a word are mixed with those
of its signature (capitals, digits, suffix), and only in parsing; training is plain EM.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hopefear.base.config import option
from hopefear.base.errors import InputError
from hopefear.base.files import (
    PathLike,
    atomic_path,
    check_writable,
    display_name,
    open_input,
    open_output,
)
from hopefear.base.progress import Display
from hopefear.base.threads import all_cores

if TYPE_CHECKING:
    from hopefear import _engine

GRAMMAR_FILE = "parser.bin"


@dataclass(kw_only=True)
class ParserOptions:
    """The options of training a parser."""

    cycles: int = option(4, min=0, max=6, help="number of times that labels are split")
    split_iterations: int = option(
        25, min=1, max=1000, help="iterations of EM after labels are split"
    )
    merge_iterations: int = option(10, min=0, max=1000, help="iterations of EM after merging")
    smooth_iterations: int = option(6, min=0, max=1000, help="iterations of EM with smoothing")
    merge: float = option(0.5, min=0, max=1, help="share of the splits that are undone")
    rule_smoothing: float = option(
        0.01, min=0, max=1, help="weight of the mean over the parts of a label, for rules"
    )
    word_smoothing: float = option(
        0.1, min=0, max=1, help="weight of the mean over the parts of a tag, for words"
    )
    binarise: Literal["left", "right", "head"] = option(
        "right",
        help="binarisation: the first (left) or last children (right) of a node, or around its "
        "head, get a node of their own",
    )
    lowercase: bool = option(False, help="lowercase the words, for parsing lowercased text")
    rare: int = option(
        10, min=0, help="largest count of words that signatures of unknown words learn from"
    )
    prior: float = option(
        5.0, min=0.001, help="weight of a word's signature, in occurrences of the word"
    )
    seed: int = option(1, min=0, help="random seed of the noise that makes split labels differ")
    threads: int | None = option(
        None,
        min=1,
        max=256,
        help="number of threads (default: all cores); does not change the result",
    )


def train(
    trees: Sequence[PathLike],
    directory: PathLike,
    options: ParserOptions | None = None,
    *,
    display: Display | None = None,
) -> dict[str, Any]:
    """Learn a grammar from files of trees and write it to a directory; return sizes.

    `log_likelihood` of the report is that of the trees before the last iteration of EM.
    """
    from hopefear import _engine

    options = options or ParserOptions()
    display = display or Display()
    folder = Path(directory)
    check_writable(folder, directory=True)
    training = _engine.ParserTraining(
        merge_share=options.merge,
        rule_smoothing=options.rule_smoothing,
        word_smoothing=options.word_smoothing,
        seed=options.seed,
        threads=options.threads or all_cores(),
        binarise=options.binarise,
        lowercase=options.lowercase,
        rare=options.rare,
        prior=options.prior,
    )
    with display.step("read", unit="trees") as step:
        read = 0
        for path in trees:
            with open_input(path) as file:
                read += training.read(file, display_name(path), step.update)
    if not read:
        names = ", ".join(map(display_name, trees))
        raise InputError(f"{names}: no trees to learn from; give files with a tree per line")
    training.begin()
    per_cycle = options.split_iterations + options.merge_iterations + options.smooth_iterations
    likelihood = None
    with display.step("learn", total=max(1, options.cycles * per_cycle), unit="iterations") as step:
        done = 0

        def iterate(count: int, *, smoothed: bool = False) -> None:
            nonlocal likelihood, done
            for _ in range(count):
                likelihood = training.iterate()
                if smoothed:
                    training.smooth()
                done += 1
                step.update(done)

        for _ in range(options.cycles):
            training.split()
            iterate(options.split_iterations)
            training.merge()
            iterate(options.merge_iterations)
            training.smooth()
            iterate(options.smooth_iterations, smoothed=True)
    folder.mkdir(exist_ok=True)
    content = {k: v for k, v in asdict(options).items() if k != "threads"}
    with atomic_path(folder / GRAMMAR_FILE) as path:
        training.save(os.fspath(path), json.dumps({"made_by": "hopefear parse train", **content}))
    return {**training.sizes(), "log_likelihood": likelihood}


@dataclass(kw_only=True)
class ParseOptions:
    """The options of parsing."""

    threshold: float = option(
        2e-3,
        min=0,
        max=1,
        help="posterior probability in the coarse pass below which a label over a span is left out",
    )
    beam: float = option(
        1e-4,
        min=0,
        max=1,
        help="share of a span's best score in the coarse pass below which a label is left out",
    )
    max_words: int = option(
        200, min=1, max=1000, help="length of the longest sentence to parse, in words"
    )


class Parser:
    """A parser. Threads may share an object."""

    def __init__(self, engine: _engine.TreeParser) -> None:
        self.engine = engine

    @classmethod
    def load(cls, directory: PathLike, options: ParseOptions | None = None) -> Parser:
        """Read the grammar of a directory that `train` wrote."""
        from hopefear import _engine

        options = options or ParseOptions()
        path = Path(directory) / GRAMMAR_FILE
        if not path.is_file():
            raise InputError(
                f"{directory}: no parser: {GRAMMAR_FILE} is missing; give the output of 'hopefear "
                "parse train'"
            )
        return cls(
            _engine.TreeParser.open(
                os.fspath(path), options.threshold, options.beam, options.max_words
            )
        )

    def parse(self, words: Sequence[str]) -> str:
        """Return the tree of a sentence in brackets; `()` for an empty or too long one.

        If the grammar has no tree, all tags are below one FRAG.
        """
        if isinstance(words, str):
            raise TypeError("a sentence is a sequence of words; use text.split()")
        return self.engine.parse(list(words))

    def parse_file(
        self,
        text: PathLike,
        trees: PathLike,
        *,
        threads: int | None = None,
        display: Display | None = None,
    ) -> dict[str, int]:
        """Parse a tokenised text, a sentence per line; return counts of sentences by outcome."""
        display = display or Display()
        with (
            open_output(trees) as output,
            open_input(text) as file,
            display.step("parse", unit="sentences") as step,
        ):
            return dict(
                self.engine.parse_text(
                    file, display_name(text), output, threads or all_cores(), step.update
                )
            )
