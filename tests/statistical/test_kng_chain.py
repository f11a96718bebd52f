"""Do the chains of planes have the law they claim? Against a density summed over a fine grid of planes."""

import numpy as np
import pytest
from scipy.stats import norm

from support.goodness_of_fit import counts_p_value, fits, values_p_value
from tacita.mechanisms.kng.convergence import bulk_ess, split_rhat
from tacita.noise.entropy import SeededEntropy, SystemEntropy
from tacita_studies.kng import chain
from tacita_studies.kng.chain import Gate, NotConvergedError, corners, normal, sample_plane, start_stream, uniform

LOW, HIGH, SIDE = 0.0, 10.0, 400
BINS = np.linspace(LOW, HIGH, 11)


def example(seed: int, rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = random.random(rows)
    return np.column_stack([np.ones(rows), x]), np.clip(2 + 4 * x + random.exponential(2, rows), LOW, HIGH)


def grid_shares(
    design: np.ndarray, y: np.ndarray, tau: float, rate: float, floor: np.ndarray, cap: np.ndarray
) -> np.ndarray:
    """Shares of the plane's values at both ends of the box, from the definition, without any of the chain's code."""
    ends = (np.arange(SIDE) + 0.5) / SIDE * (HIGH - LOW) + LOW
    left, right = np.meshgrid(ends, ends, indexing="ij")
    gradient = np.zeros((2, SIDE, SIDE))
    for row, value in zip(design, y, strict=True):
        side = (value <= left + (right - left) * row[1]) - tau
        gradient += row[:, None, None] * side
    density = np.exp(-rate * np.abs(gradient).max(axis=0))
    density *= (left >= floor[0]) & (right >= floor.sum()) & (left <= cap[0]) & (right <= cap.sum())
    density /= density.sum()
    return np.array([np.histogram(one, BINS, weights=density)[0] for one in (left, right)])


def chain_shares(
    design: np.ndarray, y: np.ndarray, tau: float, rate: float, floor: np.ndarray, cap: np.ndarray, steps: int
) -> np.ndarray:
    at = corners(1)
    inside, settled = chain._undecided(design, y, tau, floor, cap)
    settled = settled - tau * design[inside].sum(axis=0)
    stream = start_stream(SeededEntropy(20260101))  # seeded: steps of a chain depend on each other, no exact test
    given = (np.ascontiguousarray(design[inside].T), y[inside], settled, rate, at, at @ floor, at @ cap)
    warm = chain._walk(*given, (floor + cap) / 2, np.zeros((0, 2)), 2000, stream)
    run = chain._walk(*given, warm[-1], warm[1000:], steps, stream)
    return np.array([np.histogram(one, BINS)[0] / steps for one in (run[:, 0], run.sum(axis=1))])


FLAT = (np.array([LOW, 0.0]), np.array([HIGH, 0.0]))
TILTED = (np.array([1.0, 2.0]), np.array([6.0, 3.5]))


@pytest.mark.parametrize(("floor", "cap"), [FLAT, TILTED])
@pytest.mark.parametrize(("tau", "rate"), [(0.5, 0.5), (0.9, 0.5), (0.1, 1.0)])
def test_a_long_chain_has_the_grid_s_law(tau: float, rate: float, floor: np.ndarray, cap: np.ndarray) -> None:
    design, y = example(3)
    found = chain_shares(design, y, tau, rate, floor, cap, 200_000)
    # Total differences; those of right chains are 0.005 to 0.01. A chain with 20 percent too little noise is noticed.
    right, wrong = (grid_shares(design, y, tau, rate * factor, floor, cap) for factor in (1.0, 1.25))
    assert np.abs(found - right).sum(axis=1).max() < 0.025
    assert np.abs(found - wrong).sum(axis=1).max() > 0.035


def test_a_plane_that_passes_keeps_its_bounds_at_every_corner() -> None:
    random = np.random.default_rng(1)
    x = random.random((400, 2))
    y = 1 + 2 * x[:, 0] + 3 * x[:, 1] + random.exponential(1, 400)
    design = np.column_stack([np.ones(400), x])
    floor, cap = np.array([0.0, 1.0, 1.0]), np.array([4.0, 2.0, 3.0])
    drawn = sample_plane(design, y, 0.5, 0.5, floor, cap, SeededEntropy(1))
    at = corners(2)
    assert (at @ drawn.plane >= at @ floor - 1e-9).all()
    assert (at @ drawn.plane <= at @ cap + 1e-9).all()
    assert drawn.rhat <= 1.01
    assert drawn.ess >= 400


def test_chains_that_had_no_time_release_nothing_and_say_no_figure() -> None:
    design, y = example(4, 200)
    with pytest.raises(NotConvergedError, match="budget of this draw is spent") as caught:
        sample_plane(design, y, 0.5, 5.0, *FLAT, SeededEntropy(1), gate=Gate(steps=50, blocks=1, ess=1e6), label="pay")
    assert not any(character.isdigit() for character in str(caught.value))


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_a_file_of_hardly_any_records_is_drawn_from_the_public_region(rows: int) -> None:
    design, y = example(5, rows)
    drawn = sample_plane(design, y, 0.5, 0.5, *FLAT, SeededEntropy(1))
    assert ((corners(1) @ drawn.plane >= LOW) & (corners(1) @ drawn.plane <= HIGH)).all()


@pytest.mark.parametrize("what", ["constant predictor", "collinear predictors", "equal responses"])
def test_degenerate_files_have_a_draw(what: str) -> None:
    random = np.random.default_rng(2)
    x = random.random((300, 2))
    if what == "constant predictor":
        x[:, 1] = 0.25
    if what == "collinear predictors":
        x[:, 1] = x[:, 0]
    y = np.full(300, 3.0) if what == "equal responses" else 1 + x[:, 0] + random.random(300)
    floor, cap = np.array([0.0, 0, 0]), np.array([10.0, 0, 0])
    drawn = sample_plane(np.column_stack([np.ones(300), x]), y, 0.5, 0.5, floor, cap, SeededEntropy(3))
    values = corners(2) @ drawn.plane
    assert ((values >= 0) & (values <= 10)).all()


def test_the_same_seed_draws_the_same_plane() -> None:
    design, y = example(6, 60)
    one, two, other = (sample_plane(design, y, 0.5, 0.2, *FLAT, SeededEntropy(seed)).plane for seed in (1, 1, 2))
    assert (one == two).all()
    assert not (one == other).all()


def test_the_diagnostics_tell_good_chains_from_bad_ones() -> None:
    random = np.random.default_rng(3)
    independent = random.standard_cauchy((4, 2000))  # ranks do not mind heavy tails
    assert split_rhat(independent) < 1.005
    assert bulk_ess(independent) > 6000
    slow = np.zeros((4, 2000))
    for step in range(1, 2000):
        slow[:, step] = 0.9 * slow[:, step - 1] + random.normal(size=4)
    expected = 8000 * (1 - 0.9) / (1 + 0.9)
    assert bulk_ess(slow) == pytest.approx(expected, rel=0.35)
    spread = independent * np.array([1.0, 1, 1, 5])[:, None]  # equal centres, unequal widths: only folding sees it
    assert split_rhat(spread) > 1.05
    drift = random.normal(size=(4, 2000)) + np.linspace(0, 1, 2000)  # all chains drift alike: only splitting sees it
    assert split_rhat(drift) > 1.01
    stuck = random.normal(size=(4, 2000))
    stuck[2] = 0.3
    assert (split_rhat(stuck), bulk_ess(stuck)) == (np.inf, 0.0)


@pytest.mark.fresh
def test_the_stream_is_uniform_and_normal() -> None:
    stream = start_stream(SystemEntropy())
    numbers = np.array([uniform(stream) for _ in range(100_000)])
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert fits(values_p_value(numbers, lambda x: x))
    pairs = np.histogram2d(numbers[0::2], numbers[1::2], bins=10, range=[(0, 1), (0, 1)])[0]
    assert fits(counts_p_value(pairs, np.full(100, 0.01)))
    bell = np.array([normal(stream) for _ in range(100_000)])
    assert fits(values_p_value(bell, norm.cdf))
    assert not fits(values_p_value(0.8 * bell, norm.cdf))
