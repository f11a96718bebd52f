"""Compiled passes over synthetic records: draws given all other values, and changes that help. Released numbers only.

A record's value of one attribute is looked at through the *views* of the tables that hold the attribute: copies in
which its levels stand next to each other, so that what speaks for each level is a sum of short runs of numbers.
"""

from __future__ import annotations

import numpy as np

from tacita.compiled import njit

_BLOCK = 512  # records whose values of one attribute are drawn in a row: its views then stay at hand
_MENDED = 1_024  # the same where values are mended; the more, the less a change knows of those to the next attribute
STRIDE = 16  # levels
_NOTHING = 1e-5  # of what a change costs by itself: gains below it are rounding of short numbers
_SMALLEST = 1e-30  # below it, products of short numbers have lost digits


@njit(cache=True, nogil=True)
def _place(views, view, record):  # type: ignore[no-untyped-def]
    """Where the levels of the view's own attribute begin, given the record's other values."""
    return views[view, 0] + record[views[view, 1]] * views[view, 2] + record[views[view, 3]] * views[view, 4]


@njit(cache=True, nogil=True)
def _gather(pull, record, a, starts, ones, first, views, flat, rank):  # type: ignore[no-untyped-def]
    """What all tables say about each level of attribute a, given those of the record's other values whose rank is not
    higher than a's."""
    size = starts[a + 1] - starts[a]
    for level in range(size):
        pull[level] = ones[starts[a] + level]
    for view in range(first[a], first[a + 1]):
        if rank[views[view, 1]] > rank[a] or rank[views[view, 3]] > rank[a]:
            continue
        place = np.uint64(_place(views, view, record))  # no check for negative places: several levels go at once
        for level in range(np.uint64(size)):
            pull[level] += flat[place + level]
    return size


