"""The tables of MAXFORCE: what features bring, why, minibatches, other tuners, where to learn from.

    python bench/maxforce.py feature-sets --run    # Yu et al. 2013, table 4 and figure 12
    python bench/maxforce.py paper --run           # the same, as in the paper
    python bench/maxforce.py reasons --run         # from the paper's way to ours, dense features
    python bench/maxforce.py start --run           # from weights of 0, or from MERT's start
    python bench/maxforce.py updates --run         # what is learned from what, sparse features
    python bench/maxforce.py minibatch --run       # figure 10: seconds, so one run at a time
    python bench/maxforce.py tuners --run          # tables 5 and 6, figure 11
    python bench/maxforce.py full --run            # the main row: all of the training text
    python bench/maxforce.py hope-fear --run       # MIRA instead, pairs without derivation, too
    python bench/maxforce.py fairness --run        # pairs that the model has seen
    python bench/maxforce.py tags --run            # parts of speech, too
    python bench/maxforce.py where --run           # Liu & Huang 2014, table 6

Each is one command of at most 40 minutes (--minutes), the same one goes on where it was; --corpora
takes one corpus after the other. --write puts what is finished into docs/results.md, and the
learning curves beside it; of `full`, how long the pairs are that can be derived.

MAXFORCE begins with weights of 0, all of them free, and learns from pairs of the training text that
forced decoding derives, 5,000 at random unless a table says otherwise. Differs from the paper, and
`reasons` says what each costs or brings: dense features have rates of their own (AdaGrad), forced
decoding has 20 phrases of a source phrase in place of all (by weights of 0, so the first ones of
the table), and there are no prefixes. Rows of MIRA learn the same features from as many pairs of
the training text, derived or not, while the dense features keep the weights of MERT. Rows 'then
MERT' tune the dense weights on the dev set afterwards, while the sparse ones stay. Language model
and rule scores have seen the pairs, so all of them are decoded with the rules and the language
model of the other folds (`train --folds`), unless a row says that a pair's own rules are left out,
or nothing. The dev set judges after each iteration, with all references; 'first' is BLEU with the
first reference alone. '% updated' are the derived pairs with an update, in the first and in the
last iteration.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from support.results import markdown, tables_of, write_section
from support.study import (
    BEST_ITERATION,
    DERIVED,
    REPOSITORY,
    RESULTS,
    Bench,
    Corpus,
    Finished,
    OutOfTimeError,
    Setting,
    Study,
    main,
    title_of,
)

from hopefear.analysis.plot import line_plot
from hopefear.base.files import open_input

# -- how they learn, in all tables --

ETA = "eta=1"  # no matter which, from 0
RATES = ("rate=adagrad", "sparse_rate=0.1")
FUTURE = "future=true"
MAXFORCE = (ETA, FUTURE, *RATES)
MIRA = ("C=0.001",)
#: Words that nothing translates cost as much as before.
ZERO = "unknown\t-100\n"
DENSE = ("lm", "words", "phrases", "distortion", "unknown", "reorder*", "p(*", "lex*")
ITERATIONS = 8
ROUNDS = 5  # of MAXFORCE
SEARCH = ("--beam", "30", "--pop-limit", "60")
WIDE = ("--beam", "100", "--pop-limit", "500")
#: Where words move far a perceptron of search errors needs a good search; `reasons` has both.
SEARCHES = {"zh-en": WIDE, "es-en": WIDE}
PAIRS = 5000
GOLD = ("--gold-phrases", "20")
PREFIXES = ("--prefixes", "5")
LEAVE_OUT = ("--leave-out",)
FOLDS = ("--folds",)

# -- features --

#: Of `hopefear train`, for all rows, so that they share a model. All translations of a phrase are
#: in the table, for forced decoding as in the paper; search takes 20.
MODEL = ("--clusters", "200", "--folds", "5", "--limit", "0")
RULE = ("rule-id",)
LOCAL = (*RULE, "word-edges")
ALL = (*LOCAL, "rule-bigrams", "rule-history")
#: No words and no rules, only clusters.
MEDIUM = ("word-edges:levels=b64", "rule-history:levels=b64")

# -- where to learn from --

REACHABLE = "dev-reachable"


def reachable_dev(bench: Bench, corpus: Corpus) -> list[Path]:
    """Sentences of the dev set, each with the first reference that forced decoding derives."""
    source, *references = bench.part(corpus, "dev")
    model = bench.model(corpus, "phrase", MODEL)
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
    return Setting(label, tuner, tuple(options), tune, SEARCH, train=MODEL)


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


def at_most(pairs: int | None) -> tuple[str, ...]:
    return () if pairs is None else ("--max-examples", str(pairs))


def with_templates(templates: Sequence[str]) -> tuple[str, ...]:
    return (*SEARCH, *(("--templates", *templates) if templates else ()))


def maxforce(
    label: str,
    templates: Sequence[str] = ALL,
    *,
    options: Sequence[str] = MAXFORCE,
    pairs: int | None = PAIRS,
    gold: Sequence[str] = GOLD,
    without: Sequence[str] = FOLDS,
    learn_from: str | None = "train",
    tuner: str = "maxforce",
    rounds: int | None = ROUNDS,
) -> Setting:
    """From 0, all weights free."""
    tune = (*at_most(pairs), *gold, *without, "--fix", "unknown", *PATIENT)
    return Setting(
        label,
        tuner,
        tuple(options),
        tune,
        with_templates(templates),
        weights=ZERO,
        iterations=rounds,
        train=MODEL,
        learn_from=learn_from,
    )


def from_start(setting: Setting, label: str) -> Setting:
    """From the weights that MERT begins with, in steps that do not forget them at once."""
    return replace(setting, label=label, options=("eta=0.1", FUTURE, *RATES), weights=None)


def paper(label: str, templates: Sequence[str] = ALL) -> Setting:
    """One rate, all phrases of the table, prefixes."""
    return maxforce(label, templates, options=(ETA, FUTURE), gold=PREFIXES, rounds=None)


def from_mert(setting: Setting, label: str, eta: float) -> Setting:
    """From MERT's weights, of which the dense ones stay."""
    at = setting.tune.index("--fix")
    tune = (*setting.tune[: at + 1], *DENSE, *setting.tune[at + 2 :])
    options = (f"eta={eta}", FUTURE)
    return replace(setting, label=label, tune=tune, options=options, weights=None, start=MERT)


