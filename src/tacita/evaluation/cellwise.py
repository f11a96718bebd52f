"""Tables cell by cell: how much error each cell has, against the error it had anyway, and whether intervals cover.

The error of a cell is hu2024's root mean squared error: squared distance from the truth plus the estimate's variance.
The ratio to the error of the confidential sample is 1 where the synthetic files are as good as the sample itself.
Inside a comparison the truth of a cell is the original's value, so the sample's own error is its standard error; where
a population is known, use the functions on arrays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.errors import UsageError
from tacita.evaluation.encoding import Comparison, Encoded
from tacita.evaluation.metric import Metric, Outcome
from tacita.inference import Estimate, PartialSynthesis, Rule, combine_estimates

Floats = NDArray[np.float64]
_MOST_CELLS = 1 << 22


@dataclass(frozen=True)
class Tabulation:
    """A table by categorical columns: counts, shares, or totals or means of a number, with weights if there are any.

    Variances are those of a single-stage sample with replacement (Taylor linearisation); for strata and clusters
    estimate with `tacita.inference.survey` and use the functions on arrays.
    """

    by: tuple[str, ...]
    statistic: Literal["count", "share", "total", "mean"] = "count"
    value: str | None = None
    weight: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", tuple(self.by))
        if self.statistic not in ("count", "share", "total", "mean"):
            raise UsageError('table statistic: must be "count", "share", "total" or "mean"')
        if (self.value is None) == (self.statistic in ("total", "mean")):
            raise UsageError("table value: totals and means need a numeric column, counts and shares take none")
        if not self.by:
            raise UsageError("table by: name at least one categorical column")

    def __str__(self) -> str:
        what = self.statistic if self.value is None else f"{self.statistic} of {self.value}"
        return f"{what} by {' × '.join(self.by)}"

    def cells(self, file: Encoded) -> tuple[str, ...]:
        """Labels of all cells of the table, in order."""
        labels = [""]
        for name in self.by:
            column = file.column(name)
            if column.kind != "categorical":
                raise UsageError(f"{name}: a table needs categories; declare it so, or name it in categorical=[…]")
            if len(labels) * len(column.levels) > _MOST_CELLS:
                raise UsageError(f"{self}: the table has more than {_MOST_CELLS} cells; use fewer columns")
            labels = [f"{left} × {level}" if left else level for left in labels for level in column.levels]
        return tuple(labels)

    def estimate(self, file: Encoded, cells: int) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Value and variance of every cell, and which cells have a value (a mean needs somebody in the cell)."""
        cell = np.zeros(file.rows, dtype=np.int64)
        for name in self.by:
            cell = cell * len(file.column(name).levels) + file.codes[name]
        weight = _number(file, self.weight) if self.weight else np.ones(file.rows)
        if not np.isfinite(weight).all() or (weight < 0).any() or weight.sum() <= 0:
            raise UsageError(f"{self.weight}: weights must be known, not negative and not all zero")
        number = np.ones(file.rows)
        if self.value is not None:
            number = _number(file, self.value)
            weight = np.where(np.isnan(number), 0.0, weight)
            number = np.nan_to_num(number, nan=0.0)

        def added(amount: Floats) -> Floats:
            return np.bincount(cell, weights=amount, minlength=cells).astype(np.float64)

        n = max(file.rows, 2)
        size = added(weight)
        known = np.ones(cells, dtype=bool)
        if self.statistic == "mean":
            known = size > 0
            # Centred first: the variance of incomes is not a difference of two huge sums.
            estimate = np.where(known, added(weight * number) / np.where(known, size, 1.0), 0.0)
            pull = weight * (number - estimate[cell])
            variance = n / (n - 1) * added(pull**2) / np.where(known, size, 1.0) ** 2
            return estimate, variance, known
        amount = weight * number
        estimate, squares = added(amount), added(amount**2)
        if self.statistic == "share":
            total = float(weight.sum())
            estimate = estimate / total
            squares = (squares * (1 - 2 * estimate) + estimate**2 * float((weight**2).sum())) / total**2
            return estimate, n / (n - 1) * np.maximum(squares, 0.0), known
        return estimate, n / (n - 1) * np.maximum(squares - estimate**2 / n, 0.0), known


