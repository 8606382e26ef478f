# %% [markdown]
# # A study of your own: compare two tuners
#
# Tuning is noisy: another random seed gives other weights. A comparison therefore needs several
# runs of each tuner, and a test that takes the spread over runs into account. This notebook tunes
# one model with two tuners and three seeds each, and compares the results on a test set. Files go
# to `compare-tuners/`.

# %%
from pathlib import Path

import hopefear
from hopefear.text import world

WORK = Path("compare-tuners")
WORK.mkdir(exist_ok=True)
OPTIONS = {"tokenized": True, "display": "off"}

# %% [markdown]
# ## What is compared
#
# A row of the study is a label, a tuner, and the tuner's options. The first row is the one that all
# others are compared with. Any other option of `hopefear.tune` may vary instead: the metric, the
# features, the length of the n-best lists.

# %%
ROWS = {
    "mert": {"tuner": "mert"},
    "batch-mira": {"tuner": "batch-mira", "tuner_options": {"C": 0.01}},
}
RUNS = 3

# %% [markdown]
# ## One model, three texts
#
# Weights are learned on the development set. The test set is translated only in the end. To use
# your own texts, replace the paths, and leave out `tokenized` if they are raw text.

# %%
world.write(world.generate(train=1000, dev=100, test=200), WORK / "world")
train, dev, test = (WORK / "world" / f"{part}.zh" for part in ("train", "dev", "test"))
dev_refs, test_refs = (
    [WORK / "world" / f"{part}.en.{number}" for number in range(4)] for part in ("dev", "test")
)
model = hopefear.train(train, WORK / "world" / "train.en", model=WORK / "model", order=3, **OPTIONS)

# %% [markdown]
# ## The runs
#
# `runs=3` tunes three times, with the seeds 1, 2 and 3; `run.members` are the three runs.
# `resume=True` lets you stop the cell and run it again: finished steps are not repeated.

# %%
runs = {
    label: hopefear.tune(
        model,
        dev=dev,
        refs=dev_refs,
        output=WORK / label,
        runs=RUNS,
        iterations=4,
        resume=True,
        **row,
        **OPTIONS,
    )
    for label, row in ROWS.items()
}
for label, run in runs.items():
    print(label, [f"dev BLEU {member.dev_bleu:.2f}" for member in run.members])

# %% [markdown]
# ## The test
#
# For each metric the table has the mean over the runs, the standard deviation over resampled test
# sets (`s_sel`), the standard deviation over the runs (`s_run`), and the p-value of the difference
# to the first row. The test is stratified approximate randomisation: it asks how often the
# difference would be as large if the translations of the two systems were exchanged at random.
# With p > 0.05 the study has not shown a difference.

# %%
outputs = {
    label: [
        hopefear.translate(model, test, weights=member.weights, **OPTIONS).texts
        for member in run.members
    ]
    for label, run in runs.items()
}
first, *others = ROWS
scores = hopefear.score(
    outputs[first],
    refs=test_refs,
    versus={label: outputs[label] for label in others},
    runs=RUNS,
    display="off",
)
print(f"compared with {first}:")
print(scores)

# %% [markdown]
# The same as one HTML page with learning curves, weights and examples:
#
#     hopefear report compare-tuners/mert compare-tuners/batch-mira -o report.html \
#         --test compare-tuners/world/test.zh --refs compare-tuners/world/test.en.?
#
# Larger studies, with several corpora, shared runs and tables in Markdown, are in `experiments/`;
# `experiments/batch_tuners.py` is one page of Python, made to be copied.
