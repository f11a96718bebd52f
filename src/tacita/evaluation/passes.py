"""Passes over the rows of a propensity model: log-odds, likelihood, gradient, cross-product.

Each pass takes the design block by block, so memory stays bounded however many rows there are, and shares the blocks
between a few threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.evaluation.cells import WORKERS, Numbers
from tacita.evaluation.design import Block, Design

_SPARSE = 0.4  # share of non-zero dense entries below which rows are multiplied entry by entry
_FAR = 35.0  # |log-odds| beyond which a propensity is 0 or 1 to the last bit that matters


class Passes:
    """Passes over the blocks of one design: log-odds, gradient, cross-product. Workers share nothing but the sum."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.value_of = np.array([group.value for group in design.groups], dtype=np.int64)

    def _sum(self, part: Callable[[int], list[NDArray[np.float64]]]) -> list[NDArray[np.float64]]:
        with ThreadPoolExecutor(WORKERS) as pool:
            first, *others = pool.map(part, range(WORKERS))
        for other in others:
            for held, more in zip(first, other, strict=True):
                held += more
        return first

    def gradient(self, residual: Numbers, *, squared: bool = False) -> Numbers:
        """Xᵀr; with the entries of X squared if asked."""

        def part(worker: int) -> list[NDArray[np.float64]]:
            slope = np.zeros(self.design.parameters)
            for block in self.design.blocks(worker):
                block = _squared(block) if squared else block
                here = residual[block.rows]
                _dot_dense(block.dense, here, slope[self.design.intercept :])
                _add_dummies(block.index, self.value_of, block.numbers, here, slope, True)
            return [slope]

        return self._sum(part)[0]

    def move(self, eta: Numbers, step: Numbers) -> tuple[Numbers, float, Numbers, Numbers]:
        """Xs, and at η + Xs the log-likelihood, the fitted values and the gradient, in one pass."""
        design = self.design
        direction, fitted = np.empty(design.rows), np.empty(design.rows)

        def part(worker: int) -> list[NDArray[np.float64]]:
            level, slope = np.zeros(1), np.zeros(design.parameters)
            for block in design.blocks(worker):
                rows = block.rows
                here = np.zeros(block.dense.shape[1])
                _add_dense(block.dense, step[design.intercept :], here)
                _add_dummies(block.index, self.value_of, block.numbers, step, here, False)
                direction[rows] = here
                gained, fitted[rows] = likelihood(eta[rows] + here, design.original[rows], design.total[rows])
                level += gained
                residual = design.original[rows] - design.total[rows] * fitted[rows]
                _dot_dense(block.dense, residual, slope[design.intercept :])
                _add_dummies(block.index, self.value_of, block.numbers, residual, slope, True)
            return [level, slope]

        level, slope = self._sum(part)
        return direction, float(level[0]), fitted, slope

    @cached_property
    def whole_gram(self) -> Numbers:
        """The lower triangle of XᵀNX with the counts of the rows; kept, because every fit starts from it."""
        return self.gram(self.design.total)

    def gram(self, weight: Numbers) -> Numbers:
        """The lower triangle of XᵀWX."""
        split, size = self.design.intercept, self.design.parameters

        def part(worker: int) -> list[NDArray[np.float64]]:
            sparse, cross = np.zeros((split, split)), np.zeros((split, size - split))
            dense = np.zeros((size - split, size - split))
            for block in self.design.blocks(worker):
                here = weight[block.rows]
                _cross_dummies(block.index, self.value_of, block.numbers, here, sparse)
                if np.count_nonzero(block.dense) < _SPARSE * block.dense.size:
                    by_row = np.ascontiguousarray(block.dense.T)
                    _cross_rows(block.index, self.value_of, block.numbers, here, by_row, cross, dense)
                else:
                    weighted = block.dense * here
                    _cross_dense(weighted, block.dense, dense)
                    by_row = np.ascontiguousarray(weighted.T)
                    _cross_mixed(block.index, self.value_of, block.numbers, by_row, cross)
            return [sparse, cross, dense]

        sparse, cross, dense = self._sum(part)
        out = np.zeros((size, size))
        out[:split, :split] = sparse
        out[split:, :split] = cross.T
        out[split:, split:] = dense
        return out


def _squared(block: Block) -> Block:
    return Block(block.index, block.numbers**2, block.dense**2, block.rows)


