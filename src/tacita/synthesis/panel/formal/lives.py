"""Lives, static variables and years of change, drawn from released tables. Post-processing only."""

from __future__ import annotations

import numpy as np

from tacita.agreement.trees import shared_out
from tacita.synthesis.panel.formal.budget import pooled_columns
from tacita.synthesis.panel.formal.counted import life_counts, possible_lives
from tacita.synthesis.panel.formal.lattice import Bins, Floats, Integers
from tacita.synthesis.panel.formal.released import Measurement, Noisy
from tacita.synthesis.panel.formal.smoothing import counts_of, law_of, pick_from, towards
from tacita.synthesis.panel.formal.units import condition, lives_of, periods, stock, transitions
from tacita.synthesis.panel.panel import MISSING, Panel
from tacita.synthesis.panel.predictors import Flags

_LEAST = 1e-3  # keeps a ratio of two small shares from being noise
_BENDS = 0.1  # how far chances to leave are from a smooth curve of the size, as a logarithm
_SMALLER = 0.3  # the power of its size by which a unit usually leaves less often, where noise hides it


def draw_first(made: Panel, found: Measurement, random: np.random.Generator, middle: bool) -> Integers:
    """First years, which follow public columns; and how many units of each first year have each last year."""
    layout, doubt = made.layout, None if middle else random
    noisy, possible = found["lives"], possible_lives(layout)
    if "lives begun" in found.tables:
        flat = life_counts(found.tables, layout, made.rows, doubt)[possible]
    else:
        flat = counts_of(noisy.values[possible], noisy.spread, doubt, total=float(made.rows))
    counts = np.zeros(noisy.values.shape, dtype=np.int64)
    zeros = np.zeros(flat.size, dtype=np.int64)
    counts[possible] = shared_out(flat, zeros, np.array([made.rows]), random=random)
    of = periods(layout)
    wanted = np.bincount(of, weights=counts.sum(axis=1)).astype(np.int64)
    period = _assigned(_chances(made, found, wanted, doubt), wanted, random)
    first = np.zeros(made.rows, dtype=np.int64)
    for one in range(len(wanted)):
        who = random.permutation(np.flatnonzero(period == one))
        first[who] = np.repeat(np.arange(len(of)), np.where(of == one, counts.sum(axis=1), 0))
    made.first = layout.first.lower + first
    return counts


def _chances(made: Panel, found: Measurement, wanted: Integers, doubt: np.random.Generator | None) -> Floats:
    """The law of the period for each unit: that of all, times what each public column says about it."""
    base = law_of(wanted.astype(np.float64))
    laws = np.tile(base, (made.rows, 1))
    for name in pooled_columns(made.layout):
        noisy, column = found[f"public {name}"], made.public[name]
        sizes = np.bincount(column.values, minlength=column.levels).astype(np.float64)
        counts = np.array(
            [counts_of(row, noisy.spread, doubt, total=size) for row, size in zip(noisy.values, sizes, strict=True)]
        )
        ratio = (law_of(towards(counts, wanted.astype(np.float64), noisy.spread)) + _LEAST) / (base + _LEAST)
        laws *= ratio[column.values]
    for _ in range(20):  # so that all units together have the wanted periods
        laws /= laws.sum(axis=1, keepdims=True)
        laws *= wanted / np.maximum(laws.sum(axis=0), 1e-300)
    return np.asarray(laws)


def _assigned(laws: Floats, wanted: Integers, random: np.random.Generator) -> Integers:
    """A period for each unit, exactly as many of each as wanted: drawn, then the surplus moved at random."""
    found = pick_from(laws, np.arange(len(laws)), random)
    surplus = np.bincount(found, minlength=len(wanted)) - wanted
    movers = [random.permutation(np.flatnonzero(found == at))[: max(over, 0)] for at, over in enumerate(surplus)]
    found[random.permutation(np.concatenate(movers))] = np.repeat(np.arange(len(wanted)), np.maximum(-surplus, 0))
    return found


def draw_status(made: Panel, found: Measurement, random: np.random.Generator, middle: bool) -> None:
    """The first static variable, which goes with the size: given whether a unit's beginning is seen."""
    for name in made.layout.static[:1]:
        laws = _static_laws(found[f"static {name}"], None if middle else random)
        made.static[name] = pick_from(laws.reshape(2, -1), stock(made), random)


def draw_static(made: Panel, found: Measurement, random: np.random.Generator, middle: bool) -> None:
    """The other static variables given the life, and the years of change."""
    layout, doubt = made.layout, None if middle else random
    kind, life, room = stock(made), lives_of(made), transitions(made)
    for at, name in enumerate(layout.static):
        laws = _static_laws(found[f"static {name}"], doubt)
        row = np.ravel_multi_index((kind, life * (at > 0)), laws.shape[:2])
        laws = laws.reshape(-1, laws.shape[-1])
        if at:
            made.static[name] = pick_from(laws, row, random)
        # A unit that is seen in one year only cannot have changed.
        barred = changed_levels(made, name)
        wrong = np.flatnonzero((room <= 0) & barred[made.static[name]])
        others = law_of(np.where(barred, 0.0, laws + 1e-12))
        made.static[name][wrong] = pick_from(others, row[wrong], random)
    for change in layout.changes:
        noisy = found[f"change {change.name}"]
        law = law_of(counts_of(noisy.values, noisy.spread, doubt))
        who = np.flatnonzero(np.isin(made.static[change.static], change.levels) & (room > 0))
        place = pick_from(law[None, :], np.zeros(len(who), dtype=np.int64), random) + random.random(len(who))
        offset = np.minimum(np.floor(place / len(law) * room[who]), room[who] - 1).astype(np.int64)
        years = np.full(made.rows, MISSING)
        years[who] = made.begins[who] + 1 + offset
        made.changed[change.name] = years


