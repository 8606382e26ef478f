"""Estimation of n-gram language models: interpolated modified Kneser-Ney, equal to lmplz's models.

Takes tokenised text, one sentence per line (paths, `-`, .gz, or open binary files); writes an ARPA
file and returns an `EstimateReport`. The engine (described in cpp/lm/estimate.hpp) uses a limited
amount of memory, whatever the length of the text, and writes the rest to scratch files.

The smoothing is that of [chen1998], with the adjusted counts of [kneser1995]; streaming and the
treatment of pruned n-grams follow [heafield2013].

Differs: a text without words is an error (lmplz writes a model of `<unk>` and `<s>`); log10 of 0 is
written as -99.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from hopefear.base.errors import OptionError
from hopefear.base.files import PathLike, display_name, open_input, open_output
from hopefear.base.threads import all_cores

DEFAULT_MEMORY = 1 << 30
# The part of `memory` for the interpreter, the loaded engine and fixed buffers.
PROCESS_MEMORY = 32 << 20
MIN_MEMORY = 40 << 20

# The default discounts where they cannot be estimated from the text.
FALLBACK = (0.5, 1.0, 1.5)

Text = PathLike | BinaryIO


@dataclass(frozen=True)
class OrderReport:
    """Statistics of the n-grams of one order."""

    order: int
    ngrams: int  # in the model
    distinct: int  # in the text, before pruning
    discounts: tuple[float, float, float]  # for counts 1, 2, 3 or more
    fell_back: bool  # whether the discounts are the fallback discounts


@dataclass(frozen=True)
class EstimateReport:
    """Statistics of the text and of the estimated model."""

    sentences: int
    tokens: int  # without `<s>` and `</s>`
    types: int
    orders: tuple[OrderReport, ...]
    spilled_bytes: int  # size of the scratch files written
    seconds: float


def estimate(
    text: Text | Sequence[Text],
    output: Text,
    *,
    order: int = 3,
    prune: Sequence[int] = (),
    discount_fallback: Sequence[float] | bool | None = None,
    memory: int = DEFAULT_MEMORY,
    threads: int | None = None,
    skip_symbols: bool = False,
    tmp: PathLike | None = None,
    progress: Callable[[int], None] | None = None,
) -> EstimateReport:
    """Estimate a model of `order` from text, write it to `output` in ARPA format, return a report.

    `prune`: non-decreasing count thresholds per order, of which the last applies to all further
    orders; n-grams with at most that count are dropped. `discount_fallback`: discounts for orders
    with too few n-grams to estimate them; `True`: 0.5, 1, 1.5. `memory`: limit for the process in
    bytes. `threads`: number of threads (default: all cores); does not change the result.
    `skip_symbols`: treat `<s>`, `</s>` and `<unk>` in the text as white space, not as errors.
    `tmp`: directory for scratch files. `progress` is called with the number of tokens read.
    """
    from hopefear import _engine

    if not 1 <= order <= 6:
        raise OptionError(f"order {order} is out of range; give 1 to 6")
    if any(threshold < 0 for threshold in prune):
        raise OptionError(f"prune {' '.join(map(str, prune))}: give thresholds of at least 0")
    if memory < MIN_MEMORY:
        raise OptionError(
            f"memory of {memory:,} bytes is too little; give at least {MIN_MEMORY >> 20}M"
        )
    if threads is not None and threads < 1:
        raise OptionError(f"threads {threads} is out of range; give at least 1")
    if tmp is not None and not os.path.isdir(tmp):  # noqa: PTH112 (any path-like)
        raise OptionError(f"{os.fspath(tmp)}: no such directory for scratch files")
    texts = [text] if isinstance(text, str | os.PathLike) or hasattr(text, "read") else text
    started = time.monotonic()
    with ExitStack() as stack:
        files = []
        names = []
        for item in cast(Sequence[Text], texts):
            if isinstance(item, str | os.PathLike):
                files.append(stack.enter_context(open_input(item)))
                names.append(display_name(item))
            else:
                files.append(item)
                names.append(str(getattr(item, "name", "<text>")))
        if isinstance(output, str | os.PathLike):
            sink = stack.enter_context(open_output(output))
        else:
            sink = output
        report: dict[str, Any] = _engine.estimate_lm(
            files,
            names,
            sink,
            order=order,
            prune=list(prune),
            fallback=_fallback(discount_fallback),
            memory=memory - PROCESS_MEMORY,
            threads=threads if threads is not None else all_cores(),
            scratch="" if tmp is None else os.fspath(tmp),
            skip_symbols=skip_symbols,
            progress=progress,
        )
    orders = tuple(
        OrderReport(k, written, distinct, discounts, fell_back)
        for k, (written, distinct, discounts, fell_back) in enumerate(report["orders"], 1)
    )
    return EstimateReport(
        sentences=report["sentences"],
        tokens=report["tokens"],
        types=report["types"],
        orders=orders,
        spilled_bytes=report["spilled_bytes"],
        seconds=time.monotonic() - started,
    )


def _fallback(discounts: Sequence[float] | bool | None) -> list[float]:
    if discounts is None or discounts is False:
        return []
    if discounts is True:
        return list(FALLBACK)
    return list(discounts) or list(FALLBACK)
