"""What `PanelSynthesis` says beforehand: how far yearly totals will be off, and where ε goes. No rows.

The errors come from what is made of released sums, tried on made-up units: as many as asked for, with numbers spread
as those of businesses usually are, evenly placed on a normal law of logarithms and the same in all years but for a
total that moves a little. Once octaves of sums are released, units are spread as these say. Only the noise is drawn,
with one seed for all, so that a plan is always told the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import ceil, log

import numpy as np
from scipy.special import ndtri

from tacita.noise.discrete import LARGEST_SCALE
from tacita.plan.how import Worth
from tacita.privacy import text
from tacita.synthesis.panel.formal.budget import WEIGHT, Budget
from tacita.synthesis.panel.formal.ladder import LADDER, ladder_ends, ladder_sums
from tacita.synthesis.panel.formal.lattice import Bins, Floats, Integers, Steps
from tacita.synthesis.panel.formal.pinned import YearTotals
from tacita.synthesis.panel.formal.promise import LIVES, Promise
from tacita.synthesis.panel.formal.released import (
    ROWS,
    USUAL_STEP,
    USUALLY_MOVING,
    Measurement,
    Noisy,
)
from tacita.synthesis.panel.formal.sensitivities import Sensitivity, WholeHistory, each_rate, each_scale, noise_of
from tacita.synthesis.panel.formal.sums import octave_count, octaves, sum_clamp, unit_counts, whole, year_clamp
from tacita.synthesis.panel.formal.units import most_of
from tacita.synthesis.panel.layout import Layout

_Tried = Mapping[int, Mapping[str, float]]  # errors of each number, by units
SIZES = (300, 1_000, 3_000, 10_000)
_MIDDLE = SIZES[1]
TOLERABLE = 0.2  # of a yearly total: beyond it a panel is called too small
_SHOWN = 10_000  # units of the group whose shares of ε are told
_TRIES = 30
WIDTH, ALIKE, FEW = 1.5, 0.7, 2.0  # of logarithms: of numbers of businesses, of pay, and where a few units have most
_FEW_HAVE = ", few have most"
_FURTHER = 3.0  # times as far as businesses usually do that units may move
_MOVES = 0.05
_ALIKE = 2.0  # octaves from the middle unit to one that a tenth exceed
_DRAWN, _DRAWN_FLOWS = 0.006, 0.003  # of a total, that it, or what is gained, is off by without any noise
_SEEN = 3.0  # scales of noise by which a count of units stands out two octaves above all others
_UNLIKE = 0.35  # of what businesses usually gain or lose in a year: how far those of a panel may be from it
_TYPICAL = 0.67  # standard deviations that half of all errors exceed
_UNSUPPORTED = (
    "regressions, growth of single units, numbers beside the size given each other, quantiles of small panels, and "
    "intervals of any of these"
)


def foreseen(layout: Layout, promise: Promise) -> tuple[list[str], dict[str, float]]:
    """What yearly totals will be off by, where ε goes and how large the noise is, in sentences and figures."""
    tried = {units: total_errors(layout, promise, units) for units in SIZES}
    others = {
        how: {units: total_errors(layout, promise, units, width=width) for units in SIZES}
        for how, width in ((", alike", ALIKE), (_FEW_HAVE, FEW))
    }
    sentences = [_said(one.name, tried, others) for one in layout.yearly]
    sentences += [_too_small(layout, promise, others[_FEW_HAVE]), _missed(layout, promise)]
    budget, epsilon, alpha = promise.budget(layout, _SHOWN), promise.epsilon, promise.alpha
    years = len(layout.years)
    size = layout.yearly[0].name
    spent = {name: part for name, part in budget.parts if alpha is None or not name.startswith(LIVES)}

    def percent(*starts: str) -> str:
        part = sum(one for name, one in spent.items() if name.startswith(starts))
        return f"{100 * float(part / epsilon):.0f}%"

    lives = life_error(promise, layout, _SHOWN)
    flows, further = (
        {units: flow_error(layout, promise, units, moving=moving) for units in SIZES if years > 1}
        for moving in (1.0, _FURTHER)
    )
    about = f"{percent(*LIVES)} of ε" if alpha is None else "outside the promise, so at no cost; but with noise"
    sums = tuple(f"{part} {size}" for part in ("octaves", "sum"))
    sentences += [
        f"ε = {text(epsilon)} covers all {years} years of a unit together: a further year needs a new plan and a new ε",
        f"in a group of {_SHOWN:,} units (in smaller ones more goes to sums of all years), lives and static variables: "
        f"{about}; the number of units that begin, or end, in a year is typically off by {lives:.2g}, "
        "and where fewer do by about as many as do",
        f"{size} when first seen: {percent('sizes', 'entrants')} of ε, from one record of each unit",
        f"sums of {size}: {percent('levels', 'tops', *sums)} of ε, of each year, which has a part in {years}, and of "
        "all years together; values above a clamp that follows from released counts count as the clamp",
    ]
    if years > 1:
        sentences.append(
            f"steps of {size} from year to year: {percent('steps', 'kinds')} of ε for their law, which is the same in "
            f"all years, {percent('flows')} for what is gained and lost in each, which has a part in {years - 1}, "
            f"and in all together, {percent('present', 'leaving')} for which sizes leave"
        )
        sentences.append(
            f"what units gain, or lose, of {size} in a year, with those that come and go, is typically off by "
            f"{_by_units(flows)} units in a group, as shares of the year's total, if they move as businesses usually "
            f"do and gain {_percent(usual_flow())} of it; if they move {_FURTHER:g} times as far, by "
            f"{_by_units(further)}"
        )
    for one in layout.yearly[1:]:
        parts = ("range", "centres", "ratios", "moves", "octaves", "sum", "years")
        sentences.append(
            f"{one.name}: {percent(*(f'{part} {one.name}' for part in parts))} of ε, for its logarithm per unit of "
            f"{size}, moves whose law is the same in all years, and sums of all years together and of each"
        )
    figures = {
        f"error of a yearly total of {name}, {units} units{how}": float(f"{error:.2g}")
        for how, all_sizes in ({"": tried} | others).items()
        for units, errors in all_sizes.items()
        for name, error in errors.items()
    }
    figures |= {f"share of epsilon, {name}": float(one / epsilon) for name, one in spent.items()}
    figures |= {
        f"error of gains, or losses, of {size} in a year, {units} units{how}": float(f"{error:.2g}")
        for how, errors in (("", flows), (f", moving {_FURTHER:g} times as far", further))
        for units, error in errors.items()
    }
    sentences.append(f"not supported by these files, at any size: {_UNSUPPORTED}")
    return sentences, figures | {"error of a count of units that begin in a year": lives}


def worth_of(layout: Layout, promise: Promise, groups: list[tuple[int, Mapping[str, Noisy]]]) -> Worth:
    """What files of groups with so many units, and these counts of what they have in all years, are worth. Of several
    groups that with the middle number of units."""
    middle, counted = sorted(groups, key=lambda one: one[0])[len(groups) // 2]
    errors = total_errors(layout, promise, middle, counted, FEW)
    off = ", ".join(f"{_percent(error)} for {name}" for name, error in errors.items())
    group = (
        f"In a group of {middle:,} units, the middle one of {len(groups)}"
        if len(groups) > 1
        else f"With {middle:,} units"
    )
    said = f"{group}, a total of one year is typically off by {off}"
    if len(layout.years) > 1:
        flows, size = flow_error(layout, promise, middle, counted), layout.yearly[0].name
        said += f"; what units gain, or lose, of {size} in a year by {_percent(flows)} of its total"
        said += f", and the number that begin, or end, by {life_error(promise, layout, middle):.2g}"
    said += ": this is a forecast, not an outcome. "
    said += "It follows from noisy counts of how large units are; a few far larger than all others may not show there."
    if max(errors.values()) <= TOLERABLE:
        return Worth(f"{said} Not supported: {_UNSUPPORTED}.", enough=True)
    small = "The panel is too small for its ε, and its numbers are for trying out code, not for answers. "
    return Worth(f"{said} {small}Margins computed from the files would be too narrow, so none are shown.", enough=False)


def _said(name: str, usual: _Tried, others: Mapping[str, _Tried]) -> str:
    alike, few = (_percent(errors[_MIDDLE][name]) for errors in others.values())
    told = _by_units({units: errors[name] for units, errors in usual.items()})
    return (
        f"a year's total of {name} is typically off by {told} units in a group, if they differ as businesses usually "
        f"do; of {_MIDDLE:,} units by {alike} if they are as alike as people's pay, by {few} if a few have most of it"
    )


def _by_units(errors: Mapping[int, float]) -> str:
    return ", ".join(f"{_percent(error)} with {units:,}" for units, error in errors.items())


def _percent(error: float) -> str:
    return "100% or more" if error >= 1 else f"{100 * error:.2g}%"


def _too_small(layout: Layout, promise: Promise, tried: dict[int, dict[str, float]]) -> str:
    """From which size on the files are of use, and what serves smaller panels."""
    least = smallest({units: max(errors.values()) for units, errors in tried.items()})
    count = len(layout.yearly)
    fewer = f"fewer than {count} yearly numbers, " if count > 1 else ""
    within = "" if promise.alpha is not None else "alpha, "
    grouped = "no or larger groups, " if layout.group is not None else ""
    small = f"fewer than about {least:,} units" if least is not None else f"{SIZES[-1]:,} units and fewer"
    return (
        f"a group of {small} is too small for ε = {text(promise.epsilon)} if a few have most: a year's total is off "
        f"by more than {100 * TOLERABLE:.0f}%, growth and regressions by far more, and intervals from several files do "
        f"not cover. Such panels are better served by {fewer}{grouped}a larger ε, {within}tables of sums (tc.Table), "
        "or PlainPanelSynthesis inside the office"
    )


def _missed(layout: Layout, promise: Promise) -> str:
    """How many large units noise hides, whatever they are."""
    few = {units: _told_from(layout, promise, units) for units in SIZES[1:]}
    told = ", ".join(f"{count:,} with {units:,}" for units, count in few.items())
    return (
        f"of units far larger than all others, fewer than about {told} units in a group are not told from noise: what "
        "they add beyond the others is missing in all totals, and no margin says so"
    )


def _told_from(layout: Layout, promise: Promise, units: int) -> int:
    octaves_of = f"octaves {layout.yearly[0].name}"
    return ceil(_SEEN * 2 / float(promise.budget(layout, units)[octaves_of]))


def total_errors(
    layout: Layout,
    promise: Promise,
    units: int,
    counted: Mapping[str, Noisy] | None = None,
    width: float = WIDTH,
) -> dict[str, float]:
    """Of each yearly number, the typical error of a year's total in a group of so many units, as a share of it: half
    of all errors are smaller. At 1 nothing is known of the total. `counted` are released octaves, once there are."""
    alike: dict[tuple[int, bool], float] = {}  # numbers with the same bounds are told the same
    for at in range(len(layout.yearly)):
        key = most_of(layout, at), at > 0
        if key not in alike:
            alike[key] = min(_error(layout, promise, units, at, width=width), 1.0)
    errors = {one.name: alike[most_of(layout, at), at > 0] for at, one in enumerate(layout.yearly)}
    for at, one in enumerate(layout.yearly if counted else ()):
        # Counts tell that units are alike. Of others they do not tell that none is larger still.
        counts = (counted or {})[one.name]
        own = min(_error(layout, promise, units, at, counts), 1.0)
        middle, large = np.quantile(np.log2(_spread_as(counts, units)), [0.5, 0.9])
        errors[one.name] = own if large - middle < _ALIKE else max(own, errors[one.name])
    return errors


def life_error(promise: Promise, layout: Layout, units: int) -> float:
    """By how many units the number that begin, or end, in a year is typically off where about as many or more do: half
    of all errors are smaller. Where fewer do, it is off by about as many as do."""
    return log(2) * 2 / float(promise.budget(layout, units)["lives begun"])


def flow_error(
    layout: Layout,
    promise: Promise,
    units: int,
    counted: Mapping[str, Noisy] | None = None,
    width: float = WIDTH,
    moving: float = 1.0,
) -> float:
    """The typical error of what units gain, or lose, in a year, as a share of the size's total: what noise leaves of a
    clamped sum that is smoothed over years, of steps above the clamp as far as noise hides their law, what a few large
    units have above it, and the sizes of those that come and go. Made-up units move so many times as far as businesses
    usually do."""
    budget, years, size = promise.budget(layout, units), len(layout.years), layout.yearly[0].name
    each = _made_up(units, most_of(layout, 0), width) if counted is None else _spread_as(counted[size], units) / years
    total = max(float(each.sum()), 1.0)
    some = each[:: max(units // 500, 1)]
    moved = np.outer(some, np.expm1(moving * USUAL_STEP * -np.log((np.arange(40) + 0.5) / 40))).ravel()
    per = USUALLY_MOVING / 2 * units / len(moved)  # half of those that move go up
    caps = np.unique(np.quantile(moved, np.linspace(0.5, 0.999, 60)).astype(np.int64).clip(1))
    seen = units * WEIGHT * min(years - 1, 3)
    noise = 2 * 2**0.5 * budget.most_weight / float(budget["steps"])
    doubt = min(noise * (len(ROWS) * Steps.count) ** 0.5 / max(seen, 1), 1.0)
    own = [promise.change.flows(cap, most_of(layout, 0)).most for cap in caps.tolist()]
    cubes = budget.on_cubes(2 * Bins.sizes(most_of(layout, 0)).count, units)
    noisy = each_scale(2 * (years - 1), budget["flows"], cube=cubes)(np.array(own, dtype=np.float64)) * 2**0.5
    above = [np.maximum(moved - cap, 0) for cap in caps]
    hidden = np.array([float(one.sum()) * per for one in above])
    chance = np.array([float((one**2).sum()) * per for one in above])
    at = int(np.argmin(noisy**2 + (doubt * hidden) ** 2 + chance))
    come = life_error(promise, layout, units) / units * total / 2
    # What noise does is drawn anew in each release, what is hidden is missed in all of them, and what chance does is
    # in the year as in the files.
    usual = usual_flow() * total
    unlike = doubt * max(float(hidden[at]), max(_UNLIKE, abs(moving - 1)) * usual)
    off = np.linalg.norm(
        [_TYPICAL * noisy[at] / max(years - 1, 1) ** 0.5, unlike, _TYPICAL * (1.2 * chance[at]) ** 0.5, come]
    )
    return float(min(np.hypot(off / total, _DRAWN_FLOWS), 1.0))


def usual_flow() -> float:
    """What units usually gain, or lose, in a year, as a share of the size's total."""
    return USUALLY_MOVING * USUAL_STEP / 2


