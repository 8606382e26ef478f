"""Translations of a text by each run: derivations, scores and significance tests.

Takes systems, a text and its references, and returns `Outputs`. The text is decoded with the model,
settings and chosen weights of each run; for runs of external decoders the translations are given.
Scores are computed on the decoded tokens, as in tuning.  [koehn2004, clark2011]
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hopefear.analysis.report.runs import ComparedSystem
from hopefear.base.errors import InputError, OptionError
from hopefear.base.progress import Display
from hopefear.base.threads import in_order
from hopefear.decode import trace
from hopefear.metrics import Metric, create
from hopefear.metrics.bleu import Bleu, brevity_penalty
from hopefear.metrics.metric import FloatArray, IntArray
from hopefear.metrics.significance import (
    Outcome,
    Summary,
    approximate_randomization,
    paired_bootstrap,
    summarize,
)
from hopefear.model.directory import MODEL_FILE, Model
from hopefear.model.run import Run
from hopefear.model.translate import TranslateOptions, Translator
from hopefear.text.lines import read_lines, read_parallel

if TYPE_CHECKING:
    from collections.abc import Mapping

SCORES = ("bleu", "chrf", "ter")
TUNING_SET = "the tuning set"
Warn = Callable[[str], None]


@dataclass(frozen=True)
class TestSet:
    """A source text and its references, with a title for the page."""

    source: Path
    references: Sequence[Path]
    title: str


@dataclass(frozen=True)
class DerivationStep:
    """A step of a derivation and its model score."""

    use: trace.Use
    score: float


class Translation(NamedTuple):
    """The translation of a sentence; `steps` is None if its derivation is unknown."""

    words: list[str]
    score: float | None = None  # the model score
    steps: list[DerivationStep] | None = None
    links: Sequence[tuple[int, int]] = ()  # word alignment, from the rules


@dataclass
class Scores:
    """The scores of a system on the text."""

    statistics: Mapping[str, list[IntArray]]  # metric -> per run
    summaries: Mapping[str, Summary]
    precisions: list[float]  # in percent, by order; the mean over runs
    brevity: float
    length_ratio: float
    sentences: FloatArray  # sentence BLEU, 0-100, the mean over runs


@dataclass
class Outputs:
    """The text, and each system's translations of it."""

    title: str
    source: list[list[str]]
    references: list[list[str]]  # by sentence
    translations: list[list[list[Translation]]]  # system, run, sentence
    scores: list[Scores]
    signatures: dict[str, str]  # by metric
    notes: list[str]  # warnings for the reader of the page

    def shown(self, system: int, run: int, sentence: int) -> Translation:
        """The translation of a sentence by a run of a system."""
        return self.translations[system][run][sentence]


def translate(
    systems: Sequence[ComparedSystem],
    test: TestSet,
    *,
    models: Sequence[Path] = (),
    threads: int = 1,
    display: Display | None = None,
    warn: Warn = lambda text: None,
) -> Outputs:
    """Decode the text with the weights of each run and score the translations.

    `models`: directories to use instead of those in the runs, one for all or one per system.
    """
    notes: list[str] = []
    warn_once = _WarnOnce(notes, warn)
    if len(models) not in (0, 1, len(systems)):
        raise OptionError(
            f"--model: {len(models)} directories for {len(systems)} systems; give one for all or "
            "one for each"
        )
    loaded: dict[Path, Model] = {}
    translations: list[list[list[Translation]]] = []
    texts: list[tuple[list[list[str]], list[list[str]]]] = []  # source and references, per system
    count = sum(len(system.runs) for system in systems)
    rows = list(_read(test))
    with (display or Display()).step(
        "translate", total=count * len(rows), unit="sentences"
    ) as step:
        for number, system in enumerate(systems):
            replacement = models[number if len(models) > 1 else 0] if models else None
            outputs: list[list[Translation]] = []
            for run in system.runs:
                path = replacement or _model_of(run)
                if path not in loaded:
                    loaded[path] = Model.load(path)
                translator = _translator(run, loaded[path], test, warn_once)
                if not outputs:
                    texts.append(_texts(translator, rows, test))
                outputs.append([])
                decode = _Decode(translator, test)
                for translation in in_order(decode, enumerate(row[0] for row in rows), threads):
                    outputs[-1].append(translation)
                    step.advance()
            translations.append(outputs)
    source, references = texts[0]
    for system, (_, others) in zip(systems, texts, strict=True):
        if others != references:
            raise InputError(
                f"{system.name}: its model tokenises the references differently from that of "
                f"{systems[0].name}, so scores cannot be compared; make separate reports"
            )
    tokens = {
        run.config.get("system", {}).get("tokenized", False) for s in systems for run in s.runs
    }
    return _scored(
        test, source, references, translations, notes, "none" if tokens == {True} else "model"
    )


