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
from tacita.mechanisms.magnitude import SmoothFlows
from tacita.mechanisms.magnitude.base import MagnitudePlan
from tacita.mechanisms.table import Table
from tacita.release.microdata import Microdata
from tacita.release.plans import Planned
from tacita.release.spec import TableSpec
from tacita.release.survey_tables import made_table
from tacita.tables.magnitudes import MEASURE
from tacita.tables.publish import attributes
from tacita.tables.statistics import TOTAL
from tacita_studies.accuracy.answers import Asked, labels, name_of
from tacita_studies.accuracy.foretold import Foretold, foretold
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
        by = attributes(self.table)
        attributed = tuple(name for name in by if name not in (QUANTILE, MEASURE))
        records = self.table.select([*by, "value", "margin_of_error"]).to_pylist()
        for measure in dict.fromkeys(record.get(MEASURE) for record in records):
            own = [record for record in records if record.get(MEASURE) == measure]
            for kept, inner in _by_kept(own, attributed, TOTAL).items():
                yield from self._compared(base, self._compare(kept, measure), kept, attributed, inner)

    def _compared(
        self, base: AccuracyRow, compare: Compare, kept: tuple[str, ...], by: tuple[str, ...], records: Records
    ) -> Iterator[AccuracyRow]:
        counted = self._counted
        facts = getattr(self.result, "facts", {})
        said = foretold(self.product, facts, counted, kept, self.schema) if kept == by else Foretold({})
        shown = tuple(name for name in by if compare.statistic != "share" or name not in compare.of)
        row = replace(base, statistic=_named(compare, shown), foretold=said.of)
        empty = 0.0 if compare.statistic in ("count", "total") else np.nan
        middle = {QUANTILE: "0.5"} if compare.statistic == "quantile" else {}  # a table of medians does not say it
        names = [_inside(middle | record, kept) for record in records]
        cells = labels(pd.DataFrame(records), [name for name in attributes(self.table) if name != MEASURE])
        yield from _against(row, next(asked(compare, counted)), names, cells, records, empty, said.errors)

    @property
    def _counted(self) -> pd.DataFrame:
        """The records that the table is about, with what they gained and lost where it is about that."""
        inside = np.ones(len(self.original), dtype=bool)
        for name, levels in self.product.spec.where.items():
            inside &= self.original[name].isin(levels).to_numpy()
        counted, plan = self.original[inside], self.product.plan
        if not isinstance(plan, SmoothFlows):
            return counted
        net = counted[plan.of[1]] - counted[plan.of[0]]
        return counted.assign(creation=net.clip(lower=0), destruction=(-net).clip(lower=0), net=net)

    def _compare(self, kept: tuple[str, ...], measure: str | None) -> Compare:
        """What the table says: of jobs the sum of sizes or the rows, of any file its own statistic."""
        plan, size = self.product.plan, self.schema.by_role("size")
        if isinstance(plan, MagnitudePlan):
            return Compare(statistic="total", of=(measure or plan.of[0],), by=kept)
        if not isinstance(plan, Table):
            return Compare(statistic="total" if size else "count", of=size, by=kept)
        by = tuple(name for name in kept if plan.statistic != "share" or name not in plan.of)
        at = tuple(float(one) for one in plan.shares)
        return Compare(statistic=_SAID[plan.statistic], of=plan.of, by=by, weight=plan.weights, at=at)


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
    for by in files.tables if files.implicates is not None else ():
        assert files.implicates is not None
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
