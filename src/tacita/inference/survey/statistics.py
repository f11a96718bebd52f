"""What a cell of a survey table may hold: counts, means, ratios, quantiles, for all cells of one file at once.

Every statistic but a quantile is a total or a ratio of totals, so its variance is that of the total of linearised
values: w for a count, w·(y − R·x)/X̂ for a ratio R = Ŷ/X̂ (a mean has x = 1). A quantile has Woodruff's interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacita.errors import UsageError
from tacita.inference.survey.columns import Codes, Floats, weighted_sums
from tacita.inference.survey.quantiles import Curve, woodruff
from tacita.inference.survey.taylor import TaylorSample

Columns = Mapping[str, Floats]


class Statistic(Protocol):
    """One number per cell; `str` is its name in the table."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The numeric columns it reads."""
        ...

    def by_cell(self, sample: TaylorSample, columns: Columns, cell: Codes, df: Floats) -> tuple[Floats, Floats]:
        """Value and variance of every cell of one file; NaN where a cell has no answer."""
        ...


@dataclass(frozen=True)
class Count:
    """The estimated number of units of the population: the sum of the weights.

    >>> str(Count())
    'count'
    """

    @property
    def columns(self) -> tuple[str, ...]:
        return ()

    def __str__(self) -> str:
        return "count"

    def by_cell(self, sample: TaylorSample, columns: Columns, cell: Codes, df: Floats) -> tuple[Floats, Floats]:
        value = weighted_sums(cell, sample.weights, df.size)
        return value, sample.variances(sample.weights, cell, df.size)


@dataclass(frozen=True)
class Ratio:
    """The ratio of two weighted totals.

    >>> str(Ratio("pay", "hours"))
    'ratio of pay to hours'
    """

    numerator: str
    denominator: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.numerator, self.denominator)

    def __str__(self) -> str:
        return f"ratio of {self.numerator} to {self.denominator}"

    def by_cell(self, sample: TaylorSample, columns: Columns, cell: Codes, df: Floats) -> tuple[Floats, Floats]:
        return _ratio(sample, columns[self.numerator], columns[self.denominator], cell, df.size)


@dataclass(frozen=True)
class Mean:
    """The weighted mean of a column.

    >>> str(Mean("pay"))
    'mean of pay'
    """

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def __str__(self) -> str:
        return f"mean of {self.column}"

    def by_cell(self, sample: TaylorSample, columns: Columns, cell: Codes, df: Floats) -> tuple[Floats, Floats]:
        return _ratio(sample, columns[self.column], np.ones(cell.size), cell, df.size)


@dataclass(frozen=True)
class Quantile:
    """A weighted quantile; its variance is read off Woodruff's 95 percent interval, infinite where that has no end.

    >>> str(Quantile("pay")), str(Quantile("pay", 0.9))
    ('median of pay', 'quantile 0.9 of pay')
    """

    column: str
    p: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.p < 1:
            raise UsageError("p: must lie strictly between 0 and 1")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def __str__(self) -> str:
        return f"median of {self.column}" if self.p == 0.5 else f"quantile {self.p:g} of {self.column}"

    def by_cell(self, sample: TaylorSample, columns: Columns, cell: Codes, df: Floats) -> tuple[Floats, Floats]:
        y, size = columns[self.column], df.size
        order = np.argsort(cell, kind="stable")
        ends = np.searchsorted(cell[order], np.arange(size + 1))
        curves: dict[int, Curve] = {}
        value = np.full(size, np.nan)
        for one in np.flatnonzero(weighted_sums(cell, sample.weights, size) > 0).tolist():
            inside = order[ends[one] : ends[one + 1]]
            inside = inside[sample.weights[inside] > 0]
            curves[one] = Curve(y[inside], sample.weights[inside])
            value[one] = curves[one].at(self.p)
        share, share_variance = _ratio(sample, (y <= value[cell]).astype(np.float64), np.ones(cell.size), cell, size)
        variance = np.full(size, np.nan)
        for one, curve in curves.items():
            variance[one] = woodruff(curve, share[one], float(np.sqrt(share_variance[one])), df[one], 0.95)[2] ** 2
        return value, variance


def _ratio(sample: TaylorSample, y: Floats, x: Floats, cell: Codes, size: int) -> tuple[Floats, Floats]:
    above = weighted_sums(cell, sample.weights * y, size)
    below = weighted_sums(cell, sample.weights * x, size)
    empty = below == 0
    below[empty] = 1.0
    value = above / below
    variance = sample.variances(sample.weights * (y - value[cell] * x) / below[cell], cell, size)
    return np.where(empty, np.nan, value), np.where(empty, np.nan, variance)
