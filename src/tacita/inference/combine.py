"""One answer from m synthetic files, with an interval that covers.

`combine` runs an analysis on every file and applies the rule that fits how the files were made. There is one formula
for all of them.

Write q̄ for the mean of the m estimates, B for the variance between them (divisor m − 1) and Ū for the mean of their m
variances. Every rule has the form

    T = s·K + c·B,   K = κ·Ū + N,   degrees of freedom (m − 1)(1 + s·K/(c·B))²

and differs only in what the files have in common:

| rule | when | s | κ | N | c |
| --- | --- | --- | --- | --- | --- |
| `PartialSynthesis` | collected units, values drawn from a model fitted to the confidential rows | + | 1 | 0 | 1/m |
| `FullSynthesis` | fresh samples from synthetic populations | − | 1 | 0 | 1 + 1/m |
| `OneMeasurement` | draws of the confidential file given one noisy measurement | + | 1 | 0 | 1 + 1/m |
| `FixedMeasurement` | files that all follow the same noisy measurement as it stands | + | 1 | its variance | 1/m |
| `LargeSample` | any number of files, also one, of a completely synthesized large sample | + | see there | 0 | 0 |

References: Reiter (2003) Survey Methodology 29, 181–188; Raghunathan, Reiter and Rubin (2003) Journal of Official
Statistics 19, 1–16; Reiter (2002) Journal of Official Statistics 18, 531–544; Rubin (1987) Multiple Imputation for
Nonresponse in Surveys; Barnard and Rubin (1999) Biometrika 86, 948–955; Raab, Nowok and Dibben (2016) Journal of
Privacy and Confidentiality 7(3), 67–97.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.implicates import Implicates, Kind
from tacita.inference.estimate import Estimate, diagonal

Floats = NDArray[np.float64]


class Rule(Protocol):
    """What `combine` needs to know of a rule. `within` and `between` are variances or covariance matrices."""

    @property
    def least(self) -> int:
        """The smallest number of files that the rule can work with."""
        ...

    @property
    def sign(self) -> int: ...

    def scale(self, m: int) -> float:
        """κ: how often the variance within a file enters."""
        ...

    def share(self, m: int) -> float:
        """c: how often the variance between files enters."""
        ...

    def noise(self, shape: tuple[int, ...]) -> Floats:
        """N: what the noise of a shared measurement adds, beyond what shows between the files."""
        ...

    def complete(self, df: Floats, within: Floats, total: Floats, analysis_df: Floats) -> Floats:
        """The degrees of freedom, given those of the analysis of one file."""
        ...

    def rescue(self, total: Floats, within: Floats) -> Floats:
        """Variances where `total` came out negative."""
        ...


@dataclass(frozen=True)
class _Additive:
    """What the rules with a positive sign have in common."""

    @property
    def least(self) -> int:
        return 2

    @property
    def sign(self) -> int:
        return 1

    def scale(self, m: int) -> float:
        return 1.0

    def share(self, m: int) -> float:
        return 1 / m

    def noise(self, shape: tuple[int, ...]) -> Floats:
        return np.zeros(shape)

    def complete(self, df: Floats, within: Floats, total: Floats, analysis_df: Floats) -> Floats:
        # No small-sample theory is published for these rules; an interval that rests on few clusters must not
        # pretend to rest on more because the files agree.
        return np.minimum(df, analysis_df)

    def rescue(self, total: Floats, within: Floats) -> Floats:
        return total


@dataclass(frozen=True)
class PartialSynthesis(_Additive):
    """Reiter (2003): T = B/m + Ū with (m − 1)(1 + Ū/(B/m))² degrees of freedom.

    The files keep the collected units and replace values by draws from a model fitted to the confidential rows.
    Each file then repeats the sampling error of the collected sample, which Ū measures; drawing adds B per file, of
    which B/m is left in the mean. With two files a 95 percent interval is nearer to 93 percent; from three it holds.
    """


@dataclass(frozen=True)
class OneMeasurement(_Additive):
    """Files drawn from the posterior of the confidential file given one noisy measurement: T = Ū + (1 + 1/m)·B.

    Derivation. Let s̃ = s(D) + noise be all that was read from the confidential file D. Each synthetic file is drawn
    as D⁽ˡ⁾ ~ p(D | s̃): first the true statistics given the noisy ones (the law of the noise is public), then the
    records given the statistics. Given s̃ the estimates q⁽ˡ⁾ = q(D⁽ˡ⁾) are independent draws of what q(D) can be, so
    B estimates Var(q(D) | s̃): the noise of the measurement *and* what the statistics leave open. With Q the
    population value, Q − q̄ = [Q − q(D)] + [q(D) − E(q(D) | s̃)] + [E(q(D) | s̃) − q̄]. The three parts have the variances
    Ū, B and B/m. The confidential file is thus the missing data and the measurement the observed data: this is Rubin's
    (1987) rule for multiple imputation, with Barnard and Rubin's (1999) degrees of freedom where the analysis of one
    file rests on few.

    It fails, and intervals are far too short, where every file follows the noisy statistics as they stand: B then
    says nothing about the noise. Use `FixedMeasurement` for such files. Where not the statistics but the parameters
    of the model were drawn given s̃, B holds the sampling variance too; that is the situation of `FullSynthesis`.
    """

    def share(self, m: int) -> float:
        return 1 + 1 / m

    def complete(self, df: Floats, within: Floats, total: Floats, analysis_df: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            known = np.where(total > 0, within / total, 1.0)
            observed = known * analysis_df * (analysis_df + 1) / (analysis_df + 3)
            joint = 1 / (1 / df + 1 / observed)
        # Where a file by itself leaves no variance, nothing of the analysis' own degrees is left to limit by.
        return np.where(np.isfinite(analysis_df) & (known > 0), joint, df)


@dataclass(frozen=True, eq=False)
class FixedMeasurement(_Additive):
    """Files that all follow one noisy measurement as it stands: T = Ū + N + B/m.

    `noise_variance` is N, the variance that the noise of the measurement causes in the estimate (a number, a vector or
    a matrix, as the estimate is): for a linear estimate Σ aⱼ·s̃ⱼ it is Σ aⱼ²·Var(noiseⱼ), and the law of the noise is
    in the release. Derivation: q̄ − Q is the sampling error of the confidential file (Ū), what the noise moved (N), and
    the mean of m independent drawings (B/m); the files share the first two, so they do not show in B.
    """

    noise_variance: Any

    def __post_init__(self) -> None:
        given = np.asarray(self.noise_variance, dtype=np.float64)
        own = np.diagonal(given) if given.ndim == 2 else given
        if given.ndim > 2 or not np.isfinite(given).all() or (own < 0).any():
            raise UsageError("noise_variance: must be a finite variance, or variances or their matrix, none below 0")

    def noise(self, shape: tuple[int, ...]) -> Floats:
        given = np.asarray(self.noise_variance, dtype=np.float64)
        if given.shape == shape:
            return given
        if len(shape) == 2 and given.shape == shape[:1]:
            return np.diag(given)
        raise UsageError(f"noise_variance: has the shape {given.shape}; the variance of the estimate has {shape}")


@dataclass(frozen=True)
class FullSynthesis:
    """Raghunathan, Reiter and Rubin (2003): T = (1 + 1/m)·B − Ū with (m − 1)(1 − Ū/((1 + 1/m)·B))² degrees of freedom.

    Each file is a sample of a synthetic population that was drawn anew from the posterior of the model. B then holds
    the posterior variance of the population value, which is wanted, and the variance of sampling the file, which is
    not: Ū is taken off. The difference can be negative. Reiter (2002) then takes Ū times the number of rows of a
    synthetic file over the number of rows of the confidential one; give that `size_ratio`. Here such an interval uses
    the normal law, because Ū is known well.

    With few files of the original size the rule is cautious: about 98 to 99 percent intervals at m = 5 to 20. It is
    near its level with m = 50, or with files several times the original size. Degrees of freedom below 1 are set to 1.
    """

    size_ratio: float = 1.0

    def __post_init__(self) -> None:
        _check_ratio(self.size_ratio)

    @property
    def least(self) -> int:
        return 2

    @property
    def sign(self) -> int:
        return -1

    def scale(self, m: int) -> float:
        return 1.0

    def share(self, m: int) -> float:
        return 1 + 1 / m

    def noise(self, shape: tuple[int, ...]) -> Floats:
        return np.zeros(shape)

    def complete(self, df: Floats, within: Floats, total: Floats, analysis_df: Floats) -> Floats:
        own = np.where(total > 0, np.maximum(df, 1.0), np.inf)
        return np.minimum(own, analysis_df)

    def rescue(self, total: Floats, within: Floats) -> Floats:
        if total.ndim < 2:
            return np.where(total > 0, total, self.size_ratio * within)
        # A number whose variance failed is on its own: its covariances are as doubtful as its variance was.
        failed = np.diagonal(total) <= 0
        kept = np.where(failed[:, None] | failed[None, :], 0.0, total)
        kept[np.diag_indices_from(kept)] += np.where(failed, self.size_ratio * np.diagonal(within), 0.0)
        return kept


@dataclass(frozen=True)
class LargeSample(_Additive):
    """Raab, Nowok and Dibben (2016): T = Ū·(r + 1/m), r being rows of a synthetic file over rows of the original.

    For large samples of which everything the analysis uses was synthesized, from a model that contains the analysis
    as a special case. It needs no variance between files, so it works for one. With `drawn_parameters` the model's
    parameters were drawn anew for each file, and T = Ū·(r + (1 + r)/m). Never for files with privacy noise: nothing
    in Ū knows of it.
    """

    size_ratio: float = 1.0
    drawn_parameters: bool = False

    def __post_init__(self) -> None:
        _check_ratio(self.size_ratio)

    @property
    def least(self) -> int:
        return 1

    def scale(self, m: int) -> float:
        return self.size_ratio + (1 + self.size_ratio * self.drawn_parameters) / m

    def share(self, m: int) -> float:
        return 0.0


def rule_for(kind: Kind) -> Rule:
    """The rule that fits how the files were made.

    >>> rule_for("partial")
    PartialSynthesis()
    """
    if kind == "partial":
        return PartialSynthesis()
    if kind == "full":
        return FullSynthesis()
    return OneMeasurement()


def _check_ratio(ratio: float) -> None:
    if not (ratio > 0 and np.isfinite(ratio)):
        raise UsageError("size_ratio: rows of a synthetic file over rows of the original must be above 0")


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

    >>> from tacita.inference.combine import OneMeasurement
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