def then_mert(setting: Setting, label: str) -> Setting:
    """MERT moves dense weights only."""
    return Setting(
        label,
        "mert",
        tune=("--kbest", "100", *BEST_ITERATION),
        decode=setting.decode,
        start=setting,
        iterations=10,
        train=setting.train,
    )


def mira(
    label: str,
    templates: Sequence[str] = ALL,
    *,
    options: Sequence[str] = (),
    pairs: int | None = PAIRS,
    without: Sequence[str] = FOLDS,
) -> Setting:
    """Hope and fear of training pairs; from MERT's weights, of which the dense ones stay."""
    return Setting(
        label,
        "mira",
        (*MIRA, *options),
        (*at_most(pairs), *without, "--fix", *DENSE, *PATIENT),
        with_templates(templates),
        start=MERT,
        iterations=2,
        train=MODEL,
        learn_from="train",
    )


def then_length(setting: Setting, label: str) -> Setting:
    """MERT moves the weight of `words` alone."""
    fixed = ("--fix", *(name for name in DENSE if name != "words"))
    tune = ("--kbest", "100", *BEST_ITERATION, *fixed)
    return Setting(label, "mert", (), tune, setting.decode, setting, iterations=6, train=MODEL)


def searching(setting: Setting, by_corpus: Mapping[str, tuple[str, ...]] = SEARCHES) -> Setting:
    """With the corpora's own searches, as the weights to begin with; what has some stays."""
    if setting.by_corpus:
        return setting
    start = None if setting.start is None else searching(setting.start, by_corpus)
    return replace(setting, start=start, by_corpus=by_corpus)


def tagged(setting: Setting) -> Setting:
    train = (*MODEL, "--source-tagger", "jieba")
    start = None if setting.start is None else replace(setting.start, train=train)
    return replace(setting, train=train, start=start)


