"""`hopefear inspect`: what is in a model directory, or in one of our files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopefear.cli.command import Command, Console, format_value, table
from hopefear.config import argument, option
from hopefear.errors import InputError
from hopefear.progress import duration
from hopefear.registry import register

if TYPE_CHECKING:
    from hopefear.model import Model
    from hopefear.rules.table import RuleTable


@register("command", "inspect")
@dataclass(kw_only=True)
class Inspect(Command):
    """Describe a model directory, a rule table, a language model or weights.

    What PATH is, is found out from its content. --phrase looks up the translations of a source
    phrase in a model or rule table; nonterminals are written [X,1].
    """

    examples = (
        "hopefear inspect fr-en",
        "hopefear inspect fr-en --phrase 'la maison' --json",
        "hopefear inspect fr-en.hiero --phrase 'ne [X,1] pas'",
        "hopefear inspect weights.tsv --top 20",
    )

    path: Path = argument(help="a model directory, rules.bin, lm.bin, weights.tsv or weights.bin")
    phrase: str | None = option(None, help="source words: show their translations")
    top: int = option(10, min=1, help="how many of the heaviest weights or best translations")

    def run(self, console: Console) -> Mapping[str, Any]:
        if self.path.is_dir():
            from hopefear.model import Model

            return self._model(Model.load(self.path))
        kind = _kind(self.path)
        if kind == "rules":
            from hopefear.rules.table import RuleTable

            rules = self._rules(RuleTable.open(self.path))
            return {"kind": "rules", "file": str(self.path), **rules}
        if self.phrase is not None:
            raise InputError(f"{self.path}: has no rules; --phrase needs a model or a rule table")
        if kind == "lm":
            from hopefear.lm import LanguageModel

            return {"kind": "lm", "file": str(self.path), **_lm(LanguageModel.load(self.path))}
        from hopefear.weights import Weights

        weights = Weights.load(self.path)
        return {
            "kind": "weights",
            "file": str(self.path),
            "features": len(weights),
            "active": weights.active,
            "norm": weights.norm(),
            "top": dict(weights.top(self.top)),
        }

    def _model(self, model: Model) -> dict[str, Any]:
        training = model.settings["training"]
        return {
            "kind": "model",
            "directory": str(model.directory),
            "system": model.system,
            "made_by": model.settings["made_by"],
            "text": model.settings["text"],
            "trained_on": [training["source"], training["target"]],
            "steps": training["steps"],
            "lm": _lm(model.lm),
            "rules": self._rules(model.rules),
            "folds": len(model.folds),
            "megabytes": {
                path.name: round(path.stat().st_size / 2**20, 2) for path in model.parts()
            },
        }

    def _rules(self, rules: RuleTable) -> dict[str, Any]:
        found: dict[str, Any] = {"columns": list(rules.columns), **rules.statistics()}
        if self.phrase is not None:
            found["phrase"] = self.phrase
            found["translations"] = [
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
        return found

    def show(self, report: Mapping[str, Any], console: Console) -> None:
        {
            "model": _show_model,
            "rules": _show_rules,
            "lm": _show_lm,
            "weights": _show_weights,
        }[report["kind"]](report, console)


def _kind(path: Path) -> str:
    """The kind that the header of a binary file names; other files are weights as text."""
    with path.open("rb") as file:
        start = file.read(16)
    if start[:8] != b"HOPEFEAR":
        return "weights"
    return start[8:].rstrip(b"\0").decode("ascii", "replace")


def _lm(lm: Any) -> dict[str, Any]:
    return {"order": lm.order, "words": lm.vocabulary_size, "ngrams": lm.ngrams}


def _show_model(report: Mapping[str, Any], console: Console) -> None:
    text = report["text"]
    console.print(
        f"{report['directory']}: a {report['system']} model, "
        f"{text['source']['language']} to {text['target']['language']}, "
        f"made by {report['made_by']} from {' and '.join(report['trained_on'])}\n"
    )
    for side in ("source", "target"):
        steps = text[side]
        console.print(f"{side} text     tokenizer {steps['tokenizer']}, casing {steps['casing']}")
    cleaned = report["steps"]["text"]
    dropped = cleaned["pairs"] - cleaned["kept"]
    console.print(
        f"bitext          {cleaned['kept']:,} sentence pairs"
        + (f" ({dropped:,} left out)" if dropped else "")
    )
    sizes = report["megabytes"]
    lm = report["lm"]
    console.print(
        f"language model  order {lm['order']}, {lm['words']:,} words, "
        f"{sum(lm['ngrams']):,} n-grams, {sizes['lm.bin']:,} MB"
    )
    rules = report["rules"]
    console.print(
        f"rules           {rules['rules']:,} of {rules['source_sides']:,} source sides, "
        f"{rules['one_sentence']:,} seen in one sentence only, {sizes['rules.bin']:,} MB\n"
        f"scores          {' '.join(rules['columns'])}"
    )
    if report["folds"]:
        console.print(f"folds           {report['folds']}")
    rows = [
        (name, duration(step["seconds"]), duration(step["cpu_seconds"]))
        for name, step in report["steps"].items()
    ]
    console.print("\n" + table(rows, ("training", "time", "CPU")))
    _show_translations(rules, console)


def _show_rules(report: Mapping[str, Any], console: Console) -> None:
    console.print(
        f"{report['file']}: {report['rules']:,} rules of {report['source_sides']:,} source sides\n"
        f"scores: {' '.join(report['columns'])}"
    )
    _show_translations(report, console)


def _show_translations(rules: Mapping[str, Any], console: Console) -> None:
    if "phrase" not in rules:
        return
    console.print()
    if not rules["translations"]:
        console.print(f"no rule for '{rules['phrase']}'")
        return
    columns = [name for name in rules["columns"] if not name.startswith("reorder")]
    labels = {found["label"] for found in rules["translations"]} - {None, "X"}
    rows = [
        (
            f"[{found['label']}] {found['target']}" if labels else found["target"],
            f"{found['count']:.4g}",
            *(f"{found['scores'][c]:.3f}" for c in columns),
        )
        for found in rules["translations"]
    ]
    console.print(table(rows, (rules["phrase"], "count", *columns)))


def _show_lm(report: Mapping[str, Any], console: Console) -> None:
    console.print(f"{report['file']}: a language model of {report['words']:,} words")
    rows = [(str(order), f"{count:,}") for order, count in enumerate(report["ngrams"], 1)]
    console.print(table(rows, ("order", "n-grams")))


def _show_weights(report: Mapping[str, Any], console: Console) -> None:
    console.print(
        f"{report['file']}: {format_value(report['features'])} features, "
        f"{format_value(report['active'])} of them not 0, norm {report['norm']:.4g}"
    )
    rows = [(name, f"{value:.6g}") for name, value in report["top"].items()]
    if rows:
        console.print(table(rows, ("heaviest", "weight")))
