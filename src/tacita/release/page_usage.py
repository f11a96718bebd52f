"""Code to copy, for people who analyse what was published: in Python, R and Stata.

It names the bundle's own files, columns and codes, so it runs as it stands in the unpacked bundle. Where synthetic
files have survey weights the code uses them, and where there is one file it does not combine. The code itself is in
`pages/templates/code`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tacita.data.schema import Categorical, Integer, Numeric, Schema
from tacita.inference import snippets
from tacita.mechanisms.table.levels import LEVEL
from tacita.pages.render import code
from tacita.release.csv_cells import harmless_text
from tacita.release.microdata import FOLDER, csv_name, is_unfit
from tacita.release.page_products import weight_of
from tacita.tables.publish import attributes, finest_level, summed_over, without_totals
from tacita.tables.statistics import TOTAL

Blocks = list[tuple[str, str]]
_LANGUAGES = (("Python", "py"), ("R", "R"), ("Stata", "do"))


def table_code(folder: Path, records: Sequence[Mapping[str, Any]]) -> Blocks:
    """Code that adds, compares and divides cells of one table of a bundle."""
    # The rule for sums takes independent errors, so a table without worker attributes is the better example.
    # Means and quantiles of cells do not add up at all.
    summable = [one for one in records if (one["settings"].get("statistic") or "count") in ("count", "sum")]
    for record in sorted(summable, key=lambda one: bool(one["settings"].get("worker"))):
        table = pq.read_table(folder / "tables" / f"{record['name']}.parquet")
        if "measure" in table.column_names:
            continue  # several numbers of each cell, which do not add up with one another
        return code_for_cells(record["name"], table, record["settings"].get("totals") or ())
    return []


def code_for_cells(name: str, table: pa.Table, totals: Sequence[str]) -> Blocks:
    """Compares the first two codes of a table; totals are left out of sums, or they count twice."""
    keys = [one for one in attributes(table) if one != LEVEL]
    cells = without_totals(table, totals)
    codes = [harmless_text(str(one)) for one in dict.fromkeys(cells[keys[0]].to_pylist())][:2] if keys else []
    if len(codes) < 2:
        return []
    texts = [position for position, field in enumerate(table.schema, start=1) if pa.types.is_string(field.type)]
    view = {"name": name, "keys": keys, "codes": codes, "texts": texts, "finest": finest_level(table)}
    summed = summed_over(table, totals)
    return [(language, code(f"cells.{form}.j2", total=TOTAL, summed=summed, **view)) for language, form in _LANGUAGES]


@dataclass(frozen=True)
class Example:
    """A number that can be averaged in each language: a numeric column, or whether a category is at one code."""

    column: str
    code: str | None
    texts: tuple[int, ...]
    weight: str | None

    @property
    def code_in_csv(self) -> str:
        return harmless_text(self.code or "")


def files_code(files: Sequence[Path], plan: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a reader is told about combining the synthetic files, and code that does it; None without files."""
    if not files:
        return None
    stored = pq.read_schema(files[0])
    note = json.loads((stored.metadata or {}).get(b"tacita-implicate", b"{}"))
    view: dict[str, Any] = {
        "kind": str(note.get("kind", "partial")),
        "many": len(files),
        "keeps_columns": bool(set(stored.names) - set(note.get("synthesized", ()))),
        "unit": plan["schema"]["dataset"]["unit"],
        "example": _example(plan, stored.names),
    }
    unfit = any(is_unfit(one) for one in plan.get("microdata", []))
    first = csv_name(1, rehearsal=plan["rehearsal"], unfit=unfit)
    before = {"R": f"{snippets.R}\n", "Stata": f"{snippets.STATA}\n"} if len(files) > 1 else {}
    blocks = [
        (language, (before.get(language, "") + code(f"files.{form}.j2", folder=FOLDER, first=first, **view)).strip())
        for language, form in _LANGUAGES
    ]
    return {**view, "blocks": blocks}


def _example(plan: Mapping[str, Any], names: Sequence[str]) -> Example:
    schema = Schema.from_dict(plan["schema"])
    weights = (weight_of(one["mechanism"], schema, names) for one in plan.get("microdata", []))
    weight = next((one for one in weights if one is not None), None)
    texts = tuple(at for at, name in enumerate(names, start=1) if isinstance(schema[name].kind, Categorical))
    for name in names:
        if name != weight and isinstance(schema[name].kind, Integer | Numeric):
            return Example(name, None, texts, weight)
    name = next((one for one in names if isinstance(schema[one].kind, Categorical)), names[0])
    kind = schema[name].kind
    return Example(name, kind.levels[0] if isinstance(kind, Categorical) else "", texts, weight)
