"""moses.ini: a phrase table, perhaps a reordering table, language models, weights, search options.

Sections in brackets; `[feature]` has a line for each feature function, `[weight]` its weights. A
feature function with several values becomes the features NAME_1, NAME_2 … as in n-best lists. Units
are those of Moses: word penalty -1 per word, distortion minus the width, -100 for an unknown word.
What is not supported is an error, unless it cannot change translations or their scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hopefear.base import config
from hopefear.base.errors import InputError, OptionError, suggestion
from hopefear.base.files import PathLike
from hopefear.base.progress import Display
from hopefear.base.weights import Weights
from hopefear.decode.contract import FeatureSpec
from hopefear.decode.phrase import PhraseOptions
from hopefear.features.dense import EARLY_DISTORTION, UNKNOWN_BY, ReorderingSpec
from hopefear.model.importing.directory import Imported, ImportedLm, find_file, read_ini_lines
from hopefear.model.importing.moses_ini import Ini, Line, read_ini, truth

UNKNOWN_WORD = -100.0  # Moses's log of 0

_MOST_VALUES = 1000  # of a feature; a typing error should not exhaust the memory
_LONGEST_PHRASE = 20  # source words, Moses's default
_TABLES = {"PhraseDictionaryMemory"}
_BINARY_TABLES = {"PhraseDictionaryBinary", "PhraseDictionaryOnDisk", "PhraseDictionaryCompact"}
_BINARY_TABLES |= {"ProbingPT", "Mmsapt", "PhraseDictionaryBitextSampling"}
_KENLM = {"KENLM", "LanguageModelKen"}
_LMS = _KENLM | {"SRILM", "IRSTLM", "LanguageModelIRST", "LanguageModelSRI"}
_COUNTS = {
    "WordPenalty": ("words", -1.0),
    "PhrasePenalty": ("phrases", 1.0),
    "Distortion": ("distortion", 1.0),
    "UnknownWordPenalty": ("unknown", UNKNOWN_WORD),
}
# Keys of lines of [feature]. The second group does not change scores.
_COMMON_KEYS = {"name", "num-features"}
_COMMON_KEYS |= {"tuneable", "tuneable-components", "filterable", "verbosity"}
_LM_KEYS = {"path", "factor", "order", "oov-feature"} | {"lazyken", "load"}
_KEYS = {
    "LexicalReordering": {"path", "type", "input-factor", "output-factor"},
    **{kind: {"path", "table-limit", "input-factor", "output-factor"} for kind in _TABLES},
    **dict.fromkeys(_LMS, _LM_KEYS),
    **{kind: set() for kind in _COUNTS},
}
_IGNORED_KEYS = {kind: {"cache-size"} for kind in _TABLES}
_ORIENTATIONS = ("msd", "mslr", "monotonicity", "leftright")
# Parts of a reordering type: directions as (backward, forward).
_DIRECTIONS = {"bidirectional": (True, True), "backward": (True, False), "forward": (False, True)}
_DIRECTIONS["unidirectional"] = _DIRECTIONS["backward"]


class _Feature:
    """A line of [feature]: `type key=value …`."""

    def __init__(self, ini: Path, line: Line, same: int) -> None:
        self.ini = ini
        self.type, *pairs = line.text.split()
        self.place = line.place
        self.values: dict[str, str] = {}
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not equals:
                raise InputError(f"{self.place}: {pair!r}, expected key=value")
            if key in self.values:
                raise InputError(f"{self.place}: {key}= is given twice; keep one")
            self.values[key] = value
        self.name = self.values.get("name", f"{self.type}{same}")

    def check_keys(self) -> None:
        """Refuse keys that are not used."""
        known = _COMMON_KEYS | _KEYS[self.type] | _IGNORED_KEYS.get(self.type, set())
        for key, value in self.values.items():
            if key.startswith("sparse-") and self.type == "LexicalReordering":
                raise InputError(
                    f"{self.place}: {key}={value}; sparse reordering features are not supported, "
                    "and the scores would differ without them; remove them and tune again"
                )
            if key not in known:
                raise InputError(
                    f"{self.place}: {key}={value}: not supported for {self.type}; "
                    f"{suggestion(key, known)}"
                )
        for key in ("input-factor", "output-factor", "factor"):
            if self.values.get(key, "0") != "0":
                raise InputError(
                    f"{self.place}: {key}={self.values[key]}; models with factors cannot be "
                    "imported"
                )

    @property
    def path(self) -> Path:
        """The file of the feature."""
        if "path" not in self.values:
            raise InputError(f"{self.place}: {self.name} has no path=; add the path of its file")
        return find_file(self.ini, self.values["path"], self.place)

    def number(self, key: str, default: int) -> int:
        """The integer value of a key, at least 0."""
        text = self.values.get(key, str(default))
        if not text.isdecimal():
            raise InputError(
                f"{self.place}: {key}={text[:40]}, expected a whole number of at least 0"
            )
        return min(int(text[:12]), 1_000_000_000)

    @property
    def counts_unknown(self) -> bool:
        """Whether it is a language model with a second score, the number of unknown words."""
        text = self.values.get("oov-feature", "0")
        return self.type in _LMS and truth(text, f"{self.place}: oov-feature")

    @property
    def size(self) -> int:
        """The number of values."""
        if self.type == "LexicalReordering":
            size = len(reordering_features(self)) or reordering_spec(self).columns
        elif self.type in _TABLES:
            size = self.number("num-features", 1)
        else:
            size = 2 if self.counts_unknown else 1
        given = self.number("num-features", size)
        if given > _MOST_VALUES:
            raise InputError(
                f"{self.place}: num-features={given}, expected a number up to {_MOST_VALUES}"
            )
        if given != size:
            remedy = "; for the number of unknown words add oov-feature=1" if given == 2 else ""
            remedy = remedy if self.type in _LMS else "; correct one of the two"
            kind = f" of type {self.values.get('type')}" if "type" in self.values else ""
            raise InputError(
                f"{self.place}: num-features={given}, but a {self.type}{kind} has {size}{remedy}"
            )
        return size

    def columns(self) -> list[str]:
        """The names of its values."""
        return _numbered(self.name, self.size)


def _numbered(name: str, size: int) -> list[str]:
    return [name] if size == 1 else [f"{name}_{i}" for i in range(1, size + 1)]


def read_moses_ini(path: Path, weights: PathLike | None = None) -> Imported:
    """Read a moses.ini; `weights`: a file in our format that replaces its weights."""
    ini = read_ini(path)
    features = _features(ini)
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
        raise InputError(f"{path}: no PhraseDictionaryMemory in [feature]; add the phrase table")
    reordering = reorderings[0] if reorderings else None
    if reordering is not None:
        spec = reordering_spec(reordering)
        if spec.orientations != "msd" or not spec.backward or spec.collapsed:
            imported.decoder["reordering"] = config.to_mapping(spec)
    longest = _longest_phrase(ini)
    imported.rules = partial(_write_rules, tables[0], reordering, longest)
    early = ini.switch("early-distortion-cost")
    for feature in features:
        if feature.type in _LMS:
            _add_lm(feature, imported)
        elif feature.type in _COUNTS:
            key, factor = _COUNTS[feature.type]
            key = EARLY_DISTORTION if early and key == "distortion" else key
            if key in imported.features:
                raise InputError(f"{feature.place}: a second {feature.type}; keep one")
            imported.features[key] = FeatureSpec(feature.name, factor)
    imported.decoder.update(_options(ini, tables[0]))
    imported.weights = _default_weights(features)
    if weights is not None:
        _replace_weights(imported.weights, Path(weights), imported.notes)
    else:
        _read_weights(ini, features, imported)
    _check_sparse_weights(ini, imported)
    return imported


def _features(ini: Ini) -> list[_Feature]:
    """Parse [feature]; the names of all values differ."""
    features: list[_Feature] = []
    places: dict[str, str] = {}
    for line in ini.lines("feature"):
        same = sum(other.type == line.text.split()[0] for other in features)
        feature = _Feature(ini.path, line, same)
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
        feature.check_keys()
        for name in dict.fromkeys([feature.name, *feature.columns()]):
            if name in places:
                raise InputError(
                    f"{feature.place}: a second feature {name}, the first is at {places[name]}; "
                    "give each a name= of its own"
                )
            places[name] = feature.place
        features.append(feature)
    return features


def _add_lm(feature: _Feature, imported: Imported) -> None:
    name, *unknown = feature.columns()
    # KenLM ignores order=; the others use n-grams up to it.
    order = None if feature.type in _KENLM or "order" not in feature.values else "order"
    imported.lms[name] = ImportedLm(
        feature.path, feature.place, feature.number("order", 0) if order else None
    )
    if unknown:
        imported.features[UNKNOWN_BY + name] = FeatureSpec(unknown[0])
    if feature.type not in _KENLM:
        imported.notes.append(
            f"{feature.place}: {feature.type} {feature.name} gets the scores of KenLM, which may "
            "differ for unknown words"
        )


# -- reordering --


def reordering_spec(feature: _Feature) -> ReorderingSpec:
    """Parse the type of a reordering table, such as wbe-msd-bidirectional-fe-allff."""
    kind = feature.values.get("type", "")
    parts = kind.split("-")

    def one_of(choices: Sequence[str], default: str | None = None) -> str:
        found = [part for part in parts if part in choices]
        if len(found) > 1 or (not found and default is None):
            raise InputError(
                f"{feature.place}: reordering type {kind!r}, expected one of {', '.join(choices)} "
                "in it"
            )
        return found[0] if found else str(default)

    unit = one_of(("wbe", "phrase", "hier"), "phrase")
    if unit == "hier":
        raise InputError(
            f"{feature.place}: unsupported reordering type {kind!r}: orientations relative to "
            "blocks of phrases (hier); supported are wbe and phrase, make such a table"
        )
    orientations = one_of(_ORIENTATIONS)
    backward, forward = _DIRECTIONS[one_of(tuple(_DIRECTIONS), "backward")]
    condition = one_of(("fe", "f"))
    collapse = one_of(("allff", "collapseff"), "allff")
    known = {unit, orientations, condition, collapse, *_DIRECTIONS}
    unknown = [part for part in parts if part not in known]
    if unknown:
        raise InputError(
            f"{feature.place}: reordering type {kind!r}: unknown part {unknown[0]!r}; expected one "
            "such as wbe-msd-bidirectional-fe-allff"
        )
    names = _numbered(feature.name, backward + forward) if collapse == "collapseff" else []
    return ReorderingSpec(
        orientations=orientations,  # type: ignore[arg-type]
        backward=backward,
        forward=forward,
        collapsed=names,
    )


def reordering_features(feature: _Feature) -> list[str]:
    """The names of the features of a reordering table if they are not those of its columns."""
    return reordering_spec(feature).collapsed


def _reordering_columns(feature: _Feature) -> list[str]:
    """The names of the columns of a reordering table."""
    spec = reordering_spec(feature)
    if not spec.collapsed:
        return feature.columns()
    return [f"{feature.name}.column{i}" for i in range(1, spec.columns + 1)]


def _longest_phrase(ini: Ini) -> int:
    line = ini.value("max-phrase-length")
    if line is None:
        return _LONGEST_PHRASE
    if not line.text.isdecimal() or not int(line.text[:9]) > 0:
        raise InputError(
            f"{line.place}: max-phrase-length {line.text[:40]!r}, expected a whole number above 0"
        )
    return min(int(line.text[:9]), 255)


def _write_rules(
    table: _Feature, reordering: _Feature | None, longest: int, output: Path, display: Display
) -> dict[str, Any]:
    from hopefear.rules.moses import read_table

    by_source = reordering is not None and "f" in reordering.values["type"].split("-")
    return read_table(
        table.path,
        reordering.path if reordering is not None else None,
        output=output,
        columns=table.columns(),
        reordering_columns=_reordering_columns(reordering) if reordering is not None else (),
        reordering_by_source=by_source,
        longest_source=longest,
        display=display,
    )


# -- search --


def _options(ini: Ini, table: _Feature) -> dict[str, Any]:
    """The options of the decoder, with the defaults of Moses (table limit 20)."""
    kinds: dict[str, tuple[str, Callable[[str], Any], Any]] = {
        "distortion-limit": ("distortion_limit", int, 6),
        "stack": ("beam", int, 200),
        "cube-pruning-pop-limit": ("pop_limit", int, 1000),
        "search-algorithm": ("search", {"0": "stack", "1": "cube"}.__getitem__, "stack"),
        "beam-threshold": ("threshold", _threshold, None),
    }
    options: dict[str, Any] = {"table_limit": table.number("table-limit", 20)}
    for name, (key, convert, default) in kinds.items():
        line = ini.value(name)
        if line is None:
            if default is not None:
                options[key] = default
            continue
        try:
            options[key] = convert(line.text)
            config.from_mapping(PhraseOptions, {key: options[key]})
        except (ValueError, KeyError):
            supported = "a number"
            if name == "search-algorithm":
                supported = "0 (stack) or 1 (cube pruning); chart decoding cannot be imported"
            raise InputError(
                f"{line.place}: unsupported value {line.text[:40]!r} of {name}, "
                f"expected {supported}"
            ) from None
        except OptionError as error:  # out of range
            raise InputError(f"{line.place}: {name}: {error}") from None
    for name in ("input-factors", "output-factors", "mapping"):
        for line in ini.lines(name):
            if line.text not in ("0", "0 T 0", "T 0") or len(ini.lines(name)) > 1:
                raise InputError(
                    f"{line.place}: [{name}] {line.text!r}; models with factors or several steps "
                    "cannot be imported"
                )
    return options


def _threshold(text: str) -> float:
    """The beam threshold as a negative log; Moses has a probability."""
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise ValueError
    return -math.log(value) if value else 0.0


# -- weights --


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


def _read_weights(ini: Ini, features: list[_Feature], imported: Imported) -> None:
    """Fill in the weights: [weight-overwrite] has precedence over [weight], that over
    [weight-add]. Within a section a feature has weights once.
    """
    by_name = {feature.name: feature for feature in features}
    weights, notes = imported.weights, imported.notes
    for section in ("weight-add", "weight", "weight-overwrite"):
        places: dict[str, str] = {}
        for place, name, values in _weight_lines(ini, section):
            if name in places:
                raise InputError(
                    f"{place}: {name} has weights already, at {places[name]}; keep one of the two"
                )
            places[name] = place
            numbers = [parse_weight(value, place) for value in values]
            feature = by_name.get(name)
            if feature is None:
                notes.append(f"{place}: ignoring weights of {name}, which is no feature")
                continue
            columns = feature.columns()
            if len(numbers) != len(columns):
                raise InputError(
                    f"{place}: {name} has {len(columns)} values (num-features), but "
                    f"{len(numbers)} weights; give one weight for each value"
                )
            for column, number in zip(columns, numbers, strict=True):
                weights[column] = number


def _weight_lines(ini: Ini, section: str) -> Iterator[tuple[str, str, list[str]]]:
    """The place, name and values of the weights of a section."""
    for place, text in ini.lines(section):
        name, equals, rest = text.partition("=")
        if not equals or not name.strip() or len(name.split()) > 1:
            raise InputError(f"{place}: {text[:40]!r}, expected NAME= WEIGHT …")
        if section != "weight-overwrite":
            yield place, name.strip(), rest.split()
            continue
        # One line for all features: NAME= WEIGHT … NAME= WEIGHT …
        values: list[str] = []
        for word in rest.split():
            if not word.endswith("="):
                values.append(word)
                continue
            yield place, name.strip(), values
            name, values = word[:-1], []
        yield place, name.strip(), values


def _check_sparse_weights(ini: Ini, imported: Imported) -> None:
    """Read [weight-file]: weights of sparse features, of which no supported model has any."""
    line = ini.value("weight-file")
    if line is None:
        return
    path = find_file(ini.path, line.text, line.place)
    names = set()
    for number, text in read_ini_lines(path, inline=False):
        place = f"{path}:{number}"
        parts = text.split()
        if len(parts) != 2:
            raise InputError(f"{place}: {text[:40]!r}, expected NAME WEIGHT")
        parse_weight(parts[1], place)
        if parts[0] in names:
            raise InputError(f"{place}: {parts[0]} has a weight already; keep one of the lines")
        if parts[0] in imported.weights:
            raise InputError(
                f"{place}: {parts[0]} is a dense feature; Moses takes its weight from [weight], "
                "remove the line"
            )
        names.add(parts[0])
    imported.notes.append(
        f"{path}: ignoring the weights of {len(names):,} sparse features; no feature function of "
        "the model fires any, so they have no effect in Moses either"
    )


def parse_weight(text: str, place: str) -> float:
    """Parse a weight, which must be a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{place}: weight {text[:40]!r}, expected a finite number")
    return value
