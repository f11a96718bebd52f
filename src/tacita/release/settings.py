"""From what a product of the specification says to the settings of its plan, and from a plan's record back to it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from tacita.errors import SpecError
from tacita.plan import Plan
from tacita.plan.bounded import Bounded
from tacita.privacy import Neighbours, text
from tacita.privacy.json_form import neighbours_from_json
from tacita.release.mechanisms import MAGNITUDE_MECHANISMS, TABLE_MECHANISMS, mechanism_named, synthesizer_names
from tacita.release.spec import MicrodataSpec, Spec, TableSpec

JOBS_DEFAULT, ANY_FILE, TWO_YEARS, SLOW = "SmoothStaircase", "Table", "Change", "SlowSums"
_OF_TABLE = (
    "levels", "division", "statistic", "of", "weights", "sampling", "quantiles",
    "clamp", "margin", "margin_at", "rho", "between",
)  # fmt: skip

Named = TableSpec | MicrodataSpec


def mechanism_of(product: Named) -> type[Plan[Any]]:
    known = TABLE_MECHANISMS if isinstance(product, TableSpec) else synthesizer_names()
    if product.mechanism not in known:
        near = get_close_matches(product.mechanism, known, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}? " if near else ""
        raise SpecError(
            f"mechanism of {product.spoken}: there is no {product.mechanism}; {hint}Known mechanisms: "
            f"{', '.join(sorted(known))}"
        )
    return mechanism_named(product.mechanism)


def arguments_of(spec: Spec, product: Named, mechanism: type[Plan[Any]]) -> dict[str, Any]:
    """The constructor's arguments: what the product says, then what follows from the cap."""
    accepted = inspect.signature(mechanism).parameters
    given = mechanism.renamed(_settings(product))
    if isinstance(product, TableSpec) and "levels" not in accepted:
        given.pop("levels", None)  # they are sums of its cells, made when the table is published
    strangers = [key for key in given if key not in accepted]
    if strangers:
        near = get_close_matches(strangers[0], accepted, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}?" if near else "remove it."
        raise SpecError(
            f"{strangers[0]} of {product.spoken}: {product.mechanism} has no such setting; {hint} "
            f"Its settings: {', '.join(accepted)}"
        )
    follows: Mapping[str, str | Neighbours | None] = {
        "alpha": spec.cap.alpha,
        "definition": spec.cap.neighbours if spec.cap.neighbours in ("strong", "weak") else None,
        "unit": spec.cap.unit,
        "scaling": spec.cap.scaling,
        "offset": spec.cap.offset,
        "reference": spec.cap.reference,
        "neighbours": spec.cap.relation,
    }
    for key, value in follows.items():
        if key in accepted and key not in given and value is not None:
            given[key] = value
    for one in accepted.values():
        if one.default is one.empty and one.name not in given:
            raise SpecError(f"{one.name} of {product.spoken} is missing; {product.mechanism} needs it")
    return given


def _settings(product: Named) -> dict[str, Any]:
    if isinstance(product, MicrodataSpec):
        stated: dict[str, Any] = {"epsilon": product.epsilon, "delta": product.delta}
        return {key: value for key, value in stated.items() if value is not None} | {
            key: tuples(value) for key, value in product.options.items()
        }
    own = ("epsilon", "delta", "alpha", "definition", "calibration", "margin_share", "theta", *_OF_TABLE)
    given: dict[str, Any] = {key: getattr(product, key) for key in own if getattr(product, key) is not None}
    if product.mechanism in (ANY_FILE, TWO_YEARS):
        given["confidence"] = product.confidence
    elif given.get("statistic") in (
        "count",
        *(key for key, one in (*MAGNITUDE_MECHANISMS.items(), ("sum", SLOW)) if one == product.mechanism),
    ):
        del given["statistic"]  # all that those mechanisms measure
    return given | {key: getattr(product, key) for key in ("by", "worker", "where") if getattr(product, key)}


def tuples(value: Any) -> Any:
    """Lists as tuples, all the way down: a plan is frozen, and so are its settings."""
    if isinstance(value, dict):
        return {key: tuples(inner) for key, inner in value.items()}
    return tuple(tuples(inner) for inner in value) if isinstance(value, list) else value


def bounded(plan: Plan[Any], at_most: int) -> Plan[Any]:
    """A product states what one unit loses, so that each of its rows gets a share of that; or the margin it wants."""
    bounded = Bounded(plan, at_most)  # refuses, in words, plans that cannot be bounded
    if plan.describe().get("margin") is not None:
        return bounded  # the wanted margin is that of its noise, whatever all rows of a unit then cost
    share = plan.guarantee.loss.per_row(at_most)
    stated = (
        {"epsilon": text(share.epsilon), "delta": text(share.delta)} if share.rho is None else {"rho": text(share.rho)}
    )
    record = plan.describe()
    return plan_from_record(record | {key: stated[key] for key in stated if key in record} | {"at_most": at_most})


def plan_as_set(settings: Mapping[str, Any], record: Mapping[str, Any]) -> Plan[Any]:
    """The plan that the settings of a product ask for; what else it needs is as in the record of its plan."""
    stated: tuple[str, ...] = ("epsilon", "delta")
    if settings["mechanism"] in (ANY_FILE, TWO_YEARS):
        stated = (*stated, "by", "where", "confidence", *_OF_TABLE)
    elif settings["mechanism"] in MAGNITUDE_MECHANISMS.values():
        stated = (*stated, "by", "of", "where")
    elif settings["mechanism"] == SLOW:
        stated = ("rho", "by", "of", "where")
    elif settings["mechanism"] in TABLE_MECHANISMS:
        stated = (*stated, "by", "worker", "where")
    given = {key: tuples(settings[key]) for key in stated if settings.get(key)}
    rest = {key: record[key] for key in record if key not in (*stated, "at_most")}
    plan = plan_from_record(rest | given | {"mechanism": settings["mechanism"]})
    return bounded(plan, record["at_most"]) if "at_most" in record else plan


def plan_from_record(record: Mapping[str, Any]) -> Plan[Any]:
    """The plan that described itself so; for checking a bundle with the software that made it."""
    around = ("mechanism", "at_most", "check")
    settings = {key: tuples(value) for key, value in record.items() if key not in around}
    if isinstance(settings.get("neighbours"), dict):
        settings["neighbours"] = neighbours_from_json(settings["neighbours"])
    plan = mechanism_named(record["mechanism"]).from_record(settings)
    if "check" in record:
        from tacita.synthesis.selfcheck import SelfCheck  # loaded where a product has one

        plan = SelfCheck(plan, **record["check"])
    return Bounded(plan, record["at_most"]) if "at_most" in record else plan
