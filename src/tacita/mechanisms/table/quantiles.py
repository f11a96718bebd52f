"""Quantiles of cells: two draws from the confidential rows enclose each of them. Proof: table.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log, sqrt
from statistics import NormalDist

import numpy as np

from tacita.data.cells import Amount, Steps, decimals, number_kind, values
from tacita.data.confidential import Confidential
from tacita.mechanisms.table.ladder import Ladder, draw_value
from tacita.mechanisms.table.measuring import Ask, Facts, Noisy, counts, interval_of, label_of, nothing, step_of
from tacita.mechanisms.table.noise import spread_of
from tacita.mechanisms.table.sampling import spread
from tacita.noise.entropy import Entropy, Request, reserve
from tacita.privacy import text

DRAWN = Fraction(9, 10)  # share of the budget for the draws; the rest counts the records of each cell
ENOUGH = 7.0  # logarithm of how much likelier the right rungs must be than all others for a cell to say something
_WEIGHTS = 1 << 12  # steps of the heaviest weight
UNEVEN = 0.7  # logarithm of how much heavier the rungs on the wrong side may be
_WORDS, _WORDS_PER_DRAW = 64, 8


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
    """For each share two draws, at ranks a little below and a little above it, so that they enclose the quantile. Where
    a cell has too few records for that, its draws fall anywhere: a noisy count tells which cells have enough."""
    weighing = _Weighing()
    noisy, facts = counts(data, ask.priced(1 - DRAWN), entropy)
    ask = ask.priced(DRAWN)
    if weight is not None:
        weighed, ask, more_noisy, more_facts = _weighed(data, ask, Amount((weight,)), wanted, entropy)
        noisy, facts = noisy | more_noisy, facts | more_facts
        if weighed is None:
            ends = (f"{end}_{at}" for at in range(len(wanted.shares)) for end in ("low", "high"))
            return nothing(data.schema, ask, *ends)
        weighing = weighed
    drawn, more = _drawn(data, ask, wanted, weighing, entropy)
    return drawn | noisy, more | facts


def _weighed(
    data: Confidential, ask: Ask, amount: Amount, wanted: Wanted, entropy: Entropy
) -> tuple[_Weighing | None, Ask, Noisy, Facts]:
    """Weights are clamped where the least is lost: a draw strays by a number of heaviest weights."""
    worst = max(max(share, 1 - share) for share in wanted.shares)
    ranks = max(_shifts(ask, wanted, 1)) / float(worst)
    many = 1 / sqrt(ask.cells.count(data.schema))  # what is cut off lies in few records, so in few cells
    interval, ask = interval_of(data, ask, amount, None, entropy, ranks / many)
    if interval is None:
        return None, ask, {}, {}
    size = step_of(interval.upper, amount.grain(data.schema), _WEIGHTS)
    heaviest = max(1, round(interval.upper / size))
    weighing = _Weighing((amount, Steps(0.0, size, 0, heaviest)), heaviest, many * interval.unseen * heaviest)
    if wanted.spreading is None:
        return weighing, ask, {}, {}
    noisy, facts = spread(data, wanted.spreading, amount, interval.upper, (), entropy)
    step = facts["sampling"]["step"] / size
    lean = sqrt(spread_of(facts["sampling"]["law"])[0])
    deviations = tuple(step * sqrt(max(one, 0) + lean) for one in noisy["squares"].tolist())
    return _Weighing(weighing.steps, heaviest, weighing.cut, deviations), ask, noisy, facts


def _drawn(data: Confidential, ask: Ask, wanted: Wanted, weighing: _Weighing, entropy: Entropy) -> tuple[Noisy, Facts]:
    schema, column = data.schema, wanted.column
    kind, parts = number_kind(schema, column), 10 ** decimals(schema, column)
    # Bounds between two steps are rounded as records at them are.
    ladder = Ladder(*(floor(end * parts + 0.5) for end in (float(kind.lower), float(kind.upper))))
    place, rung, mass = values(data, ask.cells, column, weighing.steps, ladder.rung)
    number = ask.cells.count(schema)
    borders = np.searchsorted(place, np.arange(number + 1))
    noisy: Noisy = {}
    shifts = _shifts(ask, wanted, weighing.heaviest)
    epsilon = _each(ask, wanted)
    for at, (share, shift) in enumerate(zip(wanted.shares, shifts, strict=True)):
        rate = rate_of(share, epsilon, ask.records, weighing.heaviest)
        away = _away(shift, share, weighing, wanted.doubt, number)
        for end, sign in (("low", -1), ("high", 1)):
            label = label_of(f"{text(share)} quantile of {column}, {end} end", ask)
            scale = np.full(number, float(1 / epsilon))
            entropy.announce(Request(label, f"value at a rank, epsilon={text(epsilon)}", np.diff(borders), scale))
            spare = reserve(_WORDS + _WORDS_PER_DRAW * number, entropy)
            drawn = [
                draw_value(rung[a:b], mass[a:b], ladder, share, sign * ranks, rate, spare)
                for a, b, ranks in zip(borders[:-1].tolist(), borders[1:].tolist(), away, strict=True)
            ]
            ends = np.array(drawn, dtype=np.int64)
            noisy[f"{end}_{at}"] = ladder.first(ends) if sign < 0 else ladder.last(ends)
    ranks = [shift / weighing.heaviest for shift in shifts]
    named = [text(share) for share in wanted.shares]
    facts = {"lower": ladder.lower, "upper": ladder.upper, "parts": parts, "shares": named, "ranks": ranks}
    facts["least"] = [least_of(rate_of(share, epsilon, ask.records, 1), share) for share in wanted.shares]
    return noisy, {"quantiles": facts}


def _each(ask: Ask, wanted: Wanted) -> Fraction:
    return ask.budget.share(Fraction(1, 2 * len(wanted.shares))).pure


def _shifts(ask: Ask, wanted: Wanted, heaviest: int) -> list[int]:
    """For each share how far away its ends are drawn because draws stray."""
    rates = ((share, rate_of(share, _each(ask, wanted), ask.records, heaviest)) for share in wanted.shares)
    return [shift_of(rate, share, wanted.doubt) for share, rate in rates]


def _away(shift: int, share: Fraction, weighing: _Weighing, doubt: float, number: int) -> list[int]:
    """The same with what clamping of weights and chance of sampling may have moved, in each cell."""
    cut = ceil(float(max(share, 1 - share)) * weighing.cut)
    if not weighing.deviations:
        return [shift + cut] * number
    # The sum of weights up to the quantile, less its share of all, has this part of the variance of the sum of all.
    normal = NormalDist().inv_cdf(1 - doubt / 2) * sqrt(float(share * (1 - share)))
    return [ceil(sqrt(shift**2 + (normal * one) ** 2)) + cut for one in weighing.deviations]


def rate_of(share: Fraction, epsilon: Fraction, records: int, heaviest: int) -> Fraction:
    """The rate of a draw in `scores_of`, whose unit is 1/denominator of a record: one record moves a score by up to
    max(share, 1 − share) of its weight, up or down."""
    return epsilon / (records * 2 * max(share, 1 - share) * share.denominator * heaviest)


def least_of(rate: Fraction, share: Fraction) -> int:
    """How many records a cell needs, so that draws at its two ends differ in weight from all other rungs."""
    return ceil(ENOUGH / float(rate * share.denominator))


def shift_of(rate: Fraction, share: Fraction, doubt: float) -> int:
    """How many ranks away an end is drawn, so that it is on the wrong side with chance `doubt` / 2 at most: the chance
    to stray by r ranks falls as exp(−r·rate·denominator), from more than even chances where rungs are uneven."""
    return ceil((log(1 / doubt) + UNEVEN) / float(rate * share.denominator))
