"""What plans that release posterior draws of a survey have in common: the bound behind ε, and files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

from attrs import field, frozen

from tacita.data.schema import Schema
from tacita.plan import ONE_ROW, Forecast
from tacita.plan.fields import above_zero, as_real, one_of
from tacita.synthesis.comparison.pseudo.fbp import PopulationModel, SampleModel
from tacita.synthesis.comparison.pseudo.model import PseudoModel, Weights
from tacita.synthesis.comparison.pseudo.reading import Layout, layout_of
from tacita.synthesis.survey.base import SurveyPlan
from tacita.synthesis.survey.columns import Frame


@frozen(kw_only=True)
class PosteriorPlan(SurveyPlan[PseudoModel]):
    """`sets` files, each from one draw of the parameters, which costs its share of ε.

    `total` is a public number of units that the weights of each file are brought to.
    """

    model = PseudoModel

    weights: Weights = field(default="smoothed", validator=one_of(Weights))
    total: float | None = field(default=None, converter=as_real, validator=above_zero)

    @property
    def bound(self) -> Fraction:
        """Δ: no record's log-likelihood, as it enters the posterior, exceeds it in absolute value."""
        return self.epsilon / (4 * self.sets)

    @property
    def assumes(self) -> Sequence[str]:
        assumes = (ONE_ROW, "the number of records is public")
        if not self.design:
            return assumes
        return (*assumes, f"{', '.join(self.design)} of every record are public: a neighbouring file has the same")

    def layout(self, schema: Schema) -> Layout:
        return layout_of(schema, self.columns, self.weight, self.by, self.keep, self.transforms)

    def reads(self, schema: Schema) -> tuple[str, ...]:
        return self.layout(schema).names

    @abstractmethod
    def fitted_model(self, layout: Layout, frame: Frame) -> SampleModel | PopulationModel:
        """The model whose parameters are drawn: public but for these."""

    def _forecast(self, schema: Schema, sentences: tuple[str, ...], figures: dict[str, float]) -> Forecast:
        return Forecast(
            self.product,
            schema.domain_size(self.by) * self.layout(schema).combinations,
            sentences,
            {"bound of a record's log-likelihood": float(self.bound), **figures},
        )
