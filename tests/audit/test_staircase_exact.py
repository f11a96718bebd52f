"""The staircase against the definition: small cells, their neighbours, both directions, every plateau edge.

Nothing here uses the geometry of the design module. A cell is a list of establishment sizes, a neighbour is one of
them grown, and the density of the released value is compared on both sides of every edge of either law.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest

from support.laws_by_hand import log_density, plateau_masses, plateaus
from tacita.errors import UsageError
from tacita.mechanisms.eree import SmoothStaircase
from tacita.mechanisms.eree.staircase_design import certified, least_noise, smallest_epsilon
from tacita.noise.plateau import PlateauLaw
from tacita.privacy import text

F = Fraction
Cell = tuple[int, ...]
SIZES = (0, 1, 2, 9, 10, 11, 20, 100, 110)
SETTINGS = [("0.1", "2"), ("0.1", "1"), ("0.25", "1"), ("0.03", "0.5"), ("1/3", "3")]


def grown(cell: Cell, alpha: Fraction) -> Iterator[Cell]:
    """Every cell in which one establishment gained between 1 and max(α·size, 1) workers; a few steps stand for all."""
    for i, size in enumerate(cell):
        for gain in {1, int(alpha * size) // 2, int(alpha * size)} - {0}:
            yield (*cell[:i], size + gain, *cell[i + 1 :])


@cache
def pairs(alpha: Fraction) -> list[tuple[Cell, Cell]]:
    cells = [(x,) for x in SIZES] + [c for c in combinations_with_replacement(SIZES, 2) if max(c) <= 20]
    return [(cell, other) for cell in cells for other in grown(cell, alpha)]


def sensitivity(cell: Cell, alpha: Fraction) -> Fraction:
    return max(alpha * max(cell), 1 + alpha)


@cache
def beside_edges(law: PlateauLaw) -> np.ndarray:
    """Points just inside every plateau, on both of its ends, three tail periods included."""
    edges = [float(e) for e in law.edges]
    pivot, growth = float(law.pivot), float(law.growth)
    for period in (1, 2, 3):
        edges += [(float(e) + pivot) * growth**period - pivot for e in law.edges[-law.tail :]]
        edges += [(float(e) - pivot) * growth**period + pivot for e in law.edges[: law.tail]]
    return np.concatenate([np.array(edges) + 1e-10, np.array(edges) - 1e-10])


def worst_loss(law: PlateauLaw, alpha: Fraction, noise: float = 1.0, *, least: Fraction | None = None) -> float:
    """Largest |ln density ratio| between any two neighbouring cells; `noise` multiplies the scale."""
    points, worst = beside_edges(law), 0.0
    for cell, other in pairs(alpha):
        scales = [float(sensitivity(c, alpha)) * noise for c in (cell, other)]
        if least is not None:
            scales = [float(max(alpha * max(c), least)) for c in (cell, other)]
        centres = [float(sum(c)) for c in (cell, other)]
        outputs = np.concatenate([m + s * points for m, s in zip(centres, scales, strict=True)])
        one, two = (log_density(law, (outputs - m) / s) - np.log(s) for m, s in zip(centres, scales, strict=True))
        worst = max(worst, float(np.abs(one - two).max()))
    return worst


@pytest.mark.parametrize(("alpha", "epsilon"), SETTINGS)
def test_the_loss_reaches_epsilon_and_never_exceeds_it(alpha: str, epsilon: str) -> None:
    a, e = F(alpha), F(epsilon)
    assert 0.97 * float(e) <= worst_loss(least_noise(a, e), a) <= float(e) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("alpha", "epsilon"), [("0.01", "0.25"), ("0.05", "1"), ("0.2", "2"), ("0.5", "2"), ("1", "4"), ("0.1", "0.2")]
)
def test_the_loss_at_more_settings(alpha: str, epsilon: str) -> None:
    a, e = F(alpha), F(epsilon)
    assert 0.9 * float(e) <= worst_loss(least_noise(a, e), a) <= float(e) + 1e-9


@pytest.mark.parametrize(
    ("alpha", "epsilon"),
    # Very small α; ε so large that a law for a smaller one must serve; the smallest ε of several α.
    [("0.0001", "2"), ("0.001", "0.5"), ("0.002", "1"), ("0.005", "2"), ("0.1", "16")]
    + [(alpha, text(smallest_epsilon(F(alpha)))) for alpha in ("0.001", "0.1")]
    + [pytest.param(*one, marks=pytest.mark.slow) for one in (("0.1", "64"), ("0.5", "100"), ("0.2", "0.366"))],
)
def test_a_certified_law_is_found_at_the_ends_of_the_range(alpha: str, epsilon: str) -> None:
    a, e = F(alpha), F(epsilon)
    law = least_noise(a, e)
    assert certified(law, a, e)
    assert worst_loss(law, a) <= float(e) + 1e-9
    assert 0 < law.mean_abs() < 5 / float(e) + 1


@pytest.mark.parametrize(("alpha", "epsilon", "named"), [("1.5", "4", "alpha"), ("0.001", "0.01", "epsilon")])
def test_what_would_take_minutes_is_refused_at_once(alpha: str, epsilon: str, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        least_noise(F(alpha), F(epsilon))


@pytest.mark.parametrize(("alpha", "epsilon"), SETTINGS)
def test_four_fifths_of_the_noise_exceed_epsilon(alpha: str, epsilon: str) -> None:
    a, e = F(alpha), F(epsilon)
    assert worst_loss(least_noise(a, e), a, 0.8) > 1.05 * float(e)


def test_the_usual_floor_of_one_exceeds_epsilon() -> None:
    """The law is made for S = max(αx, 1 + α); the floor 1 of the other smooth mechanisms is not enough for it."""
    a, e = F("0.1"), F(2)
    assert worst_loss(least_noise(a, e), a, least=F(1)) > 1.02 * float(e)


def moved(law: PlateauLaw, plateau: int, other: int, share: Fraction) -> PlateauLaw:
    weights = list(law.weights)
    part = int(weights[plateau] * share)
    weights[plateau] -= part
    weights[other] += part
    return replace(law, weights=tuple(weights))


@pytest.mark.parametrize("where", ["peak", "core", "left tail", "right tail"])
def test_the_certificate_refuses_a_law_that_was_tampered_with(where: str) -> None:
    """Whatever the certificate lets pass, the audit finds harmless; what the audit finds harmful, it refuses."""
    a, e = F("0.1"), F(2)
    law = least_noise(a, e)
    n = len(law.weights)
    plateau = {"peak": n // 2, "core": n // 2 + 30, "left tail": 3, "right tail": n - 4}[where]
    harmful = moved(law, plateau, n // 2 - 10, F(1, 5))
    assert worst_loss(harmful, a) > float(e)
    assert not certified(harmful, a, e)
    assert certified(law, a, e)


def test_the_certificate_knows_alpha() -> None:
    law = least_noise(F("0.1"), F(2))
    assert not certified(law, F("0.11"), F(2))
    assert not certified(replace(law, ratio=law.ratio / 2), F("0.1"), F(2))


@pytest.mark.parametrize(("alpha", "epsilon"), [("0.1", "2"), ("0.25", "1")])
def test_published_whole_numbers(alpha: str, epsilon: str) -> None:
    """What a reader sees is rounded: the odds of every whole number move by at most e^ε, and by nearly that much."""
    a, e = F(alpha), F(epsilon)
    law = least_noise(a, e)
    worst, weaker = 0.0, 0.0
    for cell, other in pairs(a):
        if max(cell) > 20:
            continue
        middle = np.arange(-60, sum(cell) + 61) - 0.5
        for noise in (1.0, 0.8):
            one, two = (
                plateau_masses(law, (middle - sum(c)) / (float(sensitivity(c, a)) * noise)) for c in (cell, other)
            )
            loss = float(np.abs(np.log(one / two)).max())
            worst, weaker = (max(worst, loss), weaker) if noise == 1 else (worst, max(weaker, loss))
    assert 0.8 * float(e) < worst <= float(e) + 1e-9
    assert weaker > float(e)


@pytest.mark.parametrize(("alpha", "epsilon"), SETTINGS)
def test_the_law_is_a_law(alpha: str, epsilon: str) -> None:
    """Total mass one, mean zero, and the mean absolute value it reports, from its plateaus alone."""
    law = least_noise(F(alpha), F(epsilon))
    lower, upper, height = (np.array(column) for column in zip(*plateaus(law, 1e9), strict=True))
    mass, middle = height * (upper - lower), (lower + upper) / 2
    assert mass.sum() == pytest.approx(1, abs=1e-9)
    assert law.mean() == pytest.approx(0, abs=1e-12)
    assert float(mass @ middle) == pytest.approx(0, abs=1e-6)
    assert ((lower >= 0) | (upper <= 0)).all()
    assert float(mass @ np.abs(middle)) == pytest.approx(law.mean_abs(), rel=1e-6)


def test_the_mechanism_uses_this_law_and_this_sensitivity() -> None:
    plan = SmoothStaircase("0.1", "2", by=["place"])
    law, k = plan.unit(1)
    assert law == least_noise(F("0.1"), F(2))
    assert k == 1
    numerator, denominator = plan._scales(np.array([0, 1, 11, 12, 100, 12345]), k)
    assert [F(int(n), denominator) for n in numerator] == [
        sensitivity((x,), F("0.1")) for x in (0, 1, 11, 12, 100, 12345)
    ]
