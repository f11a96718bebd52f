"""All that is read from confidential rows: tables and clamped sums, each with exact noise. Proof: formal.md."""

from __future__ import annotations

from math import prod

import numpy as np

from tacita.data import rowwise
from tacita.noise.cube import add_cube
from tacita.noise.discrete import add_discrete_laplace
from tacita.noise.entropy import Entropy
from tacita.synthesis.panel.formal.budget import Budget, pooled_columns, statuses, weight_of
from tacita.synthesis.panel.formal.counted import first_sizes, units_there, usual_sizes
from tacita.synthesis.panel.formal.ladder import LADDER, ladder_ends, ladder_sums
from tacita.synthesis.panel.formal.lattice import (
    AGES,
    LIFE_CLASSES,
    TRENDS,
    Bins,
    Floats,
    Integers,
    Steps,
    coarse_steps,
)
from tacita.synthesis.panel.formal.ratios import DEVIATIONS, MOVES, STEPS, Range
from tacita.synthesis.panel.formal.released import (
    BROAD,
    COARSE,
    PAY,
    ROWS,
    Measurement,
    Noisy,
    Usual,
    size_cap,
    step_cap,
    step_rows,
)
from tacita.synthesis.panel.formal.sensitivities import Sensitivity, WholeHistory, each_rate, each_scale, noise_of
from tacita.synthesis.panel.formal.sums import octave_count, octaves, sum_clamp, whole, year_clamp
from tacita.synthesis.panel.formal.units import (
    condition,
    lives_of,
    most_of,
    periods,
    stock,
    transitions,
    whole_steps,
    young,
)
from tacita.synthesis.panel.panel import MISSING, Panel

POSITIONS = 10  # of a change within a life
ANY_HISTORY = WholeHistory()
ALWAYS_ON_CUBES = ("centres ", "years ")  # of numbers beside the size


class Asking:
    """One question after another; a question's noise follows from the most that a neighbouring file can `change`."""

    def __init__(
        self, budget: Budget, entropy: Entropy, group: str, change: WholeHistory, cells: int, units: int
    ) -> None:
        self.hidden = budget.hides(cells, units)  # a small panel
        self.cubes = budget.on_cubes(cells, units)
        self.budget, self.found, self.caps, self.change = budget, dict[str, Noisy](), dict[str, int](), change
        self._entropy, self._group = entropy, group

    def ask(self, name: str, table: Integers, sensitivity: Sensitivity) -> Noisy:
        cube = self.cubes or name.startswith(ALWAYS_ON_CUBES)
        scale, cube = noise_of(sensitivity, self.budget[name], table.size, cube=cube)
        add = add_cube if cube else add_discrete_laplace
        values = add(table.astype(np.int64), scale, self._entropy, f"{self._group}: {name}")
        self.found[name] = Noisy(values, scale, cube)
        return self.found[name]


def measure(
    panel: Panel, budget: Budget, entropy: Entropy, group: str, change: WholeHistory = ANY_HISTORY
) -> Measurement:
    cells = 2 * Bins.sizes(most_of(panel.layout, 0)).count
    asking = Asking(budget, entropy, group, change, cells, panel.rows)
    _lives(panel, asking)
    if asking.hidden:
        _octaves(panel, 0, asking)
    sizes = whole_steps(panel, panel.layout.yearly[0].name)
    _sizes(panel, sizes, asking)
    if len(panel.layout.years) > 1:
        _growth(panel, sizes, asking)
    for one in panel.layout.yearly[1:]:
        _ratios(panel, one.name, asking)
    for at in range(len(panel.layout.yearly)):
        if at or not asking.hidden:
            _octaves(panel, at, asking)
        _sums(panel, at, asking)
    return Measurement(asking.found, asking.caps)


def _table(shape: tuple[int, ...], *codes: Integers, weights: Integers | None = None) -> Integers:
    """A table of counts or of summed weights; codes are confidential, the shape is public."""
    flat = np.ravel_multi_index(codes, shape)
    if weights is None:
        return np.bincount(flat, minlength=prod(shape)).reshape(shape).astype(np.int64)
    return rowwise.sums(flat, weights, prod(shape)).reshape(shape)


