"""The options of tuning a reranker, apart from what does it, so that help stays fast."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hopefear.base.config import option


@dataclass(kw_only=True)
class RerankOptions:
    """Which lists a reranker is tuned on, and how; also options of `hopefear rerank tune`."""

    nbest: Path = option(help="n-best lists; .gz is unpacked")
    tuner: str = option(help="the method, such as mert or batch-mira")
    refs: list[Path] = option([], metavar="REF", help="references, one file each")
    format: Literal["moses", "cdec", "jsonl"] | None = option(
        None, help="of the lists; if not given, by the name: .jsonl and .json, else moses or cdec"
    )
    metric: str = option("bleu", help="what is to rise: bleu, ter, chrf …, or given")
    weights: Path | None = option(None, help="weights to start from; if not given, all are 0")
    plugin: list[Path] = option(
        [], metavar="FILE.py", help="Python files with tuners or metrics of your own"
    )
    fixed: list[str] = option([], metavar="FEATURE", help="features whose weights stay")
    folds: int = option(1, min=1, help="parts for cross-validation; 1: none")
    seed: int = option(1, min=0, help="of the tuner and of the folds")
    threads: int = option(0, min=0, max=256, help="threads; 0: all cores; changes no result")
    skip_missing: bool = option(False, help="leave out sentences that have no candidate")
