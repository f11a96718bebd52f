"""Whether two files hold the same values, whatever library wrote them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tacita.errors import VerificationError
from tacita.pages.charts import LEFT_OUT
from tacita.release.bundle_files import harmless

_CHART = re.compile(rf"<svg\b|{re.escape(LEFT_OUT)}")
_END = "</svg>"
_TAG = re.compile(r'</?(?:svg|g|path|line|rect|text|tspan)((?:\s+[\w:-]+="[^"<>]*")*)\s*/?>')
_ATTRIBUTE = re.compile(r'([\w:-]+)="([^"]*)"')
_ATTRIBUTES = frozenset(
    [
        "aria-hidden",
        "aria-label",
        "aria-roledescription",
        "class",
        "d",
        "display",
        "dx",
        "dy",
        "fill",
        "fill-opacity",
        "fill-rule",
        "font-family",
        "font-size",
        "font-style",
        "font-weight",
        "height",
        "opacity",
        "pointer-events",
        "role",
        "stroke",
        "stroke-dasharray",
        "stroke-dashoffset",
        "stroke-linecap",
        "stroke-linejoin",
        "stroke-miterlimit",
        "stroke-opacity",
        "stroke-width",
        "style",
        "text-anchor",
        "transform",
        "version",
        "viewBox",
        "width",
        "x",
        "x1",
        "x2",
        "y",
        "y1",
        "y2",
    ]
)
_FITTED = re.compile(r"width:100%;max-width:(\d+px|100%);height:auto")
_TEXTS = pa.types.is_string, pa.types.is_large_string
_OTHERS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_dictionary,
    pa.types.is_null,
)
_TOLERANCE = 1e-9  # relative: the last digits of a float may depend on the machine and on the library


def same_values(one: pa.Table, two: pa.Table) -> bool:
    """Equal names, equal rows in the same order; floats to nine digits and everything else exactly.

    >>> same_values(pa.table({"a": [0.1, None]}), pa.table({"a": [0.1 + 1e-12, None]}))
    True
    >>> same_values(pa.table({"a": [1]}), pa.table({"a": [2]}))
    False
    """
    if one.schema.names != two.schema.names or one.num_rows != two.num_rows:
        return False
    for name in one.schema.names:
        ours, theirs = one[name], two[name]
        if pa.types.is_floating(theirs.type) and pa.types.is_floating(ours.type):
            if not ours.is_null().equals(theirs.is_null()):
                return False
            left, right = (column.to_numpy().astype(np.float64) for column in (ours, theirs))
            if not np.allclose(left, right, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True):
                return False
        elif not ours.equals(theirs):
            return False
    return True


def same_document(one: Any, two: Any) -> bool:
    """The same for JSON values.

    >>> same_document({"a": [1, 0.1]}, {"a": [1, 0.1 + 1e-12]})
    True
    """
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same_document(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same_document, one, two))
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE) or (one != one and two != two)
    return type(one) is type(two) and bool(one == two)


def same_page(one: str, two: str) -> bool:
    """Equal to the letter but for the charts, of which the words and values in words are compared.

    How a chart is drawn depends on the drawing library, on the fonts of the machine, and on whether the account that
    made the page could draw at all.

    A chart has only what draws lines, areas and words: nothing that runs, loads, links or covers the page.

    >>> same_page('<svg><g fill="red"/><text>a</text></svg>', '<svg><g fill="blue"/><text>a</text></svg>')
    True
    >>> same_page("<p>1</p><svg><text>a</text></svg>", "<p>1</p><svg><text>b</text></svg>")
    False
    >>> same_page("<svg><text>a</text></svg>", '<svg onload="x"><text>a</text></svg>')
    False
    """
    (ours, left_charts), (theirs, right_charts) = _parted(one), _parted(two)
    charts = list(zip(left_charts, right_charts, strict=False))
    return (
        ours == theirs
        and all(_is_plain(chart) for pair in charts for chart in pair if "<svg" in chart)
        and all(
            sorted(_said(left)) == sorted(_said(right))
            for left, right in charts
            if ("<svg" in left and "<svg" in right) or any(_is_map(one) for one in (left, right))
        )
    )


def _parted(page: str) -> tuple[list[str], list[str]]:
    """What stands between the charts, and the charts; in one pass, however many begin and never end."""
    between, charts, at = [], [], 0
    for begins in _CHART.finditer(page):
        if begins.start() < at:
            continue
        drawn = begins[0].startswith("<svg")
        ends = page.find(_END, begins.end()) + len(_END) if drawn else begins.end()
        if ends < begins.end():
            break  # no later one ends either
        between.append(page[at : begins.start()])
        charts.append(page[begins.start() : ends])
        at = ends
    return [*between, page[at:]], charts


def _is_plain(chart: str) -> bool:
    """Whether a chart is made of nothing but the elements and attributes that drawing takes, in their plainest form."""
    rest = _TAG.sub("", chart)
    if "<" in rest or ">" in rest or chart.count("<svg") != 1:
        return False
    pairs = [pair for tag in _TAG.finditer(chart) for pair in _ATTRIBUTE.findall(tag[1])]
    return all(name in _ATTRIBUTES and _is_harmless(name, value) for name, value in pairs)


def _is_harmless(name: str, value: str) -> bool:
    """Only a label may have any text; a style is the one that fits a picture to its column."""
    if name == "style":
        return _FITTED.fullmatch(value) is not None
    return name.startswith("aria-") or re.search(r"url|[&\\]", value, re.IGNORECASE) is None


def _is_map(chart: str) -> bool:
    """Which no library draws: it is the same everywhere, and never left out."""
    return chart.startswith('<svg class="map"')


def _said(chart: str) -> Iterator[str]:
    if _is_map(chart):
        yield chart
    yield from re.findall(r'aria-label="([^"]*)"', chart)
    yield from re.findall(r">([^<>]+)<", chart)


def read_table(path: Path, most_cells: int, most_letters: int) -> pa.Table:
    """A Parquet file of a bundle. A few bytes can stand for any number of rows, and for a long text in each of them, so
    cells and letters are counted before they are unpacked.
    """
    schema, facts = pq.read_schema(path), pq.read_metadata(path)
    too_much = VerificationError(f"{path.parent.name}/{path.name} claims more rows than its bundle can hold")
    if facts.num_rows * max(facts.num_columns, 1) > most_cells:
        raise too_much
    if not all(any(is_one(field.type) for is_one in (*_TEXTS, *_OTHERS)) for field in schema):
        raise VerificationError(f"{path.parent.name}/{path.name} holds other things than numbers, days and texts")
    texts = [field.name for field in schema if any(is_one(field.type) for is_one in _TEXTS)]
    columns = []
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for field in schema:
            column = file.read(columns=[field.name]).column(0)
            if field.name in texts:
                most_letters -= sum(map(_letters, column.chunks))
                if most_letters < 0:
                    raise too_much
                column = column.cast(field.type)
            columns.append(column)
    return pa.table(columns, schema=schema)


def _letters(column: Any) -> int:
    """Of a column of texts, each of which is held once, when each row has its own."""
    lengths = pc.binary_length(column.dictionary)
    return pc.sum(pc.take(lengths, column.indices).cast(pa.int64())).as_py() or 0


def read_both(path: Path, twin: Path | None = None) -> pa.Table:
    """A table that stands in its bundle as Parquet and as CSV, where each cell and each letter take at least a byte."""
    twin = twin or path.with_suffix(".csv")
    size = twin.stat().st_size
    table = read_table(path, size, size)
    options = pa_csv.ConvertOptions(
        column_types=table.schema, strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    copy = pa_csv.read_csv(twin, convert_options=options)
    plain = table.replace_schema_metadata(None)
    # Bundles of earlier versions have the text of their CSV files as it is.
    if not (copy.equals(plain) or copy.equals(harmless(plain))):
        place = path.parent.name
        raise VerificationError(f"{place}/{twin.name} and {place}/{path.name} do not hold the same values")
    return table