def _whole_sums(*parts: Integers) -> Integers:
    return np.array([part.sum(dtype=np.int64) for part in parts])


# ---------------------------------------------------------------- lives: one entry per unit


def _lives(panel: Panel, asking: Asking) -> None:
    layout, known = panel.layout, np.flatnonzero(panel.known)
    first, last = panel.first[known] - layout.first.lower, panel.last[known] - layout.last.lower
    asking.ask("lives", _table((layout.first.levels, layout.last.levels), first, last), asking.change.lives())
    asking.ask("lives begun", _table((layout.first.levels,), first), asking.change.lives())
    asking.ask("lives ended", _table((layout.last.levels,), last), asking.change.lives())
    if layout.period is not None and len(layout.years) > 2:
        asking.ask("gaps", _gaps(panel), asking.change.counts(2 * asking.budget.most_weight))
    kind, life = stock(panel), lives_of(panel)
    for at, name in enumerate(layout.static):
        codes, levels = panel.static[name], len(layout.schema.levels(name))
        who = np.flatnonzero(panel.known & (codes != MISSING))
        # The first is drawn before lives are, together with the size.
        shape = (2, LIFE_CLASSES if at else 1, levels)
        table = _table(shape, kind[who], life[who] * (at > 0), codes[who])
        asking.ask(f"static {name}", table, asking.change.lives())
    for name in pooled_columns(layout):
        column, of = panel.public[name], periods(layout)
        cells = (column.levels, int(of.max()) + 1)
        asking.ask(f"public {name}", _table(cells, column.values[known], of[first]), asking.change.lives())
    for change in layout.changes:
        room, year = transitions(panel), panel.changed[change.name]
        has = panel.known & np.isin(panel.static[change.static], change.levels) & (year != MISSING)
        who = np.flatnonzero(has & (year > panel.begins) & (year <= panel.begins + room))
        position = (year[who] - panel.begins[who] - 1) * POSITIONS // room[who]
        asking.ask(f"change {change.name}", _table((POSITIONS,), position), asking.change.lives())


def _gaps(panel: Panel) -> Integers:
    """Units that are away in each year, and in all years those that were there the year before and those that were
    not; the longer the life, the less each counts."""
    weight = np.array([weight_of(count) for count in range(len(panel.gaps))])[transitions(panel)]
    away, were = panel.gaps[1:-1], panel.gaps[:-2]
    each = [weight[one].sum(dtype=np.int64) for one in away]
    pairs = [np.where(away & (were == before), weight, 0).sum(dtype=np.int64) for before in (False, True)]
    return np.array([*each, *pairs])


# ---------------------------------------------------------------- sizes: first records, then transitions


def _sizes(panel: Panel, sizes: Integers, asking: Asking) -> None:
    layout, years, change = panel.layout, len(panel.layout.years), asking.change
    bins, status = Bins.sizes(most_of(layout, 0)), statuses(layout)
    who, place = _firsts(panel, sizes)
    size, kind = sizes[place, who], stock(panel)[who]
    asking.ask("sizes", _table((2, bins.count), kind, bins.of(size)), change.counts())
    laws = first_sizes(asking.found, layout, panel.rows, asking.hidden)
    if status > 1:
        level = panel.static[layout.static[0]][who]
        told = level != MISSING
        coarse = bins.coarser(laws.sum(axis=0), COARSE)
        shape = (2, status, len(COARSE) + 1)
        table = _table(shape, kind[told], level[told], coarse.of(size[told]))
        asking.ask("sizes by status", table, change.counts())
    usual = usual_sizes(asking.found, layout, panel.rows, asking.hidden)
    rate = change.rate(asking.budget["entrants"], asking.budget["entrants"])
    asking.caps["entrants"] = size_cap(laws[0] / years, bins, 2 * rate)
    ends = ladder_ends(usual, bins, asking.budget, change, years, cubes=asking.cubes)
    asking.caps |= dict(zip(LADDER, ends, strict=True))
    held = np.minimum(size, asking.caps["entrants"])
    cohort = np.where(kind == 1, 0, place + 1)
    asking.ask("entrants", _table((years + 1,), cohort, weights=held), change.in_one_cell(asking.caps["entrants"]))
    there = np.where(sizes == MISSING, 0, sizes)
    for name, (sums, most) in zip(LADDER, ladder_sums(there, ends, asking.budget, change), strict=True):
        asking.ask(name, sums, most)


