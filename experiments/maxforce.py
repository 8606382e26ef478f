"""The tables of MAXFORCE: what features bring, why, minibatches, other tuners, where to learn from.

    python experiments/maxforce.py TABLE --run

    feature-sets Yu et al. 2013, table 4 and figure 12
    paper        the same, as in the paper
    reasons      from the paper's settings to ours, dense features
    start        start weights: 0, or those of MERT
    updates      what updates learn from, sparse features
    minibatch    figure 10: wall time, so one run at a time
    tuners       tables 5 and 6, figure 11
    full         the main result: the whole training text
    hope-fear    MIRA on the whole training text, derivable or not
    fairness     held-out rules and language models
    tags         with parts of speech
    where        Liu & Huang 2014, table 6

Each command takes at most 40 minutes (--minutes) and resumes when called again; --corpora selects
some corpora. --write puts finished rows into docs/results/maxforce.md, and the learning curves
beside it. derived_pairs.py shows the lengths of derivable pairs; maxforce_rows.py defines the rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from harness import RESULTS, Finished, Runner, Study, main, tables_of, title_of
from maxforce_rows import (
    ALL,
    ETA,
    FUTURE,
    GOLD,
    ITERATIONS,
    LEAVE_OUT,
    LOCAL,
    MAXFORCE,
    MEDIUM,
    MERT,
    PAIRS,
    PREFIXES,
    PRO,
    RATES,
    REACHABLE,
    RULE,
    SEARCH,
    SEARCH_AWARE,
    TASKS,
    WIDE,
    baseline,
    from_mert,
    from_start,
    maxforce,
    mira,
    paper,
    searching,
    sparse_pro,
    tagged,
    then_length,
    then_mert,
)

from hopefear.analysis.plot import line_plot

#: Rows without a curve: a plot has eight colours.
NOT_DRAWN = ("MIRA on training pairs, + rule-id", "MIRA, + word-edges")


def points(run: Finished, seconds: bool) -> list[tuple[float, float]]:
    """Returns dev BLEU by iteration or by seconds."""
    decodes = run.report["tuner"] != "maxforce"  # batch tuners decode the dev set to learn
    curve, clock = [], 0.0
    for record in run.records():
        clock += record.get("optimise_seconds", 0.0)
        clock += record.get("decode_seconds", 0.0) if decodes else 0.0
        curve.append((round(clock, 1) if seconds else float(record["iteration"]), record["bleu"]))
    return curve


def curves(runner: Runner) -> str:
    """Returns a plot with a panel for each corpus; means of iterations that all seeds have."""
    seconds = runner.study.name == "minibatch"
    panels = {}
    for corpus, system in runner.tasks():
        series = {}
        for setting in runner.study.settings:
            runs = [points(run, seconds) for run in runner.finished(corpus, system, setting)]
            means = [np.mean(values, axis=0) for values in zip(*runs, strict=False)]
            if means and setting.label not in NOT_DRAWN:
                series[setting.label] = [(float(x), float(y)) for x, y in means]
        if series:
            panels[corpus.title] = series
    values = [y for series in panels.values() for curve in series.values() for _, y in curve]
    label = "seconds" if seconds else "iteration"
    y_range = (5 * (min(values) // 5), 5 * (max(values) // 5 + 1))
    return line_plot(panels, label, "dev BLEU", log_x=False, y_range=y_range)


def figure(runner: Runner, write: bool) -> None:
    """Draw the curves of all corpora, if all of them have runs."""
    name = runner.study.name
    every = replace(runner, study=next(study for study in STUDIES if study.name == name))
    tasks = [task for task in every.tasks() if title_of(*task) in tables_of("maxforce", name)]
    if write and all(every.has_runs(*task) for task in tasks):
        path = RESULTS / f"maxforce-{name}.svg"
        path.write_text(curves(every), encoding="utf-8")


COLUMNS = ("derived pairs", "% updated", "features", "best", "CPU s per iteration")
SUBSET = (
    f"Rows that learn from training pairs use {PAIRS:,} of them, in folds, or all if fewer can be "
    "derived."
)

DENSELY = maxforce("20 phrases, no prefixes, rates", ())
EVERYTHING = maxforce("+ non-local")
ALL_PAIRS = maxforce("MAXFORCE", pairs=None)
EDGES = maxforce("+ word-edges", LOCAL)
NOTHING_LEFT_OUT = maxforce("nothing left out", without=())
MIRA_ALL_PAIRS = replace(mira("MIRA on training pairs", pairs=None), iterations=1)

STUDIES = [
    Study(
        "feature-sets",
        "Feature sets",
        [
            MERT,
            maxforce("MAXFORCE, dense", ()),
            maxforce("+ rule-id", RULE),
            EDGES,
            EVERYTHING,
            mira("MIRA on training pairs, + rule-id", RULE),
            mira("MIRA, + word-edges", LOCAL),
            mira("MIRA, + non-local"),
        ],
        corpora=("fr-en", "zh-en", "es-en"),
        seeds=1,
        text=f"{SUBSET} Compare Yu et al. 2013, table 4 and figure 12.\n\n"
        "![learning curves](maxforce-feature-sets.svg)",
        after=figure,
    ),
    Study(
        "paper",
        "Feature sets with the paper's settings",
        [
            MERT,
            paper("as in the paper, dense", ()),
            paper("+ rule-id", RULE),
            paper("+ word-edges", LOCAL),
            paper("+ non-local"),
        ],
        corpora=("fr-en",),
        seeds=1,
        text=f"One learning rate, all phrases of the table, prefixes. {SUBSET}",
    ),
    Study(
        "reasons",
        "From the paper's settings to ours",
        [
            MERT,
            paper("as in the paper", ()),
            maxforce("20 phrases", (), options=(ETA, FUTURE), gold=(*GOLD, *PREFIXES)),
            maxforce("20 phrases, no prefixes", (), options=(ETA, FUTURE)),
            DENSELY,
            maxforce("20 phrases, rates", (), gold=(*GOLD, *PREFIXES)),
            maxforce("no prefixes, rates", (), gold=()),
            maxforce("all three, without future costs", (), options=(ETA, *RATES)),
            maxforce("all three, own rules left out", (), without=LEAVE_OUT),
            maxforce("all three, nothing left out", (), without=()),
            *(
                maxforce(
                    f"all three, minibatch {size}", (), options=(*MAXFORCE, f"minibatch={size}")
                )
                for size in (6, 100)
            ),
            then_length(DENSELY, "all three, then MERT of `words`"),
            *(
                searching(
                    replace(one, label=f"{one.label}, beam {words[1]}"),
                    {"fr-en": words, "zh-en": words},
                )
                for words in (SEARCH, WIDE)
                for one in (MERT, replace(DENSELY, label="all three"))
            ),
        ],
        corpora=("fr-en", "zh-en"),
        columns=("length", *COLUMNS),
        text=f"Dense features. {SUBSET}",
    ),
    Study(
        "start",
        "Start weights",
        [
            MERT,
            replace(DENSELY, label="from 0, dense"),
            from_start(DENSELY, "from MERT's start, dense"),
            replace(EDGES, label="from 0, + word-edges"),
            from_start(EDGES, "from MERT's start, + word-edges"),
        ],
        corpora=("fr-en", "zh-en"),
        columns=("length", *COLUMNS),
        text=f"{SUBSET} MERT starts from the default weights of `hopefear train`. 'From MERT's "
        "start' uses them too, with all steps multiplied by 0.1; its result may be iteration 0.",
    ),
    Study(
        "updates",
        "What updates learn from",
        [
            MERT,
            maxforce("max-violation", LOCAL),
            then_mert(maxforce("", LOCAL), "max-violation, then MERT"),
            maxforce("max-violation, AdaGrad for all", LOCAL, options=(ETA, FUTURE, RATES[0])),
            maxforce("max-violation, without future costs", LOCAL, options=(ETA, *RATES)),
            maxforce(
                "standard", LOCAL, options=(ETA, *RATES, "update=standard"), tuner="violation"
            ),
            maxforce("local", LOCAL, options=(ETA, *RATES, "update=local"), tuner="violation"),
            maxforce("max-violation, own rules left out", LOCAL, without=LEAVE_OUT),
            maxforce("max-violation, nothing left out", LOCAL, without=()),
            from_mert(maxforce("", LOCAL), "max-violation, dense weights of MERT", 0.002),
            from_mert(
                maxforce("", LOCAL, gold=(*GOLD, *PREFIXES)),
                "max-violation, dense weights of MERT, with prefixes",
                0.002,
            ),
            mira("MIRA, local / model best", LOCAL, options=("towards=local", "away=model-best")),
            mira("MIRA, hope / model best", LOCAL, options=("away=model-best",)),
            mira("MIRA, hope / fear", LOCAL),
        ],
        corpora=("fr-en", "zh-en"),
        seeds=1,
        text=f"{SUBSET} Rule ids and word edges.",
    ),
    Study(
        "minibatch",
        "Minibatches and threads",
        [
            MERT,
            *(
                replace(
                    maxforce(
                        f"minibatch {size}, {threads} thread{'s' * (threads > 1)}",
                        options=(*MAXFORCE, f"minibatch={size}"),
                        pairs=1032,
                    ),
                    threads=threads,
                )
                for size, threads in ((1, 1), (6, 1), (24, 1), (6, 2), (24, 2))
            ),
        ],
        corpora=("fr-en",),
        seeds=1,
        jobs=1,
        columns=(*COLUMNS[:-1], "learning s"),
        text="All features, 1,032 reachable pairs (Yu et al. 2013, figure 10). Seconds are wall "
        "time, one run at a time: decoding and learning for MERT, learning for MAXFORCE.\n\n"
        "![dev BLEU by seconds](maxforce-minibatch.svg)",
        after=figure,
    ),
    Study(
        "tuners",
        "Tuners that learn from the dev set",
        [
            MERT,
            PRO,
            sparse_pro("PRO, medium", MEDIUM, "--most-frequent", "3000"),
            replace(sparse_pro("PRO, large", ALL), iterations=5),  # its pool is 0.4 GB for each
            maxforce("MAXFORCE"),
            then_mert(EVERYTHING, "MAXFORCE, then MERT"),
            mira("MIRA on training pairs"),
        ],
        corpora=TASKS,
        seeds=1,
        text=f"{SUBSET} Medium: the 3,000 most frequent cluster features of each iteration. PRO "
        "with sparse features starts from its dense weights and learns from 30-best lists. Compare "
        "Yu et al. 2013, tables 5 and 6, figure 11.\n\n![learning curves](maxforce-tuners.svg)",
        after=figure,
    ),
    Study(
        "full",
        "MAXFORCE on the whole training text",
        [
            MERT,
            ALL_PAIRS,
            then_mert(ALL_PAIRS, "MAXFORCE, then MERT"),
        ],
        corpora=TASKS,
        text="All features, all pairs that can be derived.\n\n"
        "![learning curves](maxforce-full.svg)",
        after=figure,
    ),
    Study(
        "hope-fear",
        "MIRA on the whole training text",
        [
            MERT,
            MIRA_ALL_PAIRS,
            then_mert(MIRA_ALL_PAIRS, "MIRA on training pairs, then MERT"),
        ],
        corpora=TASKS,
        seeds=1,
        text="All features, one pass over all pairs.",
    ),
    Study(
        "fairness",
        "Held-out rules and language models",
        [
            MERT,
            replace(EVERYTHING, label="folds"),
            then_mert(EVERYTHING, "folds, then MERT"),
            NOTHING_LEFT_OUT,
            then_mert(NOTHING_LEFT_OUT, "nothing left out, then MERT"),
        ],
        corpora=("fr-en", "zh-en"),
        seeds=1,
        text="All features, 5,000 pairs, or all if fewer can be derived. 'Folds': a pair is "
        "decoded with rules and a language model that have not seen it (not so in the paper).",
    ),
    Study(
        "where",
        "Where the training pairs come from",
        [
            MERT,
            baseline("MERT, search-aware", "mert", SEARCH_AWARE),
            replace(MERT, label="MERT, reachable pairs of the dev set", dev=REACHABLE),
            replace(
                baseline("", "mert", SEARCH_AWARE),
                label="MERT, search-aware, reachable pairs of the dev set",
                dev=REACHABLE,
            ),
            maxforce(
                "MAXFORCE, reachable pairs of the dev set",
                (),
                pairs=None,
                without=(),
                learn_from=None,
            ),
            maxforce(
                "MAXFORCE, with prefixes of the dev set",
                (),
                pairs=None,
                gold=(*GOLD, *PREFIXES),
                without=(),
                learn_from=None,
            ),
            maxforce("MAXFORCE, 1,225 training pairs", (), pairs=1225),
        ],
        corpora=("zh-en", "es-en"),
        seeds=1,
        text="Dense features (Liu & Huang 2014, table 6). A dev sentence makes a pair with each "
        "reference that can be derived; MERT takes the first of them.",
    ),
    Study(
        "tags",
        "Parts of speech of source words",
        [tagged(MERT), tagged(maxforce("MAXFORCE")), tagged(mira("MIRA on training pairs"))],
        corpora=("zh-en",),
        seeds=1,
        text=f"{SUBSET} All features, with the parts of speech of jieba.",
    ),
]
STUDIES = [
    replace(
        study,
        settings=[searching(setting) for setting in study.settings],
        iterations=ITERATIONS,
        columns=study.columns or COLUMNS,
        page="maxforce",
    )
    for study in STUDIES
]

if __name__ == "__main__":
    main(STUDIES, __doc__)
