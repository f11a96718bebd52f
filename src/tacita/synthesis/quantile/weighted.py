"""Weighted totals of a file that has a column of weights: what they may spend, and files that are held to them.

How a number goes with the weight is known from ranks alone, which say little of the few records that a weighted total
hangs on: it is measured directly. Public arithmetic and post-processing only; `measuring` sees the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacita.data.cells import Amount
from tacita.data.schema import Schema
from tacita.mechanisms.table.noise import Budget
from tacita.synthesis.pinned.adjusting import Values, hold
from tacita.synthesis.pinned.measuring import Pin, clamps_off, worth_pinning
from tacita.synthesis.quantile.variables import Column, column_of

Floats = NDArray[np.float64]

_TOTAL, _MOST_TOTALS = Fraction(1, 10), Fraction(1, 3)  # of the budget, for each total and for all
_LEAST, _WANTED = Fraction(1, 5), 0.002  # of that at least, and the noise of a total that is small enough
_LARGEST = 20  # means, that a record may add: about what the largest of a skewed answer do


@dataclass(frozen=True)
class Weighing:
    """The column of weights, and the numbers whose weighted totals are measured. `replaced`: a unit is replaced, and
    not added or removed; all records are in one cell, so it stays there."""

    schema: Schema
    weight: str
    numbers: tuple[str, ...]
    replaced: bool

    @classmethod
    def of(cls, schema: Schema, columns: Sequence[str], *, replaced: bool) -> Weighing | None:
        """None where no column is called a weight by the schema, or several are."""
        numbers = [name for name in columns if column_of(schema, name).is_number]
        weights = [name for name in numbers if schema[name].role == "weight"]
        if len(weights) != 1 or column_of(schema, weights[0]).bounds[0] < 0:
            return None
        return cls(schema, weights[0], tuple(name for name in numbers if name != weights[0]), replaced)

    @property
    def amounts(self) -> dict[str, Amount]:
        return {self.weight: Amount((self.weight,))} | {name: Amount((self.weight, name)) for name in self.numbers}

    def each(self, epsilon: Fraction, records: int) -> Fraction:
        """For each total, of what a record added or removed may cost; 0 where there are too few records.

        Where records are many, less says as much as anybody asks.
        """
        part = epsilon * min(_TOTAL, _MOST_TOTALS / len(self.amounts))
        noise = clamps_off(self.budget(part)) * _LARGEST / max(records, 1)
        part *= min(max(Fraction(round(noise / _WANTED * 100), 100), _LEAST), Fraction(1))
        enough = records >= worth_pinning(self.budget(part), replaced=self.replaced)
        return part if enough else Fraction(0)

    def all(self, each: Fraction) -> Fraction:
        return each * len(self.amounts)

    def budget(self, each: Fraction) -> Budget:
        """A record that is replaced stays in the one cell: it is one step of a total, not two."""
        return Budget(2 * each if self.replaced else each)

    def held(
        self,
        columns: Mapping[str, Floats],
        masses: Mapping[str, Iterable[float]],
        pins: Mapping[str, Pin],
        records: float,
        random: np.random.Generator | None,
    ) -> dict[str, Floats]:
        """Columns of a file of any length that add up as those of so many records did; point masses stay."""
        used = {name: column_of(self.schema, name) for name in (*self.numbers, self.weight)}
        values = {
            name: Values(columns[name], ~np.isin(columns[name], list(masses.get(name, ()))), *one.bounds)
            for name, one in used.items()
        }
        own = values[self.weight]
        stands_for = records / max(own.values.size, 1)
        pins = {name: pin.of_files(stands_for) for name, pin in pins.items()}
        weighed = {name: pin for name, pin in pins.items() if name != self.weight}
        bounds = own.lower * stands_for, own.upper * stands_for
        population = pins.get(self.weight)
        weights, _ = hold(own.values * stands_for, bounds, values, population, weighed, random, values_stay=True)
        return {self.weight: _allowed(used[self.weight], own.values, weights / stands_for)}


def _allowed(column: Column, before: Floats, after: Floats) -> Floats:
    """The values that the schema allows nearest to these; those that did not change stay as they are."""
    near = np.clip(np.round(np.rint(after / column.step) * column.step, 9), *column.bounds)
    return np.where(after == before, before, near)
