"""Search-aware tuning: the tables of Liu & Huang 2014, on our own data.

    python experiments/search_aware.py beam-30 --run    # table 2: without bins and with all
    python experiments/search_aware.py en-zh --run      # table 7: the same, BLEU of characters
    python experiments/search_aware.py beam-4 --run     # table 2 with a beam of 4
    python experiments/search_aware.py short --run      # PRO on sentences of less than 10 words

What changes in search is shown by search_aware_analyses.py, what optimising costs (table 8) by
bench/search_aware.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness import Setting, Sizes, Study, main
from harness.corpora import with_short_dev

#: Parts of the corpora, so that a table takes about 25 minutes of two cores. A few seeds on a
#: smaller dev set differ by more than search-aware tuning changes.
SIZES = Sizes(train=20_000, dev=300, test=800)
HOWS = {
    "off": ("search_aware=off",),
    "partial": ("search_aware=partial",),
    "potential": ("search_aware=potential",),
    "potential and future": ("search_aware=potential", "future=true"),
}
TUNERS = {"mert": "MERT", "batch-mira": "batch MIRA", "pro": "PRO"}
SHORT = 10  # words


def row(tuner: str, how: str, beam: int, *more: str) -> Setting:
    label = TUNERS[tuner] if how == "off" else f"{TUNERS[tuner]}, {how}"
    search = ("--beam", str(beam), "--pop-limit", str(max(30, 3 * beam)))
    # All iterations: on the dev set search-aware tuning need not rise over its start.
    tune = ("--kbest", "100", "--patience", "0")
    return Setting(label, tuner, (*HOWS[how], *more), tune, search, against=TUNERS[tuner])


def rows(
    beam: int, *more: str, hows: Sequence[str] = ("off", "partial", "potential")
) -> list[Setting]:
    return [row(tuner, how, beam, *more) for tuner in TUNERS for how in hows]


COLUMNS = ("CPU s an iteration", "learning s")
ABOUT = (
    "Phrase-based, beam {beam}, pop limit {pops}, dense features, 100-best lists; partial and "
    "potential: and the beams of all other bins; future: candidates have the features of the best "
    "translation of what is open. Every tuner has its defaults otherwise. MERT's result is the "
    "mean of its last 3 iterations, that of the others the best one, both if their whole "
    "translations of the dev set are better than those of the start, else the start. Learning s: "
    "of all iterations of a run. "
)
GAINS = "{cite}`liu2014` has, with a beam of 30 on NIST, for potential +1.2 (MERT), +1.8 (MIRA)"
STUDIES = [
    Study(
        "beam-30",
        "Search-aware tuning",
        rows(30, hows=list(HOWS)),
        ("zh-en", "de-en"),
        text=ABOUT.format(beam=30, pops=90) + GAINS + ", +1.1 (PRO, on short sentences alone).",
    ),
    Study(
        "en-zh",
        "Search-aware tuning, characters",
        rows(30, "metric.unit=char"),
        ("en-zh",),
        text=ABOUT.format(beam=30, pops=90)
        + "Tuned for and tested by BLEU of characters. {cite}`liu2014` has +0.4 for MERT.",
    ),
    Study(
        "beam-4",
        "Search-aware tuning with a small beam",
        rows(4),
        ("zh-en", "de-en"),
        text=ABOUT.format(beam=4, pops=30) + "Tuned and tested with the small beam.",
    ),
    Study(
        "short",
        "Search-aware tuning of PRO on short sentences",
        [row("pro", how, 30) for how in HOWS],
        tuple(with_short_dev(name, SHORT) for name in ("zh-en", "de-en")),
        text=ABOUT.format(beam=30, pops=90)
        + f"Learned from sentences of less than {SHORT} words, tested on all.",
    ),
]
STUDIES = [replace(study, sizes=SIZES, iterations=6, columns=COLUMNS) for study in STUDIES]

if __name__ == "__main__":
    main(STUDIES, __doc__)
