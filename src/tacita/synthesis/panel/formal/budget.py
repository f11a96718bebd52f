"""How ε is shared out among the questions, and how much of a long life counts: public, known before any data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from tacita.synthesis.panel.layout import Layout

WEIGHT = 60  # a transition that counts in full; weights are whole numbers, so that noise on their sums is exact
_FULL = 3  # transitions of one unit that count in full; those of longer lives count less each

_MOST_STATUSES = 8

# Parts of the whole, in percent; what a panel does not have is shared out among the others.
_LIVES, _GAPS, _STATIC, _PUBLIC, _CHANGE = 4, 4, 2, 2, 1
_SIZES, _STATUS, _ENTRANTS, _LEVELS, _TOPS, _FAR = 10, 2, 5, 15, 10, 7
_PRESENT, _LEAVING, _STEPS, _KINDS, _FLOWS, _FAR_FLOWS = 3, 4, 9, 2, 19, 4
_RANGE, _CENTRES, _RATIOS, _MOVES = 1, 4, 4, 3
_OCTAVES, _SUM, _YEARS = 1, 3, 9
# What is added where a panel is small: there the level of every number comes first, where its range lies, and who is
# there. What tells years apart is mostly noise then.
_SMALL = {"octaves": 16, "sum": 24, "years": 1, "range": 6, "lives": 4, "gaps": 2}
_SMALL |= {"levels": -7, "tops": -3, "flows": -2}
# What is added where ε is large: noise of counts is less than a unit then, that of sums is not.
_LARGE = {"levels": 20, "tops": -6, "years": 20, "flows": 6, "sizes": -7, "lives": -3, "public": -1, "leaving": -2}
_LARGE |= {"entrants": -3, "steps": -6, "centres": -2, "ratios": -3, "moves": -2}
_EPSILON = 100  # ε at which half of that is added, and from which on sums of sizes have noise on a cube
_ENDS = Fraction(1, 20)  # of ε, for those that begin in each year, and the same for those that end
_MOSTLY_SEEN = 0.1  # of units: noise of all first sizes together that leaves their law to be seen
_MANY = 50_000  # units times ε from which on sums of sizes have noise on a cube
_UNITS = 10_000  # units times ε at which half of that is added


@dataclass(frozen=True)
class Budget:
    """ε of each question."""

    parts: tuple[tuple[str, Fraction], ...]
    years: int

    @classmethod
    def of(cls, layout: Layout, epsilon: Fraction, units: int) -> Budget:
        """`units` are those of the group, a public number."""
        years, small = len(layout.years), Fraction(_UNITS) / (_UNITS + units * epsilon)
        wanted: dict[str, int] = {
            "lives": _LIVES,
            "sizes": _SIZES,
            "entrants": _ENTRANTS,
            "levels": _LEVELS,
            "tops": _TOPS,
            "tops of all years": _FAR,
        }
        if years > 1:
            wanted |= {"steps": _STEPS, "kinds": _KINDS, "flows": _FLOWS, "flows of all years": _FAR_FLOWS}
            wanted |= {"present": _PRESENT, "leaving": _LEAVING}
        if layout.period is not None and years > 2:
            wanted["gaps"] = _GAPS
        if statuses(layout) > 1:
            wanted["sizes by status"] = _STATUS
        for name in layout.static:
            wanted[f"static {name}"] = _STATIC
        for name in pooled_columns(layout):
            wanted[f"public {name}"] = _PUBLIC
        for change in layout.changes:
            wanted[f"change {change.name}"] = _CHANGE
        for one in layout.yearly[1:]:
            wanted |= {f"range {one.name}": _RANGE, f"centres {one.name}": _CENTRES, f"ratios {one.name}": _RATIOS}
            wanted[f"years {one.name}"] = _YEARS
            if years > 1:
                wanted[f"moves {one.name}"] = _MOVES
        for one in layout.yearly:
            wanted |= {f"octaves {one.name}": _OCTAVES, f"sum {one.name}": _SUM}
        large = epsilon / (epsilon + _EPSILON)
        parts = {name: _part(name, part, small, large) for name, part in wanted.items()}
        ends = _ENDS * (1 - large * Fraction(4, 5))
        total = sum(parts.values(), Fraction(0)) / (1 - 2 * ends)
        parts |= {"lives begun": ends * total, "lives ended": ends * total}
        return cls(tuple((name, epsilon * part / total) for name, part in parts.items()), years)

    def hides(self, cells: int, units: int) -> bool:
        """Whether noise hides most of the first sizes, which are counted in so many cells: a small panel."""
        return mostly_hidden(2**1.5 / float(self["sizes"]), cells, units)

    def on_cubes(self, cells: int, units: int) -> bool:
        """Whether sums of sizes and steps of each year have noise on a cube: all but where there is neither a small
        panel nor much ε or many units. There it asks for wider clamps, and steps of units come out worse."""
        epsilon = sum(part for _, part in self.parts)
        return self.hides(cells, units) or epsilon >= _EPSILON or epsilon * units >= _MANY

    def __getitem__(self, name: str) -> Fraction:
        return dict(self.parts)[name]

    @property
    def most_weight(self) -> int:
        """The largest weight that all transitions of one unit have together."""
        return max([count * weight_of(count) for count in range(1, self.years)], default=0)


def mostly_hidden(spread: float, cells: int, units: int) -> bool:
    """Whether noise of such a spread in each of so many counts of first sizes leaves little of their law to be seen."""
    return spread * sqrt(cells) >= _MOSTLY_SEEN * units


def _part(name: str, usual: int, small: Fraction, large: Fraction) -> Fraction:
    kind = name.partition(" ")[0]
    return max(usual + small * _SMALL.get(kind, 0) + large * _LARGE.get(kind, 0), Fraction(usual, 5))


def weight_of(transitions: int) -> int:
    """The weight of each transition of a unit that has so many.

    >>> weight_of(1), weight_of(6), weight_of(25)
    (60, 30, 7)
    """
    return WEIGHT * min(transitions, _FULL) // max(transitions, 1)


def statuses(layout: Layout) -> int:
    """Levels of the first static variable, by which first sizes differ; 1 where there are none or too many."""
    levels = len(layout.schema.levels(layout.static[0])) if layout.static else 1
    return levels if levels <= _MOST_STATUSES else 1


def pooled_columns(layout: Layout) -> tuple[str, ...]:
    """Public columns by which first years may differ; of a hierarchy its coarser ones, which hold enough units."""
    coarse = {of for _, of, _ in layout.coarser}
    names = [name for name in layout.keep if name not in coarse and len(layout.schema.levels(name)) > 1]
    names += [name for name, of, digits in layout.coarser]
    return tuple(name for name in names if name != layout.group)
