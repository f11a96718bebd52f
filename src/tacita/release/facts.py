"""What a published table holds, said once: the codebook, the data package and the page all read it from here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from tacita.tables.statistics import TOTAL

Kind = Literal["string", "integer", "number", "date"]
ALL_LEVELS = (TOTAL, "All levels together")

MEASURES: Mapping[str, str] = {
    "value": "Published value; an estimate, since noise was added on purpose",
    "margin_of_error": "Margin of error: the exact value lies within value ± margin with the stated confidence",
    "confidence": "Confidence of the margin of error",
    "guarantee": "Privacy guarantee of the value",
    "quality": "Quality by relative margin: A up to 5%, B up to 20%, C up to 50%, D above or unknown",
    "level": "What the row is: a cell or a total of cells, or the level of its cell",
    "rank": "Rank by published value, 1 for the largest",
    "rank_best": "The best rank that the margins of error leave open",
    "rank_worst": "The worst rank that the margins of error leave open",
}


@dataclass(frozen=True)
class Column:
    """One column of a published file; `levels` are code and label in the declared order.

    `bounds` are the declared bounds of a number and `drawn` says that its values were drawn by a synthesizer; both are
    for synthetic files.
    """

    name: str
    label: str
    kind: Kind
    levels: tuple[tuple[str, str], ...] = ()
    bounds: tuple[float, float] | None = None
    drawn: bool = False


@dataclass(frozen=True)
class TableFacts:
    """One published file as its reader sees it: a table, or one of a `series` of synthetic files."""

    name: str
    title: str
    universe: str
    guarantee: str
    rows: int
    columns: tuple[Column, ...]
    file: str = ""
    series: str = ""

    @property
    def path(self) -> str:
        """Where the file is in its bundle."""
        return self.file or f"tables/{self.name}.csv"

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that tell one row from another; two synthetic records may well be alike."""
        return () if self.series else tuple(column.name for column in self.columns if column.levels)


def table_facts(
    name: str,
    title: str,
    universe: str,
    guarantee: str,
    table: pa.Table,
    levels: Mapping[str, tuple[tuple[str, str], ...]],
    labels: Mapping[str, str] | None = None,
) -> TableFacts:
    """Describe a table from its columns and the schema's public level lists, and labels of columns where it has them.

    >>> t = pa.table({"sex": ["F", "M"], "value": [3, 4]})
    >>> facts = table_facts("jobs", "Jobs", "All jobs", "ε = 1", t, {"sex": (("F", "Female"), ("M", "Male"))})
    >>> facts.keys, facts.columns[0].label, facts.columns[1].kind
    (('sex',), 'Sex', 'integer')
    """
    columns = tuple(
        Column(field.name, _label(field.name, labels or {}), kind_of(field.type), levels.get(field.name, ()))
        for field in table.schema
    )
    return TableFacts(name, title, universe, guarantee, table.num_rows, columns)


def spoken(name: str) -> str:
    """A column name as a word at the head of a sentence.

    >>> spoken("workplace_id")
    'Workplace id'
    """
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def _label(name: str, labels: Mapping[str, str]) -> str:
    if name in MEASURES:
        return MEASURES[name]
    column = name if name in labels else name.removesuffix("_label")
    return (labels.get(column) or spoken(column)) + ("" if column == name else ", in words")


def kind_of(storage: pa.DataType) -> Kind:
    """How a stored column is called in the records."""
    if pa.types.is_integer(storage):
        return "integer"
    if pa.types.is_date(storage):
        return "date"
    return "number" if pa.types.is_floating(storage) or pa.types.is_decimal(storage) else "string"
