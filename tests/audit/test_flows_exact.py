"""The law of flows against the definition: a firm's jobs of two years, each up or down as far as the relation goes."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import ceil

import numpy as np
import pytest

from tacita.errors import UsageError
from tacita.mechanisms.magnitude.flows_design import certified, least_noise, smallest_epsilon
from tacita.noise.power import PowerLaw

F = Fraction
SETTINGS = [("0.1", "1"), ("0.1", "2"), ("0.25", "2"), ("0.05", "4"), ("0.1", "8"), ("0.3", "20")]
JOBS = (0, 1, 8, 10, 11, 40, 100, 410)
Flows = tuple[float, float]


def reached(jobs: int, alpha: Fraction) -> set[int]:
    """Where a number may go, to the far ends and a step."""
    up = jobs + max(int(alpha * jobs), 1)
    down = max(min(ceil(jobs / (1 + alpha)), jobs - 1), 0)
    return {jobs, jobs + 1, max(jobs - 1, 0), up, down}


def answered(firm: tuple[int, int], others: int, alpha: Fraction) -> tuple[Flows, float]:
    """Creation, destruction and the scale of a cell with this firm and one of `others` jobs in both years."""
    gain = firm[1] - firm[0]
    least = ceil(1 / alpha) + 1
    size = max(sum(max(jobs, least) for jobs in firm), 2 * max(others, least))
    return (max(gain, 0), max(-gain, 0)), float(alpha * size)


def pairs(alpha: Fraction) -> Iterator[tuple[tuple[Flows, float], tuple[Flows, float]]]:
    for before, after in product(JOBS, JOBS):
        for others in (0, before):
            base = answered((before, after), others, alpha)
            for other in product(reached(before, alpha), reached(after, alpha)):
                yield base, answered(other, others, alpha)


def loss(law: PowerLaw, one: tuple[Flows, float], two: tuple[Flows, float]) -> float:
    """The largest |log ratio|: at the two centres and very far out, along every axis and at random."""
    (q, s), (q2, s2) = one, two
    ways = np.concatenate([np.eye(2), -np.eye(2), np.random.default_rng(3).laplace(size=(20, 2))])
    rays = (np.concatenate([[0.0], np.geomspace(1e-3, 1e9, 60)])[:, None, None] * ways).reshape(-1, 2)
    outputs = np.concatenate([np.array(q) + s * rays, np.array(q2) + s2 * rays])
    norm, norm2 = (np.abs(outputs - np.array(m)).sum(axis=1) / w for m, w in ((q, s), (q2, s2)))
    power, b = float(law.a) + 2, float(law.b)
    return float(np.abs(power * np.log((b + norm2) / (b + norm)) + 2 * np.log(s2 / s)).max())


def worst(law: PowerLaw, alpha: Fraction) -> float:
    return max(loss(law, *pair) for pair in pairs(alpha))


@pytest.mark.parametrize(("alpha", "epsilon"), SETTINGS)
def test_the_loss_reaches_epsilon_and_never_exceeds_it(alpha: str, epsilon: str) -> None:
    a, e = F(alpha), F(epsilon)
    law = least_noise(a, e)
    assert 0.95 * float(e) <= worst(law, a) <= float(e) + 1e-9


@pytest.mark.parametrize(("alpha", "epsilon"), SETTINGS[:3])
def test_a_law_with_less_noise_is_harmful_and_refused(alpha: str, epsilon: str) -> None:
    a, e = F(alpha), F(epsilon)
    law = least_noise(a, e)
    for wrong in (PowerLaw(law.a, law.b * F(4, 5)), PowerLaw(law.a * F(12, 10), law.b)):
        assert worst(wrong, a) > float(e)
        assert not certified(wrong, a, e)


@pytest.mark.parametrize("alpha", ["0.01", "0.1", "0.333", "1"])
def test_the_smallest_epsilon_named_works(alpha: str) -> None:
    a = F(alpha)
    assert least_noise(a, smallest_epsilon(a)).mean_abs() > 0
    with pytest.raises(UsageError, match="flows need ε of at least"):
        least_noise(a, smallest_epsilon(a) - F(1, 1000))
