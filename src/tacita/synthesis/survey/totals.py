"""Weighted totals of a survey, in all and in each public cell. `measure_totals` sees records. Proof: survey.md.

Whatever a model says of a cell is its belief. What the answers of a cell add up to is measured beside it, with noise
that is known: files are held to it, and differ by what it leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from attrs import evolve, frozen

from tacita.data.cells import Amount, number_kind
from tacita.data.gathered import Columns as Gathered
from tacita.data.schema import Schema
from tacita.noise.entropy import Entropy
from tacita.synthesis.file.budget import Budget
from tacita.synthesis.pinned.measuring import Pin, Pinning, clamps_off, spending, worth_pinning
from tacita.synthesis.survey.columns import Columns, Frame

CENTRED = 10  # times the records that a total needs: then answers may be measured from their middle
FAR = 2.0  # times the distance of the quartiles, from 0 to the middle of an answer that varies little
SEEN = 5  # times the records that a total needs: then margins hold, also of answers with heavy tails
_LARGEST = 20  # means, that a record may add: about what the largest of a skewed answer do
_SURELY = 3.0  # deviations of noise: weights that are off a public number by more add up to another
_WANTED = 0.01  # noise of a total of all records, where that is within reach
_LEAST_WHOLE, _MOST_WHOLE = Fraction(1, 2), Fraction(4, 5)  # of what is spent, for totals of all records


@frozen(eq=False)
class Totals:
    """Noisy totals of the weight and of each answer's distance from a released centre, times the weight, by name: of
    all records, and of each cell."""

    whole: Mapping[str, Pin]
    cells: Mapping[str, Pin]
    centres: Mapping[str, float]

    def record(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "totals": _record_of(self.whole),
            "totals of cells": _record_of(self.cells),
            "centres": dict(self.centres),
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Totals:
        return cls(_pins_of(record["totals"]), _pins_of(record["totals of cells"]), record["centres"])

    def for_population(self, weight: str, population: int | None) -> Totals:
        """With weights that add up to a public number, if one is given. Where the file's surely add up to another,
        each counts so many times more, and what answers add up to with it: means stay as they were measured."""
        if population is None:
            return self
        exact = Pin(0.0, float("inf"), 0.0, float("inf"), 0.0, 0.0, (float(population),), 0.0)
        times = 1.0
        if (told := self.whole.get(weight)) is not None:
            measured, doubt = told.totals[0] + told.beyond, _SURELY * told.spread + told.beyond
            if abs(population - measured) > doubt and measured > doubt:
                times = population / measured
        whole, cells = ({name: _times(pin, times) for name, pin in pins.items()} for pins in (self.whole, self.cells))
        return evolve(self, whole={**whole, weight: exact}, cells=cells)


NONE = Totals({}, {}, {})


def _times(pin: Pin, times: float) -> Pin:
    """The same totals of amounts that are so many times as large."""
    numbers = {name: times * value for name, value in asdict(pin).items() if name != "totals"}
    return Pin(**numbers, totals=tuple(times * one for one in pin.totals))


def _record_of(pins: Mapping[str, Pin]) -> dict[str, Any]:
    return {name: asdict(pin) for name, pin in pins.items()}


def _pins_of(record: Mapping[str, Any]) -> dict[str, Pin]:
    return {name: Pin(**{**one, "totals": tuple(one["totals"])}) for name, one in record.items()}


def worth_totals(budget: Budget, amount: Fraction, numbers: int) -> float:
    """With fewer records, totals cannot be told from their noise."""
    return worth_pinning(spending(amount / numbers, pure=budget.pure), replaced=True)


def whole_noise(budget: Budget, amount: Fraction, numbers: int) -> float:
    """Standard deviation of the noise on a total of all records, of answers that are not negative, in clamps, where
    cells have the least part."""
    return clamps_off(spending(amount * _MOST_WHOLE / numbers, pure=budget.pure))


def measure_totals(
    gathered: Gathered,
    frame: Frame,
    columns: Columns,
    budget: Budget,
    amount: Fraction,
    centres: Mapping[str, float],
    entropy: Entropy,
) -> Totals:
    """Totals within an amount of the budget; none of an answer of which no record can be told from the noise.

    How far an answer lies from a centre, which is public or released, needs less noise than the answer itself.
    """
    weight = columns.measures[-1].name
    amounts = {weight: Amount((weight,)), **{name: _Off((weight, name), at) for name, at in centres.items()}}
    gathered, cells = gathered.less(centres), frame.cells
    each = amount / len(amounts)
    first = each if cells == 1 else each * _part_of_whole(budget, each, frame.records)
    together = Pinning(1, True, columns.schema)
    whole = together.measure_all(gathered.by(None), amounts, spending(first, pure=budget.pure), entropy)
    if cells == 1:
        return Totals(whole, {}, centres)
    apart, left = Pinning(cells, True, columns.schema), spending(each - first, pure=budget.pure)
    parts = {name: apart.measure_again(gathered, amounts[name], pin, left, entropy) for name, pin in whole.items()}
    return Totals(whole, parts, centres)


@dataclass(frozen=True)
class _Off(Amount):
    """Weight × distance from a centre, which is a value that the answer may have."""

    centre: float = 0.0

    def bounds(self, schema: Schema) -> tuple[float, float]:
        weight, answer = (number_kind(schema, name) for name in self.columns)
        return weight.upper * (answer.lower - self.centre), weight.upper * (answer.upper - self.centre)


def _part_of_whole(budget: Budget, each: Fraction, records: int) -> Fraction:
    """So much that the total of all records is right; cells, whose totals are smaller, get the rest."""
    noise = clamps_off(spending(each, pure=budget.pure)) * _LARGEST / records
    return min(max(Fraction(round(noise / _WANTED * 100), 100), _LEAST_WHOLE), _MOST_WHOLE)
