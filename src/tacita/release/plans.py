"""From a specification to plans: which mechanism measures each table, with every default decided.

Only public things are used here, so `tacita plan` can say the cost and the expected error of a release
before anyone opens the confidential file.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from tacita.errors import RefusedError, SpecError, TacitaError
from tacita.mechanisms import eree
from tacita.plan import Forecast, Plan
from tacita.privacy import Guarantee, in_sequence
from tacita.release.spec import Spec, TableSpec
from tacita.schema import Schema

PUBLISHING = ("integers", "nonnegative", "totals", "rank", "confidence")  # what is done to a table after the noise


@dataclass(frozen=True)
class PlannedTable:
    """One table with the plan that will measure it."""

    spec: TableSpec
    plan: Plan
    guarantee: Guarantee

    @property
    def title(self) -> str:
        return self.spec.title or self.spec.name


@dataclass(frozen=True)
class PlannedRelease:
    """Everything that is known before the confidential file is opened."""

    spec: Spec
    schema: Schema
    tables: tuple[PlannedTable, ...]

    @property
    def guarantee(self) -> Guarantee:
        return in_sequence(table.guarantee for table in self.tables)

    @property
    def fits(self) -> bool:
        """Whether the release would fit a cap of which nothing is spent yet."""
        return self.guarantee.loss <= self.spec.cap.loss

    def forecasts(self) -> dict[str, Forecast]:
        return {table.spec.name: table.plan.forecast(self.schema) for table in self.tables}

    def columns(self) -> tuple[str, ...]:
        """Every column that any table reads."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table.plan.columns(self.schema)))


def prepare(spec: Spec, *, rehearsal: bool = False) -> PlannedRelease:
    """Build every plan of a specification and check it against the schema.

    Only a rehearsal may use a mechanism without a guarantee.
    """
    schema = Schema.load(spec.resolve(spec.schema_path))
    tables = tuple(_planned(spec, table, rehearsal) for table in spec.table)
    for table in tables:
        _named(table.spec, table.plan.columns, schema)
    return PlannedRelease(spec, schema, tables)


def _planned(spec: Spec, table: TableSpec, rehearsal: bool) -> PlannedTable:
    mechanism = _mechanism(table)
    plan: Plan = _named(table, mechanism, **_arguments(spec, table, mechanism))
    if plan.guarantee.holds == "never" and not rehearsal:
        raise RefusedError(
            f'table "{table.name}": {table.mechanism} with these settings has no guarantee, so it cannot be released. '
            'Set calibration = "proved", or use it in `tacita rehearse` and `tacita study` only'
        )
    try:
        guarantee = plan.guarantee.under(spec.cap.relation)
    except RefusedError as error:
        raise RefusedError(
            f'table "{table.name}": {error}. Choose a mechanism that protects what [cap] promises, '
            "or change neighbours in [cap]"
        ) from None
    return PlannedTable(table, plan, guarantee)


def _named(table: TableSpec, call: Any, *args: Any, **kwargs: Any) -> Any:
    """Call something, and say which table of the specification was meant where it objects."""
    try:
        return call(*args, **kwargs)
    except TacitaError as error:
        raise type(error)(f'table "{table.name}": {error}') from None


def _mechanism(table: TableSpec) -> type:
    names = [name for name in eree.__all__ if _is_plan(getattr(eree, name))]
    if table.mechanism not in names:
        near = get_close_matches(table.mechanism, names, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}? " if near else ""
        raise SpecError(
            f'mechanism of table "{table.name}": there is no {table.mechanism}; '
            f"{hint}Known mechanisms: {', '.join(sorted(names))}"
        )
    found: type = getattr(eree, table.mechanism)
    return found


def _is_plan(thing: object) -> bool:
    return inspect.isclass(thing) and hasattr(thing, "guarantee") and hasattr(thing, "run")


def _arguments(spec: Spec, table: TableSpec, mechanism: type) -> dict[str, Any]:
    """The constructor's arguments: what the table says, then what follows from the cap."""
    # A constructor that passes some settings on shows them as fields only.
    named = [one.name for one in inspect.signature(mechanism).parameters.values() if one.kind is not one.VAR_KEYWORD]
    accepted = dict.fromkeys([*named, *(one.name for one in fields(mechanism))])
    given: dict[str, Any] = {
        key: getattr(table, key)
        for key in ("epsilon", "delta", "alpha", "definition", "calibration", "margin_share", "theta")
        if getattr(table, key) is not None
    }
    given |= {key: getattr(table, key) for key in ("by", "worker", "where") if getattr(table, key)}
    strangers = [key for key in given if key not in accepted]
    if strangers:
        raise SpecError(
            f'{strangers[0]} of table "{table.name}": {table.mechanism} has no such setting; remove it. '
            f"Its settings: {', '.join(accepted)}"
        )
    follows: Mapping[str, str | None] = {
        "alpha": spec.cap.alpha,
        "definition": spec.cap.neighbours if spec.cap.neighbours in ("strong", "weak") else None,
    }
    for key, value in follows.items():
        if key in accepted and key not in given and value is not None:
            given[key] = value
    return given


def plan_from_record(record: Mapping[str, Any]) -> Plan:
    """The plan that described itself so; for checking a bundle with the software that made it."""
    settings = {key: value for key, value in record.items() if key != "mechanism"}
    plan: Plan = getattr(eree, record["mechanism"])(**settings)
    return plan
