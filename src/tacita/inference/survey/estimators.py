"""Totals, means, ratios and proportions by any crossing of domains, for every kind of design.

Domains are estimated as R's `svyby` does: rows outside a domain get no weight, but the design stays whole. Every
estimate here is a ratio of weighted totals or a total, so one linearisation serves all: the value of a row is
w·(y − R·x)/X̂ for a ratio R = Ŷ/X̂ (a mean has x = 1), and w·y for a total.
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
