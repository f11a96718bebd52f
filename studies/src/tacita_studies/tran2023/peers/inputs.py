"""What every quantile peer is asked, checked once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError

Numbers = NDArray[np.float64]
Bounds = tuple[float, float]


def checked(values: Numbers, quantiles: Sequence[float], epsilon: float, bounds: Bounds) -> tuple[Numbers, Numbers]:
    """The values clamped to the public bounds, and the quantiles as an array.

    >>> checked(np.array([-1.0, 2.0]), [0.5], 1.0, (0.0, 1.0))
    (array([0., 1.]), array([0.5]))
    """
    asked = np.asarray(quantiles, dtype=np.float64)
    if not asked.size or not (asked[0] > 0 and asked[-1] < 1 and np.all(np.diff(asked) > 0)):
        raise UsageError("quantiles: give at least one, each between 0 and 1, in increasing order")
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise UsageError("epsilon: must be above 0 and finite")
    lower, upper = bounds
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        raise UsageError("bounds: two finite public numbers, the lower one first")
    sorted_values = np.asarray(values, dtype=np.float64)
    if sorted_values.ndim != 1 or not np.all(sorted_values[1:] >= sorted_values[:-1]):
        raise UsageError("values: one column, sorted in increasing order and without missing values")
    if sorted_values.size and math.isnan(sorted_values[0]):  # a single NaN passes the comparison above
        raise UsageError("values: one column, sorted in increasing order and without missing values")
    return np.clip(sorted_values, lower, upper), asked
