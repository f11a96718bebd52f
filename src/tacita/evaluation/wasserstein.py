"""The Wasserstein randomisation test: how far apart the files are, in units of how far apart chance puts them.

tran2023 (section 4.2) and Arnold and Neunhoeffer (2020) do not print which distance between multivariate files they
use. Here it is the mean over columns of the 1-Wasserstein distance, a number divided by the standard deviation of
its known values in the original, a category with distance 1 between any two levels (so its distance is the total
variation). A missing number counts as a level of its own: the distance of the known values is weighted by the
smaller share of known cells, and the difference in shares of missing cells is added.

The null permutes which file each whole record belongs to. The score is the distance over the median of the null.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.errors import UsageError
from tacita.evaluation.cells import WORKERS, Numbers
from tacita.evaluation.encoding import Pair
from tacita.evaluation.metric import Metric, Outcome, averaged


def wasserstein_ratio(*, permutations: int = 100, seed: int = 2020) -> Metric:
    """Distance between the files over the median distance between random halves of the stacked file."""
    if permutations < 1:
        raise UsageError("permutations: at least one is needed")
    return Metric(
        "Wasserstein randomisation ratio",
        "lower",
        (0.0, math.inf),
        1.0,
        "distance between the files in units of the median distance when records change files at random; 0 is equal",
        averaged(partial(_ratio, permutations=permutations, seed=seed)),
    )


@dataclass(frozen=True, eq=False)
class _Sorted:
    """A column of the stacked file, ready for any assignment of records to files.

    `order` lists records by value with missing ones last; `step` is the distance from each to the next, in standard
    deviations. For a category `order` lists records by level, and `step` is negative at the last of each level.
    """

    order: NDArray[np.int32]
    step: Numbers
    known: int
    number: bool


def distances(pair: Pair) -> Numbers:
    """The distance of every column, in the order of the columns."""
    labels = pair.is_original
    return np.array([_distance(column, labels, pair.original.rows) for column in _sorted_columns(pair)])


def _ratio(pair: Pair, permutations: int, seed: int) -> Outcome:
    columns = _sorted_columns(pair)
    by_column = distances(pair)
    seeds = np.random.default_rng(seed).spawn(permutations)

    def permuted(random: np.random.Generator) -> float:
        labels = random.permutation(pair.is_original)
        return float(np.mean([_distance(column, labels, pair.original.rows) for column in columns]))

    with ThreadPoolExecutor(WORKERS) as pool:
        null = np.array(list(pool.map(permuted, seeds)))
    distance, middle = float(by_column.mean()), float(np.median(null))
    details = {
        "distance": distance,
        "null_median": middle,
        "null_at_least_as_far": float(np.mean(null >= distance)),
        "by_column": dict(zip(pair.original.names, by_column.tolist(), strict=True)),
    }
    if distance == 0.0:
        return Outcome(0.0, details)
    # A null that is zero more often than not (one odd record) has a mean; were that zero too, chance explains all.
    return Outcome(distance / (middle or float(null.mean()) or distance), details)


def _sorted_columns(pair: Pair) -> list[_Sorted]:
    return pair.once("sorted columns", lambda: [_sort(pair, name) for name in pair.original.names])


def _sort(pair: Pair, name: str) -> _Sorted:
    if pair.original.column(name).kind == "categorical":
        codes = pair.codes(name)
        order = np.argsort(codes, kind="stable").astype(np.int32)
        last = np.append(np.diff(codes[order]) != 0, True)
        return _Sorted(order, np.where(last, -1.0, 0.0), len(codes), False)
    values = pair.numbers(name)
    order = np.argsort(values, kind="stable").astype(np.int32)  # NaN sorts last
    known = int(np.count_nonzero(~np.isnan(values)))
    ordered = values[order][:known]
    own = pair.original.numbers[name]
    own = own[~np.isnan(own)]
    spread = 0.0
    for reference in (own, ordered):  # a column that is constant in the original is scaled by the stacked file
        if spread == 0.0 and reference.size and reference.min() < reference.max():
            scale = float(np.abs(reference).max())
            spread = scale * float(np.std(reference / scale))
    step = np.zeros(len(values))
    if spread > 0:
        step[: max(known - 1, 0)] = np.diff(ordered / spread)
    return _Sorted(order, step, known, True)


def _distance(column: _Sorted, labels: NDArray[np.bool_], first: int) -> float:
    if column.number:
        return float(_between_numbers(column.order, column.step, column.known, labels, first))
    return float(_between_levels(column.order, column.step, labels, first))


@njit(nogil=True, cache=True)
def _between_numbers(order, step, known, labels, first):  # type: ignore[no-untyped-def]
    n, m = first, len(order) - first
    for place in range(known, len(order)):
        if labels[order[place]]:
            n -= 1
        else:
            m -= 1
    gone = abs(n / first - m / (len(order) - first))
    if n == 0 or m == 0:
        return gone
    ahead, total = 0, 0.0
    for place in range(known):
        ahead += m if labels[order[place]] else -n
        total += step[place] * abs(ahead)
    return total / n / m * min(n / first, m / (len(order) - first)) + gone


@njit(nogil=True, cache=True)
def _between_levels(order, step, labels, first):  # type: ignore[no-untyped-def]
    m = len(order) - first
    here, total = 0, 0
    for place in range(len(order)):
        here += m if labels[order[place]] else -first
        if step[place] < 0.0:
            total += abs(here)
            here = 0
    return total / (2.0 * first * m)
