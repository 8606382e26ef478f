"""What search-aware tuning changes: tables 3, 4, 5 and figure 5 of Liu & Huang 2014.

    python experiments/search_aware_analyses.py --write

For the finished first-seed MERT runs of `search_aware.py beam-30`, Bible zh-en: 1-best BLEU of the
final bin and of all bins on the dev set, oracle and diversity of k-best lists, and test BLEU for
decoding beams from 1 to 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from harness import CORPORA, RESULTS, Runner, Sizes, data_folders, markdown, parser, write_section
from search_aware import HOWS, SIZES, STUDIES, row

from hopefear.analysis.plot import line_plot
from hopefear.base import registry
from hopefear.base.weights import Weights
from hopefear.decode.contract import Request
from hopefear.forest import kbest
from hopefear.learn.pool.store import BinStore
from hopefear.metrics import create
from hopefear.metrics.diversity import mean_diversity
from hopefear.metrics.metric import total
from hopefear.metrics.oracle import oracle
from hopefear.model.directory import Model

BEAMS = (1, 2, 4, 8, 16, 30, 100)
FIGURE = RESULTS / "search-aware.svg"


def lines_of(path: Path) -> list[str]:
    """Returns the lines of a file."""
    return path.read_text(encoding="utf-8").splitlines()


def bleu(lines: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Returns the corpus BLEU of tokenised translations."""
    metric = create("bleu")
    return float(metric.shown(total(metric.statistics(lines, references))))


def all_bins(decoder: Any, weights: Weights, data: tuple[list[str], list[Any]]) -> float:
    """Returns potential BLEU of the best partial translations of all bins, the objective."""
    sentences, references = data
    tuner = registry.get("tuner", "mert")(search_aware="potential")
    with TemporaryDirectory() as folder:
        store = BinStore(
            directory=Path(folder), metric=create("bleu"), references=references,
            names=decoder.names, k=100, tuner=tuner, untranslated=decoder.untranslated,
            words=sum(len(sentence.split()) for sentence in sentences),
        )  # fmt: skip
        requests = (Request(sentence, weights, spans=True) for sentence in sentences)
        store.add(0, decoder.decode_all(requests), weights)
        candidates = store.pool().candidates
        assert candidates is not None
        return 100 * candidates.corpus_score(store.metric, candidates.vector(weights))


def analyses(runner: Runner, write: bool) -> None:
    """Analyse the finished first-seed runs of MERT."""
    corpus = CORPORA["zh-en"]
    settings = [row("mert", how, 30) for how in HOWS]
    folders = {s.label: runner.folder(corpus, "phrase", s, 1) for s in settings}
    runs = {label: run for label, run in folders.items() if (run / "weights.tsv").exists()}
    if not runs:
        print("no finished run of mert; first: python experiments/search_aware.py beam-30 --run")
        return
    model = Model.load(runner.model(corpus, "phrase", ()))
    parts = {}
    for part in ("dev", "test"):
        source, *references = runner.part(corpus, part)
        parts[part] = (lines_of(source), list(zip(*map(lines_of, references), strict=True)))
    decoder = model.decoder(beam=30, pop_limit=90)
    bins, lists, curves = [], [], {}
    for label, run in runs.items():
        weights = Weights.load(run / "weights.tsv")
        best: dict[str, list[list[str]]] = {}
        for part, (sentences, _) in parts.items():
            forests = decoder.forests(sentences, weights)
            best[part] = [
                [d.text for d in kbest(forest, weights, 100, distinct=True)] or [""]
                for forest in forests
            ]
        final = bleu([some[0] for some in best["dev"]], parts["dev"][1])
        every = all_bins(decoder, weights, parts["dev"])
        bins.append([label, f"{final:.2f}", f"{every:.2f}"])
        cells = [label]
        for part, (_, references) in parts.items():
            texts = [text for some in best[part] for text in some]
            numbers = np.repeat(np.arange(len(references)), [len(some) for some in best[part]])
            counted = create("bleu").statistics(texts, references, sentences=numbers)
            top = bleu([some[0] for some in best[part]], references)
            cells += [f"{top:.2f}", f"{100 * oracle(counted, numbers).score:.2f}"]
            cells.append(f"{mean_diversity([some[:30] for some in best[part]]):.3f}")
        lists.append(cells)
        curves[label] = []
        for beam in BEAMS:
            other = model.decoder(beam=beam, pop_limit=max(30, 3 * beam))
            sentences, references = parts["test"]
            texts = []
            for forest in other.forests(sentences, weights):
                derivations = kbest(forest, weights, 1)
                texts.append(derivations[0].text if derivations else "")
            curves[label].append((float(beam), bleu(texts, references)))
    tables = "\n".join(
        [
            markdown(["dev BLEU", "final bin", "all bins"], bins),
            markdown(
                ["k-best lists", "dev 1-best", "oracle", "diversity",
                 "test 1-best", "oracle", "diversity"],
                lists,
            ),
            markdown(
                ["test BLEU with a beam of", *map(str, BEAMS)],
                [[label, *(f"{y:.2f}" for _, y in some)] for label, some in curves.items()],
            ),
        ]
    )  # fmt: skip
    print(f"\n{tables}")
    if write:
        values = [y for some in curves.values() for _, y in some]
        panels = {corpus.title: curves}
        around = (min(values) - 0.5, max(values) + 0.5)
        text = line_plot(panels, "beam", "test BLEU", y_range=around)
        FIGURE.write_text(text, encoding="utf-8")
        about = (
            "## What changes in search\n\n"
            "`python experiments/search_aware_analyses.py --write`\n\nMERT on Bible zh-en, first "
            "seed, tuned with a beam of 30. 'All bins': potential BLEU of the best partial "
            "translation of every bin. Oracles are of 100-best lists, diversity d' is of bigrams "
            "in their first 30 entries. All beams decode with the weights learned with beam 30 "
            "(figure 5 of the paper seems to tune for each beam).\n\n"
            f"![BLEU against beam]({FIGURE.name})\n\n"
        )
        write_section("search-aware", "search-aware analyses", about + tables)


def main() -> None:
    """Runs the command line."""
    made = parser(__doc__)
    for part in ("train", "dev", "test"):
        made.add_argument(
            f"--{part}", type=int, default=SIZES.of(part), help="sentences, as in the runs"
        )
    made.add_argument("--iterations", type=int, default=6, help="iterations of the runs")
    a = made.parse_args()
    sizes = Sizes(a.train, a.dev, a.test)
    study = replace(STUDIES[0], sizes=sizes, iterations=a.iterations)
    analyses(Runner(study, **data_folders(a)), a.write)


if __name__ == "__main__":
    main()
