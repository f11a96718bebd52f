"""Ties and point masses: each value gets its own place within one step of its scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.noise.entropy import Entropy, Request

Floats = NDArray[np.float64]


def spread_within_step(values: Floats, step: float, record: Floats, entropy: Entropy, label: str) -> Floats:
    """Each value plus a part of one step, so that ties can be cut anywhere and point masses keep their size.

    The part is a pseudorandom function of the whole record and of how many equal records came before: adding a record
    leaves all others where they are, and the same key gives the same parts. The key is drawn, and forgotten.
    """
    entropy.announce(Request(f"{label}, key for ties", "uniform words", np.zeros(0), np.zeros(0)))
    key = entropy.words(2)
    mixed = np.full(len(values), key[0], dtype=np.uint64)
    for column in record.T:
        mixed = _mix(mixed ^ np.ascontiguousarray(column + 0.0).view(np.uint64))
    occurrence = _occurrence(mixed, record)
    parts = (_mix(_mix(mixed + occurrence) ^ key[1]) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.asarray(values + step * parts)


def _occurrence(mixed: NDArray[np.uint64], record: Floats) -> NDArray[np.uint64]:
    """How many equal records come before each. Equal words nearly always mean equal records; where not, rows decide."""
    rows = len(mixed)
    order = np.argsort(mixed, kind="stable")
    first = np.ones(rows, dtype=np.bool_)
    first[1:] = mixed[order][1:] != mixed[order][:-1]
    apart = np.flatnonzero(~first)
    if (record[order[apart]] != record[order[apart - 1]]).any():
        order = np.lexsort(record.T)
        first[1:] = (record[order][1:] != record[order][:-1]).any(axis=1)
    starts = np.maximum.accumulate(np.where(first, np.arange(rows), 0))
    found = np.empty(rows, dtype=np.uint64)
    found[order] = (np.arange(rows) - starts).astype(np.uint64)
    return found


def _mix(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A finalizer in the manner of splitmix64: every input bit reaches every output bit."""
    with np.errstate(over="ignore"):
        words = words + np.uint64(0x9E3779B97F4A7C15)
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return words ^ (words >> np.uint64(31))
