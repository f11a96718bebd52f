"""General utility from tables: k-marginal scores, total variation of small marginals, L1 of the full cross.

Numbers enter these metrics as bins whose cut points come from the original alone, so that the same original always
gives the same table. Missing cells are a bin of their own.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.evaluation.cells import Numbers
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
