"""Numbers of a synthetic file, held to the totals that were measured. Post-processing only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from tacita.synthesis.file.bins import spread_of
from tacita.synthesis.file.columns import Number
from tacita.synthesis.file.numbers import ROUND
from tacita.synthesis.pinned.adjusting import Values, hold
from tacita.synthesis.pinned.measuring import Pin

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_DIGITS = 10  # a value is no rounder than this part of it


@frozen(eq=False)
class Drawn:
    """One number of a file as it was drawn: units of its last place; what is missing stands below all."""

    column: Number
    units: Integers

    @property
    def values(self) -> Values:
        """Point masses and missing values stay; what is missing adds nothing."""
        grid, absent = self.column.grid, self.units < self.column.grid.first
        free = ~absent & ~np.isin(self.units, self.column.masses)
        values = np.where(absent, 0.0, self.units / grid.parts)
        return Values(values, free, grid.first / grid.parts, grid.last / grid.parts)

    def held_to(self, pin: Pin, stands_for: float, random: np.random.Generator | None) -> Integers:
        """Units that add up as measured, without weights."""
        number = self.values
        spread = spread_of(self.column.grid, self.column.shape)
        return self.moved(spread.held(pin, number.values, number.free, stands_for * self.units.size, random))

    def moved(self, values: Floats, *, round_as_before: bool = True) -> Integers:
        """Units of other values."""
        grid = self.column.grid
        exact = np.clip(np.rint(values * grid.parts), grid.first, grid.last).astype(np.int64)
        step = np.ones(exact.size, dtype=np.int64)
        for one in ROUND.tolist() if round_as_before else ():
            step[(self.units % one == 0) & (np.abs(exact) >= _DIGITS * one)] = one
        near = np.clip((exact + step // 2) // step * step, grid.first, grid.last)
        return np.where((self.units < grid.first) | (exact == self.units), self.units, near)


def held_units(
    columns: Sequence[Number],
    units: Mapping[str, Integers],
    pins: Mapping[str, Pin],
    weight: str | None,
    stands_for: float,
    random: np.random.Generator | None,
) -> dict[str, Integers]:
    """Units that add up as measured, of the columns that changed; a record stands for so many of those measured."""
    drawn = {one.name: Drawn(one, units[one.name]) for one in columns if one.name in (*pins, weight)}
    if weight is None:
        return {name: one.held_to(pins[name], stands_for, random) for name, one in drawn.items()}
    pins = {name: pin.of_files(stands_for) for name, pin in pins.items()}
    weighed = {name: pin for name, pin in pins.items() if name != weight}
    values = {name: one.values for name, one in drawn.items()}
    own = values[weight]
    bounds = own.lower * stands_for, own.upper * stands_for
    weights, held = hold(own.values * stands_for, bounds, values, pins.get(weight), weighed, random)
    found = {name: drawn[name].moved(some) for name, some in held.items()}
    return found | {weight: drawn[weight].moved(weights / stands_for, round_as_before=False)}
