"""Rerank the n-best lists of a neural system.

    python examples/rerank_neural.py                    # with lists that are made here
    python examples/rerank_neural.py --work DIR         # the same, and the files stay

A neural system gives a few translations of each sentence and how probable it finds them. Other
models can score them, too: one that translates back, a language model, a quality estimator. This
script has such lists as JSON lines, one candidate each:

    {"id": 0, "text": "a house", "features": {"nmt": -3.1, "back": -4.0, "lm": -9.2, "words": 2}}

It learns on one set of lists how much each score should count, and chooses with these weights
among the candidates of another one. With files of your own only `rerank` matters; `id` is the
number of the sentence, from 0, and the names of the features are yours. The commands `hopefear
rerank tune`, `rerank apply` and `score` do the same.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path

import hopefear
from hopefear.text.world import generate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, help="where files go; without it they do not stay")
    parser.add_argument("--sentences", type=int, default=200, help="of each of the two sets")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = a.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        made = generate(train=0, dev=a.sentences, test=a.sentences, seed=1)
        for name, part in (("dev", made.dev), ("test", made.test)):
            write_lists(work, name, [sentence.references[0] for sentence in part])
        rerank(work)


def rerank(work: Path) -> None:
    """The calls; with your own files these are all that is needed."""
    # Weights for the features. folds=5 says what they are worth on lists they have not seen.
    reranker = hopefear.rerank(
        nbest=work / "dev.jsonl", refs=[work / "dev.en"], tuner="mert", folds=5, display="off"
    )
    print(reranker, reranker.weights, sep="\n", end="\n\n")
    reranker.save(work / "weights.tsv")
    # Choose among the candidates of the test set …
    chosen = reranker.apply(work / "test.jsonl")
    (work / "reranked.en").write_text("".join(f"{text}\n" for text in chosen))
    # … and compare with what the neural system itself put first.
    scores = hopefear.score(
        chosen, refs=[work / "test.en"], versus={"first": work / "test.first.en"}, display="off"
    )
    print(scores)


# -- lists to play with --


def write_lists(work: Path, name: str, references: list[str]) -> None:
    """References, ten candidates for each, and the first of these."""
    chance = random.Random(name)
    vocabulary = sorted({word for text in references for word in text.split()})
    candidates = []
    first = []
    for number, reference in enumerate(references):
        texts = {damaged(reference.split(), vocabulary, chance) for _ in range(10)}
        scored = [scores(text, reference, chance) for text in sorted(texts)]
        scored.sort(key=lambda one: -one["features"]["nmt"])  # as the system would give them
        first.append(scored[0]["text"])
        candidates += [{"id": number, **one} for one in scored]
    (work / f"{name}.en").write_text("".join(f"{text}\n" for text in references))
    (work / f"{name}.first.en").write_text("".join(f"{text}\n" for text in first))
    (work / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in candidates))


def damaged(words: list[str], vocabulary: list[str], chance: random.Random) -> str:
    """What such systems do wrong: leave words out, repeat some, take others."""
    found: list[str] = []
    for word in words:
        what = chance.random()
        if what < 0.08:
            continue
        found.append(chance.choice(vocabulary) if what > 0.92 else word)
        if 0.08 < what < 0.12:
            found.append(found[-1])
    return " ".join(found) or words[0]


def scores(text: str, reference: str, chance: random.Random) -> dict:
    """Logs of probabilities as models give them: a sum over words, so short texts look good."""
    words, wanted = text.split(), reference.split()
    wrong = sum(word not in wanted for word in words)
    missing = sum(word not in words for word in wanted)
    features = {
        "nmt": -0.6 * len(words) - 1.0 * wrong - 0.1 * missing + chance.gauss(0, 0.7),
        "back": -0.5 * len(wanted) - 1.0 * missing - 0.3 * wrong + chance.gauss(0, 1.5),
        "lm": -2.0 * len(words) - 1.5 * wrong + chance.gauss(0, 2.0),
        "words": len(words),
    }
    return {"text": text, "features": {key: round(value, 4) for key, value in features.items()}}


if __name__ == "__main__":
    main()
