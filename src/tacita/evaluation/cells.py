"""Columns as cells, and the cross-tabulations that metrics need, without ever forming a large dense table.

A cell code is a level of a categorical column or a bin of a number. A cross-tabulation of several columns is one
integer key per row; where the product of the sizes would overflow, the keys met so far are renumbered. Nothing is
hashed to fewer bits than it has, so no two cells are ever confused.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.compiled import njit

Codes = NDArray[np.int32]
Numbers = NDArray[np.float64]

WORKERS = min(os.cpu_count() or 1, 4)
_DENSE = 1 << 22  # cells of a marginal that is counted in an array; larger ones are counted by key
_WIDEST = 1 << 62


@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct rows of a stacked file: how often each occurs in either part, and where it occurs first."""

    number: NDArray[np.int64]
    original: NDArray[np.int64]
    synthetic: NDArray[np.int64]
    representative: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """A stacked file (the first `first` rows are the original) with every column as codes below its size."""

    names: tuple[str, ...]
    codes: Codes
    sizes: tuple[int, ...]
    first: int

    @property
    def rows(self) -> int:
        return int(self.codes.shape[1])

    def key(self, columns: Sequence[int]) -> NDArray[np.int64]:
        """One integer per row that is equal exactly where all the named columns are."""
        key = np.zeros(self.rows, dtype=np.int64)
        width = 1
        for column in columns:
            if width * self.sizes[column] >= _WIDEST:
                key, distinct = pd.factorize(key)
                width = len(distinct)
            key *= self.sizes[column]
            key += self.codes[column]
            width *= self.sizes[column]
        return key

    def patterns(self, columns: Sequence[int] | None = None) -> Patterns:
        """Distinct combinations of these columns, or of all, in order of first appearance."""
        number, distinct = pd.factorize(self.key(range(len(self.names)) if columns is None else columns))
        count = len(distinct)
        representative = np.empty(count, dtype=np.int64)
        representative[number[::-1]] = np.arange(self.rows - 1, -1, -1)
        return Patterns(
            number=number,
            original=np.bincount(number[: self.first], minlength=count),
            synthetic=np.bincount(number[self.first :], minlength=count),
            representative=representative,
        )

    def total_variation(self, marginals: NDArray[np.int64]) -> Numbers:
        """Half the summed difference of shares in each marginal; a marginal is a row of column positions."""
        variation = np.zeros(len(marginals))
        size = np.array([np.prod([float(self.sizes[column]) for column in one]) for one in marginals])
        small = np.flatnonzero(size <= min(_DENSE, 4 * self.rows + 1024))
        sizes = np.array(self.sizes, dtype=np.int64)

        def count(part: NDArray[np.int64]) -> None:
            if len(part):
                table = np.zeros(int(size[part].max()), dtype=np.int64)
                variation[part] = _many(self.codes, sizes, marginals[part], self.first, table)

        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(count, [small[worker :: 4 * WORKERS] for worker in range(4 * WORKERS)]))
        for place in np.setdiff1d(np.arange(len(marginals)), small):
            variation[place] = self.distance(marginals[place]) / 2
        return variation

    def distance(self, columns: Sequence[int] | NDArray[np.int64] | None = None) -> float:
        """L1 distance between the two cross-tabulations of shares, over the cells that occur in either."""
        if columns is None:
            columns = range(len(self.names))
        counted = self.patterns([int(column) for column in columns])
        n, m = self.first, self.rows - self.first
        # Whole numbers until the last division: equal files have a distance of exactly zero.
        return int(np.abs(counted.original * m - counted.synthetic * n).sum()) / (n * m)


@njit(nogil=True, cache=True)
def _many(codes, sizes, marginals, first, table):  # type: ignore[no-untyped-def]
    rows = codes.shape[1]
    n = first
    m = rows - first
    out = np.zeros(marginals.shape[0])
    order = marginals.shape[1]
    for place in range(marginals.shape[0]):
        width = 1
        for step in range(order):
            width *= sizes[marginals[place, step]]
        table[:width] = 0
        a = marginals[place, 0]
        b = marginals[place, min(1, order - 1)]
        c = marginals[place, min(2, order - 1)]
        for row in range(rows):
            if order == 1:
                cell = np.int64(codes[a, row])
            elif order == 2:
                cell = np.int64(codes[a, row]) * sizes[b] + codes[b, row]
            elif order == 3:
                cell = (np.int64(codes[a, row]) * sizes[b] + codes[b, row]) * sizes[c] + codes[c, row]
            else:
                cell = np.int64(0)
                for step in range(order):
                    cell = cell * sizes[marginals[place, step]] + codes[marginals[place, step], row]
            table[cell] += m if row < first else -n
        total = 0.0
        for filled in range(width):
            total += abs(table[filled])
        out[place] = total / (2.0 * n * m)
    return out


def tenths(original: Numbers) -> Numbers:
    """Cut points at the nine inner deciles of the original's known values, equal ones once."""
    known = original[~np.isnan(original)]
    if not known.size:
        return np.zeros(0)
    return np.unique(np.quantile(known, np.arange(1, 10) / 10, method="inverted_cdf"))


def to_bins(values: Numbers, cuts: Numbers) -> tuple[Codes, int]:
    """Bin numbers: how many cut points lie strictly below the value; missing cells get a bin of their own.

    >>> to_bins(np.array([0.0, 1.0, 1.5, np.nan]), np.array([0.0, 1.0]))
    (array([0, 1, 2, 3], dtype=int32), 4)
    """
    codes = np.searchsorted(cuts, values, side="left").astype(np.int32)
    missing = np.isnan(values)
    if not missing.any():
        return codes, len(cuts) + 1
    codes[missing] = len(cuts) + 1
    return codes, len(cuts) + 2
