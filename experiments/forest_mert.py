"""Learning from forests against learning from k-best lists: iterations, BLEU, seconds.

Multi30k fr-en (tokenised and aligned), the whole dev set: `mert` on 100-best lists and on whole
forests (`space=forest`), until the weights have converged; the same for `batch-mira` and `risk`.
`iterations` counts until a run stopped by itself, `best` is the iteration of the result.

    python experiments/forest_mert.py mert --run            # 3 seeds; call again to resume
    python experiments/forest_mert.py --run --write         # all; also into docs/results

Without --run it shows finished runs only. All files are in experiments/out.
"""

from __future__ import annotations

from harness import BEST_ITERATION, Setting, Study, main

COLUMNS = ("iterations", "best", "CPU s per iteration", "learning s")


def both(tuner: str) -> list[Setting]:
    """Returns the rows of a tuner on k-best lists and on forests."""
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
