"""What `hopefear tune` tunes: a decoder of ours or another one, and how text is read for it."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopefear.base.errors import InputError, OptionError
from hopefear.cli.translate import chosen_templates

if TYPE_CHECKING:
    from hopefear.base.console import Console
    from hopefear.base.weights import Weights
    from hopefear.cli.tune import Tune
    from hopefear.decode.contract import Decoder
    from hopefear.learn.loop.batch import TuningSet
    from hopefear.model.directory import Model


@dataclass
class System:
    """What is tuned: a decoder, the weights to start from, and how text is read for it."""

    decoder: Decoder
    weights: Weights
    config: Mapping[str, Any]
    sentence: Callable[[str, str], Any]  # of a source line and its place
    reference: Callable[[str], str]
    model: Model | None = None  # that the decoder is of
    digests: dict[Path, str] = field(default_factory=dict)  # of the texts that were read
    # What runs as long as there is something to decode.
    running: AbstractContextManager[Any] = field(default_factory=nullcontext)

    def read(self, sources: Sequence[Path], references: Sequence[Path]) -> TuningSet:
        """A set as the decoder and the metric take it."""
        from hopefear.learn.loop.batch import TuningSet
        from hopefear.text.lines import read_parallel

        sentences, expected = [], []
        (source,) = sources
        paths = [source, *references]
        hashes = [hashlib.sha256() for _ in paths]  # now: standard input comes only once
        for number, row in enumerate(read_parallel(paths), 1):
            for line, digest in zip(row, hashes, strict=True):
                digest.update(f"{line}\n".encode())
            sentences.append(self.sentence(row[0], f"{source}:{number}"))
            expected.append([self.reference(line) for line in row[1:]])
        for path, digest in zip(paths, hashes, strict=True):
            self.digests[path] = digest.hexdigest()[:16]
        return TuningSet(sentences, expected)

    def without_own_rules(self, data: TuningSet) -> TuningSet:
        """Training data whose sentences are decoded without what the model has from them alone."""
        from hopefear.decode.forced import leaving_out
        from hopefear.learn.loop.batch import TuningSet

        assert self.model is not None
        if "leave-out" not in self.decoder.can:
            raise OptionError(
                f"--leave-out: is for phrase models, {self.model.directory} is a "
                f"{self.model.system} model; give --folds, of a model that was trained with it"
            )
        pairs = zip(data.sentences, data.references, strict=True)
        marked = [leaving_out(source, texts[0]) for source, texts in pairs]
        return TuningSet(marked, data.references)

    def in_folds(self, data: TuningSet, place: Path) -> TuningSet:
        """Training data whose sentences are decoded without what their folds gave the model."""
        from hopefear.decode.contract import Sentence
        from hopefear.learn.loop.batch import TuningSet
        from hopefear.model.folds import in_folds
        from hopefear.text.tokenizers.plain import split_words

        assert self.model is not None
        targets = (split_words(texts[0]) for texts in data.references)
        pairs = zip(map(Sentence.of, data.sentences), targets, strict=True)
        return TuningSet(in_folds(self.model, pairs, place), data.references)

    def aligned(self, data: TuningSet, path: Path) -> TuningSet:
        """Training data with a word alignment."""
        from hopefear.align import read_alignments
        from hopefear.decode.contract import Sentence
        from hopefear.learn.loop.batch import TuningSet
        from hopefear.learn.loop.run import digest_of
        from hopefear.text.tokenizers.plain import split_words

        sentences = [Sentence.of(sentence) for sentence in data.sentences]
        pairs = zip(sentences, data.references, strict=True)
        lengths = ((len(one.words), len(split_words(texts[0]))) for one, texts in pairs)
        links = read_alignments(path, lengths=lengths)
        aligned = zip(sentences, links, strict=True)
        self.digests[path] = digest_of(path)
        return TuningSet(
            [replace(one, links=tuple(points)) for one, points in aligned], data.references
        )


def model_system(command: Tune, model: Model, console: Console) -> System:
    """A model directory with its own decoder and text steps."""
    from hopefear.model.translate import TranslateOptions, Translator

    overrides = command.overrides(model.decoder_class.options_class)
    # A model that was never tuned has default weights; this is what we are here for.
    weights = model.weights(command.weights, warn=lambda text: None)
    translator = Translator(
        model,
        weights=weights,
        options=TranslateOptions(tokenized=command.tokenized),
        decoder=overrides,
        templates=chosen_templates(command.templates, model),
        folders=[*(path.parent for path in command.sources), Path()],
        folds=command.folds,
        warn=console.warn,
    )
    return System(
        decoder=translator.decoder,
        weights=weights,
        config={
            "decoder": overrides,
            "templates": {name: dict(values) for name, values in translator.templates.items()},
            "model": model.contents(),
            **({"folds": _contents_of_folds(model)} if command.folds else {}),
        },
        sentence=lambda line, place: translator.read(line, place)[0],
        reference=_reference_steps(command, model, console),
        model=model,
    )


def external_system(
    command: Tune, line: str, model: Model | None, k: int, console: Console
) -> System:
    """Another system's decoder; a model, if given, has the text steps only."""
    from hopefear.base.config import from_mapping
    from hopefear.base.weights import Weights
    from hopefear.decode.contract import Sentence
    from hopefear.decode.remote.external import ExternalDecoder, ExternalOptions

    given = command.overrides(ExternalOptions)
    decoder = ExternalDecoder(from_mapping(ExternalOptions, {"k": k, **given, "command": line}))
    if command.weights is not None:
        weights = Weights.load(command.weights)
    else:
        weights = decoder.start_weights()
        if not weights.active:
            raise OptionError(
                "--decoder: no weights to start from; give --weights FILE, or the decoder's "
                "moses.ini with --options config=FILE"
            )
    source = None if command.tokenized or model is None else model.text("source", console.warn)

    def sentence(text: str, place: str) -> Sentence:
        return Sentence.of(text if source is None else source.prepare(text))

    return System(
        decoder=decoder,
        weights=weights,
        config={
            "decoder": {"command": line, **{key: str(value) for key, value in given.items()}},
            "model": {} if model is None else model.contents(),
        },
        sentence=sentence,
        reference=_reference_steps(command, model, console),
    )


