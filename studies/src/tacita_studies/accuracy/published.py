"""Published tables of any kind, held against the same tables of the file itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tacita.data.schema import Schema
from tacita.inference.survey.tables import ALL
from tacita.mechanisms.table import Table
from tacita.release.microdata import Microdata
from tacita.release.plans import Planned
from tacita.release.spec import TableSpec
from tacita.release.survey_tables import made_table
from tacita.tables.publish import attributes
from tacita.tables.statistics import TOTAL
from tacita_studies.accuracy.answers import Asked, Cells, labels, name_of
from tacita_studies.accuracy.rows import AccuracyRow
from tacita_studies.accuracy.statistics import asked
from tacita_studies.accuracy.tries import Compare, What

Records = list[dict[str, Any]]
QUANTILE = "quantile"
_SAID: dict[str, What] = {
    "count": "count", "sum": "total", "mean": "mean", "variance": "variance", "share": "share", "ratio": "ratio",
    "median": "quantile", "quantiles": "quantile",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """A table as its readers see it, with the result that it was made from and the file that it is about."""

    table: pa.Table
    product: Planned[TableSpec]
    result: Any
    original: pd.DataFrame
    schema: Schema

    def rows(self, base: AccuracyRow) -> Iterator[AccuracyRow]:
        by, counted = attributes(self.table), self._counted
        records = self.table.select([*by, "value", "margin_of_error"]).to_pylist()
        attributed = tuple(name for name in by if name != QUANTILE)
        for kept, inner in _by_kept(records, attributed, TOTAL).items():
            compare = self._compare(kept)
            truth = next(asked(compare, counted))
            foretold = self._foretold(kept) if kept == attributed else Foretold({})
            shown = tuple(name for name in attributed if compare.statistic != "share" or name not in compare.of)
            row = replace(base, statistic=_named(compare, shown), foretold=foretold.of)
            empty = 0.0 if compare.statistic in ("count", "total") else np.nan
            middle = {QUANTILE: "0.5"} if compare.statistic == "quantile" else {}  # a table of medians does not say it
            names = [_inside(middle | record, kept) for record in inner]
            yield from _against(row, truth, names, labels(pd.DataFrame(inner), by), inner, empty, foretold.errors)

    @property
    def _counted(self) -> pd.DataFrame:
        """The records that the table is about."""
        inside = np.ones(len(self.original), dtype=bool)
        for name, levels in self.product.spec.where.items():
            inside &= self.original[name].isin(levels).to_numpy()
        return self.original[inside]

    def _compare(self, kept: tuple[str, ...]) -> Compare:
        """What the table says: of jobs the sum of sizes or the rows, of any file its own statistic."""
        plan, size = self.product.plan, self.schema.by_role("size")
        if not isinstance(plan, Table):
            return Compare(statistic="total" if size else "count", of=size, by=kept)
        by = tuple(name for name in kept if plan.statistic != "share" or name not in plan.of)
        at = tuple(float(one) for one in plan.shares)
        return Compare(statistic=_SAID[plan.statistic], of=plan.of, by=by, weight=plan.weights, at=at)

    def _foretold(self, by: tuple[str, ...]) -> Foretold:
        plan = self.product.plan
        figures = plan.forecast(self.schema).figures
        if not isinstance(plan, Table):
            return Foretold(_job_forecasts(self.product, self._counted, by, self.schema))
        cell = labels(self._counted, by)
        names, sizes = np.unique(cell.astype(str), return_counts=True)
        if "median_error" in figures:
            return Foretold(dict.fromkeys(names.tolist(), figures["median_error"]), "median")
        per_record = plan.statistic in ("mean", "variance")
        if "median_error_at_1000" in figures:
            errors = 1000 * figures["median_error_at_1000"] / sizes
        elif "median_error_in_clamps" in figures:
            clamp = max(one["upper"] for one in self.result.facts.values() if "upper" in one)
            errors = figures["median_error_in_clamps"] * clamp / (sizes if per_record else np.ones(len(sizes)))
        else:
            return Foretold({})
        return Foretold(dict(zip(names.tolist(), errors.tolist(), strict=True)), "median")


@dataclass(frozen=True)
class Foretold:
    """The typical error that was foretold for each cell: the mean of all errors, or their median."""

    errors: Mapping[str, float]
    of: str = "mean"


def _inside(record: Mapping[str, Any], kept: tuple[str, ...]) -> str:
    """The cell of a record of a table, as `statistics` names it."""
    cell = " × ".join(str(record[name]) for name in kept) or ALL
    if QUANTILE not in record:
        return cell
    at = f"{float(record[QUANTILE]):g}"
    return f"{cell} at {at}" if kept else at


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
                truth, names = next(asked(compare, original)), [_inside(record, kept) for record in inner]
                yield from _against(row, truth, names, labels(pd.DataFrame(inner), by), inner, np.nan, {})


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
    inside: Sequence[str],
    cells: Iterable[str],
    records: Records,
    empty: float,
    forecasts: Mapping[str, float],
) -> Iterator[AccuracyRow]:
    """Each published cell beside the truth; a cell that the file has no records in is `empty`."""
    truth = dict(zip(asked_for.cells, asked_for.truth, strict=True))
    for name, cell, record in zip(inside, cells, records, strict=True):
        wanted = truth.get(name, empty)
        if np.isfinite(wanted):
            published = np.nan if record["value"] is None else record["value"]
            row = replace(base, cell=cell, forecast=forecasts.get(name))
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
