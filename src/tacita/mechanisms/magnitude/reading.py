"""What tables of magnitudes read: sums by cell, and the largest unit of each cell, in whole steps.

A step is the last decimal place that the schema keeps of a number: one cent of pay, one job. Numbers are turned into
steps one by one by the schema's own rule, and everything after that is a sum or a maximum of whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.cells import cell_places, whole_numbers
from tacita.data.confidential import Confidential, asked, rows
from tacita.data.engine import ruled_number
from tacita.data.schema import Integer, Numeric, Schema
from tacita.errors import SchemaError, UsageError

# Beyond this a double no longer tells a number from the next half step, and rounding would not be to the nearest.
MOST_STEPS = 1 << 52
# Sums stop here, as noisy values do (`noise/plateau.md`): a bound on a sum moves neighbours no further apart.
_MOST_SUM = 1 << 61
_HIGH, _LOW, _SIZE = "tacita_high_", "tacita_low_", "tacita_size_"
_HALF = 30  # bits; sums of 30-bit numbers over 2^33 rows still fit in 64 bits
_TABLE_ROLES = ("public", "workplace")
_NUMBER_ROLES = ("confidential", "size")


@dataclass(frozen=True, repr=False)
class Totals:
    """Exact and confidential; it never leaves the mechanism that asked for it. One row per cell that occurs."""

    keys: dict[str, NDArray[np.int32]]
    sums: NDArray[np.int64]
    """C × d, in steps."""
    largest: NDArray[np.int64]
    """C × m: the largest unit of the cell, by each of the m measures of size."""

    def __repr__(self) -> str:
        return f"Totals(by={list(self.keys)}, cells={len(self.sums)}, columns={self.sums.shape[1]})"


# ---------------------------------------------------------------- what the schema must say


def check_attributes(schema: Schema, by: Sequence[str]) -> None:
    """Cells are told apart by attributes that are public."""
    for name in by:
        schema.categorical(name)
        if schema[name].role not in _TABLE_ROLES:
            raise UsageError(
                f"by: {name} has the role {schema[name].role}, and this table shows which cells hold a unit; "
                'take columns with role = "public" or "workplace"'
            )
        _refuse_linked(schema, name)


def check_levels(schema: Schema, where: Mapping[str, Sequence[str]]) -> None:
    """Units are chosen by declared levels of attributes that are public."""
    check_attributes(schema, list(where))
    for name, levels in where.items():
        unknown = [level for level in levels if level not in schema.levels(name)]
        if unknown or not levels:
            problem = f"{unknown[0]!r} is not one" if unknown else "the list is empty"
            raise UsageError(f"where: {name} must list declared levels; {problem}")


def number(schema: Schema, name: str, key: str = "of") -> Integer | Numeric:
    """The domain of a number that can be added up; raises a clear error where it cannot."""
    kind = schema[name].kind
    if not isinstance(kind, Integer | Numeric):
        raise UsageError(f"{key}: {name} is no number; sums need a column of type integer or numeric")
    if schema[name].role not in _NUMBER_ROLES:
        raise UsageError(
            f"{key}: {name} has the role {schema[name].role}; sums of numbers are for columns with role = "
            '"confidential" or "size"'
        )
    if kind.lower < 0:
        raise SchemaError(
            f"variables.{name}.lower: is below 0, and a promise about relative changes says nothing of a number that "
            "may change its sign; raise lower to 0, or keep gains and losses in two columns"
        )
    if most_steps(kind) > MOST_STEPS:
        raise SchemaError(
            f"variables.{name}.upper: exact noise is made for numbers of up to 2^52 steps of the last decimal place; "
            "lower upper, or keep fewer places with scale"
        )
    _refuse_linked(schema, name)
    return kind


def places(kind: Integer | Numeric) -> int:
    """Decimal places after the point."""
    return kind.scale if isinstance(kind, Numeric) else 0


def most_steps(kind: Integer | Numeric) -> int:
    """The largest number that the schema allows, in steps."""
    return int(kind.upper * 10 ** places(kind) + 0.5)


def _refuse_linked(schema: Schema, name: str) -> None:
    if (table := schema[name].table) != "job":
        raise UsageError(
            f"{name}: stands in the {table} table of linked files, and sums read one file with a row for each unit; "
            f"join the tables, and take table out of variables.{name}"
        )


# ---------------------------------------------------------------- asking


def steps(column: Any, kind: Integer | Numeric) -> Any:
    """A stored number in whole steps, by the schema's rule; a number that is missing adds nothing."""
    ruled = ruled_number(column, kind).coalesce(0)
    if isinstance(kind, Integer):
        return ruled
    return (ruled * 10.0**kind.scale + 0.5).floor().cast("int64")


def _added_up(table: Any, attributes: Sequence[str], sums: Mapping[str, Any], sizes: Mapping[str, Any]) -> Any:
    wide = table.select(
        **{name: table[name] for name in attributes},
        **{f"{_HIGH}{name}": value >> _HALF for name, value in sums.items()},
        **{f"{_LOW}{name}": value & (2**_HALF - 1) for name, value in sums.items()},
        **{f"{_SIZE}{name}": value for name, value in sizes.items()},
    )
    grouped = wide.group_by(list(attributes)) if attributes else wide
    halves = {f"{half}{name}": wide[f"{half}{name}"].sum() for name in sums for half in (_HIGH, _LOW)}
    return grouped.aggregate(**halves, **{f"{_SIZE}{name}": wide[f"{_SIZE}{name}"].max() for name in sizes})


def totals(
    data: Confidential,
    by: Sequence[str],
    where: Mapping[str, Sequence[str]],
    key: tuple[Any, ...],
    write: Callable[[], tuple[Mapping[str, Any], Mapping[str, Any]]],
) -> Totals:
    """Sums and maxima of whole numbers by cell; `write` gives both as expressions of one row, each below 2^60, which
    follow from `key`.

    A sum is formed in two halves, so that no engine's integers overflow.
    """
    schema, attributes = data.schema, tuple(dict.fromkeys((*by, *where)))
    part = asked(data, ("totals", *key, attributes), lambda: _added_up(rows(data), attributes, *write()))
    sums = [name.removeprefix(_HIGH) for name in part.column_names if name.startswith(_HIGH)]
    tops = [name for name in part.column_names if name.startswith(_SIZE)]
    for name, levels in where.items():
        wanted = [schema.categorical(name).code[level] for level in levels]
        part = part.filter(pa.array(np.isin(cell_places(part, schema, [name]), wanted)))
    shape = tuple(len(schema.levels(name)) for name in by)
    place = cell_places(part, schema, by)
    cells, row = np.unique(place, return_inverse=True)  # several stored values may belong in one cell
    added = np.zeros((cells.size, len(sums)), dtype=object)
    for column, name in enumerate(sums):
        high, low = (whole_numbers(part, half + name).astype(object) for half in (_HIGH, _LOW))
        np.add.at(added[:, column], row, high * 2**_HALF + low)
    largest = np.zeros((cells.size, len(tops)), dtype=np.int64)
    for column, name in enumerate(tops):
        np.maximum.at(largest[:, column], row, whole_numbers(part, name))
    codes = np.unravel_index(cells, shape) if by else ()
    keys = {name: code.astype(np.int32) for name, code in zip(by, codes, strict=True)}
    return Totals(keys, np.minimum(added, _MOST_SUM).astype(np.int64), largest)
