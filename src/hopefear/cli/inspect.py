"""`hopefear inspect`: the content of a model, a tuning run, or one of Hopefear's files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopefear.analysis.feature_report import DENSE, heaviest, show_heaviest
from hopefear.analysis.feature_report import show as show_fired
from hopefear.base.config import argument, option
from hopefear.base.console import Console, format_value, table
from hopefear.base.errors import InputError, OptionError
from hopefear.base.files import COMPILED, is_device
from hopefear.base.progress import duration
from hopefear.base.registry import register
from hopefear.cli.command import Command
from hopefear.cli.tune_shown import describe_run, is_run, show_run
from hopefear.model.overrides import chosen_templates

_LARGEST = 1e15  # limit of numbers of model.toml that are shown

if TYPE_CHECKING:
    from hopefear.model.directory import Model
    from hopefear.rules.table import RuleTable


@register("command", "inspect")
@dataclass(kw_only=True)
class Inspect(Command):
    """Describe a model directory, a tuning run, a rule table, a language model or weights.

    The kind of PATH is detected from its content. --phrase looks up the translations of a source
    phrase in a model or rule table; nonterminals are written [X,1]. --derivation translates a
    sentence and shows the best derivation: its rules, the source words they cover, and the
    contribution of each feature to the score. --features shows the features that each template
    fires on a sentence, and the largest weights of each template. --verify compares all bytes of a
    file, or of all files of a directory, with the checksums that were written with them.
    """

    examples = (
        "hopefear inspect fr-en",
        "hopefear inspect fr-en --phrase 'la maison' --json",
        "hopefear inspect fr-en.hiero --phrase 'ne [X,1] pas'",
        "hopefear inspect fr-en --derivation 'la maison est petite'",
        "hopefear inspect fr-en --features 'la maison' --templates word-pairs rule-shape",
        "hopefear inspect run",
        "hopefear inspect weights.tsv --top 20",
        "hopefear inspect fr-en --verify",
    )

    path: Path = argument(
        help="model directory, run directory, rules.bin, lm.bin, weights.tsv or weights.bin"
    )
    phrase: str | None = option(None, help="source phrase whose translations to show")
    derivation: str | None = option(
        None, metavar="SENTENCE", help="sentence whose best derivation to show"
    )
    features: str | None = option(
        None, metavar="SENTENCE", help="sentence whose sparse features to show"
    )
    weights: Path | None = option(
        None,
        help="weights file for --derivation and --features (default: the model's weights)",
    )
    templates: list[str] | None = option(
        None,
        metavar="NAME",
        may_be_empty=True,
        help="feature templates for --derivation and --features, as NAME or "
        "NAME:option=value:… (default: those of the model)",
    )
    plugin: list[Path] = option(
        [],
        metavar="FILE.py",
        help="Python files that define your own templates, taggers, tuners or metrics",
    )
    tokenized: bool = option(False, help="the sentence is already tokenised")
    verify: bool = option(False, help="compare all files with their checksums")
    top: int = option(10, min=1, help="number of weights or translations to show")

    def run(self, console: Console) -> Mapping[str, Any]:
        sentence = self.derivation if self.derivation is not None else self.features
        if self.derivation is not None and self.features is not None:
            raise OptionError("--derivation and --features exclude each other; give one")
        if sentence is None and (
            self.weights is not None or self.tokenized or self.templates is not None or self.plugin
        ):
            raise OptionError(
                "--weights, --templates, --plugin and --tokenized need --derivation SENTENCE or "
                "--features SENTENCE; give one of these"
            )
        if is_device(self.path):
            raise InputError(
                f"{self.path}: a device or a pipe, expected a file or a directory; give its name"
            )
        if self.verify:
            return self._verify(sentence)
        if is_run(self.path):
            if self.phrase is not None or sentence is not None:
                raise InputError(
                    f"{self.path}: a run directory; --phrase, --derivation and --features need a "
                    "model directory"
                )
            return describe_run(self.path)
        if self.path.is_dir():
            from hopefear.model.directory import Model

            model = Model.load(self.path)
            if sentence is not None:
                return self._sentence(model, sentence, console)
            return self._model(model)
        if sentence is not None:
            flag = "--derivation" if self.derivation is not None else "--features"
            raise InputError(f"{self.path}: not a model directory; {flag} needs one")
        kind = _kind(self.path)
        if kind == "rules":
            from hopefear.rules.table import RuleTable

            rules = self._rules(RuleTable.open(self.path))
            return {"kind": "rules", "file": str(self.path), **rules}
        if self.phrase is not None:
            raise InputError(f"{self.path}: no rules in it; --phrase needs a model or a rule table")
        if kind == "lm":
            from hopefear.lm import LanguageModel

            return {"kind": "lm", "file": str(self.path), **_lm(LanguageModel.load(self.path))}
        from hopefear.base.weights import Weights

        weights = Weights.load(self.path)
        groups = heaviest(weights, self.top)
        return {
            "kind": "weights",
            "file": str(self.path),
            "features": len(weights),
            "active": weights.active,
            "norm": weights.norm(),
            "top": dict(weights.top(self.top)),
            "templates": {name: group for name, group in groups.items() if name != DENSE},
        }

    def _verify(self, sentence: str | None) -> dict[str, Any]:
        from hopefear.model.verify import refuse_damaged, verify

        if sentence is not None or self.phrase is not None:
            raise OptionError(
                "--verify excludes --phrase, --derivation and --features; give one of them"
            )
        found = verify(self.path)
        refuse_damaged(self.path, found)
        files = [{"file": f.file, "bytes": f.bytes, "checked": f.checked} for f in found]
        return {"kind": "verification", "path": str(self.path), "files": files}

    def _sentence(self, model: Model, sentence: str, console: Console) -> dict[str, Any]:
        from hopefear.analysis import derivations as derivation
        from hopefear.analysis import feature_report as fired
        from hopefear.model.translate import TranslateOptions, Translator

        translator = Translator(
            model,
            weights=self.weights,
            options=TranslateOptions(tokenized=self.tokenized),
            templates=chosen_templates(self.templates, model),
            warn=console.warn,
        )
        if self.derivation is not None:
            return derivation.describe(translator, sentence)
        return fired.describe(translator, sentence, self.top)

    def _model(self, model: Model) -> dict[str, Any]:
        training = model.settings.get("training", {})
        report: dict[str, Any] = {
            "kind": "model",
            "directory": str(model.directory),
            "system": model.system,
            "made_by": model.settings.get("made_by", "an unknown version"),
            "text": model.settings["text"],
            "tagger": model.settings.get("tagger", {}).get("name"),
            "steps": _steps(model),
            "times": model.training_times,
            "lms": {
                name: {**_lm(lm), "file": model.lm_files[name].name}
                for name, lm in model.lms.items()
            },
            "rules": self._rules(model.rules) if model.has_rules else None,
            "weights": dict(model.weights(warn=lambda text: None).top(self.top)),
            "folds": len(model.folds),
            "megabytes": {
                path.name: round(path.stat().st_size / 2**20, 2) for path in model.parts()
            },
        }
        if training:
            inputs = (training.get(side, "an unknown file") for side in ("source", "target"))
            report["trained_on"] = list(map(str, inputs))
            report["lm"] = _lm(model.lm)
        else:
            report["imported"] = model.settings.get("imported", {})
        return report

    def _rules(self, rules: RuleTable) -> dict[str, Any]:
        report: dict[str, Any] = {"columns": list(rules.columns), **rules.statistics()}
        report["limit"] = rules.info.get("limit", 0)  # imported tables have all
        if self.phrase is not None:
            report["phrase"] = self.phrase
            report["translations"] = [
                {
                    "target": " ".join(rule.target),
                    "label": rule.label,
                    "count": rule.counts.joint,
                    "alignment": " ".join(f"{i}-{j}" for i, j in rule.alignment),
                    "scores": {
                        **dict(zip(rules.columns, rule.scores, strict=True)),
                        **dict(rule.sparse),
                    },
                }
                for rule in rules.lookup(self.phrase.split())[: self.top]
            ]
        return report

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        {
            "model": _show_model,
            "run": show_run,
            "rules": _show_rules,
            "lm": _show_lm,
            "weights": _show_weights,
            "verification": _show_verification,
            "derivation": self._show_derivation,
            "features": self._show_features,
        }[report["kind"]](report, console)

    def _show_derivation(self, report: Mapping[str, Any], console: Console) -> None:
        from hopefear.analysis.derivations import show

        show(report, console, self.top)

    def _show_features(self, report: Mapping[str, Any], console: Console) -> None:
        show_fired(report, console, self.top)


def _kind(path: Path) -> str:
    """The kind in the header of a binary file; "weights" for other files, which are text."""
    with path.open("rb") as file:
        start = file.read(16)
    if not start.startswith(COMPILED):
        return "weights"
    return start[len(COMPILED) :].rstrip(b"\0").decode("ascii", "replace")


def _steps(model: Model) -> dict[str, Any]:
    """The reports of the steps of training, from model.toml."""
    from hopefear.model.directory import MODEL_FILE

    steps = model.settings.get("training", {}).get("steps", {})
    for name, step in steps.items() if isinstance(steps, dict) else [("", steps)]:
        values = (
            [step[key] for key in ("seconds", "cpu_seconds", "pairs", "kept") if key in step]
            if isinstance(step, dict)
            else [step]
        )
        if not all(isinstance(value, int | float) and abs(value) < _LARGEST for value in values):
            raise InputError(
                f"{model.directory / MODEL_FILE}: training.steps {name!r} is {str(step)[:80]!r}, "
                "expected a table of numbers; train it again"
            )
    return dict(steps)


def _lm(lm: Any) -> dict[str, Any]:
    return {"order": lm.order, "words": lm.vocabulary_size, "ngrams": lm.ngrams}


def _show_model(report: Mapping[str, Any], console: Console) -> None:
    text = report["text"]
    if "trained_on" in report:
        codes = [str(text[side].get("language", "en")) for side in ("source", "target")]
        languages = f", {' to '.join(codes)}"
        origin = f"from {' and '.join(report['trained_on'])}"
    else:
        imported = report["imported"]
        languages, origin = "", f"from {imported.get('format')}'s {imported.get('file')}"
    console.print(
        f"{report['directory']}: a {report['system']} model{languages}, "
        f"made by {report['made_by']} {origin}\n"
    )
    for side in ("source", "target"):
        steps = text[side]
        tagger = f", tagger {report['tagger']}" if side == "source" and report["tagger"] else ""
        tokenizer, casing = steps.get("tokenizer", "auto"), steps.get("casing", "truecase")
        console.print(f"{side} text     tokenizer {tokenizer}, casing {casing}{tagger}")
    cleaned = report["steps"].get("text", {})
    if "pairs" in cleaned and "kept" in cleaned:
        dropped = cleaned["pairs"] - cleaned["kept"]
        console.print(
            f"bitext          {cleaned['kept']:,} sentence pairs"
            + (f" ({dropped:,} left out)" if dropped else "")
        )
    sizes = report["megabytes"]
    for name, lm in report["lms"].items():
        label = "language model" if name == "lm" else f"{name} ".ljust(14)
        console.print(
            f"{label}  order {lm['order']}, {lm['words']:,} words, "
            f"{sum(lm['ngrams']):,} n-grams, {sizes[lm['file']]:,} MB"
        )
    rules = report["rules"]
    if rules is None:
        console.print("rules           none; each sentence needs a grammar of its own")
    else:
        console.print(
            f"rules           {rules['rules']:,} for {rules['source_sides']:,} source sides, "
            f"{rules['one_sentence']:,} seen in one sentence only, {sizes['rules.bin']:,} MB\n"
            f"limit           {_limit(rules)}\n"
            f"scores          {' '.join(rules['columns'])}"
        )
    if report["folds"]:
        console.print(f"folds           {report['folds']}")
    heaviest = [(name, f"{value:.4g}") for name, value in report["weights"].items()]
    if heaviest:
        console.print("\n" + table(heaviest, ("heaviest", "weight")))
    rows = [
        (name, duration(step["seconds"]), duration(step["cpu_seconds"]))
        for name, step in report["times"].items()
        if "seconds" in step and "cpu_seconds" in step
    ]
    if rows:
        console.print("\n" + table(rows, ("training", "time", "CPU")))
    if rules is not None:
        steps = report["text"]["source"]
        raw = any(steps.get(key, "none") != "none" for key in ("tokenizer", "casing"))
        hint = "; give its words as 'hopefear text tokenize --model DIR' prints them" if raw else ""
        _show_translations(rules, console, hint)


def _limit(rules: Mapping[str, Any]) -> str:
    if not rules["limit"]:
        return "none, all translations of each source side"
    return f"the best {rules['limit']} translations of each source side by p(e|f)"


def _show_rules(report: Mapping[str, Any], console: Console) -> None:
    console.print(
        f"{report['file']}: {report['rules']:,} rules for {report['source_sides']:,} source sides\n"
        f"limit: {_limit(report)}\n"
        f"scores: {' '.join(report['columns'])}"
    )
    _show_translations(report, console)


def _show_translations(rules: Mapping[str, Any], console: Console, hint: str = "") -> None:
    if "phrase" not in rules:
        return
    console.print()
    if not rules["translations"]:
        console.print(f"no rule for '{rules['phrase']}'{hint}")
        return
    columns = [name for name in rules["columns"] if not name.startswith("reorder")]
    labels = {rule["label"] for rule in rules["translations"]} - {None, "X"}
    rows = [
        (
            f"[{rule['label']}] {rule['target']}" if labels else rule["target"],
            f"{rule['count']:.4g}",
            *(f"{rule['scores'][c]:.3f}" for c in columns),
        )
        for rule in rules["translations"]
    ]
    console.print(table(rows, (rules["phrase"], "count", *columns)))


def _show_lm(report: Mapping[str, Any], console: Console) -> None:
    console.print(f"{report['file']}: a language model of {report['words']:,} words")
    rows = [(str(order), f"{count:,}") for order, count in enumerate(report["ngrams"], 1)]
    console.print(table(rows, ("order", "n-grams")))


def _show_verification(report: Mapping[str, Any], console: Console) -> None:
    rows = [
        (each["file"], f"{each['bytes']:,}", each["checked"] or "has no checksum")
        for each in report["files"]
    ]
    console.print(table(rows, ("file", "bytes", "checked")))
    console.print(f"\n{report['path']}: no file is damaged")


def _show_weights(report: Mapping[str, Any], console: Console) -> None:
    console.print(
        f"{report['file']}: {format_value(report['features'])} features, "
        f"{format_value(report['active'])} with a nonzero weight, norm {report['norm']:.4g}"
    )
    rows = [(name, f"{value:.6g}") for name, value in report["top"].items()]
    if rows:
        console.print(table(rows, ("heaviest", "weight")))
    if report["templates"]:
        console.print()
        show_heaviest(report["templates"], console)
