# %% [markdown]
# # Tune a model of Moses, without Moses
#
# The phrase table, the reordering table and the language model named in `moses.ini` become a model
# directory. Features keep their names, units and weights, so scores equal those of Moses. Then the
# weights are learned again on one half of a text, and both versions are compared on the other half.
#
# The cells run the commands of Hopefear, so each of them also works in a shell. Files go to
# `tune-moses/`.

# %%
import shlex
import subprocess
import sys
from pathlib import Path

WORK = Path("tune-moses")
WORK.mkdir(exist_ok=True)


def hopefear(line):
    """Print and run a command in the folder WORK."""
    print(f"$ hopefear {line}")
    command = [sys.executable, "-m", "hopefear", *shlex.split(line), "--progress", "off"]
    done = subprocess.run(
        command, cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    print(done.stdout, flush=True)
    done.check_returncode()


# %% [markdown]
# ## The model
#
# With a model of your own, put its `moses.ini` here, and a text with its translation. The text must
# be tokenised and cased like the training text.

# %%
INI = None  # Path("moses.ini")
SOURCE = None  # Path("dev.fr")
REFERENCE = None  # Path("dev.en")

# %% [markdown]
# Without one, this cell makes a small model as the training of Moses would leave it, from the
# built-in corpus.

# %%
MOSES_INI = """\
[input-factors]
0

[mapping]
0 T 0

[distortion-limit]
6

[feature]
UnknownWordPenalty
WordPenalty
PhrasePenalty
PhraseDictionaryMemory name=TranslationModel0 num-features=4 path=phrase-table.gz
LexicalReordering name=LexicalReordering0 num-features=6 type=wbe-msd-bidirectional-fe-allff path=reordering-table.gz
Distortion
KENLM name=LM0 factor=0 path=lm.arpa.gz order=3

[weight]
UnknownWordPenalty0= 1
WordPenalty0= -1
PhrasePenalty0= 0.2
TranslationModel0= 0.2 0.2 0.2 0.2
LexicalReordering0= 0.3 0.3 0.3 0.3 0.3 0.3
Distortion0= 0.3
LM0= 0.5
"""  # noqa: E501

if INI is None:
    hopefear("world -o world --train 1000 --dev 120 --test 0")
    hopefear("align world/train.zh world/train.en -o world/train.align")
    hopefear(
        "extract world/train.zh world/train.en world/train.align --system phrase -o moses "
        "--export moses"
    )
    hopefear("lm estimate world/train.en -o moses/lm.arpa.gz --order 3 --discount-fallback")
    INI = WORK / "moses" / "moses.ini"
    INI.write_text(MOSES_INI)
    SOURCE, REFERENCE = WORK / "world" / "dev.zh", WORK / "world" / "dev.en.0"

# %% [markdown]
# One half of the text is to tune on, the other half to compare on.

# %%
for path, side in ((SOURCE, "source"), (REFERENCE, "reference")):
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    half = len(lines) // 2
    (WORK / f"dev.{side}").write_text("".join(lines[:half]), encoding="utf-8")
    (WORK / f"test.{side}").write_text("".join(lines[half:]), encoding="utf-8")

# %% [markdown]
# ## Import, tune, translate, compare
#
# `--tokenized` takes the text as it is. `--resume` lets you run the cell again.

# %%
hopefear(f"import {shlex.quote(str(INI.resolve()))} --model model")

# %%
hopefear(
    "tune --model model --tokenized --dev dev.source --refs dev.reference --tuner batch-mira "
    "--iterations 5 -o run --resume"
)

# %%
hopefear("translate --model model --tokenized -i test.source -o before.out")
hopefear(
    "translate --model model --tokenized -i test.source -o after.out --weights run/weights.tsv"
)
hopefear("score after.out --refs test.reference --versus before.out")

# %% [markdown]
# `after.out` is the first row. A p-value below 0.05 means that chance alone rarely explains the
# difference. `tune-moses/model` can be moved, and `run/weights.tsv` is a table of names and values.
