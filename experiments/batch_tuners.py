"""All batch tuners on two tasks: BLEU on new text, with significance.

For Multi30k fr-en and the Bible zh-en (tokenised and aligned) a phrase-based model is trained once;
each tuner learns its weights from the beginning of the dev set with each seed, and the test set is
translated with the result.

    python experiments/batch_tuners.py --run            # at most 40 minutes; call again to resume
    python experiments/batch_tuners.py --run --write    # also into docs/results

Without --run it shows finished runs only. All files are in experiments/out.
"""

from __future__ import annotations

from harness import BEST_ITERATION, Setting, Sizes, Study, main

TUNERS = ("mert", "pro", "batch-mira", "rampion", "risk", "svm")

STUDY = Study(
    "batch tuners",
    "Batch tuners",
    [Setting(f"`{name}`", name, tune=BEST_ITERATION if name == "mert" else ()) for name in TUNERS],
    corpora=("fr-en", "zh-en"),
    sizes=Sizes(dev=400),
    iterations=8,
    columns=("iterations", "CPU s per iteration", "learning s"),
    page="batch-tuners",
)

if __name__ == "__main__":
    main(STUDY, __doc__)
