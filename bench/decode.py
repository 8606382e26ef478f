"""Phrase decoding: words per second, score and memory for growing beams.

Corpora: the 200 sentences of ../shared/golden/moses/decode with Moses's own model, and the first
sentences of Bible zh-en (dev) with a model that is trained once and kept in bench/out. The pop
limit is five times the beam, at least 30; `stack` expands every hypothesis with every option.

Budgets, one thread, 2,755 words: Moses with cube pruning 300 reaches -4201.88 in 4.0 s CPU, stack
search with 30 reaches -4201.83 in 5.5 s; ours 1.0 s and 2.0 s. On Bible zh-en Moses does 575
words/s with cube pruning 300. Those seconds are of a machine where the calibration loop takes
1.05 s; the column `scaled` is our CPU time on it. Times are without loading, the best of some runs.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from support.machine import OUT, SHARED, slowness

BEAMS = (5, 10, 20, 50, 100, 200, 500, 1000)
GOLDEN, BIBLE = "golden", "zh-en"


def hopefear(*words: str | Path) -> None:
    command = [sys.executable, "-m", "hopefear", *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def golden_model() -> Path:
    model = OUT / "golden"
    if not (model / "model.toml").is_file():
        hopefear("import", SHARED / "golden/moses/decode/moses.ini", "--model", model)
    return model


def bible_model() -> Path:
    model, data = OUT / "zh-en", SHARED / "golden/aligned/zh-en"
    if not (model / "model.toml").is_file():
        print("training on Bible zh-en, once …", file=sys.stderr)
        texts = (data / "train.zh.gz", data / "train.en.gz")
        options = ("--align", data / "train.gdfa.gz", "--tokenized", "--order", "3")
        hopefear("train", *texts, "--model", model, *options)
    return model


def measure(
    model: str, source: str, lines: int, options: dict, threads: int, repeat: int
) -> dict[str, float]:
    """One row. Runs in a child, so that the peak is its own."""
    from hopefear.base.weights import Weights
    from hopefear.forest import viterbi
    from hopefear.model.directory import Model

    text = Path(source).read_text(encoding="utf-8").splitlines()[:lines]
    start = time.process_time()
    decoder = Model.load(model).decoder(**options)
    weights = Weights.load(Path(model) / "weights.tsv")
    load = time.process_time() - start
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    best_cpu = best_wall = float("inf")
    score, size = 0.0, 0
    for _ in range(repeat):
        wall, cpu, score = time.monotonic(), time.process_time(), 0.0
        for forest in decoder.decode_all(text, weights, threads=threads):
            best = viterbi(forest, weights)
            assert best is not None
            score += best.score
            size = max(size, forest.bytes)
        best_cpu = min(best_cpu, time.process_time() - cpu)
        best_wall = min(best_wall, time.monotonic() - wall)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {
        "words": sum(len(line.split()) for line in text),
        "load": load,
        "cpu": best_cpu,
        "wall": best_wall,
        "score": score,
        "forest": size / 2**20,
        "peak": peak / 1024,
    }


def row(corpus: str, scale: float, **arguments: Any) -> None:
    command = [sys.executable, __file__, "--row", json.dumps(arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    r = json.loads(done.stdout)
    options = arguments["options"]
    print(
        f"{corpus:<8}{options['beam']:>6}{options.get('pop_limit', 'stack'):>7}"
        f"{arguments['threads']:>8}{r['cpu']:>8.2f}{r['cpu'] * scale:>8.2f}{r['wall']:>8.2f}"
        f"{r['words'] / r['cpu']:>9.0f}{r['words'] / r['wall']:>9.0f}{r['score']:>12.2f}"
        f"{r['forest']:>10.2f}{r['peak']:>8.1f}{r['load']:>8.3f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beams", type=int, nargs="+", default=BEAMS)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--corpora", nargs="+", choices=[GOLDEN, BIBLE], default=[GOLDEN, BIBLE])
    parser.add_argument("--lines", type=int, default=100, help="sentences of Bible zh-en")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--row", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.row is not None:
        print(json.dumps(measure(**json.loads(args.row))))
        return
    if not (SHARED / "golden").is_dir():
        print(f"no {SHARED}/golden; set HOPEFEAR_SHARED to measure")
        return
    scale = 1 / slowness()
    OUT.mkdir(exist_ok=True)
    print(f"this machine: {1 / scale:.2f} of the time of the figures' machine")
    print(
        f"{'corpus':<8}{'beam':>6}{'pops':>7}{'threads':>8}{'cpu s':>8}{'scaled':>8}{'wall s':>8}"
        f"{'w/cpu s':>9}{'w/wall s':>9}{'score':>12}{'forest MB':>10}{'peak MB':>8}{'load s':>8}"
    )
    places = {
        GOLDEN: (golden_model, SHARED / "golden/moses/decode/input.fr", 200),
        BIBLE: (bible_model, SHARED / "golden/aligned/zh-en/dev.zh", args.lines),
    }
    for corpus in args.corpora:
        make, source, lines = places[corpus]
        common = {"model": str(make()), "source": str(source), "lines": lines}
        common["repeat"] = args.repeat
        for threads in args.threads:
            for beam in args.beams:
                options = {"beam": beam, "pop_limit": max(30, 5 * beam)}
                row(corpus, scale, options=options, threads=threads, **common)
        options = {"search": "stack", "beam": 30}
        row(corpus, scale, options=options, threads=1, **common)


if __name__ == "__main__":
    main()
