"""Published tables against the confidential rows, beside the forecast and what the practice would have published.

Every table of a bundle is held against the same table of the rows (`asked`, `exact`), and so are the survey tables that
were made from synthetic samples. Everything here is confidential.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.dossier.asked import INFUSION, Asked, Foretold, Method, asked_by, foretold, methods_for, rows_of
from tacita.dossier.exact import QUANTILE, RECORDS, TRUTH, Floats, Question, answered_by
from tacita.dossier.questions import Skipped
from tacita.errors import UsageError
from tacita.inference.survey.tables import ALL
from tacita.mechanisms.table.levels import LEVEL
from tacita.plan.bounded import Bounded
from tacita.release.evaluation_spec import LimitsSpec
from tacita.release.settings import plan_from_record
from tacita.release.survey_tables import file_of
from tacita.tables.magnitudes import MEASURE
from tacita.tables.publish import attributes
from tacita.tables.statistics import CELL_LEVEL, TOTAL, TOTAL_LEVEL

By = tuple[str, ...]

_MOST_WORST = 15
_BANDS = (0, 10, 100, 1_000, 10_000, 100_000)


@dataclass(frozen=True)
class Practised:
    """What a method of today's practice would have cost; `rmse` is None where it withholds every cell."""

    name: str
    how: str
    rmse: float | None
    withheld: int


@dataclass(frozen=True)
class Band:
    """Cells of one size: errors of what was published and of what the practice would have published."""

    name: str
    cells: int
    published: float
    relative: float
    covered: float | None
    practice: tuple[float | None, ...]


@dataclass(frozen=True)
class Part:
    """Rows of a table beside its finest cells: totals, or a coarser level."""

    name: str
    cells: int
    relative: float
    coverage: float | None


@dataclass(frozen=True)
class Outcome:
    """The typical error as it was foretold, over all cells, and as it turned out."""

    foretold: float
    happened: float
    is_median: bool

    @property
    def ratio(self) -> float | None:
        return self.happened / self.foretold if self.foretold > 0 else None


@dataclass(frozen=True)
class TableCheck:
    """One statistic of a published table against the truth; all figures are of its finest cells."""

    product: str
    name: str
    title: str
    statistic: str
    unit: str
    """What errors are counted in."""
    sized_in: str
    """What the size of a cell is counted in."""
    cells: int
    published: int
    """Cells that are published with a value."""
    withheld: int
    """Cells that are published without a value, or have none in the rows."""
    mean_error: float
    rmse: float
    relative: float
    off: float
    """Share of the records that lie in cells with a larger relative error than the limit."""
    empty: float
    """Share of the records that lie in cells without a published value."""
    loose: float
    """Of the records in cells that could be compared, the share in those without a margin or with a wide one."""
    coverage: float | None
    margins: int
    """Cells with a margin, which `coverage` is a share of."""
    confidence: float
    practice: tuple[Practised, ...]
    forecast: Outcome | None
    bands: tuple[Band, ...]
    parts: tuple[Part, ...]
    worst: tuple[tuple[str, float, float, float | None], ...] = field(repr=False)
    """Cells with the largest error: label, truth, published, margin."""

    @property
    def compared(self) -> int:
        return self.cells - self.withheld

    @property
    def against_infusion(self) -> float | None:
        """Error over that of noise infusion; None where there is none to compare with."""
        infused = next((one.rmse for one in self.practice if one.name == INFUSION), None)
        return self.rmse / infused if infused else None


# ---------------------------------------------------------------- all tables of a bundle


def check_tables(
    bundle: Path, data: Confidential, limits: LimitsSpec | None = None
) -> tuple[list[TableCheck], list[Skipped]]:
    """Every table of a bundle against the rows it was made from, and those that cannot be, with the reason."""
    plan = json.loads((bundle / "plan.json").read_text(encoding="utf-8"))
    if Schema.stored(plan["schema"]) != data.schema:
        raise UsageError(f"--bundle {bundle}: was made with another schema; give the specification that made it")
    limits = limits or LimitsSpec()
    checks: list[TableCheck] = []
    skipped: list[Skipped] = []
    for record in plan["tables"]:
        published = list(_checked(record, bundle, data, limits))
        checks += published
        if not published:
            kind = record["mechanism"]["mechanism"]
            skipped.append(Skipped(f"Table {record['name']}", f"what {kind} publishes is not known to the dossier"))
    for record in plan.get("microdata", ()):
        for by in record.get("tables", ()):
            checks += _survey_checks(record, tuple(by), bundle, data, limits)
    return checks, skipped


