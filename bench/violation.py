"""What an iteration of the violation-fixing perceptron costs, from the Bible zh-en.

Dense features and rule ids, beam 30, sentence pairs and prefixes, one thread. Budget: 150,000
source words in under 10 minutes on two cores.
"""

from __future__ import annotations

from support import models
from support.figures import Figure, main, markdown

WORDS = 150_000
BUDGET = 600.0


def measure(pairs: int, examples: int) -> tuple[int, float]:
    """Source words, and CPU seconds of an iteration."""
    model = models.bible(pairs=pairs)
    record, _ = models.learned(model, pairs, "violation", templates=["rule-id"], examples=examples)
    return record["example_words"], record["optimise_cpu_seconds"]


def run(quick: bool) -> list[Figure]:
    words, cpu = measure(models.QUICK, 1000) if quick else measure(20_000, 300)
    seconds = cpu / words * WORDS / 2
    return [Figure(f"{WORDS:,} source words on two cores", seconds, "s", most=BUDGET)]


def full(*, lines: int = 20_000, examples: int = 300) -> None:
    words, cpu = measure(lines, examples)
    whole = cpu / words * WORDS
    head = ["", "source words", "CPU s an iteration", f"for {WORDS:,} words", "on two cores"]
    cells = ["dense + rule id, beam 30", f"{words:,}", f"{cpu:.1f}", f"{whole:.0f}"]
    print(markdown(head, [[*cells, f"{whole / 2:.0f}"]]))


if __name__ == "__main__":
    main(__doc__, run, full)
