"""Input of tuning: a built-in decoder, an external one or forests from files, and the texts.

Takes `TuneOptions` and returns a `TuningInput`: the decoder, the initial weights, their entry in
the configuration of the run, and `read`, which makes a `TuningSet` of parallel texts.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hopefear.align import read_alignments
from hopefear.base.config import from_mapping
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import digest_of, display_name
from hopefear.base.weights import Weights
from hopefear.decode.contract import Decoder, Sentence, refusal
from hopefear.decode.forced import leaving_out
from hopefear.decode.markup import read_segment
from hopefear.decode.precomputed import GivenForests
from hopefear.decode.remote.external import ExternalDecoder, ExternalOptions
from hopefear.decode.remote.stream import StreamDecoder, StreamOptions
from hopefear.decode.source import DecoderSource
from hopefear.learn.loop.judge import TuningSet
from hopefear.model.directory import Model
from hopefear.model.folds import in_folds, text_files, training_text
from hopefear.model.overrides import chosen_templates
from hopefear.model.source import ModelDecoder
from hopefear.model.translate import TranslateOptions, Translator
from hopefear.model.tune_options import TuneOptions
from hopefear.text.lines import read_parallel
from hopefear.text.spacing import is_tokenized
from hopefear.text.tokenizers.plain import split_words

Warn = Callable[[str], None]


@dataclass(kw_only=True)
class TuningInput:
    """A decoder, its initial weights, and the functions that read texts for it."""

    decoder: Decoder
    weights: Weights
    config: Mapping[str, Any]
    sentence: Callable[[str, str], Any]  # (source line, its place) -> input of the decoder
    reference: Callable[[str], str]  # reference line -> tokenised text
    texts: Mapping[Path, Sequence[str]]  # texts in memory, by the paths that stand for them
    model: Model | None = None  # the model of a built-in decoder
    source: DecoderSource | None = None  # of a built-in decoder, for a cluster
    warn: Warn = lambda text: None  # called once if references are tokenised that should be raw
    digests: dict[Path, str] = field(default_factory=dict)  # of the files read so far
    # Open while the decoder is in use: the process of a stream decoder.
    running: AbstractContextManager[Any] = field(default_factory=nullcontext)

    def read(self, sources: Sequence[Path], references: Sequence[Path]) -> TuningSet:
        """Read parallel texts and return the sentences for the decoder and their references."""
        sentences, expected = [], []
        rows = self._rows([*sources, *references])
        if (
            is_tokenized(line for row in rows for line in row[1:])
            and is_tokenized(row[0] for row in rows) is not True
        ):
            self.warn(
                f"{display_name(references[0])}: has blanks before commas and full stops, as "
                "tokenised text has, but the model translates into raw text; give the raw "
                "references"
            )
            self.warn = _silent
        for number, row in enumerate(rows, 1):
            sentences.append(self.sentence(row[0], f"{sources[0]}:{number}"))
            expected.append([self.reference(line) for line in row[1:]])
        return TuningSet(sentences, expected)

    def _rows(self, paths: Sequence[Path]) -> Sequence[Sequence[str]]:
        """The lines of parallel texts, hashed while reading: standard input is read only once."""
        hashes = [hashlib.sha256() for _ in paths]
        rows = []
        for row in read_parallel(paths, self.texts):
            for line, digest in zip(row, hashes, strict=True):
                digest.update(f"{line}\n".encode())
            rows.append(row)
        for path, digest in zip(paths, hashes, strict=True):
            self.digests[path] = digest.hexdigest()[:16]
        return rows

    def without_own_rules(self, data: TuningSet) -> TuningSet:
        """Training data with each sentence decoded without the rules that come from it alone."""
        assert self.model is not None
        if "leave-out" not in self.decoder.can:
            raise OptionError(
                f"--leave-out: {refusal('leave-out', self.decoder.title)}; train "
                f"{self.model.directory} with --folds and give --folds instead"
            )
        pairs = zip(data.sentences, data.references, strict=True)
        marked = [leaving_out(source, texts[0]) for source, texts in pairs]
        return TuningSet(marked, data.references)

    def in_folds(self, data: TuningSet, place: Path) -> TuningSet:
        """Training data with each sentence decoded by a model trained without its fold.

        `place`: the source file, for error messages.
        """
        assert self.model is not None
        targets = (split_words(texts[0]) for texts in data.references)
        pairs = zip(map(Sentence.of, data.sentences), targets, strict=True)
        return TuningSet(in_folds(self.model, pairs, place), data.references)

    def own_text(self) -> TuningSet:
        """The text that the model was trained on, each pair with its fold."""
        assert self.model is not None
        sentences, references = training_text(self.model)
        self.digests |= {path: digest_of(path) for path in text_files(self.model)}
        return TuningSet(sentences, references)

    def aligned(self, data: TuningSet, path: Path) -> TuningSet:
        """Training data with the word alignment of a file."""
        sentences = [Sentence.of(sentence) for sentence in data.sentences]
        pairs = zip(sentences, data.references, strict=True)
        lengths = ((len(source.words), len(split_words(texts[0]))) for source, texts in pairs)
        links = read_alignments(path, lengths=lengths)
        aligned = zip(sentences, links, strict=True)
        self.digests[path] = digest_of(path)
        return TuningSet(
            [replace(source, links=tuple(points)) for source, points in aligned], data.references
        )


def tuning_input(
    options: TuneOptions,
    *,
    k: int,
    learners: int,
    weights: Weights | None,
    texts: Mapping[Path, Sequence[str]],
    warn: Warn,
) -> TuningInput:
    """Load the decoder, or the lattices, that the options name.

    `k`: size of the k-best lists of an external decoder; `weights`: initial weights, instead of
    those of the options; `texts`: texts in memory, keyed by the paths that stand for them.
    """
    if options.lattices:
        return _lattices(options, weights, texts)
    model = None if options.model is None else Model.load(options.model)
    if options.decoder is not None:
        return _external(options, options.decoder, model, k, weights, texts, warn)
    if options.stream_decoder is not None:
        return _stream(options, options.stream_decoder, model, k, learners, weights, texts, warn)
    assert model is not None, "see TuneOptions.check"
    return _built_in(options, model, weights, texts, warn)


def _built_in(
    options: TuneOptions,
    model: Model,
    weights: Weights | None,
    texts: Mapping[Path, Sequence[str]],
    warn: Warn,
) -> TuningInput:
    """The built-in decoder of a model, with the text steps of the model."""
    overrides = options.overrides(model.decoder_class.options_class)
    if weights is None:
        # No warning about default weights: tuning replaces them.
        weights = model.weights(options.weights, warn=lambda text: None)
    translator = Translator(
        model,
        weights=weights,
        options=TranslateOptions(tokenized=options.tokenized, unknown=options.unknown),
        decoder=overrides,
        templates=chosen_templates(options.templates, model),
        folders=_folders(options),
        folds=options.folds,
        warn=warn,
    )
    folds = {"folds": [digest_of(path) for path in model.fold_files()]} if options.folds else {}
    return TuningInput(
        decoder=translator.decoder,
        weights=weights,
        config={
            "decoder": overrides,
            "templates": {name: dict(values) for name, values in translator.templates.items()},
            "model": model.contents(),
            **({"grammars": [str(path) for path in options.grammars]} if options.grammars else {}),
            **({} if options.unknown == "copy" else {"unknown": options.unknown}),
            **folds,
        },
        sentence=lambda line, place: translator.read(line, place)[0],
        reference=_reference_steps(options, model, warn),
        warn=_raw_warn(options, model, warn),
        texts=texts,
        model=model,
        source=ModelDecoder.of(
            model, options=overrides, templates=translator.templates, folds=options.folds
        ),
    )


def _external(
    options: TuneOptions,
    command: str,
    model: Model | None,
    k: int,
    weights: Weights | None,
    texts: Mapping[Path, Sequence[str]],
    warn: Warn,
) -> TuningInput:
    """The decoder of another system; of a model only the text steps are used."""
    overrides = options.overrides(ExternalOptions)
    decoder = ExternalDecoder(
        from_mapping(ExternalOptions, {"k": k, **overrides, "command": command})
    )
    if weights is None and options.weights is not None:
        weights = Weights.load(options.weights)
    elif weights is None:
        weights = decoder.start_weights()
        if not weights.active:
            raise OptionError(
                "--decoder: no initial weights; give --weights FILE, or the decoder's moses.ini "
                "with --options config=FILE"
            )
    words = _source_words(options, model, warn)

    def sentence(text: str, place: str) -> Sentence:
        return Sentence(tuple(words(text)))

    return TuningInput(
        decoder=decoder,
        weights=weights,
        config=_remote_config("command", command, overrides, model),
        sentence=sentence,
        reference=_reference_steps(options, model, warn),
        warn=_raw_warn(options, model, warn),
        texts=texts,
    )


def _stream(
    options: TuneOptions,
    command: str,
    model: Model | None,
    k: int,
    learners: int,
    weights: Weights | None,
    texts: Mapping[Path, Sequence[str]],
    warn: Warn,
) -> TuningInput:
    """A stream decoder; of a model only the text steps and the weights are used."""
    overrides = options.overrides(StreamOptions)
    stream_options = from_mapping(StreamOptions, {"k": k, **overrides, "command": command})
    if weights is None and options.weights is not None:
        weights = Weights.load(options.weights)
    elif weights is None and model is not None:
        weights = model.weights(warn=lambda text: None)
    elif weights is None:
        raise OptionError("--stream-decoder: no initial weights; give --weights FILE")
    decoder = StreamDecoder(stream_options, weights, learners=learners, warn=warn)
    words = _source_words(options, model, warn)
    folders, numbers = _folders(options), itertools.count()

    def sentence(text: str, place: str) -> Sentence:
        segment, target = read_segment(text, place, folders, source_words=words)
        if target is not None:
            raise InputError(
                f"{place}: text after |||, which the stream decoder does not take; remove it and "
                "give references with --refs"
            )
        number = str(next(numbers))
        return segment if segment.id else replace(segment, id=number)

    return TuningInput(
        decoder=decoder,
        weights=weights,
        config=_remote_config("stream", command, overrides, model),
        sentence=sentence,
        reference=_reference_steps(options, model, warn),
        warn=_raw_warn(options, model, warn),
        texts=texts,
        running=decoder,
    )


@dataclass(kw_only=True)
class _LatticeInput(TuningInput):
    """Forests from files: a sentence is the number of its forest, references are tokenised."""

    decoder: GivenForests
    format: str | None
    core_names: Sequence[str]
    known: dict[tuple[Path, ...], list[Any]]  # sentences already read, by their files

    def read(self, sources: Sequence[Path], references: Sequence[Path]) -> TuningSet:
        sentences = self.known.get(tuple(sources)) or self.decoder.read(
            sources, self.format, self.core_names
        )
        expected = self._rows(references)
        if len(expected) != len(sentences):
            where = display_name(sources[0]) + (" …" if len(sources) > 1 else "")
            raise InputError(
                f"{where}: {len(sentences):,} lattices, but {display_name(references[0])} has "
                f"{len(expected):,} lines; give one reference line for each lattice"
            )
        for path in sources:
            self.digests[path] = digest_of(path)
        return TuningSet(sentences, [list(row) for row in expected])


def _lattices(
    options: TuneOptions, weights: Weights | None, texts: Mapping[Path, Sequence[str]]
) -> TuningInput:
    """The forests of files, instead of a decoder."""
    decoder = GivenForests()
    sentences = decoder.read(options.lattices, options.lattice_format, options.lattice_scores)
    if weights is None and options.weights is not None:
        weights = Weights.load(options.weights)
    elif weights is None:
        weights = decoder.start_weights()
        if not weights.active:
            raise OptionError(
                "--lattices: no initial weights; give --weights FILE, such as those of the system "
                "that made the lattices"
            )
    return _LatticeInput(
        decoder=decoder,
        weights=weights,
        config={
            "lattices": options.lattice_format or "by content",
            **({"scores": options.lattice_scores} if options.lattice_scores else {}),
        },
        sentence=lambda line, place: line,
        reference=str,
        texts=texts,
        format=options.lattice_format,
        core_names=options.lattice_scores,
        known={tuple(options.lattices): sentences},
    )


def _remote_config(
    kind: str, command: str, overrides: Mapping[str, Any], model: Model | None
) -> dict[str, Any]:
    return {
        "decoder": {kind: command, **{key: str(value) for key, value in overrides.items()}},
        "model": {} if model is None else model.contents(),
    }


def _folders(options: TuneOptions) -> list[Path]:
    """The directories that per-sentence grammars are searched in."""
    return [*(path.parent for path in options.sources), Path(), *options.grammars]


def _source_words(
    options: TuneOptions, model: Model | None, warn: Warn
) -> Callable[[str], Sequence[str]]:
    if model is None:
        return split_words
    return model.text("source", warn, tokenized=options.tokenized).prepare


def _silent(text: str) -> None:
    """Ignore a warning."""


def _raw_warn(options: TuneOptions, model: Model | None, warn: Warn) -> Warn:
    """The function for the warning about tokenised references, if references should be raw."""
    if options.tokenized or model is None:
        return _silent
    is_raw = str(model.settings["text"]["target"].get("tokenizer", "")).startswith("moses")
    return warn if is_raw else _silent


def _reference_steps(options: TuneOptions, model: Model | None, warn: Warn) -> Callable[[str], str]:
    return str if model is None else model.reference_steps(warn, tokenized=options.tokenized)
