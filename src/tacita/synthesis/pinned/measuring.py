"""Totals of a number, weighted or not, measured directly: the only step here that sees records. Proof: pinned.md.

A model of a distribution hardly knows the few records on which a total hangs. What a record adds, its weight times its
value, is therefore clamped at a level that is bought from noisy counts of octaves, and added up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, log2, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita.data.cells import Amount
from tacita.data.gathered import Added, Columns
from tacita.data.schema import Schema
from tacita.mechanisms.table.clamp import WITHIN, clamp_from, lowered
from tacita.mechanisms.table.noise import FINEST, Budget, Reach, spread_of
from tacita.noise.entropy import Entropy

Floats = NDArray[np.float64]

_OCTAVES = Fraction(1, 4)  # of a total's budget, for where it is clamped
_ENOUGH = 20  # records, in scales of the noise of their counts
_DOUBTED = 0.5  # scales of noise: so many records may be in the octave above the clamp unseen
_MODELLED = 0.5  # of what is cut off is missed, as the model knows some of it


@dataclass(frozen=True)
class Pin:
    """Noisy sums of what records add, each cell of them, held between `lower` and `upper`.

    No record is known to add more than `most` or less than `least`, and all records together about `beyond` more than
    they are held to, and `short` less. `spread` is the standard deviation of the noise.
    """

    lower: float
    upper: float
    least: float
    most: float
    short: float
    beyond: float
    totals: tuple[float, ...]
    spread: float

    def held(self, amounts: Floats) -> Floats:
        return np.asarray(np.clip(amounts, self.lower, self.upper))

    def of_files(self, stands_for: float) -> Pin:
        """The same for files in which a record stands for so many of those measured, and adds as many times its own:
        it is clamped where so many of them are."""
        lower, upper, least, most = (stands_for * one for one in (self.lower, self.upper, self.least, self.most))
        return replace(self, lower=lower, upper=upper, least=least, most=most)


class End(NamedTuple):
    """On one side of 0: where amounts are clamped, what none is known to exceed, and about what all have above the
    clamp; all as distances from 0."""

    clamp: float
    most: float
    beyond: float


_NONE = End(0.0, 0.0, 0.0)


def spending(amount: Fraction, *, pure: bool) -> Budget:
    """ε, or ρ of zero-concentrated privacy."""
    return Budget(amount) if pure else Budget.of_rho(amount)


def worth_pinning(budget: Budget, *, replaced: bool) -> float:
    """With fewer records, those that matter most cannot be told from the noise, and the model knows more."""
    return _ENOUGH * budget.share(_OCTAVES).scale(Reach.of_one(1, 2 if replaced else 1))


def clamps_off(budget: Budget) -> float:
    """Standard deviation of the noise on a total of amounts of one sign, in clamps."""
    return sqrt(2) * ranks_off(budget)


def ranks_off(budget: Budget) -> float:
    """Scale of the noise on a total whose clamp is bought, in records at the clamp."""
    return budget.share(1 - _OCTAVES).scale(Reach.of_one(1, 1))


@dataclass(frozen=True, eq=False)
class Summing:
    """How many cells there are, and what one unit can change: it comes or goes, or it is replaced and stays in its
    cell."""

    cells: int
    replaced: bool

    def between(
        self, added: Added, grain: float, above: End, below: End, budget: Budget, entropy: Entropy, label: str
    ) -> Pin:
        """The totals of what records add, held between two ends that are public or released.

        Steps are such that one unit changes a total by FINEST of them: the noise has one law wherever the ends are.
        """
        furthest = above.clamp + below.clamp if self.replaced else max(above.clamp, below.clamp)
        size = max(furthest, grain) / FINEST
        low = -min(round(below.clamp / size), FINEST)
        high = FINEST + low if self.replaced else min(round(above.clamp / size), FINEST)
        reach = Reach.of_one(FINEST, 1)
        totals = budget.noisy(added.steps(size, low, high), reach, entropy, label)
        spread = sqrt(spread_of(budget.law(reach).describe())[0])
        ends = low * size, high * size, -below.most, above.most, below.beyond, above.beyond
        return Pin(*ends, tuple((totals * size).tolist()), spread * size)


@dataclass(frozen=True, eq=False)
class Pinning(Summing):
    """Totals whose clamps are bought."""

    schema: Schema

    def measure_all(
        self, columns: Columns, amounts: Mapping[str, Amount], each: Budget, entropy: Entropy
    ) -> dict[str, Pin]:
        """Those totals that can be told from the noise."""
        pins = {name: self.measure(columns, amount, each, entropy) for name, amount in amounts.items()}
        return {name: pin for name, pin in pins.items() if pin is not None}

    def measure(self, columns: Columns, amount: Amount, budget: Budget, entropy: Entropy) -> Pin | None:
        """The totals of an amount; None where no record can be told from the noise."""
        grain, added = amount.grain(self.schema), columns.added(amount.columns)
        above, below = self._ends(added, amount, grain, budget, entropy)
        if above is None and below is None:
            return None
        left = budget.share(1 - _OCTAVES)
        pin = self.between(added, grain, above or _NONE, below or _NONE, left, entropy, _label(amount))
        # Amounts of a sign of which no octave stands out add no more than the noise would hide, whatever a model says.
        if above is None and amount.bounds(self.schema)[1] > 0:
            return replace(pin, most=-pin.lower, beyond=pin.spread)
        if below is None and amount.bounds(self.schema)[0] < 0:
            return replace(pin, least=-pin.upper, short=pin.spread)
        return pin

    def measure_again(self, columns: Columns, amount: Amount, pin: Pin, budget: Budget, entropy: Entropy) -> Pin:
        """The totals of these cells, clamped as those of others were: all of the budget goes to them."""
        above, below = End(pin.upper, pin.most, pin.beyond), End(-pin.lower, -pin.least, pin.short)
        added, grain = columns.added(amount.columns), amount.grain(self.schema)
        return self.between(added, grain, above, below, budget, entropy, _label(amount))

    def _ends(
        self, added: Added, amount: Amount, grain: float, budget: Budget, entropy: Entropy
    ) -> tuple[End | None, ...]:
        """For amounts above and below 0."""
        bounds = amount.bounds(self.schema)
        count = max(floor(log2(max(abs(one) for one in (*bounds, grain)) / grain)) + 1, 1)
        bought, reach = budget.share(_OCTAVES), Reach.of_one(1, 2 if self.replaced else 1)
        noisy = bought.noisy(
            added.octaves(grain, count), reach, entropy, f"octaves of {' × '.join(amount.columns) or 'records'}"
        )
        scale, ranks = bought.scale(reach), ranks_off(budget)
        ends: list[End | None] = []
        for counts, bound in ((noisy[:count], bounds[1]), (noisy[count:], -bounds[0])):
            seen = counts.astype(np.float64)
            clamp = clamp_from(seen, 0, scale, ranks) if bound > 0 else None
            if clamp is None:
                ends.append(None)
                continue
            # Counts no larger than the noise are taken for noise: a clamp that is too high costs more than one too low.
            likely = _MODELLED * np.maximum(falling(seen) - scale, 0.0)
            balanced = lowered(likely, 0, clamp, ranks * sqrt(self.cells))
            upper, top = (min(grain * 2.0**one.exponent, bound) for one in (balanced, clamp))
            over = likely[balanced.exponent : clamp.exponent]
            over[:1] += _DOUBTED * scale
            ends.append(End(upper, top, _beyond(over, upper)))
        return tuple(ends)


def _label(amount: Amount) -> str:
    return f"totals of {' × '.join(amount.columns) or 'records'}"


def _beyond(counts: Floats, clamp: float) -> float:
    """What so many records of the octaves above a clamp add above it."""
    return clamp * float(counts @ (WITHIN * 2.0 ** np.arange(counts.size) - 1))


def falling(noisy: Floats) -> Floats:
    """Counts that do not rise again beyond the fullest octave: what does is pooled with those before it.

    >>> falling(np.array([1.0, 9.0, 2.0, 4.0, 0.0])).tolist()
    [1.0, 9.0, 3.0, 3.0, 0.0]
    """
    mode = int(noisy.argmax())
    return np.concatenate([noisy[:mode], -rising(-noisy[mode:])])


def rising(numbers: Floats) -> Floats:
    """The nearest numbers that do not fall: what does is pooled with those before it.

    >>> rising(np.array([1.0, 4.0, 2.0])).tolist()
    [1.0, 3.0, 3.0]
    """
    pools: list[tuple[float, int]] = []
    for one in numbers.tolist():
        mean, size = one, 1
        while pools and pools[-1][0] > mean:
            before, count = pools.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        pools.append((mean, size))
    return np.concatenate([np.full(size, mean) for mean, size in pools])
