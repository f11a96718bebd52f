"""Estimates of growth and flows: several numbers of each cell, told apart by `measure`. Post-processing only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacita.measured import Measurements
from tacita.mechanisms.change.measuring import CHANGE, EARLIER, ENTERED, GREW, LEFT, SHRANK
from tacita.tables.estimates import Estimates, Floats, amounts, margin

MEASURE = "measure"
GROWTH = ("earlier", "later", "change", "percent")
FLOWS = ("creation", "destruction", "entry", "exit", "net")


def growth(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    """Both totals, the change, and the change in percent of the earlier total: the true percentage p makes
    change − p·earlier zero but for noise, so its interval is of all p for which that is likely."""
    if result.facts.get("visible") is False:
        return _nothing(keys, GROWTH, result.cells)
    change, change_noise, change_kurtosis, change_unseen = amounts(CHANGE, result)
    earlier, noise, kurtosis, unseen = amounts(EARLIER, result)
    signed = result.facts[EARLIER]["lower"] < 0
    later = earlier + change
    half_change = change_unseen.beside(margin(confidence, [(change_noise, change_kurtosis)]))
    half_earlier = margin(confidence, [(noise, kurtosis)])
    half_later = change_unseen.beside(margin(confidence, [(noise, kurtosis), (change_noise, change_kurtosis)]))
    known = earlier > 1.5 * half_earlier
    safe = np.where(known, earlier, 1.0)
    rate = change / safe
    half_rate = margin(confidence, [(change_noise, change_kurtosis), (rate**2 * noise, kurtosis)])
    # Solved at the shorter denominator, which the noise allows for, as for any ratio.
    half_rate = unseen.times(np.abs(rate)).beside(change_unseen.beside(half_rate))
    half_rate = half_rate / safe * (1 + 0.25 * (half_earlier / safe) ** 2)
    above_earlier, above_later = unseen.beside(half_earlier), unseen.beside(half_later)
    below_earlier, below_later = (above_earlier, above_later) if signed else (half_earlier, half_later)
    value = [earlier, later, change, np.where(known, 100 * rate, np.nan)]
    half = np.where(known, 100 * half_rate, np.inf)
    lower = [earlier - below_earlier, later - below_later, change - half_change, value[3] - half]
    upper = [earlier + above_earlier, later + above_later, change + half_change, value[3] + half]
    least = [-np.inf if signed else 0.0] * 2 + [-np.inf] * 2
    return _together(keys, GROWTH, value, lower, upper, least)


def flows(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    """Sums of what was measured apart; where units are counted, all creation is entry."""
    if result.facts.get("visible") is False:
        return _nothing(keys, FLOWS if GREW in result.noisy else FLOWS[2:], result.cells, additive=True)
    parts = {"creation": {GREW: 1, ENTERED: 1}, "destruction": {SHRANK: 1, LEFT: 1}, "entry": {ENTERED: 1},
             "exit": {LEFT: 1}, "net": {GREW: 1, ENTERED: 1, SHRANK: -1, LEFT: -1}}  # fmt: skip
    if GREW not in result.noisy:
        parts = {name: parts[name] for name in FLOWS[2:]}
    value, lower, upper, least, spread = [], [], [], [], []
    for name, signs in parts.items():
        there = {one: sign for one, sign in signs.items() if one in result.noisy}
        _, noise, kurtosis, unseen = amounts(next(iter(there)), result)
        number: Floats = np.zeros(noise.size)
        for one, sign in there.items():
            number = number + sign * amounts(one, result)[0]
        half = margin(confidence, [(noise, kurtosis)] * len(there))
        value.append(number)
        above = unseen.beside(half)
        lower.append(number - (above if name == "net" else half))
        upper.append(number + above)
        least.append(-np.inf if name == "net" else 0.0)
        spread.append(noise * len(there))
    return _together(keys, tuple(parts), value, lower, upper, least, np.concatenate(spread), kurtosis)


def _nothing(keys: dict[str, Any], names: tuple[str, ...], cells: int, *, additive: bool = False) -> Estimates:
    """Where not one unit is visible beside the noise, nothing is said of any cell."""
    value, spread = np.full(cells, np.nan), np.zeros(cells * len(names)) if additive else None
    ends = [value - np.inf] * len(names), [value + np.inf] * len(names)
    return _together(keys, names, [value] * len(names), *ends, [-np.inf] * len(names), spread)


def _together(
    keys: dict[str, Any],
    names: tuple[str, ...],
    value: list[Floats],
    lower: list[Floats],
    upper: list[Floats],
    least: list[float],
    variance: Floats | None = None,
    kurtosis: float = 0.0,
) -> Estimates:
    cells = value[0].size
    return Estimates(
        {name: np.tile(code, len(names)) for name, code in keys.items()},
        np.concatenate(value),
        np.concatenate(lower),
        np.concatenate(upper),
        additive=variance is not None,
        variance=variance,
        kurtosis=kurtosis,
        bounds=(np.repeat(least, cells), np.full(cells * len(names), np.inf)),
        parts=tuple(name for name in names for _ in range(cells)),
        parted_by=MEASURE,
    )
