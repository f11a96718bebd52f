"""Units in two years: what each had before and after, added up by the cell it was in and the cell it is in.

The two years stand in two columns of one row, or in rows of their own that an id ties together. Whole numbers only,
each of which follows from the rows of one unit alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.cells import Amount, Cells, Steps, cell_places, kept, whole_numbers
from tacita.data.checks import any_repeated, no_id_among_rows
from tacita.data.confidential import Confidential, engine_of, rows
from tacita.data.engine import level_code, ruled_number, text_of
from tacita.data.schema import Categorical, Integer, Schema
from tacita.errors import SchemaError, UsageError
from tacita.lazy import later

ibis = later("ibis")

Integers = NDArray[np.int64]
Sum = Callable[[Any, Any], Any]
"""From what a unit had before and after to a whole number."""

_FINEST = 2.0**48  # steps to the declared bounds
_BEFORE, _AFTER = "tacita_before", "tacita_after"


@dataclass(frozen=True)
class Period:
    """The column that says the year of a row, the two years, and the column that says whose row it is."""

    column: str
    years: tuple[str, str]
    unit: str

    def check(self, schema: Schema) -> None:
        kind = schema[self.column].kind
        for year in self.years:
            if isinstance(kind, Categorical):
                known = year in kind.code
            elif isinstance(kind, Integer):
                known = year.lstrip("-").isdigit() and kind.lower <= int(year) <= kind.upper
            else:
                raise UsageError(
                    f"between: {self.column} must be an integer or a category; declare the year of a row so, or give "
                    "of two columns"
                )
            if not known:
                raise UsageError(f"between: {year} is not among the declared values of {self.column}")

    def is_year(self, table: Any, schema: Schema, year: str) -> Any:
        kind = schema[self.column].kind
        if isinstance(kind, Categorical):
            return level_code(table[self.column], kind) == kind.code[year]
        assert isinstance(kind, Integer)  # check has seen to it
        return ruled_number(table[self.column], kind) == int(year)


@dataclass(frozen=True)
class Pairs:
    """Which units, in which cells, and what they had: amounts of the earlier and of the later year, which are the same
    columns where the years stand in rows of their own. A unit without a number in a year has 0 there."""

    by: tuple[str, ...]
    where: Mapping[str, tuple[str, ...]]
    amounts: tuple[Amount, Amount]
    period: Period | None = None

    @property
    def moves(self) -> bool:
        """Whether a unit can be in another cell than the year before."""
        return self.period is not None and bool(self.by)

    @property
    def cells(self) -> Cells:
        return Cells(self.by, self.where)

    @property
    def columns(self) -> tuple[str, ...]:
        of_rows = (self.period.unit, self.period.column) if self.period else ()
        numbers = (name for amount in self.amounts for name in amount.columns)
        return tuple(dict.fromkeys((*self.cells.columns, *of_rows, *numbers)))

    def steps(self, schema: Schema) -> Steps:
        """What every row is counted in: the declared steps, or longer ones where bounds are very wide."""
        ends = [amount.bounds(schema) for amount in self.amounts]
        low, high = min(0.0, *(low for low, _ in ends)), max(0.0, *(high for _, high in ends))
        size = max(*(amount.grain(schema) for amount in self.amounts), max(-low, high) / _FINEST)
        return Steps(0.0, size, round(low / size), round(high / size))


@dataclass(frozen=True)
class Moved:
    """Sums over all units that were in one cell and are in another, or in the same. A cell of −1 says that they had
    nothing in that year."""

    before: Integers
    after: Integers
    sums: dict[str, Integers]

    @property
    def stayed(self) -> NDArray[np.bool_]:
        same: NDArray[np.bool_] = (self.before == self.after) | (self.before < 0) | (self.after < 0)
        return same


def check_pairs(data: Confidential, period: Period) -> None:
    """Refuse a file in which a unit has several rows of one year."""
    table = rows(data)
    if period.unit not in table.columns:
        raise SchemaError(no_id_among_rows(period.unit, "unit"))
    either = [period.is_year(table, data.schema, year) for year in period.years]
    if any_repeated(engine_of(data), table.filter(either[0] | either[1]), [period.unit, period.column]):
        raise SchemaError(
            f"{period.unit}: has more than one row of a year, and growth compares one of each; keep one row for each "
            f"{period.unit} and {period.column}, or add up its rows before"
        )


def moved(data: Confidential, pairs: Pairs, sums: Mapping[str, Sum]) -> Moved:
    """The sums of whole numbers, by the cells of both years."""
    units = _units(data, pairs)
    before, after = units[_BEFORE], units[_AFTER]
    keys = {name: units[name] for name in _places(pairs)} | {"had": before != 0, "has": after != 0}
    numbers = {f"tacita_sum_{name}": number(before, after) for name, number in sums.items()}
    coded = units.select(**keys, **numbers)
    part = engine_of(data).collect(coded.group_by(list(keys)).aggregate(**{one: coded[one].sum() for one in numbers}))
    return Moved(
        _codes(part, "had", _BEFORE, data.schema, pairs.by),
        _codes(part, "has", _AFTER, data.schema, pairs.by),
        {name: whole_numbers(part, f"tacita_sum_{name}") for name in sums},
    )


def octaves(data: Confidential, pairs: Pairs, size: Callable[[Any, Any, Any], Any], number: int) -> Integers:
    """How many units have a size of 2^e to 2^(e+1) steps, for e from 0 below `number`; each is in one, or with size 0
    in none. `size` is told what a unit had, what it has, and whether it moved."""
    units = _units(data, pairs)
    changed = ibis.literal(False)
    if pairs.moves:
        for at in range(len(pairs.by)):
            changed = changed | ~units[f"{_BEFORE}_{at}"].identical_to(units[f"{_AFTER}_{at}"])
    steps = size(units[_BEFORE], units[_AFTER], changed).cast("float64")
    coded = units.select(octave=steps.nullif(0.0).log2().floor().cast("int64"))
    part = engine_of(data).collect(coded.group_by("octave").aggregate(n=coded.count()))
    part = part.filter(part["octave"].is_valid())
    place = np.clip(whole_numbers(part, "octave"), 0, number - 1)
    return rowwise.sums(place, whole_numbers(part, "n"), number)


def _units(data: Confidential, pairs: Pairs) -> Any:
    """One row per unit: what it had and has, and the stored values that say in which cells."""
    schema, steps = data.schema, pairs.steps(data.schema)
    table = kept(data, pairs.cells, pairs.columns)
    amounts = [steps.of(amount.of(table, schema).fill_null(0)) for amount in pairs.amounts]
    if pairs.period is None:
        places = {f"{when}_{at}": table[name] for when in (_BEFORE, _AFTER) for at, name in enumerate(pairs.by)}
        return table.select(**places, **dict(zip((_BEFORE, _AFTER), amounts, strict=True)))
    years = [pairs.period.is_year(table, schema, year) for year in pairs.period.years]
    stored = {f"tacita_by_{at}": text_of(table[name]) for at, name in enumerate(pairs.by)}
    flags = dict(zip(("tacita_had", "tacita_has"), years, strict=True))
    years_of = table.select(tacita_unit=table[pairs.period.unit], tacita_steps=amounts[0], **stored, **flags)
    told: dict[str, Any] = {}
    for when, flag in ((_BEFORE, years_of.tacita_had), (_AFTER, years_of.tacita_has)):
        # One row each, which `check_pairs` sees to; whatever it lets pass counts as no more than one row can.
        added = years_of.tacita_steps.sum(where=flag).fill_null(0).cast("int64")
        told[when] = ibis.least(ibis.greatest(added, steps.least), steps.most)
        told |= {f"{when}_{at}": years_of[f"tacita_by_{at}"].max(where=flag) for at in range(len(pairs.by))}
    return years_of.filter(years_of.tacita_had | years_of.tacita_has).group_by("tacita_unit").aggregate(**told)


def _places(pairs: Pairs) -> list[str]:
    return [f"{when}_{at}" for when in (_BEFORE, _AFTER) for at in range(len(pairs.by))]


def _codes(part: pa.Table, there: str, stem: str, schema: Schema, by: Sequence[str]) -> Integers:
    """The cell of each group in one of the years; −1 where its units had nothing then."""
    present = part[there].combine_chunks().to_numpy(zero_copy_only=False).astype(bool)
    inside = part.filter(pa.array(present))
    named = pa.table({name: inside[f"{stem}_{at}"] for at, name in enumerate(by)}) if by else inside
    codes = np.full(part.num_rows, -1, dtype=np.int64)
    codes[present] = cell_places(named, schema, by)
    return codes
