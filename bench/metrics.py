"""Counting and testing: hypotheses per CPU second, and the seconds of a significance test.

Budget: statistics of k-best lists for BLEU and BLEU+1 at 200,000 hypotheses a second on one core
(25 words, 4 references). Hypotheses are references of Bible zh-en with words replaced, 100 for each
sentence. sacreBLEU's speed stands beside ours where it has the metric.
"""

from __future__ import annotations

import random

import numpy as np
import sacrebleu
from support import models
from support.figures import Figure, main
from support.machine import best

from hopefear.metrics import create
from hopefear.metrics.oracle import oracle
from hopefear.metrics.significance import approximate_randomization, paired_bootstrap

BUDGET = 200_000


def make_pool(references: list[tuple[str, ...]], k: int) -> tuple[list[str], np.ndarray]:
    """k hypotheses of about 25 words per sentence, a fifth of them not those of a reference."""
    chance = random.Random(1)
    vocabulary = sorted({word for texts in references for text in texts for word in text.split()})
    pool = []
    for texts in references:
        for _ in range(k):
            words = chance.choice(texts).split()[:33]
            for _ in range(len(words) // 5):
                words[chance.randrange(len(words))] = chance.choice(vocabulary)
            pool.append(" ".join(words))
    return pool, np.repeat(np.arange(len(references), dtype=np.int32), k)


def measure(kbest: int = 100, repeat: int = 3) -> list[Figure]:
    _, references = models.bible_dev(10_000)
    pool, numbers = make_pool(references, kbest)
    tokens = [text.split() for text in pool]
    bleu, plus_one = create("bleu"), create("bleu+1")
    prepared = bleu.prepare(references)
    rows = prepared.statistics(pool, numbers)
    n, figures = len(pool), []

    def rate(label: str, work: object, count: int = n, least: float | None = None) -> None:
        value = count / best(repeat, work)  # type: ignore[arg-type]
        figures.append(Figure(label, value, "hypotheses/s", least=least))

    rate("BLEU from lines", lambda: prepared.statistics(pool, numbers), least=BUDGET)
    rate("BLEU from lists of tokens", lambda: prepared.statistics(tokens, numbers))
    rate("BLEU, 2 threads", lambda: prepared.statistics(pool, numbers, 2))
    rate(
        "BLEU+1 from lines",
        lambda: plus_one.sentence_scores(prepared.statistics(pool, numbers)),
        least=BUDGET,
    )
    for name, theirs in (("chrf", sacrebleu.CHRF()), ("ter", sacrebleu.TER())):
        metric = create(name)
        ready = metric.prepare(references)
        some, where = pool[::20], numbers[::20]
        rate(metric.title, lambda r=ready, s=some, w=where: r.statistics(s, w), len(some))
        ten = range(0, n, n // 10)
        rate(
            f"{metric.title}, sacreBLEU",
            lambda t=theirs, x=ten: [t.sentence_score(pool[i], references[numbers[i]]) for i in x],
            len(ten),
        )
    first, second = [rows[::kbest]], [rows[1::kbest]]
    boot = best(1, lambda: paired_bootstrap(bleu, first, second))
    swap = best(1, lambda: approximate_randomization(bleu, first, second))
    return [
        *figures,
        Figure("prepare references", best(1, lambda: bleu.prepare(references)), "s"),
        Figure("oracle, with hill climbing", best(1, lambda: oracle(rows, numbers)), "s"),
        Figure("paired bootstrap, 1,000 samples", boot, "s"),
        Figure("randomisation, 10,000 trials", swap, "s"),
    ]


def run(quick: bool) -> list[Figure]:
    figures = measure(20 if quick else 100)
    return [f for f in figures if f.least] + figures[-2:] if quick else figures


if __name__ == "__main__":
    main(__doc__, run, measure)
