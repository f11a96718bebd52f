"""How much an attribute tells apart: the deviance of its one-way table, in whole units, by whole-number arithmetic.

Half the deviance of the one-way loglinear model against equal frequencies, for counts n_1 … n_K with sum n, is
Σ n_k ln n_k − n ln n + n ln K. x ln x is replaced by a convex function that is linear between public breakpoints, with
whole slopes (64 units to one), so that what one record changes is a whole number with known bounds: no rounding error
of the confidential data needs to be covered. The slopes end at a public cap, so they are bounded at any n.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

UNITS = 64  # to one unit of half the deviance
_DENSE = 4096  # every whole number up to here is a breakpoint
LARGEST_CAP = 1 << 40


def _breakpoints() -> Integers:
    grown = _DENSE * (1 + 1 / 256) ** np.arange(1, 1 + int(np.ceil(256 * np.log(LARGEST_CAP / _DENSE) * 1.01)))
    return np.unique(np.concatenate((np.arange(_DENSE), np.ceil(grown).astype(np.int64))))


def _slopes(points: Integers) -> Integers:
    """(x + 1) ln(x + 1) − x ln x in whole units; never falling."""
    x = points.astype(np.float64)
    steps = np.log1p(x) + x * np.log1p(1 / np.maximum(x, 1)) * (x > 0)
    return np.asarray(np.maximum.accumulate(np.rint(UNITS * steps).astype(np.int64)))


_POINTS = _breakpoints()
_SLOPES = _slopes(_POINTS)
_REACHED = np.concatenate(([0], np.cumsum(_SLOPES[:-1] * np.diff(_POINTS))))


def _piece(x: Integers) -> Integers:
    return np.asarray(np.searchsorted(_POINTS, x, side="right") - 1)


def steepest(cap: int) -> int:
    """The most that one record adds to `x_log_x` under this cap.

    >>> steepest(1) / UNITS, steepest(1 << 16) / UNITS
    (1.390625, 12.09375)
    """
    return int(_SLOPES[_piece(np.array([min(cap, LARGEST_CAP)]))[0]])


def x_log_x(x: Integers, cap: Integers | int) -> Integers:
    """x ln x in whole units; from the cap on, a straight line of the slope reached there.

    >>> (x_log_x(np.array([0, 1, 10, 1000]), 1 << 20) / UNITS).round(1).tolist()
    [0.0, 0.0, 23.0, 6907.8]
    """
    cap = np.minimum(cap, LARGEST_CAP)
    held = np.minimum(x, cap)
    at = _piece(held)
    value = _REACHED[at] + (held - _POINTS[at]) * _SLOPES[at]
    return np.asarray(value + (x - held) * _SLOPES[_piece(cap)])


def log_units(levels: Integers) -> Integers:
    """ln K in whole units."""
    return np.asarray(np.rint(UNITS * np.log(np.maximum(levels, 1))).astype(np.int64))


def widest(cap: int, sizes: tuple[int, ...], *, with_stop: bool) -> int:
    """How far apart one record can move two candidates of one election, in units.

    A record adds between ln K and ln K + (slope at the cap) to the score of an attribute with K levels, and between 0
    and the slope to that of stopping. K lies between 2 and the largest number of levels.
    """
    smallest, largest = log_units(np.array([2, max(*sizes, 2)], dtype=np.int64)).tolist()
    return int(steepest(cap) + largest - (0 if with_stop else smallest))


def one_way(table: Integers, levels: Integers, cap: Integers, *, aic: bool) -> Integers:
    """Half the deviance, plus what is the same for every attribute of the node; one row per node."""
    flat = table.ravel()
    value = np.zeros(flat.size, dtype=np.int64)
    full = np.flatnonzero(flat)
    value[full] = x_log_x(flat[full], cap[full // table.shape[1]])
    score = value.reshape(table.shape).sum(axis=1, dtype=np.int64)
    score += table.sum(axis=1, dtype=np.int64) * log_units(levels)
    return np.asarray(score - UNITS * (levels - 1) if aic else score)