def likelihood(eta: Numbers, original: Numbers, total: Numbers) -> tuple[float, Numbers]:
    """Log-likelihood and fitted probabilities."""
    near = np.clip(eta, -_FAR, _FAR)
    odds = np.exp(-near)
    return float(np.sum(original * near - total * (near + np.log1p(odds)))), 1.0 / (1.0 + odds)


@njit(nogil=True, cache=True)
def _add_dummies(index, value_of, numbers, given, out, transposed):  # type: ignore[no-untyped-def]
    """Xβ from coefficients to rows; transposed, Xᵀr from rows to coefficients."""
    for s in range(index.shape[0]):
        q = value_of[s]
        for row in range(index.shape[1]):
            i = index[s, row]
            if i >= 0:
                entry = 1.0 if q < 0 else numbers[q, row]
                if transposed:
                    out[i] += given[row] * entry
                else:
                    out[row] += given[i] * entry


@njit(nogil=True, cache=True)
def _cross_dummies(index, value_of, numbers, weight, out):  # type: ignore[no-untyped-def]
    for s in range(index.shape[0]):
        for t in range(s + 1):
            qs, qt = value_of[s], value_of[t]
            for row in range(index.shape[1]):
                i, j = index[s, row], index[t, row]
                if i >= 0 and j >= 0:
                    w = weight[row]
                    if qs >= 0:
                        w *= numbers[qs, row]
                    if qt >= 0:
                        w *= numbers[qt, row]
                    out[i, j] += w


@njit(nogil=True, cache=True, fastmath=True)
def _cross_mixed(index, value_of, numbers, weighted, out):  # type: ignore[no-untyped-def]
    """Dummies times dense columns; `weighted` has a row per row, so that the inner loop is over neighbours."""
    for s in range(index.shape[0]):
        q = value_of[s]
        for row in range(index.shape[1]):
            i = index[s, row]
            if i >= 0:
                value = 1.0 if q < 0 else numbers[q, row]
                for column in range(weighted.shape[1]):
                    out[i, column] += weighted[row, column] * value


@njit(nogil=True, cache=True)
def _cross_rows(index, value_of, numbers, weight, by_row, mixed, dense):  # type: ignore[no-untyped-def]
    """Dummies and dense columns times dense columns, over the non-zero entries of each row."""
    held = np.empty(by_row.shape[1], dtype=np.int64)
    for row in range(by_row.shape[0]):
        count = 0
        for column in range(by_row.shape[1]):
            if by_row[row, column] != 0.0:
                held[count] = column
                count += 1
        for first in range(count):
            i = held[first]
            w = weight[row] * by_row[row, i]
            for second in range(first + 1):
                dense[i, held[second]] += w * by_row[row, held[second]]
        for s in range(index.shape[0]):
            i = index[s, row]
            if i >= 0:
                w = weight[row] if value_of[s] < 0 else weight[row] * numbers[value_of[s], row]
                for second in range(count):
                    mixed[i, held[second]] += w * by_row[row, held[second]]


# These three are plain loops and not calls of a BLAS: its threads would compete with the workers for the same cores.
@njit(nogil=True, cache=True, fastmath=True)
def _cross_dense(weighted, dense, out):  # type: ignore[no-untyped-def]
    """Lower triangle of (WX)Xᵀ, four columns at a time."""
    rows = dense.shape[1]
    for i in range(dense.shape[0]):
        j = 0
        while j + 3 <= i:
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for row in range(rows):
                w = weighted[i, row]
                a += w * dense[j, row]
                b += w * dense[j + 1, row]
                c += w * dense[j + 2, row]
                d += w * dense[j + 3, row]
            out[i, j] += a
            out[i, j + 1] += b
            out[i, j + 2] += c
            out[i, j + 3] += d
            j += 4
        while j <= i:
            a = 0.0
            for row in range(rows):
                a += weighted[i, row] * dense[j, row]
            out[i, j] += a
            j += 1


@njit(nogil=True, cache=True, fastmath=True)
def _add_dense(dense, beta, eta):  # type: ignore[no-untyped-def]
    for column in range(dense.shape[0]):
        slope = beta[column]
        if slope != 0.0:
            for row in range(dense.shape[1]):
                eta[row] += slope * dense[column, row]


@njit(nogil=True, cache=True, fastmath=True)
def _dot_dense(dense, residual, out):  # type: ignore[no-untyped-def]
    for column in range(dense.shape[0]):
        total = 0.0
        for row in range(dense.shape[1]):
            total += dense[column, row] * residual[row]
        out[column] += total
