"""What plans for survey samples have in common: columns, budget, neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from tacita.errors import UsageError
from tacita.plan import Rehearsable
from tacita.privacy import Number, ReplaceOne, exact, text
from tacita.privacy.json_form import neighbours_from_json, neighbours_to_json
from tacita.synthesis.survey.columns import Transform


@dataclass(frozen=True, init=False)
class SurveyPlan(Rehearsable):
    """`outcomes` and `weight` are drawn anew given the public columns `by`, in `sets` files.

    `keep` names further public columns that go along. Since these columns leave as they were collected, membership is
    not protected: neighbours differ in what one unit answered.
    """

    outcomes: tuple[str, ...]
    weight: str
    by: tuple[str, ...]
    epsilon: Fraction
    sets: int
    keep: tuple[str, ...]
    transforms: tuple[tuple[str, Transform], ...]
    weights: str
    neighbours: ReplaceOne

    def __init__(
        self,
        outcomes: Sequence[str],
        weight: str,
        by: Sequence[str],
        epsilon: Number,
        *,
        sets: int,
        weights: str,
        keep: Sequence[str] = (),
        transforms: Mapping[str, Transform] = {},
        neighbours: ReplaceOne | Mapping[str, Any] = ReplaceOne("person"),  # noqa: B008 -- frozen
        **more: Any,
    ) -> None:
        given = {
            "outcomes": _names("outcomes", outcomes),
            "weight": weight,
            "by": _names("by", by),
            "epsilon": exact(epsilon, "epsilon"),
            "sets": sets,
            "keep": _names("keep", keep),
            "transforms": tuple(sorted(dict(transforms).items())),
            "weights": weights,
            "neighbours": neighbours_from_json(neighbours) if isinstance(neighbours, Mapping) else neighbours,
            **more,
        }
        known = {one.name for one in fields(self)}
        for name, value in given.items():
            if name not in known:
                raise TypeError(f"{type(self).__name__} has no setting {name}")
            object.__setattr__(self, name, value)
        if not self.outcomes:
            raise UsageError('outcomes: name at least one column to synthesize, such as ["salary"]')
        if not isinstance(weight, str):
            raise UsageError('weight: name the column of the survey weights, such as "w"')
        if self.epsilon <= 0:
            raise UsageError('epsilon: must be above 0, such as "1" or "0.5"')
        if isinstance(sets, bool) or not isinstance(sets, int) or not 1 <= sets <= 1000:
            raise UsageError("sets: must be a whole number from 1 to 1000")
        if not isinstance(self.neighbours, ReplaceOne):
            # Files keep every record's design variables, so the exact number of records in each cell is published.
            raise UsageError(
                "neighbours: must be ReplaceOne(unit): the design variables are public, so who is in the sample is no "
                'secret, only what they answered. In a specification: neighbours = "replace" in [cap]'
            )

    def describe(self) -> dict[str, Any]:
        found: dict[str, Any] = {"mechanism": type(self).__name__}
        for one in fields(self):
            value = getattr(self, one.name)
            found[one.name] = text(value) if isinstance(value, Fraction) else value
        lists = {name: list(getattr(self, name)) for name in ("outcomes", "by", "keep")}
        return found | lists | {"transforms": dict(self.transforms), "neighbours": neighbours_to_json(self.neighbours)}

    @property
    def _product(self) -> str:
        """What the forecast is about."""
        return f"Synthetic survey samples: {', '.join((*self.outcomes, self.weight))} by {', '.join(self.by) or 'all'}"


def _names(key: str, given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not all(isinstance(one, str) for one in given):
        raise UsageError(f'{key}: give a list of names, such as ["region", "sex"]')
    return tuple(given)
