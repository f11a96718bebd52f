"""Plain files with the sums of the file they stand for: who begins and ends in each year, what numbers add up to.

`YearSums` are confidential. They are kept for parts of a group with enough units none of which outweighs the others:
elsewhere a sum would be a unit's own value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tacita.synthesis.panel.layout import Yearly
from tacita.synthesis.panel.numbers import Scale
from tacita.synthesis.panel.panel import Panel
from tacita.synthesis.panel.predictors import Flags, Floats, Integers

_LEAST = 20  # units of a part
_REST = 0.15  # of the largest unit, that all but the two largest have: else the second knows the first (p% rule)
_FURTHEST = 3.0  # factor by which numbers or steps are moved
_ROUNDS = 3


def years_matched(codes: Integers, truth: Integers, low: Integers, random: np.random.Generator) -> Integers:
    """Codes of years of which there are as many as in `truth` (unknown ones, below 0, shared out alike). Few are moved,
    each to the nearest year that lacks units and is not below the unit's `low`."""
    seen = truth[truth >= 0]
    if len(seen) < _LEAST:
        return codes
    counts = np.bincount(seen, minlength=int(max(codes.max(), seen.max())) + 1)
    wanted = np.floor(counts * len(codes) / len(seen) + random.random()).astype(np.int64)
    surplus = np.bincount(codes, minlength=len(wanted)) - wanted
    matched = codes.copy()
    # The earliest years first, which the fewest units may have. They also take from later ones, which are filled then.
    for year in range(len(wanted)):
        if surplus[year] >= 0:
            continue
        spare = surplus[matched] > 0
        free = np.flatnonzero((low <= year) & (spare | (matched > year)))
        free = free[np.lexsort((random.random(len(free)), np.abs(matched[free] - year), ~spare[free]))]
        for unit in free.tolist():
            if surplus[year] == 0:
                break
            if surplus[matched[unit]] > 0 or matched[unit] > year:
                surplus[matched[unit]] -= 1
                surplus[year] += 1
                matched[unit] = year
    return matched


@dataclass(frozen=True, eq=False)
class YearSums:
    """What is held to: of every number the sums of parts of a year, and of the size what all units gain and lose."""

    parts: Mapping[tuple[str, int, str], float]  # means
    flows: Mapping[int, tuple[float, float]]

    @classmethod
    def of(cls, panel: Panel) -> YearSums:
        found: dict[tuple[str, int, str], float] = {}
        for place in range(len(panel.layout.years)):
            for part, who in _parts(panel, place, np.arange(panel.rows)):
                for one in panel.layout.yearly:
                    values = panel.values[one.name][place, who]
                    values = values[~np.isnan(values)]
                    if _may_be_told(values):
                        found[one.name, place, part] = float(values.mean())
        flows = {}
        for place in range(1, len(panel.layout.years)):
            up, down = _steps(panel, place)
            if _may_be_told(up) and _may_be_told(down):
                flows[place] = float(up.mean()), float(down.mean())
        return cls(found, flows)

    def hold(self, made: Panel, one: Yearly, place: int, who: Integers, random: np.random.Generator) -> None:
        """The values of some units in one year, as drawn, add up to as much as in the file; of the size, units that
        enter are given before those that go on."""
        values = made.values[one.name][place]
        self._hold_parts(made, one, place, who, random)
        if one.name != made.layout.yearly[0].name or place not in self.flows:
            return
        before = made.values[one.name][place - 1]
        going = who[~(np.isnan(before) | made.gaps[place] | made.gaps[place - 1])[who]]
        for _ in range(_ROUNDS if len(going) else 0):
            up, down = _steps(made, place)
            moved = values[going] - before[going]
            own = float(np.maximum(moved, 0).sum()), float(np.maximum(-moved, 0).sum())
            # What those who enter and leave gain and lose is drawn: the others make up for it.
            missing = [
                mean * len(all_) - float(all_.sum()) for mean, all_ in zip(self.flows[place], (up, down), strict=True)
            ]
            grow, shrink = (_factor(sum_ + more, sum_) for sum_, more in zip(own, missing, strict=True))
            moved = before[going] + moved * np.where(moved > 0, grow, shrink)
            values[going] = _rounded(moved, values[going], one.scale, random)
        if made.gaps[place - 1 : place + 1].any():  # who is away differs, so that both cannot be met: totals come first
            self._hold_parts(made, one, place, who, random)

    def _hold_parts(self, made: Panel, one: Yearly, place: int, who: Integers, random: np.random.Generator) -> None:
        values = made.values[one.name][place]
        for part, some in _parts(made, place, who):
            if (mean := self.parts.get((one.name, place, part))) is not None and len(some):
                for _ in range(_ROUNDS):
                    factor = _factor(mean * len(some), float(values[some].sum()))
                    values[some] = _rounded(values[some] * factor, values[some], one.scale, random)


def _parts(panel: Panel, place: int, who: Integers) -> Iterator[tuple[str, Integers]]:
    """Units that are there in a year: in their first, in their last, back after a gap, and all others."""
    year = panel.layout.years[place]
    there = who[(panel.known & (panel.first <= year) & (panel.last >= year) & ~panel.gaps[place])[who]]
    new = (panel.begins == year)[there] & (place > 0)
    leaving = (panel.last == year)[there] & ~new & (place < len(panel.layout.years) - 1)
    back = panel.gaps[place - 1][there] & ~leaving & (place > 0)
    yield "new", there[new]
    yield "leaving", there[leaving]
    yield "back", there[back]
    yield "staying", there[~new & ~leaving & ~back]


def _steps(panel: Panel, place: int) -> tuple[Floats, Floats]:
    """What the size of each unit that is there in a year or was in the one before gained and lost; of those with a
    missing value within their life nothing is known."""
    year, values = panel.layout.years[place], panel.values[panel.layout.yearly[0].name]
    now = panel.known & (panel.first <= year) & (panel.last >= year)
    then = panel.known & (panel.first < year) & (panel.last >= year - 1)
    seen = (now | then) & ~(now & np.isnan(values[place])) & ~(then & np.isnan(values[place - 1]))
    seen &= ~(panel.gaps[place] | panel.gaps[place - 1])
    moved = np.where(now, values[place], 0.0)[seen] - np.where(then, values[place - 1], 0.0)[seen]
    return np.maximum(moved, 0.0), np.maximum(-moved, 0.0)


def _may_be_told(values: Floats) -> bool:
    if np.count_nonzero(values) < _LEAST:  # who adds nothing has no part in a sum
        return False
    *rest, _, largest = np.sort(values).tolist()
    return bool(largest > 0 and sum(rest) >= _REST * largest)


def _factor(wanted: float, own: float) -> float:
    return float(np.clip(wanted / own, 1 / _FURTHEST, _FURTHEST)) if own > 0 and wanted > 0 else 1.0


def _rounded(moved: Floats, values: Floats, scale: Scale, random: np.random.Generator) -> Floats:
    """In steps of the scale, up or down by chance, so that sums stay. What is at the bottom stays there, and nothing
    else gets there."""
    least: Floats = np.where(values > scale.lower, scale.lower + scale.step, scale.lower)
    steps = np.floor(moved / scale.step + random.random(len(moved)))
    changed: Flags = np.abs(moved - values) > 1e-9
    return np.asarray(np.where(changed, scale.published(np.maximum(steps * scale.step, least)), values))
