"""From states back to values: what a synthetic file holds. Post-processing only.

Within a bin, values follow the released quantiles, smoothly between them and with a fitted tail beyond the last one,
and are rounded as often as values of that size are; round values that were counted are as usual as their tallies say.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.synthesis.file.bins import beside_masses, edge_of, smooth_curve
from tacita.synthesis.file.columns import Category, Column, Number, Shape
from tacita.synthesis.file.likely import Facts, foretold_counts, likeliest, with_ends
from tacita.synthesis.file.numbers import ROUND, digits_of, round_values
from tacita.synthesis.file.tails import with_tails
from tacita.synthesis.file.targets import nearest

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_STEEPEST = 30.0  # exponents
_CANDIDATES = 4_000  # values of a bin, at least, of which a file's are chosen
_RARE = 0.05  # records: what is expected less often is left to chance
_PUBLIC_SEED = 15


def units_of(column: Column, codes: Integers, random: np.random.Generator, leaning: Floats | None = None) -> Integers:
    """Values of these states in units of the last place; a missing one stands below all.

    Records that lean upwards have the higher ones of the values that are drawn in their state.
    """
    return codes.copy() if isinstance(column, Category) else Bins(column).units(codes, random, leaning)


def leaning_places(leaning: Floats, random: np.random.Generator) -> Floats:
    """Places between 0 and 1, drawn with a density in proportion to exp(leaning·place), beside the mean of all.

    >>> leaning_places(np.array([-50.0, 50.0]), np.random.default_rng(1)).round(1).tolist()
    [0.0, 1.0]
    """
    own, u = np.clip(leaning - leaning.mean(), -_STEEPEST, _STEEPEST), random.random(leaning.size)
    steep = np.where(np.abs(own) < 1e-6, 1e-6, own)
    return np.asarray(np.log1p(u * np.expm1(steep)) / steep)


def _evenly(count: int, random: np.random.Generator) -> Floats:
    """Places between 0 and 1, one in each of so many equal parts, in any order: chance would add noise of its own."""
    return np.asarray((random.permutation(count) + random.random(count)) / max(count, 1))


class Bins:
    """The bins of one number, with the curve through its released quantiles. With `doubt`, counts of values are drawn
    from what they may be, given their noise. `margin` is about how many records are in each state."""

    def __init__(self, column: Number, doubt: np.random.Generator | None = None, margin: Floats | None = None) -> None:
        self.column, self.shape = column, column.shape
        self.edge = edge_of(self.shape)
        self.listed: dict[int, float] = {}
        self.usual, self.factors = np.zeros(0, dtype=np.int64), np.zeros(0)
        self.candidates: dict[int, tuple[Integers, Floats]] = {}
        if self.shape.is_wide:
            self.curve = smooth_curve(self.shape, column.grid)
            self.habits = _Habits(self.shape, column.masses)
            if self.shape.tallies:
                self._weigh(doubt)
        elif self.shape.counts:
            counts, expected = foretold_counts(self.shape, doubt)
            values = np.array(self.shape.values, dtype=np.int64)
            if margin is not None:
                bins = np.searchsorted(np.array(column.cuts, dtype=np.int64), values, side="right")
                counts = with_ends(counts, bins, margin, self.shape.noise)
                noisy = np.array(self.shape.counts, dtype=np.float64)
                counts = with_tails(counts, expected, noisy, bins, margin, self.shape.noise, doubt)
            self.listed = dict(zip(self.shape.values, counts.tolist(), strict=True))

    def units(self, codes: Integers, random: np.random.Generator, leaning: Floats | None) -> Integers:
        """As `units_of`."""
        column = self.column
        units = np.full(codes.size, column.grid.first - 1, dtype=np.int64)
        for state in range(len(column.cuts) + 1):
            here = np.flatnonzero(codes == state)
            if here.size:
                units[here] = self.drawn(state, here.size, random)
                if leaning is not None:  # by where each would stand, while all together stay as the quantiles have them
                    units[here[np.argsort(leaning_places(leaning[here], random))]] = np.sort(units[here])
        for k, mass in enumerate(column.masses):
            units[codes == len(column.cuts) + 1 + k] = mass
        return units

    def _weigh(self, doubt: np.random.Generator | None) -> None:
        """How much more usual than habits let expect each round value is, as far as its tally tells."""
        random, grid, others = np.random.default_rng(_PUBLIC_SEED), self.column.grid, beside_masses(self.shape)
        round_ones = round_values(grid)
        held = np.zeros(round_ones.size)
        for state in range(len(self.column.cuts) + 1):
            first, last = self.column.ends(state)
            low, high = self._below(np.array([first, last + 1])).tolist()
            drawn = self._plain(state, _CANDIDATES, random)
            at = np.minimum(np.searchsorted(round_ones, drawn), round_ones.size - 1)
            seen = np.bincount(at[round_ones[at] == drawn], minlength=round_ones.size)
            held += seen * (max(high - low, 0.0) * max(others, 1.0) / _CANDIDATES)
        there = (held > _RARE) & ~np.isin(round_ones, self.column.masses)
        if there.any():
            tallies = np.array(self.shape.tallies, dtype=np.float64)[there]
            facts = Facts.of(tallies - held[there], held[there], np.zeros(tallies.size), self.shape.tally_noise)
            self.usual = round_ones[there]
            self.factors = np.maximum(held[there] + facts.likely(doubt), 0.0) / held[there]

    def drawn(self, state: int, count: int, random: np.random.Generator) -> Integers:
        if not self.shape.is_wide:
            return self._listed(*self.column.ends(state), count, random)
        if not self.usual.size:
            return self._plain(state, count, random)
        found, reached = self._candidates(state, count, random)
        chosen = np.searchsorted(reached, _evenly(count, random) * reached[-1], side="right")
        return np.asarray(found[np.minimum(chosen, found.size - 1)])

    def _candidates(self, state: int, count: int, random: np.random.Generator) -> tuple[Integers, Floats]:
        """Values of a bin in order, at least so many, with how usual all up to each are; drawn once for few records."""
        known = self.candidates.get(state)
        if known is None or known[0].size < count:
            found = np.sort(self._plain(state, max(count, _CANDIDATES), random))
            at = np.minimum(np.searchsorted(self.usual, found), self.usual.size - 1)
            reached = np.cumsum(np.where(self.usual[at] == found, self.factors[at], 1.0))
            if not reached[-1]:  # all are values that nobody seems to have
                reached = np.arange(1.0, found.size + 1)
            known = self.candidates[state] = found, reached
        return known

    def _plain(self, state: int, count: int, random: np.random.Generator) -> Integers:
        """Values of a bin by the curve and by habits."""
        first, last = self.column.ends(state)
        low, high = (float(one) for one in self._below(np.array([first, last + 1])))
        u = np.clip(low + (high - low) * _evenly(count, random), self.edge, 1 - self.edge)
        units = np.clip(np.floor(self.curve(u)), first, last).astype(np.int64)
        return self.habits.rounded(units, first, last, random)

    def _listed(self, first: int, last: int, count: int, random: np.random.Generator) -> Integers:
        """Values of a bin by their own counts."""
        values = np.arange(first, last + 1)
        weights = np.array([self.listed[one] for one in values.tolist()]) if self.shape.counts else np.ones(1)
        reached = np.cumsum(weights if weights.sum() > 0 else np.ones(values.size))
        at = np.searchsorted(reached, _evenly(count, random) * reached[-1], side="right")
        return np.asarray(values[np.minimum(at, values.size - 1)])

    def _below(self, units: Integers) -> Floats:
        """The share of values below these units."""
        grid = self.column.grid
        ends = np.concatenate(([grid.first], self.curve.values, [grid.last + 1]))
        return np.asarray(np.interp(units, ends, np.concatenate(([0.0], self.curve.shares, [1.0]))))


class _Habits:
    """How round amounts of so many digits are."""

    def __init__(self, shape: Shape, masses: tuple[int, ...]) -> None:
        self.reached, self.masses = np.zeros((0, ROUND.size)), np.array(masses, dtype=np.int64)
        if not shape.habits:
            return
        counts = np.array(shape.habits, dtype=np.float64)
        overall = nearest(counts.sum(axis=0), max(float(counts.sum()), 1.0))
        overall /= overall.sum()
        rows = []
        for row in counts:
            total = max(float(row.sum()), 1.0)
            likely = likeliest(row, overall * total, shape.noise)
            rows.append(np.cumsum(likely) / likely.sum())
        self.reached = np.array(rows)

    def rounded(self, units: Integers, first: int, last: int, random: np.random.Generator) -> Integers:
        """Each value as a multiple of what is drawn for it, or of less where the bin has no such multiple."""
        if not self.reached.size:
            return units
        habit = (_evenly(units.size, random)[:, None] >= self.reached[digits_of(units)]).sum(axis=1)
        habit, found = np.minimum(habit, ROUND.size - 1), units.copy()
        waiting = np.ones(units.size, dtype=np.bool_)
        for k in range(ROUND.size - 1, 0, -1):
            here = np.flatnonzero(waiting & (habit >= k))
            near = (units[here] + ROUND[k] // 2) // ROUND[k] * ROUND[k]
            fits = (near >= first) & (near <= last) & (near != 0) & ~np.isin(near, self.masses)
            found[here[fits]] = near[fits]
            waiting[here[fits]] = False
        return np.asarray(found)
