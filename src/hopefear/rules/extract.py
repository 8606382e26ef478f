"""Rule extraction from a word-aligned bitext, for every kind of rules.

Takes tokenised source and target, their alignment (`0-0 1-2` per line), and the options of one kind
of rules (`phrase.PhraseExtractOptions`, `hiero.HieroExtractOptions`); writes a rule table and, on
request, text tables of Moses or cdec.

    extract("a.fr", "a.en", "a.align", "rules.bin", PhraseExtractOptions(limit=0))

Memory is bounded: data beyond the limit are sorted in pieces on disk. The bytes of the table depend
neither on the memory nor on the number of threads. On a cluster, the workers extract and sort the
rules of parts of the text (`runs.py`), and this process merges them.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from hopefear.base.config import Size, option
from hopefear.base.errors import OptionError
from hopefear.base.executor import Executor
from hopefear.base.files import (
    PathLike,
    atomic_path,
    check_one_stdin,
    display_name,
    open_input,
    open_output,
)
from hopefear.base.progress import Display
from hopefear.base.threads import all_cores
from hopefear.rules.runs import extract_runs

if TYPE_CHECKING:
    from hopefear import _engine

EXPORT_LEVEL = 4  # gzip compression level: twice as fast as the default, files a tenth larger


@dataclass(kw_only=True)
class SharedOptions:
    """The extraction options of all kinds of rules."""

    limit: int = option(
        20,
        min=0,
        help="translations kept per source side, the best by p(e|f): the decoder's limits and "
        "weights choose among these only; 0: all",
    )
    min_count: float = option(1.0, min=0, help="smallest number of occurrences of a rule")
    memory: Size = option(
        Size(1 << 30), help="memory for sorting; data beyond it go to scratch files"
    )
    threads: int | None = option(
        None, min=1, max=256, help="number of threads (default: all cores)"
    )
    tmp: Path | None = option(
        None, metavar="DIR", help="directory for scratch files (default: $TMPDIR or /tmp)"
    )


@dataclass(kw_only=True)
class ExtractOptions(SharedOptions, ABC):
    """The extraction options of one kind of rules: the common ones and those of a subclass."""

    system: ClassVar[str]  # the kind of rules, as recorded in the table
    blocks_per_run: ClassVar[int] = 64  # of the text, for an item of work on a cluster

    @property
    def tree_file(self) -> Path | None:
        """The file with target trees that the rules are extracted from, if any."""
        return None

    def check_inputs(self) -> None:
        """Raise an `OptionError` if a file that the rules are extracted from is not given."""

    @property
    def reordering_scores(self) -> int:
        """The number of columns with orientation scores."""
        return 0

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """Return the system and all options that change the table's content (so not memory)."""

    @abstractmethod
    def engine_arguments(self) -> dict[str, Any]:
        """Return the arguments of the engine's `RuleExtraction` that this kind of rules sets."""

    def found_here(self) -> ExtractOptions:
        """Return the options without a `tmp` that another machine has but this one lacks."""
        lacking = self.tmp is not None and not self.tmp.is_dir()
        return replace(self, tmp=None) if lacking else self

    def engine(self) -> _engine.RuleExtraction:
        """Return the engine's extractor with these options."""
        from hopefear import _engine

        return _engine.RuleExtraction(
            **{
                "hiero": None,
                "ghkm": None,
                "labels": False,
                "binarise": "none",
                "max_length": 1,
                "significance": "off",
                **self.engine_arguments(),
                "reordering": self.reordering_scores,
                "limit": self.limit,
                "min_count": self.min_count,
                "memory": int(self.memory),
                "threads": self.threads or all_cores(),
                "scratch": os.fspath(self.tmp or ""),
            }
        )

    def run_extractor(self, source: bytes, target: bytes) -> _engine.RunExtractor:
        """Return the extractor from parts of the text of an `engine()` with these `encoders`."""
        from hopefear import _engine

        arguments = {"hiero": None, "max_length": 1, **self.engine_arguments()}
        return _engine.RunExtractor(
            hiero=arguments["hiero"],
            max_length=arguments["max_length"],
            memory=int(self.memory),
            scratch=os.fspath(self.tmp or ""),
            source=source,
            target=target,
        )


@dataclass(frozen=True)
class TextExport:
    """Names of the text files to write besides the table; None: do not write this one."""

    phrase_table: PathLike | None = None  # Moses's phrase table, or rule table if hierarchical
    reordering_table: PathLike | None = None
    lex_f2e: PathLike | None = None  # probabilities of target words given source words
    lex_e2f: PathLike | None = None
    grammar: PathLike | None = None  # cdec's grammar


def extract(
    source: PathLike,
    target: PathLike,
    alignment: PathLike,
    table: PathLike,
    options: ExtractOptions,
    *,
    export: TextExport | None = None,
    display: Display | None = None,
    executor: Executor | None = None,
) -> dict[str, Any]:
    """Write the rule table `table`, and text tables on request; return a report with counts.

    `executor`: if its jobs run in other processes, these extract the rules, except for those that
    need trees.
    A pair of empty lines is a sentence pair without rules: blanking lines leaves out a part of a
    bitext without changing the numbers of the other sentences.
    """
    export = export or TextExport()
    display = display or Display()
    trees = options.tree_file
    check_one_stdin(source, target, alignment, *(() if trees is None else (trees,)))
    if export.reordering_table is not None and not options.reordering_scores:
        raise OptionError(
            "reordering_table: no orientation scores to export; set "
            "reordering=msd-bidirectional-fe (phrase pairs only)"
        )
    if options.tmp is not None and not options.tmp.is_dir():
        raise OptionError(f"tmp: {options.tmp} is not a directory; give one that exists")
    engine = options.engine()
    with ExitStack() as stack:
        # Open the outputs first: fail before the work if one cannot be written.
        path = stack.enter_context(atomic_path(table))
        phrases = _open(stack, export.phrase_table)
        reordering = _open(stack, export.reordering_table)
        grammar = _open(stack, export.grammar)
        lexicons = [(_open(stack, export.lex_f2e), True), (_open(stack, export.lex_e2f), False)]
        with ExitStack() as inputs, display.step("read", unit="sentences") as step:
            engine.read(
                inputs.enter_context(open_input(source)),
                display_name(source),
                inputs.enter_context(open_input(target)),
                display_name(target),
                inputs.enter_context(open_input(alignment)),
                display_name(alignment),
                None if trees is None else inputs.enter_context(open_input(trees)),
                "" if trees is None else display_name(trees),
                step.update,
            )
        with display.step("extract", total=engine.sentences, unit="sentences") as step:
            # Workers have no trees.
            if executor is not None and executor.remote and trees is None:
                extract_runs(engine, options, executor, step)
            else:
                engine.extract(step.update)
        with display.step("count", unit="pairs") as step:
            engine.count(step.update)
        for file, predict_target in lexicons:
            if file is not None:
                engine.write_lexicon(file, predict_target)
        with display.step("score and write", total=engine.pairs, unit="pairs") as step:
            info = json.dumps({"made_by": "hopefear extract", **options.content()})
            report = engine.write(str(path), info, phrases, reordering, grammar, step.update)
    return dict(report)


def _open(stack: ExitStack, path: PathLike | None) -> BinaryIO | None:
    return None if path is None else stack.enter_context(open_output(path, level=EXPORT_LEVEL))
