"""Published tables of any kind, held against the same tables of the file itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tacita.data.schema import Schema
from tacita.inference.survey.tables import ALL
from tacita.release.microdata import Microdata
from tacita.release.plans import Planned
from tacita.release.spec import TableSpec
from tacita.release.survey_tables import made_table
from tacita.tables.publish import attributes
from tacita.tables.statistics import TOTAL
from tacita_studies.accuracy.answers import Asked, Cells, labels, name_of
from tacita_studies.accuracy.rows import AccuracyRow
from tacita_studies.accuracy.statistics import asked
from tacita_studies.accuracy.tries import Compare

Records = list[dict[str, Any]]


def from_table(
    base: AccuracyRow, table: pa.Table, product: Planned[TableSpec], original: pd.DataFrame, schema: Schema
) -> Iterator[AccuracyRow]:
    """A table of jobs: of a file with a size column their sum, of any other its rows."""
    spec, size = product.spec, schema.by_role("size")
    inside = np.ones(len(original), dtype=bool)
    for name, levels in spec.where.items():
        inside &= original[name].isin(levels).to_numpy()
    counted = original[inside]
    records = table.select([*attributes(table), "value", "margin_of_error"]).to_pylist()
    for kept, inner in _by_kept(records, attributes(table), TOTAL).items():
        compare = Compare(statistic="total" if size else "count", of=size, by=kept)
        forecasts = _job_forecasts(product, counted, kept, schema) if kept == attributes(table) else {}
        row = replace(base, statistic=_named(compare, attributes(table)))
        truth = next(asked(compare, counted))
        yield from _against(row, truth, kept, attributes(table), inner, empty=0.0, forecasts=forecasts)


def from_survey_tables(
    base: AccuracyRow, files: Microdata, original: pd.DataFrame, schema: Schema
) -> Iterator[AccuracyRow]:
    """The tables that a bundle has beside its synthetic samples."""
    for by in files.tables:
        assert schema.design is not None  # or the specification were refused
        weight = schema.design.weight
        records = made_table(files.implicates, by, "").to_pylist()
        for statistic in dict.fromkeys(record["statistic"] for record in records):
            own = [record for record in records if record["statistic"] == statistic]
            what, _, column = statistic.partition(" of ")
            for kept, inner in _by_kept(own, by, ALL).items():
                compare = Compare(statistic=what, of=(column,) if column else (), by=kept, weight=weight)
                row = replace(base, statistic=_named(compare, by))
                yield from _against(row, next(asked(compare, original)), kept, by, inner, empty=np.nan)


def _by_kept(records: Records, names: tuple[str, ...], everything: str) -> dict[tuple[str, ...], Records]:
    """The records of a table by the attributes that they do not sum over."""
    kept: dict[tuple[str, ...], Records] = {}
    for record in records:
        kept.setdefault(tuple(name for name in names if record[name] != everything), []).append(record)
    return kept


def _named(compare: Compare, by: tuple[str, ...]) -> str:
    """The statistic of a published table, its sums and margins included."""
    return f"table: {name_of(compare.model_copy(update={'by': by}), next(iter(compare.of), None))}"


def _against(
    base: AccuracyRow,
    asked_for: Asked,
    kept: tuple[str, ...],
    by: tuple[str, ...],
    records: Records,
    *,
    empty: float,
    forecasts: Mapping[str, float] | None = None,
) -> Iterator[AccuracyRow]:
    """Each published cell beside the truth; a cell that the file has no records in is `empty`."""
    truth, told = dict(zip(asked_for.cells, asked_for.truth, strict=True)), forecasts or {}
    frame = pd.DataFrame(records)
    for inside, cell, record in zip(labels(frame, kept), labels(frame, by), records, strict=True):
        wanted = truth.get(inside, empty)
        if np.isfinite(wanted):
            published = np.nan if record["value"] is None else record["value"]
            row = replace(base, cell=cell, forecast=told.get(inside))
            yield row.with_numbers(wanted, published, record["margin_of_error"])


def _job_forecasts(
    product: Planned[TableSpec], counted: pd.DataFrame, by: tuple[str, ...], schema: Schema
) -> dict[str, float]:
    """The typical error that the forecast foretells for each cell, given what it says it depends on: nothing, the size
    of the largest establishment, or the count itself."""
    plan, spec, cells = product.plan, product.spec, Cells.of(counted, by)
    figures = plan.forecast(schema).figures
    if "typical_error" in figures:
        return dict.fromkeys(cells.names, figures["typical_error"])
    cell = labels(counted, by)
    if "typical_relative_error" in figures:
        totals = _jobs(counted, schema).groupby(cell).sum()
        return {str(name): figures["typical_relative_error"] * float(total) for name, total in totals.items()}
    if "typical_error_in_S" not in figures:
        return {}
    # Under the strong definition an establishment counts whole, whichever of its workers the cell is about.
    whole = tuple(name for name in by if name in spec.by) if plan.definition == "strong" else by  # type: ignore[attr-defined]
    decides = labels(counted, whole)
    largest = _jobs(counted, schema).groupby([decides, _establishment(counted, schema)]).sum().groupby(level=0).max()
    smallest, share = figures["floor"], float(plan.alpha)  # type: ignore[attr-defined]
    units = {str(name): max(share * float(size), smallest) for name, size in largest.items()}
    return {one: figures["typical_error_in_S"] * units[inside] for one, inside in zip(cell, decides, strict=True)}


def _jobs(counted: pd.DataFrame, schema: Schema) -> pd.Series[int]:
    size = schema.by_role("size")
    return counted[size[0]] if size else pd.Series(1, index=counted.index)


def _establishment(counted: pd.DataFrame, schema: Schema) -> pd.Series[str]:
    name = schema.id_of("workplace")
    return pd.Series(counted.index if name is None else counted[name], index=counted.index)
