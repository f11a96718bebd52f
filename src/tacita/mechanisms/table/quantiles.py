"""Quantiles of cells: two values that are drawn together enclose each of them. Proof: table.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor, log, sqrt
from statistics import NormalDist

import numpy as np

from tacita.data.cells import Amount, Cells, Steps, decimals, number_kind, values
from tacita.data.confidential import Confidential
from tacita.data.sized import BySize, Sized, by_size, near
from tacita.mechanisms.table.ladder import Ladder, draw_ends, furthest
from tacita.mechanisms.table.measuring import (
    Ask,
    Facts,
    Integers,
    Noisy,
    counts,
    interval_of,
    label_of,
    nothing,
    step_of,
)
from tacita.mechanisms.table.noise import Budget, spread_of
from tacita.mechanisms.table.sampling import spread
from tacita.noise.entropy import Entropy, Request, reserve
from tacita.privacy import text

DRAWN = Fraction(14, 15)  # share of the budget for the draws; the rest counts the records of each cell
ENOUGH = 3.5  # strays of a draw, in ranks, that must lie on either side of a quantile for a cell to say something
_WEIGHTS = 1 << 12  # steps of the heaviest weight
UNEVEN = 1.0  # logarithm of how much heavier the rungs on the wrong side may be
_ROUNDS = 60  # of a fixed point that is reached much sooner
HEAPS = (200.0, 10_000.0)  # strays in a cell: below these heaps cannot be told apart, above they are drawn themselves
MOST_FOR_HEAPS = 1.0  # strays that ends are further out in between
_WORDS, _WORDS_PER_DRAW = 64, 8
_DIGITS = 3  # the first binary ones of numbers, by which records are counted to know where those near to a quantile are


@dataclass(frozen=True)
class Wanted:
    """Which quantiles of a column. `doubt` is the chance that two ends may fail to enclose one: that of the file, or
    that of the population where `spreading` pays for knowing how weights spread."""

    column: str
    shares: tuple[Fraction, ...]
    doubt: float
    spreading: Ask | None = None


@dataclass(frozen=True)
class _Weighing:
    """How records count: steps of weight, as many as `heaviest` at most; `cut` is what clamping may have taken off a
    cell, and `deviations` how far chance of sampling moves the sum of weights of each cell, both in steps."""

    steps: tuple[Amount, Steps] | None = None
    heaviest: int = 1
    cut: float = 0.0
    deviations: tuple[float, ...] = ()


def quantiles(
    data: Confidential, ask: Ask, wanted: Wanted, weight: str | None, entropy: Entropy
) -> tuple[Noisy, Facts]:
    """For each share two values, at ranks a little below and a little above it, so that they enclose the quantile. In a
    cell with too few records for that they fall anywhere: a noisy count tells which cells have enough."""
    weighing = _Weighing()
    sized = by_size(data, ask.cells, rank_scan(ask.cells, wanted.column)) if weight is None else None
    noisy, facts = counts(data, ask.priced(1 - DRAWN), entropy, None if sized is None else sized.there)
    ask = ask.priced(DRAWN)
    if weight is not None:
        weighed, ask, more_noisy, more_facts = _weighed(data, ask, Amount((weight,)), wanted, entropy)
        noisy, facts = noisy | more_noisy, facts | more_facts
        if weighed is None:
            ends = (f"{end}_{at}" for at in range(len(wanted.shares)) for end in ("low", "high"))
            return nothing(data.schema, ask, *ends)
        weighing = weighed
    drawn, more = _drawn(data, ask, wanted, weighing, noisy["count"], sized, entropy)
    return drawn | noisy, more | facts


def rank_scan(cells: Cells, column: str) -> BySize:
    return BySize(cells.by, Amount((column,)), _DIGITS)


def _weighed(
    data: Confidential, ask: Ask, amount: Amount, wanted: Wanted, entropy: Entropy
) -> tuple[_Weighing | None, Ask, Noisy, Facts]:
    """Weights are clamped where the least is lost: a draw strays by a number of heaviest weights."""
    worst = max(max(share, 1 - share) for share in wanted.shares)
    strays = (stray_of(share, each(ask.budget, wanted.shares), ask.records) for share in wanted.shares)
    ranks = max(shift_of(stray, wanted.doubt) for stray in strays) / float(worst)
    many = 1 / sqrt(ask.cells.count(data.schema))  # what is cut off lies in few records, so in few cells
    interval, ask = interval_of(data, ask, amount, None, entropy, ranks / many)
    if interval is None:
        return None, ask, {}, {}
    size = step_of(interval.upper, amount.grain(data.schema), _WEIGHTS)
    heaviest = max(1, round(interval.upper / size))
    weighing = _Weighing(
        (amount, Steps(0.0, size, 0, heaviest)), heaviest, many * (interval.unseen + interval.chance) * heaviest
    )
    if wanted.spreading is None:
        return weighing, ask, {}, {}
    noisy, facts = spread(data, wanted.spreading, amount, interval.upper, (), entropy)
    step = facts["sampling"]["step"] / size
    lean = sqrt(spread_of(facts["sampling"]["law"])[0])
    deviations = tuple(step * sqrt(max(one, 0) + lean) for one in noisy["squares"].tolist())
    return _Weighing(weighing.steps, heaviest, weighing.cut, deviations), ask, noisy, facts


def _drawn(
    data: Confidential, ask: Ask, wanted: Wanted, weighing: _Weighing, count: Integers, sized: Sized | None,
    entropy: Entropy,
) -> tuple[Noisy, Facts]:  # fmt: skip
    """`count` is the noisy one of each cell, and `sized` tells how many records of each size there are."""
    schema, column = data.schema, wanted.column
    kind, parts = number_kind(schema, column), 10 ** decimals(schema, column)
    # Bounds between two steps are rounded as records at them are.
    ladder = Ladder(*(floor(end * parts + 0.5) for end in (float(kind.lower), float(kind.upper))))
    number = ask.cells.count(schema)
    plans = [_drawing(ask, wanted, weighing, ladder, share, count) for share in wanted.shares]
    close = None
    if sized is not None:
        close = near(data, sized, [one.ranks(sized.there) for one in plans])
    only, others = None, None
    if close is not None:
        only, others = close.only(schema), close.others(ladder.lower, ladder.upper)
    place, rung, mass = values(data, ask.cells, column, weighing.steps, ladder.rung, only, others)
    borders = np.searchsorted(place, np.arange(number + 1))
    noisy: Noisy = {}
    budget = each(ask.budget, wanted.shares)
    epsilon, known = budget.pure, []
    for at, one in enumerate(plans):
        share = one.share
        known.append((shift_of(one.stray, wanted.doubt), least_of(one.stray, share)))
        label = label_of(f"{text(share)} quantile of {column}", ask)
        scale = np.full(number, float(1 / epsilon))
        entropy.announce(Request(label, f"two values at ranks, epsilon={text(epsilon)}", np.diff(borders), scale))
        spare = reserve(_WORDS + _WORDS_PER_DRAW * number, entropy)
        drawn = [
            draw_ends(rung[start:end], mass[start:end], ladder, share, shift, one.rate, spare)
            for (start, end), shift in zip(pairwise(borders.tolist()), one.away, strict=True)
        ]
        low, high = np.array(drawn, dtype=np.int64).reshape(number, 2).T
        noisy[f"low_{at}"], noisy[f"high_{at}"] = ladder.first(low), ladder.last(high)
    ranks, least = (list(one) for one in zip(*known, strict=True))
    named = [text(share) for share in wanted.shares]
    facts = {"lower": ladder.lower, "upper": ladder.upper, "parts": parts, "shares": named}
    return noisy, {"quantiles": facts | {"ranks": ranks, "least": least}}


@dataclass(frozen=True)
class _Drawing:
    """How one quantile is drawn: within how many ranks draws stray, and how far from it the two ends of each cell
    are."""

    share: Fraction
    stray: Fraction
    rate: Fraction
    away: list[int]
    reach: tuple[int, ...]
    """Beyond so many ranks from the quantile no value of a cell can be told from another."""

    def ranks(self, there: Integers) -> tuple[Integers, Integers]:
        """From the first to the last in each cell."""
        middle = self.share.numerator * there // self.share.denominator
        reach = np.array(self.reach, dtype=np.int64)
        return middle - reach, middle + reach


def _drawing(
    ask: Ask, wanted: Wanted, weighing: _Weighing, ladder: Ladder, share: Fraction, count: Integers
) -> _Drawing:
    stray = stray_of(share, each(ask.budget, wanted.shares), ask.records)
    shifts = [shift_of(stray * weighing.heaviest, wanted.doubt, one / float(stray)) for one in count.tolist()]
    away = _away(shifts, share, weighing, wanted.doubt)
    rate = 1 / (stray * weighing.heaviest * share.denominator)
    reach = tuple(one + furthest(ladder, share, one, rate) // share.denominator + 2 for one in away)
    return _Drawing(share, stray, rate, away, reach)


def each(budget: Budget, shares: tuple[Fraction, ...]) -> Budget:
    """What is spent on each quantile."""
    return budget.share(Fraction(1, len(shares)))


def stray_of(share: Fraction, budget: Budget, records: int) -> Fraction:
    """Within how many ranks a draw becomes less likely by a factor of e: one record moves a score of `scores_of` by up
    to max(share, 1 − share) of its weight, up or down."""
    return records * 2 * max(share, 1 - share) / budget.pure


def shift_of(stray: Fraction, doubt: float, strays: float = 0.0) -> int:
    """How many ranks from the quantile its ends are drawn, so that one is on the wrong side with chance `doubt`, in a
    cell whose records are so many strays."""
    return ceil((strays_of_ends(doubt) + strays_for_heaps(strays)) * float(stray))


def strays_for_heaps(strays: float) -> float:
    """How much further out ends are drawn where values may stand in heaps: one rung with many records, and on the wrong
    side of it a gap of many rungs. Where a cell has few strays, heaps of usual spacing hold less than one end strays
    by, and values are as good as even; where it has many, heaps are so large that nothing beside them is drawn."""
    fewest, most = HEAPS
    inside = min(max(strays, fewest), most)
    return min(log(inside / fewest), log(most / inside), MOST_FOR_HEAPS)


@lru_cache(maxsize=64)  # the same for all cells
def strays_of_ends(doubt: float) -> float:
    """The same in strays. Where rungs are many beside these ranks, the ends miss theirs by d and e strays with density
    exp(−max(|d|, |e|)): the larger is a Gamma number of shape 2, the other lies evenly within. One end is further than
    x to one side with chance exp(−x)·(1/2 + x/4), or more where rungs are uneven."""
    away = 1.0
    for _ in range(_ROUNDS):
        away = log((1 + away / 2) / doubt) + UNEVEN
    return away


def least_of(stray: Fraction, share: Fraction) -> int:
    """How many records a cell needs, so that there are enough on both sides of the quantile."""
    return ceil(ENOUGH * float(stray / min(share, 1 - share)))


def _away(shifts: list[int], share: Fraction, weighing: _Weighing, doubt: float) -> list[int]:
    """The same with what clamping of weights and chance of sampling may have moved, in each cell."""
    cut = ceil(float(max(share, 1 - share)) * weighing.cut)
    if not weighing.deviations:
        return [shift + cut for shift in shifts]
    # The sum of weights up to the quantile, less its share of all, has this part of the variance of the sum of all.
    normal = NormalDist().inv_cdf(1 - doubt / 2) * sqrt(float(share * (1 - share)))
    both = zip(shifts, weighing.deviations, strict=True)
    return [ceil(sqrt(shift**2 + (normal * one) ** 2)) + cut for shift, one in both]
