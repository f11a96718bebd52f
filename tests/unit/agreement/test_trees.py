"""Estimates on a tree and projections onto counts that add up, against dense solutions and other solvers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from tacita.agreement.trees import least_squares, onto_simplices, phantom_histogram, shared_out, whole
from tacita.errors import UsageError
from tacita.tables.consistency import consistent, onto_simplex, rounded

TREES = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=4)


def tree_of(shape: list[list[int]]) -> list[np.ndarray]:
    """Parents by layer: node i of a layer gets as many children as the shape says, repeating; some get none."""
    parents, size = [], 1
    for fans in shape:
        fan = np.array([fans[i % len(fans)] for i in range(size)])
        if not fan.any():
            break
        parents.append(np.repeat(np.arange(size), fan))
        size = min(int(fan.sum()), 60)
        parents[-1] = parents[-1][:size]
    return parents


def dense(parents: list[np.ndarray], y: list[np.ndarray], var: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Generalised least squares with every node a sum of leaves, by the normal equations with known nodes as bounds."""
    sizes = [one.size for one in y]
    offset = np.concatenate(([0], np.cumsum(sizes)))
    above = np.full(offset[-1], -1)
    for at, parent in enumerate(parents):
        above[offset[at + 1] : offset[at + 2]] = offset[at] + parent
    leaves = [i for i in range(offset[-1]) if i not in set(above.tolist())]
    design = np.zeros((offset[-1], len(leaves)))
    for column, leaf in enumerate(leaves):
        while leaf >= 0:
            design[leaf, column] = 1
            leaf = above[leaf]
    values, spread = np.concatenate(y), np.concatenate(var)
    noisy = np.isfinite(spread) & (spread > 0)
    weight = np.where(noisy, 1 / np.where(noisy, spread, 1), 0)
    known = design[spread == 0]
    normal = design.T @ (weight[:, None] * design)
    kkt = np.block([[normal, known.T], [known, np.zeros((len(known), len(known)))]])
    inverse = np.linalg.inv(kkt)
    right = np.concatenate([design.T @ (weight * np.where(noisy, values, 0)), values[spread == 0]])
    beta = (inverse @ right)[: len(leaves)]
    covariance = inverse[: len(leaves), : len(leaves)]
    return design @ beta, np.diag(design @ covariance @ design.T)


@settings(max_examples=150, deadline=None)
@given(
    TREES, st.integers(0, 2**32 - 1), st.sampled_from(["noisy", "known root", "unmeasured root", "unmeasured inner"])
)
def test_equals_the_dense_solution(shape: list[list[int]], seed: int, kind: str) -> None:
    parents = tree_of(shape)
    rng = np.random.default_rng(seed)
    sizes = [1, *(one.size for one in parents)]
    y = [rng.normal(20, 30, size=size) for size in sizes]
    var = [rng.uniform(0.1, 10, size=size) for size in sizes]
    if kind == "known root":
        var[0][:] = 0
    elif kind == "unmeasured root" and parents:
        var[0][:] = np.inf
    elif kind == "unmeasured inner":
        for at, parent in enumerate(parents[:-1]):
            inner = np.bincount(parents[at + 1], minlength=parent.size) > 0
            var[at + 1][inner & (rng.random(parent.size) < 0.5)] = np.inf
    found = least_squares(parents, y, var)
    values, variances = dense(parents, y, var)
    np.testing.assert_allclose(np.concatenate(found.values), values, atol=1e-9, rtol=1e-9)
    np.testing.assert_allclose(np.concatenate(found.variances), variances, atol=1e-9, rtol=1e-9)
    for at, parent in enumerate(parents):
        inner = np.bincount(parent, minlength=sizes[at]) > 0
        sums = np.bincount(parent, weights=found.values[at + 1], minlength=sizes[at])
        np.testing.assert_allclose(sums[inner], found.values[at][inner], atol=1e-8)