def smallest(errors: dict[int, float]) -> int | None:
    """From how many units on errors are tolerable: between the sizes that were tried, as logarithms go."""
    sizes = sorted(errors)
    if errors[sizes[0]] <= TOLERABLE:
        return sizes[0]
    for small, large in pairwise(sizes):
        if errors[large] <= TOLERABLE:
            share = np.log(errors[small] / TOLERABLE) / np.log(errors[small] / errors[large])
            return _round(float(small * (large / small) ** share))
    return None


def _round(number: float) -> int:
    digits = 10 ** (len(str(int(number))) - 1)
    return int(-(-number // digits) * digits)


def _error(
    layout: Layout, promise: Promise, units: int, at: int, counts: Noisy | None = None, width: float = WIDTH
) -> float:
    random, budget = np.random.default_rng(20), promise.budget(layout, units)
    years, most = len(layout.years), most_of(layout, at)
    each = _made_up(units, most, width) if counts is None else _spread_as(counts, units) / years
    off = []
    for _ in range(_TRIES):
        moved = np.exp(np.cumsum(random.standard_normal(years)) * _MOVES)
        values = np.rint(np.minimum(each * moved[:, None], most)).astype(np.int64)
        measured = _measured(layout, budget, promise.change, values, at, random)
        told = YearTotals.of(measured, layout, layout.yearly[at].name, units, None)
        if told is not None:
            own = told.middle / np.maximum(values.sum(axis=1), 1) - 1
            # Made-up units have the same years above the clamps of single years as below; those of a file have not.
            off.append(np.hypot(own, _TYPICAL * told.apart))
    typical = float(np.median(np.concatenate(off)))
    return float(np.hypot(typical, _DRAWN))


def _made_up(units: int, most: int, width: float = WIDTH) -> Floats:
    """In the middle of what the bounds allow, on a scale of logarithms, but so that few are above them."""
    middle = np.log(max(most, 2)) / 2
    return np.asarray(np.exp(np.minimum(middle + width * ndtri((np.arange(units) + 0.5) / units), np.log(most))))


def _spread_as(counts: Noisy, units: int) -> Floats:
    """So many numbers, spread as released counts of octaves have them, evenly within each on a scale of logarithms."""
    ends = np.concatenate([[0.0], np.cumsum(np.maximum(unit_counts(counts, units), 0.0))])
    places = (np.arange(units) + 0.5) / units * max(float(ends[-1]), 1e-9)
    return np.asarray(2.0 ** np.interp(places, ends, np.arange(len(ends))))


def _measured(
    layout: Layout, budget: Budget, change: WholeHistory, values: Integers, at: int, random: np.random.Generator
) -> Measurement:
    """What `measuring` would release of these numbers, as far as sums go."""
    (years, units), name, most = values.shape, layout.yearly[at].name, most_of(layout, at)
    own, cubes = values.sum(axis=0), budget.on_cubes(2 * Bins.sizes(most_of(layout, 0)).count, units)

    def noisy(question: str, table: Integers, sensitivity: Sensitivity) -> Noisy:
        scale, cube = noise_of(sensitivity, budget[question], table.size, cube=cubes or at > 0)
        scale = min(scale, Fraction(LARGEST_SCALE))
        if cube:
            noise = random.uniform(-1, 1, table.shape) * random.gamma(table.size + 1, float(scale))
        else:
            noise = random.laplace(0, float(scale), table.shape)
        return Noisy(np.rint(table + noise).astype(np.int64), scale, cube)

    lives = np.zeros((layout.first.levels, layout.last.levels), dtype=np.int64)
    lives[0, -1] = units
    counted = np.bincount(octaves(own[own > 0]), minlength=octave_count(years * most))
    tables, share = {"lives": Noisy(lives, Fraction(1))}, budget[f"sum {name}"]
    counts = tables[f"octaves {name}"] = noisy(f"octaves {name}", counted, change.counts())
    clamp = sum_clamp(counts, units, change.rate(share, share), years * most)
    tables[f"sum {name}"] = noisy(f"sum {name}", whole(own, clamp).sum(keepdims=True), change.of_sum(clamp, years))
    caps = {f"sum {name}": clamp}
    if at:
        share = budget[f"years {name}"]
        cap = year_clamp(
            counts, units, years, years, float(change.rate(share, share)) * each_rate(years, cube=True), most
        )
        sums = whole(values, cap).sum(axis=1)
        tables[f"years {name}"] = noisy(f"years {name}", sums, change.of_each(cap))
        return Measurement(tables, caps | {f"years {name}": cap})
    bins = Bins.sizes(most)
    usual: Floats = np.bincount(bins.of(values[0]), minlength=bins.count).astype(np.float64)
    ends = ladder_ends(usual, bins, budget, change, years, cubes=cubes)
    for question, (table, sensitivity) in zip(LADDER, ladder_sums(values, ends, budget, change), strict=True):
        tables[question] = noisy(question, table, sensitivity)
    return Measurement(tables, caps | dict(zip(LADDER, ends, strict=True)))
