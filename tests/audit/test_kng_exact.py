"""One-dimensional KNG against the definition: every output probability of neighbouring files, and the worst ratio.

The law is the one `HonestLayout` draws from (`threshold_law`, with the rate of `sensitivity.rate`); the probabilities
and the neighbours are formed here.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from tacita.privacy import AddRemoveOne, Neighbours, ReplaceOne
from tacita_studies.kng.layouts import threshold_law
from tacita_studies.kng.sensitivity import box_size, gradient_sensitivity, printed_factor, printed_rate, rate

TAUS = [Fraction(one, 100) for one in (1, 5, 10, 25, 50, 75, 90, 95, 99)]
RELATIONS: list[Neighbours] = [AddRemoveOne("firm"), ReplaceOne("firm")]
EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(4)]
TOP = 2000  # the last place; thresholds 0 … TOP

File = tuple[int, ...]


def log_law(places: File, low: int, high: int, tau: Fraction, multiplier: Fraction) -> np.ndarray:
    """log P(t) for each t from low to high."""
    widths, scores, begins = threshold_law(np.array(sorted(places), dtype=np.int64), low, high, tau)
    assert begins[0] == low - 1
    assert widths.sum() == high - low + 1
    weights = -float(multiplier) / tau.denominator * np.repeat(scores, widths).astype(float)
    most = weights.max()
    return np.asarray(weights - most - np.log(np.exp(weights - most).sum()))


def telling_pairs(tau: Fraction, relation: Neighbours) -> Iterator[tuple[File, File]]:
    """Files where nearly all thresholds gain what a rare one loses."""
    for n in (1, 3, 30, 250):
        if isinstance(relation, AddRemoveOne):
            yield (0,) * n, (0,) * n + (TOP - 1,)
            yield (TOP - 1,) * n, (0,) + (TOP - 1,) * n
            yield (), (n,)
        else:
            yield (0,) + (1,) * n, (1,) * n + (TOP - 1,)
            yield (TOP - 2,) * n + (TOP - 1,), (0,) + (TOP - 2,) * n
            yield (n,), (TOP - 1,)


def small_pairs(relation: Neighbours) -> Iterator[tuple[File, File]]:
    """Every file of up to three records on seven places, with every neighbour."""
    for size in range(4):
        for file in combinations_with_replacement(range(7), size):
            if isinstance(relation, AddRemoveOne):
                yield from ((file, (*file, new)) for new in range(7))
            else:
                yield from ((file, (*file[:i], *file[i + 1 :], new)) for i in range(size) for new in range(7))


def worst(tau: Fraction, relation: Neighbours, multiplier: Fraction) -> float:
    losses = [
        np.abs(log_law(one, 0, TOP, tau, multiplier) - log_law(two, 0, TOP, tau, multiplier)).max()
        for one, two in telling_pairs(tau, relation)
    ]
    return float(max(losses))


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("tau", TAUS, ids=str)
def test_the_loss_reaches_epsilon_and_never_exceeds_it(tau: Fraction, relation: Neighbours) -> None:
    for epsilon in EPSILONS:
        loss = worst(tau, relation, rate(tau, epsilon, relation))
        assert 0.9 * float(epsilon) < loss <= float(epsilon) + 1e-9


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("tau", TAUS, ids=str)
def test_every_small_file_with_and_without_neighbouring_quantiles(tau: Fraction, relation: Neighbours) -> None:
    multiplier = rate(tau, 1, relation)
    for one, two in small_pairs(relation):
        for low, high in ((0, 7), (2, 7), (0, 4), (3, 4), (5, 5)):
            gap = log_law(one, low, high, tau, multiplier) - log_law(two, low, high, tau, multiplier)
            assert np.abs(gap).max() <= 1 + 1e-9


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("tau", TAUS, ids=str)
def test_a_fifth_too_little_noise_is_noticed(tau: Fraction, relation: Neighbours) -> None:
    assert worst(tau, relation, rate(tau, 4, relation) / Fraction(4, 5)) > 4.4


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("tau", TAUS, ids=str)
def test_the_printed_formula_loses_what_we_say_it_loses(tau: Fraction, relation: Neighbours) -> None:
    epsilon = Fraction(1, 2)
    claimed = float(printed_factor(tau, relation) * epsilon)
    assert 0.9 * claimed < worst(tau, relation, printed_rate(tau, epsilon)) <= claimed + 1e-9


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_printed_formula_breaks_its_promise_at_the_99th_percentile(relation: Neighbours) -> None:
    tau = Fraction(99, 100)
    loss = worst(tau, relation, printed_rate(tau, 1))
    assert loss > 49  # fifty times the ε it claims
    assert loss > 1 + 1e-9


@pytest.mark.parametrize("tau", TAUS, ids=str)
def test_the_gradient_s_change_reaches_its_bound_and_never_exceeds_it(tau: Fraction) -> None:
    """Records with one predictor from a raw box, planes on both sides of each: the ∞-norm of the change of the sum."""
    t = float(tau)
    for low, high in ((0.0, 1.0), (0.0, 46.0), (-2.0, 3.0)):
        xs = [np.array([1.0, low]), np.array([1.0, high]), np.array([1.0, (low + high) / 2])]
        single = [x * (u - t) for x in xs for u in (0, 1)]
        radius, diameter = max(1, abs(low), abs(high)), high - low
        largest = max(np.abs(g).max() for g in single)
        bound = gradient_sensitivity(tau, AddRemoveOne("firm"), Fraction(radius))
        assert largest == pytest.approx(float(bound), rel=1e-12)
        pairs = max(np.abs(g - h).max() for g in single for h in single)
        bound = gradient_sensitivity(tau, ReplaceOne("firm"), Fraction(radius), Fraction(diameter))
        assert pairs == pytest.approx(float(bound), rel=1e-12)


# Planes over one predictor in the unit box, on a grid of their values at its two ends: a law that can be summed.
ENDS = np.linspace(0, 10, 41)
LEFT, RIGHT = np.meshgrid(ENDS, ENDS, indexing="ij")
Records = list[tuple[float, float]]


def log_plane_law(records: Records, tau: Fraction, multiplier: Fraction) -> np.ndarray:
    gradient = np.zeros((2, *LEFT.shape))
    for x, y in records:
        side = (y <= LEFT + (RIGHT - LEFT) * x) - float(tau)
        gradient += np.array([1.0, x])[:, None, None] * side
    weights = -float(multiplier) * np.abs(gradient).max(axis=0)
    return np.asarray(weights - weights.max() - np.log(np.exp(weights - weights.max()).sum()))


def plane_pairs(relation: Neighbours) -> Iterator[tuple[Records, Records]]:
    random = np.random.default_rng(5)
    for rows in (0, 1, 4, 30):
        for _ in range(15):
            x, y = random.choice([0.0, 0.5, 1.0, random.random()], rows + 1), random.uniform(0, 10, rows + 1)
            file, more = (
                list(zip(x, y, strict=True)),
                (float(random.choice([0.0, 1.0])), float(random.choice([0.0, 10.0]))),
            )
            yield (file[:-1], [*file[:-1], more]) if isinstance(relation, AddRemoveOne) else (file, [*file[:-1], more])
    for n in (10, 250):  # all at one end of the box: the law along that end is the one-dimensional one
        low, high = [(1.0, 0.1)] * n, [(1.0, 9.9)] * n
        if isinstance(relation, AddRemoveOne):
            yield low, [*low, (1.0, 9.9)]
            yield high, [*high, (1.0, 0.1)]
        else:
            yield [(1.0, 0.0), *low], [*low, (1.0, 9.9)]
            yield [*high, (1.0, 10.0)], [(1.0, 0.0), *high]


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("tau", [TAUS[0], TAUS[4], TAUS[-1]], ids=str)
def test_planes_keep_epsilon_and_a_fifth_too_little_noise_is_noticed(tau: Fraction, relation: Neighbours) -> None:
    right = rate(tau, 4, relation, *box_size([(0, 1)]))

    def loss(multiplier: Fraction) -> float:
        return max(
            float(np.abs(log_plane_law(one, tau, multiplier) - log_plane_law(two, tau, multiplier)).max())
            for one, two in plane_pairs(relation)
        )

    assert loss(right) <= 4 + 1e-9
    assert loss(right / Fraction(4, 5)) > 4