@njit(cache=True, nogil=True)
def _multiply(chances, record, a, starts, ones, first, views, flat):  # type: ignore[no-untyped-def]
    """Chances of each level of attribute a given the record's other values, from those that each table gives it.

    Four tables at a time, and for a multiple of `STRIDE` levels, so that a processor takes several at once; what comes
    out for levels that there are not is never looked at.
    """
    size = starts[a + 1] - starts[a]
    whole = np.uint64((size + STRIDE - 1) // STRIDE * STRIDE)
    own = np.uint64(starts[a])
    for level in range(whole):
        chances[level] = ones[own + level]
    view = first[a]
    while view + 4 <= first[a + 1]:
        one, two = np.uint64(_place(views, view, record)), np.uint64(_place(views, view + 1, record))
        three, four = np.uint64(_place(views, view + 2, record)), np.uint64(_place(views, view + 3, record))
        for level in range(whole):
            chances[level] *= (flat[one + level] * flat[two + level]) * (flat[three + level] * flat[four + level])
        view += 4
    while view < first[a + 1]:
        place = np.uint64(_place(views, view, record))
        for level in range(whole):
            chances[level] *= flat[place + level]
        view += 1
    return size


@njit(cache=True, nogil=True)
def _add(pull, record, a, starts, ones, first, views, flat):  # type: ignore[no-untyped-def]
    """As `_multiply`, but sums."""
    size = starts[a + 1] - starts[a]
    whole = np.uint64((size + STRIDE - 1) // STRIDE * STRIDE)
    own = np.uint64(starts[a])
    for level in range(whole):
        pull[level] = ones[own + level]
    view = first[a]
    while view + 4 <= first[a + 1]:
        one, two = np.uint64(_place(views, view, record)), np.uint64(_place(views, view + 1, record))
        three, four = np.uint64(_place(views, view + 2, record)), np.uint64(_place(views, view + 3, record))
        for level in range(whole):
            pull[level] += (flat[one + level] + flat[two + level]) + (flat[three + level] + flat[four + level])
        view += 4
    while view < first[a + 1]:
        place = np.uint64(_place(views, view, record))
        for level in range(whole):
            pull[level] += flat[place + level]
        view += 1
    return size


@njit(cache=True, nogil=True)
def _total(chances, size):  # type: ignore[no-untyped-def]
    """Their sum, in four parts that do not wait for one another."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = size - size % 4
    for level in range(0, whole, 4):
        a += chances[level]
        b += chances[level + 1]
        c += chances[level + 2]
        d += chances[level + 3]
    for level in range(whole, size):
        a += chances[level]
    return (a + b) + (c + d)


@njit(cache=True, nogil=True)
def _bar(pull, size, record, a, bars, rank, out):  # type: ignore[no-untyped-def]
    """Take out the levels of a that cannot occur beside those of the record's other values whose rank is not higher, by
    setting what is held of them to `out`."""
    bars_of, listed, barred, scores, limits = bars
    for at in range(bars_of[a], bars_of[a + 1]):
        bar = listed[at]
        own, total, known = -1, -limits[bar], True
        for k in range(barred.shape[1]):
            b = barred[bar, k, 0]
            if b < 0:
                break
            if b == a:
                own = barred[bar, k, 1]
            elif rank[b] > rank[a]:
                known = False
                break
            else:
                total += scores[barred[bar, k, 1] + record[b]]
        if known:
            for level in range(size):
                if total + scores[own + level] > 0.0:
                    pull[level] = out


@njit(cache=True, nogil=True)
def _widest(starts):  # type: ignore[no-untyped-def]
    width = 0
    for a in range(starts.size - 1):
        width = max(width, starts[a + 1] - starts[a])
    return width


@njit(cache=True, nogil=True)
def _chances(pull, size):  # type: ignore[no-untyped-def]
    """Turn what speaks against each level into chances; returns their sum and what speaks against the likeliest."""
    least = pull[:size].min()
    total = 0.0
    if least < np.inf:
        for level in range(size):
            pull[level] = np.exp(least - pull[level])
            total += pull[level]
    return total, least


@njit(cache=True, nogil=True)
def _chosen(pull, size, left, otherwise):  # type: ignore[no-untyped-def]
    chosen = otherwise
    for level in range(size):
        if pull[level] > 0.0:
            chosen = level
            left -= pull[level]
            if left < 0.0:
                break
    return chosen


@njit(cache=True, nogil=True)
def draw(records, held, uniforms, starts, ones, first, views, flat, bars, likely_ones, likely):  # type: ignore[no-untyped-def]
    """Each value of each record, but for the first `held`, drawn anew given the others:
    P(level) ∝ exp(−what speaks against it).

    `likely_ones` and `likely` hold exp(−`ones`) and exp(−`flat`), and `STRIDE` numbers more: products of them need no
    exponential for each level of each record. Where they leave the range of numbers, sums do.
    """
    pull = np.empty(_widest(starts) + STRIDE, dtype=np.float32)  # twice as many at once
    rank = np.zeros(records.shape[1], dtype=np.int64)
    for block in range(0, records.shape[0], _BLOCK):
        for a in range(held, records.shape[1]):
            for i in range(block, min(block + _BLOCK, records.shape[0])):
                record = records[i]
                size = _multiply(pull, record, a, starts, likely_ones, first, views, likely)
                _bar(pull, size, record, a, bars, rank, 0.0)
                total = _total(pull, size)
                if not _SMALLEST < total < np.inf:
                    size = _gather(pull, record, a, starts, ones, first, views, flat, rank)
                    _bar(pull, size, record, a, bars, rank, np.inf)
                    total, _ = _chances(pull, size)
                if total > 0.0:
                    record[a] = _chosen(pull, size, uniforms[i, a] * total, record[a])


@njit(cache=True, nogil=True)
def leap(records, some, block, uniforms, starts, ones, first, views, flat, bars):  # type: ignore[no-untyped-def]
    """All values of a block of attributes drawn anew at once, for some of the records.

    Attributes that rules link may have no way from one state to another that changes a single value. They are drawn
    one after another, each given those before it and all outside the block; the draw is accepted with the chance that
    makes up for what came after (Metropolis and Hastings), the ratio of the products of the sums of chances.
    """
    pull = np.empty(_widest(starts))
    rank = np.full(records.shape[1], -1, dtype=np.int64)
    for k in range(block.size):
        rank[block[k]] = k
    for row in range(some.size):
        record = records[some[row]]
        other = record.copy()
        ratio = 0.0
        for k in range(block.size):
            a = block[k]
            size = _gather(pull, record, a, starts, ones, first, views, flat, rank)
            _bar(pull, size, record, a, bars, rank, np.inf)
            total, least = _chances(pull, size)
            ratio -= np.log(total) - least
            size = _gather(pull, other, a, starts, ones, first, views, flat, rank)
            _bar(pull, size, other, a, bars, rank, np.inf)
            total, least = _chances(pull, size)
            if total == 0.0:
                ratio = -np.inf
                break
            ratio += np.log(total) - least
            other[a] = _chosen(pull, size, uniforms[row, k] * total, other[a])
        if np.log(uniforms[row, block.size]) < ratio:
            record[:] = other


@njit(cache=True, nogil=True)
def lean(records, ordered, starts, ones, first, views, flat, found):  # type: ignore[no-untyped-def]
    """By how much the state above the record's own is likelier than the one below, for each state between, of the
    attributes that have so many first states in order."""
    pull = np.empty(_widest(starts))
    rank = np.zeros(records.shape[1], dtype=np.int64)
    for i in range(records.shape[0]):
        for a in range(records.shape[1]):
            own = records[i, a]
            if ordered[a] > 1 and own < ordered[a]:
                _gather(pull, records[i], a, starts, ones, first, views, flat, rank)
                low, high = max(own - 1, 0), min(own + 1, ordered[a] - 1)
                found[i, a] = (pull[low] - pull[high]) / (high - low)


@njit(cache=True, nogil=True)
def mend(records, held, order, starts, slopes, one_weight, first, views, flat, weight, bars, owner, kin):  # type: ignore[no-untyped-def]
    """Each value changed where that lowers Σ weight·(count − wanted)²/2; `flat` and `slopes` hold its derivatives, and
    `STRIDE` numbers more.

    The first `held` values stay. `owner` is the table of each view and `kin` the views of each table. Returns how many
    values changed.
    """
    bends = one_weight.copy()
    for a in range(starts.size - 1):
        for view in range(first[a], first[a + 1]):
            bends[a] += weight[owner[view]]
    pull = np.empty(_widest(starts) + STRIDE, dtype=flat.dtype)
    rank = np.zeros(records.shape[1], dtype=np.int64)
    changed = 0
    for block in range(0, order.size, _MENDED):
        for a in range(held, records.shape[1]):
            for i in order[block : block + _MENDED]:
                record = records[i]
                size = _add(pull, record, a, starts, slopes, first, views, flat)
                _bar(pull, size, record, a, bars, rank, np.inf)
                old = record[a]
                best, least = old, pull[old] - bends[a] * (1 + _NOTHING)
                for level in range(size):
                    if level != old and pull[level] < least:
                        best, least = level, pull[level]
                if best == old:
                    continue
                changed += 1
                slopes[starts[a] + old] -= one_weight[a]
                slopes[starts[a] + best] += one_weight[a]
                for view in range(first[a], first[a + 1]):
                    _move(flat, kin[owner[view]], views, record, a, best, weight[owner[view]])
                record[a] = best
    return changed


@njit(cache=True, nogil=True)
def graft(records, order, donors, block, tables, starts, slopes, one_weight, views, flat, weight, kin):  # type: ignore[no-untyped-def]
    """All values of a block of attributes taken over from another record, where that lowers the same sum as `mend`.

    Rules link attributes within a block alone, so that values which stand together in one record can do so in any.
    `tables` are those that hold an attribute of the block. Returns how many records changed.
    """
    changed = 0
    for row in range(order.size):
        record = records[order[row]]
        other = record.copy()
        gain, differs = 0.0, False
        for a in block:
            other[a] = records[donors[row], a]
            if other[a] != record[a]:
                differs = True
                gain += slopes[starts[a] + other[a]] - slopes[starts[a] + record[a]] + one_weight[a]
        if not differs:
            continue
        for table in tables:
            view = kin[table, 0]
            own = views[view, 5]
            old, new = _place(views, view, record) + record[own], _place(views, view, other) + other[own]
            if old != new:
                gain += flat[new] - flat[old] + weight[table]
        if gain >= -1e-9:
            continue
        changed += 1
        for a in block:
            slopes[starts[a] + record[a]] -= one_weight[a]
            slopes[starts[a] + other[a]] += one_weight[a]
        for table in tables:
            _count(flat, kin[table], views, record, -weight[table])
            _count(flat, kin[table], views, other, weight[table])
        record[:] = other
    return changed


@njit(cache=True, nogil=True)
def tally(columns, tables, sizes, first, counts):  # type: ignore[no-untyped-def]
    """How many records there are in each cell of each table, one table after another from its `first` cell; tables of
    fewer columns are padded with columns that have the size 1. Table by table: its counts then stay at hand."""
    for t in range(tables.shape[0]):
        here = counts[first[t] :]
        one, two, three = columns[tables[t, 0]], columns[tables[t, 1]], columns[tables[t, 2]]
        b, c = sizes[t, 1], sizes[t, 2]
        if c > 1:
            for i in range(one.size):
                here[np.uint64((one[i] * b + two[i]) * c + three[i])] += 1
        elif b > 1:
            for i in range(one.size):
                here[np.uint64(one[i] * b + two[i])] += 1
        else:
            for i in range(one.size):
                here[np.uint64(one[i])] += 1


@njit(cache=True, nogil=True)
def _move(flat, kin, views, record, a, level, amount):  # type: ignore[no-untyped-def]
    """The record goes to another level of attribute a in every view of a table that holds it."""
    for view in kin:
        if view < 0:
            break
        own = views[view, 5]
        place = _place(views, view, record) + record[own]
        step = 1 if own == a else views[view, 2] if views[view, 1] == a else views[view, 4]
        flat[place] -= amount
        flat[place + (level - record[a]) * step] += amount


@njit(cache=True, nogil=True)
def _count(flat, kin, views, record, amount):  # type: ignore[no-untyped-def]
    """One record more or less in every view of a table."""
    for view in kin:
        if view < 0:
            break
        flat[_place(views, view, record) + record[views[view, 5]]] += amount