def stream_system(
    command: Tune, line: str, model: Model | None, k: int, learners: int, console: Console
) -> System:
    """A decoder that serves learners; a model, if given, has the text steps and the weights."""
    from hopefear.base.config import from_mapping
    from hopefear.decode.contract import Sentence
    from hopefear.decode.markup import read_segment
    from hopefear.decode.remote.stream import StreamDecoder, StreamOptions
    from hopefear.model.importing.cdec import load_weights
    from hopefear.text.tokenizers.plain import split_words

    given = command.overrides(StreamOptions)
    options = from_mapping(StreamOptions, {"k": k, **given, "command": line})
    if command.weights is not None:
        weights = load_weights(command.weights)
    elif model is not None:
        weights = model.weights(warn=lambda text: None)
    else:
        raise OptionError("--stream-decoder: no weights to start from; give --weights FILE")
    decoder = StreamDecoder(options, weights, learners=learners, warn=console.warn)
    source = None if command.tokenized or model is None else model.text("source", console.warn)
    words = split_words if source is None else source.prepare
    folders = [*(path.parent for path in command.sources), Path()]

    numbers = itertools.count()

    def sentence(text: str, place: str) -> Sentence:
        found, target = read_segment(text, place, folders, source_words=words)
        if target is not None:
            raise InputError(
                f"{place}: has text after |||, which cannot be told to the decoder; take it out, "
                "references are in files of their own (--refs)"
            )
        number = str(next(numbers))
        return found if found.id else replace(found, id=number)

    return System(
        decoder=decoder,
        weights=weights,
        config={
            "decoder": {"stream": line, **{key: str(value) for key, value in given.items()}},
            "model": {} if model is None else model.contents(),
        },
        sentence=sentence,
        reference=_reference_steps(command, model, console),
        running=decoder,
    )


def _reference_steps(command: Tune, model: Model | None, console: Console) -> Callable[[str], str]:
    if command.tokenized or model is None:
        return str
    target = model.text("target", console.warn)
    return lambda line: " ".join(target.prepare(line))


def _contents_of_folds(model: Model) -> list[str]:
    from hopefear.learn.loop.run import digest_of

    return [digest_of(path) for path in model.fold_files()]
