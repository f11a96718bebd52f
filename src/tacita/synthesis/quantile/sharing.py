"""The released model of one categorical variable, or of the point masses of a numeric one. Post-processing only.

Noisy counts by level, in each cell of the predictors; a cell with few records leans on the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.data import rowwise

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cells:
    """A partition of the predictors: numeric ones by released cut points, categorical ones by level."""

    cuts: tuple[Floats, ...]
    levels: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self._sizes)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return (*(cut.size + 1 for cut in self.cuts), *self.levels)

    def of(self, numbers: Floats, codes: Integers) -> Integers:
        bins = [np.searchsorted(cut, numbers[:, k], side="left") for k, cut in enumerate(self.cuts)]
        return rowwise.cells(len(numbers), (*bins, *codes.T), self._sizes)


@dataclass(frozen=True, eq=False)
class Shares:
    """Noisy counts per cell and level, and the ε they were measured with."""

    cells: Cells
    counts: Integers
    epsilon: float

    def table(self, random: np.random.Generator | None = None) -> Floats:
        """The chances of each level in each cell; with a generator, a draw of what the true counts may be."""
        counts = self.counts.astype(np.float64)
        if random is not None:
            counts = counts + random.laplace(0.0, 1 / self.epsilon, counts.shape)
        held = np.maximum(counts, 0)
        overall = np.maximum(counts.sum(axis=0), 0)
        overall = overall / overall.sum() if overall.sum() > 0 else np.full(overall.size, 1 / overall.size)
        # Noise of about 1/ε per count: a cell needs a few times that many records before it speaks for itself.
        weight = 2 / self.epsilon
        return np.asarray((held + weight * overall) / (held.sum(axis=1, keepdims=True) + weight))

    def draw(self, u: Floats, numbers: Floats, codes: Integers, table: Floats) -> Integers:
        reached = np.cumsum(table, axis=1)
        reached[:, -1] = 1.0
        return np.asarray((u[:, None] > reached[self.cells.of(numbers, codes)]).sum(axis=1), dtype=np.int64)

    def to_dict(self) -> dict[str, Any]:
        return {
            "cuts": [cut.tolist() for cut in self.cells.cuts],
            "levels": list(self.cells.levels),
            "counts": self.counts.tolist(),
            "epsilon": self.epsilon,
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Shares:
        cuts = tuple(np.array(cut, dtype=np.float64) for cut in stored["cuts"])
        counts = np.array(stored["counts"], dtype=np.int64)
        return cls(Cells(cuts, tuple(stored["levels"])), counts, stored["epsilon"])


def cells_for(numbers: Floats, levels: tuple[int, ...], outcomes: int, records: int, epsilon: float) -> Cells:
    """As fine a partition as the records can carry, with cuts at quantiles of the released predictors."""
    worth = max(records * epsilon / (8 * outcomes * max(1, int(np.prod(levels)))), 1.0)
    columns = numbers.shape[1]
    bins = max(1, min(8, int(worth ** (1 / columns)))) if columns else 1
    inner = np.arange(1, bins) / bins
    return Cells(tuple(np.unique(np.quantile(numbers[:, k], inner)) for k in range(columns)), levels)
