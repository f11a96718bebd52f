"""Counts, sums and values of any file by the cells of a table: the group-bys that table plans are made of.

Every declared cell is there, whether or not the file has a record in it, because which cells occur is confidential.
What is added up are whole numbers, each of which follows from one record alone by single IEEE operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.confidential import Confidential, asked, engine_of, rows, same_key, tallied
from tacita.data.engine import code_text, level_code, ruled_number
from tacita.data.schema import Categorical, Date, Integer, Numeric, Schema
from tacita.errors import SchemaError, UsageError
from tacita.lazy import later

ibis = later("ibis")

Integers = NDArray[np.int64]

MOST_CELLS = 20_000_000
_OWN = "tacita_"  # how no column of a file is called
_N = f"{_OWN}n"
_POWERS = frozenset(2.0**power for power in range(32))
_DENSE = 8  # times as many keys as rows are added up in an array of all of them, sooner than by sorting


@dataclass(frozen=True)
class Cells:
    """Which records are counted, and into which cells: the full cross of the levels of `by`. Records that lack one of
    the numbers `needs` are left out, where the schema keeps them missing."""

    by: tuple[str, ...]
    where: Mapping[str, tuple[str, ...]]
    needs: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        return self.by, tuple(self.where.items()), self.needs

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.by, *self.where)))

    def shape(self, schema: Schema) -> tuple[int, ...]:
        return tuple(len(schema.levels(name)) for name in self.by)

    def count(self, schema: Schema) -> int:
        return int(np.prod(self.shape(schema), dtype=np.int64)) if self.by else 1

    def missing(self, schema: Schema) -> tuple[str, ...]:
        """The needed numbers that a record may lack."""
        return tuple(name for name in self.needs if number_kind(schema, name).own_missing)

    def everybody(self, schema: Schema) -> bool:
        """Whether every record counts, in one cell."""
        return not self.by and not self.where and not self.missing(schema)

    def check(self, schema: Schema) -> None:
        """Refuse what the schema has no cells for; only public things are asked."""
        for name in self.by:
            if not isinstance(schema[name].kind, Categorical):
                raise SchemaError(
                    f'by: {name} is not categorical; declare it with type = "categorical" and its levels, or put it '
                    "in groups before; where another product needs it as a number, such as the year of a panel, write "
                    "the column into the file twice under two names, and declare one of them so"
                )
        for name, levels in self.where.items():
            known = schema.categorical(name).code
            if unknown := [level for level in levels if level not in known]:
                raise UsageError(f'where: "{unknown[0]}" is not a declared level of {name}')
            if not levels:
                raise UsageError(f"where: {name} must list declared levels; the list is empty")
        if self.count(schema) > MOST_CELLS:
            raise UsageError(
                f"by: the declared levels cross to more than {MOST_CELLS:,} cells; use fewer or coarser attributes"
            )


@dataclass(frozen=True)
class Amount:
    """What a record adds: the product of its numbers, such as weight × income; 1 where there are none."""

    columns: tuple[str, ...] = ()

    def bounds(self, schema: Schema) -> tuple[float, float]:
        """The least and the most that one record can add, as declared."""
        low = high = 1.0
        for name in self.columns:
            kind = number_kind(schema, name)
            corners = [one * two for one in (low, high) for two in (float(kind.lower), float(kind.upper))]
            low, high = min(corners), max(corners)
        return low, high

    def grain(self, schema: Schema) -> float:
        """The smallest step between two amounts."""
        grain = 1.0
        for name in self.columns:
            grain *= 10.0 ** -decimals(schema, name)
        return grain

    def of(self, table: Any, schema: Schema) -> Any:
        """As a float, or as it is stored where that is one whole number."""
        numbers = [ruled_number(table[name], number_kind(schema, name)) for name in self.columns]
        if len(numbers) == 1:
            return numbers[0]
        amount: Any = ibis.literal(1.0)
        for at, number in enumerate(numbers):
            amount = amount * number.cast("float64") if at else number.cast("float64")
        return amount


def number_kind(schema: Schema, name: str) -> Integer | Numeric:
    kind = schema[name].kind
    if isinstance(kind, Date):
        raise SchemaError(
            f"{name}: is a date, and tables are of numbers; add a column to the file that has it as one, such as the "
            "year or the days since a day, and declare that with type integer and its bounds"
        )
    if not isinstance(kind, Integer | Numeric):
        raise SchemaError(f"{name}: is no number; declare it with type integer or numeric, and its bounds")
    return kind


def decimals(schema: Schema, name: str) -> int:
    kind = number_kind(schema, name)
    return kind.scale if isinstance(kind, Numeric) else 0


@dataclass(frozen=True)
class Steps:
    """Amounts as whole numbers: how many steps of `size` above `start`, from `least` to `most`."""

    start: float
    size: float
    least: int
    most: int

    def of(self, amount: Any) -> Any:
        halvings = self._halvings()
        if amount.type().is_integer() and halvings is not None:  # the same without floats, in half the time
            above = amount - int(self.start) if self.start else amount
            whole = (above + (1 << halvings >> 1)) >> halvings if halvings else above
            return ibis.least(ibis.greatest(whole, self.least), self.most)
        amount = amount.cast("float64")
        # Clamped twice: before, so that no cast overflows; after, so that rounding cannot leave the range.
        low, high = self.start + self.least * self.size, self.start + self.most * self.size
        inside = ibis.least(ibis.greatest(amount, low), high)
        whole = ((inside - self.start) / self.size + 0.5).floor().cast("int64")
        return ibis.least(ibis.greatest(whole, self.least), self.most)

    def _halvings(self) -> int | None:
        """How often a step is halved to get 1, where whole numbers above a whole start are counted in it."""
        return int(log2(self.size)) if self.start.is_integer() and self.size in _POWERS else None


class Adding(Protocol):
    """A number of every record, computed from that record alone."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    def of(self, table: Any, schema: Schema) -> Any: ...


