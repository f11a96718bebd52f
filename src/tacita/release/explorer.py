"""The explorer: one page on which a person moves prices and caps and sees what they buy. No row is ever read for it.

What the page is told is gathered here, from specification and schema alone; it computes everything else itself, by the
formulas of `plan` (`explorer_forms`).
"""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from typing import Any

from tacita.errors import TacitaError
from tacita.pages import render
from tacita.plan.bounded import Bounded
from tacita.privacy import Loss, exact, text
from tacita.privacy.json_form import canonical, digest
from tacita.release.explorer_forms import alphas_of, deviation_table, form_of, staircase_table
from tacita.release.plans import Planned, PlannedRelease, repriced
from tacita.release.spec import TableSpec
from tacita.release.spec_template import template_of
from tacita.release.words import kind_of_privacy, left_open, up_front

_PRICE = ("epsilon", "delta", "margin", "margin_at")
_LOSSES = (Loss("1"), Loss("1", delta="1e-9"))  # one of each kind: without a δ, and with one


def explorer_page(release: PlannedRelease) -> str:
    """The whole page, self-contained."""
    model = explorer_model(release)
    guarantee = release.guarantee
    doubts = [one for one in up_front(guarantee) if guarantee.holds != "asymptotically" or "Taken on trust" in one]
    if guarantee.holds == "asymptotically":
        doubts.append("Not proved: the promise of at least one product holds in a limit only (asymptotic).")
    return render.page(
        "explorer.html.j2",
        model=model,
        doubts=doubts,
        version=version("tacita"),
    )


def explorer_model(release: PlannedRelease) -> dict[str, Any]:
    """Everything that the page's script is told."""
    cap = release.spec.cap
    products = [_product(release, at, one) for at, one in enumerate(release.products)]
    models = [one["model"] for one in products]
    confidences = {exact(one[key]) for one in models for key in ("confidence", "prudent") if key in one}
    own_alpha = [one for one in release.spec.table if one.alpha not in (None, cap.alpha)]
    alphas = [cap.alpha] if own_alpha else alphas_of(release)
    return {
        "title": release.spec.title,
        "file": release.spec.path.name or "release.toml",
        "cap": {"epsilon": cap.epsilon, "delta": cap.delta, "alpha": cap.alpha},
        "alphas": alphas,
        "promises": {alpha or "": _promise(release, alpha) for alpha in alphas or [None]},
        "holds": release.guarantee.holds,
        "kinds": [render.capital(kind_of_privacy(replace(release.guarantee, loss=one))) for one in _LOSSES],
        "products": products,
        "deviations": deviation_table(confidences),
        "staircase": staircase_table() if any(one["model"]["form"] == "staircase" for one in products) else None,
        "lines": _lines(release),
    }


def _promise(release: PlannedRelease, alpha: str | None) -> dict[str, Any]:
    """What is protected and what is not, in words, at each α."""
    relation = release.spec.cap.model_copy(update={"alpha": alpha}).relation
    guarantee = replace(release.guarantee, neighbours=relation)
    return {"relation": str(relation), "protects": guarantee.protects, "left_open": list(left_open(guarantee))}


def _lines(release: PlannedRelease) -> Any:
    path = release.spec.path
    return template_of(path.read_text(encoding="utf-8")) if path.is_file() else None


def _product(release: PlannedRelease, at: int, product: Planned[Any]) -> dict[str, Any]:
    is_table = isinstance(product.spec, TableSpec)
    plan, forecast = product.plan, product.plan.forecast(release.schema)
    stated = plan.guarantee.loss
    price = _multiple(release, product)
    form = form_of(release, product)
    described = {key: value for key, value in plan.describe().items() if key not in _PRICE}
    return {
        "slot": f"table.{at}" if is_table else f"microdata.{at - len(release.tables)}",
        "name": product.spec.name,
        "title": product.title,
        "mechanism": product.spec.mechanism,
        "what": forecast.product,
        "cells": forecast.cells if is_table else 0,
        "epsilon": text(_stated(product)),
        "delta": product.spec.delta or text(stated.delta),
        "takes_delta": form["form"] in ("count", "share", "sums", "levels", "ratio", "quantiles") and price == "1",
        "rows": plan.at_most if isinstance(plan, Bounded) else 1,
        "costs": price,
        "fixed": [text(product.guarantee.loss.epsilon), text(product.guarantee.loss.delta)],
        "alpha_stated": is_table and product.spec.alpha is not None,
        "wishes": _wishes(form),
        "drawn": digest(canonical(described)),
        "model": form,
    }


def _wishes(form: dict[str, Any]) -> str:
    """An example of a margin to ask for; empty where a product has no one margin."""
    if form["form"] == "grid":
        points = [one["figures"] for line in form["points"].values() for one in line if one]
        known = ("margin_90_in_S", "margin_95_of_largest")
        return "5% at 500" if points and any(name in points[0] for name in known) else ""
    if form["form"] == "sums":
        return "5 at 500" if form["margin"] == "at" or form["statistic"] == "mean" else "200"
    return {"share": "2 points at 500", "ratio": "", "fixed": ""}.get(form["form"], "5% at 500")


def _stated(product: Planned[Any]) -> Any:
    if product.spec.epsilon is not None:
        return exact(product.spec.epsilon)
    return product.plan.guarantee.loss.epsilon


def _multiple(release: PlannedRelease, product: Planned[Any]) -> str | None:
    """What is charged for each ε of a product; None where that is no multiple of it, and its price stays as it is."""
    stated = _stated(product)
    if not stated or product.guarantee.loss.rho is not None or product.guarantee.loss.is_zero:
        return None
    try:
        doubled = repriced(release, product, epsilon=text(2 * stated)).guarantee.loss.epsilon
    except TacitaError:
        return None
    once = product.guarantee.loss.epsilon
    return text(once / stated) if doubled == 2 * once else None
