"""The tables of the haney2017 study: exact counts, what noise infusion publishes, and how answers are scored.

Everything is worked out from establishment arrays, so that the study of 10.9 million jobs never holds a job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tacita.data.workforce import Workforce
from tacita.mechanisms.comparators import NoiseInfusion, SuppressAndRound
from tacita.noise.entropy import SeededEntropy
from tacita.simulated.frame import FEMALE_COLLEGE, STATES, STRATA, WORKER_CELLS, LinkedFrame

Values = NDArray[np.float64]

ALL_PLACES = "all places"
GROUPS = (ALL_PLACES, *STRATA)  # what every error is reported for
BY = ("place", "sector", "ownership")


@dataclass(frozen=True)
class StudyTables:
    """One frame, cut the ways the paper cuts it."""

    frame: LinkedFrame
    keys: dict[str, NDArray[np.int32]]
    cell: NDArray[np.int64]  # of each establishment
    stratum: NDArray[np.int64]  # of each cell
    totals: Workforce  # workload 1: one column
    groups: Workforce  # workload 3: sex × education in columns
    single: Workforce  # workload 2: the same eight columns, each as a table of its own, one below the other
    _projected: dict[int, Workforce] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, frame: LinkedFrame) -> StudyTables:
        keys, cell = frame.cells()
        groups = frame.workforce(range(len(WORKER_CELLS)))
        return cls(frame, keys, cell, frame.stratum_of(keys["place"]), frame.workforce(), groups, one_below(groups))

    @property
    def cells(self) -> int:
        return len(self.stratum)

    def projected(self, theta: int) -> Workforce:
        """Workload 1 without establishments above θ workers: what establishment-level privacy may look at."""
        if theta not in self._projected:
            self._projected[theta] = self.frame.workforce(drop_above=theta)
        return self._projected[theta]

    def l1(self, error: Values) -> Values:
        """Total absolute error in all places and in each stratum; `error` has a row per cell."""
        per_cell = np.abs(error).sum(axis=1) if error.ndim == 2 else np.abs(error)
        by_stratum = np.bincount(self.stratum, weights=per_cell, minlength=len(STRATA))
        return np.concatenate(([per_cell.sum()], by_stratum))

    @cached_property
    def members(self) -> tuple[NDArray[np.int64], ...]:
        """The cells of each group of `GROUPS`."""
        return (np.arange(self.cells), *(np.flatnonzero(self.stratum == s) for s in range(len(STRATA))))

    def ranks(self, values: Values) -> tuple[Values, ...]:
        """Ranks within each group, centred and scaled, so that a product of two is Spearman's correlation."""
        return tuple(_standardised(rankdata(values[who])) for who in self.members)


def spearman(one: Sequence[Values], other: Sequence[Values]) -> Values:
    """Spearman's rank correlation in each group, from `StudyTables.ranks`; NaN where a group has no order."""
    return np.array(
        [float(a @ b) if len(a) > 1 and a.any() and b.any() else np.nan for a, b in zip(one, other, strict=True)]
    )


def _standardised(ranks: Values) -> Values:
    centred = np.asarray(ranks - ranks.mean() if len(ranks) else ranks, dtype=np.float64)
    length = np.sqrt(centred @ centred)
    return centred / length if length > 0 else centred


def one_below(table: Workforce) -> Workforce:
    """A table with d columns as one with a single column and d times the rows."""
    d = table.counts.shape[1]
    return Workforce(
        keys={name: np.tile(codes, d) for name, codes in table.keys.items()},
        counts=table.counts.T.reshape(-1, 1),
        largest=table.largest.T.reshape(-1, 1),
        largest_total=np.tile(table.largest_total, d),
        establishments=np.tile(table.establishments, d),
    )


def side_by_side(values: Values, d: int) -> Values:
    """The answers to `one_below`, back in d columns."""
    return values.reshape(d, -1).T


@dataclass(frozen=True)
class InfusionDraw:
    """The tables as noise infusion would publish them, under one secret key."""

    totals: Values
    groups: Values
    total_ranks: tuple[Values, ...]
    college_ranks: tuple[Values, ...]


def infuse(tables: StudyTables, method: NoiseInfusion, draw: int, entropy: SeededEntropy) -> InfusionDraw:
    """One draw; a new key stands for another agency that had drawn other factors."""
    source = entropy.child(f"infusion {draw}")
    factors = method.factors(tables.frame.workplace_id, key=source.words(4).tobytes())
    size = tables.frame.size[:, None]
    totals = method.apply(tables.cell, size, tables.cells, factors, source.child("totals"))[:, 0]
    groups = method.apply(tables.cell, tables.frame.workers, tables.cells, factors, source.child("groups"))
    return InfusionDraw(totals, groups, tables.ranks(totals), tables.ranks(groups[:, FEMALE_COLLEGE]))


@dataclass(frozen=True)
class SuppressedTable:
    """The no-noise arm: the published values with the holes filled as a user would, and the share of holes."""

    values: Values
    share: float


def suppress(tables: StudyTables, method: SuppressAndRound, *, worker_groups: bool) -> SuppressedTable:
    """Suppressed cells are filled from state × sector × ownership margins, by public numbers of establishments."""
    counts = tables.frame.workers if worker_groups else tables.frame.size[:, None]
    true = (tables.groups if worker_groups else tables.totals).counts
    published = method.apply(tables.cell, counts, tables.cells)
    state_of_place = np.array([STATES.index(code[:2]) for code in tables.frame.place_codes])
    label = (state_of_place[tables.keys["place"]] * 100 + tables.keys["sector"]) * 2 + tables.keys["ownership"]
    labels, margin = np.unique(label, return_inverse=True)
    margins = np.zeros((len(labels), true.shape[1]))
    np.add.at(margins, margin, true)
    filled = method.impute(published, margin, margins, tables.totals.establishments)
    return SuppressedTable(filled, float(np.isnan(published).mean()))
