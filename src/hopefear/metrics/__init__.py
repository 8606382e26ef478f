"""BLEU and friends, what they say about two systems, and what a k-best list holds.

A metric is one file with one class (`metric.py` is the contract): additive whole-number statistics
per sentence, and a score of their sum. `create` makes one by its registered name.
"""

from typing import TYPE_CHECKING, Any

__all__ = ["Metric", "create"]

if TYPE_CHECKING:
    from hopefear.metrics.metric import Metric, create
else:

    def __getattr__(name: str) -> Any:
        # Options of scoring are read where numpy is not loaded yet.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from hopefear.metrics import metric

        return getattr(metric, name)
