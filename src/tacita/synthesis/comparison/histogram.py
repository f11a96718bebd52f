"""The one-step sanitizer: discrete Laplace noise on every cell of the full cross-tabulation."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Literal

from attrs import field, frozen

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.noise.discrete import DiscreteLaplace
from tacita.noise.entropy import Entropy
from tacita.plan import Forecast
from tacita.plan.fields import one_of
from tacita.plan.how import FREE, SIZE, How
from tacita.synthesis.cellplan import CellPlan
from tacita.synthesis.comparison.steps.budget import Costs, divided
from tacita.synthesis.comparison.steps.cells import threshold_for
from tacita.synthesis.comparison.steps.electing import Ballot
from tacita.synthesis.comparison.steps.measuring import Growth, measure
from tacita.synthesis.comparison.steps.model import Fit, StepsModel
from tacita.synthesis.comparison.steps.reading import read
from tacita.synthesis.comparison.steps.tree import Measurement

Negative = Literal["project", "clip"]


@frozen(kw_only=True)
class HistogramSynthesis(CellPlan[StepsModel]):
    """Noise on every cell at once; cells below a public threshold of at least 1 are dropped, the rest brought to n.

    `negative` says how: "project" moves all cells down together until they sum to n, "clip" scales them in proportion,
    as the sanitizer is usually run.

    >>> print(HistogramSynthesis(["sex", "age"], "1").guarantee)
    ε = 1 under one record replaced
    """

    model = StepsModel
    proof = "synthesis/comparison/histogram.md"

    negative: Negative = field(default="clip", validator=one_of(Negative))

    @property
    def how(self) -> How:
        return How(
            "Every combination of the columns that can occur was counted, and random noise was added to each count; "
            "counts that came out small were set aside. The files are drawn from the noisy counts alone.",
            SIZE if self.size_is_public else "",
            FREE,
        )

    def _costs(self) -> Costs:
        return divided(self.per_record, 0, len(self.columns), "equal", Fraction(0), root=not self.size_is_public)

    def forecast(self, schema: Schema) -> Forecast:
        cells, scale = self.domain(schema).cells, 1 / self._costs().cells
        error, least = sqrt(DiscreteLaplace(scale).variance()), threshold_for(self.domain(schema).raw_cells, scale, 0)
        sentence = f"each of {cells:,} cells is off by about {error:.3g}; those below {least} at most are dropped"
        return Forecast(
            self.product,
            cells,
            (sentence,),
            {"cells: standard error": error, "cells: threshold": float(least)},
        )

    def measure(self, data: Confidential, entropy: Entropy) -> tuple[Measurement, ...]:
        domain = self.domain(data.schema)
        occupied = read(data, domain)
        ballot = Ballot("public", "most", "deviance", (), None)
        records = occupied.records if self.size_is_public else None
        return (measure(domain, occupied, ballot, Growth(0, ()), self._costs(), records, entropy),)

    @property
    def fit(self) -> Fit:
        return "least-squares"

    @property
    def clip(self) -> bool:
        return self.negative == "clip"
