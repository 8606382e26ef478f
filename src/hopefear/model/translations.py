"""Translations of a text as one value: `hopefear.translate` in Python.

Takes a model and sentences, or a file of them, and returns `Translations`, a list of `Translated`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hopefear.base.cluster.options import ClusterOptions
from hopefear.base.config import option, part_of
from hopefear.base.console import html_table
from hopefear.base.files import PathLike, display_name, write_text
from hopefear.base.progress import Display
from hopefear.base.weights import Weights
from hopefear.model.directory import Model
from hopefear.model.overrides import DecoderOverrides, chosen_templates
from hopefear.model.translate import Translated, TranslateOptions, Translator
from hopefear.text.lines import read_lines

_SHOWN = 20  # maximum number of rows of a table


@dataclass(kw_only=True)
class TranslationOptions(ClusterOptions, DecoderOverrides, TranslateOptions):
    """Options of `translate`: those of the decoder and of the `Translator`."""

    threads: int = option(
        0, min=0, max=256, help="number of threads (0: all cores); does not change the result"
    )


class Translations(list[Translated]):
    """The translations of sentences, in order; `str` of one is its text."""

    def __init__(self, translated: Iterable[Translated], sources: Sequence[str]) -> None:
        super().__init__(translated)
        self.sources = sources

    @property
    def texts(self) -> list[str]:
        """The translations as strings."""
        return [translated.text for translated in self]

    @property
    def nbest(self) -> list[str]:
        """The lines of all n-best lists, in the format of Moses."""
        return [line for translated in self for line in translated.nbest]

    def save(self, path: PathLike, *, nbest: PathLike | None = None) -> None:
        """Write the translations, one per line, and the n-best lists to the path `nbest`."""
        for name, lines in ((path, self.texts), (nbest, self.nbest)):
            if name is not None:
                with write_text(name) as file:
                    file.writelines(f"{line}\n" for line in lines)

    def __repr__(self) -> str:
        lines = [f"Translations({len(self)})"]
        lines += [f"  {source} -> {target.text}" for source, target in self._first()]
        return "\n".join(lines + ["  …"] * (len(self) > _SHOWN))

    def _repr_html_(self) -> str:
        rows = [
            [source, target.text, "-" if target.score is None else f"{target.score:.2f}"]
            for source, target in self._first()
        ]
        title = f"{len(self)} translations" + (f", the first {_SHOWN}" * (len(self) > _SHOWN))
        return html_table(rows, ["source", "translation", "score"], title)

    def _first(self) -> list[tuple[str, Translated]]:
        return list(zip(self.sources, self, strict=False))[:_SHOWN]


class _Options(Protocol):
    """The interface that commands and `TranslationOptions` share."""

    templates: list[str] | None

    def overrides(self, options_class: type) -> dict[str, Any]: ...


def make_translator(
    model: Model,
    options: _Options,
    *,
    weights: Weights | PathLike | None = None,
    folders: Sequence[Path] = (),
    warn: Callable[[str], None] = lambda text: None,
) -> Translator:
    """Make a `Translator`; `folders`: directories to search for per-sentence grammars."""
    return Translator(
        model,
        weights=weights,
        options=TranslateOptions(**part_of(TranslateOptions, options)),
        decoder=options.overrides(model.decoder_class.options_class),
        templates=chosen_templates(options.templates, model),
        folders=[*folders, Path()],
        warn=warn,
    )


def translate(
    model: Model,
    text: Path | Sequence[str],
    options: TranslationOptions,
    *,
    weights: Weights | PathLike | None = None,
    display: Display | None = None,
    warn: Callable[[str], None] = lambda text: None,
) -> Translations:
    """Translate a file of sentences, or sentences in memory, and return the `Translations`.

    `weights`: instead of the model's; `warn`: called with each warning.
    """
    sources = list(read_lines(text)) if isinstance(text, Path) else list(text)
    folders = [text.parent] if isinstance(text, Path) and str(text) != "-" else []
    translator = make_translator(model, options, weights=weights, folders=folders, warn=warn)
    place = display_name(text) if isinstance(text, Path) else "sentence"
    results = []
    with (
        options.executor(options.threads, plugins=options.plugin) as executor,
        (display or Display()).step("translate", total=len(sources), unit="sentences") as step,
    ):
        for translated in translator.translate(sources, place=place, executor=executor):
            if translated.warning:
                warn(translated.warning)
            results.append(translated)
            step.advance()
    return Translations(results, sources)
