"""The hierarchical decoder on cdec's grammars and on a model trained on the Bible.

Budget: 0.05 s CPU per sentence on cdec's 30 grammars at pop limit 200, reading the grammar included
(cdec: 0.21 s), on a machine where `sum(i*i for i in range(10**7))` takes 1.05 s. The model of the
Bible (zh-en, the alignment given) is trained once and kept in bench/out; it has default weights, or
those of --weights. CPU seconds; edges before and after the language model and megabytes of the
forest are means per sentence.
"""

from __future__ import annotations

import argparse
import gzip
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from support.machine import OUT, SHARED, slowness

from hopefear.base.weights import Weights
from hopefear.decode.chart import ChartOptions, HieroDecoder
from hopefear.decode.contract import Sentence
from hopefear.features.dense import CDEC_FEATURES
from hopefear.forest import viterbi
from hopefear.lm import LanguageModel
from hopefear.model.directory import Model
from hopefear.rules.cdec import read_grammar

SEGMENT = re.compile(r'<seg grammar="(.*?)" id="(\d+)"> (.*?) </seg>')
COLUMNS = f"{'':28}{'s/sent':>9}{'sent/s':>8}{'before':>10}{'after':>9}{'MB':>7}{'total':>12}"


def run(name: str, decoder: HieroDecoder, sentences: Sequence[Sentence], weights: Weights) -> float:
    """Prints a row; the CPU seconds per sentence."""
    forests_after = nodes_bytes = before = 0
    total = seconds = 0.0
    for sentence in sentences:
        start = time.process_time()
        forest = decoder.decode(sentence, weights)
        seconds += time.process_time() - start
        best = viterbi(forest, weights)
        total += best.score if best is not None else 0.0
        forests_after += forest.edges
        nodes_bytes += forest.bytes
        before += decoder.parse(sentence, weights).edges
    count = len(sentences)
    each = seconds / count
    print(
        f"{name:28}{each:9.4f}{1 / each:8.1f}{before / count:10,.0f}{forests_after / count:9,.0f}"
        f"{nodes_bytes / count / 1e6:7.2f}{total:12.2f}",
        flush=True,
    )
    return each


def cdec(pop_limits: Sequence[int]) -> None:
    folder = SHARED / "golden" / "cdec"
    lm = LanguageModel.load(SHARED / "golden" / "lm3.arpa.gz")
    weights = Weights()
    for line in (folder / "weights.txt").read_text().splitlines():
        name, value = line.split()
        weights[name] = float(value)
    segments = SEGMENT.findall((folder / "input.sgm").read_text())
    sentences = [Sentence(tuple(text.split()), id, folder / path) for path, id, text in segments]
    speed = 1 / slowness()
    print(f"cdec's 30 grammars; this machine: {speed:.2f} times the one of the budget\n{COLUMNS}")
    start = time.process_time()
    for sentence in sentences:
        assert sentence.grammar is not None
        read_grammar(sentence.grammar)
    reading = (time.process_time() - start) / len(sentences)
    for limit in pop_limits:
        options = ChartOptions(pass_through_all=True, rule_limit=0, pop_limit=limit)
        decoder = HieroDecoder(None, {"LanguageModel": lm}, options=options, features=CDEC_FEATURES)
        each = run(f"pop limit {limit}", decoder, sentences, weights)
        if limit == 200:
            print(
                f"  {each * speed:.4f} s there (budget 0.05, cdec 0.21), of which "
                f"{reading * speed:.4f} reading the grammar"
            )


def bible_model() -> Path:
    """The directory of the trained model; made at the first call."""
    model, text = OUT / "bible-hiero", OUT / "bible-text"
    if (model / "model.toml").is_file():
        return model
    folder = SHARED / "golden" / "aligned" / "zh-en"
    text.mkdir(parents=True, exist_ok=True)
    for name in ("train.zh", "train.en", "train.gdfa"):
        with gzip.open(folder / f"{name}.gz") as packed, (text / name).open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    print("training on the Bible …", flush=True)
    command = [sys.executable, "-m", "hopefear", "train", str(text / "train.zh")]
    command += [str(text / "train.en"), "--align", str(text / "train.gdfa"), "--tokenized"]
    subprocess.run([*command, "--system", "hiero", "--model", str(model)], check=True)
    return model


def bible(count: int, pop_limits: Sequence[int], weights_file: Path | None) -> None:
    model = Model.load(bible_model())
    weights = model.weights(weights_file, warn=lambda _: None)
    lines = (SHARED / "golden" / "aligned" / "zh-en" / "test.zh").read_text(encoding="utf-8")
    sentences = [Sentence.of(line) for line in lines.splitlines()[:count]]
    words = sum(len(sentence.words) for sentence in sentences) / len(sentences)
    print(f"\nBible zh-en, {len(model.rules):,} rules, {words:.1f} words per sentence\n{COLUMNS}")
    for limit in pop_limits:
        made = model.decoder(pop_limit=limit)
        assert isinstance(made, HieroDecoder)
        run(f"pop limit {limit}", made, sentences, weights)
    long = [word for sentence in sentences for word in sentence.words][:150]
    made = model.decoder()
    assert isinstance(made, HieroDecoder)
    run("one sentence of 150 words", made, [Sentence.of(long)], weights)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pop-limits", nargs="+", type=int, default=[50, 200], metavar="N")
    parser.add_argument("--sentences", type=int, default=50, metavar="N", help="of the Bible")
    parser.add_argument("--weights", type=Path, help="for the model of the Bible")
    parser.add_argument("--no-bible", action="store_true", help="only cdec's grammars")
    arguments = parser.parse_args()
    if not (SHARED / "golden").is_dir():
        print(f"no {SHARED}/golden: nothing to do; set HOPEFEAR_SHARED")
        return
    cdec(arguments.pop_limits)
    if not arguments.no_bible:
        bible(arguments.sentences, arguments.pop_limits, arguments.weights)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory {peak:,.0f} MB")


if __name__ == "__main__":
    main()
