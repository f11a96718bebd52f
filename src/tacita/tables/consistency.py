"""Counts that are not negative and add up to their total: one projection per parent, never cell by cell.

Setting negative cells to zero one at a time pushes every sum upward. Here the children of one parent are moved
together onto the nearest non-negative vector with the parent's sum, then rounded without changing that sum.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def onto_simplex(values: Floats, total: float) -> Floats:
    """The nearest vector (least squares) with no negative entry and the given sum.

    >>> onto_simplex(np.array([5.0, -1.0, 2.0]), 6.0)
    array([4.5, 0. , 1.5])
    """
    if values.size == 0 or total <= 0:
        return np.zeros_like(values)
    ordered = np.sort(values)[::-1]
    shift = (np.cumsum(ordered) - total) / np.arange(1, values.size + 1)
    kept = int(np.flatnonzero(ordered >= shift)[-1])
    moved: Floats = np.maximum(values - shift[kept], 0)
    return moved


def rounded(values: Floats, total: int) -> NDArray[np.int64]:
    """Whole numbers with the given sum, each within one of its value; ties go to the earlier cell.

    >>> rounded(np.array([4.5, 0.0, 1.5]), 6)
    array([5, 0, 1])
    """
    whole = np.floor(values).astype(np.int64)
    missing = int(total - whole.sum())
    order = np.argsort(-(values - whole), kind="stable")
    whole[order[:missing]] += 1
    return whole


def consistent(values: Floats, group: NDArray[np.int64], *, integers: bool) -> Floats:
    """Project every group of cells onto its own total, which is kept (or set to zero where it was negative)."""
    result = values.copy()
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(group[order]) != 0, True])
    for first, last in pairwise(starts):
        cells = order[first:last]
        total = max(0.0, float(values[cells].sum()))
        moved = onto_simplex(values[cells], total)
        result[cells] = rounded(moved, round(total)) if integers else moved
    return result
