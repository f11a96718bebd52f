"""How wide the margins of a table will be, said before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, hypot, log, log2, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from tacita.data.cells import Amount
from tacita.data.schema import Schema
from tacita.mechanisms.table.clamp import unseen_below
from tacita.mechanisms.table.levels import error_parts
from tacita.mechanisms.table.measuring import BOUGHT, NUMERATOR, buys_clamp
from tacita.mechanisms.table.noise import FINEST, Budget, Reach, half_step, prudent, reach_of, spread_of
from tacita.mechanisms.table.quantiles import DRAWN, each, least_of, shift_of, stray_of
from tacita.noise.combination import margin as combined
from tacita.privacy import text

if TYPE_CHECKING:
    from tacita.mechanisms.table.plan import Table

SIZES = (100, 1_000, 10_000)  # records of the cells that a forecast speaks of
_TYPICAL = 0.25  # where in its interval a mean is taken to lie: nearer to the lower end, as most numbers are
_LIMITS = (20, 100)  # limits over means of the same column: of pay, and of wealth and turnover
_SHOWN = 1.5  # margins that a denominator must be above, or the cell stays empty (`tables.estimates`)
FEWEST = "fewest_records"  # of a cell that does not stay empty
_LARGER = (1_000, 10_000, 100_000)  # records whose total has a margin worth to be said in percent
UNSIGNED = (0.0, 1.0)  # the ends between which a record counts, in units of the further one
MIDDLE_OF_TWO = log(2)  # median error of the middle of two ends, in strays of a draw, where values are even
BETWEEN_TWO = 0.6745 / sqrt(2)  # the same in roots of the ranks to either end, where no value occurs twice
_MIDDLE = 0.5  # half of all errors are smaller than the median error

Foreseen = tuple[tuple[str, ...], dict[str, float]]


def foreseen(table: Table, schema: Schema) -> Foreseen:
    """Plain sentences and figures about the expected error, in the units of the statistic."""
    sentences, figures = _of_noise(table, schema)
    if table.sampling:
        sentences += (
            "that is noise; what sampling adds is measured, at a fifth of the budget, and margins cover both",
        )
    elif schema.design is not None and schema.design.weight == table.weights:
        sentences += ("margins speak of the file; with sampling = true they hold the value of the population",)
    return sentences, figures


def _of_noise(table: Table, schema: Schema) -> Foreseen:
    if table.levels:
        return _of_levels(table, schema) if table.statistic in ("count", "sum") else _of_each_level(table, schema)
    if table.statistic in ("median", "quantiles"):
        return _of_quantiles(table)
    if table.statistic == "ratio" or (table.statistic == "mean" and table.weights):
        return _of_ratios(table, schema)
    if table.statistic in ("count", "share") and table.weights is None:
        return _of_counts(table, schema)
    amount = table.amount(table.of[0] if table.of and table.statistic != "share" else None)
    bought = buys_clamp(schema, amount, None if table.clamp is None else (0.0, 0.0))
    return _of_sums(table, schema, amount, bought)


def _of_counts(table: Table, schema: Schema) -> Foreseen:
    level = f"{float(table.confidence):.0%}"
    if table.statistic == "share":
        levels = len(schema.levels(table.of[0]))
        wide, half = (
            {n: 100 * one / n for n in SIZES}
            for one in (_share_margin(table, levels, float(prudent(table.confidence))), _share_error(table, levels))
        )
        said = "; ".join(f"± {one:.2g} points where {n:,} records count" for n, one in wide.items())
        return (
            f"a share of one in four, with {level} confidence: {said}; half of the errors are below "
            f"{half[SIZES[1]] / wide[SIZES[1]]:.2g} of that",
        ), _by_size("margin_points", wide) | _by_size("median_error_points", half)
    law = table.budget.law(counted_reach(table))
    margin, typical = law.margin(table.confidence), float(law.margin(_MIDDLE))
    of_size = "; ".join(f"{_percent(margin / n)} of a cell of {n:,}" for n in SIZES)
    return (
        f"± {margin:,} records with {level} confidence in every cell, large or small; half of the errors are at "
        f"most {typical:.3g}",
        f"that is {of_size}",
    ), {"margin": float(margin), "median_error": typical}


def _of_sums(table: Table, schema: Schema, amount: Amount, bought: bool) -> Foreseen:
    level = f"{float(table.confidence):.0%}"
    budget = table.budget.share(1 - BOUGHT) if bought else table.budget
    low, high = table.clamp if isinstance(table.clamp, tuple) else amount.bounds(schema)
    is_sum = table.statistic in ("sum", "count", "share")
    ends = clamped_ends(low, high, bought) if is_sum else UNSIGNED
    noise = in_clamps(table, budget, ends, alone=is_sum and alone(table, schema))
    noises = [noise] * noises_of(is_sum, low, bought)
    half, wide = (float(combined(one, noises)[0]) for one in (_MIDDLE, float(prudent(table.confidence))))
    if bought:
        divided = f"for a {table.statistic} that is divided by the records of the cell; "
        return (
            f"the limit at which {_named(amount)} is clamped is bought with a quarter of the budget; a sum of it is "
            f"within ± {wide:.3g} times that limit with {level} confidence, half of the errors are below {half:.3g}",
            *([_in_means(wide)] if table.of and table.statistic in ("sum", "mean") else []),
            *([_in_points(table, schema, wide, "that limit")] if table.statistic == "share" else []),
            f"{'' if is_sum else divided}what may lie above the limit widens the margin, and where large numbers "
            "hardly become fewer towards it there is none, and errors are larger than that",
            _unseen(table, schema, amount, BOUGHT),
        ), {"margin_in_clamps": wide, "median_error_in_clamps": half}
    length = high - low
    if is_sum:
        unit = max(abs(low), abs(high))
        figures = {"margin": wide * unit, "median_error": half * unit}
        if table.statistic == "share":
            said = f"± {wide * unit:,.4g} of weight with {level} confidence in every cell"
            return (said, _in_points(table, schema, wide, f"{unit:,.4g}")), figures
        return (
            f"± {wide * unit:,.4g} with {level} confidence in every cell; half of the errors are below "
            f"{half * unit:,.4g}",
        ), figures
    unit = gradient(table.statistic, length)
    at = {n: wide * unit / n for n in SIZES}
    said = "; ".join(f"± {one:,.3g} in a cell of {n:,}" for n, one in at.items())
    middle = {n: half * unit / n for n in SIZES}
    return (f"with {level} confidence {said}",), _by_size("margin", at) | _by_size("median_error", middle)


def _unseen(table: Table, schema: Schema, amount: Amount, share: Fraction) -> str:
    octaves = max(ceil(log2(max(map(abs, amount.bounds(schema))) / amount.grain(schema))), 1)
    few = unseen_below(octaves, table.budget.share(share).scale(reach_of(0, 1, table.records)))
    return (
        f"what fewer than about {few:,} records far above all others have beyond the limit is missing, in margins too"
    )


def noises_of(is_sum: bool, low: float, bought: bool) -> int:
    """How many noises of a clamp make the error of a sum, or of a mean times its records. A mean between clamps on
    either side of 0 lies about in their middle: half of the noise of each of its two sums, which is of two clamps."""
    return 2 if bought and low < 0 and not is_sum else 1


def _of_levels(table: Table, schema: Schema) -> Foreseen:
    """Margins at every level, after all of them agree."""
    split = table.split(schema)
    assert split is not None
    budget, unit, spoken, ends = table.budget, 1.0, "records", UNSIGNED
    if table.statistic == "sum" or table.weights:
        amount = table.amount(table.of[0] if table.of else None)
        given = table.clamp if isinstance(table.clamp, tuple) else amount.bounds(schema)
        unit, spoken = max(map(abs, given)), ""
        bought = buys_clamp(schema, amount, None if table.clamp is None else (0.0, 0.0))
        ends = clamped_ends(*given, bought)
        if bought:
            budget, unit = budget.share(1 - BOUGHT), 1.0
            spoken = (
                f"times the limit at which {_named(amount)} is clamped, which is bought with a quarter of the budget"
            )
    reach = reach_in_clamps(table, ends)
    noises = [spread_of(budget.share(share).law(reach).describe()) for share in split.shares]
    after = split.levels.variances([variance / FINEST**2 for variance, _ in noises])
    level, said = f"{float(table.confidence):.0%}", []
    figures: dict[str, float] = {}
    for name, share, variances, (noise, kurtosis) in zip(split.levels.names, split.shares, after, noises, strict=True):
        parts = error_parts(np.array([float(np.mean(variances))]), np.array([noise / FINEST**2]), kurtosis)
        half, wide = (float(combined(one, parts)[0]) * unit for one in (_MIDDLE, float(table.confidence)))
        figures |= {f"margin, {name}": wide, f"median_error, {name}": half}
        said.append(
            f"{name} (share {float(share):.0%}): ± {wide:,.4g} {spoken} with {level} confidence, half of the errors "
            f"below {half:,.3g}".replace("  ", " ")
        )
    return tuple(said), figures


def _of_each_level(table: Table, schema: Schema) -> Foreseen:
    """Of means, shares and ratios: each level by itself with its share. That levels agree makes no margin wider."""
    split = table.split(schema)
    assert split is not None
    said: list[str] = []
    figures: dict[str, float] = {}
    for name, share in zip(split.levels.names, split.shares, strict=True):
        budget = table.budget.share(share)
        price = {"rho": budget.rho, "epsilon": None} if budget.gaussian else {"epsilon": budget.pure}
        sentences, own = _of_noise(evolve(table, levels=(), delta="0", **price), schema)
        said.append(f"{name} (share {float(share):.0%}): {'; '.join(sentences)}")
        figures |= {f"{key}, {name}": value for key, value in own.items()}
    return tuple(said), figures


def gradient(statistic: str, length: float, first: float = _TYPICAL, square: float = 4 * _TYPICAL**2 / 3) -> float:
    """How far the noise of its sums moves a mean or a variance of one record, for numbers in an interval of a length
    that lie where numbers usually do, evenly over its lower half; or that have this mean and mean of squares there."""
    if statistic == "mean":
        return sqrt(first**2 + (1 - first) ** 2) * length
    high, cross = 1 - square - 2 * first * (1 - first), square + first - 2 * first**2
    return sqrt(high**2 + cross**2 + (2 * first**2 - square) ** 2) * length**2


def _of_ratios(table: Table, schema: Schema) -> Foreseen:
    single, parts = alone(table, schema), parts_of_ratio(table, schema)
    upper, lower = parts
    noises = [in_clamps(table, table.budget.share(one.left), one.ends, alone=single) for one in parts]
    (above, below), (half, half_below) = (
        [float(combined(one, [noise])[0]) for noise in noises] for one in (float(prudent(table.confidence)), _MIDDLE)
    )
    if lower.bought:
        least, many = (_round_up(_SHOWN * below * times) for times in _LIMITS)
        empty = (
            f"{least:,} records stay empty where the limit of {_named(lower.amount)} is {_LIMITS[0]} times its mean, "
            f"as for pay, and of fewer than {many:,} where it is {_LIMITS[1]} times"
        )
    else:
        least = _round_up(_SHOWN * below / _TYPICAL)
        empty = f"{least:,} records stay empty where {_named(lower.amount)} lies in its bounds as numbers usually do"
    return (
        f"a record counts up to a limit, which is bought where bounds are wide; noise as of {above:.3g} such records "
        f"above and {below:.3g} below the line, half of the errors are below {half:.3g} and {half_below:.3g}",
        f"cells of fewer than about {empty}",
        _in_means(hypot(above, below), "weighted mean" if table.weights and table.statistic == "mean" else "ratio"),
        *([_unseen(table, schema, upper.amount, upper.share * BOUGHT)] if upper.bought else []),
    ), {
        "margin_in_clamps": above,
        "margin_in_clamps_below": below,
        "median_error_in_clamps": half,
        "median_error_in_clamps_below": half_below,
        FEWEST: float(least),
    }


@dataclass(frozen=True)
class PartOfRatio:
    """Numerator or denominator: its share of the budget, whether a limit is bought with a part of that, and between
    which amounts a record counts, in units of the limit."""

    amount: Amount
    share: Fraction
    bought: bool
    ends: tuple[float, float]

    @property
    def left(self) -> Fraction:
        """The share of the budget that its sum gets."""
        return self.share * (1 - BOUGHT) if self.bought else self.share


def parts_of_ratio(table: Table, schema: Schema) -> tuple[PartOfRatio, PartOfRatio]:
    """Numerator and denominator; of a weighted mean the weights alone stand below."""
    first = Fraction(1, 2) if table.statistic == "ratio" else NUMERATOR
    return (
        _part(table, schema, table.of[0], first, table.clamp if table.statistic == "mean" else None),
        _part(table, schema, (*table.of, None)[1], 1 - first, None),
    )


def _part(table: Table, schema: Schema, column: str | None, share: Fraction, clamp: Any) -> PartOfRatio:
    amount = table.amount(column)
    bought = buys_clamp(schema, amount, None if clamp is None else (0.0, 0.0))
    low, high = clamp if isinstance(clamp, tuple) else amount.bounds(schema)
    return PartOfRatio(amount, share, bought, clamped_ends(low, high, bought))


def _of_quantiles(table: Table) -> Foreseen:
    level, sentences, figures = f"{float(table.confidence):.0%}", [], {}
    for share in table.shares:
        stray = stray_of(share, each(table.budget.share(DRAWN), table.shares), table.records)
        ranks = shift_of(stray, float(1 - table.confidence), SIZES[1] / float(stray))
        half = middle_of(float(stray), ranks)
        sentences.append(
            f"the {text(share)} quantile lies between two published values of about {ranks:,} records' ranks below "
            f"and above it, with {level} confidence, in a cell of 1,000 ({_percent(ranks / SIZES[1])}); half of "
            f"the errors are below {half:.2g} ranks; cells of fewer than about {least_of(stray, share):,} records stay "
            "empty"
        )
        figures[f"ranks_{text(share)}"] = float(ranks)
        figures[f"median_error_ranks_{text(share)}"] = half
        figures[FEWEST] = max(figures.get(FEWEST, 0.0), float(least_of(stray, share)))
    sentences.append(
        "errors are smaller where many records share a value; values are told to a step, or to one part in a thousand"
    )
    if table.weights:
        sentences.append("with weights, a record counts by its weight up to a limit, and ranks are of that weight")
    return tuple(sentences), figures


def middle_of(stray: float, ranks: int) -> float:
    """The median error of the middle of two ends, in ranks. The ends stray; and records lie unevenly between them, so
    that sums of as many gaps between values to the one side and to the other differ."""
    return hypot(MIDDLE_OF_TWO * stray, BETWEEN_TWO * sqrt(ranks))


def _by_size(stem: str, found: dict[int, float]) -> dict[str, float]:
    return {f"{stem}_at_{n}": value for n, value in found.items()}


def counted_reach(table: Table) -> Reach:
    return Reach.of_one(1, table.records if table.attributes else 1)


def clamped_ends(low: float, high: float, bought: bool) -> tuple[float, float]:
    """Between which amounts a record counts, in units of the further one; a bought clamp is the same on both sides."""
    furthest = max(abs(low), abs(high))
    return (-1.0 if low < 0 else 0.0, 1.0) if bought or not furthest else (low / furthest, high / furthest)


def alone(table: Table, schema: Schema) -> bool:
    """Whether a sum has one cell that nobody can leave: a replaced record then moves it by one length at most."""
    return table.records > 1 and table.cells.everybody(schema)


def reach_in_clamps(table: Table, ends: tuple[float, float], *, alone: bool = False) -> Reach:
    low, high = (round(one * FINEST) for one in ends)
    return Reach.of_one(high - low, 1) if alone else reach_of(low, high, table.records)


def in_clamps(table: Table, budget: Budget, ends: tuple[float, float], *, alone: bool = False) -> tuple[Any, float]:
    """Variance and kurtosis of a sum's noise in units of its clamp."""
    variance, kurtosis = spread_of(budget.law(reach_in_clamps(table, ends, alone=alone)).describe())
    return np.array([variance / FINEST**2]), kurtosis


