"""Measure one numeric variable: the only steps that see its confidential values. Proof: quantile.md.

All draws are exact and each level is paid once, because a record lies in one part of a level: the median plane, the
middle distance on either side of it, then halving after halving of the distances in units of that middle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.mechanisms.kng.line import Lattice, bisect, halves
from tacita.mechanisms.kng.plane import Axis, draw_plane
from tacita.noise.entropy import Entropy
from tacita.synthesis.quantile.curve import Curve
from tacita.synthesis.quantile.design import Design, anchor_weights, cell_of, simplex
from tacita.synthesis.quantile.numeric import Conditional, Marginal, Side
from tacita.synthesis.quantile.variables import Range

Floats = NDArray[np.float64]

# A distance is at most this many times the middle one; further out is clamped, and the tail fitted.
_FURTHEST = 4096.0
_BLOCK = 2  # directions per plane draw
# Of a normal law with standard deviation 1: its density at the median, the mean of a half, and the density of the
# logarithm of its distances at their middle.
_MEDIAN_DENSITY, _HALF_MEAN, _DISTANCE_DENSITY = 0.4, 0.8, 0.43


def fit_marginal(y: Floats, bounds: Range, epsilons: Sequence[Fraction], entropy: Entropy, label: str) -> Marginal:
    """Released quantiles of a variable: one ε per level, all private under adding or removing one record."""
    lattice = Lattice.spread(bounds.lower, bounds.upper)
    targets = halves(len(epsilons))
    found = bisect(np.sort(y), lattice, targets, epsilons, entropy, label)
    return Marginal(Curve(_floats(targets), found, bounds.lower, bounds.upper, tail=bounds.tail))


def fit_conditional(
    y: Floats,
    predictors: Floats,
    design: Design,
    bounds: Range,
    plane: Fraction,
    scale: Fraction,
    rest: Sequence[Fraction],
    entropy: Entropy,
    label: str,
    *,
    records: int = 0,
) -> Conditional:
    """The conditional model of a variable; costs plane + scale + Σ rest. `records` is their number as released."""
    coefficients = _plane(y, design.coordinates(predictors), design.cuts, bounds, plane, records, entropy, label)
    residual = y - _along(design.coordinates(predictors), coefficients)
    scales = design.scales(predictors)
    above, below = (
        _side(
            np.abs(residual[side]),
            scales[side],
            design.scale_cuts,
            bounds,
            scale,
            rest,
            records // 2,
            entropy,
            f"{label}, {name}",
        )
        for name, side in (("above", residual > 0), ("below", residual <= 0))
    )
    return Conditional(design, coefficients, above, below)


def _plane(
    y: Floats,
    z: Floats,
    cuts: Floats,
    bounds: Range,
    epsilon: Fraction,
    records: int,
    entropy: Entropy,
    label: str,
) -> Floats:
    """Median plane (constant, then one coefficient per direction), a block of directions at a time."""
    d = z.shape[1]
    blocks = [list(range(start, min(start + _BLOCK, d))) for start in range(0, d, _BLOCK)] or [[]]
    found = np.zeros(1 + d)
    left = y.copy()
    for number, block in enumerate(blocks):
        axes = [_anchor_axis(bounds, first=number == 0)] * (len(block) + 1)
        cell = cell_of(z[:, block], cuts[block])
        at_anchors = draw_plane(
            anchor_weights(z[:, block]),
            left,
            cell,
            2 ** len(block),
            axes,
            epsilon / len(blocks) / 2,
            entropy,
            f"{label}, median plane {number + 1}",
        )
        corners = np.column_stack([np.ones(len(block) + 1), simplex(len(block))])
        part = np.asarray(np.linalg.solve(corners, at_anchors), dtype=np.float64)
        if bounds.spread is not None:
            rank = _rank_error(epsilon / len(blocks), records, 2 ** len(block))
            part[1:] = _shrunk(part[1:], rank * bounds.spread / _MEDIAN_DENSITY / _HALF_MEAN)
        found[0] += part[0]
        found[[1 + k for k in block]] += part[1:]
        left -= _along(z[:, block], part)
    return found


def _anchor_axis(bounds: Range, *, first: bool) -> Axis:
    """Where the plane's value at an anchor may lie. Anchors may lie outside the records, and so may the value."""
    lower, upper = (bounds.lower, bounds.upper) if first else (0.0, 0.0)
    centre = min(max(0.0, lower), upper)
    return Axis.between(lower - bounds.width, upper + bounds.width, unit=bounds.width / 2**14, centre=centre)


def _rank_error(epsilon: Fraction, records: int, cells: int) -> float:
    """Standard deviation of a slope in shares of the records of a cell: each of the cells errs by √2/ε records."""
    return math.sqrt(2) / float(epsilon) * math.sqrt(cells) / max(records, 1)


def _shrunk(slopes: Floats, error: float) -> Floats:
    """Slopes as far as they are more than noise (James and Stein)."""
    size = sum(one * one for one in slopes.tolist())
    return slopes * max(0.0, 1 - slopes.size * error**2 / size) if size else slopes


def _side(
    distance: Floats,
    scales: Floats,
    cuts: Floats,
    bounds: Range,
    scale: Fraction,
    rest: Sequence[Fraction],
    records: int,
    entropy: Entropy,
    label: str,
) -> Side:
    """The middle distance as exp(a + b·z), then the shape of distances in units of it."""
    d = scales.shape[1]
    smallest = bounds.width * 2.0**-30
    axes = [Axis.between(math.log(smallest), math.log(bounds.width), unit=1e6, centre=0.0)]
    axes += [Axis.between(-3.0, 3.0, unit=0.02, centre=0.0)] * d
    features = np.ascontiguousarray(np.column_stack([np.ones(distance.size), scales]))
    found = draw_plane(
        features,
        rowwise.log(np.maximum(distance, smallest)),
        cell_of(scales, cuts),
        2**d,
        axes,
        scale / 2,
        entropy,
        f"{label}, middle distance",
    )
    if bounds.spread is not None:
        found[1:] = _shrunk(found[1:], _rank_error(scale, records, 2**d) / _DISTANCE_DENSITY)
    unit = rowwise.exp(_along(scales, found))
    shape = np.sort(np.minimum(distance / unit, _FURTHEST))
    cut = int(np.searchsorted(shape, 1.0))
    near, far = Lattice(0.0, 1.0, unit=1.0, centre=0.0), Lattice(1.0, _FURTHEST, unit=1.0, centre=1.0)
    middles = halves(len(rest))
    inner = bisect(shape[:cut], near, middles, rest, entropy, f"{label}, inner")
    outer = bisect(shape[cut:], far, middles, rest, entropy, f"{label}, outer")
    targets, values = halves(len(rest) + 1), np.concatenate([inner, [1.0], outer])
    return Side(found, Curve(_floats(targets), values, 0.0, _FURTHEST * 16, floor=0.0, tail=bounds.tail))


def _along(z: Floats, coefficients: Floats) -> Floats:
    """A plane's value at each record, by operations on that record alone."""
    return np.asarray(coefficients[0] + rowwise.product(z, coefficients[1:, None])[:, 0])


def _floats(shares: Sequence[Fraction]) -> Floats:
    return np.array([float(one) for one in shares])
