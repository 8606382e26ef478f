"""Metrics (BLEU, TER, chrF and others), significance tests, and properties of k-best lists.

A metric is one file with one class (`metric.py` defines the contract): additive integer statistics
per sentence, and a score of their sum. `create` makes a metric by its registered name.
"""

from typing import TYPE_CHECKING, Any

__all__ = ["Metric", "create"]

if TYPE_CHECKING:
    from hopefear.metrics.metric import Metric, create
else:

    def __getattr__(name: str) -> Any:
        # Loaded at first use: the command line reads the options of scoring before it loads numpy.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from hopefear.metrics import metric

        return getattr(metric, name)
