"""Unknown words in small corpora: copied, dropped, replaced by similar words, split into subwords.

    python experiments/unknown_words.py --run --write     # about 60 CPU minutes

3,000 training pairs of five corpora, tuned and tested with the same treatment. A second table has
the shares of unknown words: of the source words of the test set, and of the words of the
translations that the training text does not have, which are copied words or, with subwords, pieces
put together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from harness import Runner, Setting, Sizes, Study, main, markdown, title_of, write_section

from hopefear.metrics.tokenizing import tokenized
from hopefear.model.directory import Model
from hopefear.text.lines import read_lines
from hopefear.text.pipeline import TextPipeline

PAGE = "unknown-words"


def row(label: str, *decode: str, train: Sequence[str] = ()) -> Setting:
    return Setting(label, "batch-mira", decode=decode, train=tuple(train))


SETTINGS = [
    row("copy"),
    row("drop", "--unknown", "drop"),
    row("similar", "--unknown", "similar"),
    row("500 subwords", train=("--subwords", "500")),
    row("2000 subwords", train=("--subwords", "2000")),
]


def new_words(known: Iterable[str], lines: Iterable[str]) -> float:
    """Returns the percentage of words with letters that are not known, whatever their case."""
    vocabulary = {word.lower() for word in known}
    words = [word.lower() for line in lines for word in line.split() if any(map(str.isalpha, word))]
    return 100 * sum(word not in vocabulary for word in words) / max(1, len(words))


def words_of(lines: Iterable[str]) -> set[str]:
    return {word for line in lines for word in line.split()}


def shares(runner: Runner, written: bool) -> None:
    """Print the table of unknown words; `written`: also write it."""
    rows = []
    for corpus, system in runner.tasks():
        if not runner.has_runs(corpus, system):
            continue
        source, target = runner.part(corpus, "train")[:2]
        model = Model.load(runner.model(corpus, system, ()))
        text: TextPipeline = model.text("source")
        known = words_of(" ".join(text.prepare(line)) for line in read_lines(source))
        test = runner.part(corpus, "test")[0]
        unknown = new_words(known, (" ".join(text.prepare(line)) for line in read_lines(test)))
        seen = words_of(tokenized(list(read_lines(target)), corpus.tokenize))
        cells = [f"{unknown:.1f}"]
        for setting in runner.study.settings:
            runs = runner.finished(corpus, system, setting)
            values = [new_words(seen, run.output) for run in runs]
            cells.append(f"{np.mean(values):.1f}" if values else "-")
        rows.append([title_of(corpus, system), *cells])
    head = ["% words not in training", "source", *(s.label for s in runner.study.settings)]
    made = markdown(head, rows)
    print(made)
    if written and rows:
        write_section(PAGE, "shares", "## Shares of unknown words\n\n" + made)


if __name__ == "__main__":
    main(
        Study(
            PAGE,
            "Four treatments",
            SETTINGS,
            ("cs-en", "ar-en", "fisher-es-en", "de-en", "es-en"),
            sizes=Sizes(train=3000, dev=200, test=500),
            iterations=4,
            chrf=True,
            page=PAGE,
            text="The training pairs of Tatoeba and Fisher are drawn at random. The rules of "
            "`similar` were chosen by test sentences of Multi30k cs-en, Tatoeba ar-en and Fisher "
            "es-en; Multi30k de-en and the Bible were translated only afterwards.",
            columns=("length",),
            after=shares,
        ),
        __doc__,
    )
