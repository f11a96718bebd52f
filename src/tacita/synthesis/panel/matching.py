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
_LEAVING, _REST_OF_ALL = "leaving", "staying"  # parts of the units of a year
_FURTHEST = 3.0  # factor by which numbers or steps are moved
_SHORTEST = 0.1  # the same of steps that are shortened
_ROUNDS = 3
_OFF = 0.01  # of a year's total, that job flows may leave it off by


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
        for one in panel.layout.yearly:
            for place, values in enumerate(panel.values[one.name]):
                rest: list[Integers] = []
                for part, who in _parts(panel, place, np.arange(panel.rows)):
                    seen = who[~np.isnan(values[who])]
                    if part != _REST_OF_ALL and _may_be_told(values[seen]):
                        found[one.name, place, part] = float(values[seen].mean())
                    else:
                        rest.append(seen)
                # A part that must not be told is told together with those that stay.
                if _may_be_told(together := values[np.concatenate(rest)]):
                    found[one.name, place, _REST_OF_ALL] = float(together.mean())
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
        if (one.name, place, _LEAVING) in self.parts:  # what is lost with them next year is theirs
            going = going[made.last[going] > made.layout.years[place]]
        wanted = [mean * len(all_) for mean, all_ in zip(self.flows[place], _steps(made, place), strict=True)]
        total = _present(made, one, place)
        if (one.name, place, _REST_OF_ALL) in self.parts:
            # What rounding, or steps that could not be moved so far, left of the year before is made up for here.
            moved_on = total - _present(made, one, place - 1)
            wanted = [wanted[0] + (off := (moved_on - wanted[0] + wanted[1]) / 2), wanted[1] - off]
        for _ in range(_ROUNDS if len(going) else 0):
            moved = values[going] - before[going]
            own = float(np.maximum(moved, 0).sum()), float(np.maximum(-moved, 0).sum())
            # What those who enter and leave, or are away and back again, gain and lose is drawn: others make up for it.
            missing = [aim - float(all_.sum()) for aim, all_ in zip(wanted, _steps(made, place), strict=True)]
            grow, shrink = (_factor(sum_ + more, sum_, _SHORTEST) for sum_, more in zip(own, missing, strict=True))
            moved = before[going] + moved * np.where(moved > 0, grow, shrink)
            values[going] = _rounded(moved, values[going], one.scale, random)
        if (
            abs(_present(made, one, place) - total) > _OFF * total
        ):  # the others gain or lose too little to make up for it
            self._hold_parts(made, one, place, who, random)

    def _hold_parts(self, made: Panel, one: Yearly, place: int, who: Integers, random: np.random.Generator) -> None:
        values, mine = made.values[one.name][place], np.zeros(made.rows, dtype=bool)
        mine[who] = True
        rest: list[Integers] = []
        for part, all_ in _parts(made, place, np.arange(made.rows)):
            if part != _REST_OF_ALL and (mean := self.parts.get((one.name, place, part))) is not None:
                some = all_[mine[all_]]
                self._scaled(values, some, mean * len(some), one, random)
            else:
                rest.append(all_)
        both, mean = np.concatenate(rest), self.parts.get((one.name, place, _REST_OF_ALL))
        drawn = ~np.isnan(values[both])
        if mean is None or (place and not drawn.all()):  # those that come later make up for these
            return
        others = float(values[both[drawn & ~mine[both]]].sum())
        self._scaled(values, both[mine[both]], mean * int(drawn.sum()) - others, one, random)

    def _scaled(self, values: Floats, some: Integers, aim: float, one: Yearly, random: np.random.Generator) -> None:
        for _ in range(_ROUNDS if len(some) else 0):
            factor = _factor(aim, float(values[some].sum()))
            values[some] = _rounded(values[some] * factor, values[some], one.scale, random)


def _present(panel: Panel, one: Yearly, place: int) -> float:
    """What units add up to that are in the file that year."""
    return float(np.nansum(np.where(panel.gaps[place], 0.0, panel.values[one.name][place])))


def _parts(panel: Panel, place: int, who: Integers) -> Iterator[tuple[str, Integers]]:
    """Units that are there in a year: in their first, in their last, back after a gap, and all others."""
    year = panel.layout.years[place]
    there = who[(panel.known & (panel.first <= year) & (panel.last >= year) & ~panel.gaps[place])[who]]
    new = (panel.begins == year)[there] & (place > 0)
    leaving = (panel.last == year)[there] & ~new & (place < len(panel.layout.years) - 1)
    back = panel.gaps[place - 1][there] & ~leaving & (place > 0)
    yield "new", there[new]
    yield _LEAVING, there[leaving]
    yield "back", there[back]
    yield _REST_OF_ALL, there[~new & ~leaving & ~back]


def _steps(panel: Panel, place: int) -> tuple[Floats, Floats]:
    """What the size of each unit that is there in a year or was in the one before gained and lost, those that are away
    for a year or back again too; of those with a missing value within their life nothing is known."""
    year, values = panel.layout.years[place], panel.values[panel.layout.yearly[0].name]
    now = panel.known & (panel.first <= year) & (panel.last >= year) & ~panel.gaps[place]
    then = panel.known & (panel.first < year) & (panel.last >= year - 1) & ~panel.gaps[place - 1]
    seen = (now | then) & ~(now & np.isnan(values[place])) & ~(then & np.isnan(values[place - 1]))
    moved = np.where(now, values[place], 0.0)[seen] - np.where(then, values[place - 1], 0.0)[seen]
    return np.maximum(moved, 0.0), np.maximum(-moved, 0.0)


def _may_be_told(values: Floats) -> bool:
    if np.count_nonzero(values) < _LEAST:  # who adds nothing has no part in a sum
        return False
    *rest, _, largest = np.sort(values).tolist()
    return bool(largest > 0 and sum(rest) >= _REST * largest)


def _factor(wanted: float, own: float, least: float = 1 / _FURTHEST) -> float:
    return float(np.clip(wanted / own, least, _FURTHEST)) if own > 0 else 1.0


def _rounded(moved: Floats, values: Floats, scale: Scale, random: np.random.Generator) -> Floats:
    """In steps of the scale, up or down by chance, so that sums stay. What is at the bottom stays there, and nothing
    else gets there."""
    least: Floats = np.where(values > scale.lower, scale.lower + scale.step, scale.lower)
    steps = np.floor(moved / scale.step + random.random(len(moved)))
    changed: Flags = np.abs(moved - values) > 1e-9
    return np.asarray(np.where(changed, scale.published(np.maximum(steps * scale.step, least)), values))
