"""Noisy tables of counts by different columns of the same records, made to agree without their common cross.

A table splits into components: for every set of its columns the part that only those columns together explain. Noise of
equal variance puts uncorrelated noise of known variance into each component, so what several tables say about one of
them is joined by its precision. This is the least-squares estimate in closed form, and costs no more than the tables
themselves, however large the cross of all their columns would be. Post-processing only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Marginal:
    """A measured table: one axis of `values` for each of its columns, and the variance of every cell."""

    by: tuple[str, ...]
    values: Floats
    variance: float


def agree_marginals(tables: Sequence[Marginal]) -> list[Marginal]:
    """The same tables as they agree best, each with the variance of its cells afterwards.

    >>> one = Marginal(("sex",), np.array([10.0, 4.0]), 1.0)
    >>> two = Marginal(("sex", "age"), np.array([[3.0, 5.0], [1.0, 2.0]]), 1.0)
    >>> first, second = agree_marginals([one, two])
    >>> first.values.round(3).tolist(), second.values.sum(axis=1).round(3).tolist()
    ([9.333, 3.667], [9.333, 3.667])
    >>> round(first.variance, 3), round(second.variance, 3)
    (0.667, 0.667)
    """
    sizes = _sizes(tables)
    parts: dict[frozenset[str], tuple[Floats, float]] = {}
    for columns in dict.fromkeys(chain.from_iterable(_subsets(one.by) for one in tables)):
        shown = [one for one in tables if columns <= set(one.by)]
        noise = [one.variance * _rest(sizes, one.by, columns) for one in shown]
        precision = sum(1 / one for one in noise)
        order = sorted(columns)
        joined = sum(_component(one, columns, order) / each for one, each in zip(shown, noise, strict=True))
        parts[columns] = np.asarray(joined / precision), 1 / precision
    return [_put_together(one, parts, sizes) for one in tables]


def _sizes(tables: Sequence[Marginal]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for one in tables:
        if one.values.ndim != len(one.by) or len(set(one.by)) != len(one.by) or not 0 < one.variance < np.inf:
            raise UsageError("by: a table has one axis for each of its columns, and noise of a known variance")
        for name, size in zip(one.by, one.values.shape, strict=True):
            if sizes.setdefault(name, size) != size:
                raise UsageError(f"by: {name} has different levels in two tables; give it the same in all")
    return sizes


def _subsets(by: Sequence[str]) -> list[frozenset[str]]:
    return [frozenset(one) for size in range(len(by) + 1) for one in combinations(by, size)]


def _rest(sizes: dict[str, int], by: Sequence[str], columns: frozenset[str]) -> int:
    """How many cells of a table one cell of its sum over the other columns has."""
    return prod(sizes[name] for name in by if name not in columns)


def _component(table: Marginal, columns: frozenset[str], order: Sequence[str]) -> Floats:
    """The sum over all other columns, less what fewer columns explain; its axes in the given order."""
    values = table.values.sum(axis=tuple(at for at, name in enumerate(table.by) if name not in columns))
    left = [name for name in table.by if name in columns]
    for axis in range(values.ndim):
        values = values - values.mean(axis=axis, keepdims=True)
    return np.asarray(np.transpose(values, [left.index(name) for name in order]), dtype=np.float64)


def _put_together(
    table: Marginal, parts: dict[frozenset[str], tuple[Floats, float]], sizes: dict[str, int]
) -> Marginal:
    values, variance = np.zeros(table.values.shape), 0.0
    for columns in _subsets(table.by):
        part, noise = parts[columns]
        rest, order = _rest(sizes, table.by, columns), sorted(columns)
        own = np.transpose(part, [order.index(name) for name in table.by if name in columns])
        shape = [sizes[name] if name in columns else 1 for name in table.by]
        values = values + own.reshape(shape) / rest
        variance += noise * prod(1 - 1 / sizes[name] for name in columns) / rest**2
    return Marginal(table.by, values, variance)
