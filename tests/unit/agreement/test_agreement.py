"""Tables that agree, against the dense generalised least-squares solution written out by hand."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tacita.agreement import overlapping
from tacita.agreement.crossed import Axis, CrossedTable, Layout, agree_crossed, expected, noisy_tables
from tacita.agreement.overlapping import NoisyTable, agree
from tacita.data.schema import Hierarchy
from tacita.errors import UsageError

SEEDS = st.integers(0, 2**32 - 1)


def by_hand(tables: Sequence[NoisyTable]) -> tuple[np.ndarray, np.ndarray]:
    """Every cell of every table and its variance, by the normal equations; for tables without known counts."""
    design = np.concatenate([np.equal.outer(np.arange(one.values.size), one.group) for one in tables]).astype(float)
    values, variances = (np.concatenate([getattr(one, key) for one in tables]) for key in ("values", "variances"))
    weight = 1 / variances
    inverse = np.linalg.pinv(design.T @ (weight[:, None] * design), rcond=1e-10, hermitian=True)
    return design @ inverse @ design.T @ (weight * values), np.diag(design @ inverse @ design.T)


def random_axis(rng: np.random.Generator, depth: int) -> Axis:
    """A tree with uneven fan-out: each level groups the codes of the one before."""
    levels = [np.arange(int(rng.integers(2, 7)))]
    for _ in range(depth):
        below = int(levels[-1].max()) + 1
        groups = np.unique(rng.integers(0, max(1, below - 1), size=below), return_inverse=True)[1]
        levels.append(groups[levels[-1]])
    return Axis((*levels, np.zeros(levels[0].size, dtype=np.int64)))


def check(axes: list[Axis], tables: list[CrossedTable]) -> None:
    layout = Layout.of(axes, [one.levels for one in tables], [one.variance for one in tables])
    flat = noisy_tables(layout, [one.values for one in tables])
    agreed = agree_crossed(axes, tables)
    values, variances = by_hand(flat)
    assert agreed.exact
    np.testing.assert_allclose(np.concatenate([one.ravel() for one in agreed.values]), values, atol=1e-6)
    np.testing.assert_allclose(np.concatenate([one.ravel() for one in agreed.variances]), variances, atol=1e-6)
    for table, before, one, spread in zip(flat, tables, agreed.values, agreed.variances, strict=True):
        np.testing.assert_allclose(table.sums(agreed.cells.ravel()), one.ravel(), atol=1e-7)
        assert spread.max() <= before.variance * (1 + 1e-9)
    for known, spread in zip(expected(layout), agreed.variances, strict=True):
        np.testing.assert_allclose(known, spread, atol=1e-9)


def measured(
    axes: list[Axis], levels: Sequence[tuple[int, ...]], variances: Sequence[float], seed: int
) -> list[CrossedTable]:
    rng = np.random.default_rng(seed)
    shapes = [tuple(axis.sizes[at] for axis, at in zip(axes, one, strict=True)) for one in levels]
    return [
        CrossedTable(one, rng.normal(20, 30, size=shape), float(variance))
        for one, shape, variance in zip(levels, shapes, variances, strict=True)
    ]


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(0, 3))
def test_one_tree_equals_the_dense_solution(seed: int, depth: int) -> None:
    rng = np.random.default_rng(seed)
    axis = random_axis(rng, depth)
    levels = [(at,) for at in range(len(axis.sizes)) if rng.random() < 0.8] or [(0,)]
    check([axis], measured([axis], levels, rng.uniform(0.1, 10, size=len(levels)), seed))


@settings(max_examples=80, deadline=None)
@given(SEEDS)
def test_a_tree_crossed_with_attributes_equals_the_dense_solution_whatever_is_measured(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = [random_axis(rng, 2), *(Axis.flat(int(rng.integers(2, 4))) for _ in range(int(rng.integers(1, 3))))]
    order = rng.permutation(len(axes))
    axes = [axes[at] for at in order]
    every = list(product(*(range(len(axis.sizes)) for axis in axes)))
    chosen = [one for one in every if rng.random() < 0.5] or every[:1]
    check(axes, measured(axes, chosen, rng.uniform(0.1, 10, size=len(chosen)), seed))


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_two_crossed_trees_equal_the_dense_solution(seed: int) -> None:
    """With variances that are a product, by one tree after the other; else by the dense route."""
    rng = np.random.default_rng(seed)
    axes = [random_axis(rng, int(rng.integers(1, 3))) for _ in range(2)]
    every = list(product(*(range(len(axis.sizes)) for axis in axes)))
    factors = [rng.uniform(0.2, 5, size=len(axis.sizes)) for axis in axes]
    products = [float(factors[0][first] * factors[1][second]) for first, second in every]
    assert Layout.of(axes, every, products).factors is not None
    check(axes, measured(axes, every, products, seed))
    chosen = [one for one in every if rng.random() < 0.6] or every[:1]
    check(axes, measured(axes, chosen, rng.uniform(0.1, 10, size=len(chosen)), seed))


@pytest.mark.parametrize("chosen", [[(0, 0, 1), (1, 0, 0), (0, 1, 1)], [(0, 0, 1), (0, 1, 0), (1, 0, 0)]])
def test_overlapping_tables_equal_the_dense_solution(chosen: list[tuple[int, ...]]) -> None:
    """AB, BC and A; AB, AC and BC: the full cross is not measured, and no table contains the others."""
    axes = [Axis.flat(3), Axis.flat(4), Axis.flat(2)]
    check(axes, measured(axes, chosen, [2.0, 0.5, 1.0], seed=3))


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_what_agrees_already_stays_so_that_the_estimate_is_unbiased(seed: int) -> None:
    """The estimate is linear in the values; one that gives back the truth for the truth is right on average."""
    rng = np.random.default_rng(seed)
    axes = [random_axis(rng, 2), random_axis(rng, 1)]
    every = list(product(*(range(len(axis.sizes)) for axis in axes)))
    layout = Layout.of(axes, every, rng.uniform(0.1, 10, size=len(every)).tolist())
    truth = rng.integers(0, 1000, size=layout.shape(layout.finest)).astype(float)
    empty = noisy_tables(layout, [np.zeros(layout.shape(one)) for one in every])
    tables = [NoisyTable(one.group, one.sums(truth.ravel()), one.variances) for one in empty]
    agreed = agree(tables)
    np.testing.assert_allclose(agreed.cells, truth.ravel(), atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.booleans())
def test_gradients_reach_the_dense_solution_and_their_bounds_hold(seed: int, partial: bool) -> None:
    rng = np.random.default_rng(seed)
    cells = int(rng.integers(4, 40))
    groups = [np.unique(rng.integers(0, 6, size=cells), return_inverse=True)[1] for _ in range(3)]
    groups.append(np.arange(cells))
    if partial:  # a table of some cells only
        groups.append(np.where(rng.random(cells) < 0.5, -1, 0))
        assume(bool((groups[-1] == 0).any()))
    tables = [
        NoisyTable(one, rng.normal(50, 40, size=one.max() + 1), rng.uniform(0.1, 9, size=one.max() + 1))
        for one in groups
    ]
    values, variances = by_hand(tables)
    dense = agree(tables)
    fast, bounds, exact = overlapping._gradients(overlapping._joined(tables)[0])
    np.testing.assert_allclose(np.concatenate(dense.values), values, atol=1e-6)
    np.testing.assert_allclose(np.concatenate(dense.variances), variances, atol=1e-8)
    joined = overlapping._joined(tables)[0]
    np.testing.assert_allclose(np.concatenate([one.sums(fast) for one in joined]), values, atol=1e-6)
    assert dense.exact
    assert not exact
    assert (np.concatenate(bounds) >= variances - 1e-9).all()
    assert (np.concatenate(bounds) <= np.concatenate([one.variances for one in tables]) + 1e-9).all()


def test_a_level_that_was_not_measured_is_estimated_from_the_others() -> None:
    axes = [random_axis(np.random.default_rng(4), 2), Axis.flat(3)]
    chosen = [(3, 1), (0, 0), (0, 1)]
    tables = measured(axes, chosen, [1.0, 2.0, 3.0], seed=4)
    unmeasured = CrossedTable((1, 1), np.full((axes[0].sizes[1], 1), np.nan), np.inf)
    with_it, without = agree_crossed(axes, [*tables, unmeasured]), agree_crossed(axes, tables)
    np.testing.assert_allclose(with_it.values[1], without.values[1], atol=1e-9)
    sums = np.zeros(axes[0].sizes[1])
    np.add.at(sums, axes[0].levels[1], without.values[2][:, 0])
    np.testing.assert_allclose(with_it.values[3][:, 0], sums, atol=1e-9)
    assert np.isfinite(with_it.variances[3]).all()


def test_known_counts_are_met_exactly_in_trees_and_crosses() -> None:
    axes = [Axis.flat(3), Axis.flat(4)]
    tables = measured(axes, [(1, 1), (0, 1), (1, 0), (0, 0)], [0.0, 1.0, 2.0, 3.0], seed=1)
    agreed = agree_crossed(axes, tables)
    assert agreed.values[0].item() == pytest.approx(tables[0].values.item())
    assert agreed.variances[0].item() == pytest.approx(0, abs=1e-12)
    layout = Layout.of(axes, [one.levels for one in tables], [one.variance for one in tables])
    dense = agree(noisy_tables(layout, [one.values for one in tables]))
    for one, other in zip(agreed.values, dense.values, strict=True):
        np.testing.assert_allclose(one.ravel(), other, atol=1e-8)
    for one, other in zip(agreed.variances, dense.variances, strict=True):
        np.testing.assert_allclose(one.ravel(), other, atol=1e-8)


def test_variances_are_those_of_the_errors() -> None:
    """Over many draws the observed variances are the stated ones, and a fifth less would be seen."""
    rng = np.random.default_rng(7)
    axes = [Axis((np.arange(5), np.array([0, 0, 0, 1, 1]), np.zeros(5, dtype=np.int64))), Axis.flat(3)]
    chosen, variances = [(2, 1), (1, 0), (0, 1), (0, 0)], [0.5, 1.0, 2.0, 3.0]
    draws = [agree_crossed(axes, measured_around_zero(axes, chosen, variances, rng)).values for _ in range(4_000)]
    stated = expected(Layout.of(axes, chosen, variances))
    for at, spread in enumerate(stated):
        ratio = np.var(np.stack([one[at] for one in draws]), axis=0) / spread
        assert np.abs(ratio - 1).max() < 0.15


def measured_around_zero(
    axes: list[Axis], levels: list[tuple[int, ...]], variances: list[float], rng: np.random.Generator
) -> list[CrossedTable]:
    shapes = [tuple(axis.sizes[at] for axis, at in zip(axes, one, strict=True)) for one in levels]
    return [
        CrossedTable(one, rng.laplace(scale=np.sqrt(variance / 2), size=shape), variance)
        for one, shape, variance in zip(levels, shapes, variances, strict=True)
    ]


def test_an_axis_is_made_from_a_declared_tree() -> None:
    entry = {"column": "place", "levels": ["state", "nation"], "prefix": {"state": 1}}
    axis = Axis.of(Hierarchy.from_dict("geography", entry, ("A1", "A2", "B1")))
    assert axis.sizes == (3, 2, 1)
    assert axis.parents(1, 2).tolist() == [0, 0]


def test_what_makes_no_sense_is_refused() -> None:
    one = NoisyTable(np.array([0, 1]), np.zeros(2), np.ones(2))
    with pytest.raises(UsageError, match="same finest cells"):
        agree([one, NoisyTable(np.array([0]), np.zeros(1), np.ones(1))])
    with pytest.raises(UsageError, match="at least one finest cell"):
        NoisyTable(np.array([0, 0]), np.zeros(2), np.ones(2))
    with pytest.raises(UsageError, match="0 or more"):
        NoisyTable(np.array([0, 1]), np.zeros(2), np.array([-1.0, 1.0]))
    with pytest.raises(UsageError, match="cannot be estimated"):
        agree(
            [
                NoisyTable(one.group, one.values, np.full(2, np.inf)),
                NoisyTable(np.array([0, -1]), np.ones(1), np.ones(1)),
            ]
        )
    known = [NoisyTable(np.array([0, 0]), np.array([float(n)]), np.zeros(1)) for n in (3, 4)]
    with pytest.raises(UsageError, match="contradict"):
        agree([*known, NoisyTable(np.array([0, -1]), np.ones(1), np.ones(1)), one])
    with pytest.raises(UsageError, match="named twice"):
        Layout.of([Axis.flat(2)], [(0,), (0,)], [1.0, 1.0])
    with pytest.raises(UsageError, match="does not have"):
        Layout.of([Axis.flat(2)], [(2,)], [1.0])
    with pytest.raises(UsageError, match="has the shape"):
        agree_crossed([Axis.flat(2)], [CrossedTable((0,), np.zeros(3), 1.0)])
