"""What is measured of units in two years. The only step of growth and flows that sees rows. Proof: change.md."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.confidential import Confidential
from tacita.data.pairs import Moved, Pairs, moved, octaves
from tacita.data.schema import Schema
from tacita.lazy import later
from tacita.mechanisms.table.clamp import Clamp, clamp_from
from tacita.mechanisms.table.measuring import BOUGHT, FEW_STEPS, Facts, Noisy
from tacita.mechanisms.table.noise import FINEST, Budget, Reach, reach_of
from tacita.noise.entropy import Entropy

ibis = later("ibis")

Integers = NDArray[np.int64]

CHANGE, EARLIER = "change", "earlier"
GREW, SHRANK, ENTERED, LEFT = FLOWS = ("grew", "shrank", "entered", "left")
CHANGED = Fraction(3, 5)  # share of the budget of growth for the change, the rest for what it is a percentage of


@dataclass(frozen=True)
class Limit:
    """How far one unit can move sums, in whole units of 2^halvings steps. `unseen` is what all units together are taken
    to have beyond it, in limits, and `chance` what they may have besides; where the tail is `open`, nothing bounds that
    (`table/clamp.py`)."""

    most: int
    halvings: int
    unseen: float = 0.0
    open: bool = False
    chance: float = 0.0

    @classmethod
    def above(cls, steps: int, clamp: Clamp | None = None) -> Limit:
        """The least limit of about `FINEST` units at most that is no less than so many steps."""
        halvings = max(0, (max(steps, 1) - 1).bit_length() - (FINEST.bit_length() - 1))
        limit = cls(-(-max(steps, 1) >> halvings), halvings)
        return limit if clamp is None else replace(limit, unseen=clamp.unseen, open=clamp.open, chance=clamp.chance)

    @property
    def even(self) -> Limit:
        """That a unit which moves can add half of it in each of two cells."""
        return replace(self, most=self.most + self.most % 2)

    def within(self, steps: Any, most: int) -> Any:
        """Steps that are not negative, as whole units, up to `most` of these."""
        clamped = ibis.least(ibis.greatest(steps, 0), most << self.halvings)
        return (clamped + (1 << self.halvings >> 1)) >> self.halvings if self.halvings else clamped

    def either_way(self, steps: Any, most: int) -> Any:
        return self.within(steps, most) - self.within(-steps, most)

    def facts(self, size: float, law: dict[str, str]) -> Facts:
        unit = size * (1 << self.halvings)
        told = {
            "lower": -self.most * unit, "upper": self.most * unit, "unseen": self.unseen, "step": unit, "law": law
        }  # fmt: skip
        told |= {"chance": self.chance} if self.chance else {}
        return told | ({"open": True} if self.open else {})


def growth(data: Confidential, pairs: Pairs, budget: Budget, records: int, entropy: Entropy) -> tuple[Noisy, Facts]:
    """The change of each cell's total, every unit's own change being clamped, and the total of the earlier year."""
    steps = pairs.steps(data.schema)
    changes = _limit_of_changes(data, pairs, budget.share(CHANGED), records, entropy)
    levels = _limit_of_levels(data, pairs, budget.share(1 - CHANGED), records, entropy)
    if changes is None or levels is None:
        return _nothing(data.schema, pairs, (CHANGE, EARLIER))
    (limit, rest), (level, other) = changes, levels
    sums = _sums(limit) | {EARLIER: lambda before, _: level.either_way(before, level.most)}
    added = moved(data, pairs, sums)
    flows = _flows(added, pairs.cells.count(data.schema))
    change = flows[GREW] + flows[ENTERED] - flows[SHRANK] - flows[LEFT]
    here = added.before >= 0
    earlier = rowwise.sums(added.before[here], added.sums[EARLIER][here], change.size)
    # Two units may pull one cell apart, or one unit be replaced by its mirror image.
    reach = Reach.added_up(limit.most, records)
    least = -level.most if steps.least < 0 else 0
    level_reach = reach_of(least, level.most, records)
    noisy = {
        CHANGE: rest.noisy(change, reach, entropy, "change"),
        EARLIER: other.noisy(earlier, level_reach, entropy, "total of the earlier year"),
    }
    facts = {
        CHANGE: limit.facts(steps.size, rest.law(reach).describe()),
        EARLIER: level.facts(steps.size, other.law(level_reach).describe()) | ({} if least else {"lower": 0.0}),
    }
    return noisy, facts


def flows(data: Confidential, pairs: Pairs, budget: Budget, records: int, entropy: Entropy) -> tuple[Noisy, Facts]:
    """What units gained, lost, brought and took away: a unit adds to one of these, or half as much at most to two."""
    steps = pairs.steps(data.schema)
    names = FLOWS if pairs.amounts[0].columns else (ENTERED, LEFT)
    bought = _limit_of_changes(data, pairs, budget, records, entropy)
    if bought is None:
        return _nothing(data.schema, pairs, names)
    limit, rest = bought
    exact = _flows(moved(data, pairs, _sums(limit)), pairs.cells.count(data.schema))
    reach = Reach.of_one(limit.most, records)
    noisy = rest.noisy(np.stack([exact[name] for name in names]), reach, entropy, "flows")
    facts = limit.facts(steps.size, rest.law(reach).describe()) | {"lower": 0.0}
    return dict(zip(names, noisy, strict=True)), dict.fromkeys(names, facts)


# ---------------------------------------------------------------- what a unit adds


def _sums(limit: Limit) -> dict[str, Any]:
    """Gain and loss of a unit that stays in its cell; what one that moves takes away and brings, each up to half."""
    half = limit.most // 2
    return {
        "gain": lambda before, after: limit.within(after - before, limit.most),
        "loss": lambda before, after: limit.within(before - after, limit.most),
        "took": lambda before, _: limit.either_way(before, half),
        "brought": lambda _, after: limit.either_way(after, half),
    }


def _flows(added: Moved, cells: int) -> dict[str, Integers]:
    """By cell. Who had nothing before enters, who has nothing after leaves; who moves does both."""
    had, has, stayed = added.before >= 0, added.after >= 0, added.stayed
    came, went, both = has & ~had, had & ~has, had & has & stayed

    def total(units: NDArray[np.bool_], place: Integers, name: str) -> Integers:
        return rowwise.sums(place[units], added.sums[name][units], cells)

    # Where numbers may be negative, who enters may bring a loss.
    return {
        GREW: total(both, added.after, "gain"),
        SHRANK: total(both, added.after, "loss"),
        ENTERED: total(came, added.after, "gain") - total(came, added.after, "loss")
        + total(~stayed, added.after, "brought"),
        LEFT: total(went, added.before, "loss") - total(went, added.before, "gain")
        + total(~stayed, added.before, "took"),
    }  # fmt: skip


# ---------------------------------------------------------------- limits


def _limit_of_changes(
    data: Confidential, pairs: Pairs, budget: Budget, records: int, entropy: Entropy
) -> tuple[Limit, Budget] | None:
    def size(before: Any, after: Any, elsewhere: Any) -> Any:
        largest = ibis.greatest(before.abs(), after.abs())
        return ibis.ifelse(elsewhere & (before != 0) & (after != 0), 2 * largest, (after - before).abs())

    bought = _limit(data, pairs, size, furthest_change(pairs, data.schema), budget, records, entropy, "changes")
    return (bought[0].even, bought[1]) if bought is not None and pairs.moves else bought


def _limit_of_levels(
    data: Confidential, pairs: Pairs, budget: Budget, records: int, entropy: Entropy
) -> tuple[Limit, Budget] | None:
    steps = pairs.steps(data.schema)
    furthest = max(-steps.least, steps.most)
    return _limit(data, pairs, lambda before, *_: before.abs(), furthest, budget, records, entropy, "totals")


def _limit(
    data: Confidential, pairs: Pairs, size: Any, furthest: int, budget: Budget, records: int, entropy: Entropy, of: str
) -> tuple[Limit, Budget] | None:
    """The limit and what is left to pay with; None where no unit is visible."""
    if not buys_limit(pairs, data.schema):
        return Limit.above(furthest), budget
    bought, rest, reach = budget.share(BOUGHT), budget.share(1 - BOUGHT), Reach.of_one(1, records)
    there = octaves(data, pairs, size, furthest.bit_length())
    noisy = bought.noisy(there, reach, entropy, f"octaves of {of}").astype(np.float64)
    clamp = clamp_from(noisy, 0, bought.scale(reach), rest.scale(reach))
    if clamp is None:
        return None
    if 1 << clamp.exponent >= furthest:
        return Limit.above(furthest), rest
    return Limit.above(1 << clamp.exponent, clamp), rest


def furthest_change(pairs: Pairs, schema: Schema) -> int:
    """The limit that cuts nothing off, in steps: twice the largest number where a unit can move."""
    steps = pairs.steps(schema)
    return max(steps.most - steps.least, 2 * max(-steps.least, steps.most) if pairs.moves else 0)


def buys_limit(pairs: Pairs, schema: Schema) -> bool:
    """Whether limits are bought: not where the declared bounds are tight."""
    steps = pairs.steps(schema)
    return steps.most - steps.least > FEW_STEPS


def _nothing(schema: Schema, pairs: Pairs, names: tuple[str, ...]) -> tuple[Noisy, Facts]:
    return dict.fromkeys(names, np.zeros(pairs.cells.count(schema), dtype=np.int64)), {"visible": False}
