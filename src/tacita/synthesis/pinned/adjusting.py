"""Synthetic values and weights held to measured totals: only as much is changed as they ask for, and far out first.

Post-processing only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacita.synthesis.pinned.measuring import Pin

Floats = NDArray[np.float64]
Change = Callable[[float], Floats]

_FROM = (0.95, 0.9, 0.75, 0.5)  # of the values of one sign, by rank: those above may be stretched or drawn in
_MILD = (1 / 3, 3 / 2)  # powers that a tail may be bent by before more of it is
_ANY = (0.0, 4.0)
_FACTORS = (0.0, 1e3)
_HALVINGS = 50
_WEIGHED_FROM = 0.75  # of the values of one sign, by rank: weights of those above may change
_SLOPES = (-1.0, 1.0)  # by which power of the value
_MOST = 20.0  # times, by which a weight may change
_ROUNDS = 6
_SURELY = 2.0  # standard deviations of the noise: what is off by more, the model has wrong
_SURELY_KNOWN = 3.0  # the same where it is known by how much the model may err
_FEW = 3  # records at least that what lies above a clamp lies with
_EVENLY = 0.1  # of the clamp: as if each record were that much above it, so that none is left out
_TINY = 1e-300
_ROUNDS_WITHIN = 50


def wanted(
    pin: Pin, cell: int, adding: Floats, random: np.random.Generator | None, doubt: float | None = None
) -> float:
    """The total that records of a cell should have: between theirs and the measured one, as far as noise speaks for it.

    `doubt` is a standard deviation: by how much the records may err as far as is known. Where it is not, they differ
    from those collected by chance at least; they differ by more where the model errs. With `random` the total is
    drawn from what the noise leaves open.
    """
    held = pin.held(adding)
    off, noise = pin.totals[cell] - float(held.sum()), pin.spread**2
    known = by_chance(held) if doubt is None else doubt
    surely = _SURELY if doubt is None else _SURELY_KNOWN
    trust = max(known**2, off**2 - surely**2 * noise, _TINY)
    trust /= trust + noise
    drawn = 0.0 if random is None else float(random.standard_normal()) * pin.spread * trust**0.5
    return float(held.sum()) + trust * off + drawn


def by_chance(adding: Floats) -> float:
    """By how much (as a standard deviation) other records of the same kind add up to more or less."""
    return float(adding.std()) * float(np.sqrt(adding.size))


@dataclass(frozen=True, eq=False)
class Values:
    """A number of a synthetic file: those that are `free` may change, between the bounds."""

    values: Floats
    free: NDArray[np.bool_]
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Adding:
    """Values that are to add up to `total`, each times its weight and clamped as the measurement was.

    Of the two signs the one that adds more is changed.
    """

    pin: Pin
    number: Values
    total: float
    scales: bool = True
    """Whether all values may be scaled where bending is not enough."""
    known: float = 0.0
    """Up to this size the distribution is known: what lies beyond is bent before all else."""

    @cached_property
    def sign(self) -> float:
        return 1.0 if self.pin.upper >= -self.pin.lower else -1.0

    @cached_property
    def size(self) -> Floats:
        return np.asarray(self.sign * self.number.values)

    @cached_property
    def movable(self) -> NDArray[np.bool_]:
        return np.asarray(self.number.free & (self.size > 0))

    def start(self, share: float) -> float:
        """The size that this share of those that may change stays below."""
        return float(np.quantile(self.size[self.movable], share))

    def met(self, change: Change, added: Callable[[Floats], float], between: tuple[float, float]) -> Floats:
        """What a rising change makes of the records where they add up to the total, or come as near as they can."""
        low, high = narrowed(lambda at: added(change(at)) > self.sign * self.total, *between)
        return change((low + high) / 2)

    def bent(self, weights: Floats) -> Floats:
        """Values far out stretched or drawn in; nearer ones too where that is not enough."""
        if not self.movable.any():
            return self.number.values
        cap, target = self._cap(self.size, weights, self.sign), self.sign * self.total

        def added(sizes: Floats) -> float:
            return self._added(sizes, weights)

        starts = [self.start(share) for share in _FROM]
        bends = [self._bending(one, cap) for one in ([self.known] if self.known > starts[0] else []) + starts]
        for bend, powers in [*((one, _MILD) for one in bends), (bends[-1], _ANY)]:
            if added(bend(powers[0])) <= target <= added(bend(powers[1])):
                sizes = self.met(bend, added, powers)
                break
        else:
            ends = [bends[-1](power) for power in _ANY]
            nearest = ends[0] if added(ends[0]) > target else ends[1]
            sizes = self.met(self._scaling(nearest, cap), added, _FACTORS) if self.scales else nearest
        # What is clamped stays as it is; above the clamp, bending may have gone too far, and so may the other sign.
        capped = np.minimum(sizes, self._cap(sizes, weights, self.sign))
        capped = np.maximum(capped, -self._cap(-sizes, weights, -self.sign))
        return np.asarray(self.sign * np.where(self.number.free, capped, sizes))

    def reweighted(self, weights: Floats) -> Floats:
        """Weights of records far out raised or lowered, the further out the more."""
        if not self.movable.any():
            return weights
        start = self.start(_WEIGHED_FROM)
        ratio = np.log(np.maximum(self.size, start) / start)

        def added(some: Floats) -> float:
            return self._added(self.size, some)

        return self.met(lambda power: np.asarray(weights * np.exp(power * ratio)), added, _SLOPES)

    def lightened(self, weights: Floats) -> Floats:
        """Weights at which no record adds more, on either side of 0, than one is known to: `bent` by weights alone."""
        now = weights.copy()
        for sign in (self.sign, -self.sign):
            size = sign * self.number.values
            there = size > 0
            most = self._cap(size, weights, sign)[there] / size[there]
            now[there] = weights[there] * np.minimum(most, 1.0)
        return now

    def _bending(self, start: float, cap: Floats) -> Change:
        """Sizes beyond `start` raised to a power, as ratios to it; none beyond its cap."""
        far = self.movable & (self.size > start)
        ratio = np.log(self.size[far] / start)

        def bend(power: float) -> Floats:
            sizes = self.size.copy()
            sizes[far] = start * np.exp(np.minimum(power * ratio, 700.0))
            return np.asarray(np.where(self.movable, np.minimum(sizes, cap), sizes))

        return bend

    def _scaling(self, size: Floats, cap: Floats) -> Change:
        return lambda factor: np.asarray(np.where(self.movable, np.minimum(factor * size, cap), size))

    def _added(self, sizes: Floats, weights: Floats) -> float:
        return self.sign * float(self.pin.held(self.sign * sizes * weights).sum())

    def _cap(self, size: Floats, weights: Floats, sign: float) -> Floats:
        """Sizes at which no record adds more than one is known to, nor all more above the clamp than was seen there."""
        pin = self.pin
        clamp, most, beyond, bound = (
            (pin.upper, pin.most, pin.beyond, self.number.upper)
            if sign > 0
            else (-pin.lower, -pin.least, pin.short, -self.number.lower)
        )
        if not clamp and not beyond:  # of this sign nothing is known
            return np.full(size.size, max(bound, 0.0))
        level = _level(size * weights, clamp, most, beyond)
        return np.asarray(np.minimum(level / np.maximum(weights, _TINY), bound))


def with_beyond(number: Values, weights: Floats, pin: Pin, doubt: float, random: np.random.Generator | None) -> Floats:
    """Values whose parts above the clamps, of which nothing was added up, are as large as is expected; or drawn.

    `doubt` is the standard deviation of the logarithm of how large they are.
    """
    values = number.values
    for sign, clamp, expected in ((1.0, pin.upper, pin.beyond), (-1.0, -pin.lower, pin.short)):
        strayed = 0.0 if random is None else doubt * random.standard_normal() - doubt**2 / 2
        drawn = expected * float(np.exp(strayed))
        amounts = np.where(number.free, sign * values * weights, 0.0)
        top = amounts >= min(clamp, float(np.sort(amounts)[-_FEW:][0]))
        if clamp <= 0 or not (amounts[top] > 0).all():
            continue
        over = np.maximum(amounts[top] - clamp, 0.0) + _EVENLY * clamp
        moved = np.minimum(amounts[top], clamp) + over * (drawn / over.sum())
        values = values.copy()
        values[top] = np.clip(sign * moved / weights[top], number.lower, number.upper)
    return values


def _level(amounts: Floats, clamp: float, most: float, beyond: float) -> float:
    """What no record may add more than: all together have then no more above the clamp than was seen there."""
    if not np.isfinite(clamp):
        return clamp
    over, high = np.maximum(amounts - clamp, 0.0), max(most - clamp, 0.0)
    if np.minimum(over, high).sum() > beyond:
        _, high = narrowed(lambda at: bool(np.minimum(over, at).sum() > beyond), 0.0, high)
    return clamp + high


def narrowed(too_much: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """Between which two numbers, next to each other, it becomes too much."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if too_much(middle) else (middle, high)
    return low, high


