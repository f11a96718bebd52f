"""The explorer: one page on which a person moves prices and caps and sees what they buy. No row is ever read for it.

What the page is told is gathered here, from specification and schema alone; it computes everything else itself, by the
formulas of `plan`. A form names a function of `pages/templates/explorer/forecasts.js`, which gives the figures of
`plan.forecast` at any ε. Plans whose forecast is no formula get a grid of forecasts, between whose points the page
interpolates, and says so.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import version
from importlib.resources import files
from math import isfinite
from typing import Any

import numpy as np
from attrs import evolve

from tacita.data.schema import Schema
from tacita.errors import TacitaError
from tacita.mechanisms import eree
from tacita.mechanisms.eree.smooth import SmoothPlan
from tacita.mechanisms.magnitude import SmoothSums
from tacita.mechanisms.table import Table
from tacita.mechanisms.table.accuracy import (
    BETWEEN_TWO,
    MIDDLE_OF_TWO,
    SIZES,
    UNSIGNED,
    alone,
    clamped_ends,
    gradient,
    noises_of,
    parts_of_ratio,
    reach_in_clamps,
)
from tacita.mechanisms.table.measuring import BOUGHT, buys_clamp
from tacita.mechanisms.table.noise import FINEST, prudent
from tacita.mechanisms.table.price import ROUNDED
from tacita.mechanisms.table.quantiles import DRAWN, HEAPS, MOST_FOR_HEAPS, strays_of_ends
from tacita.noise.combination import deviations
from tacita.pages import render
from tacita.plan import Forecast, Plan
from tacita.plan.bounded import Bounded
from tacita.privacy import Loss, exact, text
from tacita.privacy.json_form import canonical, digest
from tacita.release.plans import Planned, PlannedRelease, repriced
from tacita.release.spec import TableSpec
from tacita.release.spec_template import template_of
from tacita.release.words import kind_of_privacy, left_open, up_front

Form = dict[str, Any]

KURTOSES = 25  # points at which `deviations` is told to the page; it is a straight line between them
_OCTAVES = 4  # to either side of the ε that was asked for
_SLOW = (eree.SmoothStudent, SmoothSums)  # whose law takes seconds to find: half as far, and at one α


def form_of(release: PlannedRelease, product: Planned[Any]) -> Form:
    plan = product.plan.plan if isinstance(product.plan, Bounded) else product.plan
    if isinstance(plan, Table):
        return _of_table(plan, release.schema)
    if isinstance(plan, eree.EdgeLaplace | eree.TruncatedLaplace):
        return {"form": "jobs", "reach": getattr(plan, "theta", 1)}
    if isinstance(plan, eree.LogLaplace):
        return {"form": "log", "cells": plan.cells(release.schema), "paper": plan.calibration == "paper"}
    if isinstance(plan, eree.SmoothStaircase):
        return _staircase(plan, release.schema, plan.cells(release.schema))
    if isinstance(plan, SmoothSums) and len(plan.of) == 1:
        return _staircase(plan, release.schema, 1)
    return _grid(release, product, plan)


def deviation_table(confidences: set[Fraction]) -> dict[str, list[float]]:
    """How many standard deviations hold an error, by kurtosis, for each confidence that a product speaks of."""
    kurtoses = np.linspace(0, 3, KURTOSES)
    return {text(one): deviations(float(one), kurtoses).tolist() for one in confidences | {Fraction(1, 2)}}


def staircase_table() -> dict[str, Any]:
    """The noise of `SmoothStaircase` over a grid of ε and α, as docs/tools/staircase_table.py wrote it."""
    place = files("tacita.mechanisms.eree") / "staircase_table.json"
    table: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return table


# ---------------------------------------------------------------- tables of any file


def _of_table(table: Table, schema: Schema) -> Form:
    told: Form = {"statistic": table.statistic, "records": table.records, "confidence": text(table.confidence)}
    told["prudent"] = text(prudent(table.confidence))
    told["budget"] = float(table.budget.part)
    if table.levels:
        return told | {"form": "levels"} | _of_levels(table, schema)
    if table.statistic in ("median", "quantiles"):
        shares, doubt = [[text(one), float(max(one, 1 - one))] for one in table.shares], float(1 - table.confidence)
        told |= {
            "shares": shares,
            "drawn": float(DRAWN),
            "middle": MIDDLE_OF_TWO,
            "between": BETWEEN_TWO,
            "ends": strays_of_ends(doubt),
        }
        heaps = {"fewest": HEAPS[0], "most": HEAPS[1], "further": MOST_FOR_HEAPS, "size": SIZES[1]}
        return told | {"form": "quantiles", "heaps": heaps}
    if table.statistic == "ratio" or (table.statistic == "mean" and table.weights):
        single = alone(table, schema)
        parts = [[float(one.left), _square(table, one.ends, single)] for one in parts_of_ratio(table, schema)]
        return told | {"form": "ratio", "parts": parts}
    if table.statistic in ("count", "share") and table.weights is None:
        reach = table.records if table.attributes else 1
        levels = len(schema.levels(table.of[0])) if table.statistic == "share" else 0
        return told | {"form": table.statistic, "reach": reach, "levels": levels}
    return told | {"form": "sums", "rounded": ROUNDED} | _of_sums(table, schema)


def _of_sums(table: Table, schema: Schema) -> Form:
    """A margin in clamps, in units, or in units by the size of a cell."""
    amount = table.amount(table.of[0] if table.of and table.statistic != "share" else None)
    low, high = table.clamp if isinstance(table.clamp, tuple) else amount.bounds(schema)
    bought = buys_clamp(schema, amount, None if table.clamp is None else (0.0, 0.0))
    is_sum = table.statistic in ("sum", "count", "share")
    ends = clamped_ends(low, high, bought) if is_sum else UNSIGNED
    square = _square(table, ends, is_sum and alone(table, schema))
    if bought:
        noises = noises_of(is_sum, low, bought)
        return {"part": float(1 - BOUGHT), "square": square, "margin": "in_clamps", "times": 1.0, "noises": noises}
    if is_sum:
        return {"part": 1.0, "square": square, "margin": "", "times": max(abs(low), abs(high)), "noises": 1}
    times = gradient(table.statistic, high - low)
    return {"part": 1.0, "square": square, "margin": "at", "times": times, "noises": 1}


def _square(table: Table, ends: tuple[float, float], single: bool) -> float:
    """The square of how far one unit moves a sum, in clamps."""
    return reach_in_clamps(table, ends, alone=single).square / FINEST**2


def _of_levels(table: Table, schema: Schema) -> Form:
    """Forecasts at ε = 1, pure and with a δ. All errors of a joint estimate grow with its noise: the page scales."""
    told = {}
    for name, delta in (("pure", "0"), ("concentrated", "1e-6")):
        plan = evolve(table, epsilon="1", delta=delta)
        split = plan.split(schema)
        assert split is not None
        least = float(min(split.shares)) * float(1 - BOUGHT)
        told[name] = {"delta": float(exact(delta)), "least": least, "figures": plan.forecast(schema).figures}
    return told


# ---------------------------------------------------------------- everything else


def _staircase(plan: eree.SmoothStaircase | SmoothSums, schema: Schema, cells: int) -> Form:
    figures = plan.forecast(schema).figures
    known = {"epsilon": text(plan.epsilon), "alpha": text(plan.alpha), "figures": figures}
    return {"form": "staircase", "cells": cells, "share": float(1 - plan.margin_share), "known": known}


def _grid(release: PlannedRelease, product: Planned[Any], plan: Plan[Any]) -> Form:
    """Forecasts at prices around the one asked for; where α may be moved, for each α that it may be moved to."""
    if product.guarantee.loss.is_zero or not hasattr(plan, "epsilon") or plan.epsilon is None:
        return {"form": "fixed", "figures": _figures(product.plan, release.schema)}
    stated = exact(product.spec.epsilon or text(plan.epsilon))
    slow = isinstance(plan, _SLOW)
    movable = isinstance(plan, SmoothPlan) and not slow
    steps = 3 if movable else 1  # in each octave: laws of noise bend, other errors are nearly in proportion to 1/ε
    reach = _OCTAVES * steps // (2 if slow else 1)
    grid = [_readable(stated, Fraction(at, steps)) for at in range(-reach, reach + 1)]
    alphas = alphas_of(release) if movable else [release.spec.cap.alpha]
    points = {alpha or "": [_point(release, product, one, alpha) for one in grid] for alpha in alphas}
    return {"form": "grid", "epsilon": [text(one) for one in grid], "points": points}


def alphas_of(release: PlannedRelease) -> list[str]:
    """The values of α that the page offers: that of the cap, and those of the table."""
    own = release.spec.cap.alpha
    if own is None:
        return []
    listed = [*staircase_table()["figures"], *([own] if own not in staircase_table()["figures"] else [])]
    return sorted(listed, key=exact)


def _readable(stated: Fraction, octaves: Fraction) -> Fraction:
    """The price itself, and around it prices of three digits."""
    return stated if not octaves else Fraction(f"{float(stated) * 2 ** float(octaves):.3g}")


def _point(release: PlannedRelease, product: Planned[Any], epsilon: Fraction, alpha: str | None) -> Form | None:
    try:
        foretold = repriced(release, product, epsilon=text(epsilon), alpha=alpha or None).plan.forecast(release.schema)
    except (TacitaError, ArithmeticError, ValueError):  # a price far from the one that was asked for may be too small
        return None
    return _told(foretold)


def _figures(plan: Plan[Any], schema: Schema) -> dict[str, Any]:
    return _told(plan.forecast(schema))


def _told(forecast: Forecast) -> dict[str, Any]:
    finite = {name: value for name, value in forecast.figures.items() if isfinite(value)}
    return {"figures": finite, "said": list(forecast.sentences)}


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
        "cap": {name: getattr(cap, name) for name in ("epsilon", "delta", "alpha", "account", "per_year", "until")},
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
