"""`SurveySynthesis`: weighted survey microdata from noisy sums and cross-products."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.noise.concentrated import rho_for
from tacita.noise.entropy import Entropy, Request
from tacita.plan import ONE_ROW, Forecast
from tacita.plan.how import FREE, How, as_collected
from tacita.privacy import Guarantee, Loss, Number, exact
from tacita.synthesis.survey.base import SurveyPlan
from tacita.synthesis.survey.columns import Columns, Frame, columns_of, read_frame, read_survey
from tacita.synthesis.survey.measuring import Budget, Measurement, measure
from tacita.synthesis.survey.model import SurveyModel, Weights, evidence_of, unpacked
from tacita.synthesis.survey.posterior import Chain
from tacita.synthesis.survey.shape import measure_shape

_USUAL = 100  # records of a cell, for the forecast


@dataclass(frozen=True, init=False)
class SurveySynthesis(SurveyPlan):
    """Synthetic survey samples: outcomes and weights drawn anew, public design variables as collected.

    Noise goes to the sums of logarithms in each cell of `by` and to their cross-products over the file, once, whatever
    the number of files. `keep` names further public columns, such as primary sampling units, that go along. With
    `delta` the noise is Gaussian. `weights = "smoothed"` publishes each weight's mean given the outcomes.

    >>> plan = SurveySynthesis(["salary"], "w", ["field", "gender"], "3.6")
    >>> print(plan.guarantee)
    ε = 3.6 under one person's record replaced
    """

    weights: Weights
    delta: Fraction

    def __init__(
        self,
        outcomes: Sequence[str],
        weight: str,
        by: Sequence[str],
        epsilon: Number,
        *,
        delta: Number = 0,
        weights: Weights = "synthetic",
        sets: int = 20,
        **common: Any,
    ) -> None:
        held = exact(delta, "delta")
        super().__init__(outcomes, weight, by, epsilon, sets=sets, weights=weights, delta=held, **common)
        if self.delta:
            rho_for(self.epsilon, self.delta)
        if weights not in get_args(Weights):
            raise UsageError('weights: must be "synthetic" or "smoothed"')

    @property
    def guarantee(self) -> Guarantee:
        public = ", ".join((*self.by, *self.keep))
        assumes = [ONE_ROW]
        if public:
            assumes.append(f"{public} of every record are public: a replaced record keeps them")
        return Guarantee(self.neighbours, Loss(self.epsilon, delta=self.delta), assumes=tuple(assumes))

    @property
    def proof(self) -> str:
        return "synthesis/survey/survey.md"

    @property
    def how(self) -> How:
        return How(
            "Sums of the answers and weights in each cell of the design, and their squares and products over the file, "
            "were measured with random noise; the ranges they were held to, and the shape of their distribution, were "
            "drawn at random near the file's own. The files are drawn from these measurements alone.",
            as_collected((*self.by, *self.keep)),
            FREE,
        )

    # ------------------------------------------------------------ what it will do

    def _budget(self, records: int) -> Budget:
        d = len(self.outcomes) + 1
        if self.delta:
            return Budget.concentrated(rho_for(self.epsilon, self.delta), d, records)
        return Budget.pure(self.epsilon, d, records)

    def _columns(self, schema: Schema) -> Columns:
        return columns_of(schema, self.outcomes, self.weight, self.by, self.keep, dict(self.transforms))

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns it reads; raises where the schema cannot carry the plan."""
        return self._columns(schema).names

    def forecast(self, schema: Schema) -> Forecast:
        self.columns(schema)
        cells = schema.domain_size(self.by)
        # A released range spans about 3.4 standard deviations to either side.
        error = 3.4 * self._budget(_USUAL * cells).deviation() / _USUAL
        sampling = _USUAL**-0.5
        numbers = len(self.outcomes) + 1
        return Forecast(
            self._product,
            cells * numbers + numbers * (numbers + 1) // 2,
            (
                f"in a cell of {_USUAL} records the noise moves the mean of a logarithm by about {error:.2g} standard "
                f"deviations, the sampling itself by {sampling:.2g}; in smaller cells by more, in inverse proportion",
                f"{self.sets} files for one price; intervals from them cover the noise and the sampling error",
            ),
            {"noise in a cell of 100, standard deviations": error},
        )

    # ------------------------------------------------------------ acting

    def suits(self, data: Confidential) -> None:
        frame = read_frame(data, self._columns(data.schema))
        if frame.records - frame.cells <= len(self.outcomes) + 1:
            raise UsageError(
                "by: the sample has too few records for its cells, so that no spread within cells can be told; give "
                "fewer design variables in by and name the others in keep"
            )

    def run(self, data: Confidential, entropy: Entropy) -> SurveyModel:
        schema, columns = data.schema, self._columns(data.schema)
        rows = read_survey(data, columns)
        budget = self._budget(rows.frame.records)
        found = measure(rows, columns.measures, budget, entropy)
        if budget.shape:
            evidence = evidence_of(rows.frame, found, budget, len(self.by))
            centres = Chain(evidence, np.random.default_rng(0)).centres()
            found = replace(found, shape=measure_shape(rows, columns.measures, found, centres, budget, entropy))
        entropy.announce(Request("seed of the synthetic files", "uniform words", np.zeros(0), np.zeros(0)))
        seed = int(entropy.words(1)[0])
        return self._model(schema, rows.frame, found, seed, entropy.rehearsal)

    def restore(self, stored: bytes) -> SurveyModel:
        content = json.loads(stored)
        frame, found = unpacked(content, len(self.by))
        return self._model(Schema.from_dict(content["schema"]), frame, found, content["seed"], content["rehearsal"])

    def _model(self, schema: Schema, frame: Frame, found: Measurement, seed: int, rehearsal: bool) -> SurveyModel:
        columns, budget = self._columns(schema), self._budget(frame.records)
        return SurveyModel(
            schema, columns, frame, found, budget, self.weights, self.sets, seed, self.describe(), rehearsal
        )
