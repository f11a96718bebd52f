"""What the forecast of a table said of each cell, in the units of its statistic.

A forecast is given before any data, so it speaks in terms of what is not known then: the largest establishment of a
cell, the limit at which numbers are clamped, where between the limits numbers lie, the records of a cell and how large
a share is. Here the files are public, and these are put in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tacita.data.schema import Schema
from tacita.mechanisms.change import Change
from tacita.mechanisms.magnitude.base import MagnitudePlan
from tacita.mechanisms.magnitude.sums import SmoothSums
from tacita.mechanisms.table import Table
from tacita.mechanisms.table.accuracy import gradient
from tacita.mechanisms.table.noise import Reach, spread_of
from tacita.noise.combination import margin as combined
from tacita.noise.error import margin_of
from tacita.release.plans import Planned
from tacita.release.spec import TableSpec
from tacita_studies.accuracy.answers import ALL, Cells, labels

_MIDDLE = 0.5  # half of all errors are smaller than the median error
_FEW = 10.0  # deviations of a noise, in records, up to which its law is gone through number by number


@dataclass(frozen=True)
class Foretold:
    """The typical error that was foretold for each cell: the mean of all errors, or their median."""

    errors: Mapping[str, float]
    of: str = "mean"

    def of_what_is_positive(self, truth: Mapping[str, float]) -> Foretold:
        """The same where what noise makes negative is published as 0: half of the errors are no larger than the value
        itself.

        >>> Foretold({"a": 5.0, "b": 5.0}).of_what_is_positive({"a": 2.0, "b": 9.0}).errors
        {'a': 2.0, 'b': 5.0}
        """
        return replace(self, errors={name: min(one, truth.get(name, 0.0)) for name, one in self.errors.items()})


def foretold(
    product: Planned[TableSpec],
    facts: Mapping[str, Any],
    counted: pd.DataFrame,
    by: tuple[str, ...],
    schema: Schema,
    measure: str | None = None,
) -> Foretold:
    """`facts` are what was released beside the noisy numbers, `counted` the records that the table is about."""
    plan = product.plan
    if isinstance(plan, Table):
        return _of_any_file(plan, facts, counted, by, schema)
    if isinstance(plan, Change):
        return _of_change(plan, facts, counted, by, schema, measure)
    if isinstance(plan, MagnitudePlan) and not (isinstance(plan, SmoothSums) and len(plan.of) == 1):
        return Foretold({})
    if isinstance(plan, SmoothSums):
        share = float(plan.alpha) * margin_of(plan.law(), 0.5)  # as its forecast says of half of the errors
        largest = counted[plan.of[0]].groupby(labels(counted, by)).max()
        return Foretold({str(name): share * float(size) for name, size in largest.items()}, "median")
    return Foretold(_of_jobs(product, counted, by, schema))


def _of_any_file(
    plan: Table, facts: Mapping[str, Any], counted: pd.DataFrame, by: tuple[str, ...], schema: Schema
) -> Foretold:
    if facts.get("visible") is False:
        return Foretold({})
    figures = plan.forecast(schema).figures
    names, code, sizes = np.unique(labels(counted, by).astype(str), return_inverse=True, return_counts=True)
    clamps = {name: one["upper"] for name, one in facts.items() if "upper" in one}
    if plan.statistic == "share":
        # What is said of a share is said of the group that it is a share of.
        group = _sums_of(labels(counted, by[:-1]), 1.0 if plan.weights is None else counted[plan.weights])
        whole = np.array([group[" × ".join(name.split(" × ")[:-1]) or ALL] for name in names.tolist()])
        if plan.weights is None:
            inside = _sums_of(labels(counted, by), 1.0)
            shares = np.array([inside[name] for name in names.tolist()]) / whole
            law, levels = plan.budget.law(_counted(plan)), len(schema.levels(plan.of[0]))
            errors = np.array([share_error(law, levels, one) for one in shares.tolist()]) / whole
        else:
            errors = figures["median_error_in_clamps"] * clamps["count"] / whole
    elif plan.statistic == "ratio" or (plan.statistic == "mean" and plan.weights):
        above, below = (np.bincount(code, _amount(counted, column, plan.weights)) for column in (*plan.of, None)[:2])
        parts = (figures["median_error_in_clamps"] * clamps["above"],
                 figures["median_error_in_clamps_below"] * clamps["below"] * above / below)  # fmt: skip
        errors = np.hypot(*parts) / below
    elif "median_error" in figures:
        errors = np.full(len(names), figures["median_error"])
    elif "median_error_at_1000" in figures:
        errors = 1000 * figures["median_error_at_1000"] / sizes
        if plan.statistic == "variance":
            errors = errors / gradient("variance", 1.0) * _gradients(counted[plan.of[0]], code, facts["variance"])
    elif "median_error_in_clamps" in figures:
        (clamp,) = clamps.values()
        unit = clamp ** (2 if plan.statistic == "variance" else 1)
        per_record = plan.statistic in ("mean", "variance")
        errors = figures["median_error_in_clamps"] * unit / (sizes if per_record else np.ones(len(sizes)))
        if plan.statistic == "variance" and facts["variance"]["lower"] >= 0:
            errors = errors * _gradients(counted[plan.of[0]], code, facts["variance"])
    else:
        return Foretold({})
    return Foretold(dict(zip(names.tolist(), np.asarray(errors).tolist(), strict=True)), "median")


def share_error(law: Any, levels: int, share: float) -> float:
    """The median error of a share in records of its group: (1 − share) of its own noise, less share of the others'.
    Small noises are gone through number by number, since most of them may be 0.

    >>> from fractions import Fraction
    >>> from tacita.noise.discrete import DiscreteLaplace
    >>> share_error(DiscreteLaplace(Fraction(1, 2)), 2, 0.25), share_error(DiscreteLaplace(Fraction(1, 2)), 4, 0.25)
    (0.0, 0.25)
    """
    variance, kurtosis = spread_of(law.describe())
    if variance > _FEW**2:
        own, other = np.array([variance * (1 - share) ** 2]), np.array([variance * share**2])
        return float(combined(_MIDDLE, [(own, kurtosis)] + [(other, kurtosis)] * (levels - 1))[0])
    far = int(np.ceil(12 * np.sqrt(variance))) + 1
    steps = np.abs(np.arange(-far, far + 1))
    one = np.exp(-steps / float(law.scale)) if kurtosis else np.exp(-(steps**2) / (2 * variance))
    one /= one.sum()
    others = np.ones(1)
    for _ in range(levels - 1):
        others = np.convolve(others, one)
    reach = others.size // 2
    errors = np.abs((1 - share) * np.arange(-far, far + 1)[:, None] - share * np.arange(-reach, reach + 1)[None, :])
    order = np.argsort(errors, axis=None)
    passed = np.cumsum((one[:, None] * others[None, :]).ravel()[order])
    return float(errors.ravel()[order][np.searchsorted(passed, _MIDDLE * passed[-1])])


def _counted(plan: Table) -> Reach:
    return Reach.of_one(1, plan.records)


def _gradients(numbers: pd.Series[float], code: Any, facts: Mapping[str, Any]) -> Any:
    """How far noise moves a variance of one record, in squares of the interval, for numbers where they are."""
    there = numbers.notna().to_numpy()
    low, length = facts["lower"], facts["step"] * facts["steps"]
    place = ((numbers.to_numpy(dtype=np.float64)[there] - low) / length).clip(0.0, 1.0)
    many = np.maximum(np.bincount(code[there]), 1)
    first, square = (np.bincount(code[there], place**power) / many for power in (1, 2))
    return np.array([gradient("variance", 1.0, *one) for one in zip(first.tolist(), square.tolist(), strict=True)])


def _of_change(
    plan: Change, facts: Mapping[str, Any], counted: pd.DataFrame, by: tuple[str, ...], schema: Schema, measure: Any
) -> Foretold:
    """What is said is of the change, and of each flow that is measured by itself."""
    figures, names = plan.forecast(schema).figures, Cells.of(counted, by).names
    if facts.get("visible") is False or measure not in ("change", "entry", "exit"):
        return Foretold({})
    limit = facts["change" if measure == "change" else "entered"]["upper"]
    told = figures.get("median_error_of_change", figures.get("median_error_in_limits", np.nan) * limit)
    return Foretold(dict.fromkeys(names, float(told)), "median")


def _amount(counted: pd.DataFrame, column: str | None, weight: str | None) -> pd.Series[float]:
    one = pd.Series(1.0, index=counted.index) if column is None else counted[column].fillna(0)
    return one if weight is None else one * counted[weight]


def _sums_of(cell: Any, values: Any) -> dict[str, float]:
    summed = pd.Series(values, index=range(len(cell)) if np.isscalar(values) else None).groupby(cell).sum()
    return {str(name): float(total) for name, total in summed.items()}


def _of_jobs(
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
