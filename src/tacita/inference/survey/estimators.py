"""Totals, means, ratios and proportions by any crossing of domains, for every kind of design.

Domains are estimated as R's `svyby` does: rows outside a domain get no weight, but the design stays whole. Every
estimate here is a ratio of weighted totals or a total, so one linearisation serves all: the value of a row is
w·(y − R·x)/X̂ for a ratio R = Ŷ/X̂ (a mean has x = 1), and w·y for a total.

Quantiles by domain, with Woodruff's (1952) intervals.

The quantile is the smallest value at which the weighted share of rows reaches p (R `survey`: qrule = "math"). The
interval takes the design's interval for the share of rows at or below the quantile, p̂ ± t·se(p̂), and reads off the
quantiles at its two ends; the standard error is the length of that interval over 2t. That is the default of R `survey`
4.x, `svyquantile(..., interval.type = "mean")`, for linearised and replicated designs alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacita.errors import UsageError
from tacita.inference.estimate import Estimate
from tacita.inference.survey.columns import (
    Codes,
    Domains,
    Floats,
    Missing,
    as_frame,
    column,
    domains,
    numbers,
    without_missing,
)
from tacita.inference.survey.replicates import ReplicateDesign, ReplicateSample
from tacita.inference.survey.taylor import Design, TaylorSample
from tacita.lazy import later

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = later("pandas")
if TYPE_CHECKING:
    import pandas as pd
    from scipy import stats
else:
    pd = later("pandas")
    stats = later("scipy.stats")

AnyDesign = Design | ReplicateDesign
By = str | Sequence[str] | None


def total(frame: Any, y: str | None, design: AnyDesign, by: By = None, missing: Missing = "error") -> Estimate:
    """The weighted total of a column by domain; with `y` None the number of units.

    >>> frame = pd.DataFrame({"pay": [1.0, 3.0, 5.0, 9.0], "w": 10.0, "sex": ["f", "m", "f", "m"]})
    >>> total(frame, "pay", Design(weights="w"), by="sex").table().round(2)["estimate"]
    sex=f     60.0
    sex=m    120.0
    Name: estimate, dtype: float64
    """
    table = as_frame(frame)
    groups = domains(table, by)
    values = np.ones(len(table)) if y is None else numbers(table, y)
    groups = without_missing(groups, values, y or "", missing)
    return _estimate(_Totals(np.nan_to_num(values), groups), None, design.of(table))


def mean(frame: Any, y: str, design: AnyDesign, by: By = None, missing: Missing = "error") -> Estimate:
    """The weighted mean of a column by domain.

    >>> frame = pd.DataFrame({"pay": [1.0, 3.0, 5.0, 9.0], "w": 10.0})
    >>> pay = mean(frame, "pay", Design(weights="w"))
    >>> float(pay.value[0]), round(float(pay.standard_error[0]), 4)
    (4.5, 1.7078)
    """
    table = as_frame(frame)
    values = numbers(table, y)
    groups = without_missing(domains(table, by), values, y, missing)
    top, bottom = _Totals(np.nan_to_num(values), groups), _Totals(np.ones(len(table)), groups)
    return _estimate(top, bottom, design.of(table))


def ratio(
    frame: Any, numerator: str, denominator: str, design: AnyDesign, by: By = None, missing: Missing = "error"
) -> Estimate:
    """The ratio of two weighted totals by domain."""
    table = as_frame(frame)
    above, below = numbers(table, numerator), numbers(table, denominator)
    groups = without_missing(domains(table, by), above, numerator, missing)
    groups = without_missing(groups, below, denominator, missing)
    return _estimate(_Totals(np.nan_to_num(above), groups), _Totals(np.nan_to_num(below), groups), design.of(table))


def proportions(frame: Any, y: str, design: AnyDesign, by: By = None, missing: Missing = "error") -> Estimate:
    """The share of each category of a column, by domain; the shares of a domain sum to 1.

    >>> frame = pd.DataFrame({"job": ["a", "b", "b", "b"], "w": 2.0})
    >>> proportions(frame, "job", Design(weights="w")).names
    ('job=a', 'job=b')
    """
    table = as_frame(frame)
    level, values = pd.factorize(column(table, y), sort=True)
    groups = without_missing(domains(table, by), np.where(level < 0, np.nan, 0.0), y, missing)
    count = len(values)
    code = np.where(groups.code >= 0, groups.code * count + np.maximum(level, 0), -1)
    stems = [""] if by is None else [f"{name}, " for name in groups.names]
    cells = Domains(code, tuple(f"{stem}{y}={value}" for stem in stems for value in values))
    ones = np.ones(len(table))
    parent = np.arange(cells.size) // count
    return _estimate(_Totals(ones, cells), _Totals(ones, groups), design.of(table), parent)


@dataclass(frozen=True, eq=False)
class _Totals:
    """Weighted totals of one value per row, by domain."""

    values: Floats
    groups: Domains

    def of(self, weights: Floats) -> Floats:
        inside = self.groups.code >= 0
        product = (weights * self.values)[inside]
        return np.bincount(self.groups.code[inside], weights=product, minlength=self.groups.size).astype(np.float64)

    def by_unit(self, weights: Floats, unit: Codes, count: int) -> Floats:
        inside = self.groups.code >= 0
        cell = unit[inside] * self.groups.size + self.groups.code[inside]
        summed = np.bincount(cell, weights=(weights * self.values)[inside], minlength=count * self.groups.size)
        return np.asarray(summed.reshape(count, self.groups.size))


def _estimate(
    top: _Totals, bottom: _Totals | None, sample: TaylorSample | ReplicateSample, parent: Codes | None = None
) -> Estimate:
    """`parent` names the domain of the denominator of each cell of the numerator, where they are not the same."""
    parent = np.arange(top.groups.size) if parent is None else parent
    above = top.of(sample.weights)
    below = np.ones_like(above) if bottom is None else bottom.of(sample.weights)[parent]
    if (below == 0).any():
        empty = top.groups.names[int(np.flatnonzero(below == 0)[0])]
        raise UsageError(f"by: the denominator of {empty} is zero; leave the domain out, or merge it with another")
    value = above / below
    groups = top.groups if bottom is None else bottom.groups
    df = sample.df(groups.code, groups.size)[parent]
    if isinstance(sample, TaylorSample):

        def totals(unit: Codes, count: int) -> Floats:
            sums = top.by_unit(sample.weights, unit, count)
            if bottom is None:
                return sums
            return np.asarray((sums - value * bottom.by_unit(sample.weights, unit, count)[:, parent]) / below)

        return Estimate(value, sample.covariance(totals), df, top.groups.names)
    with np.errstate(divide="ignore", invalid="ignore"):
        replicated = np.array(
            [top.of(one) / (1.0 if bottom is None else bottom.of(one)[parent]) for one in sample.replicates.T]
        )
    return Estimate(value, sample.covariance(value, replicated), df, top.groups.names)


# Weights are sums of products of inverse probabilities: shares that are equal on paper differ in the last digits.
_SAME_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Quantiles with their Woodruff intervals; an end is infinite where the interval of the share leaves [0, 1]."""

    estimate: Estimate
    lower: Floats
    upper: Floats
    confidence: float

    def table(self) -> pd.DataFrame:
        """One row per domain and probability."""
        return self.estimate.table(self.confidence).assign(lower=self.lower, upper=self.upper)


