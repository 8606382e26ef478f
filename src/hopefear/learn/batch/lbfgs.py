"""L-BFGS of SciPy, with BLAS on one thread.

SciPy's steps call LAPACK on matrices of a dozen rows. With several threads each such call wakes
them all up, and a step costs 7 ms of CPU instead of 0.03 on two cores, more on more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hopefear.learn.pool.candidates import FloatArray


class Minimum(NamedTuple):
    """Where it ended."""

    vector: FloatArray
    value: float
    steps: int


def minimize(
    loss: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray, max_steps: int
) -> Minimum:
    """A local minimum of a function that returns its value and its gradient."""
    from scipy import optimize
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        found = optimize.minimize(
            loss, start, jac=True, method="L-BFGS-B", options={"maxiter": max_steps}
        )
    return Minimum(np.asarray(found.x, np.float64), float(found.fun), int(found.nit))
