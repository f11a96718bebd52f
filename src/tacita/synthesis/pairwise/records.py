"""Records that agree with all measured tables at once: one value of one record is changed at a time, if that helps.

Post-processing only. The loss is Σ (count − measured)²/variance over all measured numbers; pairs that were not measured
have a guess of little weight in their place. Changing an attribute of a record moves it in one row of each table that
has the attribute, so the gain of every possible change follows from a few table look-ups. A few sweeps over the records
reach a state where hardly any change helps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.synthesis.pairwise.mixture import completed, fit_mixture, tempered
from tacita.synthesis.pairwise.targets import Targets

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ENOUGH = 0.01  # of the records changed in a sweep: then it is over
_MOST_SWEEPS = 30
_MOST_TRIES = 50


@njit(cache=True, nogil=True)
def _sweep(records, order, starts, levels, slope, bend, step, signed, one_slope, one_step, barred):  # type: ignore[no-untyped-def]
    """One pass. `slope[c, d]` is the derivative of the loss in the count of the pair of columns (c, d)."""
    attributes = records.shape[1]
    bends = one_step.copy()
    bound = np.zeros(attributes, dtype=np.bool_)
    for a in range(attributes):
        for b in range(attributes):
            if b != a:
                bends[a] += bend[a, b]
        bound[a] = barred[starts[a] : starts[a + 1]].any()
    pull = np.empty_like(one_slope)
    changed = 0
    for i in order:
        _pulled(pull, records[i], starts, slope, one_slope)
        for a in range(attributes):
            old = starts[a] + records[i, a]
            best, gain = -1, pull[old] - bends[a] - 1e-9
            for new in range(starts[a], starts[a + 1]):
                if new != old and pull[new] < gain and not (bound[a] and _clashes(new, a, records[i], starts, barred)):
                    best, gain = new, pull[new]
            if best < 0:
                continue
            changed += 1
            records[i, a] = best - starts[a]
            _moved(a, old, best, records[i], starts, slope, step, signed)
            one_slope[old] -= one_step[a]
            one_slope[best] += one_step[a]
            _pulled(pull, records[i], starts, slope, one_slope)
    return changed


@njit(cache=True, nogil=True)
def _pulled(pull, record, starts, slope, one_slope):  # type: ignore[no-untyped-def]
    """The derivative of the loss in every value that the record might have: rows of one table, added up."""
    pull[:] = one_slope
    for b in range(record.size):
        row = slope[starts[b] + record[b]]
        for column in range(pull.size):
            pull[column] += row[column]


@njit(cache=True, nogil=True)
def _clashes(new, a, record, starts, barred):  # type: ignore[no-untyped-def]
    for b in range(record.size):  # noqa: SIM110 -- compiled code has no generators
        if b != a and barred[new, starts[b] + record[b]]:
            return True
    return False


@njit(cache=True, nogil=True)
def _moved(a, old, new, record, starts, slope, step, signed):  # type: ignore[no-untyped-def]
    """The slopes after one value of one record has changed."""
    for b in range(record.size):
        if b == a:
            continue
        other = starts[b] + record[b]
        w = step[a, b]
        if signed[a, b]:
            # One number changes by two; it stands with its sign on both levels of a, and of b if b has signs.
            move = 2.0 * w if record[a] == 0 else -2.0 * w
            if signed[b, a]:
                move = move if record[b] == 0 else -move
                for x in range(2):
                    for y in range(2):
                        add = move if x == y else -move
                        slope[starts[a] + x, starts[b] + y] += add
                        slope[starts[b] + y, starts[a] + x] += add
            else:
                for x in range(2):
                    add = move if x == 0 else -move
                    slope[starts[a] + x, other] += add
                    slope[other, starts[a] + x] += add
        elif signed[b, a]:
            for y in range(2):
                add = w if record[b] == y else -w
                slope[old, starts[b] + y] -= add
                slope[starts[b] + y, old] -= add
                slope[new, starts[b] + y] += add
                slope[starts[b] + y, new] += add
        else:
            slope[old, other] -= w
            slope[other, old] -= w
            slope[new, other] += w
            slope[other, new] += w


def pair_counts(records: Integers, targets: Targets) -> Floats:
    """Counts of every pair of levels of every two attributes."""
    found = np.zeros((int(targets.starts[-1]), int(targets.starts[-1])))
    size = records.shape[1]
    for a in range(size):
        for b in range(a, size):
            shape = (int(targets.levels[a]), int(targets.levels[b]))
            joined = np.bincount(records[:, a] * shape[1] + records[:, b], minlength=shape[0] * shape[1])
            found[targets.span(a), targets.span(b)] = joined.reshape(shape)
            found[targets.span(b), targets.span(a)] = joined.reshape(shape).T
    return found


def agreeing_records(targets: Targets, rows: int, random: np.random.Generator) -> Integers:
    """`rows` records whose tables come as near to the targets as changing single values can bring them."""
    targets = completed(targets, rows)
    mixture = fit_mixture(targets, rows, random)
    records = mixture.draw(targets, rows, random)
    targets = tempered(targets, mixture, rows)
    _keep_off(records, targets, random)
    counts = pair_counts(records, targets)
    slope = np.zeros_like(counts)
    for (a, b), wanted in targets.tables.items():
        here = counts[targets.span(a), targets.span(b)]
        part = targets.spread(a, b, targets.numbers(a, b, here) - wanted) * targets.step[a, b]
        slope[targets.span(a), targets.span(b)] = part
        slope[targets.span(b), targets.span(a)] = part.T
    weights = np.repeat(targets.one_step, targets.levels)
    one_slope = (np.diag(counts) - targets.ones) * weights
    for _ in range(_MOST_SWEEPS):
        changed = _sweep(
            records,
            random.permutation(rows),
            targets.starts,
            targets.levels,
            slope,
            targets.bend,
            targets.step,
            targets.signed,
            one_slope,
            targets.one_step,
            targets.barred,
        )
        if changed <= _ENOUGH * rows:
            break
    return records


def _keep_off(records: Integers, targets: Targets, random: np.random.Generator) -> None:
    """Move records out of impossible combinations before the sweeps, which never enter one."""
    for _ in range(_MOST_TRIES):
        bad = np.flatnonzero(_impossible(records, targets))
        if not bad.size:
            return
        for a in random.permutation(records.shape[1]).tolist():
            if not targets.barred[targets.span(a)].any():
                continue
            # How many of the other values each level of this attribute cannot stand beside.
            clashes = np.zeros((bad.size, int(targets.levels[a])))
            for b in range(records.shape[1]):
                clashes += targets.barred[targets.span(a), targets.span(b)][:, records[bad, b]].T
            here = records[bad, a]
            chosen = (clashes + random.random(clashes.shape)).argmin(axis=1)
            records[bad, a] = np.where(clashes[np.arange(bad.size), here] > 0, chosen, here)
    left = _impossible(records, targets)
    if left.any():
        good = records[~left] if not left.all() else np.array([targets.possible()], dtype=np.int64)
        records[left] = good[random.integers(len(good), size=int(left.sum()))]


def _impossible(records: Integers, targets: Targets) -> NDArray[np.bool_]:
    found = np.zeros(len(records), dtype=np.bool_)
    for a in range(records.shape[1]):
        for b in range(a):
            block = targets.barred[targets.span(a), targets.span(b)]
            if block.any():
                found |= block[records[:, a], records[:, b]]
    return found
