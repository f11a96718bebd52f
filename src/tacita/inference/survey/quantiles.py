"""Quantiles by domain, with Woodruff's (1952) intervals.

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
from tacita.inference.survey.columns import Floats, Missing, as_frame, domains, numbers, without_missing
from tacita.inference.survey.estimators import AnyDesign, By, mean
from tacita.lazy import later

if TYPE_CHECKING:
    import pandas as pd
    from scipy import stats
else:
    pd = later("pandas")
    stats = later("scipy.stats")

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
