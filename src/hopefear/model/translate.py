"""Translating: lines in, lines and n-best lists out, by whatever decoder the model has.

    translator = Translator(Model.load("fr-en"))
    for found in translator.translate(lines, threads=2):
        found.text, found.score, found.nbest

Raw text in, raw text out: the model's text steps are in between, unless it is `tokenized` already.
Results come in the order of the lines, each as soon as it is there, and do not depend on the number
of threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopefear.base.errors import HopefearError, InputError, OptionError
from hopefear.base.files import PathLike
from hopefear.base.threads import in_order
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
from hopefear.text.pipeline import TextPipeline

if TYPE_CHECKING:
    from hopefear._engine import Derivation, Forest

__all__ = ["TranslateOptions", "Translated", "Translator"]

_NAMED = 5  # so many features are named in a warning
_LOOKED_AT = 100_000  # weights, for it


@dataclass(frozen=True)
class Translated:
    """What became of a line."""

    text: str
    score: float | None  # of the best derivation; None if there is none
    source_words: int
    nbest: list[str] = field(default_factory=list)  # lines of the list
    warning: str = ""

    def __str__(self) -> str:
        return self.text


class Translator:
    """A model with weights and options, ready for lines; several threads may share it."""

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
        """`decoder`: options that override the model's; `templates`: the feature templates that
        are on and their options, instead of the model's; `folders`: where grammars are; `folds`:
        as in `Model.decoder`.
        """
        self.model, self.folders = model, folders
        self.options = options or TranslateOptions()
        if not self.options.nbest and (
            self.options.distinct or self.options.trace or self.options.trace_alignment
        ):
            raise OptionError("--distinct and --trace… are for n-best lists; give --nbest N")
        self.weights = (
            weights if isinstance(weights, Weights) else model.weights(weights, warn=warn)
        )
        self.templates = model.templates if templates is None else dict(templates)
        self.decoder = model.decoder(templates=templates, folds=folds, **(decoder or {}))
        # Lists show sparse features; a translation does not.
        collapses = not self.options.nbest and "collapse" in self.decoder.can
        self._collapsed = self.decoder.collapsed_weights(self.weights) if collapses else None
        self._scale = self._posterior_scale()
        # A grammar may have features of its own; what they are is not known before it is read.
        closed = model.has_rules and not model.rules.statistics().get("sparse_features", 0)
        on = self.templates if closed else None
        for note in unmatched(self.weights, self.decoder.dense, on):
            warn(note)
        self._writer = NbestWriter(self.decoder.dense)
        if self.options.tokenized:
            self._source = self._target = TextPipeline.as_it_is()
        else:
            self._source, self._target = model.text("source", warn), model.text("target", warn)
        self._escaped = bool(model.settings.get("imported", {}).get("escaped", False))

    def translate(
        self, lines: Iterable[str], *, place: str = "line", threads: int = 1
    ) -> Iterator[Translated]:
        """The translations of lines; `place` is how messages call where they come from."""
        yield from in_order(partial(self._one, place), enumerate(lines), threads)

    def _one(self, place: str, numbered: tuple[int, str]) -> Translated:
        number, line = numbered
        here = f"{place}:{number + 1}"
        sentence, target = self.read(line, here)
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
                # Too long, for instance: no reason to give up the lines after it.
                return Translated("", None, len(sentence.words), warning=f"{here}: {error}")
            raise type(error)(f"{here}: {error}") from None
        best = self.choose(forest, number, weights)
        if best is None:
            why = "this target cannot be derived" if target is not None else "no translation"
            return Translated(
                "", None, len(sentence.words), warning=f"{here}: {why}; the line stays empty"
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
        warning = f"{here}: {note}" if note else ""
        return Translated(text, best.score, len(sentence.words), lists, warning)

    def _posterior_scale(self) -> float:
        """What scores are multiplied with to be logs of probabilities, up to a constant.

        Most tuners leave the weights' length to chance, and what is too short makes all
        translations alike. By default a log of the language model counts as what it is. With
        that, --mbr was better than the best derivation by 1.3 BLEU and --max-translation by 1.1, at
        worst 0.7 below it (means of seven cases: a tuned Moses model, and models of the built-in
        world of both systems with default weights and those of MERT and batch MIRA; 0.04 to 2.2
        for the language model). From half to twice of it is about as good.
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
        """The derivation whose words are the translation; None if there is none.

        `number` is the sentence's: samples of different sentences are independent. `weights`: for
        the forest's features, if not the translator's.
        """
        weights = self.weights if weights is None else weights
        if not (self.options.mbr or self.options.max_translation):
            return viterbi(forest, weights)
        if self.options.mbr:
            agreed = consensus(forest, weights, scale=self._scale)
            return None if agreed is None else agreed.derivation
        scores = edge_scores(forest, weights)
        found = max_translation(
            forest,
            scores=scaled(scores, self._scale),
            samples=self.options.samples or 1000,
            seed=self.options.seed * 0x9E3779B1 + number,
        )
        return None if found is None else derivation_of(forest, found.derivation.edges, scores)

    def read(self, line: str, place: str = "line") -> Marked:
        """The sentence that a line stands for, and its target if it has one."""
        found = self.model.rule_system.read(
            line,
            place,
            self.folders,
            markup=self.options.markup,
            escaped=self._escaped,
            source_words=self._source.prepare,
            target_words=self._target.prepare,
        )
        if self.options.markup == "off":
            self.check(found.sentence, place)
        return found

    def check(self, sentence: Sentence, place: str) -> None:
        """That there are rules for a sentence."""
        if not self.model.has_rules and sentence.grammar is None and sentence.words:
            raise InputError(
                f"{place}: this model has no rules of its own; every line needs a grammar, as "
                'in <seg grammar="FILE"> words </seg>'
            )

    @staticmethod
    def _is_plain(sentence: Sentence, target: Sequence[str] | None) -> bool:
        """Whether a line has nothing but words, so that nothing in it can be mended."""
        return sentence.grammar is None and not sentence.options and target is None

    def restore(self, words: Sequence[str]) -> str:
        """Text of translated words."""
        return self._target.restore(words)

    def links(self, sentence: Sentence) -> Callable[[int], Sequence[tuple[int, int]]]:
        """What gives the word links inside a rule, by the number that edges have for it.

        The table of the model comes first, then the grammar of the sentence: rule r of the second
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
            found = self.model.rule_system.uses(derivation)
            if self.options.trace:
                columns.append(self.model.rule_system.show(found))
            if self.options.trace_alignment:
                pairs = trace.word_alignment(found, links)
                columns.append(" ".join(f"{i}-{j}" for i, j in pairs))
        return self._writer.line(id, derivation, self.decoder.names, columns)


def _no_links(rule: int) -> Sequence[tuple[int, int]]:
    return ()


def unmatched(
    weights: Weights, dense: Sequence[str], templates: Mapping[str, Any] | None
) -> Iterator[str]:
    """Remarks on weights of features that the model has not, and the other way round.

    `templates` are those that may fire features of their own; None: there may be any features.
    """
    if not weights.active:
        raise InputError("all weights are 0; give weights that 'hopefear tune' or train wrote")
    missing = [name for name in dense if name not in weights]
    if missing:
        yield f"no weight for {_listed(missing)}; taken as 0"
    if templates is None or weights.names is None:
        return
    known = set(dense)
    few = len(weights) <= _LOOKED_AT  # millions of names would take a minute
    unknown = [
        name
        for name, value in (weights.items() if few else weights.top(_LOOKED_AT))
        if value != 0 and name not in known and name.partition(":")[0] not in templates
    ]
    if unknown:
        off = sorted({name.partition(":")[0] for name in unknown if ":" in name})
        hint = f"; templates that are off: {_listed(off)} (--templates)" if off else ""
        among = "" if few else f" of the {_LOOKED_AT:,} largest"
        listed = _listed(unknown) + among
        yield f"weights for features that the model has not: {listed}; not used{hint}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED:,} more"
