"""Rules from a word-aligned bitext: the driver that all kinds of rules share.

Takes source, target and alignment (`0-0 1-2` per line), as words between blanks, and the options of
one kind of rules (`phrase.PhraseExtractOptions`, `hiero.HieroExtractOptions`); writes a rule table
and, on request, text tables of Moses or cdec.

    extract("a.fr", "a.en", "a.align", "rules.bin", PhraseExtractOptions(limit=0))

Memory is bounded: what does not fit is sorted in pieces on disk. The table's bytes depend neither
on the memory nor on the number of threads.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from hopefear.base.config import Size, option
from hopefear.base.errors import OptionError
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

if TYPE_CHECKING:
    from hopefear import _engine

EXPORT_LEVEL = 4  # of gzip: twice as fast as its default for a file a tenth larger


@dataclass(kw_only=True)
class SharedOptions:
    """What is chosen about the extraction of rules of any kind."""

    limit: int = option(20, min=0, help="translations of a source side in the table; 0: all")
    min_count: float = option(1.0, min=0, help="least number of occurrences of a pair")
    memory: Size = option(
        Size(1 << 30), help="memory to use; what does not fit goes to scratch files"
    )
    threads: int | None = option(None, min=1, help="threads to use; all cores if not given")
    tmp: Path | None = option(
        None, metavar="DIR", help="directory for scratch files; $TMPDIR or /tmp if not given"
    )


@dataclass(kw_only=True)
class ExtractOptions(SharedOptions, ABC):
    """How one kind of rules is extracted; the fields that it adds are its own options."""

    system: ClassVar[str]  # as the table says what its rules are

    @property
    def reordering_scores(self) -> int:
        """The number of columns with orientation scores."""
        return 0

    @abstractmethod
    def content(self) -> dict[str, Any]:
        """What the table's content depends on, the system among it; not memory and threads."""

    @abstractmethod
    def engine_arguments(self) -> dict[str, Any]:
        """The arguments of the engine's `RuleExtraction` that this kind of rules chooses."""

    def engine(self) -> _engine.RuleExtraction:
        from hopefear import _engine

        return _engine.RuleExtraction(
            **{
                "hiero": None,
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


@dataclass(frozen=True)
class TextExport:
    """Names of the text files to write besides the table; None: not written."""

    phrase_table: PathLike | None = None  # of Moses; a rule table of hierarchical rules
    reordering_table: PathLike | None = None
    lex_f2e: PathLike | None = None  # target words predicted from source words
    lex_e2f: PathLike | None = None
    grammar: PathLike | None = None  # of cdec


def extract(
    source: PathLike,
    target: PathLike,
    alignment: PathLike,
    table: PathLike,
    options: ExtractOptions,
    *,
    export: TextExport | None = None,
    display: Display | None = None,
) -> dict[str, Any]:
    """Write the rule table `table`; returns what was counted.

    A pair of empty lines is a sentence pair without rules, so that a part of a bitext can be left
    out without changing the numbers of the other sentences.
    """
    export = export or TextExport()
    display = display or Display()
    check_one_stdin(source, target, alignment)
    if export.reordering_table is not None and not options.reordering_scores:
        raise OptionError(
            "reordering=none and hierarchical rules have no reordering table to export; choose one"
        )
    if options.tmp is not None and not options.tmp.is_dir():
        raise OptionError(f"tmp: {options.tmp} is no directory; give one that exists")
    engine = options.engine()
    with ExitStack() as stack:
        # Opened first: what cannot be written is said before the work and not after it.
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
                step.update,
            )
        with display.step("extract", total=engine.sentences, unit="sentences") as step:
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