def read_translations(
    systems: Sequence[ComparedSystem], test: TestSet, files: Sequence[Path]
) -> Outputs:
    """Score existing translations: a file for each run, in the order of the runs."""
    runs = [run for system in systems for run in system.runs]
    if len(files) != len(runs):
        raise OptionError(
            f"--translations: {len(files)} files for {len(runs)} runs; give one for each, in "
            "their order"
        )
    columns = list(zip(*read_parallel([test.source, *test.references, *files]), strict=True))
    if not columns:
        raise InputError(f"{test.source}: no line in it; expected a sentence per line")
    source = [line.split() for line in columns[0]]
    size = 1 + len(test.references)
    references = [[" ".join(r.split()) for r in row] for row in zip(*columns[1:size], strict=True)]
    lines = iter(columns[size:])
    translations = [
        [[Translation(line.split()) for line in next(lines)] for _ in system.runs]
        for system in systems
    ]
    return _scored(test, source, references, translations, [], "none")


def compare(outputs: Outputs, first: int, second: int, metric: str = "bleu") -> Outcome | None:
    """Test the difference of two systems, the first minus the second.

    Returns None if they have different numbers of runs.
    """
    runs, other_runs = (outputs.scores[n].statistics[metric] for n in (first, second))
    if len(runs) != len(other_runs):
        return None
    if len(runs) > 1:
        return approximate_randomization(create(metric), runs, other_runs)
    return paired_bootstrap(create(metric), runs, other_runs)


# -- decoding --


