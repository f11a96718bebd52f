"""Arithmetic on confidential rows: for each record the same instructions, wherever it stands and whoever else is there.

Privacy is proved for cells, codes and clamps that depend on one record each. Fast libraries do not promise that. A
matrix product may round a row differently once another row is added, and a vectorised logarithm may treat the last
rows of an array otherwise than the first. So products are formed here from single operations, which IEEE 754 fixes, and
other functions by a compiled loop that calls one and the same scalar function for every row.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.compiled import vectorize

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def product(rows: Floats, matrix: Floats) -> Floats:
    """rows @ matrix.

    >>> product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    result = np.zeros((len(rows), matrix.shape[1]))
    for j in range(matrix.shape[1]):
        for k in range(matrix.shape[0]):
            result[:, j] += rows[:, k] * matrix[k, j]
    return result


def cells(rows: int, codes: Iterable[ArrayLike], sizes: Iterable[int]) -> Integers:
    """The number of each record's cell in a table of these sizes; the last code runs fastest.

    >>> cells(2, ([1, 0], [2, 1]), (2, 3)).tolist()
    [5, 1]
    """
    cell = np.zeros(rows, dtype=np.int64)
    for code, size in zip(codes, sizes, strict=True):
        cell *= size
        cell += np.asarray(code, dtype=np.int64)
    return cell


def sums(cell: Integers, values: Integers, cells: int) -> Integers:
    """The sum of whole numbers in each cell. A float would lose the last digits of a large sum, and which ones would
    depend on the other rows.

    >>> sums(np.array([0, 2, 0]), np.array([5, 6, 7]), 3).tolist()
    [12, 0, 6]
    """
    totals = np.zeros(cells, dtype=np.int64)
    np.add.at(totals, cell, values)
    return totals


def between(values: Floats, at: Floats, known: Floats) -> Floats:
    """Straight lines through the points (at, known), with `at` in order; level beyond the ends.

    >>> between(np.array([-1.0, 0.5, 9.0]), np.array([0.0, 2.0]), np.array([10.0, 30.0])).tolist()
    [10.0, 15.0, 30.0]
    """
    held = np.clip(values, at[0], at[-1])
    left = np.clip(np.searchsorted(at, held, side="right") - 1, 0, at.size - 2)
    width = at[left + 1] - at[left]
    share = np.where(width > 0, (held - at[left]) / np.where(width > 0, width, 1.0), 0.5)
    return np.asarray(known[left] + share * (known[left + 1] - known[left]))


def log(values: ArrayLike) -> Floats:
    """
    >>> log([1.0, math.e]).round(12).tolist()
    [0.0, 1.0]
    """
    return np.asarray(_log(np.asarray(values, dtype=np.float64)))


def log1p(values: ArrayLike) -> Floats:
    """log(1 + x)."""
    return np.asarray(_log1p(np.asarray(values, dtype=np.float64)))


def exp(values: ArrayLike) -> Floats:
    """
    >>> exp(np.zeros((1, 2))).tolist()
    [[1.0, 1.0]]
    """
    return np.asarray(_exp(np.asarray(values, dtype=np.float64)))


def arcsinh(values: ArrayLike) -> Floats:
    """
    >>> arcsinh(np.sinh([-2.0, 0.0, 3.0])).round(12).tolist()
    [-2.0, 0.0, 3.0]
    """
    return np.asarray(_arcsinh(np.asarray(values, dtype=np.float64)))


@vectorize(cache=True)
def _log(value):  # type: ignore[no-untyped-def]
    return math.log(value)


@vectorize(cache=True)
def _log1p(value):  # type: ignore[no-untyped-def]
    return math.log1p(value)


@vectorize(cache=True)
def _exp(value):  # type: ignore[no-untyped-def]
    return math.exp(value)


@vectorize(cache=True)
def _arcsinh(value):  # type: ignore[no-untyped-def]
    return math.asinh(value)
