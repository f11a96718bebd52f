"""The public arithmetic of StepsSynthesis: cells that can occur, whole-number scores, the division of a budget."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tacita.data.schema import Categorical, Integer
from tacita.errors import UsageError
from tacita.synthesis.attributes import Attribute
from tacita.synthesis.comparison.steps.budget import divided
from tacita.synthesis.comparison.steps.electing import UNITS, candidates, log_units, one_way, steepest, widest, x_log_x
from tacita.synthesis.domain import FREE, Domain

SIZES = (2, 3, 2, 4)
PATTERNS = st.lists(
    st.dictionaries(st.integers(0, 3), st.integers(0, 3), min_size=2, max_size=3).filter(
        lambda one: all(code < SIZES[at] for at, code in one.items())
    ),
    max_size=4,
)
FIXED = st.tuples(*(st.integers(FREE, size - 1) for size in SIZES))


def domain(patterns: list[dict[int, int]]) -> Domain:
    attributes = tuple(Attribute(f"a{at}", Categorical(tuple(map(str, range(size))))) for at, size in enumerate(SIZES))
    return Domain(attributes, tuple(tuple(sorted(one.items())) for one in patterns))


def allowed(patterns: list[dict[int, int]], fixed: tuple[int, ...]) -> list[tuple[int, ...]]:
    """By trying every cell."""
    return [
        cell
        for cell in product(*map(range, SIZES))
        if all(f in (FREE, c) for f, c in zip(fixed, cell, strict=True))
        and not any(all(cell[at] == code for at, code in one.items()) for one in patterns)
    ]


@settings(max_examples=150, deadline=None)
@given(PATTERNS, FIXED)
def test_cells_that_can_occur_are_counted_as_by_trying_all(
    patterns: list[dict[int, int]], fixed: tuple[int, ...]
) -> None:
    assume(allowed(patterns, (FREE,) * 4))
    here = domain(patterns)
    codes = np.array([fixed], dtype=np.int16)
    cells = allowed(patterns, fixed)
    assert here.possible(codes)[0] == len(cells)
    if not cells:
        return
    levels = candidates(here, codes)[0]
    for at, code in enumerate(fixed):
        assert levels[at] == (len({cell[at] for cell in cells}) if code == FREE else 0)
        if code == FREE:
            assert set(np.flatnonzero(here.open_levels(codes, at)[0])) == {cell[at] for cell in cells}


@settings(max_examples=80, deadline=None)
@given(PATTERNS, FIXED)
def test_a_cell_number_stands_for_one_cell(patterns: list[dict[int, int]], fixed: tuple[int, ...]) -> None:
    assume(allowed(patterns, (FREE,) * 4))
    here = domain(patterns)
    codes = np.array([fixed], dtype=np.int16)
    size = int(np.prod([s for s, f in zip(SIZES, fixed, strict=True) if f == FREE]))
    place, node = np.arange(size), np.zeros(size, dtype=np.int64)
    found = here.decoded(codes, node, place)
    assert len({tuple(one) for one in found.tolist()}) == size
    assert np.array_equal(found @ here.strides(codes)[0], place)
    bad = here.forbidden_places(codes, node, place)
    assert np.array_equal(bad, here.forbidden(found))
    assert {tuple(one) for one in found[~bad].tolist()} == set(allowed(patterns, fixed))


def test_a_domain_that_is_too_large_or_empty_is_refused() -> None:
    many = tuple(Attribute(f"a{at}", Categorical(tuple(map(str, range(100))))) for at in range(10))
    with pytest.raises(UsageError, match=r"2\^62"):
        Domain(many)
    single = Categorical(("0",))
    with pytest.raises(UsageError, match="no cell"):
        Domain((Attribute("a", single), Attribute("b", single)), (((0, 0), (1, 0)),))


def test_numbers_are_drawn_within_their_bins() -> None:
    age = Attribute("age", Integer(18, 80), cuts=(25.0, 65.0))
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(3), 2000)
    drawn = np.array(age.column(codes, rng))
    assert [set(drawn[codes == code]) for code in range(3)] == [
        set(range(18, 25)),
        set(range(25, 65)),
        set(range(65, 81)),
    ]


# ---------------------------------------------------------------- scores


def test_the_score_is_half_the_deviance() -> None:
    table = np.array([[900, 80, 20], [10, 10, 10]])
    n = table.sum(axis=1)
    cap = np.full(2, 1 << 20)
    score = one_way(table, np.full(2, 3), cap, aic=False) - x_log_x(n, cap)
    deviance = 2 * (table * np.log(table * 3 / n[:, None])).sum(axis=1)
    np.testing.assert_allclose(2 * score / UNITS, deviance, atol=0.02 * n.max())
    with_penalty = one_way(table, np.full(2, 3), cap, aic=True) - x_log_x(n, cap)
    np.testing.assert_array_equal(score - with_penalty, 2 * UNITS)


def test_x_log_x_is_close_at_every_size() -> None:
    x = np.unique(np.geomspace(1, 1e9, 400).astype(np.int64))
    found = x_log_x(x, 1 << 40) / UNITS
    np.testing.assert_allclose(found, x * np.log(x), rtol=2e-3, atol=0.02)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**7), st.integers(3, 24))
def test_one_record_moves_the_score_by_a_bounded_whole_number(count: int, power: int) -> None:
    cap = 1 << power
    low, high = x_log_x(np.array([count, count + 1]), cap).tolist()
    assert 0 <= high - low <= steepest(cap)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=14, max_size=14), st.integers(0, 13), st.integers(3, 9), st.booleans())
def test_one_record_moves_two_candidates_apart_by_at_most_the_widest(
    counts: list[int], level: int, power: int, aic: bool
) -> None:
    """A 14-level attribute, a 2-level one and stopping: a record added to a node moves them within the spread."""
    cap = np.array([1 << power])
    before, after = np.array([counts]), np.array([counts])
    after[0, level] += 1
    n = int(before.sum())
    for split in {0, n // 3, n}:
        for to in (0, 1):
            two, two_after = np.array([[split, n - split]]), np.array([[split, n - split]])
            two_after[0, to] += 1
            moves = [
                int((one_way(b, np.array([k]), cap, aic=aic) - one_way(a, np.array([k]), cap, aic=aic))[0])
                for a, b, k in ((before, after, 14), (two, two_after, 2))
            ]
            assert max(moves) - min(moves) <= widest(int(cap[0]), (14, 2), with_stop=False)
            moves.append(int((x_log_x(np.array([n + 1]), cap) - x_log_x(np.array([n]), cap))[0]))
            assert max(moves) - min(moves) <= widest(int(cap[0]), (14, 2), with_stop=True)


def test_the_widest_spread_is_reached() -> None:
    """A smaller one would be wrong: the proof's bound is met up to the last step of the slope."""
    cap = 1 << 10
    constant, other = np.array([[cap, 0, 0, 0]]), np.array([[cap, 0]])
    grown, other_grown = np.array([[cap + 1, 0, 0, 0]]), np.array([[cap, 1]])
    at = np.array([cap])
    moved = one_way(grown, np.array([4]), at, aic=False) - one_way(constant, np.array([4]), at, aic=False)
    less = one_way(other_grown, np.array([2]), at, aic=False) - one_way(other, np.array([2]), at, aic=False)
    assert (moved - less)[0] == widest(cap, (4, 2), with_stop=False)
    assert log_units(np.array([1, 2])).tolist() == [0, 44]


