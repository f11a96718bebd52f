"""Record risks, the weights α made of them, and the search for weights that meet a target bound.

The bound of a weighted fit is not the one its weights were made for, because the weights change the posterior. So the
scale c1 in α = c1/risk + c2 is found by refitting until the bound of the weighted fit itself is met from below.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacita.errors import RefusedError
from tacita.synthesis.comparison.pseudo.fbs import Parameters
from tacita.synthesis.comparison.pseudo.kernel import Boxed, Floats, Integers, Kernel
from tacita.synthesis.survey.moments import Moments

SHIFTS = (0.0, -0.05)  # values of c2 that are tried; the one that keeps more of the file wins
_NEAR = 0.99  # of the target: the search ends
_AIM = 0.995
_MOST_FITS = 14  # for each shift
_WATCHED = 20_000  # records that the search looks at between two looks at all of them
_LEAST_RISK = 1e-6


@dataclass(frozen=True, eq=False)
class Fit:
    """A weighted fit. Everything but the parameters of the released draws is confidential."""

    alpha: Floats
    parameters: Parameters
    bounds: Floats
    scale: float
    shift: float
    fits: int

    @property
    def bound(self) -> float:
        """The largest weighted log-likelihood, in absolute value, of any record under any draw."""
        return float(self.bounds.max())


@dataclass(frozen=True, eq=False)
class Survey:
    """The records with a model: what a fit needs."""

    z: Floats
    cell: Integers
    cells: int
    boxed: Boxed
    draw: Callable[[Moments], Parameters]
    kernel: Callable[[Parameters], Kernel]

    def fitted(self, alpha: Floats | None = None) -> Parameters:
        return self.draw(Moments.of(self.z, self.cell, self.cells, alpha))

    def risks(self, parameters: Parameters) -> Floats:
        """max over draws of |log p| of each record."""
        return self.boxed.extremes(self.kernel(parameters))


def weights(risk: Floats, scale: float, shift: float) -> Floats:
    return np.asarray(np.clip(scale / np.maximum(risk, _LEAST_RISK) + shift, 0.0, 1.0))


def weighted_fit(survey: Survey, target: float, shift: float | None = None) -> tuple[Floats, Fit]:
    """The record risks of the unweighted fit, and a weighted fit whose bound is at most the target."""
    parameters = survey.fitted()
    risk = survey.risks(parameters)
    if not bool(np.isfinite(risk).all()):
        raise RefusedError("the unweighted fit has no finite bound; narrow the bounds of the outcomes in the schema")
    if float(risk.max()) <= target:
        return risk, Fit(np.ones_like(risk), parameters, risk, math.inf, 0.0, 1)
    found = [fit for one in (SHIFTS if shift is None else (shift,)) if (fit := _search(survey, risk, target, one))]
    if not found:
        raise RefusedError(
            f"no weights were found that keep the weighted log-likelihood of every record within {target:g}; nothing "
            "is released. Raise epsilon, ask for fewer sets, or put fewer columns into by"
        )
    return risk, max(found, key=lambda fit: float(fit.alpha.sum()))


def _search(survey: Survey, risk: Floats, target: float, shift: float) -> Fit | None:
    """Steps on the log scale between a scale that is too small and one that is too large."""
    low, high, scale, best = 0.0, math.inf, 0.7 * target, None
    watched: NDArray[np.bool_] | None = None  # all, at first
    part = survey.boxed
    before: tuple[float, float] | None = None
    for fits in range(1, _MOST_FITS + 1):
        alpha = weights(risk, scale, shift)
        if not alpha.any():  # draws from the prior would meet any bound, and say nothing
            low = max(low, scale)
            scale, before = math.sqrt(low * high) if high < math.inf else 2 * low, None
            continue
        parameters = survey.fitted(alpha)
        kernel = survey.kernel(parameters)
        bound = 0.0 if watched is None else float((alpha[watched] * part.extremes(kernel)).max())
        if watched is None or (bound <= target and (bound >= _NEAR * target or fits == _MOST_FITS)):
            bounds = alpha * survey.boxed.extremes(kernel)
            bound = float(bounds.max())
            if bound <= target and (best is None or scale > best.scale):
                best = Fit(alpha, parameters, bounds, scale, shift, fits)
                if bound >= _NEAR * target:
                    return best
            if bounds.size > _WATCHED:
                watched = _highest(bounds) if watched is None else watched | _highest(bounds)
                part = survey.boxed.some(watched)
        if bound <= target:
            low = max(low, scale)
        else:
            high = min(high, scale)
        scale, before = _next(scale, bound, before, _AIM * target, low, high), (scale, bound)
    return best


def _next(scale: float, bound: float, before: tuple[float, float] | None, aim: float, low: float, high: float) -> float:
    """The scale at which the bound would be the aim, if both were related by a power."""
    power = 1.0
    if before is not None and before[0] != scale and before[1] != bound and min(bound, before[1]) > 0:
        power = math.log(bound / before[1]) / math.log(scale / before[0])
    step = math.log(aim / max(bound, 1e-12)) / min(max(power, 0.2), 3.0)
    wanted = scale * math.exp(min(max(step, -1.5), 1.5))
    if low < wanted < high:
        return wanted
    return math.sqrt(low * high) if low > 0 and high < math.inf else (high / 2 if low == 0 else 2 * low)


def _highest(bounds: Floats) -> NDArray[np.bool_]:
    """The records nearest to the bound."""
    return np.asarray(bounds >= np.partition(bounds, -_WATCHED)[-_WATCHED])
