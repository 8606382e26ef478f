"""cdec: cdec.ini, weights, a grammar and language models.

    cd DIR && cdec -c cdec.ini -w weights < input

Names and units are those of cdec's feature functions: log10 for language models, -1/ln 10 for each
target word, source word, and rule of an arity. The glue grammar and the rules that copy words are
made by cdec itself. Columns of the grammar keep their names and values.

Differs: cdec copies every word; our models copy, unless `pass_through_all` is set, only words that
no single-word rule translates. The number of rules alone (`rules`) becomes a part of the weights
of the three arities, which count all rules.
"""

from __future__ import annotations

from typing import Any

from hopefear.base.errors import OptionError
from hopefear.base.files import write_text
from hopefear.model.exporting.source import LOG10, ExportSource, check_names, number
from hopefear.rules.cdec import write_grammar

_PENALTY = -LOG10  # the value that cdec's counting feature functions have for one
MOST_ARITY = 2


def write_cdec(source: ExportSource) -> dict[str, Any]:
    """Write the files; return what the report says of them."""
    options = source.options
    check_glue(source, "cdec")
    lines = ["formalism=scfg"]
    if source.rules is not None:
        with source.display.step("write grammar.gz", unit="rules"):
            write_grammar(source.rules, source.directory / "grammar.gz")
        lines.append("grammar=grammar.gz")
    lines += [
        "add_pass_through_rules=true",
        f"scfg_max_span_limit={options.span_limit}",
        f"intersection_strategy={'full' if options.search == 'full' else 'cube_pruning'}",
        f"cubepruning_pop_limit={options.pop_limit}",
    ]
    if options.label != "X":
        lines.append(f"scfg_default_nt={options.label}")
    if options.glue_label != "S":
        lines.append(f"goal={options.glue_label}")
    weights: dict[str, float] = {}
    for number_of_lm, (name, lm) in enumerate(source.lms.items()):
        file = "lm.arpa.gz" if number_of_lm == 0 else f"lm.{number_of_lm}.arpa.gz"
        source.write_lm(lm, file, brackets=True)
        feature = "LanguageModel" if name == "lm" else name
        flag = "" if feature == "LanguageModel" else f"-n {feature} "
        lines.append(f"feature_function=KLanguageModel {flag}{file}")
        weights[feature] = source.lm_weight(name, LOG10)
        weights[f"{feature}_OOV"] = source.per_unit(f"unknown.{name}")
    has = source.features
    if "words" in has:
        lines.append("feature_function=WordPenalty")
        weights["WordPenalty"] = source.per_unit("words") / _PENALTY
    arities = [f"arity{k}" for k in range(MOST_ARITY + 1)]
    if any(key in has for key in (*arities, "rules")):
        per_rule = source.per_unit("rules")
        values = [source.per_unit(key) + per_rule for key in arities]
        if any(values) or "imported" in source.model.settings:
            lines.append("feature_function=ArityPenalty")
            weights.update({f"Arity_{k}": value / _PENALTY for k, value in enumerate(values)})
    if (per_word := source.per_unit("source-words")) or (
        "source-words" in has and "imported" in source.model.settings
    ):
        lines.append("feature_function=SourceWordPenalty")
        weights["SourceWordPenalty"] = per_word / _PENALTY
    weights["Glue"] = source.per_unit("glue")
    weights["PassThrough"] = source.per_unit("pass-through")
    weights.update(table_weights(source))
    check_names(list(weights), "cdec")
    lines.append("weights=weights")
    with write_text(source.directory / "weights") as file_of_weights:
        file_of_weights.writelines(f"{name} {number(value)}\n" for name, value in weights.items())
    with write_text(source.directory / "cdec.ini") as ini:
        ini.writelines(f"{line}\n" for line in lines)
    if not options.pass_through_all:
        source.notes.append(
            "cdec may copy every word, the model only words that no single-word rule translates; "
            f"the weight of a copied word is {weights['PassThrough']:.4g}"
        )
    source.note_text_steps()
    return {"weights": weights, "command": "cdec -c cdec.ini < INPUT"}


def table_weights(source: ExportSource) -> dict[str, float]:
    """The weights of the grammar's features, by their names in the grammar."""
    if source.rules is None:  # the grammars of the sentences have them
        return {name: source.weight(name) for name in source.remaining()}
    columns = {name: source.column_weight(name) for name in source.rules.columns}
    return {**columns, **source.other_weights()}


def check_glue(source: ExportSource, system: str) -> None:
    """Raise an error if the model has no glue rules, which the other system always has."""
    if not source.options.glue:
        raise OptionError(
            f"decoder.glue = false in model.toml: {system} always uses glue rules; remove it"
        )
