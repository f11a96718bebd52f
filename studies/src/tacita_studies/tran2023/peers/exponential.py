"""Quantiles by the exponential mechanism: one after the other, and by recursive bisection.

The score of a value v for the quantile τ of n records is −|#{x ≤ v} − τ n|. One record more changes #{x ≤ v} − τ n by
1 − τ or by −τ, so the score moves by at most Δ = max(τ, 1 − τ) and the density exp(−ε |#{x ≤ v} − τ n| / (2 Δ)) on the
public interval is ε-private under add/remove. It is constant between neighbouring records: an exact draw picks a gap,
then a place in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np

from tacita_studies.tran2023.peers.inputs import Bounds, Numbers, checked

# A gap with less than e^−60 of the largest weight is passed over: a million of them are below 10^−20 of the total,
# far less than the rounding of the sum.
_NEGLIGIBLE = -60.0


def independent(
    values: Numbers, quantiles: Sequence[float], epsilon: float, bounds: Bounds, rng: np.random.Generator
) -> Numbers:
    """Each quantile by an exponential mechanism of its own with an equal share of ε (Smith 2011), then sorted.

    >>> rng = np.random.default_rng(1)
    >>> independent(np.arange(1000.0), [0.25, 0.5, 0.75], 3.0, (0.0, 1000.0), rng).round(-1).tolist()
    [250.0, 500.0, 750.0]
    """
    clamped, asked = checked(values, quantiles, epsilon, bounds)
    gaps = _log_gaps(clamped)
    share = epsilon / len(asked)
    drawn = np.empty(len(asked))
    for place, quantile in enumerate(asked):
        rate = share / (2 * max(quantile, 1 - quantile))
        drawn[place], _ = _draw(
            clamped, gaps, 0, len(clamped), *bounds, quantile * len(clamped), rate, rng.random(), rng.random()
        )
    return np.sort(drawn)


def recursive(
    values: Numbers, quantiles: Sequence[float], epsilon: float, bounds: Bounds, rng: np.random.Generator
) -> Numbers:
    """Approximate quantiles (Kaplan, Schnapp and Stemmer 2022): the middle quantile, then either side of it.

    The records on the two sides of a released value are disjoint, so all draws at one depth cost once: ε is divided by
    the depth ⌊log2 m⌋ + 1 and not by the number m of quantiles.

    >>> rng = np.random.default_rng(1)
    >>> recursive(np.arange(1000.0), [0.25, 0.5, 0.75], 3.0, (0.0, 1000.0), rng).round(-1).tolist()
    [250.0, 500.0, 750.0]
    """
    clamped, asked = checked(values, quantiles, epsilon, bounds)
    gaps = _log_gaps(clamped)
    share = epsilon / len(asked).bit_length()
    drawn = np.empty(len(asked))
    # Quantiles from `low` to `high` lie between two released values; `below` and `above` are the shares of records
    # these stand for, and the records between them are first, …, last − 1.
    waiting = [(0, len(asked), 0.0, 1.0, 0, len(clamped), *bounds)]
    while waiting:
        low, high, below, above, first, last, lower, upper = waiting.pop()
        if low == high:
            continue
        middle = (low + high) // 2
        within = (asked[middle] - below) / (above - below)
        rate = share / (2 * max(within, 1 - within))
        value, index = _draw(
            clamped, gaps, first, last, lower, upper, within * (last - first), rate, rng.random(), rng.random()
        )
        drawn[middle] = value
        waiting.append((middle + 1, high, asked[middle], above, index, last, value, upper))
        waiting.append((low, middle, below, asked[middle], first, index, lower, value))
    return drawn


def gap_chances(values: Numbers, quantile: float, epsilon: float, bounds: Bounds) -> Numbers:
    """The chance that one draw at `epsilon` falls in each of the n + 1 gaps; inside a gap the draw is uniform.

    >>> gap_chances(np.array([1.0, 2.0]), 0.5, 2.0, (0.0, 3.0)).round(4).tolist()
    [0.1065, 0.787, 0.1065]
    """
    clamped, asked = checked(values, [quantile], epsilon, bounds)
    widths = np.diff(np.concatenate([[bounds[0]], clamped, [bounds[1]]]))
    distance = np.abs(np.arange(len(widths)) - asked[0] * len(clamped))
    rate = epsilon / (2 * max(quantile, 1 - quantile))
    weights = widths * np.exp(-rate * (distance - distance[widths > 0].min()))
    return np.asarray(weights / weights.sum())


def _log_gaps(values: Numbers) -> Numbers:
    with np.errstate(divide="ignore"):
        return np.log(np.diff(values))


@numba.njit(nogil=True, cache=True)
def _draw(values, gaps, first, last, lower, upper, target, rate, where, inside):  # type: ignore[no-untyped-def]
    """One draw among the records first, …, last − 1 within (lower, upper): the value, and the first record above it."""
    records = last - first
    log_weights = np.empty(records + 1)
    if records == 0:
        return lower + inside * (upper - lower), first
    log_weights[0] = np.log(values[first] - lower) if values[first] > lower else -np.inf
    log_weights[records] = np.log(upper - values[last - 1]) if upper > values[last - 1] else -np.inf
    for below in range(1, records):
        log_weights[below] = gaps[first + below - 1]
    largest = -np.inf
    for below in range(records + 1):
        log_weights[below] -= rate * abs(below - target)
        largest = max(largest, log_weights[below])
    if largest == -np.inf:  # the two bounds have met
        return lower, first
    total = 0.0
    for below in range(records + 1):
        if log_weights[below] - largest > _NEGLIGIBLE:
            total += np.exp(log_weights[below] - largest)
    left, chosen = where * total, -1
    for below in range(records + 1):
        if log_weights[below] - largest > _NEGLIGIBLE:
            chosen = below
            left -= np.exp(log_weights[below] - largest)
            if left < 0.0:
                break
    start = lower if chosen == 0 else values[first + chosen - 1]
    end = upper if chosen == records else values[first + chosen]
    return start + inside * (end - start), first + chosen
