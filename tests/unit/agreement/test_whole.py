"""Whole numbers that are not negative and agree exactly, whatever overlaps."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.agreement.crossed import Axis, CrossedTable, Layout, agree_crossed, noisy_tables
from tacita.agreement.overlapping import Agreed, NoisyTable, agree
from tacita.agreement.trees import whole
from tacita.agreement.whole import whole_tables


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_all_tables_are_sums_of_the_same_whole_cells(seed: int, chance: bool, partial: bool) -> None:
    rng = np.random.default_rng(seed)
    cells = int(rng.integers(2, 40))
    groups = [np.unique(rng.integers(0, 6, size=cells), return_inverse=True)[1] for _ in range(int(rng.integers(1, 4)))]
    if partial:  # a table of some cells only
        groups.append(np.concatenate(([0], rng.integers(-1, 1, size=cells - 1))))
    tables = [NoisyTable(one, rng.normal(3, 10, size=one.max() + 1), np.array(4.0)) for one in groups]
    finest, wholes = whole_tables(tables, agree(tables), random=rng if chance else None)
    assert finest.dtype == np.int64
    assert (finest >= 0).all()
    for one, values in zip(tables, wholes, strict=True):
        assert values.tolist() == [int(finest[one.group == at].sum()) for at in range(one.values.size)]


def test_on_a_tree_it_is_the_tree_s_own_rounding() -> None:
    rng = np.random.default_rng(5)
    county, state = np.repeat(np.arange(4), 5), np.repeat(np.arange(2), 10)
    groups = [np.zeros(20, dtype=np.int64), state, county, np.arange(20)]
    tables = [NoisyTable(one, rng.normal(6, 8, size=one.max() + 1), np.array(9.0)) for one in groups]
    agreed = agree(tables)
    parents = [np.zeros(2, dtype=np.int64), np.array([0, 0, 1, 1]), county]
    for one, other in zip(whole_tables(tables, agreed)[1], whole(parents, agreed.values), strict=True):
        assert one.tolist() == other.tolist()


def test_what_is_whole_and_agrees_already_stays() -> None:
    rng = np.random.default_rng(6)
    truth = rng.integers(0, 9, size=24).astype(float)
    groups = [np.repeat(np.arange(4), 6), np.tile(np.arange(6), 4), np.arange(24)]
    tables = [NoisyTable(one, np.bincount(one, weights=truth), np.array(1.0)) for one in groups]
    finest, wholes = whole_tables(tables, agree(tables))
    assert finest.tolist() == truth.tolist()
    assert [one.tolist() for one in wholes] == [one.values.tolist() for one in tables]


def test_tables_beside_the_chain_keep_their_values_where_zeros_are_many() -> None:
    """Sparse places × sectors: totals by place stay within their noise, though nine cells of ten are empty."""
    rng = np.random.default_rng(7)
    axes = [Axis.flat(200), Axis.flat(12)]
    levels, variances = list(product((0, 1), repeat=2)), [8.0] * 4
    layout = Layout.of(axes, levels, variances)
    truth = np.where(rng.random((200, 12)) < 0.1, rng.integers(1, 60, size=(200, 12)), 0).astype(float)
    shown = noisy_tables(layout, [np.zeros(layout.shape(one)) for one in levels])
    tables = [
        NoisyTable(
            one.group, one.sums(truth.ravel()) + rng.laplace(scale=2, size=one.values.size), 8.0 + 0 * one.values
        )
        for one in shown
    ]
    agreed = agree(tables)
    by_place = levels.index((0, 1))
    alone = Agreed(
        agreed.cells, agreed.values[:1] + agreed.values[2:3], agreed.variances[:1] + agreed.variances[2:3], True
    )
    exact = tables[by_place].sums(truth.ravel())

    def error(wholes: np.ndarray) -> float:
        return float(np.abs(tables[by_place].sums(wholes.astype(float)) - exact).mean())

    together = error(whole_tables(tables, agreed)[0])
    only_sectors = error(whole_tables([tables[0], tables[2]], alone)[0])
    assert together < 0.8 * only_sectors
    assert together < 1.3 * float(np.abs(agreed.values[by_place] - exact).mean())


def test_crossed_tables_keep_their_cells_in_order() -> None:
    rng = np.random.default_rng(8)
    axes = [Axis((np.arange(6), np.arange(6) // 2, np.zeros(6, dtype=np.int64))), Axis.flat(3)]
    levels = list(product(range(3), range(2)))
    layout = Layout.of(axes, levels, [1.0] * 6)
    values = [rng.normal(4, 6, size=layout.shape(one)) for one in levels]
    agreed = agree_crossed(axes, [CrossedTable(*one, 1.0) for one in zip(levels, values, strict=True)])
    cells, wholes = whole_tables(noisy_tables(layout, values), agreed)
    by_tract, by_county = (wholes[levels.index(one)].reshape(layout.shape(one)) for one in ((0, 0), (1, 0)))
    assert (by_tract == cells.reshape(6, 3)).all()
    assert (by_county == by_tract.reshape(3, 2, 3).sum(axis=1)).all()
    assert wholes[levels.index((2, 1))].tolist() == [cells.sum()]


def test_signed_values_are_rounded_by_less_than_one_step_per_level_and_agree() -> None:
    rng = np.random.default_rng(9)
    groups = [np.zeros(24, dtype=np.int64), np.repeat(np.arange(4), 6), np.arange(24)]
    tables = [NoisyTable(one, rng.normal(-2, 10, size=one.max() + 1), np.array(4.0)) for one in groups]
    agreed = agree(tables)
    finest, wholes = whole_tables(tables, agreed, signed=True)
    assert (finest < 0).any()
    for one, values, before in zip(tables, wholes, agreed.values, strict=True):
        assert values.tolist() == [int(finest[one.group == at].sum()) for at in range(one.values.size)]
        assert np.abs(values - before).max() < len(groups)
