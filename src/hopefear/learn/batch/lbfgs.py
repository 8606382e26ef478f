"""L-BFGS of SciPy, with BLAS on one thread.

SciPy's steps call LAPACK on matrices of a dozen rows. With several threads each such call wakes all
of them, and a step costs 7 ms of CPU on two cores instead of 0.03 ms, and even more on more cores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hopefear.learn.pool.candidates import FloatArray


class Minimum(NamedTuple):
    """The end point of a minimisation, its value and the number of steps."""

    vector: FloatArray
    value: float
    steps: int


def minimize(
    loss: Callable[[FloatArray], tuple[float, FloatArray]], start: FloatArray, max_steps: int
) -> Minimum:
    """Take a function that returns value and gradient, and return a local minimum near `start`."""
    from scipy import optimize
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        result = optimize.minimize(
            loss, start, jac=True, method="L-BFGS-B", options={"maxiter": max_steps}
        )
    return Minimum(np.asarray(result.x, np.float64), float(result.fun), int(result.nit))