# ---------------------------------------------------------------- budget


@pytest.mark.parametrize("layers", [0, 1, 2, 5])
@pytest.mark.parametrize("weights", ["equal", "half-leaf"])
@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize("stop", [True, False])
def test_every_branch_spends_exactly_the_whole(layers: int, weights: str, root: bool, stop: bool) -> None:
    whole = Fraction(7, 3)
    costs = divided(whole, layers, 5, weights, Fraction(1, 10), root=root, stop=stop)
    assert costs.total == whole
    assert len(costs.layers) == len(costs.elections) == layers
    for depth in range(layers + 1):
        spent = costs.root + sum(costs.layers[:depth]) + sum(costs.elections[:depth])
        assert costs.left(depth, voted=False) == whole - spent
        if depth < layers:
            assert costs.left(depth, voted=True) == whole - spent - costs.elections[depth]


def test_the_papers_two_divisions() -> None:
    half = divided(Fraction(1), 2, 15, "half-leaf", Fraction(0), root=False)
    assert (half.layers, half.cells) == ((Fraction(1, 4), Fraction(1, 4)), Fraction(1, 2))
    equal = divided(Fraction(1), 3, 15, "equal", Fraction(0), root=False)
    assert (*equal.layers, equal.cells) == (Fraction(1, 4),) * 4
    full = divided(Fraction(1), 3, 3, "equal", Fraction(0), root=False)
    assert (full.layers, full.cells) == ((Fraction(1, 3),) * 3, 0)
