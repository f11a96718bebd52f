"""What the audit says a draw loses, against brute force over outputs."""

from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest

from tacita.audit.laws import Placed, laplace_failure, largest_ratio, log_density
from tacita.audit.losses import Lost, loss_of, over_claim
from tacita.mechanisms.eree.staircase_design import least_noise
from tacita.mechanisms.kng.line import draw_threshold
from tacita.noise.choice import choose
from tacita.noise.concentrated import rho_for
from tacita.noise.cube import add_cube
from tacita.noise.discrete import add_discrete_laplace
from tacita.noise.entropy import SeededEntropy, reserve
from tacita.noise.forcing import Draw, Tape
from tacita.noise.gaussian import add_discrete_gaussian
from tacita.noise.laws import Laplace, QuarticCauchy, Student
from tacita.noise.power import PowerLaw
from tacita.noise.rounding import noisy_log, noisy_on_grid
from tacita.privacy import Loss


def _draws(sampler: Any, *runs: tuple[Any, ...], spare: bool = False) -> list[Draw]:
    """One draw on each of the given arguments; `...` stands for the randomness."""
    first: Tape | None = None
    found = []
    for arguments in runs:
        tape = Tape(SeededEntropy(3)) if first is None else Tape(first)
        source = reserve(64, tape) if spare else tape
        sampler(*[source if one is ... else one for one in arguments])
        first = first or tape
        found.append(tape.draws[0])
    return found


def _loss(sampler: Any, one: tuple[Any, ...], two: tuple[Any, ...], **more: Any) -> Lost:
    return loss_of(*_draws(sampler, one, two, **more))


def test_discrete_noise() -> None:
    one, two = np.array([3, 4, 5]), np.array([3, 6, 4])
    laplace = _loss(add_discrete_laplace, (one, Fraction(2), ..., "x"), (two, Fraction(2), ..., "x"))
    assert laplace.epsilon == pytest.approx(1.5)
    gaussian = _loss(add_discrete_gaussian, (one, Fraction(2), ..., "x"), (two, Fraction(2), ..., "x"))
    assert (gaussian.epsilon, gaussian.rho) == (inf, pytest.approx(5 / 4))
    cube = _loss(add_cube, (one, Fraction(2), ..., "x"), (two, Fraction(2), ..., "x"))
    assert cube.epsilon == pytest.approx(1.0)
    same = _loss(add_discrete_laplace, (one, Fraction(2), ..., "x"), (one, Fraction(2), ..., "x"))
    assert same == Lost()


def test_whole_numbers_beyond_a_double_are_told_apart() -> None:
    large = np.array([2**60, 2**60 + 1])
    lost = _loss(add_discrete_laplace, (large, Fraction(1), ..., "x"), (large + 1, Fraction(1), ..., "x"))
    assert lost.epsilon == 2


@pytest.mark.parametrize("law", [Student(Fraction(3)), QuarticCauchy(), least_noise(Fraction(1, 10), Fraction(2))])
def test_the_largest_ratio_is_not_exceeded_anywhere(law: Any) -> None:
    random = np.random.default_rng(1)
    for _ in range(20):
        one = Placed(0.0, float(random.uniform(1, 5)))
        two = Placed(float(random.uniform(-2, 2)), one.scale * float(random.uniform(1, 1.1)))
        outputs = np.concatenate([random.normal(0, 5, 3000), random.standard_cauchy(3000) * 20])
        logs = [log_density(law, (outputs - x.centre) / x.scale) - np.log(x.scale) for x in (one, two)]
        found = largest_ratio(law, one, two)
        # A grid may miss the very top of a smooth ratio, by less than a thousandth of it.
        assert np.abs(logs[0] - logs[1]).max() <= found * 1.001 + 1e-9


