"""`PseudoPosterior`: synthetic survey samples from posterior draws, with risky records counting less (hu2024)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.noise.entropy import Entropy, Request, SeededEntropy
from tacita.plan import Forecast
from tacita.plan.how import EACH_PAID, How, as_collected
from tacita.privacy import Guarantee, Loss, Number
from tacita.synthesis.comparison.pseudo.base import PosteriorPlan
from tacita.synthesis.comparison.pseudo.fbp import PopulationModel
from tacita.synthesis.comparison.pseudo.fbs import SampleModel
from tacita.synthesis.comparison.pseudo.kernel import Boxed, Floats
from tacita.synthesis.comparison.pseudo.model import PseudoModel
from tacita.synthesis.comparison.pseudo.nuts import Nuts, Sampler
from tacita.synthesis.comparison.pseudo.reading import Layout, SurveySample, read_sample
from tacita.synthesis.comparison.pseudo.search import SHIFTS, Fit, Survey, weighted_fit
from tacita.synthesis.survey.columns import Frame

ModelName = Literal["FBS", "FBP"]
Effects = Literal["main", "crossed"]
SamplerName = Literal["exact", "nuts"]

ASYMPTOTIC = (
    "the number of records is large: the bound is the largest found in this file over {draws} draws of the parameters, "
    "and stands for all files and all parameters only in the limit, so that at a given size the loss can be larger",
    "the weights of records are made from the same file, and their influence is not counted",
)


@dataclass(frozen=True, init=False)
class PseudoPosterior(PosteriorPlan):
    """Synthetic survey samples drawn from a weighted posterior; each file is a draw and costs its share of ε.

    A record counts with a weight α ≤ 1 that is small where its log-likelihood can be large, so that α·|log-likelihood|
    stays below `bound` = ε/(4·sets). Which weights do that is searched for; if none do, the run refuses. `model` is
    "FBS" (outcomes and weight of the sample are normal together) or "FBP" (the population, with the likelihood of a
    sample drawn in proportion to π). **The guarantee holds asymptotically only**: see `CensoredPosterior` and
    `SurveySynthesis` for one at every sample size.

    `effects` "main" gives every level of `by` an effect, "crossed" every cell. `sampler` "exact" needs no chain; "nuts"
    has the paper's priors and refuses chains that have not converged. `shift` is c2 in α = c1/risk + c2, searched
    unless given. `unit_weight` is the survey weight at which π = 1, which the bound of FBP depends on; without it, it
    is the middle of the weight's public bounds.

    >>> plan = PseudoPosterior(["salary"], "w", ["field"], "21.6")
    >>> print(plan.guarantee, "| bound", plan.bound)
    ε = 21.6 under one person's record replaced (asymptotically) | bound 9/5
    """

    model: ModelName
    effects: Effects
    sampler: SamplerName
    draws: int
    shift: float | None
    unit_weight: float | None

    def __init__(
        self,
        outcomes: Sequence[str],
        weight: str,
        by: Sequence[str],
        epsilon: Number,
        *,
        model: ModelName = "FBS",
        effects: Effects = "main",
        sampler: SamplerName = "exact",
        draws: int = 1000,
        shift: float | None = None,
        unit_weight: float | None = None,
        **common: Any,
    ) -> None:
        own: dict[str, Any] = {
            "model": model,
            "effects": effects,
            "sampler": sampler,
            "draws": draws,
            "shift": None if shift is None else float(shift),
            "unit_weight": None if unit_weight is None else float(unit_weight),
        }
        super().__init__(outcomes, weight, by, epsilon, **own, **common)
        self._check()

    def _check(self) -> None:
        for key, options in (("model", ModelName), ("effects", Effects), ("sampler", SamplerName)):
            if getattr(self, key) not in get_args(options):
                raise UsageError(f"{key}: must be one of {', '.join(get_args(options))}")
        if isinstance(self.draws, bool) or not isinstance(self.draws, int) or not 100 <= self.draws <= 100_000:
            raise UsageError("draws: must be a whole number from 100 to 100000")
        if self.sets > self.draws:
            raise UsageError("sets: each file takes one of the draws; give more draws or fewer sets")
        if self.shift is not None and not -1 <= self.shift <= 1:
            raise UsageError("shift: must lie between -1 and 1; it is added to weights between 0 and 1")
        if self.unit_weight is not None and not 0 < self.unit_weight < float("inf"):
            raise UsageError("unit_weight: must be above 0")
        if self.model == "FBS" and (self.unit_weight is not None or self.weights == "printed"):
            raise UsageError('unit_weight and weights = "printed" belong to model = "FBP"; leave them out')
        if self.model == "FBP" and len(self.outcomes) != 1:
            raise UsageError('outcomes: "FBP" models one outcome; use model = "FBS" for several')
        if self.sampler == "nuts" and self.effects == "crossed":
            raise UsageError('effects: "nuts" needs a constant among the effects; use effects = "main"')

    @property
    def guarantee(self) -> Guarantee:
        more = ["the chains have converged"] if self.sampler == "nuts" else []
        assumes = (*(one.format(draws=f"{self.draws:,}") for one in ASYMPTOTIC), *more, *self._public)
        return Guarantee(self.neighbours, Loss(self.epsilon), "asymptotically", assumes)

    @property
    def proof(self) -> str:
        return "synthesis/comparison/pseudo/pseudo.md"

    @property
    def how(self) -> How:
        return How(
            "A model was fitted to the confidential records themselves, in which records that stand out count less. "
            "Its parameters were then drawn at random, once for each file, and the rows from them. No noise was added "
            "to any measurement. How much one record can matter was read off this same file, over finitely many draws, "
            "so nothing is proved for the file at hand.",
            as_collected((*self.by, *self.keep)),
            EACH_PAID,
        )

    # ------------------------------------------------------------ what it will do

    def _layout(self, schema: Schema) -> Layout:
        found = super()._layout(schema)
        if found.categories and (self.model == "FBP" or self.sampler == "nuts"):
            raise UsageError(f'{found.category_names[0]}: a category needs model = "FBS" and sampler = "exact"')
        return found

    def forecast(self, schema: Schema) -> Forecast:
        sentences = (
            f"each of {self.sets} files is a draw from the posterior of {self.model}, in which no record's weighted "
            f"log-likelihood exceeds {float(self.bound):.3g}",
            "records whose log-likelihood can exceed that count less; where they are many, files vary more than the "
            "sample itself would",
            "the guarantee is asymptotic: at a given number of records nothing is promised",
        )
        return self._forecast(schema, sentences, {})

    def _model(self, layout: Layout, frame: Frame) -> SampleModel | PopulationModel:
        effects = layout.effects(frame, self.effects == "crossed")
        low, high = layout.limits
        if self.model == "FBS":
            return SampleModel(effects, low, high, layout.combinations)
        return PopulationModel(effects, self.unit_weight or float(np.exp((low[-1] + high[-1]) / 2)))

    # ------------------------------------------------------------ acting

    def run(self, data: Confidential, entropy: Entropy) -> PseudoModel:
        layout = self._layout(data.schema)
        sample = read_sample(data, layout)
        model = self._model(layout, sample.frame)
        sampler = self._sampler(model, entropy)
        _, fit = self._fitted(sample, model, sampler)
        entropy.announce(Request("seed of the synthetic files", "uniform words", np.zeros(0), np.zeros(0)))
        seed = int(entropy.words(1)[0])
        kept = {name: values[: self.sets] for name, values in fit.parameters.items()}
        return self._result(data.schema, layout, sample.frame, kept, seed, entropy.rehearsal)

    def _sampler(self, model: SampleModel | PopulationModel, entropy: Entropy) -> Sampler:
        """The same random numbers for every fit of the search."""
        entropy.announce(Request("draws of the posterior", f"{self.model} {self.sampler}", np.zeros(0), np.zeros(0)))
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
    layout = plan._layout(schema)
    sample = read_sample(data, layout)
    model = plan._model(layout, sample.frame)
    risk, fit = plan._fitted(sample, model, plan._sampler(model, SeededEntropy(seed)))
    return Bounds(risk, fit.bounds, fit.alpha, fit.scale, fit.shift)
