"""Survey tables with margins and totals: from m synthetic samples, or from one sample.

`survey_table` estimates every cell in every file with its design-based standard error, and combines the files by the
rule that fits how they were made. That is post-processing: it costs nothing. Counts add up exactly, in every
direction: the sum over the levels of a variable is its "all" to the last bit.

What a cell of a survey table may hold: counts, means, ratios, quantiles, for all cells of one file at once.

Every statistic but a quantile is a total or a ratio of totals, so its variance is that of the total of linearised
values: w for a count, w·(y − R·x)/X̂ for a ratio R = Ŷ/X̂ (a mean has x = 1). A quantile has Woodruff's interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.implicates import Implicates
from tacita.inference.combine import Rule, check_number, combine_estimates, rule_for
from tacita.inference.estimate import Estimate
from tacita.inference.survey.columns import Codes, Floats, as_frame, column, numbers, weighted_sums
from tacita.inference.survey.estimators import Curve, woodruff
from tacita.inference.survey.taylor import Design, TaylorSample
from tacita.lazy import later

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = later("pandas")
if TYPE_CHECKING:
    from tacita.mechanisms.survey import SurveyCells

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


ALL = "all"
_BITS = 48  # counts are rounded to 2^-48 of the total at most: then all their sums are exact in double precision


def survey_table(
    files: Implicates,
    by: Sequence[str],
    statistics: Sequence[Statistic] = (Count(),),
    *,
    design: Design | None = None,
    rule: Rule | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """One row per statistic and cell of the crossing of `by`, with margins and total at the level "all".

    Without a `design` the one that the schema declares is used; without a `rule` the kind of the files chooses one. A
    cell that is empty in some file has no mean, ratio or quantile: NaN. A cell whose variance is not known, such as the
    quantile of very few records, has an infinite standard error.

    >>> from tacita.inference.survey.tables import Mean
    >>> schema = Schema.from_dict({
    ...     "dataset": {"identity": "demo", "unit": "person"},
    ...     "variables": {
    ...         "sex": {"type": "categorical", "role": "public", "levels": ["f", "m"]},
    ...         "w": {"type": "numeric", "role": "weight", "lower": 1, "upper": 100},
    ...         "pay": {"type": "numeric", "role": "confidential", "lower": 0, "upper": 100},
    ...     },
    ...     "design": {"weight": "w", "public": ["sex"]},
    ... })
    >>> pays = [[1.0, 3.0, 5.0, 9.0], [2.0, 3.0, 4.0, 9.0]]
    >>> frames = [pd.DataFrame({"sex": ["f", "m", "f", "m"], "w": 10.0, "pay": pay}) for pay in pays]
    >>> files = Implicates(tuple(frames), schema, ("w", "pay"), "partial")
    >>> table = survey_table(files, ["sex"], [Count(), Mean("pay")])
    >>> table[["statistic", "sex", "estimate", "standard_error"]].round(2)
         statistic  sex  estimate  standard_error
    0        count    f      20.0           11.55
    1        count    m      20.0           11.55
    2        count  all      40.0            0.00
    3  mean of pay    f       3.0            1.29
    4  mean of pay    m       6.0            2.45
    5  mean of pay  all       4.5            1.63
    """
    rule = rule or rule_for(files.kind)
    check_number(files.m, rule)
    design = design or Design.of_schema(files.schema)
    # One file at a time: the estimates are small, the files need not be.
    parts = [_cells(frame, files.schema, by, statistics, design) for frame in files]
    return _table(parts, by, statistics, confidence, lambda estimates: combine_estimates(estimates, rule))


def sample_table(
    frame: Any,
    schema: Schema,
    by: Sequence[str],
    statistics: Sequence[Statistic] = (Count(),),
    *,
    design: Design | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """The same from one sample as it stands, such as a public file: nothing is combined, and nothing protected."""
    part = _cells(as_frame(frame), schema, by, statistics, design or Design.of_schema(schema))
    return _table([part], by, statistics, confidence, lambda estimates: estimates[0])


def noisy_table(cells: SurveyCells, confidence: float = 0.95) -> pd.DataFrame:
    """The same from the noisy cells of a `SurveyLaplace`; intervals hold the sampling error and the noise."""
    names = list(zip(*product(*((*one, ALL) for one in cells.levels)), strict=True))
    statistics = ("count", *(str(Mean(name)) for name in cells.means))
    tables = [
        _rows(names, cells.by, statistic, Estimate(value.ravel(), variance.ravel(), cells.replicates), confidence)
        for statistic, value, variance in zip(statistics, cells.value, cells.variance, strict=True)
    ]
    return pd.concat(tables, ignore_index=True)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Of one file: the levels of each variable of the crossing, and for each statistic and margin an estimate."""

    levels: tuple[tuple[str, ...], ...]
    estimates: dict[tuple[int, tuple[bool, ...]], tuple[Floats, Floats, Floats]]


