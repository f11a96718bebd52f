"""Levels of a table that was measured in its finest cells alone: coarser ones are sums, and agree by being that.

For establishments this is the best there is: the noise of a cell follows its largest establishment, which is in a cell
of every level, so that a level with a share of ε is worse than the sum of cells with all of it. Post-processing only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacita.agreement.overlapping import Agreed, NoisyTable
from tacita.agreement.whole import whole_tables
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.mechanisms.table.levels import LEVEL, TableLevels
from tacita.tables.estimates import Estimates, decimals_beside

Integers = NDArray[np.int64]
FLOW = ("creation", "destruction", "net")
Adding = Callable[[Estimates, Integers], Estimates]
"""The sums of cells by the group that each is in, in the order of the groups; keys are not asked for."""


@dataclass(frozen=True, eq=False)
class Level:
    """One table: which of its cells each finest cell is in, and their keys. Cells that hold nothing are not there."""

    name: str
    group: Integers
    keys: dict[str, Integers]


def refuse_levels(settings: dict[str, object], *, additive: bool = True) -> None:
    """What cannot stand beside levels, or be added up to them, is refused before anything is spent."""
    if settings.get("totals") or settings.get("rank"):
        raise UsageError("levels: the coarser levels are the totals, and have no ranks; leave totals and rank out")
    if settings.get("agree") or settings.get("public_totals"):
        raise UsageError("levels: sums of cells cannot also follow other totals; leave agree and public_totals out")
    if not additive:
        raise UsageError("levels: are for counts and sums; other statistics of a county are no sum of its tracts'")


def levels_of(levels: TableLevels, keys: dict[str, Integers]) -> Iterator[Level]:
    """Every table of cells with these codes, coarsest first and the cells themselves last."""
    for number, (table, name) in enumerate(zip(levels.tables, levels.names, strict=True)):
        axes = list(zip(levels.axes, table, strict=True))
        shape = tuple(axis.sizes[at] for axis, at in axes)
        coarse = [axis.levels[at][keys[column]] for (axis, at), column in zip(axes, levels.by, strict=True)]
        there, group = np.unique(np.ravel_multi_index(coarse, shape), return_inverse=True)
        own = dict(zip(levels.by, np.unravel_index(there, shape), strict=True))
        yield Level(name, group, levels.places(own | {LEVEL: np.full(there.size, number)}))


def summed_levels(
    found: Estimates, schema: Schema, names: Sequence[str], add: Adding, *, nonnegative: bool, integers: bool
) -> tuple[Estimates, tuple[str, ...]]:
    """One entry per cell of every level, coarsest first, and the level of each; each level's sums are those of the next
    finer to the last digit, also where cells may not be negative."""
    refuse_levels({}, additive=found.additive)
    levels = TableLevels.of(schema, tuple(found.keys), names)
    parts = np.zeros(found.value.size, dtype=np.int64)
    if found.parts is not None:
        parts = np.unique(found.parts, return_inverse=True)[1].astype(np.int64)
    pieces: list[list[Estimates]] = []
    for part in range(int(parts.max(initial=0)) + 1):
        own = found.where(parts == part)
        pieces.append(_of_part(own, list(levels_of(levels, own.keys)), add, nonnegative, found.whole and integers))
    _keep_net(pieces)
    listed = {name: levels.labelled(schema, name) for name in levels.by}
    ordered = [(name, one[at]) for at, name in enumerate(levels.names) for one in pieces]
    joined = replace(Estimates.joined([one for _, one in ordered]), listed=listed)
    return joined, tuple(name for name, one in ordered for _ in range(one.value.size))


def _of_part(cells: Estimates, levels: list[Level], add: Adding, nonnegative: bool, whole: bool) -> list[Estimates]:
    tables = [replace(add(cells, level.group), keys=level.keys) for level in levels]
    if not np.isfinite(cells.value).all():
        return tables  # nothing is said of some cells, and so nothing of their sums
    half = [np.maximum(one.upper - one.value, one.value - one.lower) for one in tables]
    narrowest = min(float(np.min(one[one > 0], initial=np.inf)) for one in half)
    places = 0 if whole or not np.isfinite(narrowest) else decimals_beside(narrowest)
    if cells.decimals is not None:
        places = min(places, cells.decimals)
    unit = 10.0**-places
    # Where nothing bounds the noise of a cell, it is as loose as the loosest of those that are known.
    spread = [np.where(np.isfinite(one), one, np.max(one[np.isfinite(one)], initial=1.0)) / unit for one in half]
    noisy = [
        NoisyTable(level.group, one.value / unit, np.maximum(width, 1e-9) ** 2)
        for level, one, width in zip(levels, tables, spread, strict=True)
    ]
    agreed = Agreed(cells.value / unit, tuple(one.values for one in noisy), tuple(one.variances for one in noisy), True)
    signed = not nonnegative or bool(np.any(np.asarray(cells.bounds[0]) < 0))
    _, wholes = whole_tables(noisy, agreed, signed=signed)
    return [
        replace(one, value=value.astype(np.float64) * unit, places=places)
        for one, value in zip(tables, wholes, strict=True)
    ]


def _keep_net(pieces: list[list[Estimates]]) -> None:
    """Net change is creation less destruction in every cell, also where one of these was negative and may not be."""
    named = {tables[0].parts[0]: at for at, tables in enumerate(pieces) if tables[0].parts}
    if set(FLOW) <= named.keys():
        gains, losses, net = (pieces[named[one]] for one in FLOW)
        same = [replace(c, value=a.value - b.value) for a, b, c in zip(gains, losses, net, strict=True)]
        pieces[named[FLOW[-1]]] = same
