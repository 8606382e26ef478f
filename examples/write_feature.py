# %% [markdown]
# # Write a feature
#
# A *feature template* looks at a rule (a phrase pair) where it is used in a sentence and returns
# names and values; each name is a feature with a weight. This notebook writes one, looks at what
# it returns, learns its weights, and measures whether it helps. Files go to `write-feature/`.

# %%
from pathlib import Path

import hopefear
from hopefear.features.feature import feature
from hopefear.text import world

WORK = Path("write-feature")
WORK.mkdir(exist_ok=True)

# %% [markdown]
# ## A model and three texts
#
# The corpus is built in and tokenised. It is small, so that the whole notebook takes a minute.

# %%
world.write(world.generate(train=2000, dev=100, test=200), WORK / "world")
SRC = {part: WORK / "world" / f"{part}.zh" for part in ("train", "dev", "test")}
REFS = {part: [WORK / "world" / f"{part}.en.{n}" for n in range(4)] for part in ("dev", "test")}
OPTIONS = {"tokenized": True, "display": "off"}

model = hopefear.train(
    SRC["train"], WORK / "world" / "train.en", model=WORK / "model", order=3, **OPTIONS
)

# %% [markdown]
# ## The template
#
# The argument has the two sides of the rule as words, the sentence, the span that the rule covers,
# and more (`hopefear.features.feature.RuleUse`). This template compares the numbers of words on the
# two sides, and marks rules at the end of the sentence, where words are often left out.


# %%
@feature("length-change")
def length_change(use):
    change = len(use.target_side) - len(use.source_side)
    place = "end" if use.span[1] == len(use.source) else "inside"
    yield f"{place}|{max(-3, min(3, change)):+d}", 1.0


# %% [markdown]
# A template in a file of its own works with every command: `--plugin my_features.py --templates
# length-change`. `my_features.py`, beside this notebook, has a template with options.
#
# ## The features of one sentence
#
# A translation has a value for each feature: the sum over its rules.

# %%
sentence = SRC["dev"].read_text().splitlines()[0]
translations = hopefear.translate(
    model, [sentence], templates=["length-change"], nbest=3, **OPTIONS
)
print(sentence)
for line in translations.nbest:
    print(line)

# %% [markdown]
# ## Learn the weights
#
# First the dozen dense features alone, then all features, starting from the dense weights. Features
# that are new start at 0. The steps (`C`) are small: the weights are good already. `resume=True`
# lets you run the cell again.

# %%
tuning = {"dev": SRC["dev"], "refs": REFS["dev"], "resume": True, **OPTIONS}
dense = hopefear.tune(model, tuner="mira", output=WORK / "dense", iterations=5, **tuning)
sparse = hopefear.tune(
    model,
    tuner="mira",
    tuner_options={"rate": "adagrad", "C": 0.0003},
    templates=["length-change"],
    weights=dense.weights,
    output=WORK / "sparse",
    iterations=5,
    **tuning,
)
for name, weight in sorted(sparse.weights.items(), key=lambda item: -abs(item[1])):
    if name.startswith("length-change:"):
        print(f"{weight:8.4f}  {name}")

# %% [markdown]
# ## Does it help?
#
# Both systems translate the test set, which neither has seen. The p-value of the difference is far
# above 0.05: here the feature does not help. The dense features already count words and phrases.

# %%
before = hopefear.translate(model, SRC["test"], weights=dense.weights, **OPTIONS)
after = hopefear.translate(
    model, SRC["test"], weights=sparse.weights, templates=["length-change"], **OPTIONS
)
print(hopefear.score(after.texts, refs=REFS["test"], versus={"dense": before.texts}, display="off"))

# %% [markdown]
# One run of one tuner proves little: `compare_tuners.py` shows how to compare over several seeds.
