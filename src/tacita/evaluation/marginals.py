"""General utility from tables: k-marginal scores, total variation of small marginals, L1 of the full cross.

Numbers enter these metrics as bins whose cut points come from the original alone, so that the same original always
gives the same table. Missing cells are a bin of their own.

The Wasserstein randomisation test: how far apart the files are, in units of how far apart chance puts them.

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
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.errors import UsageError
from tacita.evaluation.cells import WORKERS, Numbers
from tacita.evaluation.encoding import Pair
from tacita.evaluation.metric import Metric, Outcome, averaged

_SHOWN = 25  # worst marginals that are named in the details
_WORDS = {1: "one-way", 2: "two-way", 3: "three-way"}


def k_marginal_six_bins() -> Metric:
    """The k-marginal of tran2023: six bins per number, all variables crossed, 1000·(2 − total difference)/2.

    The bins of a number are (−∞, min), [min, Q1], (Q1, median], (median, Q3], (Q3, max], (max, ∞) of the original.
    """
    return Metric(
        "k-marginal (six bins, all variables)",
        "higher",
        (0.0, 1000.0),
        1000.0,
        "1000 when synthetic records fall into the quartile cells of all variables as original ones do, 0 when never",
        averaged(_six_bins),
    )


def six(original: Numbers) -> Numbers:
    """The cut points of the six bins: just below the minimum, the quartiles, the maximum; equal ones once."""
    known = original[~np.isnan(original)]
    if not known.size:
        return np.zeros(0)
    low, *inner = np.quantile(known, [0, 0.25, 0.5, 0.75, 1])
    return np.unique([np.nextafter(low, -math.inf), *inner])


def _six_bins(pair: Pair) -> Outcome:
    difference = pair.binned(six).distance()
    return Outcome(1000 * (2 - difference) / 2, {"total_difference": difference})


def k_marginal(k: int = 3, *, most: int = 5000, seed: int = 2018) -> Metric:
    """The k-marginal on the 1000-point scale: the mean over all k-way marginals, or `most` random ones if more.

    Numbers are cut at the original's deciles. 1000 minus the score is 1000 times the mean total variation.
    """
    return Metric(
        f"k-marginal (k = {k})",
        "higher",
        (0.0, 1000.0),
        1000.0,
        f"1000 minus a thousand times the mean total variation of the {k}-way marginals; 1000 is identical",
        averaged(partial(_k_marginal, k=k, most=most, seed=seed)),
    )


def _k_marginal(pair: Pair, k: int, most: int, seed: int) -> Outcome:
    chosen, variations = _variations(pair, k, most, seed)
    return Outcome(1000 * (1 - float(variations.mean())), {"marginals": len(chosen), "k": chosen.shape[1]})


def total_variation(k: int, *, most: int = 5000, seed: int = 2018) -> Metric:
    """Mean total variation of the k-way marginals; `details` has every marginal's value for a heat map."""
    return Metric(
        f"total variation, {_WORDS.get(k, f'{k}-way')} mean",
        "lower",
        (0.0, 1.0),
        0.0,
        f"share of records to move so that a {_WORDS.get(k, f'{k}-way')} table of the original is met, on average",
        averaged(partial(_variation, k=k, most=most, seed=seed, worst=False)),
    )


def worst_total_variation(k: int, *, most: int = 5000, seed: int = 2018) -> Metric:
    """The largest total variation of any k-way marginal."""
    return Metric(
        f"total variation, {_WORDS.get(k, f'{k}-way')} worst",
        "lower",
        (0.0, 1.0),
        0.0,
        f"share of records to move so that the {_WORDS.get(k, f'{k}-way')} table that fits worst is met",
        averaged(partial(_variation, k=k, most=most, seed=seed, worst=True)),
    )


def _variation(pair: Pair, k: int, most: int, seed: int, worst: bool) -> Outcome:
    chosen, variations = _variations(pair, k, most, seed)
    k = chosen.shape[1]
    names = pair.original.names
    order = np.argsort(-variations, kind="stable")

    def named(place: int) -> tuple[tuple[str, ...], float]:
        return tuple(names[column] for column in chosen[place]), float(variations[place])

    details = {
        "k": k,
        "marginals": len(chosen),
        "worst": tuple(named(place) for place in order[:_SHOWN]),
        # Everything for one and two columns: the bars and the heat map of a report.
        "all": tuple(named(place) for place in range(len(chosen))) if k <= 2 else (),
    }
    return Outcome(float(variations.max() if worst else variations.mean()), details)


def _variations(pair: Pair, k: int, most: int, seed: int) -> tuple[NDArray[np.int64], Numbers]:
    """The chosen marginals and their total variation, counted once for all the metrics that ask."""

    def count() -> tuple[NDArray[np.int64], Numbers]:
        chosen = _choose(len(pair.columns), k, most, seed)
        return chosen, pair.cells.total_variation(chosen)

    return pair.once(("variation", k, most, seed), count)


def full_table_distance() -> Metric:
    """L1 distance over the full cross-tabulation of all columns, in memory that follows the rows."""
    return Metric(
        "L1 over the full cross-tabulation",
        "lower",
        (0.0, 2.0),
        0.0,
        "summed difference of shares over every combination of all columns; 2 when no combination is shared",
        averaged(_full_distance),
    )


def _full_distance(pair: Pair) -> Outcome:
    return Outcome(pair.cells.distance())


def _choose(columns: int, k: int, most: int, seed: int) -> NDArray[np.int64]:
    """All k-subsets of the columns in order, or `most` different ones at random; k is cut to the column count."""
    if k < 1 or most < 1:
        raise UsageError("k: the number of columns per marginal, and the number of marginals, must be at least 1")
    k = min(k, columns)
    if math.comb(columns, k) <= most:
        return np.array(list(combinations(range(columns), k)), dtype=np.int64)
    random = np.random.default_rng(seed)
    subsets: set[tuple[int, ...]] = set()
    while len(subsets) < most:
        subsets.add(tuple(sorted(random.choice(columns, size=k, replace=False).tolist())))
    return np.array(sorted(subsets), dtype=np.int64)


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
