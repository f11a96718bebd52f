"""Survey tables of a release, made from its synthetic samples: post-processing, so they cost nothing further.

`tables = [["field", "gender"]]` of a [[microdata]] asks for one: weighted counts, and the means of all answers, by the
crossing of these columns with margins and total, with standard errors of the design and of the synthesis together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from tacita.data.schema import Integer, Numeric, Schema
from tacita.errors import SpecError, VerificationError
from tacita.implicates import Implicates
from tacita.inference.survey import Count, Mean, Statistic, survey_table
from tacita.inference.survey.tables import ALL
from tacita.plan import Plan
from tacita.privacy import Guarantee
from tacita.release.alike import same_values
from tacita.release.bundle_files import harmless, write_csv
from tacita.release.facts import MEASURES, Column, TableFacts, kind_of, spoken
from tacita.tables.statistics import marks_of

By = tuple[str, ...]

CONFIDENCE = 0.95
_LABELS = {
    "statistic": "What is estimated",
    "value": "Estimate for the population, combined over the synthetic files",
    "standard_error": "Standard error: sampling and synthesis together",
    "degrees_of_freedom": "Degrees of freedom of the standard error",
    "margin_of_error": "Half the length of the interval for the population value, at the stated confidence",
    "confidence": "Confidence of the margin of error",
    "guarantee": "Privacy guarantee of the synthetic files",
    "quality": MEASURES["quality"],
}


def check_survey_tables(tables: Sequence[By], plan: Plan[Any], schema: Schema) -> None:
    """Refuse tables that the synthetic files of a plan cannot give, before anything is drawn."""
    if not tables:
        return
    if schema.design is None:
        raise SpecError("tables: survey tables need weights; add a [design] table to the schema")
    held = plan.reads(schema)
    for name in dict.fromkeys((*schema.design.of_errors, *(name for by in tables for name in by))):
        if name not in held:
            raise SpecError(f"tables: {name} is needed for them and is no column of the synthetic files; add it")
    for by in tables:
        for name in by:
            if ALL in schema.levels(name):
                raise SpecError(f'tables: {name} has a level "{ALL}", which is the name of a margin; rename the level')
        if len(set(by)) != len(by):
            raise SpecError("tables: each names a column once")
    if len({_stem(by) for by in tables}) != len(tables):
        raise SpecError("tables: two are by the same columns; keep one")
    if getattr(plan, "sets", 2) < 2:
        raise SpecError("tables: standard errors need two synthetic files or more; set sets = 3, say")


def file_of(name: str, by: By) -> str:
    """Where in the bundle the table stands.

    >>> file_of("doctors", ("field", "gender"))
    'tables/doctors-by-field-gender.csv'
    """
    return f"tables/{name}-{_stem(by)}.csv"


def _stem(by: By) -> str:
    return re.sub(r"[^\w-]", "_", "-".join(("by", *by)) if by else "total")


def made_table(files: Implicates, by: By, guarantee: str) -> pa.Table:
    """One survey table as it is published."""
    cells = survey_table(files, by, _statistics(files), confidence=CONFIDENCE)
    columns: dict[str, pa.Array] = {name: pa.array(cells[name], type=pa.string()) for name in (*by, "statistic")}
    for name, values in (
        ("value", cells["estimate"]),
        ("standard_error", cells["standard_error"]),
        ("degrees_of_freedom", cells["df"]),
        ("margin_of_error", (cells["upper"] - cells["lower"]) / 2),
    ):
        numbers = values.to_numpy(dtype=np.float64)
        columns[name] = pa.array(numbers, mask=~np.isfinite(numbers))
    columns["confidence"] = pa.array([CONFIDENCE] * len(cells))
    columns["guarantee"] = pa.array([guarantee] * len(cells), type=pa.string())
    value, half = (cells["estimate"].to_numpy(np.float64), (cells["upper"] - cells["lower"]).to_numpy(np.float64) / 2)
    columns["quality"] = pa.array(marks_of(value, half, np.isfinite(half)).tolist(), type=pa.string())
    return pa.table(columns)


def _statistics(files: Implicates) -> list[Statistic]:
    design = files.schema.design
    taken = () if design is None else design.columns
    numbers = [name for name in files.columns if isinstance(files.schema[name].kind, Integer | Numeric)]
    return [Count(), *(Mean(name) for name in numbers if name not in taken)]


def write_survey_tables(files: Implicates, name: str, tables: Sequence[By], folder: Path, guarantee: str) -> None:
    for by in tables:
        path = folder / file_of(name, by)
        path.parent.mkdir(exist_ok=True)
        write_csv(made_table(files, by, guarantee), path)


def survey_table_facts(
    files: Implicates, name: str, title: str, tables: Sequence[By], guarantee: Guarantee
) -> list[TableFacts]:
    """Each table as its reader sees it."""
    schema = files.schema
    statistics = tuple((str(one), spoken(str(one))) for one in _statistics(files))
    facts = []
    for by in tables:
        levels = {one: (*_labelled(schema, one), (ALL, "All")) for one in by} | {"statistic": statistics}
        table = made_table(files, by, "")
        columns = tuple(
            Column(
                field.name,
                _LABELS.get(field.name) or schema[field.name].label or spoken(field.name),
                kind_of(field.type),
                levels.get(field.name, ()),
            )
            for field in table.schema
        )
        facts.append(
            TableFacts(
                name=f"{name}-{_stem(by)}".lower(),
                title=f"{title}: survey table by {', '.join(by)}" if by else f"{title}: survey totals",
                universe=f"{spoken(schema.unit)}: the population that the sample stands for",
                guarantee=str(guarantee),
                rows=table.num_rows,
                columns=columns,
                file=file_of(name, by),
            )
        )
    return facts


def _labelled(schema: Schema, name: str) -> tuple[tuple[str, str], ...]:
    kind = schema.categorical(name)
    return tuple(zip(kind.levels, kind.labels, strict=True))


def check_survey_tables_made(files: Implicates, name: str, tables: Sequence[By], folder: Path) -> None:
    """The tables of a bundle follow from its synthetic files; the last digits may depend on the machine."""
    for by in tables:
        path = folder / file_of(name, by)
        wanted = made_table(files, by, "").drop_columns(["guarantee"])
        options = pa_csv.ConvertOptions(column_types=wanted.schema, strings_can_be_null=False)
        stored = pa_csv.read_csv(path, convert_options=options) if path.is_file() else None
        if stored is not None and "quality" not in stored.column_names:  # tables of earlier versions have no marks
            wanted = wanted.drop_columns(["quality"])
        if (
            stored is None
            or "guarantee" not in stored.column_names
            or not any(same_values(stored.drop_columns(["guarantee"]), one) for one in (wanted, harmless(wanted)))
        ):
            raise VerificationError(f"{file_of(name, by)} does not follow from the synthetic files")
