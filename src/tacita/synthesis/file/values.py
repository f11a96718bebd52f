"""From states back to values: what a synthetic file holds. Post-processing only.

Within a bin, values follow the released quantiles, smoothly between them and with a fitted tail beyond the last one,
and are rounded as often as values of that size are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.synthesis.file.bins import edge_of, likeliest, listed_counts, smooth_curve
from tacita.synthesis.file.columns import Category, Column, Number, Shape
from tacita.synthesis.file.numbers import ROUND, digits_of
from tacita.synthesis.file.targets import nearest

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_STEEPEST = 30.0  # exponents


def units_of(column: Column, codes: Integers, random: np.random.Generator, leaning: Floats | None = None) -> Integers:
    """Values of these states in units of the last place; a missing one stands below all.

    Records that lean upwards have the higher ones of the values that are drawn in their state.
    """
    if isinstance(column, Category):
        return codes.copy()
    bins = _Bins(column)
    units = np.full(codes.size, column.grid.first - 1, dtype=np.int64)
    for state in range(len(column.cuts) + 1):
        here = np.flatnonzero(codes == state)
        if here.size:
            units[here] = bins.drawn(state, here.size, random)
            if leaning is not None:  # by where each would stand, while all together stay as the quantiles have them
                units[here[np.argsort(leaning_places(leaning[here], random))]] = np.sort(units[here])
    for k, mass in enumerate(column.masses):
        units[codes == len(column.cuts) + 1 + k] = mass
    return units


def leaning_places(leaning: Floats, random: np.random.Generator) -> Floats:
    """Places between 0 and 1, drawn with a density in proportion to exp(leaning·place), beside the mean of all.

    >>> leaning_places(np.array([-50.0, 50.0]), np.random.default_rng(1)).round(1).tolist()
    [0.0, 1.0]
    """
    own, u = np.clip(leaning - leaning.mean(), -_STEEPEST, _STEEPEST), random.random(leaning.size)
    steep = np.where(np.abs(own) < 1e-6, 1e-6, own)
    return np.asarray(np.log1p(u * np.expm1(steep)) / steep)


class _Bins:
    """The bins of one number, with the curve through its released quantiles."""

    def __init__(self, column: Number) -> None:
        self.column, self.shape, grid = column, column.shape, column.grid
        self.edge = edge_of(self.shape)
        if self.shape.thresholds:
            self.curve = smooth_curve(self.shape, grid)
            self.habits = _Habits(self.shape, column.masses)
        elif self.shape.counts:
            self.listed = dict(zip(self.shape.values, listed_counts(self.shape).tolist(), strict=True))

    def drawn(self, state: int, count: int, random: np.random.Generator) -> Integers:
        first, last = self.column.ends(state)
        if not self.shape.thresholds:
            return self._listed(first, last, count, random)
        low, high = (float(one) for one in self._below(np.array([first, last + 1])))
        u = np.clip(low + (high - low) * random.random(count), self.edge, 1 - self.edge)
        units = np.clip(np.floor(self.curve(u)), first, last).astype(np.int64)
        return self.habits.rounded(units, first, last, random)

    def _listed(self, first: int, last: int, count: int, random: np.random.Generator) -> Integers:
        """Values of a bin by their own counts."""
        values = np.arange(first, last + 1)
        weights = np.array([self.listed[one] for one in values.tolist()]) if self.shape.counts else np.ones(1)
        reached = np.cumsum(weights if weights.sum() > 0 else np.ones(values.size))
        at = np.searchsorted(reached, random.random(count) * reached[-1], side="right")
        return np.asarray(values[np.minimum(at, values.size - 1)])

    def _below(self, units: Integers) -> Floats:
        """The share of values below these units."""
        grid = self.column.grid
        ends = np.concatenate(([grid.first], self.curve.values, [grid.last + 1]))
        return np.asarray(np.interp(units, ends, np.concatenate(([0.0], self.curve.shares, [1.0]))))


class _Habits:
    """How round amounts of so many digits are."""

    def __init__(self, shape: Shape, masses: tuple[int, ...]) -> None:
        counts = np.array(shape.habits, dtype=np.float64)
        overall = nearest(counts.sum(axis=0), max(float(counts.sum()), 1.0))
        overall /= overall.sum()
        rows = []
        for row in counts:
            total = max(float(row.sum()), 1.0)
            likely = likeliest(row, overall * total, shape.noise)
            rows.append(np.cumsum(likely) / likely.sum())
        self.reached, self.masses = np.array(rows), np.array(masses, dtype=np.int64)

    def rounded(self, units: Integers, first: int, last: int, random: np.random.Generator) -> Integers:
        """Each value as a multiple of what is drawn for it, or of less where the bin has no such multiple."""
        habit = (random.random(units.size)[:, None] >= self.reached[digits_of(units)]).sum(axis=1)
        habit, found = np.minimum(habit, ROUND.size - 1), units.copy()
        waiting = np.ones(units.size, dtype=np.bool_)
        for k in range(ROUND.size - 1, 0, -1):
            here = np.flatnonzero(waiting & (habit >= k))
            near = (units[here] + ROUND[k] // 2) // ROUND[k] * ROUND[k]
            fits = (near >= first) & (near <= last) & (near != 0) & ~np.isin(near, self.masses)
            found[here[fits]] = near[fits]
            waiting[here[fits]] = False
        return np.asarray(found)
