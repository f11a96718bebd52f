"""Sizes of all years held to released totals and steps together: what a year has is what the year before had, and what
units gained less what they lost. Post-processing only.

Were each year moved to its total by itself, the noise of two totals would pass for jobs created and destroyed. So a
unit is moved alike in all its years first, and then its steps are, to what the released sums of steps say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacita.synthesis.panel.formal.lattice import Floats, Integers
from tacita.synthesis.panel.formal.pinned import OF_SIZE, YearTotals, between, moved_to, seen_at_all, upper
from tacita.synthesis.panel.formal.released import Measurement
from tacita.synthesis.panel.panel import MISSING
from tacita.synthesis.panel.predictors import Flags

# Judgement, not derived; none of it is about privacy.
_FIRST, _FURTHEST = 1.5, 9.0  # logarithms by which sizes move: the largest at first, then all
_STEPS = 0.05  # of a year's steps, which are drawn along released sums: what they may be off by
_UNSEEN = 0.5  # of steps above their clamps: how far a year's may be off
_ENTERING, _LEAVING = 0.1, 1.5  # the same of those that enter; of those that leave, for one unit
_ROUGHLY = 0.005  # of a total, that rounding and gaps leave of steps
_LEAST = 0.001  # of a total, that it is off by at least
_LONGEST = 8.0  # times its logarithm that a step may grow to
_STAYS = 0.02  # of its steps, and of its total, that a year keeps at least
_ROUNDS = 30


def held_in_all_years(
    values: Integers,
    totals: YearTotals,
    found: Measurement,
    most: int,
    random: np.random.Generator,
    *,
    middle: bool,
) -> Integers:
    """Whole sizes that add up, within their bounds. A unit is rounded the same way in all years, and what is 0 stays
    so."""
    there, doubt = values != MISSING, None if middle else random
    values = seen_at_all(values, there, totals, random)
    own = np.where(there, values, 0).astype(np.float64)
    aims = totals.joined(own.sum(axis=1), OF_SIZE, doubt)
    held = _levelled(own, float(aims.sum()), most)
    if len(held) > 1:
        steps = StepSums.of(held, found)
        held = _stepped(held, _agreeing(aims, totals.apart * aims, steps), steps, most)
    rounding = random.random((values.shape[1],))
    whole = np.clip(np.floor(held + rounding), 1, most).astype(np.int64)
    return np.where(there & (values > 0), whole, values)


def _levelled(sizes: Floats, aim: float, most: int) -> Floats:
    """Every unit moved by one factor in all years, so that all years together have what is aimed at."""
    years = (sizes > 0).sum(axis=0)
    who = np.flatnonzero(years)
    own = sizes[:, who]
    weights = upper(own.sum(axis=0) / years[who]) if len(who) else np.zeros(0)
    for one, furthest in ((weights, _FIRST), (np.ones(len(who)), _FURTHEST)):
        own = moved_to(own, one, aim, most, furthest)
    held = sizes.copy()
    held[:, who] = own
    return held


@dataclass(frozen=True, eq=False)
class StepSums:
    """What units that stay gain and lose from each year to the next, what those that come and go have, and how far
    each may be off: years × (up, down)."""

    steps: Floats
    steps_off: Floats
    others: Floats
    others_off: Floats

    @classmethod
    def of(cls, sizes: Floats, found: Measurement) -> StepSums:
        """Of drawn sizes, and as released as far as noise lets them contradict these, clamped alike."""
        stays = _staying(sizes)
        moved = np.where(stays, np.diff(sizes, axis=0), 0.0)
        low, high = (found.caps[name] for name in ("flows", "flows of all years"))
        wanted, off = np.zeros((len(moved), 2)), np.zeros((len(moved), 2))
        for at, steps in enumerate((np.maximum(moved, 0), np.maximum(-moved, 0))):
            near = np.minimum(steps, low).sum(axis=1)
            far = np.clip(steps - low, 0, high - low).sum(axis=1)
            rest = np.maximum(steps - high, 0).sum(axis=1)
            held = _told(near, found["flows"].values[:, at], found["flows"].spread, _STEPS)
            factor = held / np.maximum(near, 1.0)
            beyond = found["flows of all years"]
            scaled = far * factor
            all_ = _told(scaled.sum(keepdims=True), beyond.values[at : at + 1], beyond.spread, _UNSEEN)[0]
            above = scaled * all_ / max(float(scaled.sum()), 1.0) + rest * factor
            wanted[:, at] = held + above
            off[:, at] = np.hypot(np.minimum(found["flows"].spread, held), _UNSEEN * above)
        coming, going = np.where(stays, 0, sizes[1:]), np.where(stays, 0, sizes[:-1])
        others = np.column_stack([coming.sum(axis=1), going.sum(axis=1)])
        each = _LEAVING / np.sqrt(np.maximum((going > 0).sum(axis=1), 1))
        return cls(wanted, off, others, others * np.column_stack([np.full(len(each), _ENTERING), each]))


def _staying(sizes: Floats) -> Flags:
    return np.asarray((sizes[1:] > 0) & (sizes[:-1] > 0))


def _told(own: Floats, released: Integers, spread: float, doubt: float) -> Floats:
    sums = np.maximum(released.astype(np.float64), max(spread / 2, 1.0))
    return between(own, sums, spread / sums, doubt, None)


def _agreeing(totals: Floats, off: Floats, steps: StepSums) -> Floats:
    """Totals of all years that agree with steps as far as either may be off; all years together stay as they are."""
    years = len(totals)
    precise = 1 / np.maximum(off, _LEAST * totals) ** 2
    change = steps.steps @ [1.0, -1.0] + steps.others @ [1.0, -1.0]
    sure = 1 / ((steps.steps_off**2 + steps.others_off**2).sum(axis=1) + (_ROUGHLY * totals[1:]) ** 2)
    ahead = np.diff(np.eye(years), axis=0)
    found = np.linalg.solve(
        np.diag(precise) + ahead.T @ (sure[:, None] * ahead), precise * totals + ahead.T @ (sure * change)
    )
    found = np.maximum(found, _STAYS * totals)
    return np.asarray(found * totals.sum() / found.sum())


def _stepped(sizes: Floats, totals: Floats, steps: StepSums, most: int) -> Floats:
    """One year after the other: its steps, longer or shorter alike, lead to its total."""
    held = sizes.copy()
    held[0] = _scaled(sizes[0], float(totals[0]), most)
    staying = _staying(sizes)
    for place in range(1, len(sizes)):
        who = np.flatnonzero(staying[place - 1])
        before, growth = held[place - 1, who], np.log(sizes[place, who] / sizes[place - 1, who])
        net = float(totals[place] - before.sum() - (held[place].sum() - held[place, who].sum()))
        up, down = steps.steps[place - 1].tolist()
        doubt = (steps.steps_off**2 + steps.others_off**2)[place - 1]
        # Those who come and go are drawn: steps make up for what they miss, the less known direction the more.
        missing, share = net - (up - down), float(doubt[0] / max(doubt.sum(), 1e-300))
        up, down = up + share * missing, down - (1 - share) * missing
        least = _STAYS * (up + down if up + down > 0 else abs(net))
        up, down = max(up, net + least, least), max(down, least - net, least)
        for rises, aim in ((growth > 0, up), (growth < 0, down)):
            growth[rises] *= _stretch(before[rises], growth[rises], aim)
        held[place, who] = np.clip(before * np.exp(np.minimum(growth, _FURTHEST)), 1, most)
        held[place] = _scaled(held[place], float(totals[place]), most)
    return held


def _stretch(before: Floats, growth: Floats, aim: float) -> float:
    """The factor of all logarithms with which steps add up to an aim. By halving: steps of a few large units grow so
    fast with it that anything quicker swings to and fro, and one year then has many times its jobs created."""
    low, high = 0.0, _LONGEST
    for _ in range(_ROUNDS if len(before) else 0):
        factor = (low + high) / 2
        reached = abs(float(before @ np.expm1(np.minimum(factor * growth, _FURTHEST))))
        low, high = (factor, high) if reached < aim else (low, factor)
    return (low + high) / 2


def _scaled(sizes: Floats, aim: float, most: int) -> Floats:
    factor = min(max(aim / max(float(sizes.sum()), 1.0), np.exp(-_FURTHEST)), np.exp(_FURTHEST))
    return np.asarray(np.minimum(sizes * factor, most))
