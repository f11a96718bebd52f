"""An estimate with its variance and degrees of freedom: what every analysis here returns and every rule takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.lazy import later

if TYPE_CHECKING:
    import pandas as pd
    from scipy import stats
else:
    pd = later("pandas")
    stats = later("scipy.stats")

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """One number or a vector of numbers, how far they may be off, and on how many degrees of freedom that rests.

    `variance` is a number for a number; for k numbers a k × k matrix, or k variances where no covariance is known.

    >>> mean = Estimate(10.0, 4.0, df=np.inf)
    >>> lower, upper = mean.interval(0.95)
    >>> print(f"{lower:.2f} to {upper:.2f}, p = {mean.p_value():.1e}")
    6.08 to 13.92, p = 5.7e-07
    """

    value: Any
    variance: Any
    df: Any = np.inf
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        value = np.asarray(self.value, dtype=np.float64)
        variance = np.asarray(self.variance, dtype=np.float64)
        if value.ndim > 1:
            raise UsageError("estimate: must be one number or a vector of numbers")
        if variance.shape not in (value.shape, (*value.shape, *value.shape)):
            raise UsageError(
                f"variance: has the shape {variance.shape} for an estimate of the shape {value.shape}; "
                "give one variance per number, or their covariance matrix"
            )
        names = tuple(self.names)
        if not names and hasattr(self.value, "iloc"):
            names = tuple(str(name) for name in self.value.index)
        if names and len(names) != value.size:
            raise UsageError(f"names: {len(names)} given for {value.size} numbers")
        df = np.broadcast_to(np.asarray(self.df, dtype=np.float64), value.shape)
        object.__setattr__(self, "value", value if value.ndim else float(value))
        object.__setattr__(self, "variance", variance if value.ndim else float(variance))
        object.__setattr__(self, "df", df.copy() if value.ndim else float(df))
        object.__setattr__(self, "names", names)

    @property
    def size(self) -> int:
        """How many numbers are estimated."""
        return int(np.size(self.value))

    @property
    def variances(self) -> Floats:
        """The variance of each number, as a vector."""
        return diagonal(np.asarray(self.variance, dtype=np.float64), np.ndim(self.value))

    @property
    def covariance(self) -> Floats:
        """The covariance matrix; an error where only variances were given."""
        if np.ndim(self.value) and np.ndim(self.variance) == 1 and self.size > 1:
            raise UsageError("variance: a joint statement needs the covariance matrix; let the analysis return it")
        return np.asarray(self.variance, dtype=np.float64).reshape(self.size, self.size)

    @property
    def standard_error(self) -> Any:
        """The root of the variance, in the shape of the estimate."""
        root = np.sqrt(self.variances)
        return root if np.ndim(self.value) else float(root[0])

    def interval(self, confidence: float = 0.95) -> tuple[Any, Any]:
        """Lower and upper end of the t interval, each number for itself."""
        half = self._quantile(confidence) * self.standard_error
        return self.value - half, self.value + half

    def _quantile(self, confidence: float) -> Any:
        if not 0 < confidence < 1:
            raise UsageError("confidence: must lie strictly between 0 and 1, such as 0.95")
        quantile = stats.t.ppf((1 + confidence) / 2, self.df)
        return quantile if np.ndim(self.value) else float(quantile)

    def p_value(self, null: Any = 0.0) -> Any:
        """The two-sided p-value of each number against `null`; 1 where estimate and null agree without error."""
        distance = np.abs(np.asarray(self.value, dtype=np.float64) - null)
        error = np.asarray(self.standard_error, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(distance == 0, 0.0, distance / error)
        p = 2 * stats.t.sf(ratio, self.df)
        return p if np.ndim(self.value) else float(p)

    def table(self, confidence: float = 0.95) -> pd.DataFrame:
        """One row per number: estimate, standard error, interval, degrees of freedom."""
        lower, upper = self.interval(confidence)
        return pd.DataFrame(
            {
                "estimate": np.atleast_1d(self.value),
                "standard_error": np.atleast_1d(self.standard_error),
                "lower": np.atleast_1d(lower),
                "upper": np.atleast_1d(upper),
                "df": np.atleast_1d(self.df),
            },
            index=list(self.names) if self.names else None,
        )

    @classmethod
    def of(cls, result: Any) -> Estimate:
        """From whatever an analysis returned: an `Estimate`, (estimate, variance), or a fitted model.

        A fitted model is anything with `.params` and `.cov_params()`, as statsmodels gives it. Its residual degrees
        of freedom are used only where the model says that it rests on the t law (`use_t`).

        >>> Estimate.of((2.0, 0.25)).standard_error
        0.5
        """
        if isinstance(result, Estimate):
            return result
        if hasattr(result, "params") and hasattr(result, "cov_params"):
            df = float(result.df_resid) if getattr(result, "use_t", False) else np.inf
            names = tuple(str(name) for name in getattr(result.params, "index", ()))
            return cls(np.asarray(result.params), np.asarray(result.cov_params()), df, names)
        if isinstance(result, tuple) and len(result) == 2:
            return cls(*result)
        raise UsageError(
            "analysis: must return (estimate, variance), an Estimate, or a fitted model with params and cov_params(); "
            f"it returned {type(result).__name__}"
        )


def diagonal(variance: Floats, ndim: int) -> Floats:
    """The variances of a number (ndim 0) or of a vector (ndim 1), as a vector."""
    if ndim == 0:
        return variance.reshape(1)
    return np.diagonal(variance).copy() if variance.ndim == 2 else variance
