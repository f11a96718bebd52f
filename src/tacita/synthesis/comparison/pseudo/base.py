"""What plans that release posterior draws of a survey have in common: the bound behind ε, and files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.plan import Forecast
from tacita.privacy import Number
from tacita.synthesis.comparison.pseudo.fbp import PopulationModel
from tacita.synthesis.comparison.pseudo.fbs import Parameters, SampleModel
from tacita.synthesis.comparison.pseudo.model import PseudoModel, Weights, stored_frame, unpacked
from tacita.synthesis.comparison.pseudo.reading import Layout, layout_of
from tacita.synthesis.survey.base import SurveyPlan
from tacita.synthesis.survey.columns import Frame


@dataclass(frozen=True, init=False)
class PosteriorPlan(SurveyPlan):
    """`sets` files, each from one draw of the parameters, which costs its share of ε.

    `total` is a public number of units that the weights of each file are brought to.
    """

    weights: Weights
    total: float | None

    def __init__(
        self,
        outcomes: Sequence[str],
        weight: str,
        by: Sequence[str],
        epsilon: Number,
        *,
        sets: int = 3,
        weights: Weights = "smoothed",
        total: float | None = None,
        **common: Any,
    ) -> None:
        given = None if total is None else float(total)
        super().__init__(outcomes, weight, by, epsilon, sets=sets, weights=weights, total=given, **common)
        if weights not in get_args(Weights):
            raise UsageError(f"weights: must be one of {', '.join(get_args(Weights))}")
        if given is not None and not 0 < given < float("inf"):
            raise UsageError("total: must be above 0")

    @property
    def bound(self) -> Fraction:
        """Δ: no record's log-likelihood, as it enters the posterior, exceeds it in absolute value."""
        return self.epsilon / (4 * self.sets)

    @property
    def _public(self) -> tuple[str, ...]:
        """What the guarantee assumes about the columns."""
        found = ["each unit has one record in the file", "the number of records is public"]
        if public := (*self.by, *self.keep):
            found.append(f"{', '.join(public)} of every record are public: a neighbouring file has the same")
        return tuple(found)

    # ------------------------------------------------------------ columns and files

    def _layout(self, schema: Schema) -> Layout:
        return layout_of(schema, self.outcomes, self.weight, self.by, self.keep, dict(self.transforms))

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns it reads; raises where the schema cannot carry the plan."""
        return self._layout(schema).names

    def _forecast(self, schema: Schema, sentences: tuple[str, ...], figures: dict[str, float]) -> Forecast:
        return Forecast(
            self._product,
            schema.domain_size(self.by) * self._layout(schema).combinations,
            sentences,
            {"bound of a record's log-likelihood": float(self.bound), **figures},
        )

    @abstractmethod
    def _model(self, layout: Layout, frame: Frame) -> SampleModel | PopulationModel: ...

    def _result(
        self, schema: Schema, layout: Layout, frame: Frame, parameters: Parameters, seed: int, rehearsal: bool
    ) -> PseudoModel:
        model, about = self._model(layout, frame), self.describe()
        return PseudoModel(schema, layout, frame, model, parameters, self.weights, self.total, seed, about, rehearsal)

    def restore(self, stored: bytes) -> PseudoModel:
        content, schema, parameters = unpacked(stored)
        frame = stored_frame(content, len(self.by))
        return self._result(schema, self._layout(schema), frame, parameters, content["seed"], content["rehearsal"])
