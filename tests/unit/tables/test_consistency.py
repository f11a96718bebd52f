"""Projection onto counts that add up: the least-squares one, by its optimality conditions and by another solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from tacita.tables.consistency import consistent, onto_simplex, rounded

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