def quantiles(
    frame: Any,
    y: str,
    design: AnyDesign,
    p: float | Sequence[float] = 0.5,
    by: By = None,
    missing: Missing = "error",
    confidence: float = 0.95,
) -> Quantiles:
    """Weighted quantiles of a column by domain.

    >>> from tacita.inference.survey.taylor import Design
    >>> frame = pd.DataFrame({"pay": np.arange(1.0, 101.0), "w": 2.0})
    >>> quantiles(frame, "pay", Design(weights="w"), p=0.5).table().round(3)
           estimate  standard_error  lower  upper    df
    p=0.5      50.0           4.788   41.0   60.0  99.0
    """
    wanted = [p] if isinstance(p, int | float) else list(p)
    if not wanted or not all(0 < one < 1 for one in wanted):
        raise UsageError("p: must lie strictly between 0 and 1")
    if not 0 < confidence < 1:
        raise UsageError("confidence: must lie strictly between 0 and 1, such as 0.95")
    table = as_frame(frame)
    values = numbers(table, y)
    groups = without_missing(domains(table, by), values, y, missing)
    weights = design.of(table).weights
    estimated: list[tuple[float, float, float, float, float]] = []
    for domain in range(groups.size):
        inside = (groups.code == domain) & (weights > 0)
        if not inside.any():
            raise UsageError(f"by: no row of {groups.names[domain]} carries weight; leave the domain out")
        curve = Curve(values[inside], weights[inside])
        for one in wanted:
            estimated.append(_of_domain(table, groups.code == domain, values, design, curve, one, confidence))
    value, error, lower, upper, df = np.array(estimated).T
    stems = [""] if by is None else [f"{name}, " for name in groups.names]
    names = tuple(f"{stem}p={one:g}" for stem in stems for one in wanted)
    return Quantiles(Estimate(value, error**2, df, names), lower, upper, confidence)


class Curve:
    """The weighted distribution of the values of one domain."""

    def __init__(self, values: Floats, weights: Floats) -> None:
        order = np.argsort(values, kind="stable")
        self._values = values[order]
        cumulated = np.cumsum(weights[order])
        self._shares = cumulated / cumulated[-1]

    def at(self, p: float) -> float:
        place = int(np.searchsorted(self._shares, p - _SAME_SHARE, side="left"))
        return float(self._values[min(place, self._values.size - 1)])


def _of_domain(
    table: pd.DataFrame,
    inside: Any,
    values: Floats,
    design: AnyDesign,
    curve: Curve,
    p: float,
    confidence: float,
) -> tuple[float, float, float, float, float]:
    value = curve.at(p)
    marked = table.assign(**{"\0below": np.where(inside, (values <= value) * 1.0, np.nan)})
    share = mean(marked, "\0below", design, missing="domain")
    df = float(share.df[0])
    lower, upper, error = woodruff(curve, float(share.value[0]), float(share.standard_error[0]), df, confidence)
    return value, error, lower, upper, df


def woodruff(
    curve: Curve, share: float, share_error: float, df: float, confidence: float
) -> tuple[float, float, float]:
    """Lower end, upper end and standard error of a quantile, from the share of rows at or below it."""
    reach = float(stats.t.ppf((1 + confidence) / 2, df))
    low, high = (share + side * reach * share_error for side in (-1, 1))
    lower = curve.at(low) if low >= 0 else -np.inf
    upper = curve.at(high) if high <= 1 else np.inf
    return lower, upper, (upper - lower) / (2 * reach)