def test_one_unmeasured_child_is_what_the_others_leave() -> None:
    parents = [np.array([0, 0, 0])]
    y, var = [np.array([10.0]), np.array([4.0, 99.0, 1.0])], [np.array([2.0]), np.array([1.0, np.inf, 3.0])]
    found = least_squares(parents, y, var)
    assert found.values[1].tolist() == [4.0, 5.0, 1.0]
    assert found.variances[1].tolist() == [1.0, 6.0, 3.0]


def test_what_cannot_be_estimated_is_refused() -> None:
    values = [np.zeros(1), np.zeros(2)]
    with pytest.raises(UsageError, match="two children"):
        least_squares([np.array([0, 0])], values, [np.ones(1), np.full(2, np.inf)])
    with pytest.raises(UsageError, match="unmeasured"):
        least_squares([np.array([0, 0])], values, [np.array([np.inf]), np.array([1.0, np.inf])])
    with pytest.raises(UsageError, match="does not have"):
        least_squares([np.array([0, 1])], values, values)


@settings(max_examples=150, deadline=None)
@given(TREES, st.integers(0, 2**32 - 1), st.booleans())
def test_whole_numbers_add_up_at_every_node(shape: list[list[int]], seed: int, chance: bool) -> None:
    parents = tree_of(shape)
    rng = np.random.default_rng(seed)
    sizes = [1, *(one.size for one in parents)]
    var = [np.full(size, 25.0) for size in sizes]
    estimate = least_squares(parents, [rng.normal(5, 10, size=size) for size in sizes], var)
    found = whole(parents, estimate.values, random=rng if chance else None)
    for at, parent in enumerate(parents):
        inner = np.bincount(parent, minlength=sizes[at]) > 0
        sums = np.bincount(parent, weights=found[at + 1], minlength=sizes[at])
        assert np.array_equal(sums[inner], found[at][inner])
    assert all(bool((one >= 0).all()) and one.dtype == np.int64 for one in found)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.integers(0, 2**32 - 1))
