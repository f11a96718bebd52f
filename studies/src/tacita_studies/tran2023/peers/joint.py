"""JointExp (Gillenwater, Joseph and Kulesza 2021): all quantiles in one draw of the exponential mechanism.

The outputs o_1 ≤ … ≤ o_m cut the public interval into m + 1 parts, of which part j should hold p_j n records, p_j =
τ_j − τ_(j−1). The score is −Σ_j |#part j − p_j n|. One record more raises one count by 1 and every wish by p_j: the
sum moves by at most 1 − p_j there and by 1 − p_j in all other parts together, so Δ = 2 (1 − min p) under add/remove,
and the density exp(ε score / (2 Δ)) on ordered outputs is ε-private.

The density depends only on the gaps between records in which the outputs fall, and links neighbouring outputs only: a
chain, summed exactly from left to right and drawn from right to left. k outputs in one gap of width w have volume w^k
/ k!. The sum over all earlier gaps needs no convolution: the weight exp(−rate |i' − i − d|) splits at i = i' − d into
a running sum on one side and a sliding sum of fixed length on the other, so each output costs time linear in the
number of gaps. Everything is kept as logarithms.

With many records only gaps near a quantile matter. The score is at most −2 |i − τ n| when an output for τ falls in
gap i, so a window is exact up to the volume outside it, (upper − lower)^m / m! · exp(−2 rate · half-width) per
output. The window grows until this is below e^−46 (10^−20) of the total: less than the rounding of the sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from tacita_studies.tran2023.peers.inputs import Bounds, Numbers, checked

_NEGLIGIBLE = 46.0


def joint(
    values: Numbers, quantiles: Sequence[float], epsilon: float, bounds: Bounds, rng: np.random.Generator
) -> Numbers:
    """One exact draw of all quantiles together.

    >>> rng = np.random.default_rng(1)
    >>> joint(np.arange(1000.0), [0.25, 0.5, 0.75], 3.0, (0.0, 1000.0), rng).round(-1).tolist()
    [250.0, 500.0, 750.0]
    """
    clamped, asked = checked(values, quantiles, epsilon, bounds)
    edges = np.concatenate([[bounds[0]], clamped, [bounds[1]]])
    chain = _chain(edges, asked, epsilon)
    uniforms = rng.random((2, len(asked)))
    drawn = _backwards(chain.starts, chain.reached, chain.entered, chain.log_widths, chain.wished, chain.rate, uniforms)
    inside = rng.random(len(asked))
    return np.sort(edges[drawn] + inside * (edges[drawn + 1] - edges[drawn]))


def joint_log_density(
    values: Numbers, outputs: Sequence[float], quantiles: Sequence[float], epsilon: float, bounds: Bounds
) -> float:
    """Logarithm of the exact density of `joint` at ordered outputs.

    >>> joint_log_density(np.array([]), [0.2, 0.6], [0.3, 0.7], 1.0, (0.0, 1.0)) == math.log(2)
    True
    """
    clamped, asked = checked(values, quantiles, epsilon, bounds)
    edges = np.concatenate([[bounds[0]], clamped, [bounds[1]]])
    chain = _chain(edges, asked, epsilon)
    counts = np.diff(np.concatenate([[0], np.searchsorted(clamped, outputs, side="right"), [len(clamped)]]))
    return float(-chain.rate * np.abs(counts - chain.wished).sum() - chain.log_total)


@dataclass(frozen=True, eq=False)
class _Chain:
    """Sums over everything to the left: `reached[j, i]` for output j in gap i, `entered` for the first one in it."""

    starts: NDArray[np.int64]
    reached: Numbers
    entered: Numbers
    log_widths: Numbers
    wished: Numbers
    rate: float
    log_total: float


def _chain(edges: Numbers, quantiles: Numbers, epsilon: float) -> _Chain:
    records = len(edges) - 2
    shares = np.diff(np.concatenate([[0.0], quantiles, [1.0]]))
    rate = epsilon / (4 * (1 - shares.min()))
    with np.errstate(divide="ignore"):
        log_widths = np.log(np.diff(edges))
    wished = shares * records
    outputs = len(quantiles)
    log_volume = outputs * math.log(edges[-1] - edges[0]) - math.lgamma(outputs + 1)
    half = math.ceil(50 / rate)
    while True:
        size = min(2 * half + 1, records + 1)
        starts = np.clip(np.floor(quantiles * records).astype(np.int64) - half, 0, records + 1 - size)
        reached, entered, log_total = _forwards(starts, size, log_widths, wished, rate)
        # The total only grows with the window, so the second window is always wide enough.
        needed = (log_volume + math.log(outputs) - log_total + _NEGLIGIBLE) / (2 * rate)
        if size == records + 1 or half >= needed:
            return _Chain(starts, reached, entered, log_widths, wished, rate, log_total)
        half = records if math.isinf(needed) else math.ceil(needed)


@numba.njit(nogil=True, cache=True)
def _log_add(a, b):  # type: ignore[no-untyped-def]
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@numba.njit(nogil=True, cache=True)
def _forwards(starts, size, log_widths, wished, rate):  # type: ignore[no-untyped-def]
    outputs = len(starts)
    records = len(log_widths) - 1
    entered = np.full((outputs, size), -np.inf)
    reached = np.full((outputs, size), -np.inf)
    for j in range(outputs):
        if j == 0:
            for place in range(size):
                gap = starts[0] + place
                entered[0, place] = log_widths[gap] - rate * abs(gap - wished[0])
        else:
            _enter(entered[j], starts[j], reached[j - 1], starts[j - 1], log_widths, wished[j], rate)
        for place in range(size):
            gap = starts[j] + place
            total, held = entered[j, place], 0.0
            for k in range(2, j + 2):  # k outputs in this gap, the first of them output j − k + 1
                before = j - k + 1
                if starts[before] + size <= gap or log_widths[gap] == -np.inf:
                    break
                held += log_widths[gap] - rate * wished[before + 1] - np.log(k)
                total = _log_add(total, entered[before, gap - starts[before]] + held)
            reached[j, place] = total
    log_total = -np.inf
    for place in range(size):
        end = rate * abs(records - starts[-1] - place - wished[outputs])
        log_total = _log_add(log_total, reached[outputs - 1, place] - end)
    return reached, entered, log_total


@numba.njit(nogil=True, cache=True)
def _enter(entered, start, before, before_start, log_widths, wish, rate):  # type: ignore[no-untyped-def]
    """For every gap i' the sum over earlier gaps i < i' of before[i] · exp(−rate |i' − i − wish|), times the width.

    Gaps i ≤ i' − ⌈wish⌉ are too far away by i' − i − wish; the next ⌈wish⌉ − 1 gaps are too near. A sum of fixed length
    is the end of one block and the beginning of the next, each built by additions only.
    """
    size = len(before)
    far = np.empty(size)  # the running sum of before[i] · exp(rate · i)
    total = -np.inf
    for i in range(size):
        total = _log_add(total, before[i] + rate * i)
        far[i] = total
    length = max(int(np.ceil(wish)) - 1, 0)
    head, tail = np.empty(size), np.empty(size)  # within blocks: from the block's start to i, and from i to its end
    if length > 0:
        for i in range(size):
            term = before[i] - rate * i
            head[i] = term if i % length == 0 else _log_add(head[i - 1], term)
        for i in range(size - 1, -1, -1):
            term = before[i] - rate * i
            tail[i] = term if i == size - 1 or (i + 1) % length == 0 else _log_add(tail[i + 1], term)
    for place in range(len(entered)):
        gap = start + place
        if log_widths[gap] == -np.inf:
            continue
        here = gap - before_start  # its place in the earlier window, perhaps outside
        last_far = min(here - max(int(np.ceil(wish)), 1), size - 1)
        total = -np.inf
        if last_far >= 0:
            total = far[last_far] - rate * (here - wish)
        if length > 0:
            first, last = max(here - length, 0), min(here - 1, size - 1)
            if first <= last:
                if first // length != last // length:
                    near = _log_add(tail[first], head[last])
                else:  # one whole block, or a sum cut short by an end of the window
                    near = head[last] if first % length == 0 else tail[first]
                total = _log_add(total, near + rate * (here - wish))
        entered[place] = total + log_widths[gap]


@numba.njit(nogil=True, cache=True)
def _pick(log_weights, where):  # type: ignore[no-untyped-def]
    largest = log_weights.max()
    total = 0.0
    for one in log_weights:
        total += np.exp(one - largest)
    left, chosen = where * total, -1
    for place in range(len(log_weights)):
        if log_weights[place] > -np.inf:
            chosen = place
            left -= np.exp(log_weights[place] - largest)
            if left < 0.0:
                break
    return chosen


@numba.njit(nogil=True, cache=True)
def _backwards(starts, reached, entered, log_widths, wished, rate, uniforms):  # type: ignore[no-untyped-def]
    """The gap of every output, from the last to the first."""
    outputs, size = reached.shape
    drawn = np.empty(outputs, dtype=np.int64)
    j, next_gap = outputs - 1, len(log_widths) - 1
    while j >= 0:
        weights = np.full(size, -np.inf)
        for place in range(size):
            gap = starts[j] + place
            # The last output may share its gap with the upper bound; others enter a later gap strictly.
            if gap < next_gap or j == outputs - 1:
                weights[place] = reached[j, place] - rate * abs(next_gap - gap - wished[j + 1])
        gap = starts[j] + _pick(weights, uniforms[0, j])
        together = np.full(j + 1, -np.inf)
        together[0] = entered[j, gap - starts[j]]
        held = 0.0
        for k in range(2, j + 2):
            before = j - k + 1
            if starts[before] + size <= gap:
                break
            held += log_widths[gap] - rate * wished[before + 1] - np.log(k)
            together[k - 1] = entered[before, gap - starts[before]] + held
        k = _pick(together, uniforms[1, j]) + 1
        for same in range(k):
            drawn[j - same] = gap
        j -= k
        next_gap = gap
    return drawn