def _firsts(panel: Panel, sizes: Integers) -> tuple[Integers, Integers]:
    """Units with an observed first record, and its year's position."""
    begin = panel.begins - panel.layout.years[0]
    who = np.flatnonzero(panel.known & (begin < len(sizes)) & (panel.last >= panel.begins))
    who = who[sizes[begin[who], who] != MISSING]
    return who, begin[who]


def _growth(panel: Panel, sizes: Integers, asking: Asking) -> None:
    layout, years = panel.layout, len(panel.layout.years)
    rows, broad = (step_rows(asking.found, layout, shares) for shares in (ROWS, BROAD))
    kinds = coarse_steps()
    weight = np.array([weight_of(count) for count in range(years)])[transitions(panel)]
    steps = np.zeros((rows.count, Steps.count), dtype=np.int64)
    shape = (len(BROAD) + 1, AGES, int(kinds.max()) + 1)
    table = np.zeros(shape, dtype=np.int64)
    for place in range(1, years):
        who = _moving(sizes, place)
        before, after = sizes[place - 1, who], sizes[place, who]
        bins = Steps.of(before, after)
        steps += _table(steps.shape, rows.of(before), bins, weights=weight[who])
        table += _table(shape, broad.of(before), young(panel, place, who), kinds[bins], weights=weight[who])
    _leaving(panel, sizes, rows, asking)
    most = asking.change.counts(asking.budget.most_weight)
    noisy = asking.ask("steps", steps, most)
    asking.ask("kinds", table, most)
    units = float(units_there(asking.found, layout, panel.rows).mean())
    usual = Usual(Bins.sizes(most_of(layout, 0)), usual_sizes(asking.found, layout, panel.rows, asking.hidden))
    rate = each_scale(2 * (years - 1), asking.budget["flows"], cube=asking.cubes)
    cap = step_cap(noisy, rows, units, rate, usual)
    of_all = float(asking.budget["flows of all years"])
    far = step_cap(noisy, rows, units, lambda clamp: 2 * clamp / of_all, usual, cap)
    asking.caps["flows"], asking.caps["flows of all years"] = cap, far
    flows, beyond = np.zeros((years - 1, 2), dtype=np.int64), np.zeros(2, dtype=np.int64)
    for place in range(1, years):
        who = _moving(sizes, place)
        moved = sizes[place, who] - sizes[place - 1, who]
        flows[place - 1] = _whole_sums(np.clip(moved, 0, cap), np.clip(-moved, 0, cap))
        beyond += _whole_sums(np.clip(moved - cap, 0, far - cap), np.clip(-moved - cap, 0, far - cap))
    asking.ask("flows", flows, asking.change.flows(cap, most_of(layout, 0)))
    asking.ask("flows of all years", beyond, asking.change.all_flows(far - cap, most_of(layout, 0), years - 1))


def _leaving(panel: Panel, sizes: Integers, rows: Bins, asking: Asking) -> None:
    """Who could have left at the end of each year, and who did, by size and condition."""
    years = panel.layout.years
    shape = (rows.count, AGES * TRENDS)
    present, leaving = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for place in range(len(years) - 1):
        who = np.flatnonzero(sizes[place] != MISSING)
        codes = rows.of(sizes[place, who]), condition(panel, place, who, sizes)
        present += _table(shape, *codes)
        left = panel.last[who] == years[place]
        leaving += _table(shape, codes[0][left], codes[1][left])
    asking.ask("present", present, asking.change.counts(len(years) - 1))
    asking.ask("leaving", leaving, asking.change.counts())


def _moving(sizes: Integers, place: int) -> Integers:
    return np.flatnonzero((sizes[place] != MISSING) & (sizes[place - 1] != MISSING))


