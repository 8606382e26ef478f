"""moses.ini: a phrase table, perhaps a reordering table, language models, weights, search options.

Sections in brackets; `[feature]` has a line for each feature function, `[weight]` its weights. A
feature function with several values becomes the features NAME_1, NAME_2 … as in n-best lists. Units
are those of Moses: word penalty -1 per word, distortion minus the width, -100 for an unknown word.
Unsupported settings that would change scores are errors; those that do not are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hopefear.base import config
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import PathLike
from hopefear.base.progress import Display
from hopefear.base.weights import Weights
from hopefear.decode.contract import FeatureSpec
from hopefear.decode.phrase import PhraseOptions
from hopefear.model.importing.directory import Imported, find_file, read_ini_lines

UNKNOWN_WORD = -100.0  # Moses's log of 0

_ALIASES = {"dl": "distortion-limit", "s": "stack", "cbp": "cube-pruning-pop-limit"}
_ALIASES |= {"v": "verbose", "b": "beam-threshold", "th": "threads", "du": "drop-unknown"}
# Settings that do not change scores.
_HARMLESS = {"verbose", "threads", "n-best-list", "lattice-samples", "output-search-graph"}
_HARMLESS |= {"report-segmentation", "print-alignment-info", "n-best-factor", "xml-input"}
_HARMLESS |= {"alignment-output-file", "cube-pruning-diversity", "output-factors", "config"}
_HARMLESS |= {"early-discarding-threshold", "ttable-limit", "default-non-term-for-empty-range-only"}
_HARMLESS |= {"persistent-cache-size", "use-persistent-cache", "clean-lm-cache", "cache-path"}
_OLD = {"ttable-file", "lmodel-file", "distortion-file", "weight-t", "weight-l", "weight-d"}
_REFUSED = {  # sections that change scores, and the value with which they do not
    "drop-unknown": "false",
    "minimum-bayes-risk": "false",
    "mbr": "false",
    "lminimum-bayes-risk": "false",
    "monotone-at-punctuation": "false",
    "consensus-decoding": "false",
}

_MOST_VALUES = 1000  # of a feature; a typing error should not exhaust the memory
_TABLES = {"PhraseDictionaryMemory"}
_BINARY_TABLES = {"PhraseDictionaryBinary", "PhraseDictionaryOnDisk", "PhraseDictionaryCompact"}
_BINARY_TABLES |= {"ProbingPT", "Mmsapt", "PhraseDictionaryBitextSampling"}
_LMS = {"KENLM", "SRILM", "IRSTLM", "LanguageModelIRST", "LanguageModelSRI", "LanguageModelKen"}
_COUNTS = {
    "WordPenalty": ("words", -1.0),
    "PhrasePenalty": ("phrases", 1.0),
    "Distortion": ("distortion", 1.0),
    "UnknownWordPenalty": ("unknown", UNKNOWN_WORD),
}


class _Feature:
    """A line of [feature]: `type key=value …`."""

    def __init__(self, ini: Path, number: int, text: str, same: int) -> None:
        self.ini = ini
        self.type, *pairs = text.split()
        self.place = f"{ini}:{number}"
        self.values: dict[str, str] = {}
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not equals:
                raise InputError(f"{self.place}: {pair!r}, expected key=value")
            self.values[key] = value
        self.name = self.values.get("name", f"{self.type}{same}")

    @property
    def path(self) -> Path:
        """The file of the feature."""
        if "path" not in self.values:
            raise InputError(f"{self.place}: {self.name} has no path=; add the path of its file")
        return find_file(self.ini, self.values["path"], self.place)

    def number(self, key: str, default: int) -> int:
        """The integer value of a key."""
        text = self.values.get(key, str(default))
        try:
            return int(text)
        except ValueError:
            raise InputError(f"{self.place}: {key}={text}, expected a whole number") from None

    @property
    def size(self) -> int:
        """The number of values."""
        size = self.number("num-features", {"LexicalReordering": 6}.get(self.type, 1))
        if not 0 <= size <= _MOST_VALUES:
            raise InputError(
                f"{self.place}: num-features={size}, expected a number up to {_MOST_VALUES}"
            )
        return size

    def columns(self) -> list[str]:
        """The names of its values."""
        if self.size == 1:
            return [self.name]
        return [f"{self.name}_{i}" for i in range(1, self.size + 1)]


def read_moses_ini(ini: Path, weights: PathLike | None = None) -> Imported:
    """Read a moses.ini; `weights`: a file in our format that replaces its [weight]."""
    sections = _sections(ini)
    features = _features(ini, sections)
    imported = Imported(system="phrase", weights=Weights(), rules=None, escaped=True)
    tables = [f for f in features if f.type in _TABLES]
    reorderings = [f for f in features if f.type == "LexicalReordering"]
    for kind, members in (("phrase table", tables), ("reordering table", reorderings)):
        if len(members) > 1:
            raise InputError(
                f"{members[1].place}: a second {kind}, {members[1].name}; only one can be "
                "imported, merge them first"
            )
    if not tables:
        raise InputError(f"{ini}: no PhraseDictionaryMemory in [feature]; add the phrase table")
    reordering = reorderings[0] if reorderings else None
    if reordering is not None:
        _check_reordering(reordering)
    imported.rules = partial(_write_rules, tables[0], reordering)
    for feature in features:
        _check_factors(feature)
        if feature.type in _LMS:
            if feature.name in imported.lms:
                raise InputError(f"{feature.place}: {feature.name} occurs twice; give each a name=")
            imported.lms[feature.name] = feature.path
        elif feature.type in _COUNTS:
            key, factor = _COUNTS[feature.type]
            if key in imported.features:
                raise InputError(f"{feature.place}: a second {feature.type}; keep one")
            imported.features[key] = FeatureSpec(feature.name, factor)
    imported.decoder = _options(ini, sections, tables[0], imported.notes)
    imported.weights = _default_weights(features)
    if weights is not None:
        _replace_weights(imported.weights, Path(weights), imported.notes)
    else:
        _read_weights(ini, sections.get("weight", []), features, imported)
    return imported


def _sections(ini: Path) -> dict[str, list[tuple[int, str]]]:
    sections: dict[str, list[tuple[int, str]]] = {}
    current: list[tuple[int, str]] | None = None
    for number, text in read_ini_lines(ini):
        if text.startswith("["):
            if not text.endswith("]"):
                raise InputError(f"{ini}:{number}: {text!r}, expected [SECTION]")
            name = text[1:-1].strip()
            current = sections.setdefault(_ALIASES.get(name, name), [])
        elif current is None:
            raise InputError(f"{ini}:{number}: {text[:40]!r} before the first [SECTION]")
        else:
            current.append((number, text))
    old = sorted(_OLD & sections.keys())
    if old:
        raise InputError(
            f"{ini}: section [{old[0]}] is the format before 2013; write [feature] and [weight]"
        )
    return sections


def _features(ini: Path, sections: dict[str, list[tuple[int, str]]]) -> list[_Feature]:
    features: list[_Feature] = []
    for number, text in sections.get("feature", []):
        same = sum(other.type == text.split()[0] for other in features)
        feature = _Feature(ini, number, text, same)
        known = _TABLES | _LMS | _COUNTS.keys() | {"LexicalReordering"}
        if feature.type in _BINARY_TABLES:
            raise InputError(
                f"{feature.place}: {feature.type} {feature.name} is a binary table; give the text "
                "table it was made from, as PhraseDictionaryMemory"
            )
        if feature.type not in known:
            raise InputError(
                f"{feature.place}: unsupported feature {feature.type}; "
                f"supported are {', '.join(sorted(known))}"
            )
        features.append(feature)
    return features


def _check_factors(feature: _Feature) -> None:
    for key in ("input-factor", "output-factor", "factor"):
        if feature.values.get(key, "0") != "0":
            raise InputError(
                f"{feature.place}: {key}={feature.values[key]}; models with factors cannot be "
                "imported"
            )


def _check_reordering(feature: _Feature) -> None:
    kind = feature.values.get("type", "")
    parts = set(kind.split("-"))
    direction = {3: "backward", 6: "bidirectional"}.get(feature.size)
    good = {"msd", "fe", direction} <= parts and not parts & {"hier", "collapseff"}
    if not good or parts - {"msd", "fe", direction, "wbe", "phrase", "allff"}:
        raise InputError(
            f"{feature.place}: unsupported reordering type {kind!r} with {feature.size} "
            "scores; supported are wbe-msd-bidirectional-fe-allff (6) and "
            "wbe-msd-backward-fe-allff (3)"
        )


def _write_rules(
    table: _Feature, reordering: _Feature | None, output: Path, display: Display
) -> dict[str, Any]:
    from hopefear.rules.moses import read_table

    return read_table(
        table.path,
        reordering.path if reordering is not None else None,
        output=output,
        columns=table.columns(),
        reordering_columns=reordering.columns() if reordering is not None else (),
        display=display,
    )


def _options(
    ini: Path, sections: dict[str, list[tuple[int, str]]], table: _Feature, notes: list[str]
) -> dict[str, Any]:
    """The options of the decoder, with the defaults of Moses (table limit 20)."""
    options: dict[str, Any] = {"table_limit": table.number("table-limit", 20)}
    kinds: dict[str, tuple[str, Callable[[str], Any]]] = {
        "distortion-limit": ("distortion_limit", int),
        "stack": ("beam", int),
        "cube-pruning-pop-limit": ("pop_limit", int),
        "search-algorithm": ("search", {"0": "stack", "1": "cube"}.__getitem__),
        "beam-threshold": ("threshold", _threshold),
    }
    for name, lines in sections.items():
        if name in ("feature", "weight") or name in _HARMLESS:
            continue
        number, text = lines[-1] if lines else (0, "true")
        place = f"{ini}:{number}" if number else f"{ini}: [{name}]"
        if name in kinds:
            key, convert = kinds[name]
            try:
                options[key] = convert(text)
            except (ValueError, KeyError):
                raise InputError(f"{place}: unsupported value {text!r} of {name}") from None
        elif name in ("input-factors", "mapping"):
            if len(lines) > 1 or text not in ("0", "0 T 0", "T 0"):
                raise InputError(
                    f"{place}: [{name}] {text!r}; models with factors or several "
                    "steps cannot be imported"
                )
        elif name in _REFUSED:
            if text.lower() not in (_REFUSED[name], "0"):
                raise InputError(f"{place}: unsupported section [{name}]; remove it")
        elif name == "max-phrase-length":
            continue
        else:
            notes.append(f"{place}: ignoring unknown section [{name}]")
    moses = {"search": "stack", "beam": 200, "pop_limit": 1000, "distortion_limit": 6}
    options = {**moses, **options}
    try:
        config.from_mapping(PhraseOptions, options)
    except OptionError as error:  # out of range
        raise InputError(f"{ini}: {error}") from None
    return options


def _threshold(text: str) -> float:
    """The beam threshold as a negative log; Moses has a probability."""
    value = float(text)
    if value == 0:
        return 0.0
    return -math.log(value)


def _default_weights(features: list[_Feature]) -> Weights:
    """The weights that Moses uses for features without weights."""
    weights = Weights()
    for feature in features:
        for name in feature.columns():
            weights[name] = 1.0 if feature.type == "UnknownWordPenalty" else 0.0
    return weights


def _replace_weights(weights: Weights, path: Path, notes: list[str]) -> None:
    """Fill in the weights of a file in our format."""
    loaded = Weights.load(path)
    missing = [name for name, _ in weights.items() if name not in loaded]
    unknown = [name for name, _ in loaded.items() if name not in weights]
    for name, value in loaded.items():
        weights[name] = value
    for name in missing:
        notes.append(f"{path}: no weight of {name}; using {weights[name]:g}")
    for name in unknown:
        notes.append(f"{path}: weight of {name}, but the model has no such feature")


def _read_weights(
    ini: Path, lines: list[tuple[int, str]], features: list[_Feature], imported: Imported
) -> None:
    """Fill in the weights of [weight]."""
    by_name = {feature.name: feature for feature in features}
    weights, notes = imported.weights, imported.notes
    for number, text in lines:
        place = f"{ini}:{number}"
        name, equals, rest = text.partition("=")
        if not equals:
            raise InputError(f"{place}: {text[:40]!r}, expected NAME= WEIGHT …")
        feature = by_name.get(name.strip())
        if feature is None:
            notes.append(f"{place}: ignoring weights of {name.strip()}, which is no feature")
            continue
        columns = feature.columns()
        values = rest.split()
        if len(values) != len(columns):
            raise InputError(
                f"{place}: {name.strip()} has {len(columns)} values (num-features), but "
                f"{len(values)} weights; give one weight for each value"
            )
        for column, value in zip(columns, values, strict=True):
            weights[column] = parse_weight(value, place)


def parse_weight(text: str, place: str) -> float:
    """Parse a weight, which must be a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{place}: weight {text[:40]!r}, expected a finite number")
    return value
