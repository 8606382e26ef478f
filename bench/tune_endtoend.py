"""Tuning end to end: train, tune, translate, score, against Moses; and alignments compared.

Multi30k fr-en (one reference) and Bible zh-en (four), tokenised and lower-cased, with fast_align's
alignment (the one Moses had) or with ours, everything else equal. The phrase system has Moses's
settings: trigram model, phrases of 7 words, msd-bidirectional-fe reordering, distortion limit 6, 20
translations of a phrase; 100-best lists, two threads.

    python bench/tune_endtoend.py                                   MERT and batch MIRA, one seed
    python bench/tune_endtoend.py --alignment fast_align ours --seeds 1 2 3        part of the study

What is done is kept (--keep) and not done again: a run that was stopped goes on when the command is
given again. Data: ../shared or HOPEFEAR_SHARED. Moses's seconds were taken on a machine where the
calibration loop takes 1.05 s; the column 'budget' has what is asked for, scaled to this one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("HOPEFEAR_SHARED", ROOT.parent / "shared"))
SOURCES = {"fr-en": "fr", "zh-en": "zh"}
# Test BLEU with all references and with the first, seconds of two threads.
MOSES: dict[tuple[str, str], tuple[float, float, float]] = {
    ("fr-en", "mert"): (50.52, 50.52, 469),
    ("fr-en", "batch-mira"): (50.52, 50.52, 319),
    ("zh-en", "mert"): (30.76, 24.06, 1009),
    ("zh-en", "batch-mira"): (30.79, 23.77, 444),
}


def budget(pair: str, tuner: str) -> float | None:
    if pair == "fr-en":
        return 100.0
    found = MOSES.get((pair, tuner))
    return None if found is None else found[2] / 3


def calibration() -> float:
    """How fast this machine is now, relative to the one the figures come from."""
    start = time.process_time()
    sum(i * i for i in range(10**7))
    return (time.process_time() - start) / 1.05


def hopefear(*words: object) -> tuple[dict[str, Any], float]:
    """A command's report and its CPU seconds."""
    command = [sys.executable, "-m", "hopefear", *map(str, words), "--progress", "off"]
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True)
    after = os.times()
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return json.loads(done.stdout) if done.stdout.startswith("{") else {}, cpu


class Study:
    """The models and runs in one directory."""

    def __init__(self, keep: Path, order: int, threads: int, extra: list[str]) -> None:
        self.keep, self.order, self.threads, self.extra = keep, order, threads, extra
        self.results = keep / "results.jsonl"
        keep.mkdir(parents=True, exist_ok=True)

    def known(self) -> dict[str, Any]:
        if not self.results.is_file():
            return {}
        lines = self.results.read_text(encoding="utf-8").splitlines()
        return {found["key"]: found for found in map(json.loads, lines)}

    def model(self, pair: str, alignment: str) -> Path:
        data, source = SHARED / "golden" / "aligned" / pair, SOURCES[pair]
        model = self.keep / f"{pair}.{alignment}.o{self.order}"
        words = ["train", data / f"train.{source}.gz", data / "train.en.gz", "--model", model]
        words += ["--tokenized", "--order", self.order, "--threads", self.threads, "--json"]
        if alignment == "fast_align":
            words += ["--align", data / "train.gdfa.gz"]
        hopefear(*words)
        return model

    def run(self, pair: str, alignment: str, tuner: str, seed: int) -> dict[str, Any]:
        key = " ".join([pair, alignment, tuner, f"o{self.order}", str(seed), *self.extra])
        known = self.known()
        if key in known:
            return dict(known[key])
        data, source = SHARED / "golden" / "aligned" / pair, SOURCES[pair]
        model = self.model(pair, alignment)
        run = self.keep / key.replace(" ", ".").replace("/", "_")
        references = {part: sorted(data.glob(f"{part}.en.*")) for part in ("dev", "test")}
        words = ["tune", "--model", model, "--dev", data / f"dev.{source}", "--refs"]
        words += [*references["dev"], "--tuner", tuner, "-o", run, "--seed", seed, "--tokenized"]
        words += ["--threads", self.threads, "--resume", "--json", "--kbest", 100, *self.extra]
        report, cpu = hopefear(*words)
        output = run / "test.out"
        hopefear(
            *("translate", "--model", model, "--weights", run / "weights.tsv", "--tokenized"),
            *("-i", data / f"test.{source}", "-o", output, "--threads", self.threads),
        )
        scores = {
            name: hopefear("score", output, "--refs", *refs, "--json")[0]
            for name, refs in (("all", references["test"]), ("first", references["test"][:1]))
        }
        found = {
            "key": key,
            "dev": report["dev_bleu"],
            "test": scores["all"]["bleu"],
            "first": scores["first"]["bleu"],
            "ter": scores["all"]["ter"],
            "length": scores["all"]["length_ratio"],
            "iterations": report["iterations"],
            "best": report["best_iteration"],
            "seconds": report["seconds"],
            "decode": report["decode_seconds"],
            "optimise": report["optimise_seconds"],
            "cpu": round(cpu, 1),
            "output": str(output.relative_to(self.keep)),
        }
        with self.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")
        return found