def within(weights: Floats, total: float, bounds: tuple[float, float]) -> Floats:
    """Weights in the same proportions that add up to the total, but for those at their bounds.

    >>> within(np.array([1.0, 2.0, 97.0]), 60.0, (0.0, 30.0)).round(3).tolist()
    [10.0, 20.0, 30.0]
    """
    now = weights
    for _ in range(_ROUNDS_WITHIN):
        scaled = now * (total / max(float(now.sum()), _TINY))
        now = np.clip(scaled, *bounds)
        if np.array_equal(now, scaled):
            break
    return now


def hold(
    weights: Floats,
    bounds: tuple[float, float],
    numbers: Mapping[str, Values],
    population: Pin | None,
    pins: Mapping[str, Pin],
    random: np.random.Generator | None,
    cell: int = 0,
    *,
    values_stay: bool = False,
) -> tuple[Floats, dict[str, Floats]]:
    """Weights, within their bounds, and values that add up as measured.

    With `random` totals are drawn from what the noise leaves open. `values_stay` where the distribution of each number
    is known better than how it goes with the weight.

    Surveys choose large units with other chances than small ones. A model of few bins hardly knows that, while it knows
    the values themselves: so it is weights that change first.
    """
    size = None if population is None else wanted(population, cell, weights, random)

    def brought(now: Floats) -> Floats:
        if population is None or size is None:
            return now
        now = now * (max(size, 0.0) / max(float(population.held(now).sum()), _TINY))
        # Above the clamp nothing was added up: a tail of the model must not add more there than was seen.
        return np.asarray(np.minimum(now, _level(now, population.upper, population.most, population.beyond)))

    now = drawn = brought(weights)
    # In the order of the numbers, which what was stored does not keep: one total is brought about after the other.
    totals = {
        name: Adding(pins[name], numbers[name], wanted(pins[name], cell, numbers[name].values * drawn, random))
        for name in numbers
        if name in pins
    }
    for _ in range(_ROUNDS if population is not None else 0):
        for one in totals.values():
            now = np.clip(one.reweighted(now), drawn / _MOST, drawn * _MOST)
            now = one.lightened(now) if values_stay else now
        now = brought(now)
        now = within(now, float(now.sum()), bounds)
    if values_stay:
        return now, {}
    return now, {name: one.bent(now) for name, one in totals.items()}
