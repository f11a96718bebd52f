"""Published tables against the confidential counts, beside what the practice would have published.

Works on one row per establishment and cell, so that noise infusion and suppression can be applied as they are in
practice. Everything here is confidential.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tacita.data.cells import jobs_with
from tacita.data.confidential import Confidential, engine_of
from tacita.data.engine import level_code, text_of
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.mechanisms.comparators import NoiseInfusion, SuppressAndRound
from tacita.noise.entropy import SeededEntropy
from tacita.tables.publish import without_totals

Floats = NDArray[np.float64]

_DRAWS = 5  # noise infusion is random; a few draws settle the mean error of a table
_BANDS = ((0, 10), (10, 100), (100, 1_000), (1_000, 10_000), (10_000, None))


@dataclass(frozen=True)
class Band:
    """Cells of one size: errors of what was published and of what the practice would have published."""

    name: str
    cells: int
    published: float
    infused: float
    rounded: float
    suppressed: int
    covered: float


@dataclass(frozen=True)
class TableCheck:
    """One published table against the truth."""

    name: str
    title: str
    cells: int
    mean_error: float
    rmse: float
    relative: float
    coverage: float
    confidence: float
    infusion_rmse: float
    rounding_rmse: float
    suppressed: int
    bands: tuple[Band, ...]
    worst: tuple[tuple[str, float, float, float | None], ...] = field(repr=False)
    """Cells with the largest error: label, truth, published, margin."""

    @property
    def against_infusion(self) -> float | None:
        """Error over that of noise infusion; None where infusion has none."""
        return self.rmse / self.infusion_rmse if self.infusion_rmse else None


def check_tables(bundle: Path, data: Confidential) -> list[TableCheck]:
    """Every table of a bundle against the rows it was made from."""
    plan = json.loads((bundle / "plan.json").read_text(encoding="utf-8"))
    if Schema.from_dict(plan["schema"]) != data.schema:
        raise UsageError(f"--bundle {bundle}: was made with another schema; give the specification that made it")
    return [check_table(record, bundle, data) for record in plan["tables"]]


def check_table(record: Mapping[str, Any], bundle: Path, data: Confidential) -> TableCheck:
    """One table: cell-wise error, coverage of the margins, and the same for the comparators."""
    settings = record["settings"]
    by, worker = list(settings.get("by") or ()), list(settings.get("worker") or ())
    published = pq.read_table(bundle / "tables" / f"{record['name']}.parquet")
    keys = [*by, *worker]
    plain = without_totals(published, settings.get("totals") or ()).to_pandas()
    pieces = establishment_counts(data, by, worker, settings.get("where") or {})
    cell = _cells(plain, pieces, keys)
    pieces, cell = pieces[cell >= 0], cell[cell >= 0]
    amount = pieces["tacita_n"].to_numpy(dtype=np.float64)
    truth = _sums(cell, amount, len(plain))
    value = plain["value"].to_numpy(dtype=np.float64)
    margin = plain["margin_of_error"].to_numpy(dtype=np.float64)
    confidence = float(settings.get("confidence", "0.95"))
    infused, rounded = _practice(pieces["tacita_id"].tolist(), cell, amount, len(plain))
    error = value - truth
    covered = np.abs(error) <= np.where(np.isnan(margin), np.inf, margin)
    hidden = np.isnan(rounded)
    labels = plain[keys].astype(str).agg(" · ".join, axis=1).to_numpy() if keys else np.array(["All"] * len(plain))
    order = np.argsort(-np.abs(error), kind="stable")[:15]
    return TableCheck(
        name=record["name"],
        title=record["title"],
        cells=len(plain),
        mean_error=_mean(np.abs(error)),
        rmse=_root(error),
        relative=float(np.abs(error).sum() / max(truth.sum(), 1.0)),
        coverage=_mean(covered.astype(float)),
        confidence=confidence,
        infusion_rmse=_root(infused - truth),
        rounding_rmse=_root((rounded - truth)[~hidden]),
        suppressed=int(hidden.sum()),
        bands=tuple(_bands(truth, error, infused, rounded, covered)),
        worst=tuple((str(labels[at]), float(truth[at]), float(value[at]), _finite(margin[at])) for at in order),
    )


def establishment_counts(
    data: Confidential, by: list[str], worker: list[str], where: Mapping[str, Any]
) -> pd.DataFrame:
    """One row per establishment and worker cell that somebody is in: its id, level codes and number of workers."""
    schema, key = data.schema, data.schema.id_of("workplace")
    if data.form == "size" or key is None:
        raise UsageError("evaluate --bundle: needs a file of jobs with an id of the establishment")
    jobs = jobs_with(data, [*by, *worker, *where])
    # Long code lists are coded after grouping: one comparison per level and row would take too long.
    coded = jobs.select(
        tacita_id=jobs[key].cast("string"),
        **{name: text_of(jobs[name]) for name in by},
        **{name: level_code(jobs[name], schema.categorical(name)) for name in dict.fromkeys((*worker, *where))},
    )
    for name, levels in where.items():
        listed = list(schema.levels(name))
        coded = coded.filter(coded[name].isin([listed.index(level) for level in levels]))
    grouped = coded.group_by(["tacita_id", *by, *worker]).aggregate(tacita_n=coded.count())
    found: pd.DataFrame = engine_of(data).collect(grouped).to_pandas()
    for name in by:
        kind = schema.categorical(name)
        spelled = {text: kind.code_of(text) for text in found[name].unique()}
        found[name] = [kind.levels[code] if (code := spelled[text]) is not None else "" for text in found[name]]
    for name in worker:
        levels = np.array([*schema.levels(name), ""], dtype=object)
        found[name] = levels[found[name].to_numpy(dtype=np.int64)]  # code -1 is the empty text at the end
    return found


def _cells(published: pd.DataFrame, pieces: pd.DataFrame, keys: list[str]) -> NDArray[np.int64]:
    """The published row of each piece; -1 where the table has no such row."""
    if not keys:
        return np.zeros(len(pieces), dtype=np.int64)
    rows_of = pd.MultiIndex.from_frame(published[keys].astype(str))
    wanted = pd.MultiIndex.from_frame(pieces[keys].astype(str))
    return np.asarray(rows_of.get_indexer(wanted), dtype=np.int64)


def _practice(ids: list[str], cell: NDArray[np.int64], amount: Floats, cells: int) -> tuple[Floats, Floats]:
    """The same table by noise infusion (the root mean square over draws, with the sign of one), and suppressed."""
    counts = amount[:, None]
    truth = _sums(cell, amount, cells)
    rule, squares = NoiseInfusion(), np.zeros(cells)
    for draw in range(_DRAWS):
        key = hashlib.sha256(f"dossier {draw}".encode()).digest()  # a comparison, so the same key may serve every time
        infused = rule.apply(cell, counts, cells, rule.factors(ids, key=key), SeededEntropy(draw))[:, 0]
        squares += (infused - truth) ** 2
    return truth + np.sqrt(squares / _DRAWS), SuppressAndRound().apply(cell, counts, cells)[:, 0]


def _bands(
    truth: Floats, error: Floats, infused: Floats, rounded: Floats, covered: NDArray[np.bool_]
) -> Iterator[Band]:
    for low, high in _BANDS:
        inside = (truth >= low) & (truth < (np.inf if high is None else high))
        if not inside.any():
            continue
        shown = inside & ~np.isnan(rounded)
        yield Band(
            name=f"{low:,} and more" if high is None else f"{low:,} to {high - 1:,}",
            cells=int(inside.sum()),
            published=_root(error[inside]),
            infused=_root((infused - truth)[inside]),
            rounded=_root((rounded - truth)[shown]),
            suppressed=int((inside & np.isnan(rounded)).sum()),
            covered=_mean(covered[inside].astype(float)),
        )


def _sums(cell: NDArray[np.int64], amount: Floats, cells: int) -> Floats:
    return np.bincount(cell, weights=amount, minlength=cells).astype(np.float64)


def _root(error: Floats) -> float:
    return float(np.sqrt(np.mean(error**2))) if len(error) else 0.0


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else 0.0


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
