"""From a few released quantiles to a whole distribution: smooth between, fitted tails beyond. Post-processing only.

Between quantiles the curve is monotone and cubic, so no lumps appear. Beyond the last one the tail continues the way
the released gaps grow: a tail whose gaps between the quantiles 1 − 1/2, 1 − 1/4, 1 − 1/8, … stay equal is exponential,
gaps that grow by a factor make a Pareto tail, gaps that halve end at an edge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Tail = Literal["fitted", "exponential", "pareto"]
Law = Tail | Literal["normal"]  # the last of normal scores alone, whose law is known

_STEEPEST = 0.7  # tails heavier than this have no variance to speak of; bounds cut them anyway
_SHORTEST = -1.5
_NEAR = 4
_STRAY = 16  # times as far as the median: in a Pareto tail without a mean a gap is as long as that
_USUAL = 0.25  # where little is known: a Pareto tail of index 4


@dataclass(frozen=True, eq=False)
class Curve:
    """The quantile function through (shares, values), with tails.

    `floor` is the value at share 0 where that is known, as for distances, which start at 0; then there is no lower
    tail. Values leave neither side of [lower, upper].

    >>> curve = Curve(np.array([0.25, 0.5, 0.75]), np.array([1.0, 2.0, 3.0]), lower=0.0, upper=10.0)
    >>> curve(np.array([0.25, 0.5, 0.75])).tolist(), bool(curve(np.array([0.999]))[0] > 3)
    ([1.0, 2.0, 3.0], True)
    """

    shares: Floats
    values: Floats
    lower: float
    upper: float
    floor: float | None = None
    tail: Law = "fitted"
    # Shares by which the tails are fitted, where they differ: files that are combined show how little a sample says.
    tail_shares: Floats | None = None
    # Few gaps say little of how they grow: the fit leans on a usual tail, and one that would leave the bounds
    # ends there, thinned out, instead of piling up.
    careful: bool = False
    # Times, by which the lower and the upper tail are longer than they are fitted: files that are combined show that a
    # fitted tail may be wrong.
    stretched: tuple[float, float] = (1.0, 1.0)

    def __call__(self, u: Floats) -> Floats:
        inside = np.clip(u, self._first, self.shares[-1])
        found = self._middle(self._stretch(inside))
        if self.tail == "normal":
            return np.asarray(np.clip(found + self._outside(u), self.lower, self.upper))
        above = u > self.shares[-1]
        left, room = (1 - u[above]) / (1 - self.shares[-1]), self.upper - self.values[-1]
        found[above] = self.values[-1] + self._beyond(left, self.stretched[1] * self._upper_gaps, room)
        if self.floor is None:
            below = u < self.shares[0]
            left, room = u[below] / self.shares[0], self.values[0] - self.lower
            found[below] = self.values[0] - self._beyond(left, self.stretched[0] * self._lower_gaps, room)
        return np.asarray(np.clip(found, self.lower, self.upper))

    def _outside(self, u: Floats) -> Floats:
        """How far beyond the outermost quantiles a normal law lies that goes through them and the median."""
        at, median = self._stretch(np.clip(u, 1e-12, 1 - 1e-12)), float(self._middle(0.0)) if self._has_median else None
        beyond = np.zeros(u.size)
        for end, sign in ((0, -1.0), (-1, 1.0)):
            last, value = float(self._stretch(self.shares[[end]])[0]), float(self.values[end])
            slope = 1.0 if median is None or not last else max((value - median) / last, 0.0)
            beyond += slope * sign * np.maximum(sign * (at - last), 0.0)
        return beyond

    @property
    def _has_median(self) -> bool:
        return bool(self.shares[0] < 0.5 < self.shares[-1])

    @property
    def _first(self) -> float:
        return float(self.shares[0]) if self.floor is None else 0.0

    def _stretch(self, u: Floats) -> Floats:
        """An exponential tail is a straight line on this axis, or that of a normal law where it is one."""
        if self.tail == "normal":
            from scipy.special import ndtri  # slow to load, and plans do without

            return np.asarray(ndtri(u))
        return np.asarray(-np.log1p(-u) if self.floor is not None else np.log(u) - np.log1p(-u))

    @cached_property
    def _middle(self) -> Any:
        shares, values = self.shares, self.values
        if self.floor is not None:
            shares, values = np.concatenate(([0.0], shares)), np.concatenate(([self.floor], values))
        if shares.size == 1:
            return lambda at: np.full(at.shape, values[0])
        with np.errstate(over="ignore"):  # values that differ by next to nothing: the slope there is 0
            from scipy.interpolate import PchipInterpolator  # slow to load, and only files need it

            return PchipInterpolator(self._stretch(shares), values)

    @cached_property
    def _upper_gaps(self) -> Floats:
        return self._gaps(1 - self._sample[::-1], self.values[::-1])

    @cached_property
    def _lower_gaps(self) -> Floats:
        return -self._gaps(self._sample, self.values)

    @property
    def _sample(self) -> Floats:
        return self.shares if self.tail_shares is None else self.tail_shares

    def _gaps(self, rest: Floats, values: Floats) -> Floats:
        """Gaps between the values at shares 2^k times the outermost, from the outside in."""
        # Rounded, not cut off: a share that was drawn anew lies near 1/2^k, and the fit must rest on as many gaps.
        wanted = rest[0] * 2.0 ** np.arange(0, 1 + max(1, round(math.log2(0.5 / rest[0]))))
        inner = wanted[wanted <= rest[-1] * (1 + 1e-9)]
        at = np.interp(inner, rest, values)
        if self.floor is not None and at.size < 2:
            at = np.array([values[0], self.floor])
        return np.asarray(at[:-1] - at[1:]) if at.size > 1 else np.zeros(1)

    def _beyond(self, left: Floats, gaps: Floats, room: float) -> Floats:
        """How far beyond the last quantile a value lies when only a share `left` of the tail is further out."""
        last = float(gaps[0])
        if last <= 0 or not left.size:
            return np.zeros(left.size)
        shape = self._shape(gaps)
        if self.careful:
            outside = _further(max(room, 0.0), last, shape)
            left = outside + left * (1 - outside)
        left = np.maximum(left, 1e-12)
        if abs(shape) < 1e-9:
            return np.asarray(last * -np.log2(left))
        return np.asarray(last * 2**shape * (left**-shape - 1) / (2**shape - 1))

    def _shape(self, gaps: Floats) -> float:
        """log2 of the factor by which gaps grow: 0 exponential, 1/index for a Pareto tail, −1 an even edge."""
        if self.tail == "exponential":
            return 0.0
        held = gaps[gaps > 0]
        if held.size < 2:
            return _USUAL if self.careful else 0.0
        if self.careful and held.size > _NEAR:
            # Where many gaps are known, the outer ones are firm, and say more of the tail than the middle does.
            return float(np.clip(np.log2(held[0] / held[_NEAR - 1]) / (_NEAR - 1), _SHORTEST, _STEEPEST))
        inward = np.arange(held.size)
        # Outer gaps rest on fewer records, hence more noise; inner ones say less about the tail.
        weights = 2.0 ** np.minimum(inward, 2)
        slope = -np.polyfit(inward, np.log2(held), 1, w=np.sqrt(weights))[0]
        if self.careful:
            slope = _USUAL + (slope - _USUAL) * (held.size - 1) / held.size
        least = 0.05 if self.tail == "pareto" else _SHORTEST
        return float(np.clip(slope, least, _STEEPEST))


def _further(room: float, last: float, shape: float) -> float:
    """The share of a tail that lies beyond `room`: the inverse of how far a share reaches."""
    if abs(shape) < 1e-9:
        return float(2.0 ** (-room / last))
    inside = 1 + room * (2**shape - 1) / (last * 2**shape)
    return float(inside ** (-1 / shape)) if inside > 0 else 0.0


def around_the_median(curve: Curve, step: float) -> Curve:
    """Quartiles as an exponential law of that median has them, which begins at 0 or at the bound next to it: nothing
    else is known of the number.

    >>> around_the_median(Curve(np.array([0.5]), np.array([-10.0]), -1e6, 1e6), 1.0).values.round(2).tolist()
    [-20.0, -10.0, -4.15]
    """
    median, begins = float(curve.values[0]), min(max(0.0, curve.lower), curve.upper)
    away = median - begins if abs(median - begins) > step else step if median >= begins < curve.upper else -step
    values = begins + away * np.array([math.log2(4 / 3), 1.0, 2.0])
    values = np.clip(np.sort(values), curve.lower, curve.upper)
    return replace(curve, shares=np.array([0.25, 0.5, 0.75]), values=values)


def without_strays(curve: Curve, step: float) -> Curve:
    """Without outer quantiles that fell into an empty stretch far out: no tail has gaps that grow so fast.

    Values that many records share leave short gaps beside long ones, so a gap is held against all that lies between it
    and the median.

    >>> shares = np.array([0.5, 0.75, 0.875, 0.9375])
    >>> without_strays(Curve(shares, np.array([1.0, 2.0, 3.5, 900.0]), 0.0, 1e6), 0.01).values.tolist()
    [1.0, 2.0, 3.5]
    """
    shares, values = curve.shares, curve.values
    away, gaps = np.abs(values - np.interp(0.5, shares, values)), np.maximum(np.diff(values), step)
    far = np.flatnonzero((shares[:-1] >= 0.75) & (gaps > _STRAY * away[:-1]) & (away[:-1] > step))
    near = np.flatnonzero((shares[1:] <= 0.25) & (gaps > _STRAY * away[1:]) & (away[1:] > step))
    kept = slice(near[-1] + 1 if near.size else 0, far[0] + 1 if far.size else shares.size)
    return replace(curve, shares=shares[kept], values=values[kept])
