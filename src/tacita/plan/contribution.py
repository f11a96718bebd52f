"""Whose rows a promise counts: what a plan asks of the rows of one unit, and what nothing in the file can show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tacita.data.confidential import Confidential
from tacita.data.schema import Date, Integer, Numeric, Schema
from tacita.errors import UsageError
from tacita.plan.base import Plan
from tacita.privacy import UNCHECKED, Guarantee, StrongAlpha, WeakAlpha

ONE_ROW = "each unit has one record in the file"
ONE_JOB = "each worker holds one job in the file"
_RECORDS = ("record", "row")  # a promise about single records takes nothing on trust


@dataclass(frozen=True)
class Contribution:
    """The unit whose rows a promise counts: it holds for a unit with one row. `rule` says so in words."""

    unit: str
    rule: str = ONE_ROW

    def id_column(self, schema: Schema) -> str | None:
        return schema.id_for(self.unit)

    def on_trust(self, schema: Schema) -> str | None:
        """What nothing in such a file can show; None where its rows are checked."""
        if self.id_column(schema) is not None:
            return None
        if self.unit in _RECORDS:
            others = " or ".join(schema.entities)
            return (
                f"the promise is about single records; one {others} with several of them loses that much for each"
                if others
                else None
            )
        said = self.rule if self.rule != ONE_ROW else f"each row of the file is one whole {self.unit}"
        return f"{said}; the file has no {self.unit} id, so nothing could check it"


def contribution_of(plan: Plan[Any], schema: Schema) -> Contribution | None:
    """What a plan asks of the rows of one unit; None where it takes all of them together, or promises nothing.

    A plan says so itself with a method `contribution(schema)`; without one, each row counts as a unit.
    """
    guarantee = plan.guarantee
    if guarantee.holds == "never":
        return None
    own = getattr(plan, "contribution", None)
    if own is not None:
        asked: Contribution | None = own(schema)
        return asked
    relation = guarantee.neighbours
    if isinstance(relation, StrongAlpha | WeakAlpha):
        return Contribution("worker", ONE_JOB)
    return Contribution(relation.unit)


def claimed(plan: Plan[Any], schema: Schema) -> Guarantee:
    """The promise of a plan for files of this schema: what no id can show stands first among its assumptions.

    >>> variables = {"sex": {"role": "confidential", "type": "categorical", "levels": ["F", "M"]}}
    >>> schema = Schema.from_dict({"dataset": {"identity": "people", "unit": "person"}, "variables": variables})
    >>> from tacita.comparison import HistogramSynthesis
    >>> from tacita.privacy import ReplaceOne
    >>> claimed(HistogramSynthesis(["sex"], "1", neighbours=ReplaceOne("person")), schema).assumes[0]
    'not checked: each row of the file is one whole person; the file has no person id, so nothing could check it'
    """
    guarantee, asked = plan.guarantee, contribution_of(plan, schema)
    trusted = None if asked is None else asked.on_trust(schema)
    if asked is None or trusted is None:
        return guarantee
    others = tuple(one for one in guarantee.assumes if one not in (ONE_ROW, asked.rule))
    return replace(guarantee, assumes=(UNCHECKED + trusted, *others))


def check(plan: Plan[Any], data: Confidential) -> None:
    """Everything that can be wrong with a plan for a file, found before anything is spent."""
    names = plan.reads(data.schema)
    if not plan.takes_missing:
        _refuse_own_missing(names, data.schema)
    if not plan.keeps_rules:
        _refuse_rules(names, data.schema)
    data.check(names, plan.scan(data.schema))
    weighed_by = getattr(plan, "weighed_by", None)  # stand-ins and plans of older packages may have none
    if weighed_by is not None and (weight := weighed_by(data.schema)) is not None:
        data.check_weight(weight)
    asked = contribution_of(plan, data.schema)
    if asked is not None and (column := asked.id_column(data.schema)) is not None:
        data.check_unit(column, asked.unit)
    plan.suits(data)


def _refuse_own_missing(names: Iterable[str], schema: Schema) -> None:
    for name in names:
        kind = schema[name].kind
        if isinstance(kind, Integer | Numeric | Date) and kind.own_missing:
            raise UsageError(
                f"{name}: its missing values are a state of their own, which this method cannot carry; use "
                f"FileSynthesis, or declare variables.{name}.missing = <number>"
            )


def _refuse_rules(names: Iterable[str], schema: Schema) -> None:
    for number, rule in enumerate(schema.rules, start=1):
        if set(rule.columns) <= set(names):
            raise UsageError(
                f"rules, number {number}: this method cannot keep what it says of {', '.join(rule.columns)}; use "
                "FileSynthesis, or leave one of these columns out"
            )
