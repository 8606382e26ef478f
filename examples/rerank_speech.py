# %% [markdown]
# # Rerank the hypotheses of a speech recogniser
#
# A recogniser gives several transcripts of each utterance with an acoustic and a language model
# score. How much each score counts is often found by hand or by a grid. This notebook learns it for
# the word error rate, adds a language model of its own, and says whether the gain is real.
#
# There is no recogniser here: the lists are made from texts, as Kaldi would write them. Files go to
# `rerank-speech/`.

# %%
import json
import random
from pathlib import Path

from hopefear import Reranker, score
from hopefear.forest.io.lists.kaldi import Kaldi
from hopefear.learn.rerank_features import make_features, with_features
from hopefear.lm.estimate import estimate
from hopefear.text.world import generate

WORK = Path("rerank-speech")
WORK.mkdir(exist_ok=True)
SENTENCES = 250

# %% [markdown]
# ## Lists of a recogniser
#
# Kaldi's `nbest-to-linear` writes a text archive of words and archives of costs:
#
#     dev-0007-1 the talks are over
#     dev-0007-1 81.3
#
# A hypothesis here is the reference with words that sound alike, which is what `SOUNDS` pretends,
# and with words lost. The acoustic cost grows with every error, and the weak language model of the
# first pass prefers short sentences.

# %%
world = generate(train=2000, dev=SENTENCES, test=SENTENCES, seed=1)
texts = {
    part: [pair.references[0].lower() for pair in pairs]
    for part, pairs in (("train", world.train), ("dev", world.dev), ("test", world.test))
}
chance = random.Random(1)
vocabulary = sorted({word for text in texts["train"] for word in text.split()})
SOUNDS = {word: chance.sample(vocabulary, 3) for word in vocabulary}


def hypothesis(reference):
    """Return a transcript with errors, its acoustic and its language model cost."""
    words, errors = [], 0
    for word in reference.split():
        kind = chance.choices(["right", "alike", "lost"], [82, 13, 5])[0]
        errors += kind != "right"
        if kind != "lost":
            words.append(chance.choice(SOUNDS.get(word, vocabulary)) if kind == "alike" else word)
    acoustic = 20 * len(reference.split()) + 2 * errors + chance.gauss(0, 4)
    return " ".join(words), acoustic, 3 * len(words) + chance.gauss(0, 3)


for part in ("dev", "test"):
    files = {name: (WORK / f"{part}.{name}").open("w") for name in ("words", "ac_cost", "lm_cost")}
    for number, reference in enumerate(texts[part]):
        found = sorted((hypothesis(reference) for _ in range(20)), key=lambda h: h[1] + h[2])
        for rank, (text, acoustic, lm) in enumerate(found, 1):
            for name, value in zip(files, (text, f"{acoustic:.2f}", f"{lm:.2f}"), strict=True):
                print(f"{part}-{number:04}-{rank} {value}", file=files[name])
    for file in files.values():
        file.close()

# %% [markdown]
# ## From Kaldi's archives to lists
#
# On the command line this is
#
#     hopefear rerank convert dev.words --system kaldi \
#         --system-set costs=ac_cost=dev.ac_cost,lm_cost=dev.lm_cost -o dev.jsonl


# %%
def convert(part):
    """Write the lists of a part as JSON lines."""
    costs = [f"{name}={WORK / part}.{name}" for name in ("ac_cost", "lm_cost")]
    path = WORK / f"{part}.jsonl"
    with path.open("w") as file:
        for entry in Kaldi(costs=costs).read(WORK / f"{part}.words"):
            print(json.dumps(entry), file=file)
    return path


dev, test = convert("dev"), convert("test")

# %% [markdown]
# ## More features: a language model of our own
#
# `length` counts words, and `lm` is the log probability under an n-gram model of text in the
# domain.
# The command is `hopefear rerank features --add length lm:model=lm.arpa`.

# %%
(WORK / "train").write_text("".join(f"{text}\n" for text in texts["train"]))
estimate(WORK / "train", WORK / "lm.arpa", order=3, discount_fallback=True)
features = make_features(["length", f"lm:model={WORK / 'lm.arpa'}"])


def extended(path):
    """Return the lists of a file with further features."""
    return list(with_features(path, features))


dev_lists, test_lists = extended(dev), extended(test)

# %% [markdown]
# ## Learn the weights for the word error rate
#
# `Reranker` follows the conventions of scikit-learn. The report is cross-validated: each list is
# reranked with weights that were tuned on other lists. `ablation=True` also leaves out each feature
# in turn, and so says which of them matter.

# %%
reranker = Reranker(tuner="mert", metric="wer", ablation=True)
reranker.fit(dev_lists, texts["dev"])
print(reranker)
print(reranker.weights)
reranker.save(WORK / "weights.tsv")
reranker.save_report(WORK / "report.json")  # `hopefear report report.json` makes a page of it

# %% [markdown]
# ## Transcripts of new utterances

# %%
first_best = [candidates[0]["text"] for candidates in test_lists]
chosen = reranker.rerank(test_lists)
scores = score(
    chosen,
    refs=[texts["test"]],
    versus={"first pass": first_best},
    metric=["wer", "cer"],
    display="off",
)
print(scores)
