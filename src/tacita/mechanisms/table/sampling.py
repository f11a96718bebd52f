"""What a survey's margins need to know of its sample: how far estimates would stray if another one had been drawn.

Measured of the confidential rows with a share of the budget, beside the table itself. Without sampling units every
record is one, and squares of what records add to an estimate are summed; with them, squares of what units add.
Strata are given no credit, so the variance leans to the safe side. Proof: table.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.cells import Amount, Cells, Steps, cell_value, counted, octaves, totals, unit_totals
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.mechanisms.table.clamp import clamp_from
from tacita.mechanisms.table.measuring import BOUGHT, Ask, Facts, Noisy, label_of
from tacita.mechanisms.table.noise import Reach
from tacita.noise.entropy import Entropy

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

SAMPLING = Fraction(1, 5)  # share of a table's budget that buys the sampling variance
_RECORDS = Fraction(1, 10)  # of that, for the size of the sample
_STEPS = 1 << 12  # of what a record adds, up to its clamp, or fewer
_UNIT_STEPS = 1 << 10
_UNIT_PARTS = {"distance": Fraction(1, 4), "units": Fraction(1, 4), "sample": Fraction(1, 8), "squares": Fraction(3, 8)}
_OCTAVES = 24  # below the clamp of the numerator, in which residuals are looked for
_FAR = 8  # a unit's sum is clamped at so many times the mean size of such sums
_FURTHEST = 64  # and at so many times the clamp of a record
_OWN = 256  # tables of more cells take the ratio of all cells together


@dataclass(frozen=True)
class Residual:
    """above − ratio · below of a record, with the released ratio of its cell: what it adds to the error of a ratio."""

    above: Amount
    below: Amount
    by: tuple[str, ...]
    ratios: tuple[float, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.by, *self.above.columns, *self.below.columns)))

    def of(self, table: Any, schema: Schema) -> Any:
        ratio = cell_value(table, schema, self.by, self.ratios)
        return self.above.of(table, schema) - ratio * self.below.of(table, schema)


def residual(above: Amount, below: Amount, by: tuple[str, ...], noisy: Noisy, facts: Facts) -> Residual:
    """Of ratios that have been measured; where a denominator is not above 0, the ratio of all cells."""
    sizes = facts["above"]["step"], facts["below"]["step"]
    over, under = noisy["above"], noisy["below"]
    everywhere = _ratio(int(over.sum(dtype=np.int64)), int(under.sum(dtype=np.int64)), *sizes)
    if len(over) > _OWN:
        return Residual(above, below, (), (everywhere,))
    own = (
        _ratio(one, two, *sizes) if two > 0 else everywhere
        for one, two in zip(over.tolist(), under.tolist(), strict=True)
    )
    return Residual(above, below, by, tuple(own))


def _ratio(over: int, under: int, size: float, other: float) -> float:
    return over * size / (under * other) if under > 0 else 0.0


def spread(
    data: Confidential, ask: Ask, amount: Amount | Residual, furthest: float, units: tuple[str, ...], entropy: Entropy
) -> tuple[Noisy, Facts]:
    """Sums of squares by cell of what records (or sampling units) add, up to `furthest` for a record either way.

    Residuals are often much smaller than what they are residuals of, so their clamp is bought anew."""
    if isinstance(amount, Residual):
        furthest, ask = _residual_clamp(data, ask, amount, furthest, entropy)
    if units:
        return _of_units(data, ask, amount, furthest, units, entropy)
    most = steps_of(ask, units)
    size = furthest / most
    steps = Steps(0.0, size, -most, most)
    added = totals(data, ask.cells, {"squares": (amount, steps, 2)})["squares"]
    part, rest = ask.priced(1 - _RECORDS), ask.priced(_RECORDS)
    reach = ask.reach(most * most)
    squares = part.budget.noisy(added, reach, entropy, label_of("squares of a survey", ask))
    number = rest.budget.noisy(counted(data, Cells((), {})), _ONE, entropy, "size of a sample")
    return {"squares": squares}, {
        "sampling": {
            "step": size,
            "law": part.budget.law(reach).describe(),
            "sample": int(number[0]),
            "sample_law": rest.budget.law(_ONE).describe(),
        }
    }


def steps_of(ask: Ask, units: tuple[str, ...]) -> int:
    """In how many steps, up to its clamp, what a record adds is counted: as many as there is noise for, however far
    units' sums will be clamped. Public arithmetic."""
    if units:
        paid = ask.priced(_UNIT_PARTS["squares"]).budget
        return paid.finest(_UNIT_STEPS, lambda one: squares_reach(_FURTHEST, one, ask.records))
    return ask.priced(1 - _RECORDS).budget.finest(_STEPS, lambda one: ask.reach(one * one))


