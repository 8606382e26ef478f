"""BLEU and friends, what they say about two systems, and what a k-best list holds.

A metric is one file with one class (`metric.py` is the contract): additive whole-number statistics
per sentence, and a score of their sum. `create` makes one by its registered name.
"""

from hopefear.metrics.metric import Metric, create

__all__ = ["Metric", "create"]
