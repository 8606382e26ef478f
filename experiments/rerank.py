"""Reranking the n-best lists of a neural system: every batch tuner on the same lists.

    python experiments/rerank.py             # about 5 CPU minutes
    python experiments/rerank.py --write     # also into docs/results/reranking.md

The lists are those of a small transformer for Multi30k de-en (`data/neural-nbest-de-en`): up to 50
translations of a beam, or 50 samples, with 5 scores each. Weights are learned from the lists of the
dev set and applied to those of the test set.
"""

from __future__ import annotations

import gzip
import json
import time
import warnings
from pathlib import Path

import numpy as np
from harness import CORPORA, Finished, Scores, data_folders, markdown, parser, write_section

import hopefear
from hopefear.metrics.tokenizing import tokenized

TUNERS = ("mert", "pro", "batch-mira", "rampion", "risk", "svm")
LISTS = {"beam": "lists of a beam of 50", "sample": "50 samples"}
CORPUS = CORPORA["de-en"]


def first_best(path: Path) -> list[str]:
    """Takes a file of lists; returns the first candidate of each list."""
    first: dict[int, str] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for entry in map(json.loads, file):
            first.setdefault(entry["id"], entry["text"])
    return [first[number] for number in sorted(first)]


def table(data: Path, kind: str, seeds: int) -> str:
    """Takes the folder of the data and the kind of lists; returns a table with a row per tuner."""
    folder = data / "data" / "neural-nbest-de-en"
    dev, test = (folder / f"{part}.{kind}.jsonl.gz" for part in ("dev", "test"))
    scores = {part: Scores(CORPUS, [data / CORPUS.files[part][1]]) for part in ("dev", "test")}

    def finished(
        name: str, dev_lines: list[str], test_lines: list[str], seconds: float
    ) -> Finished:
        texts = {"dev": dev_lines, "test": test_lines}
        words = {part: list(tokenized(lines, CORPUS.tokenize)) for part, lines in texts.items()}
        dev_run = Finished(Path(f"{name}.dev"), {}, words["dev"])
        report = {"dev_bleu": scores["dev"].shown("bleu", dev_run), "seconds": seconds}
        return Finished(Path(name), report, words["test"])

    runs = {"first best": [finished("first best", first_best(dev), first_best(test), 0.0)]}
    for tuner in TUNERS:
        runs[f"`{tuner}`"] = []
        for seed in range(1, seeds + 1):
            start = time.process_time()
            reranker = hopefear.rerank(
                nbest=dev, refs=[data / CORPUS.files["dev"][1]], tuner=tuner, seed=seed, threads=1,
                folds=1, display="off",
            )  # fmt: skip
            seconds = time.process_time() - start
            name = f"{tuner}.{seed}"
            run = finished(name, reranker.apply(dev), reranker.apply(test), seconds)
            runs[f"`{tuner}`"].append(run)
            print(f"{kind} {name}: {scores['test'].shown('bleu', run):.2f}", flush=True)
    rows = []
    for label, row_runs in runs.items():
        bleu = [scores["test"].shown("bleu", run) for run in row_runs]
        p_values = []
        for other in ("first best", "`mert`"):
            others = runs[other] * (len(row_runs) if len(runs[other]) == 1 else 1)
            same = other == label or label == "first best"
            p_values.append("-" if same else scores["test"].p_value("bleu", row_runs, others))
        rows.append(
            [
                label,
                str(len(row_runs)),
                f"{np.mean([run.report['dev_bleu'] for run in row_runs]):.2f}",
                f"{np.mean(bleu):.2f}",
                f"{np.std(bleu, ddof=1):.2f}" if len(bleu) > 1 else "-",
                *p_values,
                f"{np.mean([scores['test'].shown('ter', run) for run in row_runs]):.2f}",
                f"{np.mean([run.report['seconds'] for run in row_runs]):.1f}",
            ]
        )
    head = [f"Multi30k de-en, {LISTS[kind]}", "runs", "dev BLEU", "test BLEU", "deviation"]
    return markdown([*head, "p, first best", "p, `mert`", "TER", "CPU s"], rows)


def main() -> None:
    """Runs the command line."""
    warnings.filterwarnings("ignore", "the gain is that on the lists that were tuned on")
    arguments = parser(__doc__)
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("--lists", nargs="+", choices=LISTS, default=[*LISTS])
    a = arguments.parse_args()
    data = data_folders(a)["data"]
    if not (data / "data" / "neural-nbest-de-en").is_dir():
        print(f"no {data / 'data' / 'neural-nbest-de-en'}")
        return
    tables = [table(data, kind, a.seeds) for kind in a.lists]
    print("", *tables, sep="\n")
    if a.write:
        text = (
            "## n-best lists of a neural system\n\n`python experiments/rerank.py --write`\n\n"
            "Lists of a small transformer for Multi30k de-en, up to 50 candidates with 5 scores "
            "each. Weights are learned from the 1,014 lists of the dev set, starting at 0, with "
            f"the defaults of `hopefear rerank tune` and {a.seeds} seeds; scores are tokenised "
            "(13a). p-values against the first candidate of each list and against `mert`.\n\n"
        )
        write_section("reranking", "reranking", text + "\n".join(tables))


if __name__ == "__main__":
    main()
