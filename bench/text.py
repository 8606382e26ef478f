"""Speed and faithfulness of the text steps on real corpora.

For each corpus: words per CPU second of sacremoses alone, of our tokenizer, of detokenising; and
the share of lines that come back exactly from tokenising and detokenising, by sacremoses's
detokenizer, by ours, and by ours with habits of spacing learned from the text.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from support.figures import Figure, main
from support.machine import shared

from hopefear.base.console import table
from hopefear.text.lines import read_lines
from hopefear.text.spacing import SpacingCounter
from hopefear.text.tokenizers import make_tokenizer

CORPORA = [
    ("en", "multi30k/fr-en/train.en.gz"),
    ("fr", "multi30k/fr-en/train.fr.gz"),
    ("de", "multi30k/de-en/train.de.gz"),
    ("cs", "multi30k/cs-en/train.cs.gz"),
    ("en", "bible-fr-en/train.en.gz"),
    ("fr", "bible-fr-en/train.fr.gz"),
    ("es", "bible-es-en/train.es.gz"),
    ("ar", "bible-ar-en/train.ar.gz"),
    ("en", "tatoeba-zh-en/train.en.gz"),
    ("zh", "bible-zh-en/train.zh.gz"),
    ("zh", "tatoeba-zh-en/train.zh.gz"),
]


def timed(work: Callable[[], list[list[str]]]) -> tuple[list[list[str]], float]:
    started = time.process_time()
    result = work()
    return result, time.process_time() - started


def row(language: str, path: Path, limit: int) -> list[str]:
    from sacremoses import MosesDetokenizer, MosesTokenizer

    lines = list(islice(read_lines(path), limit))
    tokenizer = make_tokenizer("auto", language)
    tokenizer.tokenize("warm up")
    words, seconds = timed(lambda: [tokenizer.tokenize(line) for line in lines])
    count = sum(map(len, words))
    counter = SpacingCounter()
    for line in lines:
        counter.add(line)
    spacing = counter.result()
    texts, back = timed(lambda: [[tokenizer.detokenize(w, spacing)] for w in words])
    learned = sum(text == [line] for text, line in zip(texts, lines, strict=True))
    plain = sum(tokenizer.detokenize(w) == line for w, line in zip(words, lines, strict=True))
    theirs = speed = "-"
    if language != "zh":
        moses, detokenizer = MosesTokenizer(language), MosesDetokenizer(language)
        other, slow = timed(lambda: [moses.tokenize(line, escape=False) for line in lines])
        speed = f"{sum(map(len, other)) / slow:,.0f}"
        same = sum(
            detokenizer.detokenize(w, unescape=False) == line
            for w, line in zip(other, lines, strict=True)
        )
        theirs = f"{100 * same / len(lines):.2f}"
    shares = [f"{100 * same / len(lines):.2f}" for same in (plain, learned)]
    rates = [f"{count / took:,.0f}" for took in (seconds, back)]
    name = f"{path.parent.parent.name if 'multi30k' in str(path) else path.parent.name} {language}"
    return [name, f"{len(lines):,}", speed, *rates, theirs, *shares]


def run(quick: bool) -> list[Figure]:
    language, name = "fr", "bible-fr-en/train.fr.gz"
    cells = row(language, shared("data") / name, 2_000 if quick else 30_000)
    theirs, ours, back = (float(cell.replace(",", "")) for cell in cells[2:5])
    return [
        Figure("Bible fr, tokenize", ours, "words/s"),
        Figure("Bible fr, speed of sacremoses's", ours / theirs, "x"),
        Figure("Bible fr, detokenize", back, "words/s"),
        Figure("Bible fr, lines that come back", float(cells[-1]), "%"),
    ]


def full(*, lines: int = 30_000) -> None:
    data = shared("data")
    rows = [row(language, data / name, lines) for language, name in CORPORA]
    header = ["corpus", "lines", "sacremoses w/s", "tokenize w/s", "detokenize w/s"]
    print(table(rows, [*header, "sacremoses %", "ours %", "learned %"]))


if __name__ == "__main__":
    main(__doc__, run, full)