# ---------------------------------------------------------------- numbers beside the size, such as payroll


def _ratios(panel: Panel, name: str, asking: Asking) -> None:
    layout, years = panel.layout, len(panel.layout.years)
    size, value = whole_steps(panel, layout.yearly[0].name), whole_steps(panel, name)
    seen = (size != MISSING) & (value != MISSING)
    size, value = np.where(seen, size, MISSING), np.where(seen, value, MISSING)
    at = [one.name for one in layout.yearly].index(name)
    public = Range.public(most_of(layout, 0), most_of(layout, at))
    logs = np.where(seen, rowwise.log1p(np.maximum(value, 0)) - rowwise.log1p(np.maximum(size, 0)), 0.0)
    who, place = _firsts(panel, size)
    noisy = asking.ask(f"range {name}", _table((public.bins,), public.of(logs[place, who])), asking.change.counts())
    found = public.narrowed(noisy.values, noisy.spread, panel.rows)
    held = np.where(seen, found.steps(logs), 0).sum(axis=1, dtype=np.int64)
    noisy = asking.ask(f"centres {name}", held, asking.change.logs(STEPS, found.width))
    counts = np.maximum(units_there(asking.found, layout, panel.rows), 1)
    centres = found.centres(noisy.values, counts, noisy.spread)
    apart: Floats = logs - centres[:, None]
    classes = step_rows(asking.found, layout, PAY)
    codes = classes.of(size[place, who]), found.deviation(apart[place, who])
    noisy = asking.ask(f"ratios {name}", _table((len(PAY) + 1, DEVIATIONS), *codes), asking.change.counts())
    if years == 1:
        return
    apart -= found.effects(noisy.values, noisy.spread)[classes.of(np.maximum(size, 0))]
    weight = np.array([weight_of(count) for count in range(years)])[transitions(panel)]
    table = np.zeros((found.rows, MOVES), dtype=np.int64)
    for year in range(1, years):
        who = np.flatnonzero(seen[year] & seen[year - 1])
        before, after = apart[year - 1, who], apart[year, who]
        table += _table(table.shape, found.row(before), found.move(after - before), weights=weight[who])
    asking.ask(f"moves {name}", table, asking.change.counts(asking.budget.most_weight))


# ---------------------------------------------------------------- what every number adds up to


def _octaves(panel: Panel, at: int, asking: Asking) -> None:
    name, most = panel.layout.yearly[at].name, most_of(panel.layout, at)
    own = _of_all_years(panel, name)
    table = _table((octave_count(len(panel.layout.years) * most),), octaves(own[own > 0]))
    asking.ask(f"octaves {name}", table, asking.change.counts())


def _of_all_years(panel: Panel, name: str) -> Integers:
    return np.asarray(np.maximum(whole_steps(panel, name), 0).sum(axis=0, dtype=np.int64))


def _sums(panel: Panel, at: int, asking: Asking) -> None:
    """The sum of all years of every unit, with a clamp that is bought; and of the numbers beside the size, each year's
    sum with a lower one. The size has its ladder for that."""
    layout, years, change = panel.layout, len(panel.layout.years), asking.change
    name, most = layout.yearly[at].name, most_of(layout, at)
    own, counts, share = _of_all_years(panel, name), asking.found[f"octaves {name}"], asking.budget[f"sum {name}"]
    clamp = asking.caps[f"sum {name}"] = sum_clamp(counts, panel.rows, change.rate(share, share), years * most)
    asking.ask(f"sum {name}", _whole_sums(whole(own, clamp)), change.of_sum(clamp, years))
    if not at:
        return
    share = asking.budget[f"years {name}"]
    life = float(units_there(asking.found, layout, panel.rows).sum()) / max(panel.rows, 1)
    life = min(max(life, 1.0), float(years))
    rate = float(change.rate(share, share)) * each_rate(years, cube=True)
    cap = asking.caps[f"years {name}"] = year_clamp(counts, panel.rows, life, years, rate, most)
    there = np.maximum(whole_steps(panel, name), 0)
    asking.ask(f"years {name}", whole(there, cap).sum(axis=1, dtype=np.int64), change.of_each(cap))
