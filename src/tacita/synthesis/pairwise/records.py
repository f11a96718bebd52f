"""Records that agree with all measured tables at once: one value of one record is changed at a time, if that helps.

Post-processing only. The loss is Σ (count − measured)²/variance over all measured numbers; pairs that were not measured
have a guess of little weight in their place. Changing an attribute of a record moves it in one row of each table that
has the attribute, so the gain of every possible change follows from a few table look-ups. A few sweeps over the records
reach a state where hardly any change helps.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from tacita.synthesis.pairwise.mixture import completed, fit_mixture, tempered
from tacita.synthesis.pairwise.targets import Targets

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ENOUGH = 0.01  # of the records changed in a sweep: then it is over
_MOST_SWEEPS = 30
_MOST_TRIES = 50


@numba.njit(cache=True, nogil=True)
def _sweep(records, order, starts, levels, slope, bend, step, signed, one_slope, one_step, barred):  # type: ignore[no-untyped-def]
    """One pass. `slope[c, d]` is the derivative of the loss in the count of the pair of columns (c, d)."""
    attributes = records.shape[1]
    changed = 0
    for i in order:
        for a in range(attributes):
            old = starts[a] + records[i, a]
            best, gain = -1, -1e-9
            for level in range(levels[a]):
                new = starts[a] + level
                if new == old:
                    continue
                cost = one_slope[new] - one_slope[old] + one_step[a]
                allowed = True
                for b in range(attributes):
                    if b != a:
                        other = starts[b] + records[i, b]
                        if barred[new, other]:
                            allowed = False
                            break
                        cost += slope[new, other] - slope[old, other] + bend[a, b]
                if allowed and cost < gain:
                    best, gain = new, cost
            if best < 0:
                continue
            changed += 1
            records[i, a] = best - starts[a]
            one_slope[old] -= one_step[a]
            one_slope[best] += one_step[a]
            for b in range(attributes):
                if b == a:
                    continue
                other = starts[b] + records[i, b]
                w = step[a, b]
                if signed[a, b]:
                    # One number changes by two; it stands with its sign on both levels of a, and of b if b has signs.
                    move = 2.0 * w if records[i, a] == 0 else -2.0 * w
                    if signed[b, a]:
                        move = move if records[i, b] == 0 else -move
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
                        add = w if records[i, b] == y else -w
                        slope[old, starts[b] + y] -= add
                        slope[starts[b] + y, old] -= add
                        slope[best, starts[b] + y] += add
                        slope[starts[b] + y, best] += add
                else:
                    slope[old, other] -= w
                    slope[other, old] -= w
                    slope[best, other] += w
                    slope[other, best] += w
    return changed


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
