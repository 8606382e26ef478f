"""The functions that `hopefear` exports: what the commands do, for Python.

Their keywords are the options of the commands, by the same names: the fields of `TrainOptions`,
`TuneOptions`, `TranslationOptions`, `ScoreOptions` and `RerankOptions`. A keyword that nobody knows
is an `OptionError` that suggests one. A string or a path is a file, a list is sentences in memory.
Progress is shown on stderr, as commands do (`display`: "auto", "bar", "lines", "off", or a
`Display`); warnings are Python's; nothing else is printed, but `tell` is called with each line that
a command would print while it works.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from hopefear.base import registry
from hopefear.base.config import from_mapping
from hopefear.base.errors import OptionError, suggestion
from hopefear.base.files import PathLike
from hopefear.base.progress import Display, Mode
from hopefear.base.progress import display as make_display
from hopefear.base.weights import Weights
from hopefear.learn import rerank as reranking
from hopefear.learn.rerank import Reranker
from hopefear.learn.rerank_options import RerankOptions
from hopefear.metrics import score as scoring
from hopefear.metrics.score import Scores
from hopefear.metrics.score_options import ScoreOptions
from hopefear.model import translations, tuning
from hopefear.model.directory import Model
from hopefear.model.run import Run
from hopefear.model.translations import TranslationOptions, Translations
from hopefear.model.tune_options import TuneOptions
from hopefear.text.lines import Text, Texts, read_lines

__all__ = ["rerank", "score", "train", "translate", "tune"]

Shown = Display | Mode
Tell = Callable[[str], None]
T = TypeVar("T")


def train(
    source: PathLike,
    target: PathLike,
    *,
    model: PathLike,
    plugin: Sequence[PathLike] | PathLike = (),
    display: Shown = "auto",
    tell: Tell | None = None,
    **options: Any,
) -> Model:
    """Train a translation model from two texts that correspond line by line.

    Takes files, the directory of the model, and the fields of `TrainOptions`; returns the model.
    What is there already is not done again.

        model = hopefear.train("train.fr", "train.en", model="fr-en", order=3)
    """
    _load_plugins(plugin)
    # Now: the options of training have those of every system that is known.
    from hopefear.model.train import TrainOptions
    from hopefear.model.train import train as train_model

    train_model(
        source,
        target,
        model,
        _options(TrainOptions, options, "train"),
        display=_display(display),
        tell=tell or _silent,
    )
    return Model.load(model)


def tune(
    model: Model | PathLike | None = None,
    *,
    refs: Sequence[Text] | PathLike,
    tuner: str,
    output: PathLike,
    dev: Text | None = None,
    train: Sequence[Text] = (),
    heldout: Text | None = None,
    heldout_refs: Sequence[Text] | PathLike = (),
    weights: Weights | PathLike | None = None,
    tuner_options: Mapping[str, Any] | None = None,
    metric_options: Mapping[str, Any] | None = None,
    decoder_options: Mapping[str, Any] | None = None,
    display: Shown = "auto",
    tell: Tell | None = None,
    **options: Any,
) -> Run:
    """Learn the weights of a model on a development set, or on a bitext.

    Takes a model or its directory, the set and its references, the name of a tuner, the directory
    of the run, and the fields of `TuneOptions`; returns the run. The options of the tuner, the
    metric and the decoder are mappings.

        run = hopefear.tune("fr-en", dev="dev.fr", refs=["dev.en"], tuner="mert", output="run",
                            tuner_options={"restarts": 5}, seed=1)
        run.weights, run.dev_bleu
    """
    _load_plugins(options.get("plugin") or ())
    texts = Texts()
    given: dict[str, Any] = {
        **options,
        "model": model.directory if isinstance(model, Model) else model,
        "refs": _texts(texts, refs, "refs"),
        "tuner": tuner,
        "output": output,
        "dev": None if dev is None else texts.add(dev, "dev"),
        "train": _texts(texts, train, "train"),
        "heldout": None if heldout is None else texts.add(heldout, "heldout"),
        "heldout_refs": _texts(texts, heldout_refs, "heldout_refs"),
        "weights": None if isinstance(weights, Weights) else weights,
    }
    return tuning.tune(
        _options(TuneOptions, _with_decoder(given, decoder_options), "tune"),
        tuner_options,
        metric_options,
        weights=weights if isinstance(weights, Weights) else None,
        texts=texts,
        display=_display(display),
        tell=tell or _silent,
        warn=_warn,
    )


def translate(
    model: Model | PathLike,
    text: Text,
    *,
    weights: Weights | PathLike | None = None,
    decoder_options: Mapping[str, Any] | None = None,
    display: Shown = "auto",
    **options: Any,
) -> Translations:
    """Translate sentences, or a file of them.

    Takes a model or its directory, the text, weights (default: the model's), and the fields of
    `TranslationOptions`; returns a list of `Translated`.

        hopefear.translate("fr-en", ["la maison bleue"], weights=run.weights).texts
    """
    _load_plugins(options.get("plugin") or ())
    texts = Texts()
    path = texts.add(text, "text")
    return translations.translate(
        model if isinstance(model, Model) else Model.load(model),
        texts.get(path, path),
        _options(TranslationOptions, _with_decoder(options, decoder_options), "translate"),
        weights=weights,
        display=_display(display),
        warn=_warn,
    )


def score(
    hypotheses: Text | Sequence[Text],
    *,
    refs: Sequence[Text] | PathLike,
    versus: Sequence[Text] | Mapping[str, Text] | PathLike = (),
    display: Shown = "auto",
    **options: Any,
) -> Scores:
    """Score translations against references: BLEU, chrF, TER, length; compare systems.

    Takes translations, references, other systems to compare with (with names, if a mapping), and
    the fields of `ScoreOptions`; returns `Scores`. With `runs=N`, `hypotheses` is a list of the N
    runs of a system, and `versus` has N for each other one.

        scores = hopefear.score("out.en", refs=["test.en"], versus=["other.en"])
        scores.bleu, scores.versus[0].p_value
    """
    texts = Texts()
    several = options.get("runs", 1) != 1
    runs = hypotheses if several else [hypotheses]
    if isinstance(versus, Mapping):  # files too are called by the names, not as files
        others = [
            texts.add(read_lines(part) if isinstance(part, str | os.PathLike) else part, label)
            for name, given in versus.items()
            for part, label in _labelled(given if several else [given], name)
        ]
    else:
        others = _texts(texts, versus, "versus")
    given = {
        **options,
        "hyp": _texts(texts, runs, "hypotheses"),
        "refs": _texts(texts, refs, "refs"),
        "versus": others,
    }
    return scoring.score(
        _options(ScoreOptions, given, "score"), texts=texts, display=_display(display)
    )


def rerank(
    *,
    nbest: PathLike | Iterable[Mapping[str, Any]],
    tuner: str,
    refs: Sequence[Text] | PathLike = (),
    weights: Weights | PathLike | None = None,
    tuner_options: Mapping[str, Any] | None = None,
    metric_options: Mapping[str, Any] | None = None,
    display: Shown = "auto",
    tell: Tell | None = None,
    **options: Any,
) -> Reranker:
    """Learn weights that rerank the n-best lists of any system.

    Takes a file of lists, or its entries in memory (`{"id": 0, "text": "a house", "features":
    {"nmt": -3.1}}`), references, the name of a tuner, and the fields of `RerankOptions`; returns a
    `Reranker`.

        reranker = hopefear.rerank(nbest="dev.nbest", refs=["dev.en"], tuner="mert", folds=5)
        reranker.tuned, reranker.apply("test.nbest")
    """
    _load_plugins(options.get("plugin") or ())
    texts = Texts()
    entries = None if isinstance(nbest, str | os.PathLike) else list(nbest)
    given = {
        **options,
        "nbest": nbest if entries is None else Path("<nbest>"),
        "tuner": tuner,
        "refs": _texts(texts, refs, "refs"),
        "weights": None if isinstance(weights, Weights) else weights,
    }
    return reranking.rerank(
        _options(RerankOptions, given, "rerank"),
        tuner_options,
        metric_options,
        entries=entries,
        weights=weights if isinstance(weights, Weights) else None,
        texts=texts,
        display=_display(display),
        tell=tell or _silent,
        warn=_warn,
    )


# -- from keywords to options --


def _options(cls: type[T], given: Mapping[str, Any], place: str) -> T:
    """An object of options; tuples may stand for lists, any path-like for a path."""
    plain = {name: _plain(value) for name, value in given.items() if value is not None}
    return from_mapping(cls, plain, place)


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return Path(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _with_decoder(
    given: Mapping[str, Any], decoder_options: Mapping[str, Any] | None
) -> dict[str, Any]:
    """With the decoder's options as KEY=VALUE, which is how commands have them."""
    pairs = [f"{name}={_text(value)}" for name, value in (decoder_options or {}).items()]
    return {**given, "options": [*(given.get("options") or []), *pairs]}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return " ".join(map(_text, value))
    return str(value)


def _texts(texts: Texts, given: Any, name: str) -> list[Path]:
    """The paths of several texts; one path may stand for a list of it."""
    if isinstance(given, str | os.PathLike):
        return [Path(given)]
    for part in given:
        if isinstance(part, str) and " " in part and not Path(part).exists():
            raise OptionError(
                f"{name}: {part!r} is no file; a text in memory is a list of sentences, as in "
                f"{name}=[[…], […]]"
            )
    return [texts.add(part, label) for part, label in _labelled(given, name)]


def _labelled(given: Any, name: str) -> list[tuple[Any, str]]:
    """Several texts with names, which are numbered if there are two or more."""
    parts = list(given)
    if len(parts) == 1:
        return [(parts[0], name)]
    return [(part, f"{name} {number}") for number, part in enumerate(parts, 1)]


def _load_plugins(paths: Sequence[PathLike] | PathLike) -> None:
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        registry.load_plugin(Path(path))


# -- what a person sees --


def _display(shown: Shown) -> Display:
    if isinstance(shown, Display):
        return shown
    if shown not in get_args(Mode):
        raise OptionError(f"display: {shown!r} is not valid; {suggestion(shown, get_args(Mode))}")
    return make_display(shown)


def _silent(text: str) -> None:
    """Tell nobody."""


def _warn(text: str) -> None:
    """Warn at the line outside of the package that the work is done for."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("hopefear."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)
