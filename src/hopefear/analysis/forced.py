"""Forced decoding of a bitext with a model: the derivations of each pair, counted and kept.

Takes a phrase model, a source text and its translations; returns the report of `Reachability`.
`hopefear forced` is this module.  [yu2013]
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

from hopefear.analysis.plot import line_plot
from hopefear.analysis.reachability import ForcedOptions, Reachability, Reached, reach_all
from hopefear.base.errors import OptionError
from hopefear.base.files import write_text
from hopefear.base.progress import Display
from hopefear.decode import PhraseDecoder, Sentence
from hopefear.decode.systems.base import names_with
from hopefear.forest import Forest, save_pool
from hopefear.model.directory import Model
from hopefear.model.folds import in_folds
from hopefear.text.bitext import Bitext
from hopefear.text.pipeline import TextPipeline

FIGURE_6, FIGURE_7 = "reachability.svg", "derivations.svg"
Pair = tuple[Sentence, list[list[str]]]  # and the targets to derive


def force_bitext(
    model: Model,
    source: Path,
    targets: Sequence[Path],
    options: ForcedOptions,
    *,
    distortion_limit: int | None = None,
    limits: Sequence[int] = (),
    union: bool = False,
    folds: bool = False,
    tokenized: bool = False,
    output: Path | None = None,
    gold_out: Path | None = None,
    threads: int = 1,
    display: Display | None = None,
    warn: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Force all pairs; returns what `hopefear forced --json` says.

    `limits`: further distortion limits to count for; `union`: a derivation of any target counts;
    `folds`: each pair is decoded without what its fold gave the model; `output`: a file for a line
    per pair; `gold_out`: a file for the derivations.
    """
    decoder = _decoder(model, distortion_limit, folds=folds)
    others = {limit: _decoder(model, limit, folds=folds) for limit in limits}
    pairs: Iterable[Pair] = _pairs(model, source, targets, union, tokenized, warn)
    if folds:
        pairs = _in_folds(model, pairs, source)
    found = Reachability()
    before = _cpu_seconds()

    def forests() -> Iterator[Forest]:
        results = reach_all(decoder, pairs, options, others=others, threads=threads)
        with (display or Display()).step("force", unit="pairs") as step:
            for reached in results:
                found.add(reached)
                step.say(f"{found.reachable_sentences:,} reachable")
                step.advance()
                if out is not None:
                    out.write(_line(reached))
                if reached.gold:
                    yield reached.gold.forest

    with write_text(output) if output is not None else nullcontext() as out:
        if gold_out is not None:
            save_pool(gold_out, forests())
        else:
            for _ in forests():
                pass
    return {
        **found.report(),
        "cpu_seconds": round(_cpu_seconds() - before, 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "distortion_limit": decoder.options.distortion_limit,
    }


def _decoder(model: Model, limit: int | None, *, folds: bool) -> PhraseDecoder:
    if not model.rule_system.can("gold"):
        able = names_with("gold")
        raise OptionError(f"{model.directory}: a {model.system} model; forced is for {able} models")
    return cast("PhraseDecoder", model.decoder(distortion_limit=limit, folds=folds))


def _pairs(
    model: Model,
    source_path: Path,
    target_paths: Sequence[Path],
    union: bool,
    tokenized: bool,
    warn: Callable[[str], None],
) -> Iterator[Pair]:
    if tokenized:
        source = target = TextPipeline.as_it_is()
    else:
        source, target = model.text("source", warn), model.text("target", warn)
    for pair in Bitext(source_path, target_paths):
        words = tuple(source.prepare(pair.source))
        wanted = [list(target.prepare(text)) for text in pair.targets]
        groups = [wanted] if union else [[one] for one in wanted]
        for number, group in enumerate(groups, 1):
            yield Sentence(words, f"{pair.number}.{number}"), group


def _in_folds(model: Model, pairs: Iterable[Pair], source: Path) -> Iterable[Pair]:
    every = list(pairs)
    marked = in_folds(model, ((sentence, wanted[0]) for sentence, wanted in every), source)
    return zip(marked, (wanted for _, wanted in every), strict=True)


def _line(reached: Reached) -> str:
    gold = reached.gold
    line, target = gold.forest.id.split(".")
    count = f"{reached.derivations:.{15 if reached.derivations < 1e15 else 6}g}"
    return f"{line}\t{target}\t{reached.kind}\t{gold.source_words}\t{gold.target_words}\t{count}\n"


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system


def limits_of(report: Mapping[str, Any]) -> list[str]:
    """The distortion limits of a report, no limit last."""
    found = {limit for here in report["lengths"] for limit in here["by_limit"]}
    return sorted(found, key=lambda limit: (limit == "-1", int(limit)))


def draw(report: Mapping[str, Any], directory: Path) -> None:
    """Figures 6 and 7: what is reachable, and how many derivations, by sentence length."""
    directory.mkdir(parents=True, exist_ok=True)
    lengths = report["lengths"]
    reachable = {
        "any jump" if limit == "-1" else f"limit {limit}": [
            (here["to"], here["by_limit"][limit]) for here in lengths if limit in here["by_limit"]
        ]
        for limit in limits_of(report)
    }
    counts = [(x["to"], x["derivations"]) for x in lengths if x["derivations"]]
    label = "source words, up to"
    with write_text(directory / FIGURE_6) as file:
        plot = line_plot({"Reachable sentences": reachable}, label, "share", log_x=False)
        file.write(plot)
    limit = f"limit {report['distortion_limit']}"
    with write_text(directory / FIGURE_7) as file:
        plot = line_plot(
            {"Gold derivations": {limit: [(x, min(y, 1e300)) for x, y in counts]}},
            label, "mean number", log_x=False, log_y=True, y_range=None,
        )  # fmt: skip
        file.write(plot)
