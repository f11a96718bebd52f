"""What plans that release posterior draws of a survey have in common: columns, budget, neighbours, files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, get_args

from tacita.errors import UsageError
from tacita.ledger.codec import neighbours_from_json, neighbours_to_json
from tacita.plan import Forecast, Rehearsable
from tacita.privacy import AddRemoveOne, Number, ReplaceOne, exact, text
from tacita.schema import Schema
from tacita.synthesis.pseudo.fbp import PopulationModel
from tacita.synthesis.pseudo.fbs import Parameters, SampleModel
from tacita.synthesis.pseudo.model import PseudoModel, Weights, stored_frame, unpacked
from tacita.synthesis.pseudo.reading import Layout, layout_of
from tacita.synthesis.survey.columns import Frame, Transform


@dataclass(frozen=True, init=False)
class PosteriorPlan(Rehearsable):
    """`sets` files, each from one draw of the parameters, which costs its share of ε.

    `outcomes` and `weight` are drawn anew given the public columns `by`; `keep` names further public columns that go
    along. `total` is a public number of units that the weights of each file are brought to.
    """

    outcomes: tuple[str, ...]
    weight: str
    by: tuple[str, ...]
    epsilon: Fraction
    sets: int
    keep: tuple[str, ...]
    transforms: tuple[tuple[str, Transform], ...]
    weights: Weights
    total: float | None
    neighbours: AddRemoveOne | ReplaceOne

    def __init__(
        self,
        outcomes: Sequence[str],
        weight: str,
        by: Sequence[str],
        epsilon: Number,
        *,
        sets: int = 3,
        keep: Sequence[str] = (),
        transforms: Mapping[str, Transform] = {},
        weights: Weights = "smoothed",
        total: float | None = None,
        neighbours: AddRemoveOne | ReplaceOne | Mapping[str, Any] = ReplaceOne("person"),  # noqa: B008 -- frozen
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
            "total": None if total is None else float(total),
            "neighbours": neighbours_from_json(neighbours) if isinstance(neighbours, Mapping) else neighbours,
            **more,
        }
        known = {one.name for one in fields(self)}
        for name, value in given.items():
            if name not in known:
                raise TypeError(f"{type(self).__name__} has no setting {name}")
            object.__setattr__(self, name, value)
        self._check_common()

    def _check_common(self) -> None:
        if not self.outcomes:
            raise UsageError('outcomes: name at least one column to synthesize, such as ["salary"]')
        if not isinstance(self.weight, str):
            raise UsageError('weight: name the column of the survey weights, such as "w"')
        if self.epsilon <= 0:
            raise UsageError('epsilon: must be above 0, such as "1" or "0.5"')
        if isinstance(self.sets, bool) or not isinstance(self.sets, int) or not 1 <= self.sets <= 1000:
            raise UsageError("sets: must be a whole number from 1 to 1000")
        if self.weights not in get_args(Weights):
            raise UsageError(f"weights: must be one of {', '.join(get_args(Weights))}")
        if self.total is not None and not 0 < self.total < float("inf"):
            raise UsageError("total: must be above 0")
        if not isinstance(self.neighbours, AddRemoveOne | ReplaceOne):
            raise UsageError("neighbours: must be AddRemoveOne(unit) or ReplaceOne(unit)")

    @property
    def bound(self) -> Fraction:
        """Δ: no record's log-likelihood, as it enters the posterior, exceeds it in absolute value."""
        return self.epsilon / (self.sets * (4 if isinstance(self.neighbours, ReplaceOne) else 2))

    @property
    def _public(self) -> tuple[str, ...]:
        """What the guarantee assumes about the columns."""
        found = ["each unit has one record in the file", "the number of records is public"]
        if public := (*self.by, *self.keep):
            found.append(f"{', '.join(public)} of every record are public: a neighbouring file has the same")
        return tuple(found)

    def describe(self) -> dict[str, Any]:
        found: dict[str, Any] = {"mechanism": type(self).__name__}
        for one in fields(self):
            value = getattr(self, one.name)
            found[one.name] = text(value) if isinstance(value, Fraction) else value
        lists = {name: list(getattr(self, name)) for name in ("outcomes", "by", "keep")}
        return found | lists | {"transforms": dict(self.transforms), "neighbours": neighbours_to_json(self.neighbours)}

    # ------------------------------------------------------------ columns and files

    def _layout(self, schema: Schema) -> Layout:
        return layout_of(schema, self.outcomes, self.weight, self.by, self.keep, dict(self.transforms))

    def columns(self, schema: Schema) -> tuple[str, ...]:
        """The columns it reads; raises where the schema cannot carry the plan."""
        return self._layout(schema).names

    def _forecast(self, schema: Schema, sentences: tuple[str, ...], figures: dict[str, float]) -> Forecast:
        return Forecast(
            f"Synthetic survey samples: {', '.join((*self.outcomes, self.weight))}, by {', '.join(self.by) or 'all'}",
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


def _names(key: str, given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not all(isinstance(one, str) for one in given):
        raise UsageError(f'{key}: give a list of names, such as ["region", "sex"]')
    return tuple(given)
