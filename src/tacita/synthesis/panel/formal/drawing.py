"""One synthetic file of a group from what was released about it. Post-processing only."""

from __future__ import annotations

import numpy as np

from tacita.synthesis.panel.formal.accounts import held_in_all_years
from tacita.synthesis.panel.formal.counted import gap_shares, units_there
from tacita.synthesis.panel.formal.former import centres_of, held_to_total, is_former, narrowed
from tacita.synthesis.panel.formal.growth import draw_sizes
from tacita.synthesis.panel.formal.lattice import Floats, Integers
from tacita.synthesis.panel.formal.lives import draw_first, draw_static, draw_status
from tacita.synthesis.panel.formal.pinned import OF_OTHERS, YearTotals, held_to
from tacita.synthesis.panel.formal.ratios import Range
from tacita.synthesis.panel.formal.released import PAY, Measurement, step_rows
from tacita.synthesis.panel.formal.smoothing import law_of, pick_from, varied
from tacita.synthesis.panel.formal.units import counted_as_large, most_of
from tacita.synthesis.panel.gaps import draw_gaps, inner
from tacita.synthesis.panel.layout import Layout, Yearly
from tacita.synthesis.panel.panel import MISSING, Panel
from tacita.synthesis.panel.predictors import Flags
from tacita.synthesis.panel.sequence import ruled


def draw_formal(
    public: Panel, found: Measurement, random: np.random.Generator, levels: Floats, *, middle: bool
) -> Panel:
    """A file; `middle` takes the middle of what the noise leaves open instead of drawing it. `levels` say for each
    yearly number where in that its total is (`YearTotals`)."""
    made = public.blank()
    counts = draw_first(made, found, random, middle)
    draw_status(made, found, random, middle)
    sizes = draw_sizes(made, counts, found, random, middle)
    _draw_gaps(made, found, random, middle)
    sizes = np.where(made.gaps, MISSING, sizes)
    summed = any(f"sum {one.name}" in found.tables for one in made.layout.yearly)  # not in those of earlier versions
    many = counted_as_large(made, sizes != MISSING, random if summed and not middle else None)
    sizes = _held_sizes(made.layout, sizes, many, float(levels[0]), found, random, middle)
    draw_static(made, found, random, middle)
    size, *others = made.layout.yearly
    made.values[size.name] = _published(sizes, sizes != MISSING, size)
    for one, level in zip(others, levels[1:].tolist(), strict=True):
        values = _beside(made, sizes, many, level, one, found, random, middle)
        made.values[one.name] = _published(values, sizes != MISSING, one)
    for place in range(len(made.layout.years)):
        who = np.flatnonzero(sizes[place] != MISSING)
        for one in others:
            # An edit may round to a zero with a sign.
            made.values[one.name][place, who] = 0.0 + ruled(made.values[one.name][place, who], one, place, who, made)
    return made


def _draw_gaps(made: Panel, found: Measurement, random: np.random.Generator, middle: bool) -> None:
    shares, staying = gap_shares(found.tables, made.layout, made.rows, None if middle else random)
    if not shares.any():
        return
    for place, wanted in enumerate((shares * inner(made).sum(axis=1)).tolist()):
        were, count = made.gaps[place - 1], int(wanted + random.random())
        # `staying` is a share of all that were away, of whom some have left for good since.
        stay = min(int(staying * min(count, int(were.sum())) + random.random()), int((were & inner(made)[place]).sum()))
        draw_gaps(made, place, np.array([count - stay, stay]), were.astype(np.int64), random)


def _held_sizes(
    layout: Layout,
    sizes: Integers,
    many: Floats,
    level: float,
    found: Measurement,
    random: np.random.Generator,
    middle: bool,
) -> Integers:
    """Sizes that add up to the released sums."""
    name, doubt = layout.yearly[0].name, None if middle else random
    totals = YearTotals.of(found, layout, name, sizes.shape[1], doubt, many, level)
    if totals is None:
        return sizes
    return held_in_all_years(sizes, totals, found, most_of(layout, 0), random, middle=middle)


def _published(values: Integers, there: Flags, one: Yearly) -> Floats:
    return np.where(there, one.scale.published(values.astype(np.float64) * one.scale.step), np.nan)


def _beside(
    made: Panel,
    sizes: Integers,
    many: Floats,
    level: float,
    one: Yearly,
    found: Measurement,
    random: np.random.Generator,
    middle: bool,
) -> Integers:
    """A number beside the size, in whole steps: a deviation from the year's centre that moves from year to year."""
    layout, doubt = made.layout, None if middle else random
    at, earlier = layout.yearly.index(one), is_former(found, one.name)
    public, noisy = Range.public(most_of(layout, 0), most_of(layout, at)), found[f"range {one.name}"]
    within = narrowed(public, noisy) if earlier else public.narrowed(noisy.values, noisy.spread, made.rows)
    noisy, counts = found[f"centres {one.name}"], np.maximum(units_there(found.tables, layout, made.rows), 1)
    centres = centres_of(within, noisy, counts) if earlier else within.centres(noisy.values, counts, noisy.spread)
    noisy = found[f"ratios {one.name}"]
    effects, classes = within.effects(noisy.values, noisy.spread), step_rows(found.tables, layout, PAY)
    starts = law_of(varied(within.starts(noisy.values, noisy.spread), noisy.spread, doubt))
    moves = np.zeros((0, 0))
    if len(layout.years) > 1:
        noisy = found[f"moves {one.name}"]
        moves = law_of(varied(within.paths(noisy.values, noisy.spread), noisy.spread, doubt))
    apart, of = np.zeros(made.rows), classes.of(np.maximum(sizes, 0))
    logs, begun = np.zeros(sizes.shape), np.zeros(made.rows, dtype=bool)
    for place in range(len(layout.years)):
        here = sizes[place] != MISSING
        new, old = np.flatnonzero(here & ~begun), np.flatnonzero(here & begun)
        begun |= here
        apart[new] = within.deviations(pick_from(starts, of[place, new], random), random) - effects[of[place, new]]
        if len(old):
            apart[old] += within.moves(pick_from(moves, within.row(apart[old]), random), random)
        who = np.flatnonzero(here)
        logs[place, who] = np.log1p(sizes[place, who]) + centres[place] + effects[of[place, who]] + apart[who]
    most, there = most_of(layout, at), sizes != MISSING
    logs = np.clip(logs, 0, np.log1p(most))
    if earlier:
        logs = np.clip(held_to_total(logs, there, of, centres, found, one.name, doubt), 0, np.log1p(most))
    values = np.where(there, np.rint(np.expm1(logs)), MISSING).astype(np.int64)
    totals = YearTotals.of(found, layout, one.name, made.rows, doubt, many, level)
    return values if totals is None else held_to(values, totals, most, OF_OTHERS, random, middle=middle)
