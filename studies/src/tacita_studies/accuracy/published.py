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
from tacita.mechanisms.change import Change
from tacita.mechanisms.magnitude import SmoothFlows, SmoothGrowth
from tacita.mechanisms.magnitude.base import MagnitudePlan
from tacita.mechanisms.table import Table
from tacita.release.microdata import Microdata
from tacita.release.plans import Planned
from tacita.release.spec import TableSpec
from tacita.release.survey_tables import made_table
from tacita.tables.magnitudes import MEASURE
from tacita.tables.publish import attributes
from tacita.tables.statistics import TOTAL
from tacita_studies.accuracy.answers import Floats, labels, name_of
from tacita_studies.accuracy.foretold import Foretold, foretold
from tacita_studies.accuracy.rows import AccuracyRow
from tacita_studies.accuracy.statistics import asked
from tacita_studies.accuracy.tries import Compare, What

Records = list[dict[str, Any]]
Placed = dict[int, dict[str, Any]]
QUANTILE = "quantile"
_SAID: dict[str, What] = {
    "count": "count", "sum": "total", "mean": "mean", "variance": "variance", "share": "share", "ratio": "ratio",
    "median": "quantile", "quantiles": "quantile",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of a table that say the same of different cells: where they stand, and what they should be. NaN where there
    is no truth, or where nothing was foretold."""

    statistic: str
    places: tuple[int, ...]
    cells: tuple[str, ...]
    truth: Floats
    forecast: Floats
    foretold: str


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """A table as its readers see it, with the result that it was made from and the file that it is about."""

    table: pa.Table
    product: Planned[TableSpec]
    result: Any
    original: pd.DataFrame
    schema: Schema

    def rows(self, base: AccuracyRow) -> Iterator[AccuracyRow]:
        for part in self.parts():
            row = replace(base, statistic=part.statistic, foretold=part.foretold)
            columns = self.table.select(["value", "margin_of_error"]).take(part.places).to_pydict()
            numbers = zip(columns["value"], columns["margin_of_error"], strict=True)
            for cell, truth, forecast, (value, margin) in zip(
                part.cells, part.truth.tolist(), part.forecast.tolist(), numbers, strict=True
            ):
                if np.isfinite(truth):
                    one = replace(row, cell=cell, forecast=None if np.isnan(forecast) else forecast)
                    yield one.with_numbers(truth, np.nan if value is None else value, margin)

    def parts(self) -> Iterator[Part]:
        """Its rows by measure, and by which attributes they do not sum over, with the truth of each."""
        by = attributes(self.table)
        attributed = tuple(name for name in by if name not in (QUANTILE, MEASURE))
        records = self.table.select(by).to_pylist() if by else [{} for _ in range(self.table.num_rows)]
        for measure in dict.fromkeys(record.get(MEASURE) for record in records):
            own = {at: record for at, record in enumerate(records) if record.get(MEASURE) == measure}
            for kept, inner in _by_kept(own, attributed, TOTAL).items():
                yield self._part(self._compare(kept, measure), kept, attributed, inner, measure)

    def _part(
        self, compare: Compare, kept: tuple[str, ...], by: tuple[str, ...], records: Placed, measure: str | None
    ) -> Part:
        counted = self._counted
        facts = getattr(self.result, "facts", {})
        said = foretold(self.product, facts, counted, kept, self.schema, measure) if kept == by else Foretold({})
        shown = tuple(name for name in by if compare.statistic != "share" or name not in compare.of)
        empty = 0.0 if compare.statistic in ("count", "total") else np.nan
        middle = {QUANTILE: "0.5"} if compare.statistic == "quantile" else {}  # a table of medians does not say it
        names = [_inside(middle | record, kept) for record in records.values()]
        listed = pd.DataFrame(list(records.values()), index=list(records))
        cells = labels(listed, [name for name in attributes(self.table) if name != MEASURE])
        truth = _truth_of(compare, counted)
        said = said.of_what_is_positive(truth) if self._cut_off else said
        return Part(
            _named(compare, shown),
            tuple(records),
            tuple(cells),
            np.array([truth.get(name, empty) for name in names]),
            np.array([said.errors.get(name, np.nan) for name in names]),
            said.of,
        )

    @property
    def _cut_off(self) -> bool:
        """Whether values cannot be negative, and are published as 0 where noise makes them so."""
        plan = self.product.plan
        if not isinstance(plan, Table) or plan.statistic in ("mean", "ratio", "median", "quantiles"):
            return False
        return plan.statistic != "sum" or plan.amount(plan.of[0]).bounds(self.schema)[0] >= 0

    @property
    def _counted(self) -> pd.DataFrame:
        """The records that the table is about, with what they gained and lost where it is about that."""
        inside = np.ones(len(self.original), dtype=bool)
        for name, levels in self.product.spec.where.items():
            inside &= self.original[name].isin(levels).to_numpy()
        counted, plan = self.original[inside], self.product.plan
        if isinstance(plan, Table):  # a record counts where it has all the numbers
            counted = counted.dropna(subset=list(plan.numbers))
        if not isinstance(plan, SmoothFlows | SmoothGrowth | Change):
            return counted
        before, after = counted[plan.of[0]], counted[plan.of[1]]
        net = after - before
        came, went = net.where(before == 0, 0), (-net).where(after == 0, 0)
        flows = {"creation": net.clip(lower=0), "destruction": (-net).clip(lower=0), "entry": came, "exit": went}
        return counted.assign(earlier=before, later=after, change=net, net=net, percent=100 * net, **flows)

    def _compare(self, kept: tuple[str, ...], measure: str | None) -> Compare:
        """What the table says: of jobs the sum of sizes or the rows, of any file its own statistic."""
        plan, size = self.product.plan, self.schema.by_role("size")
        if measure == "percent":
            return Compare(statistic="ratio", of=(measure, "earlier"), by=kept)
        if isinstance(plan, MagnitudePlan | Change):
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
            for kept, placed in _by_kept(dict(enumerate(own)), by, ALL).items():
                inner = list(placed.values())
                compare = Compare(statistic=what, of=(column,) if column else (), by=kept, weight=weight)
                row = replace(base, statistic=_named(compare, by))
                truth, names = _truth_of(compare, original), [_inside(record, kept) for record in inner]
                yield from _against(row, truth, names, labels(pd.DataFrame(inner), by), inner)


def _truth_of(compare: Compare, original: pd.DataFrame) -> dict[str, float]:
    wanted = next(asked(compare, original))
    return dict(zip(wanted.cells, wanted.truth.tolist(), strict=True))


def _by_kept(records: Placed, names: tuple[str, ...], everything: str) -> dict[tuple[str, ...], Placed]:
    """The records of a table by the attributes that they do not sum over."""
    kept: dict[tuple[str, ...], Placed] = {}
    for at, record in records.items():
        kept.setdefault(tuple(name for name in names if record[name] != everything), {})[at] = record
    return kept


def _named(compare: Compare, by: tuple[str, ...]) -> str:
    """The statistic of a published table, its sums and margins included."""
    return f"table: {name_of(compare.model_copy(update={'by': by}), next(iter(compare.of), None))}"


def _against(
    base: AccuracyRow, truth: Mapping[str, float], inside: Sequence[str], cells: Iterable[str], records: Records
) -> Iterator[AccuracyRow]:
    """Each published cell beside the truth, where the file has one."""
    for name, cell, record in zip(inside, cells, records, strict=True):
        wanted = truth.get(name, np.nan)
        if np.isfinite(wanted):
            published = np.nan if record["value"] is None else record["value"]
            yield replace(base, cell=cell).with_numbers(wanted, published, record["margin_of_error"])
