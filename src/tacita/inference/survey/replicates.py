"""Variances by replicate weights: the estimate is computed again with every set of weights, and the spread taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tacita.data.half_samples import half_sample_factors
from tacita.errors import UsageError
from tacita.inference.survey.columns import Codes, Floats, as_frame, complete_numbers
from tacita.inference.survey.taylor import Design

Kind = Literal["brr", "fay", "jk1", "jkn", "jackknife", "bootstrap", "preston"]
Center = Literal["replicates", "estimate"]


@dataclass(frozen=True)
class ReplicateDesign:
    """Weights and replicate weights, as columns of the file.

    The variance is scale·Σ rscales·(θᵣ − centre)². What `kind` sets, for R replicates:

    | kind | scale | rscales |
    | --- | --- | --- |
    | brr | 1/R | 1 |
    | fay | 1/(R·(1 − fay)²) | 1 |
    | jk1, jackknife | (R − 1)/R | 1 |
    | jkn | 1 | must be given: (n − 1)/n of the stratum of the unit left out |
    | bootstrap | 1/(R − 1) | 1 |
    | preston | 1/R | 1 |

    `scale` and `rscales` overrule the table. `center` is the mean of the replicates, as in R by default, or the
    estimate itself (R's `mse = TRUE`, and what `preston` takes unless told otherwise). A replicate in which a domain
    has no weight has no answer: that is an error, or with `empty="drop"` the replicate is left out, as R does.

    >>> ReplicateDesign("w", ("r1", "r2", "r3", "r4"), "brr").scales
    (0.25, (1.0, 1.0, 1.0, 1.0))
    """

    weights: str
    replicates: tuple[str, ...]
    kind: Kind
    fay: float | None = None
    scale: float | None = None
    rscales: tuple[float, ...] | None = None
    center: Center | None = None
    empty: Literal["error", "drop"] = "error"

    def __post_init__(self) -> None:
        object.__setattr__(self, "replicates", tuple(self.replicates))
        if len(self.replicates) < 2:
            raise UsageError("replicates: name at least two columns of replicate weights")
        if (self.kind == "fay") != (self.fay is not None):
            raise UsageError('fay: give the factor with kind="fay", and only there')
        if self.fay is not None and not 0 <= self.fay < 1:
            raise UsageError("fay: must be at least 0 and below 1")
        if self.kind == "jkn" and self.rscales is None:
            raise UsageError("rscales: jkn needs (n − 1)/n of the stratum of each unit left out, one per replicate")
        if self.rscales is not None and len(self.rscales) != len(self.replicates):
            raise UsageError(f"rscales: {len(self.rscales)} given for {len(self.replicates)} replicates")

    @property
    def scales(self) -> tuple[float, tuple[float, ...]]:
        """scale and rscales, as they are used."""
        count = len(self.replicates)
        by_kind = {
            "brr": 1 / count,
            "fay": 1 / (count * (1 - (self.fay or 0.0)) ** 2),
            "jk1": (count - 1) / count,
            "jackknife": (count - 1) / count,
            "jkn": 1.0,
            "bootstrap": 1 / (count - 1),
            "preston": 1 / count,
        }
        rscales = (1.0,) * count if self.rscales is None else tuple(float(one) for one in self.rscales)
        return by_kind[self.kind] if self.scale is None else self.scale, rscales

    def of(self, frame: Any) -> ReplicateSample:
        """The design read from a file."""
        table = as_frame(frame)
        scale, rscales = self.scales
        center = self.center or ("estimate" if self.kind == "preston" else "replicates")
        return ReplicateSample(
            weights=complete_numbers(table, self.weights, least=0.0),
            replicates=np.column_stack([complete_numbers(table, name, least=0.0) for name in self.replicates]),
            scale=scale,
            rscales=np.array(rscales),
            center=center,
            drop_empty=self.empty == "drop",
        )


@dataclass(frozen=True, eq=False)
class ReplicateSample:
    """A design with the data: weights per row, and the covariance of replicated estimates."""

    weights: Floats
    replicates: Floats
    scale: float
    rscales: Floats
    center: Center
    drop_empty: bool

    def df(self, code: Codes, size: int) -> Floats:
        """The rank of the replicate weights less one: what the replicates can tell apart; at least 1."""
        length = np.sqrt((self.replicates**2).sum(axis=0))
        scaled = self.replicates / np.where(length > 0, length, 1.0)
        rows, count = scaled.shape
        values = np.linalg.eigvalsh(scaled @ scaled.T if rows < count else scaled.T @ scaled)
        rank = int((values > 1e-10 * values.max()).sum())
        return np.full(size, max(rank - 1, 1), dtype=np.float64)

    def covariance(self, estimate: Floats, replicated: Floats) -> Floats:
        """`replicated` has one row per replicate, one column per number."""
        valid = np.isfinite(replicated).all(axis=1)
        if not valid.all() and not self.drop_empty:
            raise UsageError(
                f"by: {int((~valid).sum())} replicates give no weight to one of the domains; merge it with another, "
                'or write empty="drop" in the design'
            )
        if valid.sum() < 2:
            raise UsageError("by: fewer than two replicates give weight to every domain; merge domains")
        rscales, kept = self.rscales[valid], replicated[valid]
        centre = estimate if self.center == "estimate" else kept[rscales > 0].mean(axis=0)
        away = kept - centre
        return np.asarray(self.scale * (away.T @ (away * rscales[:, None])))


def preston_weights(frame: Any, design: Design, replicates: int, rng: np.random.Generator) -> Floats:
    """Half-sample replicate weights for a stratified design, after Preston (2009): one column per replicate.

    In every stratum half of the n first-stage units (rounded down, m) are drawn without replacement. Weights are
    multiplied by 1 − λ + λ·n/m for units drawn and by 1 − λ for the others, with λ = √(m·(1 − f)/(n − m)), f being the
    sampled share of the stratum. For even n and no fpc λ is 1: weights are doubled or set to zero. The sum over a
    stratum of equally weighted units stays what it was. A stratum with one unit keeps its weights.

    Use with `ReplicateDesign(..., kind="preston")`. Preston, J. (2009) Survey Methodology 35, 227–234.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"w": [5.0, 5.0, 5.0, 5.0]})
    >>> weights = preston_weights(frame, Design(weights="w"), 3, np.random.default_rng(1))
    >>> sorted(weights[:, 0].tolist()), weights.sum(axis=0).tolist()
    ([0.0, 0.0, 10.0, 10.0], [20.0, 20.0, 20.0])
    """
    if replicates < 2:
        raise UsageError("replicates: at least two are needed to see a difference")
    sample = design.of(frame)
    stage = sample.stages[0]
    first = np.unique(stage.unit, return_index=True)[1]
    factors = half_sample_factors(stage.stratum[first], stage.sampled[first], stage.fraction[first], replicates, rng)
    return np.asarray(sample.weights[:, None] * factors[stage.unit])