def test_the_projection_is_the_one_group_projection(groups: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    group = np.array(groups)
    values, totals = rng.normal(3, 5, size=group.size), rng.integers(0, 20, size=6)
    found = onto_simplices(values, group, totals)
    for one in np.unique(group):
        np.testing.assert_allclose(found[group == one], onto_simplex(values[group == one], totals[one]), atol=1e-9)


def test_random_rounding_keeps_the_expected_value() -> None:
    rng = np.random.default_rng(5)
    values = np.array([0.25, 0.25, 1.5, 0.0, 3.0, 0.5, 0.5])
    group = np.array([0, 0, 0, 0, 1, 1, 1])
    drawn = np.array([shared_out(values, group, np.array([2, 4]), random=rng) for _ in range(4000)])
    assert (drawn[:, :4].sum(axis=1) == 2).all()
    assert (drawn[:, 4:].sum(axis=1) == 4).all()
    np.testing.assert_allclose(drawn.mean(axis=0), values, atol=0.04)
    assert (drawn[:, 3] == 0).all()


def test_phantom_categories_take_their_share_and_leave_with_it() -> None:
    parents, values = [np.array([0, 0])], [np.array([9.0]), np.array([4.0, 2.0])]
    ours = least_squares(parents, values, [np.ones(1), np.ones(2)])
    paper = phantom_histogram(parents, values, 2)
    # With the true fan-out and equal noise the two agree; padded to 4 categories the paper's sums no longer match.
    np.testing.assert_allclose(np.concatenate(paper), np.concatenate(ours.values))
    padded = phantom_histogram(parents, values, 4)
    assert padded[1].sum() != pytest.approx(padded[0][0])


def test_the_papers_weights_are_least_squares_on_a_full_tree() -> None:
    rng = np.random.default_rng(2)
    parents = [np.repeat(np.arange(3**at), 3) for at in range(3)]
    y = [rng.normal(10, 5, size=3**at) for at in range(4)]
    ours = least_squares(parents, y, [np.full(one.size, 2.0) for one in y])
    np.testing.assert_allclose(np.concatenate(phantom_histogram(parents, y, 3)), np.concatenate(ours.values))


def test_a_million_leaves_take_no_loop_over_nodes() -> None:
    rng = np.random.default_rng(3)
    parents = [np.repeat(np.arange(2**at), 2) for at in range(19)]
    y = [rng.normal(size=2**at) for at in range(20)]
    found = least_squares(parents, y, [np.ones(one.size) for one in y])
    counts = whole(parents, [one + 2.0 ** (19 - at) for at, one in enumerate(found.values)])
    assert counts[19].sum() == counts[0][0]


counts = st.integers(-2000, 5000).map(float)

vectors = st.lists(counts, min_size=1, max_size=30).map(np.array)

totals = st.integers(0, 20_000).map(float)


@given(vectors, totals)
def test_the_projection_meets_the_optimality_conditions(values: NDArray[np.float64], total: float) -> None:
    """x is nearest to v on {x ≥ 0, Σx = t} exactly if x = max(v − μ, 0) for one μ and the sum is right."""
    moved = onto_simplex(values, total)
    assert (moved >= 0).all()
    assert moved.sum() == pytest.approx(total, abs=1e-6)
    kept = moved > 1e-9
    if kept.any():
        shift = (values - moved)[kept]
        assert np.ptp(shift) < 1e-6
        assert (values[~kept] <= shift.max() + 1e-6).all()


@pytest.mark.parametrize("seed", range(5))
def test_another_solver_finds_the_same_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(3, 6, size=6)
    total = max(float(values.sum()), 1.0)
    found = minimize(
        lambda x: ((x - values) ** 2).sum(),
        np.full(6, total / 6),
        jac=lambda x: 2 * (x - values),
        bounds=[(0, None)] * 6,
        constraints={"type": "eq", "fun": lambda x: x.sum() - total, "jac": lambda x: np.ones(6)},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    assert onto_simplex(values, total) == pytest.approx(found.x, abs=1e-4)


@given(vectors)
def test_what_is_consistent_already_stays(values: NDArray[np.float64]) -> None:
    whole = np.abs(values)
    assert onto_simplex(whole, float(whole.sum())) == pytest.approx(whole, abs=1e-9)
    group = np.zeros(whole.size, dtype=np.int64)
    assert np.array_equal(consistent(whole, group, integers=True), whole)


@given(vectors)
def test_rounding_keeps_the_sum_and_moves_less_than_one(values: NDArray[np.float64]) -> None:
    total = max(0, int(values.sum()))
    moved = onto_simplex(values, float(total))
    whole = rounded(moved, total)
    assert whole.sum() == total
    assert (whole >= 0).all()
    assert (np.abs(whole - moved) < 1 + 1e-9).all()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-300, 900)), max_size=40), st.booleans())
def test_every_group_adds_up_by_itself(cells: list[tuple[int, int]], integers: bool) -> None:
    group = np.array([g for g, _ in cells], dtype=np.int64)
    values = np.array([v for _, v in cells], dtype=np.float64)
    moved = consistent(values, group, integers=integers)
    assert moved.shape == values.shape
    assert (moved >= 0).all()
    for one in set(group.tolist()):
        wanted = max(0.0, float(values[group == one].sum()))
        assert moved[group == one].sum() == pytest.approx(wanted, abs=0 if integers else 1e-6)
    if integers:
        assert (moved == np.rint(moved)).all()


def test_values_far_apart_do_not_break_it() -> None:
    assert onto_simplex(np.array([1e18, -1e18]), 1.0).min() >= 0
    assert onto_simplex(np.array([]), 5.0).size == 0
    assert (onto_simplex(np.array([3.0, 4.0]), 0.0) == 0).all()


def test_moving_together_is_not_biased_where_clamping_is() -> None:
    """Many small cells: clamping one by one inflates their sum, moving them together does not."""
    rng = np.random.default_rng(2)
    noisy = rng.integers(0, 3, size=4000) + rng.laplace(scale=3, size=4000).round()
    group = np.zeros(4000, dtype=np.int64)
    assert np.maximum(noisy, 0).sum() > 1.5 * noisy.sum()
    assert consistent(noisy, group, integers=True).sum() == noisy.sum()
