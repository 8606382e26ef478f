"""Learning with latent derivations: the tables of thesis, chapter 6.

    python experiments/latent.py sparse --run --write     # tables 6.2 and 6.4: sparse features
    python experiments/latent.py dense --run --write      # tables 6.1 and 6.3, and HCRF and LSVM

Each also has the sizes of models (table 6.5) and CPU time per iteration (table 6.6). A second table
compares how the test set is decoded with the same weights: the best derivation, the most probable
string (max-translation, by sampling), and the lowest Bayes risk (MBR). A row of three seeds takes
about 10 CPU minutes of a corpus and system; `--corpora`, `--systems` and `--settings` choose a
part, and the same command resumes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import (
    Corpus,
    Finished,
    Runner,
    Scores,
    Setting,
    Sizes,
    Study,
    main,
    markdown,
    title_of,
    write_section,
)
from harness.calls import OutOfTimeError
from harness.results import tables_of

import hopefear
from hopefear.base import config
from hopefear.decode.contract import Request
from hopefear.metrics.tokenizing import tokenized
from hopefear.model.translations import TranslationOptions, make_translator
from hopefear.text.lines import read_lines

TEMPLATES = (
    "word-pairs",
    "word-context",
    "target-bigrams",
    "insertion",
    "deletion",
    "rule-id",
    "rule-shape",
    "structural-distortion",
    "count-discount",
)
ADAGRAD = ("rate=adagrad", "adagrad_lambda=0.01")
SEARCH = ("--beam", "30", "--pop-limit", "60")
SIZES = Sizes(train=10_000, dev=200, test=400)
#: Label, tuner and options. As in the thesis, hope and fear are those of the whole forest.
TUNERS = {
    "MIRA": ("mira", ("space=forest",)),
    "LSMM": ("latent", ("loss=lsmm", "choose=sampling")),
    "HCRF": ("latent", ("loss=hcrf", "choose=sampling")),
    "LSVM": ("latent", ("loss=lsvm", "space=forest")),
    "LMM_d": ("latent", ("space=forest",)),
    "LMM_t": ("latent", ("choose=sampling",)),
}
#: Ways of decoding: the option of `translate`.
DECODINGS = {"max-translation": "max_translation", "MBR": "mbr"}


def dense(label: str) -> Setting:
    """Returns a row with dense features."""
    tuner, options = TUNERS[label]
    return Setting(label, tuner, options, decode=SEARCH)


def sparse(label: str) -> Setting:
    """Returns a row with all templates; all rows start from the weights of dense MIRA."""
    tuner, options = TUNERS[label]
    decode = (*SEARCH, "--templates", *TEMPLATES)
    return Setting(label, tuner, (*options, *ADAGRAD), decode=decode, start=dense("MIRA"))


# -- other ways of decoding --


def decode_ways(
    output: Path,
    corpus: Corpus,
    model: Path,
    weights: Path,
    source: Path,
    words: Sequence[str],
) -> None:
    """Translate a file by each of `DECODINGS`, from the same forests; writes a file for each."""
    parser = argparse.ArgumentParser()
    config.add_arguments(parser, TranslationOptions)
    given = vars(parser.parse_args([*words]))
    loaded = hopefear.Model.load(model)
    translators = {
        name: make_translator(
            loaded,
            TranslationOptions(**{**given, "tokenized": corpus.tokenized, field: True}),
            weights=weights,
        )
        for name, field in DECODINGS.items()
    }
    first = next(iter(translators.values()))
    collapses = "collapse" in first.decoder.can
    used = first.decoder.collapsed_weights(first.weights) if collapses else first.weights
    lines: dict[str, list[str]] = {name: [] for name in translators}
    for number, line in enumerate(read_lines(source)):
        sentence = first.read(line).sentence
        forest = None
        if sentence.words:
            request = Request(sentence, first.weights, sparse="collapsed" if collapses else "full")
            forest = first.decoder.decode(request).forest
        for name, translator in translators.items():
            best = None if forest is None else translator.choose(forest, number, used)
            lines[name].append("" if best is None else translator.restore(best.words))
    for name, column in lines.items():
        way_of(output, name).write_text("".join(f"{text}\n" for text in column), encoding="utf-8")


def way_of(run: Path, name: str) -> Path:
    """Returns the file of a run's translations by another way of decoding."""
    return run.parent / f"{run.name}.{name}.txt"


