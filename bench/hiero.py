"""The hierarchical decoder on cdec's grammars and on a model trained on the Bible.

Budget: 0.05 s CPU per sentence on cdec's 30 grammars at pop limit 200, reading the grammar included
(cdec: 0.21 s), on a machine where `sum(i*i for i in range(10**7))` takes 1.05 s. The model of the
Bible (zh-en, the alignment given) is trained once and kept in bench/out; it has default weights, or
those of --weights. CPU seconds; edges before and after the language model and megabytes of the
forest are means per sentence.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

from support import models
from support.figures import Columns, Figure, main
from support.machine import best, memory, shared, slowness

from hopefear.base.weights import Weights
from hopefear.decode.chart import ChartOptions, HieroDecoder
from hopefear.decode.contract import Sentence
from hopefear.features.dense import CDEC_FEATURES
from hopefear.forest import viterbi
from hopefear.lm import LanguageModel
from hopefear.model.directory import Model
from hopefear.rules.cdec import read_grammar

SEGMENT = re.compile(r'<seg grammar="(.*?)" id="(\d+)"> (.*?) </seg>')
BUDGET = 0.05
COLUMNS = ("s/sent", "sent/s", "before", "after", "MB", "total")


def row(
    table: Columns,
    name: str,
    decoder: HieroDecoder,
    sentences: Sequence[Sentence],
    weights: Weights,
) -> float:
    """Prints a row; the CPU seconds per sentence."""
    forests_after = nodes_bytes = before = 0
    total = seconds = 0.0
    for sentence in sentences:
        start = time.process_time()
        forest = decoder.forest(sentence, weights)
        seconds += time.process_time() - start
        best = viterbi(forest, weights)
        total += best.score if best is not None else 0.0
        forests_after += forest.edges
        nodes_bytes += forest.bytes
        before += decoder.parse(sentence, weights).edges
    count = len(sentences)
    each = seconds / count
    sums = (before, forests_after, nodes_bytes / 1e6)
    table.row(name, each, 1 / each, *(value / count for value in sums), f"{total:.2f}")
    return each


class Cdec:
    """cdec's grammars, its language model and its weights."""

    def __init__(self) -> None:
        folder = shared("golden/cdec")
        self.lm = LanguageModel.load(shared("golden/lm3.arpa.gz"))
        self.weights = Weights()
        for line in (folder / "weights.txt").read_text().splitlines():
            name, value = line.split()
            self.weights[name] = float(value)
        segments = SEGMENT.findall((folder / "input.sgm").read_text())
        self.sentences = [
            Sentence(tuple(text.split()), id, folder / path) for path, id, text in segments
        ]

    def decoder(self, limit: int) -> HieroDecoder:
        options = ChartOptions(pass_through_all=True, rule_limit=0, pop_limit=limit)
        lms = {"LanguageModel": self.lm}
        return HieroDecoder(None, lms, options=options, features=CDEC_FEATURES)

    def reading(self) -> float:
        """CPU seconds of a grammar."""
        start = time.process_time()
        for sentence in self.sentences:
            assert sentence.grammar is not None
            read_grammar(sentence.grammar)
        return (time.process_time() - start) / len(self.sentences)


def run(quick: bool) -> list[Figure]:
    cdec = Cdec()
    decoder, speed = cdec.decoder(200), 1 / slowness()
    seconds = best(2, lambda: list(decoder.forests(cdec.sentences, cdec.weights)))
    each = seconds / len(cdec.sentences) * speed
    return [Figure("a sentence, pop limit 200, with its grammar, scaled", each, "s", most=BUDGET)]


def cdec_rows(pop_limits: Sequence[int]) -> None:
    cdec, speed = Cdec(), 1 / slowness()
    print(f"cdec's 30 grammars; this machine: {speed:.2f} times the one of the budget")
    table = Columns(28, *COLUMNS)
    reading = cdec.reading()
    for limit in pop_limits:
        each = row(table, f"pop limit {limit}", cdec.decoder(limit), cdec.sentences, cdec.weights)
        if limit == 200:
            print(
                f"  {each * speed:.4f} s there (budget {BUDGET}, cdec 0.21), of which "
                f"{reading * speed:.4f} reading the grammar"
            )


def bible_rows(count: int, pop_limits: Sequence[int], weights_file: Path | None) -> None:
    model = Model.load(models.bible("hiero", order=5))
    weights = model.weights(weights_file, warn=lambda _: None)
    sentences = [Sentence.of(line) for line in models.bible_dev(count, "test")[0]]
    words = sum(len(sentence.words) for sentence in sentences) / len(sentences)
    print(f"\nBible zh-en, {len(model.rules):,} rules, {words:.1f} words per sentence")
    table = Columns(28, *COLUMNS)
    for limit in pop_limits:
        made = model.decoder(pop_limit=limit)
        assert isinstance(made, HieroDecoder)
        row(table, f"pop limit {limit}", made, sentences, weights)
    long = [word for sentence in sentences for word in sentence.words][:150]
    made = model.decoder()
    assert isinstance(made, HieroDecoder)
    row(table, "one sentence of 150 words", made, [Sentence.of(long)], weights)


def full(
    *,
    pop_limits: tuple[int, ...] = (50, 200),
    sentences: int = 50,
    weights: Path | None = None,
    no_bible: bool = False,
) -> None:
    cdec_rows(pop_limits)
    if not no_bible:
        bible_rows(sentences, pop_limits, weights)
    print(f"\npeak memory {memory() / 2**20:,.0f} MB")


if __name__ == "__main__":
    main(__doc__, run, full)
