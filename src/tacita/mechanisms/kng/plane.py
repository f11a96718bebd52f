"""An exact private draw of a plane: no chain, no step size, no start value. Proof: plane.md.

A plane is scored by how far the number of records on or below it is from half, cell by cell of a public partition of
the predictors: k(θ) = Σ_cells |2·#below − #records|. The draw has P(θ) proportional to exp(−rate·k(θ)) on a public
lattice of coefficients. Because every record's side is monotone in every coefficient, a box of coefficients has
certain bounds on k. Boxes are split, best first, until the upper bounds are a good envelope; then the envelope is
drawn from and thinned, which gives the law exactly. The records that a box leaves undecided shrink with it, so the
work is a few passes over the file, whatever the budget.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.errors import UsageError
from tacita.mechanisms.kng.boxes import _bounds, _compact, _score, _value
from tacita.mechanisms.kng.sheet import File, cut, propose
from tacita.noise.choice import accepts, choose, uniform_bits
from tacita.noise.entropy import Entropy, Request, reserve
from tacita.noise.forcing import settles

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Rounding in φ·θ at a corner of a box; bounds are widened by this share of the sum of absolute terms.
_ROUNDING = 1e-13
_MOST_BOXES = 60_000
_GOOD_ENVELOPE = 0.1
_POOL = 128
_LONGEST_POOL = 100_000_000
# Records that leave a direction open, such as those with a predictor that never changes, make the likely planes a thin
# sheet that boxes along the axes cover badly. After so many refusals (ordinary files need fewer than a hundred) boxes
# are cut along the sheet, and after as many again more of them.
_PATIENCE = 300
_LARGEST = 1_000_000


@dataclass(frozen=True)
class Axis:
    """The public values one coefficient may take: offset + unit·sinh(start + step·j), j = 0 … 2^bits − 1.

    A large unit makes them evenly spaced, a small one spaced by ratio away from the offset.

    >>> axis = Axis.between(-8.0, 8.0, unit=1.0, centre=0.0, bits=4)
    >>> round(axis.value(0), 6), axis.value(8), round(axis.value(15), 2)
    (-8.0, 0.0, 5.63)
    """

    offset: float
    unit: float
    start: float
    step: float
    bits: int

    @classmethod
    def between(cls, lower: float, upper: float, *, unit: float, centre: float, bits: int = 24) -> Axis:
        """Values from `lower` to just below `upper`, finest around `centre`."""
        if not lower < upper or unit <= 0:
            raise UsageError("an axis needs lower < upper and a unit above 0")
        low, high = math.asinh((lower - centre) / unit), math.asinh((upper - centre) / unit)
        return cls(centre, unit, low, (high - low) / 2**bits, bits)

    def value(self, j: int) -> float:
        return self.offset + self.unit * math.sinh(self.start + self.step * j)


@njit(cache=True, nogil=True)
def _split_records(phi, v, cell, pool, start, count, low, high, end, below, open_):  # type: ignore[no-untyped-def]
    """Sort a parent's undecided records by a child's bounds; the still undecided are appended at `end`."""
    p = low.size
    for g in range(open_.size):
        open_[g] = 0
    for at in range(start, start + count):
        i = pool[at]
        least = 0.0
        most = 0.0
        size = 0.0
        for k in range(p):
            a = phi[i, k] * low[k]
            b = phi[i, k] * high[k]
            if a > b:
                a, b = b, a
            least += a
            most += b
            size += max(abs(a), abs(b))
        size *= _ROUNDING
        if v[i] <= least - size:
            below[cell[i]] += 1
        elif v[i] <= most + size:
            pool[end] = i
            end += 1
            open_[cell[i]] += 1
    return end


@njit(cache=True, nogil=True)
def _envelope(sizes, least, most, leaf, boxes, rate):  # type: ignore[no-untyped-def]
    """At least this share of draws from the envelope is kept."""
    top = -np.inf
    for box in range(boxes):
        if leaf[box]:
            top = max(top, math.log(2.0) * sizes[box].sum() - rate * least[box])
    upper = 0.0
    lower = 0.0
    for box in range(boxes):
        if leaf[box]:
            volume = math.log(2.0) * sizes[box].sum()
            upper += math.exp(volume - rate * least[box] - top)
            lower += math.exp(volume - rate * most[box] - top)
    return lower / upper


@njit(cache=True, nogil=True)
def _refine(phi, v, cell, records, axes, bits, rate, most_boxes):  # type: ignore[no-untyped-def]
    """Split boxes best first. Returns the leaves and, for each, its undecided records."""
    n, p = phi.shape
    cells = records.size
    corner = np.zeros((most_boxes + 2, p), np.int64)
    sizes = np.zeros((most_boxes + 2, p), np.int64)
    least = np.zeros(most_boxes + 2, np.int64)
    most = np.zeros(most_boxes + 2, np.int64)
    start = np.zeros(most_boxes + 2, np.int64)
    count = np.zeros(most_boxes + 2, np.int64)
    below = np.zeros((most_boxes + 2, cells), np.int64)
    leaf = np.ones(most_boxes + 2, np.bool_)
    pool = np.empty(_POOL * n + 1_000_000 + min(n * most_boxes // 4, _LONGEST_POOL), np.int32)
    weight = np.zeros(p)
    for k in range(p):
        sizes[0, k] = bits[k]
        for i in range(n):
            weight[k] += abs(phi[i, k])
    open_ = np.zeros(cells, np.int64)
    for i in range(n):
        pool[i] = i
        open_[cell[i]] += 1
    count[0] = n
    used = n
    boxes = 1
    least[0], most[0] = _bounds(below[0], open_, records)
    log_two = math.log(2.0)
    heap = [(rate * least[0] - log_two * bits.sum(), 0)]
    low, high = np.zeros(p), np.zeros(p)
    look = 32
    while len(heap) > 0 and boxes + 2 <= most_boxes:
        if boxes >= look:
            if _envelope(sizes, least, most, leaf, boxes, rate) >= _GOOD_ENVELOPE:
                break
            look = boxes + boxes // 4
        _, box = heapq.heappop(heap)
        if least[box] == most[box]:
            continue
        best = -1
        widest = -1.0
        for k in range(p):
            if sizes[box, k] > 0:
                first = _value(axes[k], corner[box, k])
                spread = (_value(axes[k], corner[box, k] + (1 << sizes[box, k]) - 1) - first) * weight[k]
                if spread > widest:
                    widest = spread
                    best = k
        if best < 0:
            continue
        if used + 2 * count[box] > pool.size:
            used = _compact(pool, start, count, leaf, boxes)
            if used + 2 * count[box] > pool.size:
                break
        volume = 0
        for k in range(p):
            volume += sizes[box, k]
        leaf[box] = False
        for half in range(2):
            child = boxes
            boxes += 1
            for k in range(p):
                corner[child, k] = corner[box, k]
                sizes[child, k] = sizes[box, k]
            sizes[child, best] -= 1
            corner[child, best] += half << sizes[child, best]
            for k in range(p):
                low[k] = _value(axes[k], corner[child, k])
                high[k] = _value(axes[k], corner[child, k] + (1 << sizes[child, k]) - 1)
            for g in range(cells):
                below[child, g] = below[box, g]
            start[child] = used
            used = _split_records(phi, v, cell, pool, start[box], count[box], low, high, used, below[child], open_)
            count[child] = used - start[child]
            least[child], most[child] = _bounds(below[child], open_, records)
            heapq.heappush(heap, (rate * least[child] - log_two * (volume - 1), child))
    return corner[:boxes], sizes[:boxes], least[:boxes], start[:boxes], count[:boxes], below[:boxes], leaf[:boxes], pool


@settles("phi", "v", "cell")
def draw_plane(
    phi: Floats, v: Floats, cell: Integers, cells: int, axes: list[Axis], rate: Fraction, entropy: Entropy, label: str
) -> Floats:
    """Coefficients θ with P(θ) ∝ exp(−rate·Σ_cells |2·#{v ≤ φ·θ} − #records|) on the lattice of the axes.

    Adding or removing one record changes the score by at most 1, so rate = ε/2 makes the draw ε-private; replacing
    one changes it by at most 2, so rate = ε/4 does.
    """
    records = np.bincount(cell, minlength=cells).astype(np.int64)
    table = np.array([(one.offset, one.unit, one.start, one.step) for one in axes])
    bits = np.array([one.bits for one in axes], dtype=np.int64)
    entropy.announce(Request(label, f"plane rate={rate}", records, np.full(cells, float(1 / rate))))
    spare = reserve(1024, entropy)
    corner, sizes, least, start, count, below, leaf, pool = _refine(
        phi, v, cell, records, table, bits, float(rate), _MOST_BOXES
    )
    leaves = np.flatnonzero(leaf)
    ones, volumes = np.ones(leaves.size, np.int64), sizes[leaves].sum(axis=1, dtype=np.int64)
    for _ in range(_PATIENCE):
        box = leaves[choose(ones, least[leaves], rate, spare, shift=volumes)]
        at = [int(corner[box, k]) + uniform_bits(int(sizes[box, k]), spare) for k in range(len(axes))]
        theta = np.array([_value(table[k], at[k]) for k in range(len(axes))])
        members = pool[start[box] : start[box] + count[box]]
        k = int(_score(phi, v, cell, members, below[box], records, theta))
        if accepts(rate * (k - int(least[box])), spare):
            return theta
    del pool
    # Each round has the law of the claim whatever the boxes are, so earlier refusals may decide about them.
    file, most_boxes, refused = File(phi, v, cell, records), _MOST_BOXES, 0
    sheets = cut(file, table, bits, float(rate), most_boxes)
    while (found := propose(sheets, file, rate, spare)) is None:
        refused += 1
        if refused % _PATIENCE == 0 and most_boxes < _LARGEST:
            most_boxes *= 4
            sheets = cut(file, table, bits, float(rate), most_boxes)
    return found
