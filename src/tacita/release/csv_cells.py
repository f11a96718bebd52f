"""CSV files that a spreadsheet opens without running anything.

A text cell that begins with = + - @, a tab or a return is taken for a formula there, so an apostrophe is put in front
of it, as spreadsheets themselves do; codes that are plain numbers, such as -9, stay as they are. Only CSV files are
changed: the Parquet file beside each holds the text as it is.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?$"


def write_csv(table: pa.Table, path: Path) -> None:
    """The table as a CSV file, with its text made harmless."""
    pa_csv.write_csv(harmless(table), path)


def harmless(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before each text that a spreadsheet would run.

    >>> harmless(pa.table({"code": ["=1+1", "-9", "a=b"], "n": [-1, 2, 3]})).to_pydict()
    {'code': ["'=1+1", '-9', 'a=b'], 'n': [-1, 2, 3]}
    >>> harmless(pa.table({"code": pa.array(["=1", "a"], pa.large_string()).dictionary_encode()}))["code"].to_pylist()
    ["'=1", 'a']
    """
    for place, field in enumerate(table.schema):
        held = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_string(held) or pa.types.is_large_string(held):
            table = table.set_column(place, field.name, _harmless(table[field.name].cast(pa.string())))
    return table


def harmless_text(text: str) -> str:
    """The same for one text, such as a code in a record that describes the CSV file."""
    return str(_harmless(pa.chunked_array([[text]]))[0].as_py())


def _harmless(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_formula = pc.match_substring_regex(column, _FORMULA)
    is_number = pc.match_substring_regex(column, _NUMBER)
    runs = pc.and_not(is_formula, is_number)
    return pc.if_else(runs, pc.binary_join_element_wise("'", column, ""), column)
