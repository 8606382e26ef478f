"""What `hopefear tune --recipe` gains over `mert` alone, on five corpora.

    python experiments/recipes.py --run [--corpora fr-en] [--jobs 1]

All rows share a model with word clusters and five folds. Every row translates with the search that
it was tuned with: beam 30 on Multi30k and Tatoeba, 100 on the Bible. `best` learns from the whole
training text; the development set is that of `mert`.

It runs for at most 40 minutes (--minutes) and resumes when called again; --write puts finished rows
into docs/results/recipes.md.
"""

from __future__ import annotations

from dataclasses import replace

from harness import Setting, Study, main

MODEL = ("--clusters", "200", "--folds", "5")
TEMPLATES = ("rule-id", "word-edges", "rule-bigrams", "rule-history")
NARROW = ("--beam", "30", "--pop-limit", "60")
WIDE = ("--beam", "100", "--pop-limit", "500")
SEARCHES = {
    **dict.fromkeys(("fr-en", "de-en", "ar-en"), NARROW),
    **dict.fromkeys(("zh-en", "es-en"), WIDE),
}


def recipe(name: str, *templates: str) -> Setting:
    """Returns a row of a recipe; `best` has templates."""
    decode = ("--templates", *templates) if templates else ()
    return Setting(f"recipe {name}", f"recipe {name}", decode=decode, train=MODEL)


MERT = Setting("MERT", "mert", train=MODEL, iterations=10)
BEST = replace(recipe("best", *TEMPLATES), learn_from="train")

if __name__ == "__main__":
    rows = (MERT, recipe("fast"), BEST)
    main(
        Study(
            "recipes",
            "Recipes",
            [replace(row, by_corpus=SEARCHES) for row in rows],
            corpora=("fr-en", "de-en", "ar-en", "es-en", "zh-en"),
            columns=("length", "features", "CPU s"),
            text="`fast` is batch MIRA. `best` is MERT, MIRA on the training text in folds, MERT.",
            page="recipes",
        ),
        __doc__,
    )
