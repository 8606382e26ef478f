"""The weights in a moses.ini: read them, and write a copy with new ones.

    [weight]
    LM0= 0.5
    TranslationModel0= 0.2 0.2 0.2 0.2
    UnknownWordPenalty0= 1

A label with one number is a feature of that name; a label with several numbers stands for features
`TranslationModel0_1`, `_2` and so on, as in n-best lists read by `forest.io.nbest`. All other lines
are copied unchanged. Weights without a label are sparse weights: they are written to a file, which
a section [weight-file] names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hopefear.base.errors import InputError
from hopefear.base.files import PathLike, display_name, open_text, write_text
from hopefear.base.weights import Weights


@dataclass(frozen=True)
class MosesIni:
    """The lines of a file, with the weights in them."""

    lines: list[str]
    labels: dict[int, tuple[str, list[float]]]  # label and weights, by line number

    @classmethod
    def read(cls, path: PathLike) -> MosesIni:
        """Read a moses.ini; raise an `InputError` if it has no weights or malformed ones."""
        with open_text(path) as file:
            lines = list(file)
        labels: dict[int, tuple[str, list[float]]] = {}
        for number, section, text in _content(lines):
            if section != "weight":
                continue
            label, equals, values = text.partition("=")
            try:
                numbers = [float(value) for value in values.split()]
            except ValueError:
                numbers = []
            if not equals or not numbers:
                raise InputError(
                    f"{display_name(path)}:{number + 1}: {text!r}, expected a weight such as "
                    "'LM0= 0.5'; correct the line"
                )
            labels[number] = (label.strip(), numbers)
        if not labels:
            raise InputError(
                f"{display_name(path)}: no section [weight] with weights; expected a moses.ini as "
                "Moses's training or tuning writes it"
            )
        return cls(lines, labels)

    @property
    def weights(self) -> dict[str, float]:
        """The weights by feature name, in the order of the file."""
        return {
            name: value
            for label, values in self.labels.values()
            for name, value in zip(_names(label, len(values)), values, strict=True)
        }

    def write(self, path: Path, weights: Weights, *, sparse: Path) -> None:
        """Write a copy with these weights to `path`, and sparse weights to `sparse`.

        Features without a new weight keep theirs.
        """
        known = set(self.weights)
        others = [(name, value) for name, value in weights.items() if name not in known and value]
        lines = dict(enumerate(self.lines))
        for number, (label, values) in self.labels.items():
            pairs = zip(_names(label, len(values)), values, strict=True)
            new = [weights[name] if name in weights else old for name, old in pairs]  # noqa: SIM401
            lines[number] = f"{label}= " + " ".join(f"{value:.9g}" for value in new)
        if others:
            for number, section, _ in _content(self.lines, headings=True):
                if section == "weight-file":
                    del lines[number]
            with write_text(sparse) as file:
                file.writelines(f"{name} {value:.9g}\n" for name, value in others)
            lines[len(self.lines)] = f"\n[weight-file]\n{sparse}"
        with write_text(path) as file:
            file.writelines(f"{line}\n" for line in lines.values())


def _names(label: str, count: int) -> list[str]:
    return [label] if count == 1 else [f"{label}_{i}" for i in range(1, count + 1)]


def _content(lines: list[str], *, headings: bool = False) -> Iterator[tuple[int, str, str]]:
    """Yield line number, section and text of all lines with text; headings only on request."""
    section = ""
    for number, line in enumerate(lines):
        text = line.partition("#")[0].strip()
        if text.startswith("[") and text.endswith("]"):
            section = text[1:-1]
            if headings:
                yield number, section, text
        elif text:
            yield number, section, text
