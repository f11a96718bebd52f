"""What both ways of cutting boxes share: an axis, the score of a plane, and what a box leaves open. Proof: plane.md."""

from __future__ import annotations

import math

import numpy as np

from tacita.compiled import njit


@njit(cache=True, nogil=True)
def _value(axis, j):  # type: ignore[no-untyped-def]
    return axis[0] + axis[1] * math.sinh(axis[2] + axis[3] * j)


@njit(cache=True, nogil=True)
def _bounds(below, open_, records):  # type: ignore[no-untyped-def]
    """The least and the largest score that a box allows."""
    least = 0
    most = 0
    for g in range(below.size):
        first = 2 * below[g] - records[g]
        last = first + 2 * open_[g]
        if first > 0:
            least += first
        elif last < 0:
            least += -last
        elif first % 2 != 0:
            least += 1
        most += max(abs(first), abs(last))
    return least, most


@njit(cache=True, nogil=True)
def _compact(pool, start, count, leaf, boxes):  # type: ignore[no-untyped-def]
    """Forget the records of boxes that were split. Lists lie in the order of their boxes, so they move down."""
    used = 0
    for box in range(boxes):
        if leaf[box]:
            for at in range(count[box]):
                pool[used + at] = pool[start[box] + at]
            start[box] = used
            used += count[box]
    return used


@njit(cache=True, nogil=True)
def _score(phi, v, cell, members, below, records, theta):  # type: ignore[no-untyped-def]
    """The exact score at a lattice point inside a box whose undecided records are `members`."""
    counts = below.copy()
    for i in members:
        value = 0.0
        for k in range(theta.size):
            value += phi[i, k] * theta[k]
        if v[i] <= value:
            counts[cell[i]] += 1
    return np.abs(2 * counts - records).sum()
