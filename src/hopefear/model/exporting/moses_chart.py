"""Moses, hierarchical: moses.ini for moses_chart, a rule table, a glue grammar, language models.

    cd DIR && moses_chart -f moses.ini < input

Units are those of Moses, as for phrase models. The rule table has the exponentials of all columns.
The glue grammar counts the joined constituents like our decoder; `rules` is Moses's PhrasePenalty.

Differs: moses_chart counts `<s>`, `</s>` and the two rules that cover them as words and rules,
which adds the same number to all scores. It has no features that count arities or source words.
"""

from __future__ import annotations

import math
from typing import Any

from hopefear.base.errors import OptionError
from hopefear.base.files import write_text
from hopefear.model.exporting.cdec import check_glue
from hopefear.model.exporting.moses import MosesIni
from hopefear.model.exporting.source import ExportSource
from hopefear.rules.moses import write_table

_LONGEST = 1000  # words that glue rules cover
_COUNTS = [
    ("pass-through", "UnknownWordPenalty", -100.0),
    ("words", "WordPenalty", -1.0),
    ("rules", "PhrasePenalty", 1.0),
]


def write_moses_chart(source: ExportSource) -> dict[str, Any]:
    """Write the files; return what the report says of them."""
    table, directory, options = source.rules, source.directory, source.options
    check_glue(source, "moses_chart")
    if table is None:
        raise OptionError(
            f"{source.model.directory}: each sentence has a grammar of its own, but Moses has one "
            "for all; export to cdec, or import a grammar"
        )
    if options.search == "full":
        raise OptionError("decoder.search = full in model.toml: Moses has only cube pruning")
    if table.statistics()["labels"] > 1 or options.label != "X":
        raise OptionError(
            "the grammar has labels other than [X], for which no glue grammar of Moses can be "
            "written; export to cdec"
        )
    with source.display.step("write rule-table.gz", unit="rules"):
        write_table(table, directory / "rule-table.gz", all_columns=True)
    with write_text(directory / "glue-grammar") as glue:
        # The value is the number of constituents - 1.
        glue.write(f"<s> [X] ||| <s> [S] ||| {math.exp(-1):.9f} ||| 0-0 |||\n")
        glue.write("[X][S] </s> [X] ||| [X][S] </s> [S] ||| 1 ||| 0-0 1-1 |||\n")
        glue.write(f"[X][S] [X][X] [X] ||| [X][S] [X][X] [S] ||| {math.e:.9f} ||| 0-0 1-1 |||\n")
    ini = MosesIni(source)
    ini.mapping = ["0 T 0", "1 T 1"]
    ini.sections = {
        "search-algorithm": 3,
        "cube-pruning-pop-limit": options.pop_limit,
        "non-terminals": "X",
        "max-chart-span": f"{options.span_limit}\n{_LONGEST}",
    }
    ini.add_counts(_COUNTS)
    ini.add_values(
        "PhraseDictionaryMemory",
        table.columns,
        "TranslationModel0",
        f"path=rule-table.gz table-limit={options.rule_limit} input-factor=0 output-factor=0",
    )
    ini.functions.append(
        "PhraseDictionaryMemory name=TranslationModel1 num-features=1 path=glue-grammar "
        "input-factor=0 output-factor=0"
    )
    ini.weights["TranslationModel1"] = [source.per_unit("glue")]
    ini.add_lms(brackets=True)
    ini.write()
    source.note_text_steps()
    return {"weights": ini.named_weights(), "command": "moses_chart -f moses.ini < INPUT"}
