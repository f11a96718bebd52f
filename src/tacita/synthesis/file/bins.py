"""The states of a number, made of what was released of it. Public arithmetic."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from tacita.synthesis.file.budget import Budget
from tacita.synthesis.file.columns import FEW, Grid, Number, Shape
from tacita.synthesis.file.likely import likeliest, listed_counts
from tacita.synthesis.file.sizes import distribution_of, ladder, others_of
from tacita.synthesis.file.targets import Told
from tacita.synthesis.pinned.plain import Spread
from tacita.synthesis.quantile.curve import Curve, around_the_median, without_strays

Floats = NDArray[np.float64]

_FEWEST_BINS, MOST_BINS = 6, 24
_TOLERATED = 0.3  # of the records moved by noise in a table of two numbers: bins are as many as that allows
_TABLES_PER_COLUMN = 4
_FEW_SIGNED = 0.005  # of the values


def bins_for(records: int, columns: int, budget: Budget) -> int:
    """How many bins a number has in tables of two columns: as many as the budget carries."""
    noise = budget.typical(budget.total, _TABLES_PER_COLUMN * columns)
    return int(np.clip(sqrt(_TOLERATED * records / (0.8 * noise)), _FEWEST_BINS, MOST_BINS))


def number_of(name: str, grid: Grid, missing: bool, shape: Shape, bins: int, borders: tuple[int, ...] = ()) -> Number:
    """The column with its states; a bin also begins at each of the `borders`, where a rule begins or ends to apply."""
    if grid.size <= FEW:
        return Number(name, grid, missing, shape, tuple(range(grid.first + 1, grid.last + 1)), ())
    if not shape.is_wide:
        return Number(name, grid, missing, shape, tuple(sorted({*_filled(grid, shape, bins), *borders})), ())
    values, shares = curve_of(shape, grid)
    borders = (*borders, *_sign(values, shares))
    wanted = [k / bins for k in range(1, bins)]
    tail = 1 / (4 * bins)
    wanted += [1 - tail] if shares[-1] >= 1 - 2 * tail else []
    wanted += [tail] if shares[0] <= 2 * tail else []
    if shape.thresholds and shape.sizes:  # counted with least noise
        known = np.isin(values, shape.thresholds)
        values, shares = (values[known], shares[known]) if known.any() else (values, shares)
    cuts = {int(values[int(np.abs(shares - one).argmin())]) for one in wanted}
    within = {one for one in cuts if grid.first < one <= grid.last}  # a bin below the first value would hold none
    return Number(name, grid, missing, shape, tuple(sorted({*within, *borders})), shape.values)


def _sign(values: Floats, shares: Floats) -> tuple[int, ...]:
    """0 where there are values on both sides: no bin mixes gains and losses."""
    at = np.flatnonzero(values == 0)
    return (0,) if at.size and _FEW_SIGNED < shares[at[0]] < 1 - _FEW_SIGNED else ()


def curve_of(shape: Shape, grid: Grid) -> tuple[Floats, Floats]:
    """Thresholds and borders of sizes, and the share of values below each: what all counts make likeliest.

    Of shapes without sizes, thresholds, each once, as counted, as far as that is more than noise; outer ones that fell
    into an empty stretch far out are left aside, and where there is one alone, quartiles are those of an exponential
    law."""
    if shape.sizes:
        return distribution_of(shape, grid)
    nominal = np.diff(np.array([0.0, *(float(one) for one in shape.shares), 1.0]))
    counts = np.array(shape.between, dtype=np.float64)
    total = max(float(counts.sum()), 1.0)
    likely = likeliest(counts, nominal * total, shape.noise)
    reached = np.cumsum(likely)[:-1] / likely.sum()
    values, last = np.unique(np.array(shape.thresholds)[::-1], return_index=True)
    found = Curve(reached[::-1][last], values.astype(np.float64), float(grid.first), float(grid.last + 1))
    if len(shape.shares) == 1:
        middle = around_the_median(found, 1.0)
        values, last = np.unique(np.rint(middle.values), return_index=True)
        return values, middle.shares[last]
    kept = without_strays(found, 1.0)
    return kept.values, kept.shares


def told_by(column: Number, attribute: int) -> Told | None:
    """What the counts of single values, or between thresholds, say of the bins, where they lie in one each."""
    shape, states = column.shape, len(column.cuts) + 1
    if not shape.noise:
        return None
    starts, counts = np.array(shape.values, dtype=np.int64), np.array(shape.counts, dtype=np.float64)
    ends = starts
    noise, cuts = shape.noise, shape.thresholds or (ladder(column.grid) if shape.sizes else ())
    if cuts:
        starts, ends = (np.array([column.grid.first, *cuts]), np.array([*cuts, column.grid.last + 1]) - 1)
        counts = np.array(shape.between if shape.thresholds else shape.sizes[:-1], dtype=np.float64)
        noise = shape.noise if shape.thresholds else shape.size_noise
    there = starts <= ends  # between two equal thresholds is nothing
    first, last = (np.searchsorted(np.array(column.cuts), one[there], side="right") for one in (starts, ends))
    cells = np.bincount(first, minlength=states).astype(np.float64)
    cells[[k for a, b in zip(first.tolist(), last.tolist(), strict=True) if a < b for k in range(a, b + 1)]] = 0.0
    held, precision = np.zeros(column.size), np.zeros(column.size)
    held[:states] = np.bincount(first, counts[there], minlength=states)
    precision[:states] = np.where(cells > 0, 1 / (noise * np.maximum(cells, 1)), 0.0)
    return Told(attribute, held, precision)


def beside_masses(shape: Shape) -> float:
    """About how many records have a value beside point masses."""
    sums = [(float(sum(shape.between)), shape.noise * max(len(shape.between), 1))] if shape.between else []
    if shape.sizes:
        sums += [(float(sum(shape.sizes[:-1])), shape.size_noise * (len(shape.sizes) - 1)), others_of(shape)]
    return float(np.average([one for one, _ in sums], weights=[1 / max(noise, 1e-9) for _, noise in sums]))


def edge_of(shape: Shape) -> float:
    """Half a record lies beyond what can be drawn."""
    return 0.5 / max(shape.records, 1)


def smooth_curve(shape: Shape, grid: Grid) -> Curve:
    """The quantile function through the thresholds, with tails beyond them, in units."""
    edge = edge_of(shape)
    values, shares = curve_of(shape, grid)
    inside = (shares > edge) & (shares < 1 - edge)
    inside &= np.append(True, np.diff(shares) > 0)
    if not inside.any():  # of next to no records nothing is known but about where their middle is
        values, shares, inside = values[values.size // 2 :][:1], np.array([0.5]), np.array([True])
    return Curve(shares[inside], values[inside], float(grid.first), float(grid.last + 1))


def spread_of(grid: Grid, shape: Shape) -> Spread:
    """What was released of the distribution of a number, as values."""
    curve = smooth_curve(shape, grid)
    ends = grid.first / grid.parts, grid.last / grid.parts
    scaled = replace(curve, values=curve.values / grid.parts, lower=ends[0], upper=ends[1])
    free = min(max(beside_masses(shape), 1.0) / max(shape.records, 1), 1.0)
    cuts = np.array(shape.thresholds, dtype=np.float64) / grid.parts if shape.thresholds else scaled.values
    noise = sqrt(shape.noise if shape.thresholds else shape.size_noise)
    return Spread(scaled, free, 1 / grid.parts, ends, cuts, noise)


def _filled(grid: Grid, shape: Shape, bins: int) -> tuple[int, ...]:
    """Cuts between listed values: a bin is full with its share of the records."""
    cuts, held = [], 0.0
    counts = listed_counts(shape)
    full, last = float(counts.sum()) / bins, int(np.flatnonzero(counts)[-1]) if counts.any() else 0
    for value, here in zip(shape.values[: last + 1], counts.tolist(), strict=False):  # no bin is empty
        if value > grid.first and held > 0 and held + here / 2 > full:
            cuts.append(value)
            held = 0.0
        held += here
    return tuple(cuts)
