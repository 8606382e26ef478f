"""Word alignment: AER on gold alignments step by step, and BLEU of phrase systems.

AER: each aligner is trained on the text that the gold sentences' README names, lower-cased, with
the gold sentences at its end; grow-diag-final-and. BLEU: phrase systems of the Bible zh-en and
Multi30k de-en, lower-cased, that differ in their alignment only, tuned by MERT.

    python experiments/alignment.py                          # AER and CPU seconds: minutes
    python experiments/alignment.py --run --others old=DIR   # BLEU; call again to resume
    python experiments/alignment.py --others old=DIR --write # into docs/results

The texts are NAME.source and NAME.target in OUT/alignment. Another aligner's links of these,
DIR/NAME.align, are scored as well; BLEU is compared with that of the first of --others. All files
are in experiments/out.
"""

from __future__ import annotations

import resource
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from harness import BEST_ITERATION, CORPORA, Runner, Setting, Sizes, Study, data_folders
from harness.command import parser
from harness.results import markdown, write_section
from harness.tables import table

from hopefear.align import Settings, align_files, read_alignments, read_gold, score_alignments
from hopefear.base.files import open_input, open_output
from hopefear.text.pipeline import TextPipeline

STEPS = {
    "Model 1": Settings(aligner="model1", similar=0),
    "and the HMM": Settings(aligner="hmm", similar=0),
    "and fertilities": Settings(similar=0),
    "and similar spellings: the default": Settings(),
}
PAGE = "alignment"


@dataclass(frozen=True)
class Text:
    """A side of a text: its language and files; raw text is tokenised."""

    language: str
    files: Sequence[str]
    raw: bool = True

    def write(self, data: Path, output: Path) -> None:
        """Write the tokenised, lower-cased text."""
        raw = TextPipeline(language=self.language, casing="lower")
        words = TextPipeline(language=self.language, casing="lower", tokenizer="whitespace")
        with open_output(output) as out:
            for name in self.files:
                pipeline = raw if self.raw and "gold" not in name else words
                with open_input(data / name) as file:
                    for line in file:
                        out.write(" ".join(pipeline.prepare(line.decode())).encode() + b"\n")


def _gold(pair: str, folders: Sequence[str], raw: tuple[bool, bool]) -> tuple[Text, Text]:
    """Returns both sides of training texts and gold sentences."""
    sides = []
    for language, is_raw in zip(pair.split("-"), raw, strict=True):
        name = "seg.zh" if language == "zh" else language
        files = [f"data/{folder}/train.{name}.gz" for folder in folders]
        sides.append(Text(language, [*files, f"data/alignment-gold/{pair}.{language}"], is_raw))
    return sides[0], sides[1]


GOLD = {
    "zh-en": _gold("zh-en", ("tatoeba-zh-en", "bible-zh-en"), (False, True)),
    "en-fr": _gold("en-fr", ("multi30k/fr-en", "bible-fr-en"), (True, True)),
    "ja-en": _gold("ja-en", ("tanaka-ja-en",), (False, False)),
}
SYSTEMS = {"zh-en": "zh-en-lower", "de-en": "de-en-lower"}  # their corpora, registered below


def prepare(data: Path, folder: Path) -> None:
    """Write the texts that are missing and register the corpora of the phrase systems."""
    folder.mkdir(parents=True, exist_ok=True)
    for pair, sides in GOLD.items():
        for side, text in zip(("source", "target"), sides, strict=True):
            path = folder / f"gold-{pair}.{side}"
            if not path.exists():
                text.write(data, path)
    for pair, name in SYSTEMS.items():
        corpus, files = CORPORA[pair], {}
        for part, names in corpus.files.items():
            files[part] = []
            for number, file in enumerate(names):
                side = "source" if number == 0 else "target"
                ending = side if part == "train" else f"{part}.{side}{number or ''}"
                path = folder / f"{name}.{ending}"
                language = pair.split("-")[min(number, 1)]
                if not path.exists():
                    Text(language, (file,), not corpus.tokenized).write(data, path)
                files[part].append(str(path))
        CORPORA[name] = replace(
            corpus, name=name, files=files, align=None, tokenized=True, tokenize="none"
        )


def align(folder: Path, name: str, output: Path, settings: Settings) -> float:
    """Align a text in this process, which is new; returns CPU seconds."""
    align_files(folder / f"{name}.source", folder / f"{name}.target", output, settings)
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])


def error_rate(data: Path, pair: str, links: Path) -> float:
    """Returns the AER of the last lines of a file of links, in per cent."""
    gold = list(read_gold(data / f"data/alignment-gold/{pair}.gold"))
    count = sum(1 for _ in read_alignments(links))
    last = islice(read_alignments(links), count - len(gold), None)
    return 100 * score_alignments(last, gold).aer


def aer_table(data: Path, folder: Path, others: dict[str, Path]) -> str:
    """Returns the table of AER and CPU seconds of all steps."""
    rows = []
    for name, links in others.items():
        cells = [f"{error_rate(data, p, links / f'gold-{p}.align'):.1f}" for p in GOLD]
        rows.append([name, *(cell for aer in cells for cell in (aer, "-"))])
    for label, settings in STEPS.items():
        row = [label]
        for pair in GOLD:
            output = folder / "step.align"
            with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
                seconds = pool.apply(align, (folder, f"gold-{pair}", output, settings))
            row += [f"{error_rate(data, pair, output):.1f}", f"{seconds:.1f}"]
        rows.append(row)
        print(*row, sep="\t", flush=True)
    return markdown(["aligner", *(cell for pair in GOLD for cell in (pair, "CPU s"))], rows)


def study(folder: Path, others: dict[str, Path], seeds: int) -> Study:
    """Returns the study of phrase systems, which compares with the first other aligner."""
    places = {**others, "hopefear": folder}
    settings = [
        Setting(name, "mert", tune=BEST_ITERATION, train=("--align", f"{place}/{{corpus}}.align"))
        for name, place in places.items()
    ]
    return Study(
        "phrase systems", "Phrase systems", settings, tuple(SYSTEMS.values()),
        sizes=Sizes(dev=400), iterations=8, seeds=seeds, page=PAGE,
    )  # fmt: skip


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--run", action="store_true", help="train, tune and translate for BLEU")
    made.add_argument("--no-aer", action="store_true", help="leave out the table of AER")
    made.add_argument("--minutes", type=float, default=120.0, help="time limit of --run")
    made.add_argument("--jobs", type=int, default=2, help="runs in parallel")
    made.add_argument("--seeds", type=int, default=3)
    made.add_argument(
        "--others", nargs="+", default=[], metavar="NAME=DIR", help="links of other aligners"
    )
    a = made.parse_args()
    folders, folder = data_folders(a), a.out.resolve() / PAGE
    others = {n: Path(place).resolve() for n, place in (word.split("=") for word in a.others)}
    prepare(a.data, folder)
    for name in SYSTEMS.values():
        if not (folder / f"{name}.align").exists():
            align(folder, name, folder / f"{name}.align", Settings())
    if not a.no_aer:
        text = aer_table(a.data, folder, others)
        print(text)
        if a.write:
            write_section(PAGE, "error rates", text)
    runner = Runner(study(folder, others, a.seeds), **folders, minutes=a.minutes, jobs=a.jobs)
    if a.run and not runner.run_all():
        print("the time is over; the same command resumes")
    tables = [table(runner, *task) for task in runner.tasks() if runner.has_runs(*task)]
    print(*tables, sep="\n")
    if a.write and tables:
        write_section(PAGE, "phrase systems", "\n".join(tables))


if __name__ == "__main__":
    main()