class _WarnOnce:
    """Warns on the terminal and in the notes of the page, once for each text."""

    def __init__(self, notes: list[str], warn: Warn) -> None:
        self.notes, self.warn = notes, warn

    def __call__(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
            self.warn(text)


def _read(test: TestSet) -> Iterator[tuple[str, ...]]:
    rows = list(read_parallel([test.source, *test.references]))
    if not rows:
        raise InputError(f"{test.source}: no line in it; expected a sentence per line")
    yield from rows


def _check_has_model(run: Run) -> None:
    if not run.file("model"):
        raise InputError(
            f"{run.path}: was tuned without a model directory; give a text and its translations "
            "with --test, --refs and --translations, or omit translations with --no-translations"
        )


def _model_of(run: Run) -> Path:
    _check_has_model(run)
    path = run.file("model")[0]
    if not (path / MODEL_FILE).is_file():
        raise InputError(
            f"{run.path}: its model {path} does not exist; give its directory with --model, "
            "or omit translations with --no-translations"
        )
    return path


def _translator(run: Run, model: Model, test: TestSet, warn: Warn) -> Translator:
    settings = run.config.get("system", {})
    expected = settings.get("model", {})
    contents = model.contents()
    if not expected or any(contents.get(name) != digest for name, digest in expected.items()):
        warn(f"{model.directory}: is no longer the model that {run.path} was tuned with")
    return Translator(
        model,
        weights=run.weights,
        options=TranslateOptions(
            tokenized=settings.get("tokenized", False), unknown=settings.get("unknown", "copy")
        ),
        decoder=settings.get("decoder", {}),
        templates=settings.get("templates"),
        folders=[test.source.parent, Path()],
        warn=warn,
    )


def _texts(
    translator: Translator, rows: Sequence[Sequence[str]], test: TestSet
) -> tuple[list[list[str]], list[list[str]]]:
    """The words of the source sentences, and the references as they are scored."""
    source = [
        list(translator.read(row[0], f"{test.source}:{number}").sentence.words)
        for number, row in enumerate(rows, 1)
    ]
    words = translator.model.reference_steps(
        lambda text: None, tokenized=translator.options.tokenized
    )
    return source, [[words(line) for line in row[1:]] for row in rows]


class _Decode:
    """Decodes numbered lines."""

    def __init__(self, translator: Translator, test: TestSet) -> None:
        self.translator, self.test = translator, test

    def __call__(self, numbered: tuple[int, str]) -> Translation:
        number, line = numbered
        translator = self.translator
        sentence, _ = translator.read(line, f"{self.test.source}:{number + 1}")
        if not sentence.words:
            return Translation([])
        try:
            forest = translator.decoder.forest(sentence, translator.weights)
        except InputError:  # such as too long: stays empty, as in 'hopefear translate'
            return Translation([])
        best = translator.choose(forest, number)
        if best is None:
            return Translation([])
        uses = translator.model.rule_system.uses(best)
        steps = [DerivationStep(use, translator.weights.dot(use.features)) for use in uses]
        links = trace.word_alignment(uses, translator.links(sentence))
        return Translation(list(best.words), best.score, steps, links)


# -- scores --


def _scored(
    test: TestSet,
    source: list[list[str]],
    references: list[list[str]],
    translations: list[list[list[Translation]]],
    notes: list[str],
    tokens: str,
) -> Outputs:
    metrics = {name: create(name) for name in SCORES}
    prepared = {name: metric.prepare(references) for name, metric in metrics.items()}
    scores = []
    for outputs in translations:
        texts = [[" ".join(translation.words) for translation in run] for run in outputs]
        statistics = {
            name: [prepared[name].statistics(lines) for lines in texts] for name in metrics
        }
        scores.append(_summarized(metrics, statistics))
    count = f"tok:{tokens}|nrefs:{len(references[0])}|lines:{len(source)}"
    signatures = {}
    for name, metric in metrics.items():
        settings, _, version = metric.signature().rpartition("|version:")
        signatures[name] = f"{settings}|{count}|version:{version}"
    return Outputs(test.title, source, references, translations, scores, signatures, notes)


def _summarized(metrics: Mapping[str, Metric], statistics: Mapping[str, list[IntArray]]) -> Scores:
    bleu = metrics["bleu"]
    assert isinstance(bleu, Bleu)
    totals = np.array([run.sum(axis=0, dtype=np.int64) for run in statistics["bleu"]])
    matches, counts, reference = bleu.parts(totals)
    precisions = 100.0 * (matches / np.maximum(counts, 1)).mean(axis=0)
    return Scores(
        statistics=statistics,
        summaries={name: summarize(metrics[name], runs) for name, runs in statistics.items()},
        precisions=[float(value) for value in precisions],
        brevity=float(brevity_penalty(counts[..., 0], reference).mean()),
        length_ratio=float(bleu.length_ratio(totals).mean()),
        sentences=100.0
        * np.mean([bleu.sentence_scores(run) for run in statistics["bleu"]], axis=0),
    )


# -- the tuning set --


def tuning_set(systems: Sequence[ComparedSystem]) -> TestSet:
    """The set that all runs were tuned on; an error if they differ or it no longer exists."""
    first = systems[0].runs[0]
    digests = first.config.get("contents", {})
    for system in systems:
        for run in system.runs:
            _check_has_model(run)
            contents = run.config.get("contents", {})
            if any(contents.get(key) != digests.get(key) for key in ("dev", "refs")):
                raise InputError(
                    f"{run.path} was tuned on a different text than {first.path}; give a common "
                    "text with --test SRC --refs REF"
                )
    source, references = first.file("dev"), first.file("refs")
    paths = [*source, *references]
    if not source or not references:
        raise InputError(f"{first.path}: has no record of its tuning set; give --test and --refs")
    for path, digest in zip(
        paths, [*digests.get("dev", []), *digests.get("refs", [])], strict=False
    ):
        if not path.is_file():
            raise InputError(
                f"{first.path}: its tuning set {path} does not exist; give a text with --test "
                "SRC --refs REF"
            )
        if _digest_of_lines(path) != digest:
            raise InputError(
                f"{first.path}: {path} has changed since tuning; give a text with --test "
                "SRC --refs REF"
            )
    return TestSet(source[0], references, TUNING_SET)


def _digest_of_lines(path: Path) -> str:
    """The digest of a text that `hopefear tune` records."""
    digest = hashlib.sha256()
    for line in read_lines(path):
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()[:16]