def _residual_clamp(
    data: Confidential, ask: Ask, amount: Residual, furthest: float, entropy: Entropy
) -> tuple[float, Ask]:
    bought, rest = ask.priced(BOUGHT), ask.priced(1 - BOUGHT)
    highest = ceil(log2(furthest))
    lowest, reach = highest - _OCTAVES, ask.reach(1)
    there = octaves(data, replace(ask.cells, by=()), amount, lowest, highest)
    noisy = bought.budget.noisy(there, reach, entropy, "octaves of residuals")
    scale, square_scale = (one.budget.scale(reach) for one in (bought, rest))
    clamped = clamp_from(noisy.astype(np.float64), lowest, scale, square_scale)
    return furthest if clamped is None else min(2.0**clamped.exponent, furthest), rest


_ONE = Reach.of_one(1, 1)  # of how many there are in the file: a replaced record leaves and joins


def _of_units(
    data: Confidential, ask: Ask, amount: Amount | Residual, furthest: float, units: tuple[str, ...], entropy: Entropy
) -> tuple[Noisy, Facts]:
    each = steps_of(ask, units)
    size = furthest / each
    steps = Steps(0.0, size, -each, each)
    asks = {name: ask.priced(share) for name, share in _UNIT_PARTS.items()}
    reaches = {"distance": Reach.added_up(each, ask.records), "units": ask.reach(1), "sample": _ONE}
    place, total = unit_totals(data, ask.cells, units, amount, steps)
    noisy: Noisy = {}

    def add(name: str, what: str, values: Integers) -> Integers:
        noisy[name] = asks[name].budget.noisy(values, reaches[name], entropy, label_of(what, ask))
        return noisy[name]

    number = ask.cells.count(data.schema)
    distance = add("distance", "distances of sampling units", rowwise.sums(place, np.abs(total), number))
    there = add("units", "sampling units", rowwise.sums(place, np.ones_like(place), number))
    everywhere, _ = unit_totals(data, Cells((), {}), units, Amount(), Steps(0.0, 1.0, 0, 1))
    sample = asks["sample"].budget.noisy(np.array([everywhere.size]), _ONE, entropy, "sampling units in all")
    times = times_of(distance, there, each)
    most = times * each
    reaches["squares"] = squares_reach(times, each, ask.records)
    held = np.clip(total, -most, most)
    add("squares", "squares of sampling units", rowwise.sums(place, held * held, number))
    return noisy, {
        "sampling": {
            "step": size,
            "law": asks["squares"].budget.law(reaches["squares"]).describe(),
            "sample": int(sample[0]),
            "sample_law": asks["sample"].budget.law(_ONE).describe(),
            "units_law": asks["units"].budget.law(reaches["units"]).describe(),
        }
    }


def squares_reach(times: int, most: int, records: int) -> Reach:
    """Of the squares of units' sums, each clamped to `times` · `most`; a record adds up to `most`. A replaced record
    may lower two sums of one cell at once, or one of them twice."""
    return Reach.added_up((2 * times - 1) * most**2, records)


def times_of(distance: Integers, there: Integers, each: int) -> int:
    """How many clamps of a record, `each` of so many steps, a unit's sum may have, from the released size of all such
    sums.

    >>> times_of(np.array([10 * 2048, -5]), np.array([10, 0]), 1024)
    16
    """
    mean = int(distance.sum(dtype=np.int64)) / max(int(there.sum(dtype=np.int64)), 1)
    return min(max(1, ceil(_FAR * mean / each)), _FURTHEST)
