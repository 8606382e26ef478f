"""From text to an n-gram language model: interpolated modified Kneser-Ney, with lmplz's numbers.

Goes in: tokenised text, one sentence per line (paths, `-`, .gz, or open binary files). Comes out:
an ARPA file, and an `EstimateReport`. The engine does the work (cpp/lm/estimate.hpp says how), in
a memory that does not depend on the length of the text: what does not fit goes to scratch files.

The smoothing is that of [chen1998], with the adjusted counts of [kneser1995]; the streaming and the
treatment of pruned n-grams follow [heafield2013].

Differs: a text without any word is refused (lmplz writes a model of `<unk>` and `<s>`); log10 of 0
is written as -99.
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
# What the interpreter, the loaded engine and fixed buffers take: part of `memory`.
PROCESS_MEMORY = 32 << 20
MIN_MEMORY = 40 << 20

# The discounts that take the place of those that a text does not give.
FALLBACK = (0.5, 1.0, 1.5)

Text = PathLike | BinaryIO


@dataclass(frozen=True)
class OrderReport:
    """What became of the n-grams of one order."""

    order: int
    ngrams: int  # in the model
    distinct: int  # in the text, before pruning
    discounts: tuple[float, float, float]  # for counts 1, 2, 3 or more
    fell_back: bool  # the discounts are those of the fallback


@dataclass(frozen=True)
class EstimateReport:
    """What was read and what was written."""

    sentences: int
    tokens: int  # without sentence marks
    types: int
    orders: tuple[OrderReport, ...]
    spilled_bytes: int  # written to scratch files
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
    """Estimate a model of `order` from the text and write it to `output` as ARPA.

    `prune`: one threshold per order, not decreasing, the last one repeated; an n-gram that occurs
    that often or less is left out. `discount_fallback`: discounts for orders that are too small to
    have any, `True` for 0.5, 1, 1.5. `memory`: bytes that the process may use. `threads`: all
    cores by default; their number does not change the output. `skip_symbols`: `<s>`, `</s>` and
    `<unk>` in the text are white space instead of an error. `tmp`: directory of scratch files.
    `progress` is called with the number of tokens read.
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
        found: dict[str, Any] = _engine.estimate_lm(
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
        for k, (written, distinct, discounts, fell_back) in enumerate(found["orders"], 1)
    )
    return EstimateReport(
        sentences=found["sentences"],
        tokens=found["tokens"],
        types=found["types"],
        orders=orders,
        spilled_bytes=found["spilled_bytes"],
        seconds=time.monotonic() - started,
    )


def _fallback(given: Sequence[float] | bool | None) -> list[float]:
    if given is None or given is False:
        return []
    if given is True:
        return list(FALLBACK)
    return list(given) or list(FALLBACK)
