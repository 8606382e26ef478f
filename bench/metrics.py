"""Counting and testing: hypotheses per CPU second, and the seconds of a significance test.

Budget: statistics of k-best lists for BLEU and BLEU+1 at 200,000 hypotheses a second on one core
(25 words, 4 references). Hypotheses are references of Bible zh-en with words replaced, 100 for each
sentence. sacreBLEU's speed stands beside ours where it has the metric.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sacrebleu
from support.machine import SHARED

from hopefear.metrics import create
from hopefear.metrics.oracle import oracle
from hopefear.metrics.significance import approximate_randomization, paired_bootstrap


def seconds(work: Callable[[], object], repeat: int = 3) -> float:
    """CPU seconds of all threads, the best of some."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kbest", type=int, default=100, help="hypotheses for each sentence")
    arguments = parser.parse_args()
    folder = SHARED / "golden" / "aligned" / "zh-en"
    if not folder.is_dir():
        print(f"no {folder}; set HOPEFEAR_SHARED")
        sys.exit(0)
    references = list(zip(*(read(folder / f"dev.en.{i}") for i in range(4)), strict=True))
    pool, numbers = make_pool(references, arguments.kbest)
    tokens = [text.split() for text in pool]
    mean = sum(map(len, tokens)) / len(tokens)
    print(
        f"{len(pool):,} hypotheses of {mean:.1f} words, {len(references)} sentences, 4 references"
    )

    bleu = create("bleu")
    start = time.process_time()
    prepared = bleu.prepare(references)
    print(f"{'prepare references':34}{time.process_time() - start:>12.3f} s")
    rows = prepared.statistics(pool, numbers)
    plus_one = create("bleu+1")

    def rate(label: str, work: Callable[[], object], count: int, note: str = "") -> None:
        print(f"{label:34}{count / seconds(work):>12,.0f} hypotheses per CPU s   {note}".rstrip())

    n = len(pool)
    budget = "(budget 200,000)"
    rate("BLEU statistics, lines", lambda: prepared.statistics(pool, numbers), n, budget)
    rate("BLEU statistics, lists of tokens", lambda: prepared.statistics(tokens, numbers), n)
    rate("BLEU statistics, 2 threads", lambda: prepared.statistics(pool, numbers, 2), n)
    rate(
        "BLEU+1 from lines",
        lambda: plus_one.sentence_scores(prepared.statistics(pool, numbers)),
        n,
        budget,
    )
    few = n // 20
    for name, theirs in (("chrf", sacrebleu.CHRF()), ("ter", sacrebleu.TER())):
        metric = create(name)
        ready = metric.prepare(references)
        step = max(1, n // few)
        some, where = pool[::step], numbers[::step]
        rate(metric.title, lambda r=ready, s=some, w=where: r.statistics(s, w), len(some))
        ten = range(0, n, n // 10)
        rate(
            f"{metric.title}, sacreBLEU",
            lambda t=theirs, x=ten: [t.sentence_score(pool[i], references[numbers[i]]) for i in x],
            len(ten),
        )
    start = time.process_time()
    oracle(rows, numbers)
    print(f"{'oracle, with hill climbing':34}{time.process_time() - start:>12.2f} s")
    first, second = [rows[:: arguments.kbest]], [rows[1 :: arguments.kbest]]
    boot = seconds(lambda: paired_bootstrap(bleu, first, second), 1)
    swap = seconds(lambda: approximate_randomization(bleu, first, second), 1)
    print(f"{'paired bootstrap, 1,000 samples':34}{boot:>12.2f} s")
    print(f"{'randomisation, 10,000 trials':34}{swap:>12.2f} s")


if __name__ == "__main__":
    main()