def _cells(
    frame: pd.DataFrame, schema: Schema, by: Sequence[str], statistics: Sequence[Statistic], design: Design
) -> _Cells:
    if isinstance(by, str) or len(set(by)) != len(by):
        raise UsageError('by: give a list that names each variable once, such as by=["field", "gender"]')
    if not statistics or len(set(map(str, statistics))) != len(statistics):
        raise UsageError("statistics: give at least one, and none twice")
    if not isinstance(design, Design):
        raise UsageError("design: survey tables take a Design; for replicate weights use survey.mean and survey.total")
    codes = [_codes(frame, name, schema) for name in by]
    sample = design.of(frame)
    columns = {name: _complete(frame, name) for one in statistics for name in one.columns}
    estimates = {}
    for kept, cell, size in _margins(codes, [len(schema.levels(name)) for name in by], sample):
        df = sample.df(cell, size)
        for at, one in enumerate(statistics):
            estimates[at, kept] = (*one.by_cell(sample, columns, cell, df), df)
    return _Cells(tuple(schema.levels(name) for name in by), estimates)


def _margins(
    codes: list[Codes], sizes: list[int], sample: TaylorSample
) -> Iterator[tuple[tuple[bool, ...], Codes, int]]:
    """Every choice of variables that are kept, the others being summed over; the cell of each row, and their number."""
    for kept in product((True, False), repeat=len(codes)):
        cell, size = np.zeros(sample.weights.size, dtype=np.int64), 1
        for code, levels, keep in zip(codes, sizes, kept, strict=True):
            if keep:
                cell, size = cell * levels + code, size * levels
        yield kept, cell, size


def _codes(frame: pd.DataFrame, name: str, schema: Schema) -> Codes:
    kind = schema.categorical(name)
    if ALL in kind.levels:
        raise UsageError(f'by: {name} has a level "{ALL}", which is the name of a margin; rename the level')
    place, values = pd.factorize(column(frame, name))
    code = np.array([kind.code.get(str(value), -1) for value in values] + [-1], dtype=np.int64)[place]
    if (code < 0).any():
        raise UsageError(f"by: {name} has missing values or values that the schema does not list; add the levels")
    return code


def _complete(frame: pd.DataFrame, name: str) -> Floats:
    values = numbers(frame, name)
    if not np.isfinite(values).all():
        raise UsageError(f"{name}: has missing or infinite values; a table needs a value in every record")
    return values


def _table(
    parts: list[_Cells],
    by: Sequence[str],
    statistics: Sequence[Statistic],
    confidence: float,
    combined: Callable[[list[Estimate]], Estimate],
) -> pd.DataFrame:
    levels = parts[0].levels
    shape = tuple(len(one) + 1 for one in levels)
    names = list(zip(*product(*((*one, ALL) for one in levels)), strict=True))
    tables = []
    for at, statistic in enumerate(statistics):
        value, error, df = (np.full(shape, np.nan) for _ in range(3))
        for kept in product((True, False), repeat=len(levels)):
            place = tuple(slice(-1) if keep else -1 for keep in kept)
            margin = _joined([part.estimates[at, kept] for part in parts], combined)
            for filled, cells in zip((value, error, df), margin, strict=True):
                filled[place] = cells.reshape(filled[place].shape)
        if isinstance(statistic, Count):
            value = _adding_up(value)
        tables.append(
            _rows(names, by, str(statistic), Estimate(value.ravel(), error.ravel() ** 2, df.ravel()), confidence)
        )
    return pd.concat(tables, ignore_index=True)


def _joined(
    files: list[tuple[Floats, Floats, Floats]], combined: Callable[[list[Estimate]], Estimate]
) -> tuple[Floats, Floats, Floats]:
    """Value, standard error and degrees of freedom of every cell of one margin."""
    values, variances = (np.array([file[at] for file in files]) for at in (0, 1))
    value, error, df = (
        values.mean(axis=0),
        np.full(values.shape[1], np.nan),
        np.array([file[2] for file in files]).min(0),
    )
    known = np.isfinite(variances).all(axis=0)
    error[np.isfinite(value) & ~known] = np.inf
    if known.any():
        estimate = combined([Estimate(one[known], two[known], three[known]) for one, two, three in files])
        value[known], error[known], df[known] = estimate.value, estimate.standard_error, estimate.df
    return value, error, df


def _adding_up(counts: Floats) -> Floats:
    """Margins as sums of the cells, which are first brought to a grid so coarse that no sum is ever rounded."""
    inner = counts[(slice(-1),) * counts.ndim]
    total = float(inner.sum())
    if total > 0:
        unit = 2.0 ** (np.ceil(np.log2(total)) - _BITS)
        inner = np.rint(inner / unit) * unit
    for axis in range(counts.ndim):
        inner = np.concatenate([inner, inner.sum(axis=axis, keepdims=True)], axis=axis)
    return np.asarray(inner)


def _rows(
    names: list[tuple[str, ...]], by: Sequence[str], statistic: str, estimate: Estimate, confidence: float
) -> pd.DataFrame:
    lower, upper = estimate.interval(confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = estimate.standard_error / np.abs(estimate.value)
    return pd.DataFrame(
        {
            "statistic": statistic,
            **dict(zip(by, names, strict=True)),
            "estimate": estimate.value,
            "standard_error": estimate.standard_error,
            "df": estimate.df,
            "lower": lower,
            "upper": upper,
            "cv": relative,
        }
    )