def test_the_vector_law_loses_what_no_output_exceeds() -> None:
    law, random = PowerLaw(Fraction(3), Fraction(2)), np.random.default_rng(2)
    one, two = np.array([[4, 9]]), np.array([[6, 8]])
    scales = np.array([3]), np.array([4])
    lost = _loss(PowerLaw.on_grid, (law, one, scales[0], 1, ..., "x"), (law, two, scales[1], 1, ..., "x")).epsilon
    outputs = np.concatenate([one, two, one + random.laplace(0, 30, (20_000, 2)), two + 1e9 * np.eye(2)])
    logs = [
        -5 * np.log(2 + np.abs(outputs - centre).sum(axis=1) / scale[0]) - 2 * np.log(scale[0])
        for centre, scale in zip((one, two), scales, strict=True)
    ]
    seen = float(np.abs(logs[0] - logs[1]).max())
    assert seen <= lost + 1e-9
    assert seen > 0.99 * lost


def test_noise_on_a_logarithm() -> None:
    common = (Fraction(10), Fraction(1, 4), Fraction(1), ..., "x")
    lost = _loss(noisy_log, (np.array([90, 5]), *common), (np.array([101, 5]), *common))
    assert lost.epsilon == pytest.approx(4 * np.log(111 / 100))


def test_laplace_noise_of_unequal_scale_fails_as_often_as_integration_says() -> None:
    one, two, epsilon = Placed(0.0, 2.0), Placed(1.5, 2.4), 0.8
    outputs = np.linspace(-120, 120, 2_000_001)
    p, q = (np.exp(-np.abs(outputs - x.centre) / x.scale) / (2 * x.scale) for x in (one, two))
    by_sum = max(np.trapezoid(np.maximum(a - np.exp(epsilon) * b, 0), outputs) for a, b in ((p, q), (q, p)))
    assert laplace_failure(one, two, epsilon) == pytest.approx(by_sum, rel=1e-4)
    lost = _loss(
        noisy_on_grid,
        (np.array([0]), np.array([20]), 10, Laplace(), ..., "x"),
        (np.array([1]), np.array([24]), 10, Laplace(), ..., "x"),
    )
    assert lost.epsilon == inf
    assert over_claim([lost], Loss("0.8", delta="0.5")) < 1 < over_claim([lost], Loss("0.8", delta="0.0001"))


def test_every_output_of_a_threshold_is_looked_at() -> None:
    share, epsilon, end = Fraction(3, 4), Fraction(2), 40
    one, two = np.array([3, 3, 17, 29]), np.array([3, 3, 8, 17, 29])

    def law(places: np.ndarray) -> np.ndarray:
        below = np.array([(places < t).sum() for t in range(end + 1)])
        worth = np.exp(-2 * np.abs(below - 0.75 * places.size) / (2 * 0.75))
        return worth / worth.sum()

    ratio = np.log(law(two) / law(one))
    lost = _loss(draw_threshold, (one, end, share, epsilon, ...), (two, end, share, epsilon, ...), spare=True)
    assert lost.epsilon == pytest.approx(np.abs(ratio).max())
    assert lost.rho == pytest.approx((ratio.max() - ratio.min()) ** 2 / 8)
    assert lost.epsilon <= 2


def test_choices() -> None:
    widths, rate = np.array([1, 0, 2]), Fraction(1, 2)
    one, two = np.array([5, 100, 7]), np.array([6, -100, 5])
    lost = _loss(choose, (widths, one, rate, ...), (widths, two, rate, ...), spare=True)
    assert (lost.epsilon, lost.rho) == (pytest.approx(1.5), pytest.approx(1.5**2 / 8))


def test_losses_add_up_to_a_share_of_the_claim() -> None:
    parts = [Lost.pure(0.5), Lost.pure(0.25)]
    assert over_claim(parts, Loss("1")) == pytest.approx(0.75)
    assert over_claim([Lost(inf, 0.01)], Loss("1")) == inf
    rho = float(rho_for(Fraction(1), Fraction(1, 10**9)))
    assert over_claim([Lost(inf, 0.01)], Loss("1", delta="1e-9")) == pytest.approx(0.01 / rho)
    assert over_claim([Lost(inf, 0.01)], Loss(rho="0.02")) == pytest.approx(0.5)
