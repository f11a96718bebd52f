"""An exact draw from a censored posterior on a public lattice: no chain, whatever the number of records.

Proof: censored.md.

One factor of the model: a number around a mean of its cell plus a slope times another number, with one spread. Every
record costs a whole number between 0 and MOST, which falls from its log-likelihood; slope, spread and the means of all
cells are drawn with probability proportional to exp(−rate·Σ cost). Given slope and spread the cells are independent,
so the sum over all means is a product of sums, and the law can be drawn from exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.errors import TacitaError
from tacita.noise.choice import choose
from tacita.noise.entropy import Entropy, Request, Spare, Uniform, reserve
from tacita.noise.forcing import settles

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST = 4096  # the cost of a record that is censored
_FINE = 1024  # steps of the envelope per unit of log probability
_MARGIN = 2  # steps that cover the rounding of the envelope many times over
_GIVE_UP = 10_000


@dataclass(frozen=True, eq=False)
class Lattice:
    """Public values of a factor: means first + step·(0 … bins − 1), slopes, and spreads in rising order.

    A record's log-likelihood, relative to its largest at the smallest spread, counts with the exponent `alpha` and is
    censored at −`depth`, where it costs MOST.
    """

    first: float
    step: float
    bins: int
    slopes: tuple[float, ...]
    spreads: tuple[float, ...]
    alpha: float
    depth: float

    def means(self) -> Floats:
        return np.asarray(self.first + self.step * np.arange(self.bins), dtype=np.float64)

    def costs(self) -> Integers:
        """Cost by spread and by distance in steps between a record and the mean: public numbers."""
        away = self.step * np.arange(self.bins)
        spreads = np.array(self.spreads)[:, None]
        lost = self.alpha * ((away / spreads) ** 2 / 2 + np.log(spreads / self.spreads[0]))
        return np.asarray(np.minimum(np.rint(lost / self.depth * MOST), MOST).astype(np.int64))

    def places(self, value: Floats, given: Floats, slope: float) -> Integers:
        """The step at which each record lies, given the slope: a function of that record alone."""
        at = np.floor((value - slope * given - self.first) / self.step + 0.5)
        return np.clip(at, 0, self.bins - 1).astype(np.int64)


@dataclass(frozen=True)
class Point:
    """One draw of a factor."""

    slope: float
    spread: float
    means: tuple[float, ...]


def scores(counts: Integers, cost: Integers) -> Integers:
    """Σ cost of the records of each cell (rows of counts by step) for each mean."""
    costs = np.empty_like(counts)
    _scores(counts, cost, costs)
    return costs


@njit(cache=True, nogil=True)
def _scores(counts, cost, costs):  # type: ignore[no-untyped-def]
    cells, bins = counts.shape
    reach = 0
    while reach < bins and cost[reach] < MOST:
        reach += 1
    for c in range(cells):
        many = 0
        for b in range(bins):
            many += counts[c, b]
        for a in range(bins):
            costs[c, a] = many * MOST
        for b in range(bins):
            if counts[c, b] > 0:
                for a in range(max(0, b - reach + 1), min(bins, b + reach)):
                    costs[c, a] -= counts[c, b] * (MOST - cost[abs(a - b)])


@njit(cache=True, nogil=True)
def _log_weights(counts, costs, rate, weights):  # type: ignore[no-untyped-def]
    """log Π_cells Σ_means exp(−rate·score) for each spread, in double precision."""
    space = np.empty_like(counts)
    for s in range(costs.shape[0]):
        _scores(counts, costs[s], space)
        total = 0.0
        for c in range(counts.shape[0]):
            least = space[c].min()
            part = 0.0
            for a in range(counts.shape[1]):
                part += math.exp(-rate * (space[c, a] - least))
            total += math.log(part) - rate * least
        weights[s] = total


@settles("value", "given", "cell")
def draw_points(
    lattice: Lattice,
    value: Floats,
    given: Floats,
    cell: Integers,
    cells: int,
    rate: Fraction,
    draws: int,
    entropy: Entropy,
    label: str,
) -> list[Point]:
    """Independent draws with P(slope, spread, means) ∝ exp(−rate·Σ cost), exactly."""
    entropy.announce(Request(label, f"censored posterior rate={rate}", np.zeros(0), np.zeros(0)))
    spare = reserve(1024 + draws * (cells + 8), entropy)
    costs = lattice.costs()
    log_weights = np.empty((len(lattice.slopes), len(lattice.spreads)))
    for at, slope in enumerate(lattice.slopes):
        _log_weights(_counted(lattice, value, given, cell, cells, slope), costs, float(rate), log_weights[at])
    envelope = np.ceil(log_weights.ravel() * _FINE).astype(np.int64) + _MARGIN
    points = []
    for _ in range(draws):
        slope, spread, table = _accepted(
            envelope, lattice, costs, rate, spare, lambda s: _counted(lattice, value, given, cell, cells, s), label
        )
        ones = np.ones(lattice.bins, dtype=np.int64)
        means = lattice.means()[[choose(ones, row, rate, spare) for row in table]]
        points.append(Point(slope, spread, tuple(means.tolist())))
    return points


def _accepted(
    envelope: Integers, lattice: Lattice, costs: Integers, rate: Fraction, spare: Spare, counted: Any, label: str
) -> tuple[float, float, Integers]:
    """Slope and spread: proposed from a rounded-up envelope, kept in proportion to the exact weight."""
    ones = np.ones(envelope.size, dtype=np.int64)
    for _ in range(_GIVE_UP):
        at = choose(ones, envelope.max() - envelope, Fraction(1, _FINE), spare)
        slope, spread = divmod(at, len(lattice.spreads))
        table = scores(counted(lattice.slopes[slope]), costs[spread])
        share = _Share(table, rate, int(envelope[at]))
        if not Uniform(spare.take(), spare).at_least(share):
            return lattice.slopes[slope], lattice.spreads[spread], table
    raise TacitaError(f"{label}: no draw was accepted; what was reserved is spent")


class _Share:
    """exp(−e/_FINE)·Π_cells Σ_means exp(−rate·score), enclosed by a ball."""

    def __init__(self, table: Integers, rate: Fraction, envelope: int) -> None:
        self._rows = [np.unique(row, return_counts=True) for row in table]
        self._rate, self._envelope = fmpq(rate.numerator, rate.denominator), fmpq(envelope, _FINE)

    def __call__(self, precision: int) -> Any:
        with ctx.workprec(precision + 64):
            log = -arb(self._envelope)
            for values, counts in self._rows:
                least = int(values[0])
                terms = (
                    int(many) * (-arb(self._rate * (int(one) - least))).exp()
                    for one, many in zip(values, counts, strict=True)
                )
                log += sum(terms, arb(0)).log() - arb(self._rate * least)
            share = log.exp()
        if not share < 1:
            raise TacitaError("the envelope of an exact draw is too low; nothing was drawn")
        return share


def _counted(lattice: Lattice, value: Floats, given: Floats, cell: Integers, cells: int, slope: float) -> Integers:
    """Records by cell and step."""
    joined = cell * lattice.bins + lattice.places(value, given, slope)
    return np.bincount(joined, minlength=cells * lattice.bins).astype(np.int64).reshape(cells, lattice.bins)