COLUMNS = (
    "dev",
    "test",
    "first",
    "TER",
    "length",
    "best/it",
    "wall s",
    "decode",
    "optim.",
    "CPU s",
)


def show(name: str, found: dict[str, Any]) -> None:
    numbers = [f"{found[key]:.2f}" for key in ("dev", "test", "first", "ter")]
    numbers += [f"{found['length']:.3f}", f"{found['best']}/{found['iterations']}"]
    numbers += [f"{found[key]:.1f}" for key in ("seconds", "decode", "optimise", "cpu")]
    print(f"{name:<34}" + "".join(f"{number:>9}" for number in numbers), flush=True)


def compare(study: Study, pair: str, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Our alignments against fast_align's over seeds: means, deviations, significance."""
    ours, other = rows.get("ours", []), rows.get("fast_align", [])
    if not ours or not other or len(ours) != len(other):
        return
    for name, group in (("ours", ours), ("fast_align", other)):
        tests = [found["test"] for found in group]
        spread = statistics.stdev(tests) if len(tests) > 1 else 0.0
        print(f"{pair} {name}: test {statistics.mean(tests):.2f} +- {spread:.2f}")
    references = sorted((SHARED / "golden" / "aligned" / pair).glob("test.en.*"))
    files = [[study.keep / found["output"] for found in group] for group in (ours, other)]
    words = ["score", *files[0], "--refs", *references, "--versus", *files[1]]
    report, _ = hopefear(*words, "--runs", len(ours), "--json")
    versus = report["versus"][0]
    print(f"{pair}: p = {versus['p_value']:.4f} that the alignments make no difference")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", nargs="+", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--tuners", nargs="+", default=["mert", "batch-mira"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument(
        "--alignment", nargs="+", default=["fast_align"], choices=["fast_align", "ours"]
    )
    parser.add_argument("--order", type=int, default=3, help="of the language model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=ROOT / "bench" / "out" / "tune_endtoend")
    parser.add_argument("--more", nargs="*", default=[], help="options for tune, name=value")
    arguments = parser.parse_args()
    if not (SHARED / "golden" / "aligned").is_dir():
        print(f"not measured: no {SHARED}/golden/aligned; set HOPEFEAR_SHARED")
        return
    scale = calibration()
    print(f"calibration: this machine takes {scale:.2f} of the reference's time")
    print(f"{'':<34}" + "".join(f"{name:>9}" for name in COLUMNS))
    extra = [f"--{word}" for word in arguments.more]
    study = Study(arguments.keep, arguments.order, arguments.threads, extra)
    for pair in arguments.pairs:
        for tuner in arguments.tuners:
            rows: dict[str, list[dict[str, Any]]] = {}
            for alignment in arguments.alignment:
                for seed in arguments.seeds:
                    found = study.run(pair, alignment, tuner, seed)
                    show(f"{pair} {tuner} {alignment} seed {seed}", found)
                    rows.setdefault(alignment, []).append(found)
            if (pair, tuner) in MOSES:
                test, first, seconds = MOSES[pair, tuner]
                limit = budget(pair, tuner)
                asked = "" if limit is None else f", asked for: {limit * scale:.0f} s"
                print(
                    f"{pair} {tuner}: Moses {test:.2f} ({first:.2f} with the first reference) in "
                    f"{seconds * scale:.0f} s of this machine{asked}"
                )
            compare(study, pair, rows)


if __name__ == "__main__":
    main()
