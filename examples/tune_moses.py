"""Tune an existing model of Moses, without Moses.

    python examples/tune_moses.py moses.ini dev.fr dev.en         # a model of yours
    python examples/tune_moses.py                                 # one that is made here

The phrase table, the reordering table and the language model that moses.ini names become a model
directory. Its features keep their names, units and weights, so its scores are those of Moses. Then
its weights are learned anew, on the first half of the given text, and both are compared on the
other half. Texts are tokenised as those that the model was trained on.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ini", type=Path, nargs="?", help="moses.ini")
    parser.add_argument("source", type=Path, nargs="?", help="source text, tokenised")
    parser.add_argument("reference", type=Path, nargs="?", help="its translation")
    parser.add_argument("--tuner", default="batch-mira")
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--work", type=Path, help="where files go; without it they do not stay")
    a = parser.parse_args()
    if a.ini is not None and a.reference is None:
        parser.error("give moses.ini, a source text and its translation, or nothing")
    with tempfile.TemporaryDirectory() as temporary:
        work = a.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        files = (a.ini, a.source, a.reference) if a.ini is not None else make_model(work)
        tune(work, *files, a.tuner, a.iterations)


def tune(work: Path, ini: Path, source: Path, reference: Path, tuner: str, iterations: int) -> None:
    """The story: import, tune, translate, compare."""
    for path, side in ((source, "source"), (reference, "reference")):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        (work / f"dev.{side}").write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
        (work / f"test.{side}").write_text("".join(lines[len(lines) // 2 :]), encoding="utf-8")
    hopefear("import", ini, "--model", work / "model")
    hopefear(
        "tune", "--model", work / "model", "--tokenized", "--dev", work / "dev.source",
        "--refs", work / "dev.reference", "--tuner", tuner, "--iterations", iterations,
        "-o", work / "run",
    )  # fmt: skip
    test = ("--model", work / "model", "--tokenized", "-i", work / "test.source")
    hopefear("translate", *test, "-o", work / "before.out")
    hopefear(
        "translate", *test, "--weights", work / "run" / "weights.tsv", "-o", work / "after.out"
    )
    hopefear(
        "score", work / "after.out", "--refs", work / "test.reference",
        "--versus", work / "before.out",
    )  # fmt: skip


def hopefear(*words: str | Path | int) -> None:
    print("$", shlex.join(["hopefear", *map(str, words)]), flush=True)
    command = [sys.executable, "-m", "hopefear", *map(str, words), "--progress", "off"]
    subprocess.run(command, check=True)


# -- a model to play with: what Moses's training would leave, made by our own tools --

INI = """\
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
PhraseDictionaryMemory name=TranslationModel0 num-features=4 path=phrase-table.gz input-factor=0 output-factor=0 table-limit=20
LexicalReordering name=LexicalReordering0 num-features=6 type=wbe-msd-bidirectional-fe-allff input-factor=0 output-factor=0 path=reordering-table.gz
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


def make_model(work: Path) -> tuple[Path, Path, Path]:
    """moses.ini, a source text and its translation, from the built-in world."""
    world, tables = work / "world", work / "moses"
    texts = (world / "train.zh", world / "train.en")
    hopefear("world", "-o", world, "--train", 1000, "--dev", 120, "--test", 0)
    hopefear("align", *texts, "-o", world / "train.align")
    hopefear(
        "extract", *texts, world / "train.align", "--system", "phrase", "-o", tables,
        "--export", "moses",
    )  # fmt: skip
    hopefear(
        "lm", "estimate", texts[1], "-o", tables / "lm.arpa.gz", "--order", 3, "--discount-fallback"
    )
    (tables / "moses.ini").write_text(INI)
    return tables / "moses.ini", world / "dev.zh", world / "dev.en.0"


if __name__ == "__main__":
    main()
