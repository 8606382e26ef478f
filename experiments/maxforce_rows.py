"""The rows of the studies of MAXFORCE.

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

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness import BEST_ITERATION, DERIVED, Corpus, Runner, Setting
from harness.calls import forced

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
TASKS = ("zh-en", "es-en", "fr-en")
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


def reachable_dev(runner: Runner, corpus: Corpus) -> list[Path]:
    """Sentences of the dev set, each with the first reference that forced decoding derives."""
    source, *references = runner.part(corpus, "dev")
    model = runner.model(corpus, "phrase", MODEL)
    sizes = [runner.study.sizes.of(part) or "all" for part in ("train", "dev")]
    folder = runner.out / "text" / f"{corpus.name}-{REACHABLE}-{sizes[0]}-{sizes[1]}"
    made = [folder / source.name, folder / references[0].name]
    with runner.once(folder):
        if made[-1].exists():
            return made
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