def cell_rmse_ratio(table: Tabulation, rule: Rule | None = None) -> Metric:
    """Median over cells of the synthetic files' error over the confidential sample's own (hu2024, Figure 5).

    Counted are the cells that the original fills and whose sampling error is not zero; the details say how many
    others there were, and how many the synthetic files left without a value.
    """

    def score(comparison: Comparison) -> Outcome:
        cells, truth, spread, estimate, known = _estimates(table, comparison, rule)
        usable = known & (spread > 0)
        if not usable.any():
            raise UsageError(f"{table}: no cell has a sampling error to compare with; use coarser cells")
        ratio = rmse(estimate.value, estimate.variances, truth)[usable] / np.sqrt(spread[usable])
        names = [cell for cell, use in zip(cells, usable, strict=True) if use]
        details = {
            "cells": dict(zip(names, ratio.tolist(), strict=True)),
            "largest": float(ratio.max()),
            "share above 2": float((ratio > 2).mean()),
            "lost cells": int(np.sum(~known)),
            "cells without sampling error": int(np.sum(known & (spread <= 0))),
        }
        return Outcome(float(np.median(ratio)), details)

    return Metric(
        f"cell error ratio: {table}",
        "lower",
        (0.0, math.inf),
        1.0,
        "median over cells of the error of the synthetic files over the sampling error of the original",
        score,
    )


def cell_coverage(table: Tabulation, confidence: float = 0.95, rule: Rule | None = None) -> Metric:
    """Share of the original's cells whose value lies in the synthetic files' interval; a lost cell is not covered."""
    if not 0 < confidence < 1:
        raise UsageError(f"confidence: must lie between 0 and 1, not {confidence:g}")

    def score(comparison: Comparison) -> Outcome:
        cells, truth, _, estimate, known = _estimates(table, comparison, rule)
        covered = inside(*estimate.interval(confidence), truth) & known
        missed = tuple(cell for cell, ok in zip(cells, covered, strict=True) if not ok)
        return Outcome(float(covered.mean()), {"missed": missed, "cells": len(cells)})

    return Metric(
        f"cell coverage: {table}",
        "higher",
        (0.0, 1.0),
        1.0,
        f"share of the original's cells that lie in the {confidence:.0%} interval of the synthetic files",
        score,
    )


# ------------------------------------------------------------------ on arrays


def rmse(estimate: ArrayLike, variance: ArrayLike, truth: ArrayLike) -> Floats:
    """Root of squared bias plus variance, cell by cell.

    >>> rmse([13.0, 10.0], [16.0, 4.0], [10.0, 10.0]).tolist()
    [5.0, 2.0]
    """
    gap = np.asarray(estimate, dtype=np.float64) - np.asarray(truth, dtype=np.float64)
    error: Floats = np.sqrt(gap**2 + np.asarray(variance, dtype=np.float64))
    return error


def inside(lower: ArrayLike, upper: ArrayLike, truth: ArrayLike) -> NDArray[np.bool_]:
    """Which cells an interval covers; a tie within rounding counts. Its mean is the coverage.

    >>> inside([0.0, 2.0], [1.0, 3.0], [1.0, 1.0]).tolist()
    [True, False]
    """
    true = np.asarray(truth, dtype=np.float64)
    slack = 1e-9 * np.abs(true)
    covered: NDArray[np.bool_] = (np.asarray(lower) - slack <= true) & (true <= np.asarray(upper) + slack)
    return covered


def _estimates(
    table: Tabulation, comparison: Comparison, rule: Rule | None
) -> tuple[tuple[str, ...], Floats, Floats, Estimate, NDArray[np.bool_]]:
    """Labels, truth, sampling variance, combined estimate and whether there is one, of cells the original fills."""
    labels = table.cells(comparison.original)
    filled = Tabulation(table.by).estimate(comparison.original, len(labels))[0] > 0
    truth, spread, known = table.estimate(comparison.original, len(labels))
    use = np.flatnonzero(filled & known)
    if not len(use):
        raise UsageError(f"{table}: every value in the original is missing; choose another column")
    parts = [table.estimate(file, len(labels)) for file in comparison.synthetic]
    everywhere = np.all([part[2][use] for part in parts], axis=0)
    estimates = [Estimate(value[use], variance[use]) for value, variance, _ in parts]
    alone = len(parts) == 1 and rule is None
    combined = estimates[0] if alone else combine_estimates(estimates, rule or PartialSynthesis())
    return tuple(labels[cell] for cell in use), truth[use], spread[use], combined, everywhere


def _number(file: Encoded, name: str) -> Floats:
    if file.column(name).kind != "numeric":
        raise UsageError(f"{name}: must be a number in this table; declare it so in the schema")
    return file.squarable(name)