@dataclass(frozen=True)
class Tally:
    """What one scan says of all records: how many there are by the stored values of some columns, and sums of steps to
    a power. A check can ask for it together with the values that occur (`Confidential.check`)."""

    by: tuple[str, ...]
    sums: tuple[tuple[str, Adding, Steps, int], ...] = ()

    def each(self, schema: Schema) -> int:
        return 1

    def over(self, table: Any, schema: Schema, rules: Mapping[str, Any] | None = None) -> Any:
        """`rules` say of every record whether it breaks one: whether any does is then told too."""
        broken, steps = dict(rules or {}), {}
        for name, amount, step, power in self.sums:
            whole = step.of(amount.of(table, schema))
            steps[_OWN + name] = whole if power == 1 else whole * whole
        codes = {name: table[name] for name in self.by}
        coded = table.select(**codes, **steps, **broken) if codes or steps or broken else table
        grouped = coded.group_by(list(codes)) if codes else coded
        flags = {name: coded[name].any() for name in broken}
        return grouped.aggregate(**{_N: coded.count()}, **{name: coded[name].sum() for name in steps}, **flags)


# ---------------------------------------------------------------- asking


def counted(data: Confidential, cells: Cells) -> Integers:
    """Records in each cell, the last attribute of `by` running fastest."""
    return totals(data, cells, {})[_N]


def totals(data: Confidential, cells: Cells, sums: Mapping[str, tuple[Adding, Steps, int]]) -> dict[str, Integers]:
    """For each cell the number of records (`tacita_n`), and for each name the sum of steps to a power."""
    tally = Tally(cells.by, tuple((name, *asked) for name, asked in sums.items()))
    part = None if cells.where or cells.missing(data.schema) else tallied(data, tally)
    if part is None:
        numbers = [name for amount, _, _ in sums.values() for name in amount.columns]
        part = asked(data, ("totals", cells.key, tally), lambda: tally.over(kept(data, cells, numbers), data.schema))
    place = cell_places(part, data.schema, cells.by)
    number = cells.count(data.schema)
    added = {name: rowwise.sums(place, whole_numbers(part, _OWN + name), number) for name in sums}
    return {_N: rowwise.sums(place, whole_numbers(part, _N), number), **added}


