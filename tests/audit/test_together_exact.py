"""The law for several numbers together against the definition: each up or down as far as the relation lets it."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import ceil

import numpy as np
import pytest

from tacita.mechanisms.magnitude import SmoothSums
from tacita.mechanisms.magnitude.together_design import certified, least_noise
from tacita.noise.power import BoxLaw

F = Fraction
SETTINGS = [("0.1", "2", 2), ("0.1", "4", 3), ("0.25", "4", 2), ("0.05", "1", 4), ("0.1", "12", 2)]
NUMBERS = (0, 1, 9, 10, 40, 400)
Place = tuple[int, float]  # the sum and the scale of one number in a cell


def reached(number: int, alpha: Fraction) -> tuple[int, ...]:
    up = number + max(int(alpha * number), 1)
    return (up, max(min(ceil(number / (1 + alpha)), number - 1), 0), number + 1)


def placed(number: int, others: int, alpha: Fraction) -> Place:
    return number + others, float(max(alpha * max(number, others), 1 + alpha))


def changes(alpha: Fraction) -> list[tuple[Place, Place]]:
    """What may happen to one number of the unit, in a cell with none or one other unit."""
    return [
        (placed(number, others, alpha), placed(other, others, alpha))
        for number in NUMBERS
        for others in (0, number)
        for other in reached(number, alpha)
    ]


def loss(law: BoxLaw, moves: tuple[tuple[Place, Place], ...]) -> float:
    """The largest |log ratio| over outputs on rays through both centres, near and very far."""
    d = len(moves)
    (q, s), (q2, s2) = (np.array([move[side] for move in moves], dtype=float).T for side in (0, 1))
    ways = np.concatenate([np.eye(d), -np.eye(d), np.array(list(product([-1.0, 1.0], repeat=d)))])
    rays = (np.concatenate([[0.0], np.geomspace(1e-3, 1e9, 60)])[:, None, None] * ways).reshape(-1, d)
    outputs = np.concatenate([q + s * rays, q2 + s2 * rays])
    norm, norm2 = (np.abs((outputs - m) / w).max(axis=1) for m, w in ((q, s), (q2, s2)))
    power, b = float(law.a) + d, float(law.b)
    return float(np.abs(power * np.log((b + norm2) / (b + norm)) + np.log(s2 / s).sum()).max())


def pairs(alpha: Fraction, d: int) -> Iterator[tuple[tuple[Place, Place], ...]]:
    """All of them for two numbers; for more, the ends and a thousand at random."""
    one = changes(alpha)
    if d == 2:
        yield from product(one, repeat=2)
        return
    largest = one[-6:]
    yield from product(largest[:2], repeat=d)
    random = np.random.default_rng(5)
    yield from (tuple(one[at] for at in random.integers(0, len(one), d)) for _ in range(1000))


def worst(law: BoxLaw, alpha: Fraction) -> float:
    return max(loss(law, moves) for moves in pairs(alpha, law.width))


@pytest.mark.parametrize(("alpha", "epsilon", "d"), SETTINGS)
def test_the_loss_reaches_epsilon_and_never_exceeds_it(alpha: str, epsilon: str, d: int) -> None:
    a, e = F(alpha), F(epsilon)
    law = least_noise(a, e, d)
    assert law is not None
    assert 0.95 * float(e) <= worst(law, a) <= float(e) + 1e-9


@pytest.mark.parametrize(("alpha", "epsilon", "d"), SETTINGS[:3])
def test_a_law_with_less_noise_is_harmful_and_refused(alpha: str, epsilon: str, d: int) -> None:
    a, e = F(alpha), F(epsilon)
    law = least_noise(a, e, d)
    assert law is not None
    for wrong in (BoxLaw(law.a, law.b * F(4, 5), d), BoxLaw(law.a * F(12, 10), law.b, d)):
        assert worst(wrong, a) > float(e)
        assert not certified(wrong, a, e)


def test_where_epsilon_is_too_small_there_is_none() -> None:
    assert least_noise(F("0.2"), F("0.5"), 2) is None


@pytest.mark.parametrize(("epsilon", "together"), [("1/2", False), ("2", True), ("16", False)])
def test_the_law_with_less_noise_is_taken(epsilon: str, together: bool) -> None:
    plan = SmoothSums("0.1", epsilon, of=["pay", "jobs"], margin_share="0")
    apart = SmoothSums("0.1", F(epsilon) / 2, of=["pay"], margin_share="0").law()
    assert isinstance(plan.law(), BoxLaw) is together
    assert plan.law().mean_abs() <= apart.mean_abs()
