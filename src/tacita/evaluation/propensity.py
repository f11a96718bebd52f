"""General utility from propensity scores: can a model tell synthetic records from original ones?

The files are stacked and a model predicts which file a record is from. pMSE is the mean squared distance of the
predictions from the share of synthetic records; the ratio divides it by what draws from the original's own
distribution would get; SPECKS is the Kolmogorov-Smirnov distance between the scores of the two files.

`general_metrics` are the measures of general utility, in the order a report shows them.

A classification tree (CART) for "is this row original?", grown on binned columns.

Splits lower the Gini impurity most. A number is cut between two of at most 255 bins of the stacked file; the levels
of a category are ordered by their share of original rows, which for two classes finds the best of all groupings. The
tree is grown to a depth with a smallest leaf and is not pruned: the permutation null is grown by the same rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.compiled import njit
from tacita.errors import UsageError
from tacita.evaluation.cells import WORKERS, Numbers, to_bins
from tacita.evaluation.design import build
from tacita.evaluation.encoding import Pair
from tacita.evaluation.fits import Propensity, lasso, logistic
from tacita.evaluation.marginals import (
    full_table_distance,
    k_marginal,
    k_marginal_six_bins,
    total_variation,
    wasserstein_ratio,
    worst_total_variation,
)
from tacita.evaluation.metric import Metric, Outcome, averaged
from tacita.evaluation.passes import Passes

Model = Literal["logistic", "lasso", "cart"]
_LIMIT = 500


def pmse(model: Model = "logistic", *, interactions: bool = False, limit: int = _LIMIT) -> Metric:
    """Mean squared error of the propensity scores (Woo et al. 2009; Snoke et al. 2018).

    `interactions` adds all two-way interactions, smallest first, up to `limit` parameters; the details name those
    left out. A tree finds its own interactions.
    """
    return Metric(
        f"pMSE ({_describe(model, interactions)})",
        "lower",
        (0.0, 0.25),
        0.0,
        "mean squared distance of propensity scores from their average; 0 when the model cannot tell the files apart",
        averaged(partial(_pmse, fit=_fit(model, interactions, limit))),
    )


def pmse_ratio(
    model: Literal["logistic", "cart"] = "logistic",
    *,
    interactions: bool = False,
    limit: int = _LIMIT,
    permutations: int = 20,
    seed: int = 2018,
) -> Metric:
    """pMSE over its expectation when synthetic records are draws from the original's own distribution.

    Logistic: the expectation is (k − 1)(1 − c)²c/N with k parameters, c the share of synthetic and N the number of
    stacked rows (Snoke et al. 2018). A tree has no such formula: it is (1 − c) times the mean of trees grown on
    permuted labels, because permuting also redraws the original, which has the same ratio to the formula above.

    A resample of the original scores 1, a fresh sample of the population 1/(1 − c): 2 for files of equal size.
    That is also the value to expect in the hold-out form.
    """
    if permutations < 1:
        raise UsageError("permutations: at least one is needed")
    fit = _fit(model, interactions, limit)
    null = partial(_permuted, permutations=permutations, seed=seed) if model == "cart" else _expected
    return Metric(
        f"pMSE ratio ({_describe(model, interactions)})",
        "closer",
        (0.0, math.inf),
        1.0,
        "pMSE in units of its value when records are drawn at random from the original; a fresh sample has about 2",
        averaged(partial(_ratio, fit=fit, null=null)),
    )


def specks() -> Metric:
    """SPECKS (bowen2018, section 2.3): KS distance between the scores of the two files, logistic main effects."""
    return Metric(
        "SPECKS",
        "lower",
        (0.0, 1.0),
        0.0,
        "largest gap between the distributions of propensity scores of the two files; 1 when they never overlap",
        averaged(_specks),
    )


def _describe(model: Model, interactions: bool) -> str:
    if model == "cart":
        return "CART"
    return f"{'LASSO' if model == 'lasso' else model}, {'with' if interactions else 'without'} interactions"


def _fit(model: Model, interactions: bool, limit: int) -> Callable[[Pair], Propensity]:
    if model == "cart":
        return _cart
    if model not in ("logistic", "lasso"):
        raise UsageError('model: must be "logistic", "lasso" or "cart"')
    if limit < 2:
        raise UsageError("limit: a propensity model needs at least two parameters")
    return partial(_logistic if model == "logistic" else _lasso, interactions=interactions, limit=limit)


def _passes(pair: Pair, interactions: bool, limit: int) -> Passes:
    limit = limit if interactions else 0  # main effects are never left out
    return pair.once(
        ("passes", interactions, limit), lambda: Passes(build(pair, interactions=interactions, limit=limit))
    )


def _logistic(pair: Pair, interactions: bool, limit: int) -> Propensity:
    model = _passes(pair, interactions, limit)
    return pair.once(("logistic", model), lambda: logistic(model))


def _lasso(pair: Pair, interactions: bool, limit: int) -> Propensity:
    model = _passes(pair, interactions, limit)
    return pair.once(("lasso", model), lambda: lasso(model)[0])


def _pmse(pair: Pair, fit: Callable[[Pair], Propensity]) -> Outcome:
    fitted = fit(pair)
    return Outcome(fitted.pmse(), _details(fitted))


def _details(fitted: Propensity) -> dict[str, Any]:
    return {
        "parameters": fitted.parameters,
        "converged": fitted.converged,
        "ridge": fitted.ridge,
        "left_out": fitted.left_out,
    }


def _ratio(pair: Pair, fit: Callable[[Pair], Propensity], null: Callable[[Pair, Propensity], float]) -> Outcome:
    fitted = fit(pair)
    expected = null(pair, fitted)
    # Nothing varies: no model can tell the files apart, and neither could it under the null.
    value = fitted.pmse() / expected if expected > 0 else 1.0
    return Outcome(value, {**_details(fitted), "pmse": fitted.pmse(), "expected": expected})


def _expected(pair: Pair, fitted: Propensity) -> float:
    synthetic = pair.synthetic.rows / pair.rows
    return (fitted.parameters - 1) * (1 - synthetic) ** 2 * synthetic / pair.rows


def _specks(pair: Pair) -> Outcome:
    fitted = _logistic(pair, False, 0)
    return Outcome(fitted.ks_distance(), _details(fitted))


def _tree_data(pair: Pair) -> Binned:
    return pair.once("binned for trees", lambda: binned(pair))


def _leaf(pair: Pair) -> int:
    """Rows a leaf must have: enough for a share to mean something."""
    return max(1, min(20, pair.rows // 10))


def _cart(pair: Pair) -> Propensity:
    def grown() -> Propensity:
        score = grow(_tree_data(pair), pair.is_original, depth=8, leaf=_leaf(pair))
        return Propensity(score, pair.is_original.astype(np.float64), np.ones(pair.rows), len(np.unique(score)), True)

    return pair.once("cart", grown)


def _permuted(pair: Pair, fitted: Propensity, permutations: int, seed: int) -> float:
    def one(random: np.random.Generator) -> float:
        labels = random.permutation(pair.is_original)
        score = grow(_tree_data(pair), labels, depth=8, leaf=_leaf(pair))
        return float(np.mean((score - fitted.share) ** 2))

    with ThreadPoolExecutor(WORKERS) as pool:
        return fitted.share * float(np.mean(list(pool.map(one, np.random.default_rng(seed).spawn(permutations)))))


def general_metrics(*, seed: int = 2018) -> tuple[Metric, ...]:
    """Every measure of general utility; `seed` fixes the permutations, so that a report can be made again.

    >>> import pandas as pd
    >>> from tacita.evaluation import compare
    >>> frame = pd.DataFrame({"sex": ["F", "M"] * 50, "pay": range(100)})
    >>> [metric(compare(frame, frame)).value for metric in general_metrics()][:4]
    [0.0, 0.0, 0.0, 0.0]
    """
    return (
        pmse(),
        pmse(interactions=True),
        pmse("lasso", interactions=True),
        pmse("cart"),
        pmse_ratio(),
        pmse_ratio(interactions=True),
        pmse_ratio("cart", seed=seed),
        specks(),
        wasserstein_ratio(seed=seed),
        k_marginal_six_bins(),
        k_marginal(3, seed=seed),
        *(total_variation(k, seed=seed) for k in (1, 2, 3)),
        *(worst_total_variation(k, seed=seed) for k in (1, 2, 3)),
        full_table_distance(),
    )


_BINS = 255


@dataclass(frozen=True, eq=False)
class Binned:
    """The stacked file for trees: one row of bins per column, and which columns have an order."""

    bins: NDArray[np.uint16]
    sizes: NDArray[np.int64]
    ordered: NDArray[np.bool_]


def binned(pair: Pair) -> Binned:
    """Codes of categories; numbers in bins of equal share, or one bin per value where there are few."""
    made, sizes, ordered = [], [], []
    for column in pair.columns:
        if column.kind == "categorical":
            codes, size = pair.codes(column.name), len(column.levels)
        else:
            codes, size = to_bins(pair.numbers(column.name), _cuts(pair.numbers(column.name)))
        if size > np.iinfo(np.uint16).max:  # free text: rare levels share the last bin
            codes, size = np.minimum(codes, np.iinfo(np.uint16).max), int(np.iinfo(np.uint16).max) + 1
        made.append(codes.astype(np.uint16))
        sizes.append(size)
        ordered.append(column.kind == "numeric")
    return Binned(np.stack(made), np.array(sizes), np.array(ordered))


def _cuts(values: Numbers) -> Numbers:
    known = np.sort(values[~np.isnan(values)])
    if not known.size:
        return np.zeros(0)
    at = (np.arange(1, _BINS) * known.size) // _BINS
    distinct = known[np.flatnonzero(np.diff(known, append=np.inf))]
    return np.asarray(distinct[:-1] if distinct.size <= _BINS else np.unique(known[at]))


def grow(data: Binned, original: NDArray[np.bool_], *, depth: int, leaf: int) -> Numbers:
    """Share of original rows in the leaf of each row."""
    rows = len(original)
    node = np.zeros(rows, dtype=np.int32)
    share = np.array([original.mean()])
    for _ in range(depth):
        nodes = len(share)
        splits = [
            _best_split(_histogram(bins, size, node, original, nodes), ordered, leaf)
            for bins, size, ordered in zip(data.bins, data.sizes, data.ordered, strict=True)
        ]
        gains = np.stack([gain for gain, _ in splits])
        chosen = gains.argmax(axis=0)
        split = gains.max(axis=0) > 0
        if not split.any():
            break
        left = np.zeros((nodes, int(data.sizes.max())), dtype=np.bool_)
        for place in np.flatnonzero(split):
            sides = splits[chosen[place]][1][place]
            left[place, : len(sides)] = sides
        # Children are numbered 2i and 2i + 1; a node that does not split keeps its rows in 2i.
        node = _descend(data.bins, chosen, split, left, node)
        kept = np.bincount(node, minlength=2 * nodes)
        positive = np.bincount(node, weights=original, minlength=2 * nodes)
        share = np.divide(positive, kept, out=np.zeros(2 * nodes), where=kept > 0)
    return share[node]


@njit(nogil=True, cache=True)
def _histogram(bins, size, node, original, nodes):  # type: ignore[no-untyped-def]
    counts = np.zeros((nodes, size, 2), dtype=np.int64)
    for row in range(len(bins)):
        counts[node[row], bins[row], 1 if original[row] else 0] += 1
    return counts


@njit(nogil=True, cache=True)
def _best_split(counts, ordered, leaf):  # type: ignore[no-untyped-def]
    """For every node the largest fall in impurity and the bins that go left; 0 where no split is allowed."""
    nodes, size, _ = counts.shape
    gains = np.zeros(nodes)
    left = np.zeros((nodes, size), dtype=np.bool_)
    for node in range(nodes):
        total = counts[node].sum(axis=0)
        n = total[0] + total[1]
        if n < 2 * leaf or total[0] == 0 or total[1] == 0:
            continue
        here = counts[node, :, 0] + counts[node, :, 1]
        used = np.flatnonzero(here)
        if not ordered:
            used = used[np.argsort(counts[node, used, 1] / here[used])]
        base = (total[1] * total[1] + total[0] * total[0]) / n
        zeros, ones, where = 0, 0, -1
        for place in range(len(used) - 1):
            zeros += counts[node, used[place], 0]
            ones += counts[node, used[place], 1]
            m = zeros + ones
            if m < leaf or n - m < leaf:
                continue
            # Gini: the sum over sides of (ones² + zeros²) / rows rises as the impurity falls.
            gain = (
                (ones * ones + zeros * zeros) / m + ((total[1] - ones) ** 2 + (total[0] - zeros) ** 2) / (n - m) - base
            )
            if gain > gains[node] + 1e-9:
                gains[node] = gain
                where = place
        for place in range(where + 1):
            left[node, used[place]] = True
    return gains, left


@njit(nogil=True, cache=True)
def _descend(bins, chosen, split, left, node):  # type: ignore[no-untyped-def]
    out = np.empty(len(node), dtype=np.int32)
    for row in range(len(node)):
        here = node[row]
        goes_left = not split[here] or left[here, bins[chosen[here], row]]
        out[row] = 2 * here if goes_left else 2 * here + 1
    return out
