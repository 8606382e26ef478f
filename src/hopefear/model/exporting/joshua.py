"""Joshua 6: joshua.config with the weights, a grammar, a glue grammar and language models.

    cd DIR && joshua-decoder -c joshua.config < input

The columns of the grammar are written with their names, as sparse features of Joshua: it reads
their values as they are, while it negates numbers without names. Language models are in log10
(`lm_0`, `lm_1` …), a target word counts -1/ln 10, a copied word -100. The glue grammar counts the
joined constituents like our decoder (`Glue`).

Differs: Joshua may copy every word, and its `WordPenalty` counts `<s>` and `</s>`, which adds the
same number to all scores. It has no features that count rules, arities or source words.
"""

from __future__ import annotations

from typing import Any

from hopefear.base.errors import OptionError
from hopefear.base.files import open_text, write_text
from hopefear.model.exporting.cdec import check_glue, table_weights
from hopefear.model.exporting.source import LOG10, ExportSource, check_names, number
from hopefear.rules.cdec import write_grammar

_WORD, _COPIED_WORD = -LOG10, -100.0  # values of WordPenalty and OOVPenalty for one
_GOAL = "GOAL"


def write_joshua(source: ExportSource) -> dict[str, Any]:
    """Write the files; return what the report says of them."""
    options, directory = source.options, source.directory
    check_glue(source, "Joshua")
    if source.rules is None:
        raise OptionError(
            f"{source.model.directory}: each sentence has a grammar of its own, but Joshua has one "
            "for all; export to cdec, or import a grammar"
        )
    if options.search == "full":
        raise OptionError("decoder.search = full in model.toml: Joshua has only cube pruning")
    with source.display.step("write grammar.gz", unit="rules"):
        write_grammar(source.rules, directory / "grammar.gz", target_labels=True)
    label = options.label
    with write_text(directory / "glue-grammar") as glue:
        # Glue is the number of constituents - 1.
        glue.write(f"[{_GOAL}] ||| <s> ||| <s> ||| Glue=-1\n")
        for name in _labels(source, label):
            glue.write(
                f"[{_GOAL}] ||| [{_GOAL},1] [{name},2] ||| [{_GOAL},1] [{name},2] ||| Glue=1\n"
            )
        glue.write(f"[{_GOAL}] ||| [{_GOAL},1] </s> ||| [{_GOAL},1] </s> ||| Glue=0\n")
    lines = [
        "# run in this directory: paths are relative to it",
        f"tm = hiero -owner pt -maxspan {options.span_limit} -path grammar.gz",
        "tm = hiero -owner glue -maxspan -1 -path glue-grammar",
        f"default-non-terminal = {label}",
        f"goal-symbol = {_GOAL}",
        "mark-oovs = false",
        f"pop-limit = {options.pop_limit}",
        "top-n = 1",
        "output-format = %s",
    ]
    weights: dict[str, float] = {}
    for index, (name, lm) in enumerate(source.lms.items()):
        file = "lm.arpa.gz" if index == 0 else f"lm.{index}.arpa.gz"
        source.write_lm(lm, file, brackets=True)
        lines.append(
            f"feature-function = LanguageModel -lm_type kenlm -lm_order {lm.order} -lm_file {file}"
        )
        weights[f"lm_{index}"] = source.lm_weight(name, LOG10)
    lines += ["feature-function = WordPenalty", "feature-function = OOVPenalty"]
    weights["WordPenalty"] = source.per_unit("words") / _WORD
    weights["OOVPenalty"] = source.per_unit("pass-through") / _COPIED_WORD
    weights["Glue"] = source.per_unit("glue")
    weights.update(table_weights(source))
    check_names(list(weights), "Joshua")
    lines += ["", "# weights"]
    lines += [f"{name} {number(value)}" for name, value in weights.items()]
    with write_text(directory / "joshua.config") as file_of_settings:
        file_of_settings.writelines(f"{line}\n" for line in lines)
    source.note_text_steps()
    return {"weights": weights, "command": "joshua-decoder -c joshua.config < INPUT"}


def _labels(source: ExportSource, default: str) -> list[str]:
    """The labels of the grammar's left-hand sides, which glue rules join."""
    labels = {default: None}
    with open_text(source.directory / "grammar.gz") as lines:
        for line in lines:
            labels.setdefault(line[1 : line.index("]")])
    return list(labels)
