"""What a conditional model is given: named columns of the same units, categorical or ordered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Column:
    """Codes from 0 to `levels` - 1, or numbers of at least 0 where `levels` is 0.

    An `ordered` column of codes, such as an age in years, enters regressions as a number. `unit` is the smallest step
    of a number: logs are those of 1 + value / unit.
    """

    values: NDArray[Any]
    levels: int = 0
    ordered: bool = False
    unit: float = 1.0

    @property
    def is_number(self) -> bool:
        return self.levels == 0 or self.ordered

    def at(self, who: NDArray[Any]) -> Column:
        return replace(self, values=self.values[who])

    @property
    def logs(self) -> Floats:
        return np.asarray(np.log1p(self.values / self.unit))


@dataclass(frozen=True, eq=False)
class Predictors:
    """The columns of `rows` units.

    >>> given = Predictors(2, {"size": Column(np.array([0.0, 9.0])), "kind": Column(np.array([1, 0]), levels=3)})
    >>> given.design(("size", "kind")).round(2).tolist()
    [[1.0, 0.0, 1.0, 0.0], [1.0, 2.3, 0.0, 0.0]]
    >>> given.cells(("kind",)).tolist()
    [1, 0]
    """

    rows: int
    columns: Mapping[str, Column]

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def at(self, who: NDArray[Any]) -> Predictors:
        """The same for some of the units, by flags or positions."""
        found = {name: column.at(who) for name, column in self.columns.items()}
        rows = int(who.sum()) if who.dtype == np.bool_ else len(who)
        return Predictors(rows, found)

    def among(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of the names that are known here: a unit in its first year has no year before."""
        return tuple(name for name in names if name in self.columns)

    def base(self, name: str | None) -> Column | None:
        """What a response is compared with, where these units have it."""
        return None if name is None else self.columns.get(name)

    def complete(self, names: Iterable[str]) -> Flags:
        """Units for which all of these are observed."""
        found = np.ones(self.rows, dtype=bool)
        for name in names:
            column = self.columns[name]
            found &= (column.values >= 0) if column.levels else ~np.isnan(column.values)
        return found

    def cells(self, names: Sequence[str]) -> Integers:
        """One number for each combination of levels."""
        found = np.zeros(self.rows, dtype=np.int64)
        size = 1
        for name in names:
            column = self.columns[name]
            if not column.levels:
                raise UsageError(f"{name}: is a number, and this model needs categories; leave it out of its given")
            size *= column.levels
            if size >= 2**62:
                raise UsageError(f"{name}: the predictors of this model make too many cells; leave some out")
            found = found * column.levels + column.values
        return found

    def design(self, names: Sequence[str]) -> Floats:
        """A regression's columns: 1, the logs of numbers, and all levels of categories but the first."""
        parts: list[Floats] = [np.ones(self.rows)]
        for name in names:
            column = self.columns[name]
            if column.is_number:
                parts.append(column.logs)
            else:
                parts.extend((column.values == level).astype(np.float64) for level in range(1, column.levels))
        return np.column_stack(parts)


def joined(parts: Sequence[Predictors], without: Collection[str] = ()) -> Predictors:
    """The units of several parts, one after another, with the columns of the first."""
    found = {
        name: replace(column, values=np.concatenate([part.columns[name].values for part in parts]))
        for name, column in parts[0].columns.items()
        if name not in without
    }
    return Predictors(sum(part.rows for part in parts), found)


def standard(design: Floats) -> tuple[Floats, Floats]:
    """Means of columns, and their standard deviations; 1 where a column does not vary."""
    centre, spread = design.mean(axis=0), design.std(axis=0)
    spread[spread < 1e-9] = 1.0
    return centre, spread