def _share_margin(table: Table, levels: int, confidence: float) -> float:
    """Of a share of one in four, for one record."""
    law = table.budget.law(counted_reach(table))
    variance, kurtosis = spread_of(law.describe())
    parts = [(np.array([variance * 0.75**2]), kurtosis)] + [(np.array([variance * 0.25**2]), kurtosis)] * (levels - 1)
    return float(combined(confidence, parts)[0]) + 0.75 * half_step(law)


def _share_error(table: Table, levels: int) -> float:
    """The median error of a share, for one record. Where most noises are 0, an error comes from the other levels alone,
    whose noise counts by the share itself, taken to be one of equals; or there is none."""
    law = table.budget.law(counted_reach(table))
    if law.margin(_MIDDLE):
        return _share_margin(table, levels, _MIDDLE)
    if not law.margin(_MIDDLE ** (1 / levels)):
        return 0.0
    variance, kurtosis = spread_of(law.describe())
    return float(combined(_MIDDLE, [(np.array([variance / levels**2]), kurtosis)] * (levels - 1))[0])


def _in_points(table: Table, schema: Schema, clamps: float, limit: str) -> str:
    """A margin of weights in points of a share of one in four."""
    levels = len(schema.levels(table.of[0]))
    moved = clamps * sqrt(0.75**2 + (levels - 1) * 0.25**2)
    said = "; ".join(f"± {100 * moved / n:.2g} points where {n:,} records count" for n in SIZES)
    return f"a share of one in four has {said}, if all weights are {limit}; as many times more as it is their mean"


def _in_means(clamps: float, of: str = "total") -> str:
    """What a margin in limits comes to, for limits as real files have them: no public fact says where one will lie."""
    few, many = _LIMITS
    said = ", ".join(f"± {_percent(clamps * few / n)} of {n:,}" for n in _LARGER)
    return (
        f"where that limit is {few} times the mean, as for pay, the {of} of so many records has {said}; where it is "
        f"{many} times, as for wealth and turnover, {many // few} times as much; only the run tells"
    )


def _percent(share: float) -> str:
    """Two digits, however small the share.

    >>> _percent(2.5), _percent(0.0367), _percent(0.0003)
    ('250%', '3.7%', '0.03%')
    """
    return f"{share:.0%}" if share >= 0.1 else f"{100 * share:.2g}%"


def _round_up(records: float) -> int:
    """To two digits."""
    unit: int = 10 ** max(len(str(ceil(records))) - 2, 0)
    return ceil(records / unit) * unit


def _named(amount: Amount) -> str:
    return " × ".join(amount.columns) or "a record"
