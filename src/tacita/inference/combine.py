"""One answer from m synthetic files, with an interval that covers.

`combine` runs an analysis on every file and applies the rule that fits how the files were made. The formulas, and what
each of them assumes, are in `tacita.inference.rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.implicates import Implicates
from tacita.inference.estimate import Estimate, diagonal
from tacita.inference.rules import Rule, rule_for

Floats = NDArray[np.float64]
Analysis = Callable[[Any], Any]


def combine(implicates: Implicates, analysis: Analysis, rule: Rule | None = None) -> Estimate:
    """Analyse every file and combine the answers.

    `analysis` takes one pandas frame and returns (estimate, variance), an `Estimate`, or a fitted statsmodels model.
    Without a `rule` the kind of the implicates chooses one.

    >>> import pandas as pd
    >>> from tacita.data.schema import Schema
    >>> schema = Schema.from_dict({
    ...     "dataset": {"identity": "demo", "unit": "person"},
    ...     "variables": {"pay": {"type": "numeric", "role": "confidential", "lower": 0, "upper": 100}},
    ... })
    >>> frames = [pd.DataFrame({"pay": pay}) for pay in ([9.0, 11.0, 10.0], [12.0, 10.0, 11.0], [8.0, 10.0, 9.0])]
    >>> files = Implicates(tuple(frames), schema, ("pay",), "partial")
    >>> mean = combine(files, lambda frame: (frame["pay"].mean(), frame["pay"].var() / len(frame)))
    >>> round(mean.value, 3), round(mean.variance, 3), round(mean.df, 3)
    (10.0, 0.667, 8.0)
    """
    rule = rule or rule_for(implicates.kind)
    check_number(implicates.m, rule)
    return combine_estimates([Estimate.of(analysis(frame)) for frame in implicates], rule)


def combine_estimates(estimates: Sequence[Estimate], rule: Rule) -> Estimate:
    """Combine answers that are already there, one per file.

    >>> from tacita.inference.rules import OneMeasurement
    >>> combined = combine_estimates([Estimate(1.0, 0.5), Estimate(3.0, 0.5)], OneMeasurement())
    >>> combined.value, combined.variance
    (2.0, 3.5)
    """
    m = len(estimates)
    check_number(m, rule)
    value, within, between = moments(estimates)
    ndim = value.ndim
    known = rule.scale(m) * within + rule.noise(within.shape)
    total = rule.sign * known + rule.share(m) * between
    spread = rule.share(m) * diagonal(between, ndim)
    fixed, raw = diagonal(known, ndim), diagonal(total, ndim)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Without a difference between the files, or with one that is lost beside the rest, nothing limits the degrees.
        own = np.where(spread > 0, max(m - 1, 1) * (1 + rule.sign * fixed / spread) ** 2, np.inf)
    analysis_df = np.min([np.broadcast_to(one.df, value.shape).ravel() for one in estimates], axis=0)
    df = rule.complete(own, fixed, raw, analysis_df)
    total = rule.rescue(total, within)
    return Estimate(value, total, df.reshape(value.shape), estimates[0].names)


def moments(estimates: Sequence[Estimate]) -> tuple[Floats, Floats, Floats]:
    """Mean estimate, mean variance, and variance between the estimates, in the shape of the variances."""
    shapes = {(np.shape(one.value), np.shape(one.variance), one.names) for one in estimates}
    if len(shapes) != 1:
        raise UsageError(
            "analysis: gave estimates of different shapes or names for different files; "
            "fix the levels and the order of what it returns, such as by declaring categories"
        )
    values = np.array([one.value for one in estimates], dtype=np.float64)
    if not np.isfinite(values).all() or not all(np.isfinite(one.variance).all() for one in estimates):
        raise UsageError("analysis: gave a missing or infinite estimate or variance for one of the files")
    if any((one.variances < 0).any() for one in estimates):
        raise UsageError("analysis: gave a negative variance for one of the files")
    value = values.mean(axis=0)
    within = np.mean([one.variance for one in estimates], axis=0)
    away = values - value
    divisor = max(len(estimates) - 1, 1)
    between = away.T @ away / divisor if within.ndim == 2 else (away**2).sum(axis=0) / divisor
    return np.asarray(value), np.asarray(within), np.asarray(between)


def check_number(m: int, rule: Rule) -> None:
    if m < rule.least:
        raise UsageError(
            f"implicates: {type(rule).__name__} needs at least {rule.least} synthetic files, and there is {m}; "
            "ask for more files, or, for a completely synthesized large sample without privacy noise, use LargeSample"
        )
