"""Tests that need all components at once, or only the test statistics of the single files.

- `wald_test`: Reiter (2005) for full and partial synthesis; Li, Raghunathan and Rubin (1991) for one measurement.
- `likelihood_ratio_test`: the same from log-likelihoods, Reiter (2005); Meng and Rubin (1992) for one measurement.
- `combine_chi_square`, `combine_p_values`: Li, Meng, Raghunathan and Rubin (1991), for when only those are at hand.

The covariance between m estimates of k numbers is a poor matrix for small m, so none of these inverts it: all assume
that it is proportional to the covariance within a file, and use the mean of the ratios.

References: Reiter (2005) Journal of Statistical Planning and Inference 131, 365–377; Li, Raghunathan and Rubin (1991)
Journal of the American Statistical Association 86, 1065–1073; Meng and Rubin (1992) Biometrika 79, 103–111; Li, Meng,
Raghunathan and Rubin (1991) Statistica Sinica 1, 65–92.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.implicates import Implicates
from tacita.inference.combine import (
    Analysis,
    FixedMeasurement,
    OneMeasurement,
    PartialSynthesis,
    Rule,
    check_number,
    moments,
    rule_for,
)
from tacita.inference.estimate import Estimate
from tacita.lazy import later

stats = later("scipy.stats")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Test:
    """An F statistic with its degrees of freedom and p-value; `df_denominator` may be infinite."""

    __test__ = False  # for pytest: this is no test class

    statistic: float
    df_numerator: float
    df_denominator: float

    @property
    def p_value(self) -> float:
        if np.isinf(self.df_denominator):
            return float(stats.chi2.sf(max(self.statistic, 0.0) * self.df_numerator, self.df_numerator))
        return float(stats.f.sf(max(self.statistic, 0.0), self.df_numerator, self.df_denominator))


def wald_test(implicates: Implicates, analysis: Analysis, null: Any = 0.0, rule: Rule | None = None) -> Test:
    """Whether all numbers of the estimate equal `null`; the analysis must return their covariance matrix."""
    rule = rule or rule_for(implicates.kind)
    check_number(implicates.m, rule)
    return wald_test_of([Estimate.of(analysis(frame)) for frame in implicates], rule, null)


def wald_test_of(estimates: Sequence[Estimate], rule: Rule, null: Any = 0.0) -> Test:
    """The same from answers that are already there, one per file.

    >>> from tacita.inference.combine import PartialSynthesis
    >>> answers = [Estimate([1.0, 0.0], np.eye(2)), Estimate([3.0, 2.0], np.eye(2))]
    >>> test = wald_test_of(answers, PartialSynthesis())
    >>> test.statistic, test.df_numerator, test.df_denominator, round(test.p_value, 4)
    (1.25, 2, 6.0, 0.3517)
    """
    check_number(len(estimates), rule)
    m, k = len(estimates), estimates[0].size
    matrices = [Estimate(np.reshape(one.value, k), one.covariance) for one in estimates]
    value, within, between = moments(matrices)
    known = rule.scale(m) * within + rule.noise(within.shape)
    away = value - np.broadcast_to(np.asarray(null, dtype=np.float64), value.shape)
    try:
        distance = float(away @ np.linalg.solve(known, away))
        ratio = float(np.trace(np.linalg.solve(known, between))) / k
    except np.linalg.LinAlgError:
        raise UsageError(
            "analysis: its covariance matrix is singular; test fewer components, such as all levels but one"
        ) from None
    return _test(distance, rule.share(m) * ratio, k, m, rule)


def likelihood_ratio_test(
    implicates: Implicates,
    fit: Callable[[Any], tuple[Any, Any]],
    log_likelihood: Callable[[Any, Floats], float],
    restrictions: int,
    rule: Rule | None = None,
) -> Test:
    """Whether a restricted model does as well as a larger one.

    `fit` returns the parameters of the larger and of the restricted model for one file, both as vectors of the larger
    model's length. `log_likelihood` gives the larger model's log-likelihood of a file at any such vector.
    """
    rule = rule or rule_for(implicates.kind)
    check_number(implicates.m, rule)
    if isinstance(rule, FixedMeasurement):
        raise UsageError("rule: the likelihood ratio form has no place for a known noise variance; use wald_test")
    frames = list(implicates)
    fits = [tuple(np.asarray(one, dtype=np.float64) for one in fit(frame)) for frame in frames]
    large, small = (np.mean([pair[side] for pair in fits], axis=0) for side in (0, 1))
    own = np.mean(
        [
            2 * (log_likelihood(frame, mine[0]) - log_likelihood(frame, mine[1]))
            for frame, mine in zip(frames, fits, strict=True)
        ]
    )
    joint = np.mean([2 * (log_likelihood(frame, large) - log_likelihood(frame, small)) for frame in frames])
    return likelihood_ratio_test_of(float(own), float(joint), restrictions, implicates.m, rule)


def likelihood_ratio_test_of(own: float, joint: float, restrictions: int, m: int, rule: Rule) -> Test:
    """The same from two averages over the files of twice the log-likelihood ratio.

    `own` is taken at each file's own parameters, `joint` at the parameters averaged over the files.

    >>> from tacita.inference.combine import PartialSynthesis
    >>> likelihood_ratio_test_of(own=9.0, joint=8.0, restrictions=2, m=5, rule=PartialSynthesis()).statistic
    3.5555555555555554
    """
    check_number(m, rule)
    ratio = m / max(m - 1, 1) * max(own - joint, 0.0) / restrictions / rule.scale(m)
    return _test(joint / rule.scale(m), rule.share(m) * ratio, restrictions, m, rule)


def _test(distance: float, ratio: float, k: int, m: int, rule: Rule) -> Test:
    """F from the distance in units of the known variance, `ratio` being c times the mean relative variance between."""
    if ratio + rule.sign <= 0:  # full synthesis only: the variance came out negative, and Reiter (2002) steps in
        scale = float(rule.rescue(np.array(-1.0), np.array(1.0)))
        return Test(distance / (k * scale), k, np.inf)
    return Test(distance / (k * (ratio + rule.sign)), k, _denominator(ratio, k, m, rule.sign))


def _denominator(ratio: float, k: int, m: int, sign: int) -> float:
    t = k * (m - 1)
    if ratio <= 0 or t == 0:
        return np.inf
    if t > 4:
        return 4 + (t - 4) * (1 + sign * (1 - 2 / t) / ratio) ** 2
    return t * (1 + 1 / k) * (1 + sign / ratio) ** 2 / 2


def combine_chi_square(statistics: Sequence[float], df: float, rule: Rule | None = None) -> Test:
    """One test from the m chi-square statistics (with `df` degrees of freedom) of the single files.

    Li, Meng, Raghunathan and Rubin (1991), made for multiple imputation and so for `OneMeasurement`, which is the
    default. With `PartialSynthesis` the variance between files enters as 1/m instead of 1 + 1/m, as it does in that
    rule; the published form is very cautious there (a 5 percent test rejects in 1 to 2 percent of cases).
    The rule of thumb is rough either way: prefer `wald_test` where estimates and covariances are at hand. With few
    files it has little power: of associations in a 3 × 3 table (df = 4) that one file shows 99 times in 100 it finds,
    at 5 percent, 29, 29, 37 and 61 percent with 2, 3, 5 and 10 files (with `PartialSynthesis` 46, 62, 90 and 100).

    >>> test = combine_chi_square([24.957, 18.051, 18.812, 17.362, 21.234, 18.615, 19.84], df=4)
    >>> print(f"F(4, {test.df_denominator:.2f}) = {test.statistic:.3f}, p = {test.p_value:.5f}")
    F(4, 482.06) = 4.438, p = 0.00157
    """
    rule = rule or OneMeasurement()
    if not isinstance(rule, OneMeasurement | PartialSynthesis):
        raise UsageError(
            "rule: chi-square statistics combine by OneMeasurement or PartialSynthesis; else use wald_test"
        )
    values = np.asarray(statistics, dtype=np.float64)
    m = values.size
    check_number(m, rule)
    if df <= 0 or not np.isfinite(values).all() or (values < 0).any():
        raise UsageError("statistics: chi-square statistics must be finite and not negative, on df above 0")
    spread = float(np.sqrt(values).var(ddof=1))
    ratio = rule.share(m) * spread
    statistic = (float(values.mean()) / df - (m + 1) ** 2 / (m * (m - 1)) * spread) / (1 + ratio)
    denominator = np.inf if ratio == 0 else df ** (-3 / m) * (m - 1) * (1 + 1 / ratio) ** 2
    return Test(statistic, df, denominator)


def combine_p_values(p_values: Sequence[float], df: float, rule: Rule | None = None) -> Test:
    """The same from the p-values of chi-square tests with `df` degrees of freedom.

    >>> round(combine_p_values([0.04, 0.01, 0.03], df=3).p_value, 3)
    0.046
    """
    values = np.asarray(p_values, dtype=np.float64)
    if not ((values > 0) & (values <= 1)).all():
        raise UsageError("p_values: must lie above 0 and not above 1; give the chi-square statistics where p is 0")
    return combine_chi_square(stats.chi2.isf(values, df).tolist(), df, rule)
