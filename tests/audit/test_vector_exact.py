"""The vector law against the definition: establishments with d kinds of worker, grown in every direction."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from tacita.errors import UsageError
from tacita.mechanisms.eree.vector_design import certified, least_noise, smallest_epsilon
from tacita.noise.power import PowerLaw

F = Fraction
SETTINGS = [("0.1", "2", 1), ("0.1", "2", 2), ("0.1", "1", 3), ("0.25", "2", 3), ("0.05", "4", 3), ("0.05", "4", 8)]
TOTALS = (0, 1, 7, 10, 20, 100, 400)


def neighbours(alpha: Fraction, d: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, int, np.ndarray, int]]:
    """Counts and size of the largest establishment, before and after: new workers of one kind, spread, or random."""
    for total in TOTALS:
        for company in (0, total, 3 * total):  # the size of a second establishment in the cell
            gain = max(int(alpha * total), 1)
            crew = rng.multinomial(total, np.full(d, 1 / d)) + rng.multinomial(company, np.full(d, 1 / d))
            news = [gain * np.eye(d, dtype=int)[0], rng.multinomial(gain, np.full(d, 1 / d)), np.eye(d, dtype=int)[-1]]
            for new in news:
                yield crew, max(total, company), crew + new, max(total + int(new.sum()), company)


def rays(d: int, rng: np.random.Generator) -> np.ndarray:
    """Outputs in units of the scale: the centre, the axes, the diagonals, random ones, near and very far."""
    ways = np.concatenate([np.eye(d), -np.eye(d), np.ones((1, d)), -np.ones((1, d)), rng.laplace(size=(30, d))])
    steps = np.concatenate([[0.0], np.geomspace(1e-3, 1e9, 160)])
    return (steps[:, None, None] * ways).reshape(-1, d)


def log_density(law: PowerLaw, z: np.ndarray) -> np.ndarray:
    """Up to a constant that both files share."""
    return -(float(law.a) + z.shape[1]) * np.log(float(law.b) + np.abs(z).sum(axis=1))


def worst_loss(law: PowerLaw, alpha: Fraction, d: int, noise: float = 1.0) -> float:
    rng = np.random.default_rng(11)
    points, worst = rays(d, rng), 0.0
    for q, x, q2, x2 in neighbours(alpha, d, rng):
        s, s2 = (noise * float(max(alpha * size, 1 + alpha)) for size in (x, x2))
        outputs = np.concatenate([q + s * points, q2 + s2 * points])
        one, two = (log_density(law, (outputs - m) / w) - d * np.log(w) for m, w in ((q, s), (q2, s2)))
        worst = max(worst, float(np.abs(one - two).max()))
    return worst


@pytest.mark.parametrize(("alpha", "epsilon", "d"), SETTINGS)
def test_the_loss_reaches_epsilon_and_never_exceeds_it(alpha: str, epsilon: str, d: int) -> None:
    a, e = F(alpha), F(epsilon)
    law = least_noise(a, e, d)
    assert 0.97 * float(e) <= worst_loss(law, a, d) <= float(e) + 1e-9
    assert worst_loss(law, a, d, 0.8) > 1.05 * float(e)


@pytest.mark.parametrize(("alpha", "epsilon", "d"), SETTINGS)
def test_the_certificate_and_the_audit_agree(alpha: str, epsilon: str, d: int) -> None:
    """A law the audit finds harmful is refused, for both parameters and a little too much of either."""
    a, e = F(alpha), F(epsilon)
    law = least_noise(a, e, d)
    assert certified(law, a, e, d)
    for wrong in (PowerLaw(law.a, law.b * F(9, 10)), PowerLaw(law.a * F(12, 10), law.b)):
        assert worst_loss(wrong, a, d) > float(e)
        assert not certified(wrong, a, e, d)


def test_a_law_made_for_fewer_cells_is_refused() -> None:
    a, e = F("0.1"), F(2)
    law = least_noise(a, e, 2)
    assert worst_loss(law, a, 4) > float(e)
    assert not certified(law, a, e, 4)


@pytest.mark.parametrize("alpha", ["0.01", "0.1", "0.333", "1"])
@pytest.mark.parametrize("d", [1, 2, 5, 24, 140])
def test_the_smallest_epsilon_named_works(alpha: str, d: int) -> None:
    a = F(alpha)
    e = smallest_epsilon(a, d)
    assert certified(least_noise(a, e, d), a, e, d)


def test_where_only_a_loss_that_protects_nobody_would_do_the_way_out_is_another() -> None:
    with pytest.raises(UsageError, match=r"at least 140\.\d+ for 200 worker cells .* protects nobody, so lower alpha"):
        least_noise(F(1), F(4), 200)


def test_one_dimension_is_no_better_than_the_staircase() -> None:
    from tacita.mechanisms.eree import staircase_design

    a, e = F("0.1"), F(2)
    assert staircase_design.least_noise(a, e).mean_abs() <= least_noise(a, e, 1).mean_abs()
