"""The rows of the studies of MAXFORCE.

MAXFORCE starts from weights of 0, all of them free, and learns from training pairs that forced
decoding derives: 5,000 at random unless a table says otherwise.

Differs: dense features have their own learning rates (AdaGrad); forced decoding uses 20 phrases per
source phrase instead of all (with weights of 0, the first ones of the table); no prefixes. The
table `reasons` has the effect of each.

Rows of MIRA learn the same features from as many training pairs, derivable or not, while the dense
weights stay those of MERT. Rows 'then MERT' tune the dense weights on the dev set afterwards, while
the sparse ones stay. Every pair is decoded with the rules and language model of the other folds
(`train --folds`), unless a row leaves out only the pair's own rules, or nothing. The iteration is
selected by BLEU of the dev set with all references.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness import BEST_ITERATION, DERIVED, Corpus, Runner, Setting
from harness.calls import forced

# -- learning options of all tables --

ETA = "eta=1"  # from weights of 0 its value does not matter
RATES = ("rate=adagrad", "sparse_rate=0.1")
FUTURE = "future=true"
MAXFORCE = (ETA, FUTURE, *RATES)
MIRA = ("C=0.001",)
#: Weights of 0, except that unknown words keep their usual cost.
ZERO = "unknown\t-100\n"
DENSE = ("lm", "words", "phrases", "distortion", "unknown", "reorder*", "p(*", "lex*")
ITERATIONS = 8
ROUNDS = 5  # of MAXFORCE
SEARCH = ("--beam", "30", "--pop-limit", "60")
WIDE = ("--beam", "100", "--pop-limit", "500")
#: Corpora with long reordering need a wide beam; the table `reasons` has both beams.
SEARCHES = {"zh-en": WIDE, "es-en": WIDE}
PAIRS = 5000
TASKS = ("zh-en", "es-en", "fr-en")
GOLD = ("--gold-phrases", "20")
PREFIXES = ("--prefixes", "5")
LEAVE_OUT = ("--leave-out",)
FOLDS = ("--folds",)

# -- features --

#: Options of `hopefear train` for all rows, so that they share a model. The table has all
#: translations of a phrase, for forced decoding as in the paper; search uses 20.
MODEL = ("--clusters", "200", "--folds", "5", "--limit", "0")
RULE = ("rule-id",)
LOCAL = (*RULE, "word-edges")
ALL = (*LOCAL, "rule-bigrams", "rule-history")
#: Only clusters, no words and no rules.
MEDIUM = ("word-edges:levels=b64", "rule-history:levels=b64")

# -- where to learn from --

REACHABLE = "dev-reachable"


def reachable_dev(runner: Runner, corpus: Corpus) -> list[Path]:
    """Returns files of the dev sentences that can be derived, with their first such reference."""
    source, *references = runner.part(corpus, "dev")
    model = runner.model(corpus, "phrase", MODEL)
    sizes = [runner.study.sizes.of(part) or "all" for part in ("train", "dev")]
    folder = runner.out / "text" / f"{corpus.name}-{REACHABLE}-{sizes[0]}-{sizes[1]}"
    targets = [folder / source.name, folder / references[0].name]
    with runner.once(folder):
        if targets[-1].exists():
            return targets
        folder.mkdir(parents=True, exist_ok=True)
        report = folder / "forced.tsv"
        runner.call(forced, model, corpus, [source, *references], output=report)
        texts = [path.read_text(encoding="utf-8").splitlines() for path in (source, *references)]
        chosen: dict[int, int] = {}
        for line in report.read_text(encoding="utf-8").splitlines():
            number, target, kind = line.split("\t")[:3]
            if kind == "full":
                chosen.setdefault(int(number) - 1, int(target))
        columns = ([texts[0][i] for i in chosen], [texts[t][i] for i, t in chosen.items()])
        for path, lines in zip(targets, columns, strict=True):
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return targets


DERIVED[REACHABLE] = reachable_dev

# -- rows --

SEARCH_AWARE = ("search_aware=potential",)
PATIENT = ("--patience", "0", "--tolerance", "0")  # curves of equal length


def baseline(label: str, tuner: str, options: Sequence[str] = ()) -> Setting:
    """Returns a row with a batch tuner on the dev set."""
    tune = ("--kbest", "100", *(BEST_ITERATION if tuner == "mert" else ()))
    return Setting(label, tuner, tuple(options), tune, SEARCH, train=MODEL)


MERT = baseline("MERT", "mert")
PRO = baseline("PRO, dense", "pro")


def sparse_pro(label: str, templates: Sequence[str], *tune: str) -> Setting:
    """Returns a row of PRO from its dense weights, with short lists to save memory."""
    return replace(
        PRO,
        label=label,
        tune=("--kbest", "30", *tune),
        decode=(*SEARCH, "--templates", *templates),
        start=PRO,
    )


def at_most(pairs: int | None) -> tuple[str, ...]:
    """Returns the option that limits the training pairs."""
    return () if pairs is None else ("--max-examples", str(pairs))


def with_templates(templates: Sequence[str]) -> tuple[str, ...]:
    """Returns the search options with feature templates."""
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
    """Returns a row of MAXFORCE from weights of 0, all of them free."""
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
    """Returns a row that starts from the model's default weights, with short steps."""
    return replace(setting, label=label, options=("eta=0.1", FUTURE, *RATES), weights=None)


def paper(label: str, templates: Sequence[str] = ALL) -> Setting:
    """Returns a row with the paper's settings: one rate, all phrases of the table, prefixes."""
    return maxforce(label, templates, options=(ETA, FUTURE), gold=PREFIXES, rounds=None)


def from_mert(setting: Setting, label: str, eta: float) -> Setting:
    """Returns a row that starts from MERT's weights and keeps the dense ones."""
    at = setting.tune.index("--fix")
    tune = (*setting.tune[: at + 1], *DENSE, *setting.tune[at + 2 :])
    options = (f"eta={eta}", FUTURE)
    return replace(setting, label=label, tune=tune, options=options, weights=None, start=MERT)


def then_mert(setting: Setting, label: str) -> Setting:
    """Returns a row that tunes the dense weights by MERT after another row."""
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
    """Returns a row of MIRA on training pairs that keeps MERT's dense weights."""
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
    """Returns a row that tunes only the weight of `words` by MERT after another row."""
    fixed = ("--fix", *(name for name in DENSE if name != "words"))
    tune = ("--kbest", "100", *BEST_ITERATION, *fixed)
    return Setting(label, "mert", (), tune, setting.decode, setting, iterations=6, train=MODEL)


def searching(setting: Setting, by_corpus: Mapping[str, tuple[str, ...]] = SEARCHES) -> Setting:
    """Returns the row, and the rows it starts from, with the search options of each corpus."""
    if setting.by_corpus:
        return setting
    start = None if setting.start is None else searching(setting.start, by_corpus)
    return replace(setting, start=start, by_corpus=by_corpus)


def tagged(setting: Setting) -> Setting:
    """Returns the row with a model that tags source words."""
    train = (*MODEL, "--source-tagger", "jieba")
    start = None if setting.start is None else replace(setting.start, train=train)
    return replace(setting, train=train, start=start)