COLUMNS = ("derived pairs", "% updated", "features", "best", "CPU s an iteration")
BEAMS = "Beams of 30 hypotheses on Multi30k, 100 on the Bible."
SUBSET = f"Learned from {PAIRS:,} training pairs in folds, or as many as there are. {BEAMS}"
TASKS = ("zh-en", "es-en", "fr-en")

DENSELY = maxforce("20 phrases, no prefixes, rates", ())
EVERYTHING = maxforce("+ non-local")
ALL_PAIRS = maxforce("MAXFORCE", pairs=None)
EDGES = maxforce("+ word-edges", LOCAL)
NOTHING_LEFT_OUT = maxforce("nothing left out", without=())
MIRA_ALL_PAIRS = replace(mira("MIRA on training pairs", pairs=None), iterations=1)

STUDIES = [
    Study(
        "feature-sets",
        "MAXFORCE: what features bring",
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
        text=f"{SUBSET} Yu et al. 2013, table 4 and figure 12.\n\n"
        "![learning curves](maxforce-feature-sets.svg)",
    ),
    Study(
        "paper",
        "MAXFORCE as in the paper: what features bring",
        [
            MERT,
            paper("as in the paper, dense", ()),
            paper("+ rule-id", RULE),
            paper("+ word-edges", LOCAL),
            paper("+ non-local"),
        ],
        corpora=("fr-en",),
        seeds=1,
        text=f"One rate, all phrases of the table, prefixes. {SUBSET}",
    ),
    Study(
        "reasons",
        "MAXFORCE: from the paper's way to ours",
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
        "MAXFORCE: where to begin",
        [
            MERT,
            replace(DENSELY, label="from 0, dense"),
            from_start(DENSELY, "from MERT's start, dense"),
            replace(EDGES, label="from 0, + word-edges"),
            from_start(EDGES, "from MERT's start, + word-edges"),
        ],
        corpora=("fr-en", "zh-en"),
        columns=("length", *COLUMNS),
        text=f"{SUBSET} MERT begins with the weights that `hopefear train` gives, and so do the "
        "rows that say so, with a factor of 0.1 for all steps; iteration 0 may be the best one.",
    ),
    Study(
        "updates",
        "MAXFORCE: what updates are about",
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
        "MAXFORCE: minibatches and threads",
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
            then_mert(EVERYTHING, "MAXFORCE, then MERT"),
            mira("MIRA on training pairs"),
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
            ALL_PAIRS,
            then_mert(ALL_PAIRS, "MAXFORCE, then MERT"),
        ],
        corpora=TASKS,
        text=f"All features, all pairs that can be derived. {BEAMS}\n\n"
        "![learning curves](maxforce-full.svg)",
    ),
    Study(
        "hope-fear",
        "MIRA on all of the training text",
        [
            MERT,
            MIRA_ALL_PAIRS,
            then_mert(MIRA_ALL_PAIRS, "MIRA on training pairs, then MERT"),
        ],
        corpora=TASKS,
        seeds=1,
        text=f"All features, all pairs, once. {BEAMS}",
    ),
    Study(
        "fairness",
        "MAXFORCE: what rules and language model have seen",
        [
            MERT,
            replace(EVERYTHING, label="folds"),
            then_mert(EVERYTHING, "folds, then MERT"),
            NOTHING_LEFT_OUT,
            then_mert(NOTHING_LEFT_OUT, "nothing left out, then MERT"),
        ],
        corpora=("fr-en", "zh-en"),
        seeds=1,
        text="All features; in the paper nothing is left out. Learned from 5,000 pairs that can be "
        f"derived so, or as many as there are. {BEAMS}",
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
        text=f"Dense features (Liu & Huang 2014, table 6). {BEAMS} A sentence of the dev set is a "
        "pair with each of its references, if that can be derived; MERT takes the first such one.",
    ),
    Study(
        "tags",
        "MAXFORCE: tags of source words",
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
    )
    for study in STUDIES
]
FIGURES = ("feature-sets", "minibatch", "tuners", "full")
#: There are eight colours.
NOT_DRAWN = (
    "MIRA on training pairs, + rule-id",
    "MIRA, + word-edges",
)


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
            if means and setting.label not in NOT_DRAWN:
                series[setting.label] = [(float(x), float(y)) for x, y in means]
        if series:
            panels[corpus.title] = series
    values = [y for series in panels.values() for some in series.values() for _, y in some]
    label = "seconds" if seconds else "iteration"
    y_range = (5 * (min(values) // 5), 5 * (max(values) // 5 + 1))
    return line_plot(panels, label, "dev BLEU", log_x=False, y_range=y_range)


# -- pairs that can be derived --

LENGTHS = ((1, 10), (11, 20), (21, 30), (31, None))


def forced_report(bench: Bench, corpus: Corpus) -> Path:
    """What forced decoding says of the training text, with the phrases that MAXFORCE has at 0."""
    size = bench.study.sizes.of("train") or "all"
    report = bench.out / "text" / f"{corpus.name}-derived-{size}.tsv"
    if not report.exists():
        weights = report.with_suffix(".weights")
        weights.write_text(ZERO, encoding="utf-8")
        bench.hopefear(
            "forced", "--model", bench.model(corpus, "phrase", MODEL), *FOLDS,
            *bench.part(corpus, "train")[:2], *(["--tokenized"] if corpus.tokenized else []),
            "--table-limit", GOLD[1], "--weights", weights, "-o", report, "--threads", 1,
        )  # fmt: skip
    return report


def ratio(words: Sequence[tuple[int, int]]) -> str:
    """Target words for a source word."""
    return f"{sum(t for _, t in words) / max(sum(s for s, _ in words), 1):.3f}"


def derived_lengths(bench: Bench) -> str:
    """Whether pairs that can be derived are like all others, by the length of their sources."""
    rows = []
    for corpus, _ in bench.tasks():
        counts = []
        for path in bench.part(corpus, "train")[:2]:
            with open_input(path) as file:
                counts.append([len(line.split()) for line in file])
        text = forced_report(bench, corpus).read_text(encoding="utf-8")
        lines = [line.split("\t") for line in text.splitlines()]
        kinds = [line[2] for line in lines]
        pairs = list(zip(*counts, kinds, strict=True))
        for low, high in (*LENGTHS, (1, None)):
            name = f"{low} to {high} words" if high else f"from {low} words" if low > 1 else "all"
            some = [pair for pair in pairs if low <= pair[0] and (high is None or pair[0] <= high)]
            every = [(s, t) for s, t, _ in some]
            derived = [(s, t) for s, t, kind in some if kind == "full"]
            sizes = [f"{len(every):,}", f"{len(derived):,}"]
            rows.append([f"{corpus.title}, {name}", *sizes, ratio(every), ratio(derived)])
        prefixes = [(int(line[3]), int(line[4])) for line in lines if line[2] == "prefix"]
        name = f"{corpus.title}, prefixes"
        rows.append([name, "-", f"{len(prefixes):,}", "-", ratio(prefixes)])
    return markdown(["pairs", "all", "derived", "target / source words: all", "derived"], rows)


def write_lengths(bench: Bench) -> None:
    try:
        text = derived_lengths(bench)
    except OutOfTimeError:
        return
    section = (
        "## Pairs that can be derived\n\nBy the same command. Of the training text, in "
        "folds, with 20 phrases of a source phrase. Prefixes are of pairs that cannot "
        "be derived as a whole.\n\n"
    )
    write_section(RESULTS, "derived pairs", section + text)


def write_curves(bench: Bench) -> None:
    path = REPOSITORY / "docs" / f"maxforce-{bench.study.name}.svg"
    path.write_text(curves(bench), encoding="utf-8")


if __name__ == "__main__":
    whole = {study.name: study for study in STUDIES}
    for bench in main(STUDIES, __doc__, "maxforce.py"):
        name = bench.study.name
        every = replace(bench, study=whole[name])
        if "--write" not in sys.argv:
            continue
        # Unlike tables, panels of other corpora are not kept: drawn if all that is shown has runs.
        shown = tables_of(RESULTS, name)
        tasks = [task for task in every.tasks() if title_of(*task) in shown]
        if name in FIGURES and all(every.has_runs(*task) for task in tasks):
            write_curves(every)
        if name == "full" and list(bench.study.corpora) == list(whole[name].corpora):
            write_lengths(bench)
