"""`PseudoPosterior`: synthetic survey samples from posterior draws, with risky records counting less (hu2024).

Record risks, the weights α made of them, and the search for weights that meet a target bound.

The bound of a weighted fit is not the one its weights were made for, because the weights change the posterior. So the
scale c1 in α = c1/risk + c2 is found by refitting until the bound of the weighted fit itself is met from below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import RefusedError, UsageError
from tacita.noise.entropy import Entropy, Request, SeededEntropy
from tacita.plan import Forecast
from tacita.plan.fields import above_zero, as_real, one_of, real_within, whole
from tacita.plan.how import EACH_PAID, How, as_collected
from tacita.privacy import Guarantee
from tacita.synthesis.comparison.pseudo.base import PosteriorPlan
from tacita.synthesis.comparison.pseudo.fbp import Parameters, PopulationModel, SampleModel
from tacita.synthesis.comparison.pseudo.kernel import Boxed, Floats, Integers, Kernel
from tacita.synthesis.comparison.pseudo.model import Draws
from tacita.synthesis.comparison.pseudo.nuts import Nuts, Sampler
from tacita.synthesis.comparison.pseudo.reading import Layout, SurveySample, read_sample
from tacita.synthesis.survey.columns import Frame
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
    fits = [fit for one in (SHIFTS if shift is None else (shift,)) if (fit := _search(survey, risk, target, one))]
    if not fits:
        raise RefusedError(
            f"no weights were found that keep the weighted log-likelihood of every record within {target:g}; nothing "
            "is released. Raise epsilon, ask for fewer sets, or put fewer columns into by"
        )
    return risk, max(fits, key=lambda fit: float(fit.alpha.sum()))


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


Likelihood = Literal["FBS", "FBP"]
Effects = Literal["main", "crossed"]
SamplerName = Literal["exact", "nuts"]

ASYMPTOTIC = (
    "the number of records is large: the bound is the largest found in this file over {draws} draws of the parameters, "
    "and stands for all files and all parameters only in the limit, so that at a given size the loss can be larger",
    "the weights of records are made from the same file, and their influence is not counted",
)


@frozen(kw_only=True)
class PseudoPosterior(PosteriorPlan):
    """Synthetic survey samples drawn from a weighted posterior; each file is a draw and costs its share of ε.

    A record counts with a weight α ≤ 1 that is small where its log-likelihood can be large, so that α·|log-likelihood|
    stays below `bound` = ε/(4·sets). Which weights do that is searched for; if none do, the run refuses. `likelihood`
    is "FBS" (outcomes and weight of the sample are normal together) or "FBP" (the population, with the likelihood of a
    sample drawn in proportion to π). **The guarantee holds asymptotically only**: see `CensoredPosterior` and
    `SurveySynthesis` for one at every sample size.

    `effects` "main" gives every level of `by` an effect, "crossed" every cell. `sampler` "exact" needs no chain; "nuts"
    has the paper's priors and refuses chains that have not converged. `shift` is c2 in α = c1/risk + c2, searched
    unless given. `unit_weight` is the survey weight at which π = 1, which the bound of FBP depends on; without it, it
    is the middle of the weight's public bounds.

    >>> plan = PseudoPosterior(["salary"], "21.6", weight="w", by=["field"], sets=3)
    >>> print(plan.guarantee, "| bound", plan.bound)
    ε = 21.6 under one record replaced (asymptotically) | bound 9/5
    """

    former: ClassVar[Mapping[str, str]] = {**PosteriorPlan.former, "model": "likelihood"}
    proof = "synthesis/comparison/pseudo/pseudo.md"

    likelihood: Likelihood = field(default="FBS", validator=one_of(Likelihood))
    effects: Effects = field(default="main", validator=one_of(Effects))
    sampler: SamplerName = field(default="exact", validator=one_of(SamplerName))
    draws: int = field(default=1000, validator=whole(100, 100_000))
    shift: float | None = field(default=None, converter=as_real, validator=real_within(-1, 1))
    unit_weight: float | None = field(default=None, converter=as_real, validator=above_zero)

    def __attrs_post_init__(self) -> None:
        if self.sets > self.draws:
            raise UsageError("sets: each file takes one of the draws; give more draws or fewer sets")
        if self.likelihood == "FBS" and (self.unit_weight is not None or self.weights == "printed"):
            raise UsageError('unit_weight and weights = "printed" belong to likelihood = "FBP"; leave them out')
        if self.likelihood == "FBP" and len(self.columns) != 1:
            raise UsageError('columns: "FBP" models one outcome; use likelihood = "FBS" for several')
        if self.sampler == "nuts" and self.effects == "crossed":
            raise UsageError('effects: "nuts" needs a constant among the effects; use effects = "main"')

    @property
    def assumes(self) -> Sequence[str]:
        converged = ("the chains have converged",) if self.sampler == "nuts" else ()
        return (*(one.format(draws=f"{self.draws:,}") for one in ASYMPTOTIC), *converged, *super().assumes)

    @property
    def guarantee(self) -> Guarantee:
        return replace(super().guarantee, holds="asymptotically")

    @property
    def how(self) -> How:
        return How(
            "A model was fitted to the confidential records themselves, in which records that stand out count less. "
            "Its parameters were then drawn at random, once for each file, and the rows from them. No noise was added "
            "to any measurement. How much one record can matter was read off this same file, over finitely many draws, "
            "so nothing is proved for the file at hand.",
            as_collected(self.design),
            EACH_PAID,
        )

    # ------------------------------------------------------------ what it will do

    def layout(self, schema: Schema) -> Layout:
        layout = super().layout(schema)
        if layout.categories and (self.likelihood == "FBP" or self.sampler == "nuts"):
            raise UsageError(f'{layout.category_names[0]}: a category needs likelihood = "FBS" and sampler = "exact"')
        return layout

    def forecast(self, schema: Schema) -> Forecast:
        sentences = (
            f"each of {self.sets} files is a draw from the posterior of {self.likelihood}, in which no record's "
            f"weighted log-likelihood exceeds {float(self.bound):.3g}",
            "records whose log-likelihood can exceed that count less; where they are many, files vary more than the "
            "sample itself would",
            "the guarantee is asymptotic: at a given number of records nothing is promised",
        )
        return self._forecast(schema, sentences, {})

    def fitted_model(self, layout: Layout, frame: Frame) -> SampleModel | PopulationModel:
        effects = layout.effects(frame, self.effects == "crossed")
        low, high = layout.limits
        if self.likelihood == "FBS":
            return SampleModel(effects, low, high, layout.combinations)
        return PopulationModel(effects, self.unit_weight or float(np.exp((low[-1] + high[-1]) / 2)))

    # ------------------------------------------------------------ acting

    def measure(self, data: Confidential, entropy: Entropy) -> Draws:
        layout = self.layout(data.schema)
        sample = read_sample(data, layout)
        model = self.fitted_model(layout, sample.frame)
        _, fit = self._fitted(sample, model, self._sampler(model, entropy))
        return Draws(sample.frame, {name: values[: self.sets] for name, values in fit.parameters.items()})

    def _sampler(self, model: SampleModel | PopulationModel, entropy: Entropy) -> Sampler:
        """The same random numbers for every fit of the search."""
        entropy.announce(
            Request("draws of the posterior", f"{self.likelihood} {self.sampler}", np.zeros(0), np.zeros(0))
        )
        if self.sampler == "nuts":
            return Nuts(model, self.draws, int(entropy.words(1)[0]))
        words = entropy.words(self.draws * model.numbers).reshape(self.draws, model.numbers)
        uniforms = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        return lambda moments: model.draw(moments, uniforms)

    def _fitted(
        self, sample: SurveySample, model: SampleModel | PopulationModel, sampler: Sampler
    ) -> tuple[Floats, Fit]:
        boxed = Boxed.of(sample.z, sample.cell, sample.cells)
        survey = Survey(sample.z, sample.cell, sample.cells, boxed, sampler, model.kernel)
        shift = SHIFTS[0] if self.shift is None and self.sampler == "nuts" else self.shift
        return weighted_fit(survey, float(self.bound), shift)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Record by record: |log-likelihood| at most, of the unweighted fit and weighted of the weighted one; and α."""

    before: Floats
    after: Floats
    alpha: Floats
    scale: float
    shift: float


def bounds_before_after(plan: PseudoPosterior, frame: Any, schema: Schema, *, seed: int) -> Bounds:
    """What violin plots of the bounds show. For public or mock files: these numbers say much about single records."""
    data = Confidential.from_frame(frame, schema)
    data.check(plan.reads(schema))
    layout = plan.layout(schema)
    sample = read_sample(data, layout)
    model = plan.fitted_model(layout, sample.frame)
    risk, fit = plan._fitted(sample, model, plan._sampler(model, SeededEntropy(seed)))
    return Bounds(risk, fit.bounds, fit.alpha, fit.scale, fit.shift)
