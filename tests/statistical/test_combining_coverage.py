"""Does a nominal 95 percent interval hold the truth 95 times in 100? One simulation per rule, with a negative control.

Simulated truths are drawn here and analysed by the code under test. An estimate with one component per replicate lets
one call combine them all. The standard error of every coverage below is at most 0.007, of shares and ratios 0.011.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacita.inference import (
    Estimate,
    FixedMeasurement,
    FullSynthesis,
    LargeSample,
    OneMeasurement,
    PartialSynthesis,
    Rule,
    combine_chi_square,
    combine_estimates,
)
from tacita.inference.noise_aware import NoisyCells
from tacita.inference.significance import likelihood_ratio_test_of, wald_test_of
from tacita.noise.discrete import DiscreteLaplace, discrete_laplace
from tacita.noise.entropy import SeededEntropy
from tacita.noise.error import HiddenScaleError
from tacita.noise.laws import Student

Floats = NDArray[np.float64]
F = Fraction

REPLICATES = 8000
TESTS = 1000
N = 100


def covered(estimates: list[Estimate], truth: float, rule: Rule) -> float:
    lower, upper = combine_estimates(estimates, rule).interval(0.95)
    return float(((lower <= truth) & (truth <= upper)).mean())


def near_nominal(coverage: float) -> bool:
    return 0.93 <= coverage <= 0.97


def normal_sample(rng: np.random.Generator, mean: Any, variance: Any, n: int) -> tuple[Floats, Floats]:
    """Mean and variance of a sample of n normal values: their joint law, without drawing the values."""
    mean, variance = np.broadcast_arrays(np.asarray(mean, float), np.asarray(variance, float))
    return rng.normal(mean, np.sqrt(variance / n)), variance * rng.chisquare(n - 1, mean.shape) / (n - 1)


def posterior(rng: np.random.Generator, mean: Floats, variance: Floats, n: int) -> tuple[Floats, Floats]:
    """Mean and variance drawn given a sample of n, under the usual flat prior."""
    drawn = variance * (n - 1) / rng.chisquare(n - 1, mean.shape)
    return rng.normal(mean, np.sqrt(drawn / n)), drawn


def drawn_files(rng: np.random.Generator, m: int, rows: int, *, truth: float = 3.0) -> list[Estimate]:
    """Samples of N, from each of which m files of `rows` rows are drawn, the parameters anew for each."""
    mean, variance = normal_sample(rng, np.full(REPLICATES, truth), 4.0, N)
    files = [normal_sample(rng, *posterior(rng, mean, variance, N), rows) for _ in range(m)]
    return [Estimate(average, spread / rows) for average, spread in files]


@pytest.mark.parametrize("m", [3, 5, 20])
def test_partial_synthesis(m: int) -> None:
    assert near_nominal(covered(drawn_files(np.random.default_rng(m), m, N), 3.0, PartialSynthesis()))


@pytest.mark.parametrize(("m", "rows"), [(50, N), (20, 5 * N), (100, N)])
def test_full_synthesis(m: int, rows: int) -> None:
    files = drawn_files(np.random.default_rng(m), m, rows)
    assert near_nominal(covered(files, 3.0, FullSynthesis(size_ratio=rows / N)))


@pytest.mark.parametrize("m", [3, 5, 10, 20])
def test_full_synthesis_with_few_files_of_the_original_size_is_cautious(m: int) -> None:
    assert 0.95 <= covered(drawn_files(np.random.default_rng(m), m, N), 3.0, FullSynthesis()) <= 1


def test_partial_rule_fails_where_the_variance_between_files_is_left_out() -> None:
    """The negative control: variances within files alone."""
    files = drawn_files(np.random.default_rng(1), 5, N)
    naive = Estimate(np.mean([one.value for one in files], axis=0), np.mean([one.variance for one in files], axis=0))
    lower, upper = naive.interval(0.95)
    assert ((lower <= 3.0) & (upper >= 3.0)).mean() < 0.92


@pytest.mark.parametrize(("m", "rows", "drawn"), [(1, N, True), (5, N, True), (1, N, False), (3, 2 * N, False)])
def test_large_sample_rule_works_for_one_file(m: int, rows: int, drawn: bool) -> None:
    rng = np.random.default_rng(3)
    mean, variance = normal_sample(rng, np.full(REPLICATES, 3.0), 4.0, N)
    files = []
    for _ in range(m):
        centre, spread = posterior(rng, mean, variance, N) if drawn else (mean, variance)
        average, within = normal_sample(rng, centre, spread, rows)
        files.append(Estimate(average, within / rows))
    assert near_nominal(covered(files, 3.0, LargeSample(rows / N, drawn_parameters=drawn)))


# ------------------------------------------------------------ one noisy measurement


class Histogram:
    """Values uniform within eight bins; only the noisy counts of the bins are measured."""

    bins, n, scale = 8, 1000, Fraction(8)
    middle = np.arange(8) + 0.5

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.share = np.array([1, 2, 3, 5, 5, 3, 2, 1]) / 22
        self.truth = float(self.share @ self.middle)
        counts = self.rng.multinomial(self.n, self.share, REPLICATES)
        self.noisy = counts + self.noise(seed)

    def noise(self, seed: int) -> NDArray[np.int64]:
        drawn = discrete_laplace(REPLICATES * self.bins, self.scale, SeededEntropy(seed))
        return drawn.reshape(REPLICATES, self.bins)

    def analysed(self, counts: Floats) -> Estimate:
        """The mean of a file with these bin counts, its values drawn anew within the bins."""
        n = counts.sum(axis=1)
        centre = counts @ self.middle / n
        spread = counts @ self.middle**2 / n - centre**2 + 1 / 12
        return Estimate(self.rng.normal(centre, np.sqrt(1 / 12 / n)), spread / n)


@pytest.mark.parametrize("m", [3, 5, 20])
def test_one_measurement(m: int) -> None:
    """Each file first draws the true counts given the noisy ones: with a flat prior, the noisy count plus noise."""
    world = Histogram(m)
    files = [world.analysed(world.noisy + world.noise(100 + number)) for number in range(m)]
    assert near_nominal(covered(files, world.truth, OneMeasurement()))


def test_one_measurement_needs_its_own_rule() -> None:
    """The negative control: the rule for partial synthesis does not know that the files share their noise."""
    world = Histogram(7)
    files = [world.analysed(world.noisy + world.noise(200 + number)) for number in range(5)]
    assert covered(files, world.truth, PartialSynthesis()) < 0.91


@pytest.mark.parametrize("m", [2, 5])
def test_fixed_measurement(m: int) -> None:
    """All files have the noisy counts as they are; the noise of the measurement comes from its public law."""
    world = Histogram(11)
    files = [world.analysed(world.noisy.astype(float)) for _ in range(m)]
    per_count = DiscreteLaplace(world.scale).variance()
    n = world.noisy.sum(axis=1)
    centre = world.noisy @ world.middle / n
    noise = per_count * ((world.middle[None, :] - centre[:, None]) ** 2).sum(axis=1) / n**2
    assert near_nominal(covered(files, world.truth, FixedMeasurement(noise)))
    assert covered(files, world.truth, OneMeasurement()) < 0.91  # the control: nothing between them shows the noise


# ------------------------------------------------------------ joint tests: the region that a test accepts covers


def gaussian_answers(rng: np.random.Generator, m: int, k: int, rule: Rule) -> list[Estimate]:
    """m answers about k true zeros, within variance 1, as the rule supposes them."""
    shared = rng.normal(size=k)
    if isinstance(rule, OneMeasurement):
        shared = shared + rng.normal(size=k)  # the noise of the measurement, of variance 1 too
    spread = np.sqrt(2.0) if isinstance(rule, FullSynthesis) else 1.0
    return [Estimate(shared + spread * rng.normal(size=k), np.eye(k)) for _ in range(m)]


@pytest.mark.parametrize(
    ("rule", "m", "k"),
    [
        (PartialSynthesis(), 5, 3),
        (PartialSynthesis(), 3, 2),
        (OneMeasurement(), 5, 3),
        (OneMeasurement(), 10, 2),
        (FullSynthesis(), 40, 3),
    ],
    ids=str,
)
def test_wald_tests(rule: Rule, m: int, k: int) -> None:
    rng = np.random.default_rng(5)
    accepted = np.mean([wald_test_of(gaussian_answers(rng, m, k, rule), rule).p_value > 0.05 for _ in range(TESTS)])
    assert near_nominal(float(accepted))


@pytest.mark.parametrize("rule", [PartialSynthesis(), OneMeasurement()], ids=str)
def test_likelihood_ratio_tests(rule: Rule) -> None:
    """For normal answers twice the log-likelihood ratio is the squared distance, at any parameters."""
    rng, m, k = np.random.default_rng(6), 5, 3
    accepted = []
    for _ in range(TESTS):
        values = np.array([one.value for one in gaussian_answers(rng, m, k, rule)])
        centre = values.mean(axis=0)
        own = float((values**2).sum(axis=1).mean())
        joint = own - float(((values - centre) ** 2).sum(axis=1).mean())
        accepted.append(likelihood_ratio_test_of(own, joint, k, m, rule).p_value > 0.05)
    assert near_nominal(float(np.mean(accepted)))


@pytest.mark.parametrize(("rule", "m"), [(OneMeasurement(), 5), (PartialSynthesis(), 10)], ids=str)
def test_combined_chi_squares(rule: Rule, m: int) -> None:
    rng, k = np.random.default_rng(8), 2
    accepted = []
    for _ in range(TESTS):
        answers = gaussian_answers(rng, m, k, rule)
        accepted.append(combine_chi_square([float(one.value @ one.value) for one in answers], k, rule).p_value > 0.05)
    assert near_nominal(float(np.mean(accepted)))


# ------------------------------------------------------------ cells of noisy tables


@pytest.mark.parametrize(("scale", "most"), [(Fraction(2), 0.97), (Fraction(10), 0.96)])
def test_sums_and_differences_of_cells(scale: Fraction, most: float) -> None:
    """Whole numbers cannot be covered exactly; a sum is covered at least as often as stated."""
    law, cells = DiscreteLaplace(scale), 6
    noise = discrete_laplace(20_000 * cells, scale, SeededEntropy(4)).reshape(-1, cells)
    table = NoisyCells.with_laplace(np.full(cells, 100.0), law)
    first, rest = np.arange(cells) < 2, np.arange(cells) >= 2
    for found, error in (
        (table.sum(rest), noise[:, 2:].sum(axis=1)),
        (table.difference(first, rest), noise[:, :2].sum(axis=1) - noise[:, 2:].sum(axis=1)),
    ):
        margin = found.upper - found.value
        assert 0.9475 <= np.mean(np.abs(error) <= margin) <= most


@pytest.mark.parametrize("scale", [Fraction(2), pytest.param(Fraction(10), marks=pytest.mark.slow)])
def test_shares_and_ratios_of_cells(scale: Fraction) -> None:
    law, true = DiscreteLaplace(scale), np.array([40.0, 90.0, 20.0, 150.0])
    noise = discrete_laplace(400 * 4, scale, SeededEntropy(9)).reshape(-1, 4)
    part, whole = np.array([True, True, False, False]), np.ones(4, dtype=bool)
    share, ratio = true[:2].sum() / true.sum(), true[:2].sum() / true[2:].sum()
    inside_share, inside_ratio = [], []
    for error in noise:
        cells = NoisyCells.with_laplace(true + error, law)
        found = cells.share(part, whole)
        inside_share.append(found.lower <= share <= found.upper)
        found = cells.ratio(part, ~part)
        inside_ratio.append(found.lower <= ratio <= found.upper)
    assert near_nominal(float(np.mean(inside_share)))
    assert near_nominal(float(np.mean(inside_ratio)))


def test_sums_of_cells_whose_noise_scale_is_secret() -> None:
    """Cells with noise k·S·Z, S from the largest establishment: intervals know only the noisy values."""
    rng = np.random.default_rng(10)
    alpha, k, floor = Fraction(1, 10), Fraction(1), Fraction(1)
    law = HiddenScaleError(Student(F(3)), k, alpha, floor)
    true = rng.integers(20, 2000, size=(1000, 20)).astype(float)
    largest = true * rng.uniform(0.3, 1.0, size=true.shape)
    scale = np.maximum(float(alpha) * largest, float(floor))
    noisy = np.rint(true + scale * rng.standard_t(3, size=true.shape))
    inside = []
    for row, truth in zip(noisy, true.sum(axis=1), strict=True):
        lower_ends = law.interval(row[:, None], 0.95)
        half = np.maximum(lower_ends[1].ravel() - row, row - lower_ends[0].ravel())
        cells = NoisyCells(row, lambda confidence, half=half: half, np.arange(row.size))  # type: ignore[misc]
        found = cells.sum(np.ones(row.size, dtype=bool))
        inside.append(found.lower <= truth <= found.upper)
    assert np.mean(inside) >= 0.93  # never less than stated, allowing for the error of the simulation
