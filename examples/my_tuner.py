"""Your own tuner: a plugin for --plugin (docs/guides/extending.md).

    hopefear tune --plugin examples/my_tuner.py --tuner batch-perceptron --set passes=20 …
    hopefear rerank tune --plugin examples/my_tuner.py --tuner batch-perceptron …

A batch tuner takes all candidates decoded so far and returns new weights. The loop decides what is
decoded, when to stop, and what is saved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hopefear.base.config import option
from hopefear.base.registry import register
from hopefear.base.weights import Weights
from hopefear.learn.batch.problem import Problem
from hopefear.learn.tuner import BatchTuner, Optimized, Pool, Task


@register("tuner", "batch-perceptron")
@dataclass(kw_only=True)
class BatchPerceptron(BatchTuner):
    """The averaged structured perceptron: towards the best candidate, away from the chosen one."""

    name: ClassVar[str] = "batch-perceptron"

    # Fields are options: --set passes=20, a config file's [tune.batch-perceptron], --help.
    passes: int = option(10, min=1, help="passes over the sentences")
    eta: float = option(0.01, min=0, help="factor of all steps")

    def optimize(self, pool: Pool, weights: Weights, task: Task) -> Optimized:
        problem = Problem(pool, weights, task)  # candidates in groups, one group per sentence
        if problem.groups == 0:
            return Optimized(weights.copy(), problem.corpus_score(problem.start))
        blocks = problem.blocks()  # the feature vectors of each group
        oracle = problem.best(problem.gains) - problem.begin  # the best candidate of each group
        vector, total = problem.start.copy(), np.zeros_like(problem.start)
        for _ in range(self.passes):
            for group in task.random.permutation(problem.groups):  # the only random numbers
                block, good = blocks[group], int(oracle[group])
                chosen = int(block.dot(vector).argmax())
                # difference() is 0 for features with fixed weights and for equal candidates.
                vector[block.columns] += self.eta * block.difference(good, chosen)
                total += vector
        mean = total / (self.passes * problem.groups)
        return Optimized(problem.weights(mean), problem.corpus_score(mean))
