"""The one-step sanitizer: discrete Laplace noise on every cell of the full cross-tabulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, Literal

import numpy as np

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.how import FREE, SIZE, How
from tacita.noise.discrete import DiscreteLaplace
from tacita.noise.entropy import Entropy, Request
from tacita.plan import Forecast
from tacita.privacy import Number
from tacita.synthesis.cellplan import CellPlan
from tacita.synthesis.steps.budget import Costs, divided
from tacita.synthesis.steps.cells import threshold_for
from tacita.synthesis.steps.electing import Ballot
from tacita.synthesis.steps.measuring import Growth, measure
from tacita.synthesis.steps.model import StepsModel, unpacked
from tacita.synthesis.steps.reading import read
from tacita.synthesis.steps.tree import Measurement

Negative = Literal["project", "clip"]


@dataclass(frozen=True, init=False)
class HistogramSynthesis(CellPlan):
    """Noise on every cell at once; cells below a public threshold of at least 1 are dropped, the rest brought to n.

    `negative` says how: "project" moves all cells down together until they sum to n, "clip" scales them in proportion,
    as the sanitizer is usually run.

    >>> print(HistogramSynthesis(["sex", "age"], "1").guarantee)
    ε = 1 under one person's record replaced
    """

    negative: Negative

    def __init__(
        self, attributes: Sequence[str], epsilon: Number, *, negative: Negative = "clip", **common: Any
    ) -> None:
        if negative not in ("project", "clip"):
            raise UsageError("negative: must be project or clip")
        super().__init__(attributes, epsilon, negative=negative, **common)

    @property
    def proof(self) -> str:
        return "synthesis/baselines/histogram.md"

    @property
    def how(self) -> How:
        return How(
            "Every combination of the columns that can occur was counted, and random noise was added to each count; "
            "counts that came out small were set aside. The files are drawn from the noisy counts alone.",
            SIZE if self.size_is_public else "",
            FREE,
        )

    def _costs(self) -> Costs:
        return divided(self.per_record, 0, len(self.attributes), "equal", Fraction(0), root=not self.size_is_public)

    def forecast(self, schema: Schema) -> Forecast:
        cells, scale = self.domain(schema).cells, 1 / self._costs().cells
        error, least = sqrt(DiscreteLaplace(scale).variance()), threshold_for(self.domain(schema).raw_cells, scale, 0)
        sentence = f"each of {cells:,} cells is off by about {error:.3g}; those below {least} at most are dropped"
        return Forecast(
            f"Synthetic microdata: {', '.join(self.attributes)}",
            cells,
            (sentence,),
            {"cells: standard error": error, "cells: threshold": float(least)},
        )

    def run(self, data: Confidential, entropy: Entropy) -> StepsModel:
        domain = self.domain(data.schema)
        occupied = read(data, domain)
        ballot = Ballot("public", "most", "deviance", (), None)
        records = occupied.records if self.size_is_public else None
        tree = measure(domain, occupied, ballot, Growth(0, ()), self._costs(), records, entropy)
        entropy.announce(Request("seed of the synthetic files", "uniform words", np.zeros(0), np.zeros(0)))
        return self._model(data.schema, (tree,), int(entropy.words(1)[0]), entropy.rehearsal)

    def restore(self, stored: bytes) -> StepsModel:
        content, trees = unpacked(stored)
        return self._model(Schema.from_dict(content["schema"]), trees, content["seed"], content["rehearsal"])

    def _model(self, schema: Schema, trees: tuple[Measurement, ...], seed: int, rehearsal: bool) -> StepsModel:
        clip = self.negative == "clip"
        return StepsModel(
            schema, self.domain(schema), trees, "least-squares", clip, self.sets, seed, self.describe(), rehearsal
        )