def changed_levels(made: Panel, name: str) -> Flags:
    """The levels of a static variable whose units have changed."""
    barred = np.zeros(len(made.layout.schema.levels(name)), dtype=bool)
    for change in made.layout.changes:
        barred[list(change.levels)] |= change.static == name
    return barred


def _static_laws(noisy: Noisy, doubt: np.random.Generator | None) -> Floats:
    counts = counts_of(noisy.values, noisy.spread, doubt)
    return law_of(towards(counts, counts.sum(axis=(0, 1)), noisy.spread))


def _chances_to_leave(left: Noisy, there: Noisy, rows: Bins, hidden: bool) -> Floats:
    """By size and condition. Few units are large, but with them many jobs leave: where noise is large beside a count,
    chances are those that a curve through the sizes and the conditions of all sizes tell."""
    leavers, units = np.maximum(left.values, 0.0), np.maximum(there.values, 1.0)
    usual = max(float(leavers.sum()), 1.0) / float(units.sum())
    sums = np.maximum(left.values.sum(axis=1), 1.0), np.maximum(there.values.sum(axis=1), 1.0)
    own = np.log(sums[0] / sums[1])
    doubt = np.hypot(*(noisy.spread * 2 / one for noisy, one in zip((left, there), sums, strict=True)))
    sizes = np.log1p(np.append(np.sqrt(rows.lower[:-1] * rows.upper[:-1]), 1.5 * rows.lower[-1]))
    clear = doubt < 0.5
    if clear.sum() > 3:
        curve = np.polyval(np.polyfit(sizes[clear], own[clear], 2, w=1 / (doubt[clear] + _BENDS)), sizes)
        by_size = np.exp(curve + _BENDS**2 / (_BENDS**2 + doubt**2) * (own - curve))
    else:
        by_size = usual * np.exp((_SMALLER if hidden else 0.0) * (sizes.mean() - sizes))
    ratio = leavers.sum(axis=0) / np.maximum(by_size @ units, 1e-300)
    parent = np.clip(by_size[:, None] * ratio, usual / 20, 1.0)
    weight = np.maximum(2 * left.spread / parent, 4 * there.spread)  # a cell is believed where it stands out
    return np.asarray(np.maximum((leavers + weight * parent) / (units + weight), usual / 20))


class Leaving:
    """Who leaves after each year: as many of each first year as released, more often those of a size and condition
    that leave more often."""

    def __init__(self, made: Panel, counts: Integers, rows: Bins, found: Measurement, random: np.random.Generator):
        self._made, self._left, self._rows, self._random = made, counts.copy(), rows, random
        self._chance = np.ones((1, 1))
        if "leaving" in found.tables:
            self._chance = _chances_to_leave(found["leaving"], found["present"], rows, found.hides(made.rows))
        barred = changed_levels(made, made.layout.static[0]) if made.layout.static else None
        self._settled = np.zeros(made.rows, bool) if barred is None else barred[made.static[made.layout.static[0]]]
        self._unseen()

    def _unseen(self) -> None:
        """Units that are never there in the years of the panel: any of their first year."""
        layout = self._made.layout
        self._made.last = np.full(self._made.rows, MISSING)
        for place, year in enumerate(range(layout.last.lower, layout.years[0])):
            who = np.flatnonzero(self._made.last == MISSING)
            self._take(who, place, np.ones(len(who)), year)

    def after(self, place: int, sizes: Integers) -> None:
        """Marks those who are there in a year for the last time."""
        made, layout = self._made, self._made.layout
        who = np.flatnonzero((sizes[place] != MISSING) & (made.last == MISSING))
        chance = self._chance[self._rows.of(sizes[place, who]), condition(made, place, who, sizes)]
        # Who has changed was there for two years at least; taken only where nobody else is left.
        changed = self._settled[who] & (made.begins[who] == layout.years[place])
        year = layout.years[place]
        self._take(who, year - layout.last.lower, np.where(changed, 1e-9 * chance, chance), year)

    def rest(self) -> None:
        """All others: by the released counts of last years at and after the end, which nobody can tell apart."""
        layout = self._made.layout
        for year in range(max(layout.years[-1], layout.last.lower), layout.last.upper + 1):
            who = np.flatnonzero(self._made.last == MISSING)
            self._take(who, year - layout.last.lower, np.ones(len(who)), year)

    def _take(self, who: Integers, column: int, chance: Floats, year: int) -> None:
        made = self._made
        if not 0 <= column < self._left.shape[1]:
            return  # no last year that the schema allows
        who_first = made.first[who] - made.layout.first.lower
        # The smallest of exponential times with these rates: a draw without replacement.
        key = self._random.exponential(size=len(who)) / chance
        order = np.lexsort((key, who_first))
        cohort = who_first[order]
        rank = np.arange(len(order)) - np.searchsorted(cohort, cohort)
        made.last[who[order[rank < self._left[cohort, column]]]] = year
