"""Translating lines of text with a model.

    translator = Translator(Model.load("fr-en"))
    for translated in translator.translate(lines, threads=2):
        translated.text, translated.score, translated.nbest

Takes raw text and returns raw text and n-best lists: the model's text steps are applied before and
after decoding, unless the text is already `tokenized`. Results are in the order of the lines, each
returned as soon as it is ready, and do not depend on the number of threads, nor on the executor.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopefear.base.errors import HopefearError, InputError, OptionError
from hopefear.base.executor import Executor, Folder, Job, Resources, Threads
from hopefear.base.files import PathLike
from hopefear.base.weights import Weights
from hopefear.decode import trace
from hopefear.decode.contract import Request, Sentence
from hopefear.decode.markup import Marked
from hopefear.forest import consensus, edge_scores, kbest, max_translation, viterbi
from hopefear.forest.intersect import derivation_of
from hopefear.forest.io.nbest_text import NbestWriter
from hopefear.forest.mbr import scaled
from hopefear.model.directory import Model
from hopefear.model.translate_options import TranslateOptions
from hopefear.text.unknown import UnknownWords

if TYPE_CHECKING:
    from hopefear._engine import Derivation, Forest

__all__ = ["TranslateOptions", "Translated", "Translator"]

_NAMED = 5  # maximum number of features that a warning names
_CHECKED = 100_000  # maximum number of weights checked for the warning


@dataclass(frozen=True)
class Translated:
    """The translation of a line."""

    text: str
    score: float | None  # of the best derivation; None if there is none
    source_words: int
    nbest: list[str] = field(default_factory=list)  # lines in the format of Moses
    warning: str = ""

    def __str__(self) -> str:
        return self.text


class Translator:
    """A model with weights and options that translates lines; threads may share it."""

    def __init__(
        self,
        model: Model,
        *,
        weights: Weights | PathLike | None = None,
        options: TranslateOptions | None = None,
        decoder: Mapping[str, Any] | None = None,
        templates: Mapping[str, Mapping[str, Any]] | None = None,
        folders: Sequence[Path] = (Path(),),
        folds: bool = False,
        warn: Callable[[str], None] = warnings.warn,
    ) -> None:
        """Load the weights and make the decoder of a model.

        `decoder`: decoder options that override the model's; `templates`: feature templates and
        their options, instead of the model's; `folders`: directories with per-sentence grammars,
        besides `options.grammars`; `folds`: as in `Model.decoder`.
        """
        self.options = options or TranslateOptions()
        self.model, self.folders = model, [*folders, *self.options.grammars]
        self._decoder_options, self._folds = dict(decoder or {}), folds
        if not self.options.nbest and (
            self.options.distinct or self.options.trace or self.options.trace_alignment
        ):
            raise OptionError(
                "--distinct, --trace and --trace-alignment: only for n-best lists; give --nbest N"
            )
        self.weights = (
            weights if isinstance(weights, Weights) else model.weights(weights, warn=warn)
        )
        self.templates = model.templates if templates is None else dict(templates)
        self.decoder = model.decoder(templates=templates, folds=folds, **(decoder or {}))
        # Without n-best lists, which name each sparse feature, those are summed into one score.
        collapses = not self.options.nbest and "collapse" in self.decoder.can
        self._collapsed = self.decoder.collapsed_weights(self.weights) if collapses else None
        self._scale = self._posterior_scale()
        # The features of a per-sentence grammar are unknown until it is read.
        closed = model.has_rules and not model.rules.statistics().get("sparse_features", 0)
        known = self.templates if closed else None
        for note in unmatched(self.weights, self.decoder.dense, known):
            warn(note)
        self._writer = NbestWriter(self.decoder.dense)
        self._source, self._target = (
            model.text(side, warn, tokenized=self.options.tokenized)
            for side in ("source", "target")
        )
        self._unknown = self._unknown_words()
        self._escaped = bool(model.settings.get("imported", {}).get("escaped", False))

    def translate(
        self,
        lines: Iterable[str],
        *,
        place: str = "line",
        threads: int = 1,
        executor: Executor | None = None,
    ) -> Iterator[Translated]:
        """Yield the translations of lines; `place` names their origin in messages.

        `executor`: translates, by default on `threads` of this process.
        """
        job = TranslateJob(self, place)
        yield from (executor or Threads(threads)).map(job, enumerate(lines))

    def translate_line(self, place: str, numbered: tuple[int, str]) -> Translated:
        """Return the translation of a line, given with its number from 0."""
        number, line = numbered
        location = f"{place}:{number + 1}"
        sentence, target = self.read(line, location)
        id = sentence.id or str(number)
        if not sentence.words:
            return Translated("", 0.0, 0, [self._empty(id)] if self.options.nbest else [])
        request, weights = Request(sentence, self.weights, target), self.weights
        if self._collapsed is not None and target is None:
            request, weights = replace(request, sparse="collapsed"), self._collapsed
        try:
            forest = self.decoder.decode(request).forest
        except HopefearError as error:
            if isinstance(error, InputError) and self._is_plain(sentence, target):
                # For example too long: warn, and translate the following lines.
                return Translated("", None, len(sentence.words), warning=f"{location}: {error}")
            raise type(error)(f"{location}: {error}") from None
        best = self.choose(forest, number, weights)
        if best is None:
            reason = "this target cannot be derived" if target is not None else "no translation"
            return Translated(
                "", None, len(sentence.words), warning=f"{location}: {reason}; the line stays empty"
            )
        text = self.restore(best.words)
        note = self.decoder.note(sentence)
        lists = []
        if self.options.nbest:
            entries = kbest(
                forest, self.weights, self.options.nbest, distinct=self.options.distinct
            )
            links = self.links(sentence) if self.options.trace_alignment else _no_links
            lists = [self._entry(id, entry, links) for entry in entries]
        warning = f"{location}: {note}" if note else ""
        return Translated(text, best.score, len(sentence.words), lists, warning)

    @property
    def files(self) -> Folder:
        """The files that it reads."""
        return self.model.files(folds=self._folds)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a translator that does the same, for another process."""
        return {
            "weights": self.weights,
            "options": self.options,
            "decoder": self._decoder_options,
            "templates": self.templates,
            "folders": [folder.absolute() for folder in self.folders],
            "folds": self._folds,
        }

    def _posterior_scale(self) -> float:
        """The factor that turns scores into log probabilities, up to a constant.

        Most tuners do not determine the norm of the weights, and with a small norm all derivations
        are about equally probable. The default gives the language model the weight 1. With it,
        --mbr was better than the best derivation by 1.3 BLEU and --max-translation by 1.1, at worst
        0.7 below it (means of seven cases: a tuned Moses model, and models of the built-in world of
        both systems with default weights and those of MERT and batch MIRA; language model weights
        from 0.04 to 2.2). Half or twice this factor is about as good.
        """
        if self.options.posterior_scale is not None or not (
            self.options.mbr or self.options.max_translation
        ):
            return self.options.posterior_scale or 1.0
        weight = self.decoder.language_weight(self.weights)
        if not weight > 0:
            raise OptionError(
                f"--posterior-scale: the language models' weight is {weight:g}, so there is no "
                "default; give a number, such as 10 if the absolute weights sum to 1"
            )
        return 1.0 / weight

    def choose(
        self, forest: Forest, number: int = 0, weights: Weights | None = None
    ) -> Derivation | None:
        """The derivation whose words are the translation, or None if there is none.

        `number`: the sentence number, which seeds the samples; `weights`: the weights of the
        forest's features (default: the translator's).
        """
        weights = self.weights if weights is None else weights
        if not (self.options.mbr or self.options.max_translation):
            return viterbi(forest, weights)
        if self.options.mbr:
            lowest_risk = consensus(forest, weights, scale=self._scale)
            return None if lowest_risk is None else lowest_risk.derivation
        scores = edge_scores(forest, weights)
        most_probable = max_translation(
            forest,
            scores=scaled(scores, self._scale),
            samples=self.options.samples or 1000,
            seed=self.options.seed * 0x9E3779B1 + number,
        )
        if most_probable is None:
            return None
        return derivation_of(forest, most_probable.derivation.edges, scores)

    def read(self, line: str, place: str = "line") -> Marked:
        """The sentence of an input line, and its target if it has one."""
        marked = self.model.rule_system.read(
            line,
            place,
            self.folders,
            markup=self.options.markup,
            escaped=self._escaped,
            source_words=self._source.prepare,
            target_words=self._target.prepare,
        )
        if self.options.markup == "off":
            self.check(marked.sentence, place)
        if self._unknown is not None:
            words = marked.sentence.words
            replaced = self._unknown.replace(words, self.model.rules.covered(words))
            return marked._replace(sentence=replace(marked.sentence, words=tuple(replaced)))
        return marked

    def _unknown_words(self) -> UnknownWords | None:
        """The treatment of unknown words, None if they are copied."""
        treatment = self.options.unknown
        if treatment == "copy":
            return None
        if not self.model.has_rules:
            raise OptionError(
                f"--unknown {treatment}: {self.model.directory} has no rule table, so no word is "
                "known; leave it out"
            )
        shown = self.options.trace or self.options.trace_alignment
        if treatment == "drop" and (shown or self.options.markup != "off"):
            raise OptionError(
                "--unknown drop: changes the positions of words, so it does not go with --markup, "
                "--trace and --trace-alignment; leave one out"
            )
        return UnknownWords(self.model.rules.single_words(), treatment)

    def check(self, sentence: Sentence, place: str) -> None:
        """Raise an `InputError` if there are no rules for a sentence."""
        if not self.model.has_rules and sentence.grammar is None and sentence.words:
            raise InputError(
                f"{place}: this model has no rule table; each line needs a grammar, as "
                'in <seg grammar="FILE"> words </seg>'
            )

    @staticmethod
    def _is_plain(sentence: Sentence, target: Sequence[str] | None) -> bool:
        """Whether a line is words only, without markup that the user could correct."""
        return sentence.grammar is None and not sentence.options and target is None

    def restore(self, words: Sequence[str]) -> str:
        """The text of translated words: their tokenisation and casing undone."""
        return self._target.restore(words)

    def links(self, sentence: Sentence) -> Callable[[int], Sequence[tuple[int, int]]]:
        """A function from the rule number of an edge to the word links inside the rule.

        Rules are those of the model's table, then of the sentence's grammar: rule r of the second
        of two has the number 2^32 + r.
        """
        tables = [self.model.rules] if self.model.has_rules else []
        if sentence.grammar is not None:
            from hopefear.rules.cdec import read_grammar

            tables.append(read_grammar(sentence.grammar))
        return lambda rule: tables[rule >> 32].engine.rule(rule & 0xFFFFFFFF)[1]

    def _empty(self, id: str) -> str:
        traces = self.options.trace + self.options.trace_alignment
        return self._writer.empty(id, [""] * traces)

    def _entry(self, id: str, derivation: Derivation, links: trace.LinksOf) -> str:
        columns = []
        if self.options.trace or self.options.trace_alignment:
            uses = self.model.rule_system.uses(derivation)
            if self.options.trace:
                columns.append(self.model.rule_system.show(uses))
            if self.options.trace_alignment:
                pairs = trace.word_alignment(uses, links)
                columns.append(" ".join(f"{i}-{j}" for i, j in pairs))
        return self._writer.line(id, derivation, self.decoder.names, columns)


