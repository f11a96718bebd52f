"""The units of one group as arrays: confidential ones as read, or synthetic ones as drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tacita.synthesis.panel.layout import AGE, CLOSING, LIFE, REMAINING, YEAR, Layout, before
from tacita.synthesis.panel.predictors import Column, Flags, Floats, Integers, Predictors

_DEGREES = 6  # of closing soon
MISSING = -1  # a code or year that was not observed


@dataclass(eq=False)
class Panel:
    """One position per unit in every array; values have one row per year.

    `labels` are the levels that the codes of public columns stand for, in this group.
    """

    layout: Layout
    rows: int
    public: dict[str, Column]
    labels: dict[str, tuple[str, ...]]
    first: Integers
    last: Integers
    static: dict[str, Integers] = field(default_factory=dict)
    changed: dict[str, Integers] = field(default_factory=dict)
    values: dict[str, Floats] = field(default_factory=dict)
    gaps: Flags = field(default_factory=lambda: np.zeros((1, 1), dtype=bool))  # no row within a life; years × units

    @property
    def begins(self) -> Integers:
        """The first year with values: of those there before the panel, its first."""
        return np.maximum(self.first, self.layout.years[0])

    @property
    def known(self) -> Flags:
        """Units whose life is known."""
        return np.asarray((self.first != MISSING) & (self.last != MISSING))

    def blank(self) -> Panel:
        """The same public units with nothing known about them."""
        nothing = np.full(self.rows, MISSING)
        years = len(self.layout.years)
        return Panel(
            self.layout,
            self.rows,
            self.public,
            self.labels,
            nothing,
            nothing,
            values={one.name: np.full((years, self.rows), np.nan) for one in self.layout.yearly},
            gaps=np.zeros((years, self.rows), dtype=bool),
        )

    def static_predictors(self, names: Iterable[str]) -> Predictors:
        return Predictors(self.rows, {name: self._static(name) for name in names})

    def _static(self, name: str) -> Column:
        layout = self.layout
        if name in self.public:
            return self.public[name]
        if name in self.static:
            return Column(self.static[name], len(layout.schema.levels(name)))
        for one, values in ((layout.first, self.first), (layout.last, self.last)):
            if name == one.name:
                return Column(_or_missing(values - one.lower, values != MISSING), one.levels, ordered=True)
        longest = layout.last.upper - layout.first.lower + 1
        return Column(_or_missing(self.last - self.first, self.known), longest, ordered=True)

    def yearly_predictors(self, place: int, who: Integers, names: Iterable[str]) -> Predictors:
        """What is known about some units in one year; nothing from the year before in a unit's first."""
        year = self.layout.years[place]
        found: dict[str, Column] = {}
        numbers = {one.name: one.scale.step for one in self.layout.yearly}
        earlier = {before(name): name for name in numbers}
        for name in names:
            if name == AGE:
                found[name] = Column((year - self.first[who]).astype(np.float64))
            elif name == YEAR:
                found[name] = Column(np.full(len(who), place), len(self.layout.years))
            elif name == REMAINING:
                found[name] = Column((self.last[who] - year).astype(np.float64))
            elif name == CLOSING:
                found[name] = Column(
                    _closing(self.last[who] - year, self.last[who] == self.layout.last.upper), _DEGREES
                )
            elif name in numbers:
                found[name] = Column(self.values[name][place, who], unit=numbers[name])
            elif name in earlier:
                if place and bool((self.begins[who] < year).all()):
                    values = self.values[earlier[name]][place - 1, who]
                    found[name] = Column(values, unit=numbers[earlier[name]])
            else:
                found[name] = self._static(name).at(who)
        return Predictors(len(who), found)


def _closing(left: Integers, still_there: Flags) -> Integers:
    """0 where the end is not seen; then the nearer, the higher: more than 5 years to go, 4 or 5, 2 or 3, 1, none."""
    return np.where(still_there, 0, 1 + np.searchsorted([-5, -3, -1, 0], -left, side="right"))


def _or_missing(values: Integers, known: Flags) -> Integers:
    return np.where(known, values, MISSING)


__all__ = ["LIFE", "MISSING", "Panel"]
