"""Learning from forests against learning from k-best lists: iterations, BLEU, seconds.

On Multi30k fr-en (tokenised and aligned), the whole dev set: `mert` on 100-best lists and on
everything that search kept (`space=forest`), until the weights have settled; and the same for
`batch-mira` and `risk`. `iterations` are those until a run stopped by itself, `best` is the one
whose weights are the result.

    python experiments/forest_mert.py mert --run            # 3 seeds; again: goes on
    python experiments/forest_mert.py --run --write         # all; also into docs/results

Without --run only what was finished before is shown. Everything lies in experiments/out.
"""

from __future__ import annotations

from harness import BEST_ITERATION, Setting, Study, main

COLUMNS = ("iterations", "best", "CPU s per iteration", "learning s")


def both(tuner: str) -> list[Setting]:
    """The two spaces of a tuner."""
    best = BEST_ITERATION if tuner == "mert" else ()
    return [
        Setting(f"`{tuner}`, 100-best", tuner, tune=("--kbest", "100", *best)),
        Setting(f"`{tuner}`, forest", tuner, ("space=forest",), tune=best),
    ]


STUDIES = [
    Study(
        tuner,
        title,
        both(tuner),
        corpora=("fr-en",),
        iterations=20,
        columns=COLUMNS,
        page="batch-tuners",
    )
    for tuner, title in (
        ("mert", "MERT on lists and on forests"),
        ("batch-mira", "Batch MIRA on lists and on forests"),
        ("risk", "Minimum risk on lists and on forests"),
    )
]

if __name__ == "__main__":
    main(STUDIES, __doc__)
