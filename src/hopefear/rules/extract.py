"""Rules from a word-aligned bitext: all that are consistent with the alignment, scored.

Goes in: source, target and alignment (`0-0 1-2` per line), as words between blanks.
Comes out: a rule table, and on request text tables of Moses or cdec.

`system="phrase"`: phrase pairs. Every score is the one that Moses's extract, score and
lexical-reordering-score compute: p(f|e), p(e|f) and the lexical weights [koehn2003], word-based
orientations [koehn2005]; filtering by count or significance [johnson2007].

`system="hiero"`: hierarchical rules [chiang2007] (see `hiero`), with p and lex likewise from
fractional counts, ln(1 + occurrences) of the source side and of the rule, and whether each was seen
once; occurrences within one sentence are one here, whatever fills the nonterminals (but those
whose words are linked differently are several).

Memory is bounded: what does not fit is sorted in pieces on disk. The table's bytes depend neither
on the memory nor on the number of threads.
"""

from __future__ import annotations

import contextlib
import json
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from hopefear.base.config import Size, changed, fields_of, option, part_of
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
from hopefear.rules.hiero import HieroOptions

Reordering = Literal["msd-bidirectional-fe", "msd-backward-fe", "none"]
REORDERING_SCORES: dict[Reordering, int] = {
    "msd-bidirectional-fe": 6,
    "msd-backward-fe": 3,
    "none": 0,
}
EXPORT_LEVEL = 4  # of gzip: twice as fast as its default for a file a tenth larger


class Significance(str):
    """`off`, `alpha+epsilon`, `alpha-epsilon`, or the least -ln p as a number."""

    @classmethod
    def parse(cls, text: str) -> Significance:
        if text not in ("off", "alpha+epsilon", "alpha-epsilon"):
            value = -1.0
            with contextlib.suppress(ValueError):
                value = float(text)
            if not 0 <= value < float("inf"):
                raise ValueError("off, alpha+epsilon, alpha-epsilon or a number, the least -ln p")
        return cls(text)


System = Literal["phrase", "hiero"]
PHRASE_ONLY = ("max_length", "reordering", "significance")


@dataclass(kw_only=True)
class ExtractOptions(HieroOptions):
    """How rules are extracted and which are kept."""

    system: System = option("phrase", help="kind of rules: phrase pairs or hierarchical rules")
    max_length: int = option(7, min=1, max=100, help="phrase: words of a phrase, on either side")
    reordering: Reordering = option(
        "msd-bidirectional-fe", help="phrase: orientation scores: six, three or none"
    )
    limit: int = option(20, min=0, help="translations of a source side in the table; 0: all")
    min_count: float = option(1.0, min=0, help="least number of occurrences of a pair")
    significance: Significance = option(
        Significance("off"),
        metavar="TEST",
        help="phrase: least -ln p of Fisher's exact test: a number, or alpha+epsilon (drops pairs "
        "that were seen once, of words seen once), alpha-epsilon (keeps those), off",
    )
    memory: Size = option(
        Size(1 << 30), help="memory to use; what does not fit goes to scratch files"
    )
    threads: int | None = option(None, min=1, help="threads to use; all cores if not given")
    tmp: Path | None = option(
        None, metavar="DIR", help="directory for scratch files; $TMPDIR or /tmp if not given"
    )

    def __post_init__(self) -> None:
        # An option of the other system would change nothing: say so instead.
        other = "phrase" if self.system == "hiero" else "hiero"
        hiero = [field.name for field in fields_of(HieroOptions)]
        field = changed(self, hiero if other == "hiero" else PHRASE_ONLY)
        if field is not None:
            raise OptionError(
                f"{field.flag} is an option of {other} rules; leave it out or give --system {other}"
            )

    def content(self) -> dict[str, Any]:
        """What a table's content depends on: not the memory, not options of the other system."""
        left_out = {"memory", "threads", "tmp"} | (
            set(PHRASE_ONLY)
            if self.system == "hiero"
            else {field.name for field in fields_of(HieroOptions)}
        )
        return part_of(ExtractOptions, self, without=left_out)


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
    options: ExtractOptions | None = None,
    *,
    export: TextExport | None = None,
    display: Display | None = None,
) -> dict[str, Any]:
    """Write the rule table `table`; returns what was counted.

    A pair of empty lines is a sentence pair without rules, so that a part of a bitext can be left
    out without changing the numbers of the other sentences.
    """
    from hopefear import _engine

    options = options or ExtractOptions()
    export = export or TextExport()
    display = display or Display()
    check_one_stdin(source, target, alignment)
    scores = REORDERING_SCORES[options.reordering] if options.system == "phrase" else 0
    if export.reordering_table is not None and not scores:
        raise OptionError(
            "reordering=none and hierarchical rules have no reordering table to export; choose one"
        )
    if options.tmp is not None and not options.tmp.is_dir():
        raise OptionError(f"tmp: {options.tmp} is no directory; give one that exists")
    engine = _engine.RuleExtraction(
        hiero=options.to_engine() if options.system == "hiero" else None,
        max_length=options.max_length,
        reordering=scores,
        limit=options.limit,
        min_count=options.min_count,
        significance=str(options.significance),
        memory=int(options.memory),
        threads=options.threads or all_cores(),
        scratch=os.fspath(options.tmp or ""),
    )
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
