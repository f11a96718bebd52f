"""The first line of a CSV file, read with a bound: what decides about a file before an engine looks at it."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

from tacita.errors import SchemaError

MOST_COLUMNS = 5_000  # of a CSV file: the engines look at every column to find out how it is written
NOT_UTF8 = "is not text in UTF-8; save it as CSV in UTF-8"
_LONGEST_LINE = 1 << 22  # characters


def csv_header(path: Path, errors: str = "strict") -> list[str]:
    """The column names, split at the separator that occurs most; `errors` is that of Python's decoders."""
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rt", newline="", encoding="utf-8-sig", errors=errors) as lines:
        first = lines.readline(_LONGEST_LINE + 1)
    if len(first) > _LONGEST_LINE:
        raise SchemaError(f"data {path.name}: its first line has no end; a CSV file begins with a line of column names")
    separator = max(",;\t|", key=first.count)
    names = next(csv.reader([first.replace("\0", "")], delimiter=separator), [])
    if len(names) > MOST_COLUMNS:
        raise SchemaError(
            f"data {path.name}: a CSV file may have {MOST_COLUMNS:,} columns and this one has more; keep the columns "
            "that the schema declares, or give the file as Parquet"
        )
    return names
