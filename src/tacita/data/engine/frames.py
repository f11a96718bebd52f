"""Tables in memory, and the statistical packages' files that are read into memory, as Arrow."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacita.data.engine.expressions import EXACT
from tacita.data.engine.xpt import is_cut_short
from tacita.errors import SchemaError, UsageError

STATISTICAL = (".sas7bdat", ".xpt", ".dta", ".sav", ".zsav")


def read_statistical(path: Path, columns: Sequence[str]) -> pa.Table:
    """SAS, Stata or SPSS, with user-missing values kept as the codes they are."""
    readers = importlib.import_module("pyreadstat")
    suffix = path.suffix.lower()
    try:
        if suffix == ".sas7bdat":
            frame, _ = readers.read_sas7bdat(str(path), user_missing=True, disable_datetime_conversion=True)
        elif suffix == ".xpt":
            frame, _ = readers.read_xport(str(path), disable_datetime_conversion=True)
            if is_cut_short(path, frame.shape[1], len(frame)):
                raise EOFError
        elif suffix == ".dta":
            frame, _ = readers.read_dta(str(path), user_missing=True, disable_datetime_conversion=True)
        else:
            frame, _ = readers.read_sav(str(path), user_missing=True, disable_datetime_conversion=True)
    except Exception as problem:  # the reader's message may quote values
        raise SchemaError(
            f"data {path.name}: cannot be read ({type(problem).__name__}); "
            "check that the file is complete and of the kind its name says"
        ) from None
    return to_arrow(frame, columns, path.name)


def to_arrow(frame: Any, columns: Sequence[str], what: str) -> pa.Table:
    """A pandas or Arrow table (or anything that offers itself as Arrow) reduced to the columns that are needed."""
    if isinstance(frame, pa.Table):
        names = wanted(frame.column_names, columns)
        return pa.table({name: _for_engine(frame[name]) for name in names})
    if hasattr(frame, "iloc"):
        names = wanted([name for name in frame.columns if isinstance(name, str)], columns)
        return pa.table({name: arrow_column(frame[name], f"{what}.{name}") for name in names})
    if hasattr(frame, "__arrow_c_stream__"):
        return to_arrow(pa.table(frame), columns, what)
    raise UsageError(f"{what}: must be a pandas or Arrow table, not {type(frame).__name__}")


def wanted(present: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The columns asked for; under another case where the exact name is absent, so that the error can say so."""
    folded = {name.casefold(): name for name in present}
    matches = (name if name in present else folded.get(name.casefold()) for name in columns)
    return [name for name in dict.fromkeys(matches) if name is not None]


def arrow_column(column: Any, what: str) -> pa.Array:
    """One column of values as Python or pandas holds them."""
    try:
        array = pa.Array.from_pandas(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        # Numbers and letters mixed, as tagged missing values of SAS and Stata give them, or whole numbers that
        # no one type of Arrow holds exactly: each as its text.
        array = pa.array([code_text(value) for value in column], type=pa.string())
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not _is_plain(array.type):
        raise SchemaError(f"{what}: holds {array.type}; a column must hold text, numbers, dates or true/false")
    return _for_engine(array)


def _for_engine(array: Any) -> Any:
    """The same values in a type that the engines know: wide decimals have none, and as floats would lose digits."""
    kind = array.type
    if pa.types.is_null(kind):  # DuckDB would take a column without a value for whole numbers
        return array.cast(pa.string())
    if pa.types.is_float16(kind):
        return array.cast(pa.float32())
    if pa.types.is_decimal256(kind) or (pa.types.is_decimal(kind) and kind.scale < 0):
        return pa.array([code_text(value) for value in array.to_pylist()], type=pa.string())
    return array


def _is_plain(kind: Any) -> bool:
    return not pa.types.is_nested(kind) and not pa.types.is_binary(kind)


def code_text(value: Any) -> str | None:
    """One stored code as text, by the same rules as `text_of` in the engine."""
    if value is None or value != value or value == "":
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        digits = format(value, "f")
        return (digits.rstrip("0").rstrip(".") or "0") if "." in digits else digits
    if isinstance(value, float) and abs(value) < EXACT and value.is_integer():
        return str(int(value))
    return str(value)
