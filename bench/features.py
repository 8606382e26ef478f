"""What feature templates cost: decoding time with each of them and with all, against none.

Bible zh-en with models that are trained once (the alignment given) and kept in bench/out; phrase
models with beam 30 and hierarchical ones with pop limit 30. All features that fire on the
sentences have weights, so that no look-up is spared. Rounds go over all settings in turn, and a
setting's time is the least CPU time of its rounds: the ratios are of one run. Budget: with all
templates at most 2.5 times the time of none.

'All, collapsed' is what `translate` and the judging of dev sets do: one number for all that fires.

`forest MB` and `pool MB` are the memory of 1,000 sentences: of whole forests, and of 100-best lists
as batch tuners keep them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from support import models
from support.figures import Figure, main

from hopefear.base.weights import Weights
from hopefear.decode.contract import Decoder, Request
from hopefear.forest import Forest, kbest
from hopefear.learn.pool.candidate_builder import CandidateBuilder
from hopefear.metrics.bleu import Bleu
from hopefear.model.directory import Model

#: Those of the thesis.
TEMPLATES = (
    *("word-pairs", "word-context", "target-bigrams", "insertion", "deletion"),
    *("rule-id", "rule-shape", "structural-distortion", "count-discount"),
)
OPTIONS: dict[str, dict[str, Any]] = {
    "phrase": {"beam": 30, "pop_limit": 150},
    "hiero": {"pop_limit": 30},
}
BUDGET = 2.5
COLLAPSED = "all, collapsed"


def weights_for(decoder: Decoder, text: list[str], weights: Weights) -> None:
    """Gives a small weight to every feature that fires."""
    for forest in decoder.forests(text, weights):
        for id in forest.feature_ids.tolist():
            name = decoder.names.name(id)
            if name and name not in weights:
                weights[name] = (id % 201 - 100) / 5000


def forests(
    label: str, decoder: Decoder, text: list[str], weights: Weights
) -> tuple[Iterator[Forest], Weights]:
    """What a setting makes of the sentences, and the weights of that."""
    if label != COLLAPSED:
        return decoder.forests(text, weights), weights
    requests = [Request(line, weights, sparse="collapsed") for line in text]
    decoded = decoder.decode_all(requests)
    return (one.forest for one in decoded), decoder.collapsed_weights(weights)


def memory(
    label: str, decoder: Decoder, text: list[str], weights: Weights, references: list[str]
) -> list[Any]:
    """Megabytes of 1,000 forests and of 1,000 100-best lists, and features of the lists."""
    pool = CandidateBuilder(Bleu(), [[line] for line in references])
    made, weights = forests(label, decoder, text, weights)
    held = 0
    for number, forest in enumerate(made):
        held += forest.bytes
        pool.add(number, kbest(forest, weights, 100, distinct=True))
    candidates = pool.candidates()
    table = candidates.features
    size = table.dense.nbytes + table.ids.nbytes + candidates.statistics.nbytes
    if table.sparse is not None:
        sparse = table.sparse
        size += sparse.data.nbytes + sparse.indices.nbytes + sparse.indptr.nbytes
    scale = 1000 / len(text) / 1e6
    return [held * scale, size * scale, len(table.ids)]


Timed = tuple[dict[str, Decoder], dict[str, float], Weights]


def timed(model: Model, system: str, text: list[str], rounds: int, names: list[str]) -> Timed:
    """Decoders without templates, with each, with all; CPU seconds; the weights."""
    settings = {"none": [], **{name: [name] for name in names}, "all": list(TEMPLATES)}
    decoders = {
        label: model.decoder(templates={name: {} for name in on}, **OPTIONS[system])
        for label, on in settings.items()
    }
    weights = model.weights()
    weights_for(decoders["all"], text, weights)
    if "collapse" in decoders["all"].can:
        decoders[COLLAPSED] = decoders["all"]
    seconds = dict.fromkeys(decoders, float("inf"))
    for _ in range(rounds):
        for label, decoder in decoders.items():
            start = time.process_time()
            for _forest in forests(label, decoder, text, weights)[0]:
                pass
            seconds[label] = min(seconds[label], time.process_time() - start)
    return decoders, seconds, weights


def run(quick: bool) -> list[Figure]:
    figures = []
    for system in ("phrase",) if quick else OPTIONS:
        model = Model.load(models.bible(system, models.QUICK if quick else None))
        text, _ = models.bible_dev(30 if quick else 100)
        _, seconds, _ = timed(model, system, text, 3, [])
        for label in ("all", COLLAPSED):
            if label in seconds:
                ratio = seconds[label] / seconds["none"]
                figures.append(Figure(f"{system}, time of none: {label}", ratio, "x", most=BUDGET))
    return figures


def table(system: str, lines: int, rounds: int, names: list[str]) -> float:
    """Prints a table; the ratio of all templates."""
    model = Model.load(models.bible(system))
    text, references = models.bible_dev(lines)
    decoders, seconds, weights = timed(model, system, text, rounds, names)
    words = sum(len(line.split()) for line in text)
    print(f"\n{system}, {OPTIONS[system]}, {len(text)} sentences of {words} words")
    print(
        f"{'templates':<24}{'cpu s':>8}{'words/s':>9}{'ratio':>7}{'forest MB':>11}{'pool MB':>9}"
        f"{'features':>10}"
    )
    for label, decoder in decoders.items():
        first = [several[0] for several in references]
        forest_mb, pool_mb, features = memory(label, decoder, text, weights, first)
        ratio = seconds[label] / seconds["none"]
        print(
            f"{label:<24}{seconds[label]:>8.3f}{words / seconds[label]:>9.0f}{ratio:>7.2f}"
            f"{forest_mb:>11.0f}{pool_mb:>9.1f}{features:>10,}",
            flush=True,
        )
    return seconds["all"] / seconds["none"]


def full(
    *,
    systems: tuple[str, ...] = tuple(OPTIONS),
    lines: int = 100,
    rounds: int = 3,
    templates: tuple[str, ...] = TEMPLATES,
) -> None:
    for system in systems:
        ratio = table(system, lines, rounds, templates)
        verdict = "within" if ratio <= BUDGET else "over"
        print(f"all templates: {ratio:.2f} times the time of none, {verdict} the {BUDGET} allowed")


if __name__ == "__main__":
    main(__doc__, run, full)
