"""The tables of a bundle as one Excel workbook, where the specification says `excel = true`.

It is made from the published tables and the records of the bundle alone, and `verify` makes it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tacita.privacy import Guarantee
from tacita.release.facts import TableFacts
from tacita.release.words import firmly, left_open, odds_example, promise_in_short
from tacita.release.xlsx import MOST_ROWS, Cell, Row, Sheet, workbook

WORKBOOK = "tables.xlsx"
_SAID_ABOVE = ("confidence", "guarantee")  # the same in every row of a table
_READING = (
    "A value comes with its margin of error: the exact value lies within value ± margin, at the confidence that stands "
    "above the table.",
    "To compare two values, take the root of the sum of their squared margins; a difference smaller than that is no "
    "evidence of a difference.",
    "A cell without a value was withheld or could not be bounded. A margin covers what the table says it covers, not "
    "late reports or wrong codes.",
)


def tables_workbook(
    folder: Path, plan: Mapping[str, Any], guarantee: Guarantee, facts: Sequence[TableFacts], checks: Sequence[str]
) -> bytes:
    """A sheet on the release, then one for each of its published tables; `checks` are verdicts of self-checks."""
    about = Sheet("about", (plan["title"],), (), _about(plan, guarantee, facts, checks))
    return workbook([about, *(_sheet(one, _read(folder, one), plan["title"]) for one in facts)])


def _about(
    plan: Mapping[str, Any], guarantee: Guarantee, facts: Sequence[TableFacts], checks: Sequence[str]
) -> list[Row]:
    rows: list[Row] = [
        *(("Self-check", one) for one in checks),
        ("Publisher", plan["publisher"] or "not stated"),
        ("Promise", promise_in_short(guarantee)),
        ("In odds", odds_example(guarantee) or "No bound on odds is stated."),
        ("Privacy loss", firmly(guarantee.loss, guarantee.holds)),
        ("Unit of the file", plan["schema"]["dataset"]["unit"]),
        *(("Assumed", one) for one in guarantee.assumes),
        *(("Not protected", one) for one in left_open(guarantee)),
        *(("How to read it", one) for one in _READING),
    ]
    columns = {column.name: column.label for one in facts for column in one.columns if column.name not in _SAID_ABOVE}
    rows += [(f"Column {name}", label) for name, label in columns.items()]
    rows += [(f"Sheet {one.name}", f"{one.title} ({one.path})") for one in facts]
    return rows


def _sheet(fact: TableFacts, table: pa.Table, title: str) -> Sheet:
    told = {name: table[name][0].as_py() if table.num_rows else "" for name in _SAID_ABOVE}
    confidence = f"Margins at {told['confidence']:.4g} confidence. " if table.num_rows else ""
    notes = (f"{title}: {fact.title}", f"{fact.universe}. {confidence}Guarantee: {told['guarantee'] or fact.guarantee}")
    if table.num_rows > MOST_ROWS - len(notes) - 1:
        return Sheet(fact.name, (*notes, f"Too long for a sheet: see {fact.path}"), (), [])
    shown = table.drop_columns(list(_SAID_ABOVE))
    rows: list[tuple[Cell, ...]] = list(zip(*(shown[name].to_pylist() for name in shown.column_names), strict=True))
    return Sheet(fact.name, notes, tuple(shown.column_names), rows)


def _read(folder: Path, fact: TableFacts) -> pa.Table:
    """The table as it was published: Parquet where there is one, since codes stand there as they are."""
    stored = (folder / fact.path).with_suffix(".parquet")
    if stored.is_file():
        return pq.read_table(stored)
    texts = {column.name: pa.string() for column in fact.columns if column.kind == "string"}
    options = pa_csv.ConvertOptions(column_types=texts, strings_can_be_null=False)
    return pa_csv.read_csv(folder / fact.path, convert_options=options)