def unit_totals(
    data: Confidential, cells: Cells, units: Sequence[str], amount: Adding, steps: Steps
) -> tuple[Integers, Integers]:
    """Of every sampling unit that has records in a cell: the cell, and the sum of steps of these records. `units` are
    the columns whose values together name a unit."""
    table = kept(data, cells, (*units, *amount.columns))
    named = {f"tacita_unit_{at}": table[name].cast("string") for at, name in enumerate(units)}
    codes = {name: table[name] for name in cells.by}
    coded = table.select(**codes, **named, tacita_steps=steps.of(amount.of(table, data.schema)))
    grouped = coded.group_by([*codes, *named]).aggregate(**{_N: coded.tacita_steps.sum()})
    part = engine_of(data).collect(grouped)
    encoded = [part[name].combine_chunks().dictionary_encode(null_encoding="encode") for name in named]
    stored = [
        cell_places(part, data.schema, cells.by),
        *(one.indices.to_numpy(zero_copy_only=False) for one in encoded),
    ]
    # Several stored values of a category may belong in one cell.
    distinct, member = np.unique(np.stack(stored).astype(np.int64), axis=1, return_inverse=True)
    return distinct[0], rowwise.sums(member.ravel(), whole_numbers(part, _N), distinct.shape[1])


def octaves(data: Confidential, cells: Cells, amount: Adding, lowest: int, highest: int) -> Integers:
    """Of all records that count, how many have an amount of 2^e to 2^(e+1), for e from `lowest` below `highest`.

    Amounts of 0 are in none; signs do not matter. One that rounding puts into the wrong octave is still in only one.
    """

    def write() -> Any:
        table = kept(data, cells, amount.columns)
        size = amount.of(table, data.schema).cast("float64").abs()
        coded = table.select(octave=size.nullif(0.0).log2().floor().cast("int64"))
        return coded.group_by("octave").aggregate(n=coded.count())

    part = asked(data, ("octaves", cells.key, amount), write)
    part = part.filter(part["octave"].is_valid())
    place = np.clip(whole_numbers(part, "octave"), lowest, highest - 1) - lowest
    return rowwise.sums(place, whole_numbers(part, "n"), highest - lowest)


def values(
    data: Confidential,
    cells: Cells,
    column: str,
    weight: tuple[Amount, Steps] | None,
    coded_as: Callable[[Integers], Integers],
    only: Callable[[Any], Any] | None = None,
    others: tuple[Integers, Integers, Integers] | None = None,
) -> tuple[Integers, Integers, Integers]:
    """Every code of a value that occurs in a cell: its cell, the code, and how many records (or steps of weight) have
    it, sorted by cell and code. `coded_as` gives the code of a value in its declared steps, one by one. `only` says
    which records are looked at; of all others there are cells, values and how many have them."""
    schema = data.schema

    def write() -> Any:
        table = kept(data, cells, (column, *(weight[0].columns if weight else ())))
        table = table.filter(only(table)) if only else table
        codes = {name: table[name] for name in cells.by}
        parts = 10.0 ** decimals(schema, column)
        number = ruled_number(table[column], number_kind(schema, column)).cast("float64")
        whole = {"tacita_value": (number * parts + 0.5).floor().cast("int64")}
        if weight:
            whole["tacita_weight"] = weight[1].of(weight[0].of(table, schema))
        coded = table.select(**codes, **whole)
        mass = coded.tacita_weight.sum() if weight else coded.count()
        return coded.group_by([*codes, "tacita_value"]).aggregate(**{_N: mass})

    part = engine_of(data).collect(write()) if only else asked(data, ("values", cells.key, column, weight), write)
    # Several stored values may have one code, of the value or of the cell.
    place, value, mass_of = (
        cell_places(part, schema, cells.by),
        whole_numbers(part, "tacita_value"),
        whole_numbers(part, _N),
    )
    if others is not None:
        place, value, mass_of = (np.append(*one) for one in zip((place, value, mass_of), others, strict=True))
    code = coded_as(value)
    least, codes_there = int(code.min(initial=0)), int(code.max(initial=0) - code.min(initial=0)) + 1
    key = place * codes_there + (code - least)
    there, mass_there = _added_up(key, mass_of, cells.count(schema) * codes_there)
    return there // codes_there, there % codes_there + least, mass_there


