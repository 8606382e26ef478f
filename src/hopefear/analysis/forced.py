"""Forced decoding of a bitext: count and save the derivations of each sentence pair.  [yu2013]

Takes a phrase model, a source text and its translations, and returns the report of `Reachability`;
`hopefear forced` calls it.
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
from hopefear.base.executor import Executor, Threads
from hopefear.base.files import write_text
from hopefear.base.progress import Display
from hopefear.decode import PhraseDecoder, Sentence
from hopefear.decode.systems.base import names_with
from hopefear.forest import Forest, save_pool
from hopefear.model.directory import Model
from hopefear.model.folds import in_folds
from hopefear.model.source import ModelDecoder
from hopefear.text.bitext import Bitext

FIGURE_6, FIGURE_7 = "reachability.svg", "derivations.svg"
Pair = tuple[Sentence, list[list[str]]]  # source sentence and the targets to derive


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
    executor: Executor | None = None,
    display: Display | None = None,
    warn: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Decode all pairs, forced; returns the report of `hopefear forced --json`.

    `limits`: further distortion limits to report on; `union`: a pair is reachable if any of its
    targets is; `folds`: decode each pair with the model trained without its fold; `output`: file
    with one line per pair; `gold_out`: file for the forests of derivations.
    """
    decoder = _decoder(model, distortion_limit, folds=folds)
    others = {limit: _decoder(model, limit, folds=folds) for limit in limits}
    pairs: Iterable[Pair] = _pairs(model, source, targets, union, tokenized, warn)
    if folds:
        pairs = _in_folds(model, pairs, source)
    counts = Reachability()
    executor = executor or Threads(1)
    start = _cpu_seconds() + executor.cpu_seconds

    def forests() -> Iterator[Forest]:
        results = reach_all(
            decoder,
            pairs,
            options,
            others=others,
            executor=executor,
            sources=(
                _source(model, distortion_limit, folds),
                {limit: _source(model, limit, folds) for limit in limits},
            ),
            forests=gold_out is not None,
        )
        with (display or Display()).step("force", unit="pairs") as step:
            for reached in results:
                counts.add(reached)
                step.say(f"{counts.reachable_sentences:,} reachable")
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
        **counts.report(),
        "cpu_seconds": round(_cpu_seconds() + executor.cpu_seconds - start, 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "distortion_limit": decoder.options.distortion_limit,
    }


def _decoder(model: Model, limit: int | None, *, folds: bool) -> PhraseDecoder:
    if not model.rule_system.can("gold"):
        systems = names_with("gold")
        raise OptionError(
            f"{model.directory}: a {model.system} model; forced decoding is for {systems} models"
        )
    return cast("PhraseDecoder", model.decoder(distortion_limit=limit, folds=folds))


def _source(model: Model, limit: int | None, folds: bool) -> ModelDecoder:
    options = {"distortion_limit": limit}
    return ModelDecoder.of(model, options=options, folds=folds, slot=f"decoder {limit}")


def _pairs(
    model: Model,
    source_path: Path,
    target_paths: Sequence[Path],
    union: bool,
    tokenized: bool,
    warn: Callable[[str], None],
) -> Iterator[Pair]:
    source = model.text("source", warn, tokenized=tokenized)
    target = model.text("target", warn, tokenized=tokenized)
    for pair in Bitext(source_path, target_paths):
        words = tuple(source.prepare(pair.source))
        texts = [list(target.prepare(text)) for text in pair.targets]
        groups = [texts] if union else [[text] for text in texts]
        for number, group in enumerate(groups, 1):
            yield Sentence(words, f"{pair.number}.{number}"), group


def _in_folds(model: Model, pairs: Iterable[Pair], source: Path) -> Iterable[Pair]:
    pairs = list(pairs)
    sentences = in_folds(model, ((sentence, targets[0]) for sentence, targets in pairs), source)
    return zip(sentences, (targets for _, targets in pairs), strict=True)


def _line(reached: Reached) -> str:
    gold = reached.gold
    line, target = gold.forest.id.split(".")
    count = f"{reached.derivations:.{15 if reached.derivations < 1e15 else 6}g}"
    return f"{line}\t{target}\t{reached.kind}\t{gold.source_words}\t{gold.target_words}\t{count}\n"


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system


def limits_of(report: Mapping[str, Any]) -> list[str]:
    """The distortion limits of a report in ascending order, unlimited (-1) last."""
    limits = {limit for bin in report["lengths"] for limit in bin["by_limit"]}
    return sorted(limits, key=lambda limit: (limit == "-1", int(limit)))


def draw(report: Mapping[str, Any], directory: Path) -> None:
    """Write figures 6 and 7: reachability and number of derivations by sentence length."""
    directory.mkdir(parents=True, exist_ok=True)
    lengths = report["lengths"]
    reachable = {
        "any jump" if limit == "-1" else f"limit {limit}": [
            (bin["to"], bin["by_limit"][limit]) for bin in lengths if limit in bin["by_limit"]
        ]
        for limit in limits_of(report)
    }
    counts = [(bin["to"], bin["derivations"]) for bin in lengths if bin["derivations"]]
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