def _checked(record: Mapping[str, Any], bundle: Path, data: Confidential, limits: LimitsSpec) -> Iterator[TableCheck]:
    plan = plan_from_record(record["mechanism"])
    plan = plan.plan if isinstance(plan, Bounded) else plan  # rows that were left out are part of the error
    table = pq.read_table(bundle / "tables" / f"{record['name']}.parquet")
    names = attributes(table)
    rows = table.select([*names, "value", "margin_of_error"]).to_pandas()
    totals = tuple(record["settings"].get("totals") or ())
    finest = str(rows[LEVEL].iloc[-1]) if LEVEL in names and len(rows) else None
    for asked in asked_by(plan, data, record["settings"].get("levels") or ()):
        own = rows if asked.measure is None else rows[rows[MEASURE] == asked.measure]
        keys = tuple(name for name in names if name != MEASURE)
        parts = list(_parts(own, keys, totals, finest, asked))
        said = foretold(plan, record, finest, parts[0][1]) if parts else None
        suffix = "" if asked.measure is None else f" · {asked.measure}"
        yield _check(
            asked,
            parts,
            said,
            limits,
            product=record["name"],
            name=f"{record['name']}{suffix}",
            title=f"{record['title']}{suffix}",
            confidence=float(record["settings"].get("confidence") or "0.95"),
        )


def _parts(
    rows: pd.DataFrame, keys: By, totals: By, finest: str | None, asked: Asked
) -> Iterator[tuple[str, pd.DataFrame]]:
    """The finest cells first, then totals or coarser levels: published rows with the truth beside them."""
    by = tuple(name for name in keys if name not in (LEVEL, QUANTILE))
    if finest is not None:
        exact = asked.exact((LEVEL, *by))
        for level in reversed(list(dict.fromkeys(rows[LEVEL]))):
            yield level, _beside(rows[rows[LEVEL] == level], exact, keys)
        return
    summed = tuple(name for name in by if totals and name not in totals)
    is_total = np.zeros(len(rows), dtype=bool)
    if summed:
        is_total = (rows[list(summed)] == TOTAL).all(axis=1).to_numpy()
    yield CELL_LEVEL, _beside(rows[~is_total], asked.exact(by), keys)
    if is_total.any():
        yield TOTAL_LEVEL, _beside(rows[is_total], asked.exact(totals), totals)


def _beside(published: pd.DataFrame, exact: pd.DataFrame, keys: By) -> pd.DataFrame:
    """Published rows with the exact columns; a cell that the rows know nothing of holds nothing."""
    cells = published[list(keys)].reset_index(drop=True)
    place = rows_of(exact[list(keys)], cells)
    columns = [name for name in exact.columns if name.startswith("tacita_")]
    known = place >= 0
    joined = published.reset_index(drop=True)
    for name in columns:
        values = np.zeros(len(cells))
        values[known] = exact[name].to_numpy(dtype=np.float64)[place[known]]
        joined[name] = values
    return joined


# ---------------------------------------------------------------- tables of synthetic samples


def _survey_checks(
    record: Mapping[str, Any], by: By, bundle: Path, data: Confidential, limits: LimitsSpec
) -> Iterator[TableCheck]:
    """Weighted counts and means that were estimated from synthetic samples, against those of the confidential one."""
    design = data.schema.design
    assert design is not None  # or the specification were refused
    path = bundle / file_of(record["name"], by)
    columns = pa_csv.ConvertOptions(column_types=dict.fromkeys((*by, "statistic"), "string"), strings_can_be_null=False)
    rows = pa_csv.read_csv(path, convert_options=columns).to_pandas()
    kept = [one for size in range(len(by), -1, -1) for one in combinations(by, size)]
    for statistic in dict.fromkeys(rows["statistic"]):
        what, _, column = statistic.partition(" of ")
        question = Question(what, (column,) if column else (), weights=design.weight)
        asked = Asked(what, column or "weight", partial(answered_by, data, question))
        parts = []
        for one in kept:
            own = rows["statistic"] == statistic
            for name in by:
                own &= (rows[name] != ALL) if name in one else (rows[name] == ALL)
            parts.append((" × ".join(one) or ALL, _beside(rows[own], asked.exact(one), one)))
        yield _check(
            asked,
            parts,
            None,
            limits,
            product=path.stem,
            name=f"{path.stem} · {statistic}",
            title=f"{record['title']}, {' × '.join(by) or 'all'} · {statistic}, weighted",
            confidence=float(rows["confidence"].iloc[0]),
        )


# ---------------------------------------------------------------- figures


