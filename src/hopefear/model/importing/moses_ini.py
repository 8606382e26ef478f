"""The sections of a moses.ini: their names and abbreviations, and what becomes of each.

A section is used, has no influence on translations and scores, or is refused unless it has the
value with which it has none. Sections of the format before 2013 are converted to lines of [feature]
and [weight] as Moses does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hopefear.base.errors import InputError, suggestion
from hopefear.model.importing.directory import read_ini_lines

_ABBREVIATIONS = {
    "b": "beam-threshold",
    "cbd": "cube-pruning-diversity",
    "cbls": "cube-pruning-lazy-scoring",
    "cbp": "cube-pruning-pop-limit",
    "con": "consensus-decoding",
    "d": "weight-d",
    "da": "phrase-drop-allowed",
    "dd": "disable-discarding",
    "dl": "distortion-limit",
    "dpb": "decoding-graph-backoff",
    "du": "drop-unknown",
    "edc": "early-distortion-cost",
    "edt": "early-discarding-threshold",
    "lm": "weight-l",
    "lmbr": "lminimum-bayes-risk",
    "mbr": "minimum-bayes-risk",
    "mp": "monotone-at-punctuation",
    "mu": "mark-unknown",
    "s": "stack",
    "sd": "stack-diversity",
    "th": "threads",
    "tm": "weight-t",
    "tot": "translation-option-threshold",
    "ttl": "ttable-limit",
    "u": "weight-u",
    "v": "verbose",
    "w": "weight-w",
    "wf": "weight-file",
    "xi": "xml-input",
}
_USED = {
    "beam-threshold",
    "cube-pruning-pop-limit",
    "distortion-limit",
    "early-distortion-cost",
    "feature",
    "input-factors",
    "mapping",
    "max-phrase-length",
    "output-factors",
    "search-algorithm",
    "stack",
    "weight",
    "weight-add",
    "weight-file",
    "weight-overwrite",
}
# The format before 2013.
_OLD = {"ttable-file", "ttable-limit", "lmodel-file", "lmodel-oov-feature", "distortion-file"}
_OLD |= {"weight-t", "weight-l", "weight-d", "weight-w", "weight-u", "weight-p"}
# No influence on translations and their scores: output, input of a run, threads, caches, and
# settings of chart decoding and of methods that are switched off.
_WITHOUT_EFFECT = """
    alignment-output-file cache-path clean-lm-cache config default-non-term-for-empty-range-only
    description distinct-nbest factor-delimiter include-lhs-in-search-graph
    include-segmentation-in-n-best input-file labeled-n-best-list lattice-hypo-set
    lattice-samples link-param-count lmbr-map-weight lmbr-p lmbr-pruning-factor lmbr-r
    lmbr-thetas lmodel-dub max-chart-span mbr-scale mbr-size minlexr-memory minphr-memory
    n-best-factor n-best-list n-best-trees no-cache non-terminals output-hypo-score
    output-search-graph output-search-graph-extended output-search-graph-hypergraph
    output-search-graph-pb output-search-graph-slf output-unknowns output-word-graph
    persistent-cache-size print-alignment-info print-alignment-info-in-n-best
    print-all-derivations print-id print-passthrough print-passthrough-in-n-best
    recover-input-path references report-all-factors report-all-factors-in-n-best
    report-segmentation report-segmentation-enriched report-sparse-features rule-limit
    s2t-parsing-algorithm show-weights sort-word-alignment source-label-overlap
    start-translation-id text-type threads translation-all-details translation-details
    tree-translation-details unknown-lhs unpruned-search-graph use-persistent-cache verbose
    xml-brackets xml-input
"""
# Sections that change translations or scores, and the values with which they do not.
_NEUTRAL: dict[str, tuple[str, ...]] = {
    "consensus-decoding": ("false", "0"),
    "cube-pruning-diversity": ("0",),
    "cube-pruning-lazy-scoring": ("false", "0"),
    "decoding-graph-backoff": ("0",),
    "disable-discarding": ("false", "0"),
    "drop-unknown": ("false", "0"),
    "early-discarding-threshold": ("0",),
    "inputtype": ("0",),
    "lminimum-bayes-risk": ("false", "0"),
    "mark-unknown": ("false", "0"),
    "minimum-bayes-risk": ("false", "0"),
    "mira": ("false", "0"),
    "monotone-at-punctuation": ("false", "0"),
    "phrase-drop-allowed": ("false", "0"),
    "stack-diversity": ("0",),
    "time-out": ("-1", "0"),
    "translation-option-threshold": ("0",),
}
# Limits that are far above what a table limit leaves, and the smallest of them that is.
_LARGE = {"max-trans-opt-per-coverage": 1000, "max-partial-trans-opt": 1000}
_REFUSED = """
    alternate-weight-setting constraint continue-partial-translation distortion dlm-model
    feature-add feature-name-overwrite feature-overwrite generation-file glm-feature
    global-lexical-file input-scores phrase-boundary-source-feature
    phrase-boundary-target-feature phrase-length-feature phrase-pair-feature placeholder-factor
    slmodel-beam slmodel-factor slmodel-file source-word-deletion-feature spe-aln spe-src
    spe-trg target-word-insertion-feature translation-systems weight-bl weight-dlm weight-e
    weight-generation weight-glm weight-i weight-lex weight-lr weight-pb weight-pp weight-slm
    weight-wt word-translation-feature
