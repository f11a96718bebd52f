"""The log-likelihood of survey records under many draws of the parameters: from moments, and record by record.

Both models are normal on the modelled scale, so one draw is a mean for each cell, one whitening matrix, a constant for
each cell, and a public linear term. The largest and smallest log-likelihood of a record over all draws is what its
risk is made of. Records that lie close together have theirs at the same few draws: records are put into boxes, and
in each box the draws that cannot matter are left out by a bound, so the answer is the one of all draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.synthesis.survey.moments import Moments

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_BOXES = 8_192  # in all; how fine the boxes are has no influence on the result
_WIDEST = 3.5  # standard deviations around the mean of all records that are cut into boxes; outside is the last box
_ALL_DRAWS_BELOW = 12  # records in a box; for fewer, leaving draws out costs more than it saves


@dataclass(frozen=True, eq=False)
class Kernel:
    """log p(z) = constant[s, c] − |root[s]·(z − mean[s, c])|²/2 + tilt·z + shift, for draw s and cell c."""

    mean: Floats
    root: NDArray[np.float64]
    constant: Floats
    tilt: Floats
    shift: float

    @classmethod
    def normal(
        cls, mean: Floats, root: Floats, *, shares: Floats | None = None, tilt: Floats | None = None, shift: float = 0.0
    ) -> Kernel:
        """Normal densities; `shares` are probabilities of the cells where the cell itself is an outcome."""
        d = root.shape[-1]
        constant = np.linalg.slogdet(root)[1] - d / 2 * math.log(2 * math.pi)
        whole = np.repeat(constant[:, None], mean.shape[1], axis=1)
        if shares is not None:
            whole = whole + np.log(shares)
        return cls(mean, root, whole, np.zeros(d) if tilt is None else tilt, shift)

    @property
    def draws(self) -> int:
        return len(self.root)

    def total(self, moments: Moments) -> Floats:
        """The weighted log-likelihood of all records for each draw, from moments alone."""
        totals = np.empty(self.draws)
        for s in range(self.draws):
            squares = np.trace(self.root[s] @ moments.about(self.mean[s]) @ self.root[s].T)
            totals[s] = moments.weight @ self.constant[s] - squares / 2
        return np.asarray(totals + moments.sums.sum(axis=0) @ self.tilt + self.shift * moments.weight.sum())

    def of_records(self, z: Floats, cell: Integers) -> Floats:
        """Record by record: one row per draw. For small files and for tests."""
        turned = np.einsum("sij,snj->sni", self.root, z[None] - self.mean[:, cell])
        return np.asarray(self.constant[:, cell] - (turned**2).sum(axis=2) / 2 + z @ self.tilt + self.shift)


@dataclass(frozen=True, eq=False)
class Boxed:
    """Records sorted into boxes of one cell each: made once, used for every fit."""

    z: Floats
    cell: Integers  # of each box
    start: Integers  # of each box, and the end of the last
    order: Integers  # where each sorted record stood

    @classmethod
    def of(cls, z: Floats, cell: Integers, cells: int) -> Boxed:
        d = z.shape[1]
        side = max(1, int((_BOXES / cells) ** (1 / d)))
        if len(z) < 64 * _BOXES:
            side = 1  # few records: a box per cell, and all draws for all of them
        spread = np.maximum(z.std(axis=0), 1e-9)
        scaled = (z - z.mean(axis=0)) / spread / _WIDEST
        place = np.clip(((scaled + 1) / 2 * side).astype(np.int64), 0, side - 1)
        code = cell.astype(np.int64)
        for at in range(d):
            code = code * side + place[:, at]
        order = np.argsort(code, kind="stable")
        sorted_codes = code[order]
        start = np.flatnonzero(np.append(True, np.diff(sorted_codes) != 0))
        return cls(np.ascontiguousarray(z[order]), cell[order][start], np.append(start, len(z)), order)

    def extremes(self, kernel: Kernel) -> Floats:
        """max over draws of |log p| for each record, in the order the records came in."""
        # Differences to one middle draw vary much less over a box than the log-likelihood itself.
        centre = kernel.mean.mean(axis=0)
        largest = np.empty(len(self.z))
        precision = np.einsum("sji,sjk->sik", kernel.root, kernel.root)
        low, high = _box_limits(self.z, self.start)
        _extremes(
            self.z,
            self.cell,
            self.start,
            low,
            high,
            np.ascontiguousarray(np.moveaxis(kernel.mean - centre, 0, -1)),
            np.ascontiguousarray(np.moveaxis(precision, 0, -1)),
            np.ascontiguousarray(kernel.constant.T),
            centre,
            kernel.tilt,
            kernel.shift,
            largest,
        )
        result = np.empty_like(largest)
        result[self.order] = largest
        return result

    def some(self, chosen: NDArray[np.bool_]) -> Boxed:
        """Only some records (in the order they came in); their order is the one of the choice."""
        kept = chosen[self.order]
        box = np.repeat(np.arange(self.cell.size), np.diff(self.start))[kept]
        first = np.flatnonzero(np.append(True, np.diff(box) != 0)) if box.size else np.zeros(0, np.int64)
        rank = np.cumsum(chosen) - 1
        return Boxed(self.z[kept], self.cell[box[first]], np.append(first, box.size), rank[self.order[kept]])


def _box_limits(z: Floats, start: Integers) -> tuple[Floats, Floats]:
    return np.minimum.reduceat(z, start[:-1], axis=0), np.maximum.reduceat(z, start[:-1], axis=0)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _extremes(z, cell, start, low, high, mean, precision, constant, centre, tilt, shift, largest):  # type: ignore[no-untyped-def]
    d, many = z.shape[1], mean.shape[2]
    level, slope, bend = np.empty(many), np.empty((d, many)), np.empty((d, d, many))
    small_level, small_slope, small_bend = np.empty(many), np.empty((d, many)), np.empty((d, d, many))
    kept = np.empty(many, np.int64)
    value = np.empty(many)
    slack = np.empty(many)
    for box in range(cell.size):
        c, first, last = cell[box], start[box], start[box + 1]
        # Around the middle of the box: log p = level + slope·δ − δ·bend·δ/2.
        for s in range(many):
            level[s] = constant[c, s]
        for i in range(d):
            for s in range(many):
                slope[i, s] = 0.0
        for i in range(d):
            away_i = (low[box, i] + high[box, i]) / 2 - centre[c, i]
            for j in range(d):
                away_j = (low[box, j] + high[box, j]) / 2 - centre[c, j]
                for s in range(many):
                    p = precision[i, j, s]
                    bend[i, j, s] = p
                    slope[i, s] -= p * (away_j - mean[c, j, s])
                    level[s] -= 0.5 * p * (away_i - mean[c, i, s]) * (away_j - mean[c, j, s])
        count = many
        if last - first >= _ALL_DRAWS_BELOW:
            # Against the average draw, no draw can change over the box by more than its slack.
            for s in range(many):
                slack[s] = 0.0
            for i in range(d):
                half_i = (high[box, i] - low[box, i]) / 2
                middle = slope[i].mean()
                for s in range(many):
                    slack[s] += abs(slope[i, s] - middle) * half_i
                for j in range(d):
                    half_j = (high[box, j] - low[box, j]) / 2
                    usual = bend[i, j].mean()
                    for s in range(many):
                        slack[s] += 0.5 * abs(bend[i, j, s] - usual) * half_i * half_j
            top, bottom = -np.inf, np.inf
            for s in range(many):
                top = max(top, level[s] - slack[s])
                bottom = min(bottom, level[s] + slack[s])
            margin = 1e-9 * (1.0 + abs(top) + abs(bottom))
            count = 0
            for s in range(many):
                if level[s] + slack[s] >= top - margin or level[s] - slack[s] <= bottom + margin:
                    kept[count] = s
                    count += 1
            for k in range(count):
                s = kept[k]
                small_level[k] = level[s]
                for i in range(d):
                    small_slope[i, k] = slope[i, s]
                    for j in range(d):
                        small_bend[i, j, k] = bend[i, j, s]
        else:
            small_level[:], small_slope[:], small_bend[:] = level, slope, bend
        for at in range(first, last):
            linear = shift
            for k in range(count):
                value[k] = small_level[k]
            for i in range(d):
                linear += tilt[i] * z[at, i]
                off_i = z[at, i] - (low[box, i] + high[box, i]) / 2
                for k in range(count):
                    value[k] += off_i * small_slope[i, k]
                for j in range(i + 1):
                    off_j = z[at, j] - (low[box, j] + high[box, j]) / 2
                    factor = 0.5 * off_i * off_j if i == j else off_i * off_j
                    for k in range(count):
                        value[k] -= factor * small_bend[i, j, k]
            most, least = -np.inf, np.inf
            for k in range(count):
                most = max(most, value[k])
                least = min(least, value[k])
            largest[at] = max(abs(most + linear), abs(least + linear))
