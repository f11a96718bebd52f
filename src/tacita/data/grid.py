"""Do numbers lie on the grid that the schema declares? Asked where a promise is made in its steps.

Two numbers that are one step apart could otherwise be rounded to two. Messages name the column and the rule, never a
value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacita.data.confidential import Confidential, asked, rows
from tacita.data.engine import number_of
from tacita.data.schema import Numeric, Schema
from tacita.errors import SchemaError


def check_grid(data: Confidential, columns: Sequence[str], schema: Schema) -> None:
    """Refuse a file in which a number of these columns lies between two steps."""
    table = rows(data)

    def write() -> Any:
        off = {f"f{at}": off_grid(table[name], schema[name].kind).any() for at, name in enumerate(columns)}
        return table.aggregate(**off)

    (found,) = asked(data, ("grid", schema, *columns), write).to_pylist()
    for at, name in enumerate(columns):
        if found[f"f{at}"]:
            kind = schema[name].kind
            step = f"{kind.scale} decimal places" if isinstance(kind, Numeric) else "whole numbers"
            raise SchemaError(
                f"{name}: a value is not on the declared grid ({step}), in whose steps the promise is made; round the "
                "values in the file, or declare more places"
            )


def off_grid(stored: Any, kind: Any) -> Any:
    """Whether a number is no multiple of its step, as exactly as its file stores numbers."""
    number = number_of(stored)
    parts = 10.0**kind.scale if isinstance(kind, Numeric) else 1.0
    nearest = (number * parts + 0.5).floor().cast("float64") / parts
    if stored.type().is_floating() and stored.type().nbytes == 4:
        nearest = nearest.cast("float32").cast("float64")
    finite = number.abs() < float("inf")
    return (finite & (nearest != number)).fill_null(False)
