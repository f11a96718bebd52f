"""From states back to values: what a synthetic file holds. Post-processing only.

Within a bin, values follow the released quantiles, smoothly between them and with a fitted tail beyond the last one;
frequent values that are too small for a state of their own have their share.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.synthesis.file.columns import Category, Column, Number
from tacita.synthesis.quantile.curve import Curve

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MASS = 0.9  # at most so much of a bin stands on frequent values


def written(column: Column, codes: Integers, random: np.random.Generator) -> pa.Array:
    """Published values of these states."""
    if isinstance(column, Category):
        return pa.array(column.kind.levels, type=pa.string()).take(pa.array(codes.astype(np.int32)))
    bins = _Bins(column)
    units = np.full(codes.size, column.grid.first, dtype=np.int64)
    for state in range(len(column.cuts) + 1):
        here = np.flatnonzero(codes == state)
        if here.size:
            units[here] = bins.drawn(state, here.size, random)
    for k, mass in enumerate(column.masses):
        units[codes == len(column.cuts) + 1 + k] = mass
    values: Any = units if column.grid.whole else units / column.grid.parts
    return pa.array(values, mask=codes == column.size - 1 if column.missing else None)


class _Bins:
    """The bins of one number, with the curve through its released quantiles."""

    def __init__(self, column: Number) -> None:
        self.column, self.shape, grid = column, column.shape, column.grid
        self.edge = 0.5 / max(self.shape.records, 1)  # half a record lies beyond what can be drawn
        counted = list(zip(self.shape.values, self.shape.counts, strict=True))
        self.frequent = {value: count for value, count in counted if value not in column.masses}
        self.rest = max(self.shape.records - sum(count for value, count in counted if value in column.masses), 1.0)
        if self.shape.thresholds:
            shares = np.array([float(one) for one in self.shape.shares])
            values, shares = _rising(np.array(self.shape.thresholds), shares)
            self.curve = Curve(shares, values, float(grid.first), float(grid.last + 1))

    def drawn(self, state: int, count: int, random: np.random.Generator) -> Integers:
        first, last = self.column.ends(state)
        if not self.shape.thresholds:
            return self._listed(first, last, count, random)
        low, high = (float(one) for one in self._below(np.array([first, last + 1])))
        u = np.clip(low + (high - low) * random.random(count), self.edge, 1 - self.edge)
        units = np.clip(np.floor(self.curve(u)), first, last).astype(np.int64)
        held = [(value, number) for value, number in self.frequent.items() if first <= value <= last and number > 0]
        if held:
            all_held = sum(number for _, number in held)
            share = np.array([number for _, number in held]) / max((high - low) * self.rest, all_held / _MASS)
            chosen = np.searchsorted(np.cumsum(share), random.random(count), side="right")
            stands = chosen < len(held)
            units[stands] = np.array([value for value, _ in held])[chosen[stands]]
        return np.asarray(units)

    def _listed(self, first: int, last: int, count: int, random: np.random.Generator) -> Integers:
        """Values of a bin by their own counts, or evenly where nothing was counted of them."""
        values = np.arange(first, last + 1)
        weights = np.array([max(self.frequent.get(one, 0), 0) for one in values.tolist()], dtype=np.float64)
        reached = np.cumsum(weights if weights.sum() > 0 else np.ones(values.size))
        at = np.searchsorted(reached, random.random(count) * reached[-1], side="right")
        return np.asarray(values[np.minimum(at, values.size - 1)])

    def _below(self, units: Integers) -> Floats:
        """The share of values below these units."""
        grid = self.column.grid
        ends = np.concatenate(([grid.first], self.curve.values, [grid.last + 1]))
        return np.asarray(np.interp(units, ends, np.concatenate(([0.0], self.curve.shares, [1.0]))))


def _rising(values: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Thresholds that coincide as one, with the middle of their shares."""
    different, place = np.unique(values, return_inverse=True)
    total, number = np.zeros(different.size), np.zeros(different.size)
    np.add.at(total, place, shares)
    np.add.at(number, place, 1)
    return different, total / number
