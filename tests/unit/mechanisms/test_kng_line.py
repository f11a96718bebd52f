"""Lattices and bisection at their edges."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.errors import UsageError
from tacita.mechanisms.kng.line import Lattice, TailLattice, bisect, draw_threshold, halves, levels_for
from tacita.noise.entropy import SeededEntropy, reserve
from tacita.noise.replay import Recording, Replaying, compare

numbers = st.floats(-1e6, 1e6, allow_nan=False)


@settings(max_examples=100, deadline=None)
@given(numbers, st.floats(1e-3, 1e6), st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_places_are_monotone_and_come_back(lower: float, width: float, at: list[float]) -> None:
    upper = lower + width
    values = np.sort(lower + width * np.array(at))
    for lattice in (
        Lattice.spread(lower, upper),
        TailLattice(lower, upper, width / 7),
        TailLattice(upper, lower, width),
    ):
        places = lattice.place(values)
        assert (np.diff(places) >= 0).all()
        assert places.min() >= 0
        assert places.max() < lattice.places
        assert lattice.value(places) == pytest.approx(values, abs=1e-6 * width + 1e-9 * abs(lower))


def test_values_outside_stand_at_the_ends() -> None:
    lattice = Lattice.spread(-5.0, 10.0)
    assert lattice.place(np.array([-1e9, 1e9])).tolist() == [0, lattice.places - 1]


@pytest.mark.parametrize(("lower", "upper", "unit"), [(1.0, 1.0, 1.0), (2.0, 1.0, 1.0), (0.0, 1.0, 0.0)])
def test_an_empty_lattice_is_refused(lower: float, upper: float, unit: float) -> None:
    with pytest.raises(UsageError, match="lower < upper"):
        Lattice(lower, upper, unit=unit, centre=0.0)


@pytest.mark.parametrize("size", [0, 1, 2, 5000])
def test_equal_values_are_no_obstacle(size: int) -> None:
    """The middle gaps have width 0 and by far the best scores."""
    lattice = Lattice.spread(0.0, 100.0)
    found = bisect(np.full(size, 42.0), lattice, halves(3), [Fraction(5)] * 3, SeededEntropy(1), "y")
    assert found.shape == (7,)
    assert (np.diff(found) >= 0).all()
    assert ((found >= 0) & (found <= 100)).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 100), max_size=40), st.integers(0, 2**32), st.integers(1, 4), st.integers(2, 40))
def test_thresholds_never_cross(values: list[float], seed: int, levels: int, bits: int) -> None:
    lattice = Lattice(0.0, 100.0, unit=1.0, centre=0.0, bits=bits)
    epsilons = [Fraction(1, 3)] * levels
    found = bisect(np.sort(np.array(values)), lattice, halves(levels), epsilons, SeededEntropy(seed), "y")
    assert (np.diff(found) >= 0).all()
    assert ((found >= 0) & (found <= 100 + 1e-9)).all()


def test_much_budget_finds_the_quantiles() -> None:
    values = np.sort(np.random.default_rng(1).lognormal(3, 1, 20_001))
    found = bisect(values, Lattice.spread(0.0, 1e5), halves(5), [Fraction(50)] * 5, SeededEntropy(1), "y")
    ranks = np.searchsorted(values, found) / values.size
    assert ranks == pytest.approx(np.arange(1, 32) / 32, abs=2e-4)


def test_a_level_is_announced_once_with_the_sizes_of_its_parts() -> None:
    source = Recording(SeededEntropy(1))
    bisect(np.arange(80.0), Lattice.spread(0.0, 80.0), halves(3), [Fraction(1, 3)] * 3, source, "y")
    assert [one.label for one in source.requests] == ["y, level 1", "y, level 2", "y, level 3"]
    assert [one.law for one in source.requests] == ["threshold, epsilon=1/3"] * 3
    assert [one.true.sum() for one in source.requests] == [80, 80, 80]
    assert [one.true.size for one in source.requests] == [1, 2, 4]


def test_a_neighbouring_file_asks_for_the_same_words() -> None:
    """How many words a rejection used must not show: the block of a level is large enough for all of them."""
    values, lattice = np.sort(np.random.default_rng(2).uniform(0, 80, 60)), Lattice.spread(0.0, 80.0)
    for seed in range(40):
        recording = Recording(SeededEntropy(seed))
        bisect(values, lattice, halves(3), [Fraction(1, 3)] * 3, recording, "y")
        replaying = Replaying(recording)
        bisect(values[1:], lattice, halves(3), [Fraction(1, 3)] * 3, replaying, "y")
        first = compare(recording, replaying)[0]
        assert (first.true_d.tolist(), first.true_d2.tolist()) == ([60], [59])


@pytest.mark.parametrize("targets", [1, 2, 3, 4, 31, 99])
def test_every_target_gets_a_threshold(targets: int) -> None:
    shares = [Fraction(j, targets + 1) for j in range(1, targets + 1)]
    epsilons = [Fraction(20)] * levels_for(targets)
    values = np.arange(0.0, 1000.0)
    found = bisect(values, Lattice.spread(0.0, 1000.0), shares, epsilons, SeededEntropy(1), "y")
    assert found == pytest.approx([1000 * float(one) for one in shares], abs=10)


def test_a_wrong_number_of_budgets_is_refused() -> None:
    with pytest.raises(UsageError, match="3 quantiles need 2 levels"):
        bisect(np.zeros(0), Lattice.spread(0.0, 1.0), halves(2), [Fraction(1)], SeededEntropy(1), "y")


@pytest.mark.parametrize("share", [Fraction(-1, 2), Fraction(3, 2), Fraction(0.01)])
def test_shares_that_would_overflow_or_lie_outside_are_refused(share: Fraction) -> None:
    """0.01 as a double is a fraction over 2^59: its scores would not fit into 64 bits."""
    with pytest.raises(UsageError, match="share"):
        draw_threshold(np.arange(100), 100, share, Fraction(1), reserve(8, SeededEntropy(1)))