def _check(
    asked: Asked,
    parts: Sequence[tuple[str, pd.DataFrame]],
    said: Foretold | None,
    limits: LimitsSpec,
    **named: Any,
) -> TableCheck:
    everything = parts[0][1]
    shown = (everything["value"].notna() & everything[TRUTH].notna()).to_numpy()
    rows = everything[shown]
    truth, value, margin, records = (
        rows[name].to_numpy(dtype=np.float64) for name in (TRUTH, "value", "margin_of_error", RECORDS)
    )
    before = rows.columns[: rows.columns.get_loc("value")]
    keys = rows[[name for name in before if name not in (MEASURE, "statistic")]]
    error = value - truth
    methods = tuple(methods_for(asked, keys, truth))
    order = np.argsort(-np.abs(error), kind="stable")[:_MOST_WORST]
    labels = keys.astype(str).agg(" · ".join, axis=1).to_numpy() if len(keys.columns) else np.array(["All"] * len(rows))
    coverage, margins = _coverage(error, margin)
    return TableCheck(
        statistic=asked.statistic,
        unit=asked.unit,
        sized_in=asked.sized_in,
        cells=len(everything),
        published=int(everything["value"].notna().sum()),
        withheld=int((~shown).sum()),
        mean_error=_mean(np.abs(error)),
        rmse=_root(error),
        relative=_relative(error, truth),
        off=_share(np.abs(error) > limits.cell_error * np.abs(truth), records),
        empty=_share(everything["value"].isna().to_numpy(), everything[RECORDS].to_numpy(dtype=np.float64)),
        loose=_share(~(margin <= limits.margin * np.abs(value)), records),
        coverage=coverage,
        margins=margins,
        practice=tuple(_practised(one) for one in methods),
        forecast=_outcome(said, shown, error),
        bands=tuple(_bands(records, truth, error, margin, methods)),
        parts=tuple(_part(name, rows) for name, rows in parts[1:]),
        worst=tuple((str(labels[at]), float(truth[at]), float(value[at]), _finite(margin[at])) for at in order),
        **named,
    )


def _part(name: str, rows: pd.DataFrame) -> Part:
    rows = rows[rows["value"].notna() & rows[TRUTH].notna()]
    truth, value, margin = (rows[one].to_numpy(dtype=np.float64) for one in (TRUTH, "value", "margin_of_error"))
    return Part(name, len(rows), _relative(value - truth, truth), _coverage(value - truth, margin)[0])


def _outcome(said: Foretold | None, shown: Any, error: Floats) -> Outcome | None:
    if said is None:
        return None
    wanted = said.error[shown]
    known = np.isfinite(wanted) & (wanted > 0)
    if not known.any():
        return None
    # Cells differ in what was foretold, so each is taken in units of its own forecast.
    typical, ratio = float(np.median(wanted[known])), np.abs(error[known]) / wanted[known]
    happened = float(np.median(ratio) if said.is_median else np.mean(ratio))
    return Outcome(typical, typical * happened, said.is_median)


def _practised(one: Method) -> Practised:
    known = one.error[~np.isnan(one.error)]
    return Practised(one.name, one.how, _root(known) if known.size else None, int(np.isnan(one.error).sum()))


def _bands(records: Floats, truth: Floats, error: Floats, margin: Floats, methods: Sequence[Method]) -> Iterator[Band]:
    for low, high in zip(_BANDS, (*_BANDS[1:], None), strict=True):
        inside = (records >= low) & (records < (np.inf if high is None else high))
        if inside.any():
            yield Band(
                name=f"{low:,} and more" if high is None else f"{low:,} to {high - 1:,}",
                cells=int(inside.sum()),
                published=_root(error[inside]),
                relative=_relative(error[inside], truth[inside]),
                covered=_coverage(error[inside], margin[inside])[0],
                practice=tuple(_practised(Method(one.name, "", one.error[inside])).rmse for one in methods),
            )


def _coverage(error: Floats, margin: Floats) -> tuple[float | None, int]:
    """The share of cells that lie within their margin, of those that have one. Values are published as decimals, so
    the last digit of an end may differ."""
    bounded = np.isfinite(margin)
    if not bounded.any():
        return None, 0
    inside = np.abs(error[bounded]) <= margin[bounded] * (1 + 1e-9)
    return float(inside.mean()), int(bounded.sum())


def _relative(error: Floats, truth: Floats) -> float:
    return float(np.abs(error).sum()) / (float(np.abs(truth).sum()) or 1.0)


def _share(chosen: Any, records: Floats) -> float:
    total = float(records.sum())
    return float(records[chosen].sum()) / total if total > 0 else 0.0


def _root(error: Floats) -> float:
    return float(np.sqrt(np.mean(error**2))) if len(error) else 0.0


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else 0.0


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
