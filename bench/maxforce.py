"""The tables of MAXFORCE: what features bring, minibatches, other tuners, where to learn from.

    python bench/maxforce.py feature-sets --run    # Yu et al. 2013, table 4 and figure 12
    python bench/maxforce.py minibatch --run       # figure 10: seconds, so one run at a time
    python bench/maxforce.py tuners --run          # tables 5 and 6, figure 11
    python bench/maxforce.py full --run            # the main row: all of the training text
    python bench/maxforce.py where --run           # Liu & Huang 2014, table 6

Each is one command of at most 40 minutes; the same one goes on where it was (tuners and full take
a quarter of an hour for each corpus). --write puts what is finished into docs/results.md, and the
learning curves beside it.

MAXFORCE learns from pairs of the training text that forced decoding derives, 5,000 at random unless
a table says otherwise, and from the longest prefix of 5 words or more where there is none.
Language model and rule scores have seen these pairs: --leave-out takes a pair's own rules away,
--folds decodes it with rules and a language model that have not seen it. The dev set judges after
each iteration, with all references; 'first' is BLEU with the first reference alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from support.study import (
    BEST_ITERATION,
    DERIVED,
    REPOSITORY,
    Bench,
    Corpus,
    Finished,
    Setting,
    Study,
    main,
)

from hopefear.plot import line_plot

# -- how MAXFORCE learns, in all tables --

#: --set
LEARNING = ("eta=0.01", "rate=fixed", "average=updates")
#: Whether it begins with the weights of MERT (same seed) or with the model's own.
FROM_MERT = True
ITERATIONS = 8  # ten minutes of a core with all features and 5,000 pairs
SEARCH = ("--beam", "30", "--pop-limit", "60")
#: Which pairs.
EXAMPLES = ("--max-examples", "5000", "--prefixes", "5")
LEAVE_OUT = ("--leave-out",)
FOLDS = ("--folds",)

# -- features --

CLUSTERS = ("--clusters", "200")  # of `hopefear train`, for all rows, so that they share a model
IN_FOLDS = ("--folds", "5")  # likewise, where folds are asked for
LOCAL = ("rule-id", "word-edges")
ALL = (*LOCAL, "rule-bigrams", "rule-history")
#: No words and no rules, only clusters.
MEDIUM = ("word-edges:levels=b64", "rule-history:levels=b64")

# -- where to learn from --

REACHABLE = "dev-reachable"


def reachable_dev(bench: Bench, corpus: Corpus) -> list[Path]:
    """Sentences of the dev set, each with the first reference that forced decoding derives."""
    source, *references = bench.part(corpus, "dev")
    model = bench.model(corpus, "phrase", CLUSTERS)
    sizes = [bench.study.sizes.of(part) or "all" for part in ("train", "dev")]
    folder = bench.out / "text" / f"{corpus.name}-{REACHABLE}-{sizes[0]}-{sizes[1]}"
    made = [folder / source.name, folder / references[0].name]
    with bench.once(folder):
        if made[-1].exists():
            return made
        folder.mkdir(parents=True, exist_ok=True)
        plain = ["--tokenized"] if corpus.tokenized else []
        report = folder / "forced.tsv"
        bench.hopefear(
            "forced", "--model", model, source, *references, *plain, "-o", report, "--threads", 1
        )
        texts = [path.read_text(encoding="utf-8").splitlines() for path in (source, *references)]
        chosen: dict[int, int] = {}
        for line in report.read_text(encoding="utf-8").splitlines():
            number, target, kind = line.split("\t")[:3]
            if kind == "full":
                chosen.setdefault(int(number) - 1, int(target))
        columns = ([texts[0][i] for i in chosen], [texts[t][i] for i, t in chosen.items()])
        for path, lines in zip(made, columns, strict=True):
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return made


DERIVED[REACHABLE] = reachable_dev

# -- rows --

SEARCH_AWARE = ("search_aware=potential",)
PATIENT = ("--patience", "0", "--tolerance", "0")  # curves of equal length


def baseline(label: str, tuner: str, options: Sequence[str] = ()) -> Setting:
    """A batch tuner on the dev set."""
    tune = ("--kbest", "100", *(BEST_ITERATION if tuner == "mert" else ()))
    return Setting(label, tuner, tuple(options), tune, SEARCH, train=CLUSTERS)


MERT = baseline("MERT", "mert")
PRO = baseline("PRO, dense", "pro")


def sparse_pro(label: str, templates: Sequence[str], *tune: str) -> Setting:
    """PRO from its dense weights; shorter lists, or the pool of all features takes many GB."""
    return replace(
        PRO,
        label=label,
        tune=("--kbest", "30", *tune),
        decode=(*SEARCH, "--templates", *templates),
        start=PRO,
    )


def maxforce(
    label: str,
    templates: Sequence[str] = ALL,
    *,
    options: Sequence[str] = (),
    pairs: Sequence[str] = (*EXAMPLES, *LEAVE_OUT),
    learn_from: str | None = "train",
) -> Setting:
    return Setting(
        label,
        "maxforce",
        (*LEARNING, *options),
        (*pairs, *PATIENT),
        (*SEARCH, *(("--templates", *templates) if templates else ())),
        start=MERT if FROM_MERT else None,
        train=CLUSTERS,
        learn_from=learn_from,
    )


def in_folds(setting: Setting) -> Setting:
    """Each pair with what its fold left out; dense start weights of the same model."""
    tune = tuple(FOLDS[0] if word == LEAVE_OUT[0] else word for word in setting.tune)
    train = (*CLUSTERS, *IN_FOLDS)
    start = None if setting.start is None else replace(setting.start, train=train)
    return replace(setting, label=f"{setting.label}, folds", tune=tune, train=train, start=start)


def tagged(setting: Setting) -> Setting:
    train = (*CLUSTERS, "--source-tagger", "jieba")
    start = None if setting.start is None else replace(setting.start, train=train)
    return replace(setting, train=train, start=start)


COLUMNS = ("features", "best", "CPU s an iteration")
SUBSET = "MAXFORCE learns from 5,000 training pairs or their prefixes, without a pair's own rules."
TASKS = ("zh-en", "es-en", "de-en")
#: Reachable pairs of about as many words as the dev set has.
SMALL = ("--max-examples", "1032", *LEAVE_OUT)

STUDIES = [
    Study(
        "feature-sets",
        "MAXFORCE: what features bring",
        [
            MERT,
            maxforce("MAXFORCE, dense", ()),
            maxforce("+ rule-id", LOCAL[:1]),
            maxforce("+ word-edges", LOCAL),
            maxforce("+ non-local"),
            tagged(maxforce("+ tags of source words")),
        ],
        corpora=("zh-en",),
        text=f"{SUBSET} Yu et al. 2013, table 4 and figure 12.\n\n"
        "![learning curves](maxforce-feature-sets.svg)",
    ),
    Study(
        "minibatch",
        "MAXFORCE: minibatches and threads",
        [
            MERT,
            *(
                replace(
                    maxforce(
                        f"minibatch {size}, {threads} thread{'s' * (threads > 1)}",
                        options=(f"minibatch={size}",),
                        pairs=SMALL,
                    ),
                    threads=threads,
                )
                for size, threads in ((1, 1), (6, 1), (24, 1), (6, 2), (24, 2))
            ),
        ],
        corpora=("zh-en",),
        seeds=1,
        jobs=1,
        text="All features, 1,032 reachable pairs (Yu et al. 2013, figure 10). Seconds are of the "
        "wall, one run at a time: of MERT decoding and learning, of MAXFORCE learning alone.\n\n"
        "![dev BLEU by seconds](maxforce-minibatch.svg)",
    ),
    Study(
        "tuners",
        "MAXFORCE and tuners that learn from the dev set",
        [
            MERT,
            PRO,
            sparse_pro("PRO, medium", MEDIUM, "--most-frequent", "3000"),
            replace(sparse_pro("PRO, large", ALL), iterations=5),  # its pool is 0.4 GB for each
            maxforce("MAXFORCE"),
            in_folds(maxforce("MAXFORCE")),
        ],
        corpora=TASKS,
        seeds=1,
        text=f"{SUBSET} Medium: the 3,000 most frequent features of clusters at each iteration. "
        "PRO's sparse rows begin with its dense weights and learn from 30-best lists. Yu et al. "
        "2013, tables 5 and 6, figure 11.\n\n![learning curves](maxforce-tuners.svg)",
    ),
    Study(
        "full",
        "MAXFORCE on all of the training text",
        [
            MERT,
            maxforce("MAXFORCE", pairs=("--prefixes", "5", *LEAVE_OUT)),
            in_folds(maxforce("MAXFORCE", pairs=("--prefixes", "5", *LEAVE_OUT))),
        ],
        corpora=TASKS,
        seeds=1,
        text="All features, all pairs that can be derived, and prefixes of the others.\n\n"
        "![learning curves](maxforce-full.svg)",
    ),
    Study(
        "where",
        "MAXFORCE: where to learn from",
        [
            MERT,
            baseline("MERT, search-aware", "mert", SEARCH_AWARE),
            replace(MERT, label="MERT, reachable pairs of the dev set", dev=REACHABLE),
            replace(
                baseline("", "mert", SEARCH_AWARE),
                label="MERT, search-aware, reachable pairs of the dev set",
                dev=REACHABLE,
            ),
            maxforce("MAXFORCE, reachable pairs of the dev set", (), pairs=(), learn_from=None),
            maxforce(
                "MAXFORCE, with prefixes of the dev set",
                (),
                pairs=("--prefixes", "5"),
                learn_from=None,
            ),
            maxforce(
                "MAXFORCE, 1,225 training pairs", (), pairs=("--max-examples", "1225", *LEAVE_OUT)
            ),
        ],
        corpora=("zh-en", "es-en"),
        text="Dense features (Liu & Huang 2014, table 6). A sentence of the dev set is a pair with "
        "each of its references, if that can be derived; MERT takes the first such one.",
    ),
]
STUDIES = [replace(study, iterations=ITERATIONS, columns=COLUMNS) for study in STUDIES]
FIGURES = ("feature-sets", "minibatch", "tuners", "full")


def points(run: Finished, seconds: bool) -> list[tuple[float, float]]:
    """Dev BLEU after each iteration, or after so many seconds."""
    own = run.said["tuner"] != "maxforce"  # it decodes the dev set to learn from it
    found, clock = [], 0.0
    for record in run.records():
        clock += record.get("optimise_seconds", 0.0)
        clock += record.get("decode_seconds", 0.0) if own else 0.0
        found.append((round(clock, 1) if seconds else float(record["iteration"]), record["bleu"]))
    return found


def curves(bench: Bench) -> str:
    """A panel for each corpus; of several seeds the mean of those iterations that all have."""
    seconds = bench.study.name == "minibatch"
    panels = {}
    for corpus, system in bench.tasks():
        series = {}
        for setting in bench.study.settings:
            runs = [points(run, seconds) for run in bench.finished(corpus, system, setting)]
            means = [np.mean(some, axis=0) for some in zip(*runs, strict=False)]
            if means:
                series[setting.label] = [(float(x), float(y)) for x, y in means]
        if series:
            panels[corpus.title] = series
    values = [y for series in panels.values() for some in series.values() for _, y in some]
    if not values:
        return ""
    label = "seconds" if seconds else "iteration"
    y_range = (5 * (min(values) // 5), 5 * (max(values) // 5 + 1))
    return line_plot(panels, label, "dev BLEU", log_x=False, y_range=y_range)


if __name__ == "__main__":
    for bench in main(STUDIES, __doc__, "maxforce.py"):
        picture = curves(bench) if bench.study.name in FIGURES and "--write" in sys.argv else ""
        if picture:
            path = REPOSITORY / "docs" / f"maxforce-{bench.study.name}.svg"
            path.write_text(picture, encoding="utf-8")
