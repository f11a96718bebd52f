"""Measure a number by itself, and its rank with the numbers before it. Proof: quantile.md.

Records at a few public values are counted first. Where they are many, that value is a point mass, and the quantiles are
those of the other records. Ranks are seen through tables of two numbers in classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.gathered import AddedRows
from tacita.mechanisms.kng.line import FALL, Lattice, bisect, halves
from tacita.mechanisms.table.noise import Budget, Reach
from tacita.noise.discrete import add_discrete_laplace
from tacita.noise.entropy import Entropy
from tacita.synthesis.pinned.measuring import End, Pin, Summing
from tacita.synthesis.quantile.budget import own_targets
from tacita.synthesis.quantile.curve import Curve, Tail, around_the_median, without_strays
from tacita.synthesis.quantile.numeric import Noise
from tacita.synthesis.quantile.octaves import Octaves
from tacita.synthesis.quantile.own import Own
from tacita.synthesis.quantile.ranks import SIGNS, Ranks, classes, released_moments, score_cuts
from tacita.synthesis.quantile.variables import Column

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# A count is a point mass if the noise would give it, without one, in less than one of 100 numbers, and if it is large
# enough to stand in the way of quantiles.
_CLEAR, _LARGE = 6, 0.03
FAR = 4.0  # more, where a bound is far from all other values: a mistake costs the mean
SEEN_BEFORE = 2  # instead of 6: a second count of what the first found
_FAINT = 100.0  # noise beside what is open: so much says nothing
_GRAIN = 2.0**-20  # of a record: no product of shares is told apart more finely


def look(
    spread: Floats, column: Column, tail: Tail, epsilon: Fraction, records: int, entropy: Entropy, label: str
) -> Own:
    """Seven quantiles of a number whose files will have what regressions draw."""
    levels = (epsilon / 3,) * 3
    curve = _curve(spread, column, tail, halves(3), levels, entropy, label)
    return Own(column, curve, _noise(levels, records), ranked=False, scored=False)


def masses_of(
    values: Floats,
    column: Column,
    epsilon: Fraction,
    records: int,
    entropy: Entropy,
    label: str,
    clear: float = _CLEAR,
) -> tuple[tuple[float, float], ...]:
    """Point masses among a few public values, and their shares of the records."""
    likely = candidates(column)
    counts = np.array([np.count_nonzero(values == one) for one in likely], dtype=np.int64)
    counted = add_discrete_laplace(counts, 1 / epsilon, entropy, label).tolist()
    return shown_masses(likely, counted, epsilon, records, clear)


def shown_masses(
    likely: Sequence[float],
    counted: Sequence[float],
    epsilon: Fraction,
    records: int,
    clear: float = _CLEAR,
    further: float = 0.0,
) -> tuple[tuple[float, float], ...]:
    """Those values that many records have by these noisy counts, and their shares. A bound needs so much `further`."""
    shown = [
        (value, one)
        for value, one in zip(likely, counted, strict=True)
        if one * float(epsilon) > (clear if value in (0.0, 1.0) else clear + further)
    ]
    return held_to_one(tuple((value, one / max(records, 1)) for value, one in shown if one > _LARGE * records))


def count_octaves(
    spread: Floats,
    values: Floats,
    likely: tuple[float, ...],
    octaves: Octaves,
    epsilon: Fraction,
    entropy: Entropy,
    label: str,
) -> tuple[Floats, Floats]:
    """Records at each of the `likely` values, and the others by their octave. A record is in one of all."""
    cell = octaves.place(spread) + len(likely)
    for place, value in enumerate(likely):
        cell[values == value] = place
    counts = np.bincount(cell, minlength=len(likely) + octaves.parts).astype(np.int64)
    noisy = add_discrete_laplace(counts, 1 / epsilon, entropy, label).astype(np.float64)
    return noisy[: len(likely)], noisy[len(likely) :]


def candidates(column: Column) -> tuple[float, ...]:
    """Values that records often share: none, one, and the bounds of the schema."""
    lower, upper = column.bounds
    return tuple(sorted({lower, upper, *(one for one in (0.0, 1.0) if lower < one < upper)}))


def held_to_one(masses: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    """Shares that leave at least a thousandth of the records to other values."""
    over = max(sum(share for _, share in masses) / 0.999, 1.0)
    return tuple((value, share / over) for value, share in masses)


def quantiles(
    spread: Floats, column: Column, tail: Tail, epsilon: Fraction, records: int, entropy: Entropy, label: str
) -> tuple[Curve, Noise]:
    """As many quantiles as the records can carry."""
    targets, levels = own_targets(epsilon, records)
    curve = _curve(spread, column, tail, targets, levels, entropy, label)
    curve = around_the_median(curve, column.step) if len(targets) == 1 else without_strays(curve, column.step)
    return curve, _noise(levels, records)


def _curve(
    spread: Floats,
    column: Column,
    tail: Tail,
    targets: Sequence[Fraction],
    epsilons: Sequence[Fraction],
    entropy: Entropy,
    label: str,
) -> Curve:
    lower, upper = column.bounds[0], column.bounds[1] + column.step
    # Amounts are small beside wide bounds: places are spaced by ratio from small ones on.
    unit, centre = column.step * ((upper - lower) / column.step) ** (1 / 3), min(max(0.0, lower), upper)
    lattice = Lattice(lower, upper, unit=unit, centre=centre)
    if len(targets) == 1:  # of few records: their middle is near the centre unless they say otherwise
        lattice = Lattice(lower, upper, unit=column.step, centre=centre, fall=FALL)
    thresholds = bisect(np.sort(spread), lattice, targets, epsilons, entropy, label)
    return Curve(np.array([float(one) for one in targets]), thresholds, lower, upper, tail=tail, careful=True)


def measure_total(
    values: Floats, own: Own, epsilon: Fraction, records: int, stays: bool, entropy: Entropy, label: str
) -> Pin:
    """The total of all values, clamped where few are further out by the released distribution.

    ε is that of a record added or removed. One that is replaced and stays in its group costs twice that, as in every
    step, but changes a sum only by the length between the clamps.
    """
    budget, (above, below) = _ends_of(own, epsilon, records, stays)
    return Summing(1, stays).between(
        AddedRows(values), own.column.step, above, below, budget, entropy, f"{label}, total"
    )


def noise_of_total(own: Own, epsilon: Fraction, records: int, stays: bool) -> float:
    """The noise of a total for what its quantiles leave open of it. Released numbers alone."""
    budget, (above, below) = _ends_of(own, epsilon, records, stays)
    length = above.clamp + below.clamp if stays else max(above.clamp, below.clamp)
    noise = sqrt(2) * budget.scale(Reach.of_one(1, 1)) * length
    return noise / max(own.unsure(-below.clamp, above.clamp, max(records, 1)), noise / _FAINT)


def _ends_of(own: Own, epsilon: Fraction, records: int, stays: bool) -> tuple[Budget, tuple[End, End]]:
    budget = Budget(2 * epsilon if stays else epsilon)
    return budget, own.spread.ends(budget.scale(Reach.of_one(1, 1)), max(records, 1))


def _noise(levels: Sequence[Fraction], records: int) -> Noise:
    return Noise(float(records), 0.0, 0.0, tuple(float(one) for one in levels))


def measure_ranks(
    response: Floats,
    predictors: Floats,
    released: Floats,
    scored: Sequence[bool],
    above: float,
    epsilon: Fraction,
    records: int,
    stays: bool,
    entropy: Entropy,
    labels: Sequence[str],
) -> Ranks:
    """One table of classes of scores for each predictor; they share ε evenly. `records` is their number as released,
    and `above` the share of them whose response is above its middle."""
    each = epsilon / len(labels)
    size = classes(records, each)
    cuts = np.quantile(released, np.arange(1, size) / size, axis=0)
    own = np.searchsorted(score_cuts(size), response, side="left")
    tables, moved = [], []
    for k, label in enumerate(labels):
        theirs = np.searchsorted(cuts[:, k], predictors[:, k], side="left")
        if size == 2:
            halves = above, float((released[:, k] > cuts[0, k]).mean())
            four, scale = _four(own, theirs, halves, each, max(records, 1), stays, entropy, f"{label}, product")
            tables.append(four)
            moved.append(scale)
            continue
        cell = rowwise.cells(len(own), (own, theirs), (size, size))
        counts = np.bincount(cell, minlength=size * size).astype(np.int64).reshape(size, size)
        tables.append(add_discrete_laplace(counts, 1 / each, entropy, label).astype(np.float64))
    centre, covariance = released_moments(released)
    return Ranks(np.array(tables), float(each), centre, covariance, tuple(scored), tuple(moved))


def _four(
    own: Integers,
    theirs: Integers,
    above: tuple[float, float],
    epsilon: Fraction,
    records: int,
    stays: bool,
    entropy: Entropy,
    label: str,
) -> tuple[Floats, float]:
    """A table of four, from what records have above the middle of both more than if neither told of the other.

    The shares above the middles are known well enough: what they are off by counts only as the product of both errors.
    So one number is measured instead of four, and with a quarter of the reach.
    """
    (p, q), (a, b) = above, (np.array([0.0, 1.0]) - one for one in above)
    products = np.outer(a, b)
    added = products[own, theirs]
    up, down = (End(float(one), float(one), 0.0) for one in (max(products.max(), 0.0), max(-products.min(), 0.0)))
    budget = Budget(2 * epsilon if stays else epsilon)
    pin = Summing(1, stays).between(AddedRows(added), _GRAIN, up, down, budget, entropy, label)
    expected = records * np.outer([1 - p, p], [1 - q, q])
    return expected + pin.totals[0] * SIGNS, pin.spread / sqrt(2)