def _added_up(key: Integers, mass: Integers, keys: int) -> tuple[Integers, Integers]:
    """The keys that occur, rising, and the sum of the masses of each."""
    if keys <= _DENSE * max(key.size, 1):
        occurs = np.zeros(keys, dtype=bool)
        occurs[key] = True  # a mass may be 0
        there = np.flatnonzero(occurs)
        return there, rowwise.sums(key, mass, keys)[there]
    there, member = np.unique(key, return_inverse=True)
    return there, rowwise.sums(member, mass, there.size)


# ---------------------------------------------------------------- putting together


def kept(data: Confidential, cells: Cells, numbers: Sequence[str]) -> Any:
    """The records that count, with the columns that are asked for, from whichever linked table they stand in."""
    table = jobs_with(data, tuple(dict.fromkeys((*cells.columns, *cells.needs, *numbers))))
    for name in cells.missing(data.schema):
        # Engines take the greatest of a number and nothing to be the number, so what is missing must not get that far.
        table = table.filter(ruled_number(table[name], number_kind(data.schema, name)).notnull())
    for name, levels in cells.where.items():
        kind = data.schema.categorical(name)
        wanted = sorted({kind.code[level] for level in levels})
        table = table.filter(level_code(table[name], kind).isin(wanted))
    return table


def cell_value(table: Any, schema: Schema, by: Sequence[str], values: Sequence[float]) -> Any:
    """For every record the value of its cell; one comparison per cell, so for small tables only."""
    if not by:
        return ibis.literal(float(values[0]))
    place: Any = ibis.literal(0)
    for name in by:
        place = place * len(schema.levels(name)) + level_code(table[name], schema.categorical(name)).cast("int64")
    return ibis.cases(*((place == at, float(value)) for at, value in enumerate(values)), else_=0.0)


def cell_places(part: pa.Table, schema: Schema, by: Sequence[str]) -> Integers:
    """The cell of each row of grouped stored values: several stored values may belong in one cell."""
    codes = []
    for name in by:
        kind = schema.categorical(name)
        stored = part[name].combine_chunks().dictionary_encode(null_encoding="encode")
        known = [kind.code_of(code_text(value)) for value in stored.dictionary.to_pylist()]
        if None in known:
            raise SchemaError(
                f"{name}: a value is missing or not among the declared levels, and the schema's rule is to refuse; "
                f"declare variables.{name}.outside and variables.{name}.missing, or repair the file"
            )
        codes.append(np.array(known, dtype=np.int64)[stored.indices.to_numpy(zero_copy_only=False)])
    return rowwise.cells(part.num_rows, codes, [len(schema.levels(name)) for name in by])


def whole_numbers(part: pa.Table, name: str) -> Integers:
    column = part[name].combine_chunks().fill_null(0)
    whole: Integers = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return whole


def jobs_with(data: Confidential, names: Sequence[str]) -> Any:
    """Jobs with the id of their establishment and these attributes, whichever of the linked tables they stand in."""
    jobs = rows(data)
    ids = [name for name in jobs.columns if name in data.schema.entities.values()]
    held = dict.fromkeys((*ids, *(name for name in names if data.table_of(name) == data.main)))
    for entity in ("worker", "workplace"):
        wanted = [name for name in names if data.table_of(name) == entity and name not in held]
        if wanted:
            other, key = rows(data, entity), data.schema.id_of(entity)
            assert key is not None  # Schema has made sure
            linked = jobs.join(other, same_key(jobs, other, key))
            jobs = linked.select(**{name: jobs[name] for name in held}, **{name: other[name] for name in wanted})
            held |= dict.fromkeys(wanted)
    return jobs
