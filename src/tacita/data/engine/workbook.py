"""Excel workbooks as Arrow: one sheet, names in its first row, values as Excel last computed them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacita.data.engine.frames import arrow_column, wanted
from tacita.errors import SchemaError, TacitaError

WORKBOOK = (".xlsx", ".xlsm")
_DIGITS = 10**15  # Excel keeps fifteen digits of a number: an id with more has lost its last ones


def read_workbook(path: Path, columns: Sequence[str]) -> pa.Table:
    """The rows of the only sheet; rows without any value are formatting, not records."""
    names, rows = _sheet(path)
    kept: dict[str, list[Any]] = {name: [] for name in wanted(names, columns)}
    places = [(names.index(name), values) for name, values in kept.items()]
    for row in rows:
        if any(value is not None for value in row):
            for place, values in places:
                values.append(row[place] if place < len(row) else None)
    for name, values in kept.items():
        if any(isinstance(one, int | float) and abs(one) >= _DIGITS for one in values):
            raise SchemaError(
                f"data {path.name}, column {name}: holds numbers of more than 15 digits, of which Excel keeps 15; "
                "store such ids as text, or give the file as CSV"
            )
    return pa.table({name: arrow_column(values, f"{path.name}.{name}") for name, values in kept.items()})


def workbook_header(path: Path) -> list[str]:
    """The names in the first row."""
    return _sheet(path)[0]


def _sheet(path: Path) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    try:
        book = importlib.import_module("openpyxl").load_workbook(path, read_only=True, data_only=True)
        if len(book.worksheets) != 1:
            raise SchemaError(
                f"data {path.name}: has {len(book.worksheets)} sheets; save that of the records as a file of its own"
            )
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # what a file says of its own size may be wrong
        rows = sheet.iter_rows(values_only=True)
        names = ["" if name is None else str(name) for name in next(rows, ())]
    except TacitaError:
        raise
    except Exception as problem:  # the reader's message may quote values
        raise SchemaError(
            f"data {path.name}: cannot be read ({type(problem).__name__}); check that it is a whole Excel workbook, "
            "not protected by a password"
        ) from None
    while names and not names[-1]:
        names.pop()
    return names, _guarded(rows, path)


def _guarded(rows: Iterator[tuple[Any, ...]], path: Path) -> Iterator[tuple[Any, ...]]:
    try:
        yield from rows
    except Exception as problem:
        raise SchemaError(f"data {path.name}: cannot be read to its end ({type(problem).__name__})") from None
