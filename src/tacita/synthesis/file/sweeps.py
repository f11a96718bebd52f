"""Compiled passes over synthetic records: draws given all other values, and changes that help. Released numbers only.

A record's value of one attribute is looked at through the *views* of the tables that hold the attribute: copies in
which its levels stand next to each other, so that what speaks for each level is a sum of short runs of numbers.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def _place(view, record):  # type: ignore[no-untyped-def]
    """Where the levels of the view's own attribute begin, given the record's other values."""
    return view[0] + record[view[1]] * view[2] + record[view[3]] * view[4]


@numba.njit(cache=True, nogil=True)
def _gather(pull, record, a, starts, ones, first, views, flat):  # type: ignore[no-untyped-def]
    """What all tables say about each level of attribute a, given the record's other values."""
    size = starts[a + 1] - starts[a]
    for level in range(size):
        pull[level] = ones[starts[a] + level]
    for view in range(first[a], first[a + 1]):
        place = _place(views[view], record)
        for level in range(size):
            pull[level] += flat[place + level]
    return size


@numba.njit(cache=True, nogil=True)
def _bar(pull, record, a, bars_of, bars, barred):  # type: ignore[no-untyped-def]
    """Take out the levels of a that would complete an impossible combination."""
    for at in range(bars_of[a], bars_of[a + 1]):
        bar = bars[at, 0]
        own, complete = -1, True
        for k in range(barred.shape[1]):
            b = barred[bar, k, 0]
            if b < 0:
                break
            if b == a:
                own = barred[bar, k, 1]
            elif record[b] != barred[bar, k, 1]:
                complete = False
                break
        if complete:
            pull[own] = np.inf


@numba.njit(cache=True, nogil=True)
def draw(records, uniforms, starts, ones, first, views, flat, bars_of, bars, barred):  # type: ignore[no-untyped-def]
    """Each value of each record drawn anew given the others: P(level) ∝ exp(−what speaks against it)."""
    width = 0
    for a in range(starts.size - 1):
        width = max(width, starts[a + 1] - starts[a])
    pull = np.empty(width)
    for i in range(records.shape[0]):
        record = records[i]
        for a in range(records.shape[1]):
            size = _gather(pull, record, a, starts, ones, first, views, flat)
            _bar(pull, record, a, bars_of, bars, barred)
            least = pull[:size].min()
            if least == np.inf:
                continue
            total = 0.0
            for level in range(size):
                pull[level] = np.exp(least - pull[level])
                total += pull[level]
            left, chosen = uniforms[i, a] * total, record[a]
            for level in range(size):
                if pull[level] > 0.0:
                    chosen = level
                    left -= pull[level]
                    if left < 0.0:
                        break
            record[a] = chosen


@numba.njit(cache=True, nogil=True)
def mend(records, order, starts, slopes, one_weight, first, views, flat, weight, bars_of, bars, barred, owner, kin):  # type: ignore[no-untyped-def]
    """Each value changed where that lowers Σ weight·(count − wanted)²/2; `flat` and `slopes` hold its derivatives.

    `owner` is the table of each view and `kin` the views of each table. Returns how many values changed.
    """
    width = 0
    bends = one_weight.copy()
    for a in range(starts.size - 1):
        width = max(width, starts[a + 1] - starts[a])
        for view in range(first[a], first[a + 1]):
            bends[a] += weight[owner[view]]
    pull = np.empty(width)
    changed = 0
    for i in order:
        record = records[i]
        for a in range(records.shape[1]):
            size = _gather(pull, record, a, starts, slopes, first, views, flat)
            _bar(pull, record, a, bars_of, bars, barred)
            old = record[a]
            best, least = old, pull[old] - bends[a] * (1 + 1e-9) - 1e-12
            for level in range(size):
                if level != old and pull[level] < least:
                    best, least = level, pull[level]
            if best == old:
                continue
            changed += 1
            slopes[starts[a] + old] -= one_weight[a]
            slopes[starts[a] + best] += one_weight[a]
            for view in range(first[a], first[a + 1]):
                _count(flat, kin[owner[view]], views, record, -weight[owner[view]])
            record[a] = best
            for view in range(first[a], first[a + 1]):
                _count(flat, kin[owner[view]], views, record, weight[owner[view]])
    return changed


@numba.njit(cache=True, nogil=True)
def _count(flat, kin, views, record, amount):  # type: ignore[no-untyped-def]
    """One record more or less in every view of a table."""
    for view in kin:
        if view < 0:
            break
        flat[_place(views[view], record) + record[views[view, 5]]] += amount