class TranslateJob(Job[tuple[int, str], Translated]):
    """Translation of numbered lines."""

    def __init__(self, translator: Translator, place: str) -> None:
        self._translator, self._place = translator, place

    def files(self) -> Iterable[Path | Folder]:
        return (self._translator.files,)

    def open(self, resources: Resources) -> Callable[[tuple[int, str]], Translated]:
        return partial(self._translator.translate_line, self._place)

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = self._translator.arguments()
        return RemoteTranslateJob, (self._translator.files, arguments, self._place)


class RemoteTranslateJob(Job[tuple[int, str], Translated]):
    """The job in another process, which makes a translator of its own.

    It has no warnings: the process that sent the job made the same translator.
    """

    def __init__(self, folder: Folder, arguments: Mapping[str, Any], place: str) -> None:
        self._folder, self._arguments, self._place = folder, arguments, place
        self._translator: Translator | None = None

    def open(self, resources: Resources) -> Callable[[tuple[int, str]], Translated]:
        if self._translator is None:
            model = Model.load(resources.path(self._folder.root))
            self._translator = Translator(model, warn=lambda text: None, **self._arguments)
        return partial(self._translator.translate_line, self._place)


def _no_links(rule: int) -> Sequence[tuple[int, int]]:
    return ()


def unmatched(
    weights: Weights, dense: Sequence[str], templates: Mapping[str, Any] | None
) -> Iterator[str]:
    """Yield warnings about features without a weight and weights without a feature.

    `templates`: the feature templates in use; None: any feature may occur.
    """
    if not weights.active:
        raise InputError(
            "all weights are 0; give weights written by 'hopefear tune' or 'hopefear train'"
        )
    missing = [name for name in dense if name not in weights]
    if missing:
        yield f"no weight for {_listed(missing)}; using 0"
    if templates is None or weights.names is None:
        return
    known = set(dense)
    few = len(weights) <= _CHECKED  # checking millions of names would take a minute
    unknown = [
        name
        for name, value in (weights.items() if few else weights.top(_CHECKED))
        if value != 0 and name not in known and name.partition(":")[0] not in templates
    ]
    if unknown:
        off = sorted({name.partition(":")[0] for name in unknown if ":" in name})
        hint = f"; templates not in use: {_listed(off)} (--templates)" if off else ""
        among = "" if few else f" of the {_CHECKED:,} largest"
        listed = _listed(unknown) + among
        yield f"weights of features that the model lacks: {listed}; ignored{hint}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED:,} more"
