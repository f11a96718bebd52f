"""Which formula the explorer's page computes a product's forecast by, and the public numbers that go into it.

A form names a function of `pages/templates/explorer/forecasts.js`, which gives the figures of `plan.forecast` at any ε.
Plans whose forecast is no formula get a grid of forecasts, between whose points the page interpolates, and says so.
"""

from __future__ import annotations

import json
from fractions import Fraction
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
from tacita.mechanisms.table.accuracy import ROUNDED, UNSIGNED, clamped_ends, gradient, reach_in_clamps
from tacita.mechanisms.table.measuring import BOUGHT, NUMERATOR, buys_clamp
from tacita.mechanisms.table.noise import FINEST, prudent
from tacita.mechanisms.table.quantiles import DRAWN, UNEVEN
from tacita.noise.combination import deviations
from tacita.plan import Forecast, Plan
from tacita.plan.bounded import Bounded
from tacita.privacy import exact, text
from tacita.release.plans import Planned, PlannedRelease, repriced

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
        shares = [[text(one), float(max(one, 1 - one))] for one in table.shares]
        return told | {"form": "quantiles", "shares": shares, "uneven": UNEVEN, "drawn": float(DRAWN)}
    if table.statistic == "ratio" or (table.statistic == "mean" and table.weights):
        share = Fraction(1, 2) if table.statistic == "ratio" else NUMERATOR
        amounts = [table.amount(one) for one in (*table.of, None)[:2]]
        squares = [_square(table, clamped_ends(*one.bounds(schema), True)) for one in amounts]
        parts = [[float((1 - BOUGHT) * one), square] for one, square in zip((share, 1 - share), squares, strict=True)]
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
    square = _square(table, clamped_ends(low, high, bought) if is_sum else UNSIGNED)
    if bought:
        return {"part": float(1 - BOUGHT), "square": square, "margin": "in_clamps", "times": 1.0}
    if is_sum:
        return {"part": 1.0, "square": square, "margin": "", "times": max(abs(low), abs(high))}
    return {"part": 1.0, "square": square, "margin": "at", "times": gradient(table.statistic, high - low)}


def _square(table: Table, ends: tuple[float, float]) -> float:
    """The square of how far one unit moves a sum, in clamps."""
    return reach_in_clamps(table, ends).square / FINEST**2


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
        found = repriced(release, product, epsilon=text(epsilon), alpha=alpha or None).plan.forecast(release.schema)
    except (TacitaError, ArithmeticError, ValueError):  # a price far from the one that was asked for may be too small
        return None
    return _told(found)


def _figures(plan: Plan[Any], schema: Schema) -> dict[str, Any]:
    return _told(plan.forecast(schema))


def _told(forecast: Forecast) -> dict[str, Any]:
    finite = {name: value for name, value in forecast.figures.items() if isfinite(value)}
    return {"figures": finite, "said": list(forecast.sentences)}
