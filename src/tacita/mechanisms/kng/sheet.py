"""The same draw as `plane`, for files whose likely planes are a thin sheet or a thin thread. Proof: plane.md.

Records with nearly the same predictors fix one value of the plane and leave the rest open: the likely coefficients lie
close to a tilted surface, which boxes along the axes cover badly. Here boxes are cut in sheared coordinates
u_k = θ_k + Σ_{l>k} tilt[l, k]·θ_l, in which records that are alike are decided by one coordinate.
A box then is a set of windows: given the coefficients after it, θ_k lies in a window of its list that moves with them.
The lists are not evenly spaced, so that windows differ in how many values they hold; a place is drawn among as many as
any window of the box can hold, and one that does not exist is refused.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.errors import TacitaError
from tacita.mechanisms.kng.boxes import _bounds, _compact, _score, _value
from tacita.noise.choice import accepts, choose, uniform_below
from tacita.noise.entropy import Spare

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ROUNDING = 1e-13  # of the sum of absolute terms: far more than the shears, the features and a plane's value lose
_FINE = 40  # bits of a sheared coordinate
_NOTHING = 1e-9  # of the largest feature
_UNEVEN = 2.0  # times as many values in one window of a box as in another: worth a split
_GOOD_ENVELOPE = 0.05
_POOL = 64
_MANTISSA = 60  # bits of the product of a box's windows; what their sizes have more is rounded up
_BULK = 0.25  # of the records


class File(NamedTuple):
    """Features, number and cell of each record, and the records of each cell."""

    phi: Floats
    v: Floats
    cell: Integers
    records: Integers


@dataclass(frozen=True, eq=False)
class Sheets:
    """Leaf boxes in sheared coordinates, with the records that each leaves undecided."""

    order: list[int]  # of the coefficients; axes, bits and all below are in it
    axes: Floats
    bits: Integers
    tilt: Floats
    first: Floats
    step: Floats
    pool: NDArray[np.int32]
    kept: float  # about which share of rounds ends with a plane
    corner: Integers
    sizes: Integers
    held: Integers  # how many values a window of each coefficient may hold: held·2^shift
    shift: Integers
    least: Integers
    start: Integers
    count: Integers
    below: Integers

    @cached_property
    def widths(self) -> Integers:
        return np.asarray(self.held.prod(axis=1, dtype=np.int64))

    @cached_property
    def volumes(self) -> Integers:
        return np.asarray(self.shift.sum(axis=1, dtype=np.int64))

    def window(self, box: int, k: int, theta: Floats) -> tuple[int, int]:
        """First and one past the last place of coefficient k in a box, given the coefficients after it."""
        begin = int(self.corner[box, k])
        moved = _shear(self.tilt, k, theta)
        low, high = (
            int(_place(self.axes[k], int(self.bits[k]), self.first[k], self.step[k], end, moved))
            for end in (begin, begin + (1 << int(self.sizes[box, k])))
        )
        return low, high


def tilted(phi: Floats, enough: float) -> tuple[list[int], Floats]:
    """An order of the coefficients and a unit lower triangular `tilt`: any would do, these make good boxes.

    A typical record's features are swept out of all, then a typical one's of what is left, and so on, so that records
    with the same features are decided by one coordinate, while a share of `enough` has features left. The largest of a
    record's features takes the next place.
    """
    p = phi.shape[1]
    order, left = list(range(p)), phi.copy()
    tilt = np.eye(p)
    for k in range(p):
        live = left[np.abs(left[:, k:]).max(axis=1) > _NOTHING * np.abs(phi).max()] if len(phi) else left
        if len(live) <= enough * len(phi):
            break
        middle = live[np.abs(live - np.median(live, axis=0)).max(axis=1).argmin()]
        largest = k + int(np.abs(middle[k:]).argmax())
        swap = [largest if at == k else k if at == largest else at for at in range(p)]
        order, left, middle = [order[at] for at in swap], left[:, swap], middle[swap]
        tilt[[k, largest], :k] = tilt[[largest, k], :k]
        tilt[k + 1 :, k] = middle[k + 1 :] / middle[k]
        left[:, k + 1 :] -= left[:, [k]] * tilt[k + 1 :, k]
        left[:, k] = 0.0
    return order, tilt


def cut(file: File, axes: Floats, bits: Integers, rate: float, boxes: int) -> Sheets:
    """Boxes that cover the lattice of the axes once: the best of shears that follow the bulk of records, or all."""
    made = [_cut(file, axes, bits, rate, boxes, enough) for enough in (_BULK, 0.0)]
    return max(made, key=lambda one: one.kept)


def _cut(file: File, axes: Floats, bits: Integers, rate: float, boxes: int, enough: float) -> Sheets:
    order, tilt = tilted(file.phi, enough)
    phi, axes, bits, p = file.phi[:, order], axes[order], bits[order], len(order)
    inverse = np.linalg.inv(tilt.T)
    features = np.ascontiguousarray(phi @ inverse)
    low = np.array([_value(axes[k], 0) for k in range(p)])
    high = np.array([_value(axes[k], (1 << int(bits[k])) - 1) for k in range(p)])
    shears = np.tril(tilt, -1).T
    first = low + np.minimum(shears * low, shears * high).sum(axis=1)
    last = high + np.maximum(shears * low, shears * high).sum(axis=1)
    step = (last - first) * (1 + 1e-9) / 2.0**_FINE
    furthest = np.maximum(np.abs(low), np.abs(high))
    doubt = np.abs(phi) @ furthest + np.abs(phi) @ np.abs(inverse) @ (furthest + np.abs(shears) @ furthest)
    doubt *= _ROUNDING
    shape = (axes, bits, tilt, first, step, low, high)
    found = _refine(features, file.v, doubt, file.cell, file.records, *shape, rate, boxes)
    corner, sizes, held, shift, least, start, count, below, leaf, pool, share = found
    filled = np.flatnonzero(leaf & (held > 0).all(axis=1))
    parts = (one[filled] for one in (corner, sizes, held, shift, least, start, count, below))
    return Sheets(order, axes, bits, tilt, first, step, pool, share, *parts)


def propose(sheets: Sheets, file: File, rate: Fraction, spare: Spare) -> Floats | None:
    """One round: a plane with probability in proportion to its weight, or nothing."""
    box = choose(sheets.widths, sheets.least, rate, spare, shift=sheets.volumes)
    theta = np.zeros(len(sheets.order))
    for k in reversed(range(theta.size)):
        held = int(sheets.held[box, k]) << int(sheets.shift[box, k])
        begin, end = sheets.window(box, k, theta)
        if end - begin > held:
            raise TacitaError("a window of an exact draw holds more values than it may; nothing was drawn")
        place = begin + uniform_below(held, spare)
        if place >= end:
            return None
        theta[k] = _value(sheets.axes[k], place)
    theta[sheets.order] = theta.copy()
    members = sheets.pool[sheets.start[box] : sheets.start[box] + sheets.count[box]]
    k = int(_score(file.phi, file.v, file.cell, members, sheets.below[box], file.records, theta))
    return theta if accepts(rate * (k - int(sheets.least[box])), spare) else None


@njit(cache=True, nogil=True)
def _shear(tilt, k, theta):  # type: ignore[no-untyped-def]
    """What the coefficients after k add to u_k."""
    moved = 0.0
    for at in range(k + 1, theta.size):
        moved += tilt[at, k] * theta[at]
    return moved


@njit(cache=True, nogil=True)
def _place(axis, bits, first, step, end, moved):  # type: ignore[no-untyped-def]
    """The first place of an axis at or above a border of windows; below the first and the last border lies all."""
    if end <= 0:
        return 0
    if end >= 1 << _FINE:
        return 1 << bits
    border = first + step * float(end) - moved
    low, high = 0, 1 << bits
    while low < high:
        middle = (low + high) // 2
        if _value(axis, middle) >= border:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def _most_held(axis, bits, low, high, wide):  # type: ignore[no-untyped-def]
    """How many values a window of this width can hold at most, and about how many at least, between two ends.

    Values are at least step·√(unit² + distance²) apart; a half-open window holds at most its width over that,
    rounded up.
    """
    if high < low:
        return 0.0, 0.0
    nearest = max(max(low - axis[0], axis[0] - high), 0.0)
    furthest = max(abs(low - axis[0]), abs(high - axis[0]))
    most = wide / (axis[3] * math.sqrt(axis[1] ** 2 + nearest**2)) * (1 + 1e-6)
    fewest = wide / (axis[3] * math.sqrt(axis[1] ** 2 + furthest**2))
    return min(math.ceil(most), 2.0**bits), min(fewest, 2.0**bits)


@njit(cache=True, nogil=True)
def _windows(box, corner, sizes, axes, bits, tilt, first, step, low, high, held, shift, shape):  # type: ignore[no-untyped-def]
    """Sizes of a box's windows, rounded up to few bits; their product in logarithms, at most and about at least.

    `shape` becomes the least and the largest value of each coefficient in the box, and how uneven its windows are.
    """
    p = bits.size
    largest, smallest = 0.0, 0.0
    slack = 1e-12
    for k in range(p - 1, -1, -1):
        wide = step[k] * 2.0 ** sizes[box, k]
        begin = first[k] + step[k] * float(corner[box, k])
        least, most = 0.0, 0.0
        for at in range(k + 1, p):
            a, b = tilt[at, k] * shape[0, at], tilt[at, k] * shape[1, at]
            least += min(a, b)
            most += max(a, b)
        margin = slack * (abs(begin) + wide + abs(least) + abs(most) + abs(low[k]) + abs(high[k]))
        shape[0, k] = max(begin - most - margin, low[k])
        shape[1, k] = min(begin + wide - least + margin, high[k])
        if least == 0.0 and most == 0.0:  # the window does not move
            begins = _place(axes[k], bits[k], first[k], step[k], corner[box, k], 0.0)
            ends = _place(axes[k], bits[k], first[k], step[k], corner[box, k] + (1 << sizes[box, k]), 0.0)
            many = few = float(ends - begins)
        else:
            many, few = _most_held(axes[k], bits[k], shape[0, k], shape[1, k], wide + 2 * margin)
        shape[2, k] = many / max(few, 2.0) if many > 4.0 else 1.0
        up = 0
        whole = math.ceil(many)
        while whole >= 2.0 ** (_MANTISSA // p):
            whole = math.ceil(whole / 2.0)
            up += 1
        held[box, k], shift[box, k] = int(whole), up
        if many <= 0.0:
            return -np.inf, -np.inf
        largest += math.log(whole) + up * math.log(2.0)
        smallest += math.log(max(few, 1e-3))
    return largest, smallest


@njit(cache=True, nogil=True)
def _weigh(features, cell, members, below, records, open_, weight):  # type: ignore[no-untyped-def]
    """How far a step along each coordinate moves the undecided records of cells whose score they leave open."""
    for g in range(open_.size):
        open_[g] = 0
    for i in members:
        open_[cell[i]] += 1
    for k in range(weight.size):
        weight[k] = 0.0
    for i in members:
        g = cell[i]
        lowest = 2 * below[g] - records[g]
        highest = lowest + 2 * open_[g]
        # One record more or less than half of an odd number: the same score on either side.
        if lowest < -1 or highest > 1:
            for k in range(weight.size):
                weight[k] += abs(features[i, k])


@njit(cache=True, nogil=True)
def _direction(box, sizes, step, weight, tilt, shape, decided):  # type: ignore[no-untyped-def]
    """Along which coordinate to split: the one that moves records most, or the one that makes windows uneven."""
    p = step.size
    best, widest = -1, 0.0
    if not decided:
        for k in range(p):
            spread = weight[k] * step[k] * 2.0 ** sizes[box, k]
            if sizes[box, k] > 0 and spread > widest:
                best, widest = k, spread
        return best
    worst = _UNEVEN
    for k in range(p):
        if shape[2, k] > worst:
            found, wide = -1, 0.0
            for at in range(k, p):
                spread = abs(tilt[at, k]) * (shape[1, at] - shape[0, at]) if at > k else step[k] * 2.0 ** sizes[box, k]
                if sizes[box, at] > 0 and spread > wide:
                    found, wide = at, spread
            if found >= 0:
                best, worst = found, shape[2, k]
    return best


@njit(cache=True, nogil=True)
def _split_records(features, v, doubt, cell, pool, start, count, low, high, end, below, open_):  # type: ignore[no-untyped-def]
    """As in `plane`, with bounds in sheared coordinates."""
    for g in range(open_.size):
        open_[g] = 0
    for at in range(start, start + count):
        i = pool[at]
        least, most = -doubt[i], doubt[i]
        for k in range(low.size):
            a, b = features[i, k] * low[k], features[i, k] * high[k]
            least += min(a, b)
            most += max(a, b)
        if v[i] <= least:
            below[cell[i]] += 1
        elif v[i] <= most:
            pool[end] = i
            end += 1
            open_[cell[i]] += 1
    return end


@njit(cache=True, nogil=True)
def _envelope(largest, smallest, least, most, leaf, boxes, rate):  # type: ignore[no-untyped-def]
    """About the share of rounds that are kept."""
    top = -np.inf
    for box in range(boxes):
        if leaf[box]:
            top = max(top, largest[box] - rate * least[box])
    upper, lower = 0.0, 0.0
    for box in range(boxes):
        if leaf[box] and largest[box] > -np.inf:
            upper += math.exp(largest[box] - rate * least[box] - top)
            lower += math.exp(smallest[box] - rate * most[box] - top)
    return lower / upper if upper > 0 else 1.0


@njit(cache=True, nogil=True)
def _refine(features, v, doubt, cell, records, axes, bits, tilt, first, step, low, high, rate, most_boxes):  # type: ignore[no-untyped-def]
    """Split boxes best first, as in `plane`."""
    n, p = features.shape
    cells = records.size
    room = most_boxes + 2
    corner, sizes = np.zeros((room, p), np.int64), np.full((room, p), _FINE, np.int64)
    held, shift = np.zeros((room, p), np.int64), np.zeros((room, p), np.int64)
    largest, smallest = np.zeros(room), np.zeros(room)
    least, most = np.zeros(room, np.int64), np.zeros(room, np.int64)
    start, count = np.zeros(room, np.int64), np.zeros(room, np.int64)
    below, leaf = np.zeros((room, cells), np.int64), np.ones(room, np.bool_)
    pool = np.empty(_POOL * n + 30_000_000, np.int32)
    weight = np.zeros(p)
    open_ = np.zeros(cells, np.int64)
    shape = np.zeros((3, p))
    for i in range(n):
        pool[i] = i
        open_[cell[i]] += 1
    count[0] = n
    used, boxes = n, 1
    least[0], most[0] = _bounds(below[0], open_, records)
    largest[0], smallest[0] = _windows(0, corner, sizes, axes, bits, tilt, first, step, low, high, held, shift, shape)
    heap = [(rate * least[0] - largest[0], 0)]
    begin, end = np.zeros(p), np.zeros(p)
    look = 64
    while len(heap) > 0 and boxes + 2 <= most_boxes:
        if boxes >= look:
            if _envelope(largest, smallest, least, most, leaf, boxes, rate) >= _GOOD_ENVELOPE:
                break
            look = boxes + boxes // 4
        _, box = heapq.heappop(heap)
        _windows(box, corner, sizes, axes, bits, tilt, first, step, low, high, held, shift, shape)
        members = pool[start[box] : start[box] + count[box]]
        _weigh(features, cell, members, below[box], records, open_, weight)
        uneven = math.log(max(shape[2].max(), 1.0))
        best = _direction(box, sizes, step, weight, tilt, shape, rate * (most[box] - least[box]) <= uneven)
        if best < 0:
            continue
        if used + 2 * count[box] > pool.size:
            used = _compact(pool, start, count, leaf, boxes)
            if used + 2 * count[box] > pool.size:
                break
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
                begin[k] = first[k] + step[k] * float(corner[child, k])
                end[k] = first[k] + step[k] * float(corner[child, k] + (1 << sizes[child, k]))
            for g in range(cells):
                below[child, g] = below[box, g]
            start[child] = used
            largest[child], smallest[child] = _windows(
                child, corner, sizes, axes, bits, tilt, first, step, low, high, held, shift, shape
            )
            if largest[child] == -np.inf:
                least[child] = least[box]
                most[child] = least[box]
                continue
            used = _split_records(
                features, v, doubt, cell, pool, start[box], count[box], begin, end, used, below[child], open_
            )
            count[child] = used - start[child]
            least[child], most[child] = _bounds(below[child], open_, records)
            heapq.heappush(heap, (rate * least[child] - largest[child], child))
    return (
        corner[:boxes], sizes[:boxes], held[:boxes], shift[:boxes], least[:boxes],
        start[:boxes], count[:boxes], below[:boxes], leaf[:boxes], pool,
        _envelope(largest, smallest, least, most, leaf, boxes, rate),
    )  # fmt: skip
