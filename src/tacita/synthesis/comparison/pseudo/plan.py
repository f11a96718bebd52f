"""`PseudoPosterior`: synthetic survey samples from posterior draws, with risky records counting less (hu2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from attrs import field, frozen

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.noise.entropy import Entropy, Request, SeededEntropy
from tacita.plan import Forecast
from tacita.plan.fields import above_zero, as_real, one_of, real_within, whole
from tacita.plan.how import EACH_PAID, How, as_collected
from tacita.privacy import Guarantee
from tacita.synthesis.comparison.pseudo.base import PosteriorPlan
from tacita.synthesis.comparison.pseudo.fbp import PopulationModel
from tacita.synthesis.comparison.pseudo.fbs import SampleModel
from tacita.synthesis.comparison.pseudo.kernel import Boxed, Floats
from tacita.synthesis.comparison.pseudo.model import Draws
from tacita.synthesis.comparison.pseudo.nuts import Nuts, Sampler
from tacita.synthesis.comparison.pseudo.reading import Layout, SurveySample, read_sample
from tacita.synthesis.comparison.pseudo.search import SHIFTS, Fit, Survey, weighted_fit
from tacita.synthesis.survey.columns import Frame

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
