# %% [markdown]
# # Rerank the n-best lists of a neural system
#
# A neural system gives several translations of each sentence. Other models can score them too: a
# model that translates back, a language model, a quality estimator. This notebook learns how much
# each score should count on one set of lists, and chooses among the candidates of another set.
#
# It uses 50-best lists of a small German-English transformer if they are in `HOPEFEAR_SHARED` or
# `../shared`; otherwise it makes lists of its own. Files go to `rerank-neural/`.

# %%
import gzip
import json
import os
import random
from pathlib import Path

import hopefear
from hopefear.learn.rerank_features import make_features, with_features
from hopefear.text.world import generate

WORK = Path("rerank-neural")
WORK.mkdir(exist_ok=True)
SHARED = Path(os.environ.get("HOPEFEAR_SHARED", "../shared")) / "data"
REAL = (SHARED / "neural-nbest-de-en").is_dir()

# %% [markdown]
# ## The lists
#
# A list is a file of JSON lines, one candidate per line:
#
#     {"id": 0, "text": "a house", "features": {"nmt": -3.1, "lm": -9.2, "words": 2}}
#
# `id` is the number of the sentence in the references, from 0. The names of the features are yours.
# The references have one line per sentence.

# %%
if REAL:
    dev, test = (
        SHARED / "neural-nbest-de-en" / f"{part}.beam.jsonl.gz" for part in ("dev", "test")
    )
    dev_en, test_en = (SHARED / "multi30k" / "de-en" / f"{part}.en" for part in ("dev", "test"))
else:
    dev, test = WORK / "dev.jsonl", WORK / "test.jsonl"
    dev_en, test_en = WORK / "dev.en", WORK / "test.en"


# %% [markdown]
# Without real lists, these functions make some. A candidate is a reference with words left out,
# repeated or exchanged. Its features are like the log probabilities of models: sums over words, so
# that short candidates have high scores.


# %%
def candidate(reference, vocabulary, chance):
    """Return the text and the features of a damaged reference."""
    words = []
    for word in reference:
        kind = chance.choices(["keep", "drop", "repeat", "exchange"], [84, 8, 4, 4])[0]
        words += {"keep": [word], "drop": [], "repeat": [word, word]}.get(
            kind, [chance.choice(vocabulary)]
        )
    words = words or reference[:1]
    wrong = sum(word not in reference for word in words)
    missing = sum(word not in words for word in reference)
    features = {
        "nmt": -0.6 * len(words) - wrong - 0.1 * missing + chance.gauss(0, 0.7),
        "back": -0.5 * len(reference) - missing - 0.3 * wrong + chance.gauss(0, 1.5),
        "lm": -2.0 * len(words) - 1.5 * wrong + chance.gauss(0, 2.0),
        "words": len(words),
    }
    return {"text": " ".join(words), "features": features}


def write_lists(path, references, chance):
    """Write ten candidates for each reference, in the order of the neural system's score."""
    vocabulary = sorted({word for text in references for word in text.split()})
    with path.open("w") as file:
        for number, text in enumerate(references):
            made = [candidate(text.split(), vocabulary, chance) for _ in range(10)]
            for entry in sorted(made, key=lambda entry: -entry["features"]["nmt"]):
                file.write(json.dumps({"id": number, **entry}) + "\n")


if not REAL:
    world = generate(train=0, dev=200, test=200)
    for part, lists, path in ((world.dev, dev, dev_en), (world.test, test, test_en)):
        references = [sentence.references[0] for sentence in part]
        path.write_text("".join(f"{text}\n" for text in references))
        write_lists(lists, references, random.Random(1))

# %% [markdown]
# ## Learn the weights
#
# `mert` is a good choice for few features, `batch-mira` for many. `folds=5` scores each list with
# weights that were learned on other lists, so that `tuned` is what to expect on new text.
# `oracle` is the score of the best candidates: no reranker can do better with these lists.

# %%
reranker = hopefear.rerank(nbest=dev, refs=[dev_en], tuner="mert", folds=5, display="off")
reranker.save(WORK / "weights.tsv")
print(reranker)
print(reranker.weights)

# %% [markdown]
# ## Choose among the candidates of new lists
#
# The result is compared with the first candidate of each list, the neural system's own choice.
# Lines are tokenised as in the WMT evaluations (13a).

# %%
chosen = reranker.apply(test)
(WORK / "reranked.en").write_text("".join(f"{text}\n" for text in chosen))

first = {}
with gzip.open(test, "rt") if test.suffix == ".gz" else test.open() as file:
    for entry in map(json.loads, file):
        first.setdefault(entry["id"], entry["text"])
first_best = [first[number] for number in sorted(first)]

scores = hopefear.score(
    chosen, refs=[test_en], versus={"first best": first_best}, tokenize="13a", display="off"
)
print(scores)

# %% [markdown]
# ## More features without a neural model
#
# `agreement` is the mean chrF of a candidate against the other candidates of its list, the utility
# of minimum Bayes risk. As a feature it is weighed against the scores of the models. `Reranker` is
# the same learner with the conventions of scikit-learn: it takes lists of candidates and a
# reference for each. It reports all metrics, so that a gain in one at the cost of another is seen.

# %%
features = make_features(["length", "agreement:metric=chrf"])
dev_lists, test_lists = (list(with_features(path, features)) for path in (dev, test))
references = dev_en.read_text().splitlines()
mixed = hopefear.Reranker(tuner="mert", metric="bleu", ablation=True).fit(dev_lists, references)
print(mixed)
mixed.save_report(WORK / "report.json")  # `hopefear report report.json` makes a page of it

more = hopefear.score(
    mixed.rerank(test_lists),
    refs=[test_en],
    versus={"without agreement": chosen},
    tokenize="13a",
    display="off",
)
print(more)

# %% [markdown]
# The same on the command line:
#
#     hopefear rerank tune --nbest dev.jsonl --refs dev.en --tuner mert --folds 5 -o weights.tsv
#     hopefear rerank apply --nbest test.jsonl --weights weights.tsv -o reranked.en
#     hopefear score reranked.en --refs test.en --tokenize 13a
#     hopefear rerank features --nbest dev.jsonl --add length agreement:metric=chrf -o more.jsonl
#     hopefear rerank apply --nbest test.jsonl --mbr chrf -o mbr.en
