"""The Python API: `train`, `tune`, `translate`, `score` and `rerank`, exported by `hopefear`.

Keywords are the options of the corresponding commands: the fields of `TrainOptions`, `TuneOptions`,
`TranslationOptions`, `ScoreOptions` and `RerankOptions`. An unknown keyword raises an `OptionError`
that suggests a known one. Where a text is expected, a string or a path names a file, and a list
contains sentences.

`display` selects the progress display on stderr ("auto", "bar", "lines", "off", or a `Display`).
Warnings are issued with Python's `warnings`. Nothing else is printed; `tell` is a function that
takes each message that the command would print while it works.
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
from hopefear.learn.rerank_entries import entries_of
from hopefear.learn.rerank_options import RerankOptions
from hopefear.learn.reranker import Reranker
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

DisplayMode = Display | Mode
Tell = Callable[[str], None]
T = TypeVar("T")


def train(
    source: PathLike,
    target: PathLike,
    *,
    model: PathLike,
    plugin: Sequence[PathLike] | PathLike = (),
    display: DisplayMode = "auto",
    tell: Tell | None = None,
    **options: Any,
) -> Model:
    """Train a translation model from a parallel text.

    Takes the source and target file, the model directory, and the fields of `TrainOptions`; returns
    the model. Steps that are already finished in the directory are not repeated.

        model = hopefear.train("train.fr", "train.en", model="fr-en", order=3)
    """
    plugins = _load_plugins(plugin)
    # Imported after the plugins: the options of training include those of every registered system.
    from hopefear.model.train import TrainOptions
    from hopefear.model.train import train as train_model

    train_model(
        source,
        target,
        model,
        _options(TrainOptions, options, "train"),
        display=_display(display),
        tell=tell or _silent,
        plugins=plugins,
    )
    return Model.load(model)


def tune(
    model: Model | PathLike | None = None,
    *,
    refs: Sequence[Text] | PathLike,
    tuner: str | None = None,
    output: PathLike,
    dev: Text | None = None,
    train: Sequence[Text] = (),
    heldout: Text | None = None,
    heldout_refs: Sequence[Text] | PathLike = (),
    weights: Weights | PathLike | None = None,
    tuner_options: Mapping[str, Any] | None = None,
    metric_options: Mapping[str, Any] | None = None,
    decoder_options: Mapping[str, Any] | None = None,
    display: DisplayMode = "auto",
    tell: Tell | None = None,
    **options: Any,
) -> Run:
    """Learn the weights of a model on a development set or a bitext.

    Takes a model or its directory, the development set and its references, the name of a tuner, the
    run directory, and the fields of `TuneOptions`; returns the run. The options of the tuner, the
    metric and the decoder are mappings from name to value.

        run = hopefear.tune("fr-en", dev="dev.fr", refs=["dev.en"], tuner="mert", output="run",
                            tuner_options={"restarts": 5}, seed=1)
        run.weights, run.dev_bleu

    `recipe="best"` instead of a tuner takes several steps (`model/recipes.py`); the run has them in
    `run.steps`.
    """
    _load_plugins(options.get("plugin") or ())
    texts = Texts()
    values: dict[str, Any] = {
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
        _options(TuneOptions, _with_decoder(values, decoder_options), "tune"),
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
    display: DisplayMode = "auto",
    **options: Any,
) -> Translations:
    """Translate a list of sentences or a file.

    Takes a model or its directory, the text, the weights (default: the model's), and the fields of
    `TranslationOptions`; returns a list of `Translated`.

        hopefear.translate("fr-en", ["la maison bleue"], weights=run.weights).texts
    """
    _load_plugins(options.get("plugin") or ())
    texts = Texts()
    if isinstance(text, str) and " " in text and not Path(text).exists():
        raise OptionError(f"text: no such file {text!r}; give sentences as a list: [{text!r}]")
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
    display: DisplayMode = "auto",
    **options: Any,
) -> Scores:
    """Score translations against references with BLEU, chrF, TER and length; compare systems.

    Takes translations, references, the translations of other systems (a mapping gives them names),
    and the fields of `ScoreOptions`; returns `Scores`. With `runs=N`, `hypotheses` is a list of the
    N runs of a system, and `versus` has N runs of each other system.

        scores = hopefear.score("out.en", refs=["test.en"], versus=["other.en"])
        scores.bleu, scores.versus[0].p_value
    """
    texts = Texts()
    several = options.get("runs", 1) != 1
    runs = hypotheses if several else [hypotheses]
    if isinstance(versus, Mapping):  # files are read here, so that they get the systems' names
        others = [
            texts.add(read_lines(part) if isinstance(part, str | os.PathLike) else part, label)
            for name, system in versus.items()
            for part, label in _labelled(system if several else [system], name)
        ]
    else:
        others = _texts(texts, versus, "versus")
    values = {
        **options,
        "hyp": _texts(texts, runs, "hypotheses"),
        "refs": _texts(texts, refs, "refs"),
        "versus": others,
    }
    return scoring.score(
        _options(ScoreOptions, values, "score"),
        texts=texts,
        display=_display(display),
        warn=_warn,
    )


def rerank(
    *,
    nbest: PathLike | Iterable[Mapping[str, Any]],
    tuner: str,
    refs: Sequence[Text] | PathLike = (),
    weights: Weights | PathLike | None = None,
    tuner_options: Mapping[str, Any] | None = None,
    metric_options: Mapping[str, Any] | None = None,
    display: DisplayMode = "auto",
    tell: Tell | None = None,
    **options: Any,
) -> Reranker:
    """Learn weights that rerank the n-best lists of any system.

    Takes a file of n-best lists, an iterable of entries (`{"id": 0, "text": "a house", "features":
    {"nmt": -3.1}}`) or a table of them, the references, the name of a tuner, and the fields of
    `RerankOptions`; returns a `Reranker`.

        reranker = hopefear.rerank(nbest="dev.nbest", refs=["dev.en"], tuner="mert", folds=5)
        reranker.tuned, reranker.apply("test.nbest")
    """
    _load_plugins(options.get("plugin") or ())
    texts = Texts()
    entries = None if isinstance(nbest, str | os.PathLike) else entries_of(nbest)
    if isinstance(options.get("metric"), str):
        options["metric"] = [options["metric"]]
    values = {
        **options,
        "nbest": nbest if entries is None else Path("<nbest>"),
        "tuner": tuner,
        "refs": _texts(texts, refs, "refs"),
        "weights": None if isinstance(weights, Weights) else weights,
    }
    return reranking.rerank(
        _options(RerankOptions, values, "rerank"),
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


def _options(cls: type[T], values: Mapping[str, Any], place: str) -> T:
    """An options object from keywords; accepts tuples for lists and any path-like for a path."""
    plain = {name: _plain(value) for name, value in values.items() if value is not None}
    return from_mapping(cls, plain, place)


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return Path(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _with_decoder(
    values: Mapping[str, Any], decoder_options: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The keywords with the decoder's options added as KEY=VALUE, the form of the commands."""
    pairs = [f"{name}={_text(value)}" for name, value in (decoder_options or {}).items()]
    return {**values, "options": [*(values.get("options") or []), *pairs]}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return " ".join(map(_text, value))
    return str(value)


def _texts(texts: Texts, parts: Any, name: str) -> list[Path]:
    """The paths of several texts, which are added to `texts`; a path alone is a list of one."""
    if isinstance(parts, str | os.PathLike):
        return [Path(parts)]
    for part in parts:
        if isinstance(part, str) and " " in part and not Path(part).exists():
            raise OptionError(
                f"{name}: no such file {part!r}; give sentences as a list for each text: "
                f"{name}=[[…], […]]"
            )
    return [texts.add(part, label) for part, label in _labelled(parts, name)]


def _labelled(texts: Any, name: str) -> list[tuple[Any, str]]:
    """Texts with their names: `name`, with a number if there are several texts."""
    parts = list(texts)
    if len(parts) == 1:
        return [(parts[0], name)]
    return [(part, f"{name} {number}") for number, part in enumerate(parts, 1)]


def _load_plugins(given: Sequence[PathLike] | PathLike) -> list[Path]:
    paths = [Path(path) for path in ([given] if isinstance(given, str | os.PathLike) else given)]
    for path in paths:
        registry.load_plugin(path)
    return paths


# -- progress and warnings --


def _display(mode: DisplayMode) -> Display:
    if isinstance(mode, Display):
        return mode
    if mode not in get_args(Mode):
        raise OptionError(f"display: {mode!r} is not valid; {suggestion(mode, get_args(Mode))}")
    return make_display(mode)


def _silent(text: str) -> None:
    """Ignore a message."""


def _warn(text: str) -> None:
    """Issue a warning at the caller's line, outside of the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("hopefear."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)
