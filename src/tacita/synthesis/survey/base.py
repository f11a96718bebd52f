"""What plans for survey samples have in common: columns, budget, neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from attrs import Attribute, field, frozen

from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.plan.fields import RECORD, Named, OneUnit, as_names, as_relation, by_name, each_once, replaced
from tacita.synthesis.base import Model, Synthesizer
from tacita.synthesis.survey.columns import Transform

M = TypeVar("M", bound=Model[Any], covariant=True)


def _as_transforms(given: Mapping[str, Transform] | Sequence[Any]) -> Named[Transform]:
    return Named(by_name(given, "transforms"))


def _one_column(plan: Any, setting: Attribute[Any], given: Any) -> None:
    if not isinstance(given, str):
        raise UsageError(f'{setting.name}: name the column of the survey weights, such as "w"')


@frozen(kw_only=True)
class SurveyPlan(Synthesizer[M]):
    """`columns` and `weight` are drawn anew given the public columns `by`, in `sets` files.

    `keep` names further public columns that go along. Since these columns leave as they were collected, membership is
    not protected: neighbours differ in what one unit answered.
    """

    former: ClassVar[Mapping[str, str]] = {"outcomes": "columns"}

    weight: str = field(validator=_one_column)
    by: tuple[str, ...] = field(converter=as_names, validator=each_once)
    keep: tuple[str, ...] = field(default=(), converter=as_names, validator=each_once)
    transforms: Named[Transform] = field(default=Named(), converter=_as_transforms)
    neighbours: OneUnit = field(default=RECORD, converter=as_relation, validator=replaced)

    def weighed_by(self, schema: Schema) -> str | None:
        return self.weight

    @property
    def design(self) -> tuple[str, ...]:
        """The public columns, which leave as they were collected."""
        return (*self.by, *self.keep)

    @property
    def product(self) -> str:
        return f"Synthetic survey samples: {', '.join((*self.columns, self.weight))} by {', '.join(self.by) or 'all'}"
