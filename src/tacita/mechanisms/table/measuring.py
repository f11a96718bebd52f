"""What is measured of the confidential rows for counts, sums and what follows from them.

With `quantiles` and `sampling` the only step of a table that sees rows. Each function returns whole noisy numbers by
cell, and the public facts that turn them into estimates. Proof: table.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.data.cells import Amount, Cells, Steps, counted, octaves, totals
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.data.sized import BySize, Sized, by_size, octave_scan
from tacita.mechanisms.table.clamp import clamp_from, lowered
from tacita.mechanisms.table.levels import Split
from tacita.mechanisms.table.noise import FINEST, Budget, Reach, reach_of
from tacita.noise.entropy import Entropy

Integers = NDArray[np.int64]
Noisy = dict[str, Integers]
Facts = dict[str, Any]

FEW_STEPS = 1 << 10  # declared bounds so tight are used as they are: buying tighter ones would cost more than it gains
BOUGHT = Fraction(1, 4)  # share of a sum's budget that buys its clamp
NUMERATOR = Fraction(3, 4)  # share of a weighted mean's budget for weight × value; weights alone need less
_SLIP = 1e-6  # steps by which an end on a step may miss it in binary
_SQUARES = 1 << 12  # steps of a variance, or fewer: noise is for their squares
_BEYOND = ("unseen", "squares", "open", "open_squares", "chance", "chance_squares")


@dataclass(frozen=True)
class Ask:
    """Which records, in which cells, at which price. `records` is how many of them one unit can change: one that comes
    or goes, or both where one is replaced."""

    cells: Cells
    budget: Budget
    records: int
    split: Split | None = None
    """The levels that are measured beside the finest cells, each with its share."""

    def reach(self, most: int) -> Reach:
        """Of one value per record in one cell: a replaced record changes its old cell and its new one."""
        return Reach.of_one(most, self.records)

    def priced(self, share: Fraction) -> Ask:
        return replace(self, budget=self.budget.share(share))

    def noisy(self, values: Integers, reach: Reach, entropy: Entropy, label: str) -> Integers:
        """The cells with noise; with levels, those of each table in turn, coarsest first."""
        if self.split is None:
            return self.budget.noisy(values, reach, entropy, label)
        parts = zip(self.split.levels.sums(values), self.split.shares, self.split.levels.names, strict=True)
        return np.concatenate(
            [self.budget.share(share).noisy(one, reach, entropy, f"{label}, {name}") for one, share, name in parts],
            axis=-1,
        )

    def law(self, reach: Reach) -> Facts:
        """The noise as it is published: one law, or one per level."""
        if self.split is None:
            return {"law": self.budget.law(reach).describe()}
        return {"laws": [self.budget.share(share).law(reach).describe() for share in self.split.shares]}

    def rows(self, schema: Schema) -> int:
        return self.cells.count(schema) if self.split is None else sum(self.split.levels.sizes)


@dataclass(frozen=True)
class Interval:
    """Between which amounts a record counts; outside it counts as the nearer end. `unseen` is what all records together
    are taken to have beyond, in units of the upper end, and `squares` how much more their squares are, in its square;
    `chance` and `chance_squares` are what they may have besides by chance."""

    lower: float
    upper: float
    unseen: float = 0.0
    squares: float = 0.0
    open: bool = False
    open_squares: bool = False
    """Whether nothing bounds what lies beyond, or its squares (`clamp.py`)."""
    chance: float = 0.0
    chance_squares: float = 0.0

    @property
    def furthest(self) -> float:
        return max(abs(self.lower), abs(self.upper))


# ---------------------------------------------------------------- counts


def counts(data: Confidential, ask: Ask, entropy: Entropy, there: Integers | None = None) -> tuple[Noisy, Facts]:
    """`there` are the records of each cell where they are known."""
    reach = ask.reach(1) if ask.cells.by else Reach.of_one(1, 1)  # in one cell, a record replaces itself
    there = counted(data, ask.cells) if there is None else there
    noisy = ask.noisy(there, reach, entropy, label_of("records", ask))
    return {"count": noisy}, {"count": ask.law(reach)}


# ---------------------------------------------------------------- sums


def sums(
    data: Confidential, ask: Ask, amount: Amount, clamp: tuple[float, float] | None, entropy: Entropy, name: str
) -> tuple[Noisy, Facts]:
    """The sum of clamped amounts in each cell."""
    sized = _sized(data, ask, amount, clamp)
    interval, ask = interval_of(data, ask, amount, clamp, entropy, sized=sized)
    if interval is None:
        return nothing(data.schema, ask, name)
    steps = sum_steps(interval, amount.grain(data.schema))
    size = steps.size
    alone = ask.records > 1 and ask.cells.everybody(data.schema)
    length = max(steps.most - steps.least, 1)
    reach = Reach.of_one(length, 1) if alone else reach_of(steps.least, steps.most, ask.records)
    added = None if sized is None else _added(sized, steps, interval)
    if added is None:
        added = totals(data, ask.cells, {name: (amount, steps, 1)})[name]
    noisy = ask.noisy(added, reach, entropy, label_of(f"sum of {_spoken(amount)}", ask))
    return {name: noisy}, {name: _facts(interval, size, ask.law(reach))}


def means(
    data: Confidential, ask: Ask, amount: Amount, clamp: tuple[float, float] | None, entropy: Entropy
) -> tuple[Noisy, Facts]:
    """How far the records lie above the lower end of the interval, and how far below its upper end. A record adds the
    length of the interval to both together, wherever it lies, so the number of records comes at no extra price."""
    sized = _sized(data, ask, amount, clamp)
    interval, ask = interval_of(data, ask, amount, clamp, entropy, sized=sized)
    if interval is None:
        return nothing(data.schema, ask, "above", "below")
    steps = mean_steps(interval, amount.grain(data.schema))
    size, most = steps.size, steps.most
    known = None if sized is None else _added(sized, steps, interval)
    if sized is None or known is None:
        added = totals(data, ask.cells, {"above": (amount, steps, 1)})
        above, number = added["above"], added["tacita_n"]
    else:
        above, number = known, sized.there
    both, reach = np.stack([above, most * number - above]), ask.reach(most)
    noisy = ask.noisy(both, reach, entropy, label_of(f"mean of {_spoken(amount)}", ask))
    facts = _facts(interval, size, ask.law(reach)) | {"steps": most}
    return {"above": noisy[0], "below": noisy[1]}, {"mean": facts}


def variances(
    data: Confidential, ask: Ask, amount: Amount, clamp: tuple[float, float] | None, entropy: Entropy
) -> tuple[Noisy, Facts]:
    """a², 2a(k − a) and (k − a)² for a record a steps above the lower end of k: together k², wherever it lies."""
    interval, ask = interval_of(data, ask, amount, clamp, entropy)
    if interval is None:
        return nothing(data.schema, ask, "high", "cross", "low")
    finest = ask.budget.finest(_SQUARES, lambda one: ask.reach(one * one))
    steps = mean_steps(interval, amount.grain(data.schema), finest)
    size, most = steps.size, steps.most
    added = totals(data, ask.cells, {"one": (amount, steps, 1), "two": (amount, steps, 2)})
    one, two, number = added["one"], added["two"], added["tacita_n"]
    parts = np.stack([two, 2 * most * one - 2 * two, most * most * number - 2 * most * one + two])
    reach = ask.reach(most * most)
    noisy = ask.budget.noisy(parts, reach, entropy, label_of(f"variance of {_spoken(amount)}", ask))
    interval = replace(interval, open=interval.open_squares)
    facts = _facts(interval, size, ask.law(reach)) | {"steps": most, "unseen_squares": interval.squares}
    if interval.chance_squares:
        facts["chance_squares"] = interval.chance_squares
    return {"high": noisy[0], "cross": noisy[1], "low": noisy[2]}, {"variance": facts}


def interval_of(
    data: Confidential, ask: Ask, amount: Amount, clamp: tuple[float, float] | None, entropy: Entropy,
    ranks: float | None = None, sized: Sized | None = None,
) -> tuple[Interval | None, Ask]:  # fmt: skip
    """The clamps, and what is left to pay for the sum. None where no record is visible. `ranks` is for weights of
    quantiles (`lowered`), `sized` what a scan has told already."""
    schema = data.schema
    if (public := public_interval(schema, amount, clamp)) is not None:
        return public, ask
    low, high = amount.bounds(schema)
    bought = ask.priced(BOUGHT)
    rest = ask.priced(1 - BOUGHT)
    lowest = floor(log2(amount.grain(schema)))
    highest = max(lowest + 1, ceil(log2(max(abs(low), abs(high)))))
    reach = ask.reach(1)
    if sized is None:
        there = octaves(data, replace(ask.cells, by=()), amount, lowest, highest)
    else:
        there = sized.octaves(lowest, highest)
    noisy = bought.budget.noisy(there, reach, entropy, f"octaves of {_spoken(amount)}")
    scale, sum_scale = (one.budget.scale(reach) for one in (bought, rest))
    clamped = clamp_from(noisy.astype(np.float64), lowest, scale, sum_scale)
    if clamped is None:
        return None, rest
    if ranks is not None:
        clamped = lowered(noisy.astype(np.float64), lowest, clamped, ranks)
    top = 2.0**clamped.exponent
    upper = min(top, max(abs(low), abs(high)))
    interval = _on_steps(max(low, 0.0 if low >= 0 else -upper), min(upper, high), amount.grain(schema))
    if top < max(abs(low), abs(high)):
        interval = replace(interval, **{key: getattr(clamped, key) for key in _BEYOND})
    return interval, rest


def scan_of(schema: Schema, cells: Cells, amount: Amount, clamp: tuple[float, float] | None) -> BySize | None:
    """The scan that tells octaves and sums at once, where clamps are bought and it can."""
    return octave_scan(schema, cells, amount) if buys_clamp(schema, amount, clamp) else None


def _sized(data: Confidential, ask: Ask, amount: Amount, clamp: tuple[float, float] | None) -> Sized | None:
    scan = scan_of(data.schema, ask.cells, amount, clamp)
    return None if scan is None else by_size(data, ask.cells, scan)


def _added(sized: Sized, steps: Steps, interval: Interval) -> Integers | None:
    """Steps above their start, added up in each cell, from whole numbers that were added up by octaves. Where steps are
    longer than 1 the sum is rounded, not each number: sums that differ by the limit at most still differ by no more
    steps than it has. None where the interval has two ends that such steps may miss."""
    start, limit = round(steps.start), round(interval.upper)
    whole: Integers = sized.clamped(limit) - start * sized.there
    if steps.size == 1:
        return whole
    if interval.lower:
        return None
    return np.array([(2 * one * steps.most + limit) // (2 * limit) for one in whole.tolist()], dtype=np.int64)


def public_interval(schema: Schema, amount: Amount, clamp: tuple[float, float] | None) -> Interval | None:
    """The clamps where they are given or declared; None where they are bought."""
    if buys_clamp(schema, amount, clamp):
        return None
    return _on_steps(*(clamp or amount.bounds(schema)), amount.grain(schema))


def sum_steps(interval: Interval, grain: float) -> Steps:
    size = step_of(interval.furthest, grain, FINEST)
    return Steps(0.0, size, round(interval.lower / size), round(interval.upper / size))


def mean_steps(interval: Interval, grain: float, finest: int = FINEST) -> Steps:
    """Above the lower end."""
    size = step_of(interval.upper - interval.lower, grain, finest)
    return Steps(interval.lower, size, 0, max(1, round((interval.upper - interval.lower) / size)))


def _on_steps(low: float, high: float, grain: float) -> Interval:
    """Ends between two steps are moved outwards: records have whole steps, and counted in steps from elsewhere they
    would be others than they are."""
    return Interval(floor(low / grain + _SLIP) * grain, ceil(high / grain - _SLIP) * grain)


def buys_clamp(schema: Schema, amount: Amount, clamp: tuple[float, float] | None) -> bool:
    """Whether clamps are bought: not where they are given, nor where the declared bounds are tight."""
    low, high = amount.bounds(schema)
    return clamp is None and (high - low) / amount.grain(schema) > FEW_STEPS


def step_of(length: float, grain: float, finest: int) -> float:
    """The declared step, or a longer one where there would be too many."""
    return max(grain, length / finest)


def _facts(interval: Interval, size: float, law: Facts) -> Facts:
    told = {"lower": interval.lower, "upper": interval.upper, "unseen": interval.unseen, "step": size, **law}
    told |= {"chance": interval.chance} if interval.chance else {}
    return told | ({"open": True} if interval.open else {})


def nothing(schema: Schema, ask: Ask, *names: str) -> tuple[Noisy, Facts]:
    """Where not one record is visible beside the noise, nothing is said of any cell."""
    empty = np.zeros(ask.rows(schema), dtype=np.int64)
    return dict.fromkeys(names, empty), {"visible": False}


# ---------------------------------------------------------------- words


def _spoken(amount: Amount) -> str:
    return " × ".join(amount.columns) or "records"


def label_of(what: str, ask: Ask) -> str:
    return f"{what} by {' × '.join(ask.cells.by)}" if ask.cells.by else what
