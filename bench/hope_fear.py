"""Hope and fear of whole forests: CPU milliseconds of a sentence (budget: tens of them).

The forests of Moses's model of Multi30k fr-en, with n-gram matches carried along. How good what is
found is: experiments/oracle.py.
"""

from __future__ import annotations

from support import models
from support.figures import Figure, main
from support.machine import best, shared

from hopefear import forest as hf
from hopefear.metrics.bleu_plus_one import BleuPlusOne
from hopefear.model.directory import Model


def run(quick: bool) -> list[Figure]:
    folder, count = shared("golden/moses/decode"), 30 if quick else 200
    sources, references = (
        (folder / name).read_text(encoding="utf-8").splitlines()[:count]
        for name in ("input.fr", "reference.en")
    )
    model = Model.load(models.golden())
    weights = model.weights()
    forests = list(model.decoder().forests(sources, weights))
    metric = BleuPlusOne()
    prepared = metric.prepare([[line] for line in references])
    goals = [hf.Objective.of(metric, prepared, i) for i in range(len(forests))]
    work = list(zip(forests, goals, strict=True))
    both = best(3, lambda: [hf.hope_fear(f, weights, goal, scale=10.0) for f, goal in work])
    oracle = best(3, lambda: [hf.oracle(f, weights, goal) for f, goal in work])
    return [
        Figure("hope and fear of a sentence", 1e3 * both / len(forests), "ms", most=50),
        Figure("oracle of a sentence", 1e3 * oracle / len(forests), "ms"),
    ]


if __name__ == "__main__":
    main(__doc__, run)