def decoded(runner: Runner, corpus: Corpus, system: str, setting: Setting) -> dict[str, Any]:
    """Returns the runs of a row by decoding; decodes what is missing while there is time."""
    found: dict[str, list[Finished]] = {name: [] for name in ("derivation", *DECODINGS)}
    for run in runner.finished(corpus, system, setting):
        if not all(way_of(run.path, name).exists() for name in DECODINGS):
            try:
                runner.call(
                    decode_ways,
                    run.path,
                    corpus,
                    runner.model(corpus, system, setting.train),
                    run.path / "weights.tsv",
                    runner.part(corpus, "test")[0],
                    setting.searching(corpus, system),
                )
            except OutOfTimeError:
                print("the time is over; the same command resumes")
                break
        found["derivation"].append(run)
        for name in DECODINGS:
            lines = way_of(run.path, name).read_text(encoding="utf-8").splitlines()
            output = list(tokenized(lines, corpus.tokenize))
            # The path is a key of statistics.
            found[name].append(Finished(way_of(run.path, name), run.report, output))
    return found


def decoding_table(runner: Runner, corpus: Corpus, system: str) -> str:
    """Returns the table of ways of decoding; p-values against the first row of the same way."""
    score = Scores(corpus, runner.part(corpus, "test")[1:])
    first: dict[str, list[Finished]] = {}
    rows = []
    for setting in runner.study.settings:
        found = decoded(runner, corpus, system, setting)
        if not found["derivation"]:
            continue
        first = first or found
        cells = [setting.label, str(len(found["derivation"]))]
        for name, runs in found.items():
            for kind in ("bleu", "ter"):
                shown = np.mean([score.shown(kind, run) for run in runs])
                same = runs is first[name]
                p = "-" if same else score.p_value(kind, runs, first[name])
                cells += [f"{shown:.2f}", p]
        base = found["derivation"]
        cells += [score.p_value("bleu", found[name], base) for name in DECODINGS]
        rows.append(cells)
    head = [title_of(corpus, system), "runs"]
    for name in ("derivation", *DECODINGS):
        head += [f"{name}: BLEU", "p", "TER", "p"]
    head += [f"p of {name} against derivation" for name in DECODINGS]
    return markdown(head, rows) if rows else ""


def decodings(name: str, runner: Runner, write: bool) -> None:
    """Print the tables of ways of decoding, and write them."""
    tables = {}
    for corpus, system in runner.tasks():
        tables[title_of(corpus, system)] = decoding_table(runner, corpus, system)
    made = {title: text for title, text in tables.items() if text}
    print("", *made.values(), sep="\n")
    if write and made:
        section = f"{name} decodings"
        whole = {**tables_of("latent", section), **made}
        text = (
            f"### Ways of decoding, {name} features\n\nThe same weights; p-values of a row against "
            "the first row with the same decoding, and of a decoding against the best derivation "
            "with the same weights.\n\n"
        )
        write_section("latent", section, text + "\n".join(whole.values()))


START = "All rows start from the weights of MIRA with dense features."
STUDIES = [
    Study(
        "sparse",
        "Sparse features (thesis, tables 6.2 and 6.4)",
        [sparse(label) for label in ("MIRA", "LMM_d", "LMM_t")],
        text=f"All templates, AdaGrad. {START}",
    ),
    Study(
        "dense",
        "Dense features (thesis, tables 6.1 and 6.3)",
        [dense(label) for label in TUNERS],
    ),
]
STUDIES = [
    replace(
        study,
        corpora=("zh-en", "bible-ar-en", "de-en"),
        systems=("hiero", "phrase"),
        sizes=SIZES,
        iterations=5,
        columns=("features", "CPU s per iteration"),
        page="latent",
        after=partial(decodings, study.name),
    )
    for study in STUDIES
]


if __name__ == "__main__":
    main(STUDIES, __doc__)
