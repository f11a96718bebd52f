"""Tables in memory, and the statistical packages' files that are read into memory, as Arrow.

Excel workbooks as Arrow: one sheet, names in its first row, values as Excel last computed them.

SAS transport files that were cut short: the format has no end mark, and a reader takes what is there for all.

The first line of a CSV file, read with a bound: what decides about a file before an engine looks at it.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import mmap
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacita.data.engine.calendars import calendar_of, days
from tacita.data.engine.expressions import EXACT
from tacita.errors import SchemaError, TacitaError, UsageError

# Types of Python, NumPy and pandas that are one kind of value; what is missing is of any.
_KINDS = {
    **dict.fromkeys(("bool", "bool_"), "true or false"),
    **dict.fromkeys(("NoneType", "NaTType", "NAType"), ""),
    **dict.fromkeys(
        ("int", "float", *(f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64))), "number"
    ),
    **dict.fromkeys(("datetime", "Timestamp"), "time"),
}
STATISTICAL = (".sas7bdat", ".xpt", ".dta", ".sav", ".zsav")


def read_statistical(path: Path, columns: Sequence[str], dates: Collection[str] = ()) -> pa.Table:
    """SAS, Stata or SPSS, with user-missing values kept as the codes they are. Days are numbers in such files; those
    of the columns `dates` become days where the file says how it counts them."""
    readers = importlib.import_module("pyreadstat")
    suffix = path.suffix.lower()
    try:
        if suffix == ".sas7bdat":
            frame, about = readers.read_sas7bdat(str(path), user_missing=True, disable_datetime_conversion=True)
        elif suffix == ".xpt":
            frame, about = readers.read_xport(str(path), disable_datetime_conversion=True)
            if is_cut_short(path, frame.shape[1], len(frame)):
                raise EOFError
        elif suffix == ".dta":
            frame, about = readers.read_dta(str(path), user_missing=True, disable_datetime_conversion=True)
        else:
            frame, about = readers.read_sav(str(path), user_missing=True, disable_datetime_conversion=True)
    except Exception as problem:  # the reader's message may quote values
        raise SchemaError(
            f"data {path.name}: cannot be read ({type(problem).__name__}); "
            "check that the file is complete and of the kind its name says"
        ) from None
    table = to_arrow(frame, columns, path.name)
    for name in dates:
        calendar = calendar_of(suffix, about.original_variable_types.get(name))
        if calendar is not None and name in table.column_names:
            table = table.set_column(table.column_names.index(name), name, days(frame[name], calendar))
    return table


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
        mixed = str(getattr(column, "dtype", "object")) in ("object", "bool") and _is_mixed(array.type, column)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        # Numbers and letters mixed, as tagged missing values of SAS and Stata give them, or whole numbers that
        # no one type of Arrow holds exactly.
        mixed = True
    if mixed:
        array = pa.array([code_text(value) for value in column], type=pa.string())  # each as its text
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not _is_plain(array.type):
        raise SchemaError(f"{what}: holds {array.type}; a column must hold text, numbers, dates or true/false")
    return _for_engine(array)


def _is_mixed(kind: Any, column: Iterable[Any]) -> bool:
    """Whether Arrow found one type for values of several kinds, or for true and false. One more value and it would not,
    and what all others are read as must not depend on that: True is 1 beside numbers and text beside text."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return False
    found = {_KINDS.get(one.__name__, one.__name__) for one in set(map(type, column))} - {""}
    return "true or false" in found or len(found) > 1


def _is_boolean(value: Any) -> bool:
    return _KINDS.get(type(value).__name__) == "true or false"


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
    if _is_boolean(value):
        return str(value).lower()
    if isinstance(value, Decimal):
        digits = format(value, "f")
        return (digits.rstrip("0").rstrip(".") or "0") if "." in digits else digits
    if isinstance(value, float) and abs(value) < EXACT and value.is_integer():
        return str(int(value))
    return str(value)


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


_LINE = 80  # bytes; everything in the format is padded to it with blanks
_NAMESTR = 140  # bytes of the description of one variable
_HEADER = b"HEADER RECORD*******"


def is_cut_short(path: Path, variables: int, rows: int) -> bool:
    """Whether bytes are missing at the end of a file in which so many variables and rows were found.

    A version 5 file that ends exactly with a row cannot be told from a whole one.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        names, observed = content.find(_HEADER + b"NAM"), content.find(_HEADER + b"OBS")
        if len(content) % _LINE or names < 0 or observed < 0:
            return True
        told = content[observed + 48 : observed + _LINE].split()
        if content[observed + 20 : observed + 25] == b"OBSV8" and told and told[0].isdigit():
            return int(told[0]) != rows
        places = (names + _LINE + _NAMESTR * number + 4 for number in range(variables))
        width = sum(int.from_bytes(content[place : place + 2], "big") for place in places)
        more = content.find(_HEADER + b"MEMB", observed)  # a second table in the same file
        first, end = observed + _LINE, more if more >= 0 else len(content)
        rest = (end - first) % width if width else 0
        return rest >= _LINE or content[end - rest : end].strip(b" ") != b""


MOST_COLUMNS = 5_000  # of a CSV file: the engines look at every column to find out how it is written
NOT_UTF8 = "is not text in UTF-8; save it as CSV in UTF-8"
_LONGEST_LINE = 1 << 22  # characters
_QUOTED = re.compile('"[^"]*"')


def csv_header(path: Path, errors: str = "strict") -> tuple[list[str], str]:
    """The column names, and the separator: the one that occurs most between names. `errors` is that of Python's
    decoders. No other line is looked at, so that no record has a say in how others are read."""
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rt", newline="", encoding="utf-8-sig", errors=errors) as lines:
        first = lines.readline(_LONGEST_LINE + 1)
    if len(first) > _LONGEST_LINE:
        raise SchemaError(f"data {path.name}: its first line has no end; a CSV file begins with a line of column names")
    separator = max(",;\t|", key=_QUOTED.sub("", first).count)
    names = [name.strip() for name in next(csv.reader([first.replace("\0", "")], delimiter=separator), [])]
    if not any(names):
        raise SchemaError(f"data {path.name}: its first line is empty; a CSV file begins with a line of column names")
    if len(names) > MOST_COLUMNS:
        raise SchemaError(
            f"data {path.name}: a CSV file may have {MOST_COLUMNS:,} columns and this one has more; keep the columns "
            "that the schema declares, or give the file as Parquet"
        )
    return names, separator


def told_apart(names: Sequence[str]) -> list[str]:
    """Column names for an engine that knows no empty ones, and none that differ in capitals alone.

    >>> told_apart(["id", "", "ID"])
    ['id', 'column1', 'ID_2']
    """
    given = [name or f"column{place}" for place, name in enumerate(names)]
    seen = [name.casefold() for name in given]
    return [f"{name}_{place}" if seen[place] in seen[:place] else name for place, name in enumerate(given)]
