"""The options of tuning a reranker, in a module of their own so that `--help` loads little."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hopefear.base.config import option


@dataclass(kw_only=True)
class RerankOptions:
    """Options of the lists and the tuner of a reranker; also those of `hopefear rerank tune`."""

    nbest: Path = option(help="file of n-best lists, plain or .gz")
    tuner: str = option(metavar="NAME", help="tuner, such as mert or batch-mira")
    refs: list[Path] = option([], metavar="REF", help="references, one file each")
    format: Literal["moses", "cdec", "jsonl"] | None = option(
        None,
        help="format of the lists (default: detected from the name or the beginning of the file)",
    )
    metric: list[str] = option(
        ["bleu"],
        metavar="NAME[=WEIGHT]",
        help="metric to optimise: bleu, wer, chrf …, given, or a name among the scores of the "
        "lists; several with weights: their sum",
    )
    tokenize: Literal["none", "13a", "zh", "char"] = option(
        "none",
        help="tokenisation of lists and references for the metrics; none: split at white space",
    )
    lower: list[str] = option(
        [], metavar="NAME", help="scores of the lists of which lower values are better"
    )
    weights: Path | None = option(None, help="weights to start from; if not given, all are 0")
    plugin: list[Path] = option(
        [], metavar="FILE.py", help="Python files that define further tuners or metrics"
    )
    fixed: list[str] = option([], metavar="FEATURE", help="features whose weights do not change")
    folds: int | None = option(
        None,
        min=1,
        help="number of folds for cross-validation (1: none; if not given, 5, or the number of "
        "lists if there are fewer)",
    )
    ablation: bool = option(
        False, help="also tune without each feature, and report what each one contributes"
    )
    seed: int = option(1, min=0, help="random seed of the tuner and of the folds")
    threads: int = option(
        0, min=0, max=256, help="number of threads (0: all cores); does not change the result"
    )
    skip_missing: bool = option(False, help="skip sentences without candidates")
