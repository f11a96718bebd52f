"""How often the files give a true first year away: the value they show most often, by the size of the cell.

A cell is a county and a four-digit industry; both are published as collected. Rows carry no identifier and are
published in the order of their values, so a reader sees the values of a cell and not whose they are: "in the cell" is
the most frequent value of all its rows in all files. "Linked" is what a reader could do who knew which row of each
file stands for the establishment; he cannot, and it is the worst case. Where values are equally frequent, one of them
is picked by lot, and the share is the expected one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita_studies.kinney2007.figures import FIRST_YEARS, Floats

Integers = NDArray[np.int64]

CELL_SIZES = ("1", "2 to 4", "5 to 9", "10 to 49", "50 and more")
_STARTS = np.array([2, 5, 10, 50])
ALL = "all"
_KEYS = ("county", "sic4", "establishment")


@dataclass(frozen=True, eq=False)
class Units:
    """The confidential establishments in the order of the files: by public columns, then by id."""

    first: Integers
    cell: Integers
    size: Integers  # class of the cell's size

    @classmethod
    def of(cls, panel: pa.Table) -> Units:
        ordered = panel.select([*_KEYS, "firstyear"]).sort_by([(name, "ascending") for name in _KEYS])
        place = pa.compute.binary_join_element_wise(ordered["county"], ordered["sic4"], "/").combine_chunks()
        cell = place.dictionary_encode().indices.to_numpy().astype(np.int64)
        size = np.searchsorted(_STARTS, np.bincount(cell), side="right")
        return cls(ordered["firstyear"].to_numpy().astype(np.int64) - FIRST_YEARS[0], cell, size[cell])

    def by_size(self, hits: Floats) -> dict[str, tuple[float, int]]:
        """Mean and number of establishments for each class of cells that occurs, and for all."""
        found = {ALL: (float(hits.mean()), len(hits))}
        for at, name in enumerate(CELL_SIZES):
            inside = self.size == at
            if inside.any():
                found[name] = (float(hits[inside].mean()), int(inside.sum()))
        return found

    def linked(self, files: Sequence[pa.Table]) -> Floats:
        """The chance to be right for each establishment, from the values of its own row."""
        counts = np.zeros((len(self.first), len(FIRST_YEARS)), dtype=np.int32)
        for table in files:
            counts[np.arange(len(self.first)), _first(table)] += 1
        return _hits(counts, np.arange(len(self.first)), self.first)

    def in_the_cell(self, files: Sequence[pa.Table]) -> Floats:
        """The same from the values of all rows of its cell."""
        counts = np.zeros((int(self.cell.max()) + 1, len(FIRST_YEARS)), dtype=np.int32)
        for table in files:
            np.add.at(counts, (self.cell, _first(table)), 1)
        return _hits(counts, self.cell, self.first)

    def without_files(self) -> Floats:
        """Always the most frequent first year of the whole file."""
        return np.asarray(self.first == np.bincount(self.first).argmax(), dtype=np.float64)


def _first(table: pa.Table) -> Integers:
    return np.asarray(table["firstyear"].to_numpy().astype(np.int64) - FIRST_YEARS[0])


def _hits(counts: NDArray[np.int32], row: Integers, truth: Integers) -> Floats:
    top = counts == counts.max(axis=1, keepdims=True)
    return np.asarray(top[row, truth] / top.sum(axis=1)[row])
