"""Noisy survey cells: what `SurveyLaplace` releases, and the estimates with their variances that follow from it.

Nothing here is confidential. Margins are sums of cells, so counts add up; with sums of whole multiples of a power of
two they do so to the last bit.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.noise.discrete import DiscreteLaplace

Floats = NDArray[np.float64]
Place = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class SurveyCells:
    """Counts and means by cell with margins: shape (statistic, *levels + 1), the last place of each axis being "all".

    The first statistic is the count, the others are the means of `means` in their order. `variance` holds sampling and
    noise together; its degrees of freedom are the number of replicates.
    """

    by: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    means: tuple[str, ...]
    value: Floats
    variance: Floats
    replicates: int
    measured: dict[str, Any]
    plan: dict[str, Any]
    guarantee: str
    rehearsal: bool

    def to_bytes(self) -> bytes:
        content = {
            "by": list(self.by),
            "levels": [list(one) for one in self.levels],
            "means": list(self.means),
            "replicates": self.replicates,
            "measured": self.measured,
            "plan": self.plan,
            "guarantee": self.guarantee,
            "rehearsal": self.rehearsal,
            "shape": list(self.value.shape),
            # Shortest exact decimals; cells without an answer are null.
            "value": [None if np.isnan(one) else one for one in self.value.ravel().tolist()],
            "variance": [None if np.isnan(one) else one for one in self.variance.ravel().tolist()],
        }
        return json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False).encode()

    @classmethod
    def from_bytes(cls, stored: bytes) -> SurveyCells:
        content = json.loads(stored)
        shape = content.pop("shape")
        for key in ("value", "variance"):
            content[key] = np.array(content[key], dtype=np.float64).reshape(shape)
        content |= {"by": tuple(content["by"]), "means": tuple(content["means"])}
        return cls(**content | {"levels": tuple(tuple(one) for one in content["levels"])})


@dataclass(frozen=True, eq=False)
class NoisySums:
    """Noisy sums over interior cells, in units of a power of two: of weights, and of weight times each answer.

    `point` has the shape (statistic, cells), `replicated` (statistic, replicate, cells). `size` is the public number of
    records of each cell, `bounds` the public bounds of weight and answers.
    """

    point: NDArray[np.int64]
    replicated: NDArray[np.int64]
    unit: tuple[float, ...]
    point_scale: tuple[Fraction, ...]
    replicated_scale: tuple[Fraction, ...]
    size: NDArray[np.int64]
    bounds: tuple[tuple[float, float], ...]

    def estimates(self, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Values and variances with margins, each of the shape (statistic, *shape + 1).

        The spread of R noisy replicates around the noisy estimate holds the sampling variance, the noise of the
        estimate and that of the replicates. The last is known and taken off; what is left never falls below the noise
        of the estimate itself. A mean is linearised, so that no noisy replicate stands in a denominator.
        """
        filled = self.size > 0
        low, high = self.bounds[0]
        counts = np.clip(
            self.point[0], np.ceil(self.size * low / self.unit[0]), np.floor(self.size * high / self.unit[0])
        )
        count = with_margins(np.where(filled, counts, 0) * self.unit[0], shape)
        cells = with_margins(filled.astype(np.float64), shape)
        replicated_count = self._with_margins(self.replicated[0], self.unit[0], shape)
        known, own = self._noise(0)
        spread = np.mean((replicated_count - count) ** 2, axis=0)
        values, variances = [count], [np.maximum(spread - cells * known, cells * own)]
        for at, (least, most) in enumerate(self.bounds[1:], start=1):
            total = with_margins(np.where(filled, self.point[at], 0) * self.unit[at], shape)
            with np.errstate(divide="ignore", invalid="ignore"):
                mean = np.clip(total / count, least, most)
                moved = (
                    self._with_margins(self.replicated[at], self.unit[at], shape) - mean * replicated_count
                ) / count
                known_total, own_total = self._noise(at)
                noise = cells * (known_total + mean**2 * known) / count**2
                floor = cells * (own_total + mean**2 * own) / count**2
            values.append(mean)
            variances.append(np.maximum(np.mean(moved**2, axis=0) - noise, floor))
        value, variance = np.array(values), np.array(variances)
        variance[np.isnan(value)] = np.nan
        return value, variance

    def _with_margins(self, sums: NDArray[np.int64], unit: float, shape: tuple[int, ...]) -> Floats:
        return np.array([with_margins(np.where(self.size > 0, one, 0) * unit, shape) for one in sums])

    def _noise(self, at: int) -> tuple[float, float]:
        """Variance of the noise of one cell: of a replicate, and of the estimate."""
        scales = (self.replicated_scale[at], self.point_scale[at])
        one, two = (DiscreteLaplace(scale).variance() * self.unit[at] ** 2 for scale in scales)
        return one, two


def with_margins(cells: Floats, shape: tuple[int, ...]) -> Floats:
    """Cells in the full cross of levels, with sums over each axis appended to it.

    >>> with_margins(np.array([1.0, 2.0, 3.0, 4.0]), (2, 2))
    array([[ 1.,  2.,  3.],
           [ 3.,  4.,  7.],
           [ 4.,  6., 10.]])
    """
    table = np.asarray(cells, dtype=np.float64).reshape(shape)
    for axis in range(len(shape)):
        table = np.concatenate([table, table.sum(axis=axis, keepdims=True)], axis=axis)
    return table


def margins(shape: tuple[int, ...]) -> list[tuple[tuple[bool, ...], Place]]:
    """Every choice of axes that are kept, with its place in a table with margins."""
    return [
        (kept, tuple(slice(-1) if keep else -1 for keep in kept)) for kept in product((True, False), repeat=len(shape))
    ]
