"""Confidential rows as arrays: numbers by the schema's rule, categories as positions in their lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from tacita.data.confidential import Confidential, asked, rows
from tacita.data.engine import level_code, ruled_number
from tacita.data.schema import Categorical, Date, Integer, Numeric, Schema
from tacita.data.schema.kinds import Kind
from tacita.errors import UsageError

Floats = NDArray[np.float64]


def refuse_linked(schema: Schema, name: str) -> None:
    """A synthesis reads one file with one record per unit."""
    if (table := schema[name].table) != "job":
        raise UsageError(
            f"{name}: stands in the {table} table of linked files, and a synthesis reads one file; "
            f"join the tables, and take table out of variables.{name}"
        )


def read(data: Confidential, names: Iterable[str], *, gaps: bool = False) -> dict[str, Floats]:
    """One pass over the file for all columns; codes come as whole floats, missing numbers of their own state as NaN.

    With `gaps` whatever is missing and has no rule comes as it is: as NaN, or as a code below 0.
    """
    table, wanted = rows(data), tuple(dict.fromkeys(names))
    collected = asked(
        data,
        ("read", *wanted),
        lambda: table.select(
            **{name: ruled(table[name], data.schema[name].kind, name).cast("float64") for name in wanted}
        ),
    )
    arrays = {name: np.asarray(collected[name].to_numpy(zero_copy_only=False), dtype=np.float64) for name in wanted}
    for name, values in arrays.items():
        kind, bad = data.schema[name].kind, np.isnan(values)
        if isinstance(kind, Categorical):
            bad |= values < 0
        elif may_be_missing(kind):
            continue
        if not gaps and bool(bad.any()):
            refuse_gap(name)
    return arrays


def may_be_missing(kind: Kind) -> bool:
    """Whether a missing number is a state of its own."""
    return isinstance(kind, Integer | Numeric | Date) and kind.own_missing


def refuse_gap(name: str) -> NoReturn:
    """`Confidential.check` refuses such files before anything is spent; this is for callers that skip it."""
    raise UsageError(
        f"{name}: a value is missing or not declared and the schema has no rule for it; "
        f"declare variables.{name}.missing (and outside), or repair the file"
    )


def ruled(column: Any, kind: Kind, name: str) -> Any:
    """A stored value after the schema's own rule: a number, or the place of a level in its list."""
    if isinstance(kind, Categorical):
        return level_code(column, kind)
    if isinstance(kind, Integer | Numeric | Date):
        return ruled_number(column, kind)
    raise UsageError(f"{name}: is an id; ids are never read into a synthesis")