"""
_TRUE, _FALSE = ("true", "yes", "y", "1"), ("false", "no", "n", "0")


class Line(NamedTuple):
    """A line of a section and its position, for messages."""

    place: str
    text: str


@dataclass(frozen=True)
class Ini:
    """The lines of a moses.ini by section, under their full names."""

    path: Path
    sections: Mapping[str, Sequence[Line]]

    def lines(self, name: str) -> Sequence[Line]:
        """The lines of a section; none if it is missing."""
        return self.sections.get(name, ())

    def value(self, name: str) -> Line | None:
        """The value of a section that has one, None if it is missing."""
        if name not in self.sections:
            return None
        lines = self.sections[name]
        if not lines:
            raise InputError(f"{self.path}: [{name}] has no value, expected one line; add it")
        for line in lines[1:]:
            if line.text != lines[0].text:
                raise InputError(
                    f"{line.place}: a second value {line.text[:40]!r} of [{name}], the first is "
                    f"{lines[0].text[:40]!r}; keep one"
                )
        return lines[0]

    def switch(self, name: str) -> bool:
        """Whether a section is on; an empty one is."""
        if name in self.sections and not self.sections[name]:
            return True
        line = self.value(name)
        return line is not None and truth(line.text, f"{line.place}: [{name}]")


def truth(text: str, place: str) -> bool:
    """Parse true or false as Moses does."""
    if text.lower() not in (*_TRUE, *_FALSE):
        raise InputError(f"{place}: {text[:40]!r}, expected true or false")
    return text.lower() in _TRUE


def read_ini(path: Path) -> Ini:
    """Read a moses.ini of either format; raise an `InputError` for what cannot be imported."""
    sections: dict[str, list[Line]] = {}
    current: list[Line] | None = None
    for number, text in read_ini_lines(path):
        place = f"{path}:{number}"
        if text.startswith("["):
            if not text.endswith("]"):
                raise InputError(f"{place}: {text!r}, expected [SECTION]")
            name = text[1:-1].strip()
            name = _ABBREVIATIONS.get(name, name)
            _check_known(name, place)
            current = sections.setdefault(name, [])
        elif current is None:
            raise InputError(f"{place}: {text[:40]!r} before the first [SECTION]")
        else:
            current.append(Line(place, text))
    ini = Ini(path, sections)
    for name, values in _NEUTRAL.items():
        if name not in sections:
            continue
        if not sections[name] and "false" in values:  # a switch without a value is on
            raise InputError(f"{path}: unsupported section [{name}]; remove it")
        line = ini.value(name)
        if line is not None and line.text.lower() not in values and not _is_zero(line.text, values):
            raise InputError(
                f"{line.place}: unsupported section [{name}] with {line.text[:40]!r}, which "
                "changes translations; remove it"
            )
    for name, smallest in _LARGE.items():
        line = ini.value(name)
        if line is not None and not (line.text.isdecimal() and int(line.text) >= smallest):
            raise InputError(
                f"{line.place}: unsupported value {line.text[:40]!r} of [{name}], expected at "
                f"least {smallest}; use table-limit="
            )
    return _converted(ini)


def _is_zero(text: str, values: Sequence[str]) -> bool:
    try:
        return "0" in values and float(text) == 0
    except ValueError:
        return False


def _check_known(name: str, place: str) -> None:
    if name in _REFUSED.split():
        raise InputError(
            f"{place}: unsupported section [{name}], which changes translations; remove it"
        )
    known = _USED | _OLD | set(_WITHOUT_EFFECT.split()) | _NEUTRAL.keys() | _LARGE.keys()
    if name not in known:
        raise InputError(f"{place}: unknown section [{name}]; {suggestion(name, known)}")


# -- the format before 2013 --


def _converted(ini: Ini) -> Ini:
    """Return the sections with [feature] and [weight] in place of the old ones."""
    old = [name for name in ini.sections if name in _OLD]
    if not old:
        return ini
    new = [name for name in ("feature", "weight") if name in ini.sections]
    if new:
        # A table limit alone is left over from conversion, and without effect in Moses, too.
        if old == ["ttable-limit"]:
            return ini
        first = min(old)
        raise InputError(
            f"{ini.path}: [{new[0]}] and [{first}], which is of the format before 2013; keep one "
            "format"
        )
    made = _OldFormat(ini)
    made.convert()
    rest = {name: lines for name, lines in ini.sections.items() if name not in _OLD}
    return Ini(ini.path, {**rest, "feature": made.features, "weight": made.weights})


class _OldFormat:
    """Collects the lines of [feature] and [weight]; weights are taken in the order of features."""

    def __init__(self, ini: Ini) -> None:
        self.ini = ini
        self.features: list[Line] = []
        self.weights: list[Line] = []

    def convert(self) -> None:
        self._single("WordPenalty", "weight-w")
        self._single("UnknownWordPenalty", "weight-u", "1")
        if "weight-p" in self.ini.sections:
            self._single("PhrasePenalty", "weight-p")
        self._language_models()
        self._distortion()
        self._tables()

    def _single(self, kind: str, section: str, default: str = "0") -> None:
        line = self.ini.value(section) or Line(str(self.ini.path), default)
        self._add(line, f"{kind} name={kind}0", f"{kind}0", [line.text])

    def _language_models(self) -> None:
        types = {"0": "SRILM", "1": "IRSTLM", "8": "KENLM", "9": "KENLM"}
        weights = _Queue(self.ini, "weight-l")
        oov = self.ini.lines("lmodel-oov-feature")
        for number, line in enumerate(self.ini.lines("lmodel-file")):
            kind, factor, order, path = _fields(line, 4, "TYPE FACTOR ORDER FILE")
            if kind not in types:
                raise InputError(
                    f"{line.place}: unsupported type {kind} of language model; supported are "
                    f"{', '.join(types)}, files in the ARPA format"
                )
            counts = number < len(oov) and truth(oov[number].text, oov[number].place)
            name = f"{types[kind]}{number}"
            text = f"{types[kind]} name={name} factor={factor} order={order} path={path}"
            text += " oov-feature=1" if counts else ""
            self._add(line, text, name, weights.take(2 if counts else 1, line))
        weights.finish()

    def _distortion(self) -> None:
        if "weight-d" not in self.ini.sections:
            lines = self.ini.lines("distortion-file")
            if lines:
                raise InputError(f"{lines[0].place}: [weight-d] is missing; add its weights")
            return
        weights = _Queue(self.ini, "weight-d")
        place = self.ini.lines("weight-d")[0] if self.ini.lines("weight-d") else Line("", "")
        self._add(place, "Distortion name=Distortion0", "Distortion0", weights.take(1, place))
        for number, line in enumerate(self.ini.lines("distortion-file")):
            factors, kind, size, path = _fields(line, 4, "FACTORS TYPE SCORES FILE")
            source, dash, target = factors.partition("-")
            if not dash:
                raise InputError(
                    f"{line.place}: factors {factors!r}, expected SOURCE-TARGET as 0-0"
                )
            name = f"LexicalReordering{number}"
            text = (
                f"LexicalReordering name={name} type={kind} num-features={size} path={path} "
                f"input-factor={source} output-factor={target}"
            )
            self._add(line, text, name, weights.take(_count(size, line), line))
        weights.finish()

    def _tables(self) -> None:
        types = {
            "0": "PhraseDictionaryMemory",
            "1": "PhraseDictionaryBinary",
            "2": "PhraseDictionaryOnDisk",
            "12": "PhraseDictionaryCompact",
        }
        weights = _Queue(self.ini, "weight-t")
        limits = self.ini.lines("ttable-limit")
        for number, line in enumerate(self.ini.lines("ttable-file")):
            kind, source, target, size, path = _fields(line, 5, "TYPE INPUT OUTPUT SCORES FILE")
            if kind not in types:
                raise InputError(
                    f"{line.place}: unsupported type {kind} of phrase table; give the text table, "
                    "type 0"
                )
            name = f"{types[kind]}{number}"
            text = (
                f"{types[kind]} name={name} num-features={size} path={path} "
                f"input-factor={source} output-factor={target}"
            )
            if limits:
                text += f" table-limit={limits[min(number, len(limits) - 1)].text}"
            self._add(line, text, name, weights.take(_count(size, line), line))
        weights.finish()

    def _add(self, line: Line, feature: str, name: str, weights: Sequence[str]) -> None:
        self.features.append(Line(line.place, feature))
        self.weights.append(Line(line.place, f"{name}= {' '.join(weights)}"))


class _Queue:
    """The values of an old weight section, one per line, taken in order."""

    def __init__(self, ini: Ini, section: str) -> None:
        self.section, self.lines = section, list(ini.lines(section))
        self.taken = 0

    def take(self, count: int, line: Line) -> list[str]:
        values = self.lines[self.taken : self.taken + count]
        if len(values) < count:
            raise InputError(
                f"{line.place}: {count} weights needed, but only {len(values)} left in "
                f"[{self.section}]; give one per score"
            )
        self.taken += count
        return [value.text for value in values]

    def finish(self) -> None:
        if self.taken < len(self.lines):
            line = self.lines[self.taken]
            raise InputError(
                f"{line.place}: weight {line.text[:40]!r} of [{self.section}] belongs to no score; "
                "remove it, or add its feature"
            )


def _fields(line: Line, count: int, expected: str) -> list[str]:
    fields = line.text.split()
    if len(fields) != count:
        raise InputError(f"{line.place}: {line.text[:60]!r}, expected {expected}")
    return fields


def _count(text: str, line: Line) -> int:
    if not text.isdecimal() or len(text) > 4:
        raise InputError(f"{line.place}: {text[:40]!r} scores, expected a whole number up to 9999")
    return int(text)
