"""The peers draw from the law they claim, and that law is as private as they claim."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import stats

from support.goodness_of_fit import counts_p_value, fits, values_p_value
from tacita.errors import UsageError
from tacita_studies.tran2023.peers import QUANTILE_PEERS, QuantilePeer
from tacita_studies.tran2023.peers.exponential import gap_chances, independent, recursive
from tacita_studies.tran2023.peers.histogram import histogram, tree
from tacita_studies.tran2023.peers.joint import joint, joint_log_density

UNIT = (0.0, 1.0)
SMALL = np.array([0.1, 0.3, 0.35, 0.8])


def neighbours(values: np.ndarray) -> list[np.ndarray]:
    """All files with one record less, and files with one more at telling places."""
    without = [np.delete(values, k) for k in np.unique(values, return_index=True)[1]]
    more = [np.sort(np.append(values, x)) for x in (0.0, 0.05, 0.2, 0.32, 0.5, 0.95, 1.0)]
    return [*without, *more]


def all_joint_weights(values: np.ndarray, quantiles: Sequence[float], epsilon: float) -> dict[tuple[int, ...], float]:
    """The weight of every assignment of outputs to gaps, by enumeration."""
    edges = np.concatenate([[0.0], values, [1.0]])
    widths, n = np.diff(edges), len(values)
    shares = np.diff([0.0, *quantiles, 1.0])
    rate = epsilon / (2 * 2 * (1 - shares.min()))
    found = {}
    for gaps in itertools.combinations_with_replacement(range(n + 1), len(quantiles)):
        weight = math.exp(-rate * np.abs(np.diff([0, *gaps, n]) - shares * n).sum())
        for gap, times in Counter(gaps).items():
            weight *= widths[gap] ** times / math.factorial(times)
        if weight > 0:
            found[gaps] = weight
    return found


def follows(drawn: Counter[tuple[int, ...]], chances: dict[tuple[int, ...], float]) -> bool:
    assert set(drawn) <= set(chances)
    weights = np.array(list(chances.values()))
    return fits(counts_p_value([drawn[key] for key in chances], weights / weights.sum()))


def gaps_of(values: np.ndarray, outputs: np.ndarray) -> tuple[int, ...]:
    return tuple(int(x) for x in np.searchsorted(values, outputs))


# ---------------------------------------------------------------- every quantile peer


@pytest.mark.parametrize("peer", QUANTILE_PEERS, ids=lambda peer: peer.name)
class TestEveryPeer:
    def test_the_same_seed_gives_the_same_draw(self, peer: QuantilePeer) -> None:
        values, quantiles = np.sort(np.random.default_rng(1).lognormal(size=300)), [0.1, 0.5, 0.9]
        first, second, other = (
            peer.draw(values, quantiles, 1.0, (0.01, 100.0), np.random.default_rng(seed)) for seed in (5, 5, 6)
        )
        assert first.tolist() == second.tolist()
        assert first.tolist() != other.tolist()

    def test_close_at_a_large_epsilon_and_ordered_within_bounds(self, peer: QuantilePeer) -> None:
        values, quantiles = np.sort(np.random.default_rng(1).lognormal(size=20_000)), np.arange(1, 20) / 20
        drawn = peer.draw(values, quantiles, 1e3, (1e-3, 1e3), np.random.default_rng(2))
        assert np.abs(np.searchsorted(values, drawn) - quantiles * 20_000).max() < 100
        assert np.all(np.diff(drawn) >= 0)

    @pytest.mark.parametrize(
        "values", [[], [2.0], [2.0] * 50, [0.001] * 5 + [1e6] * 5], ids=["none", "one", "equal", "out"]
    )
    def test_any_values_give_outputs_within_bounds(self, peer: QuantilePeer, values: list[float]) -> None:
        drawn = peer.draw(np.array(values), [0.01, 0.5, 0.99], 0.1, (1.0, 10.0), np.random.default_rng(3))
        assert drawn.shape == (3,)
        assert np.all((drawn >= 1.0) & (drawn <= 10.0 * (1 + 1e-12)))
        assert np.all(np.diff(drawn) >= 0)

    @pytest.mark.parametrize(
        ("changed", "named"),
        [
            ({"quantiles": [0.5, 0.4]}, "quantiles"),
            ({"quantiles": []}, "quantiles"),
            ({"quantiles": [0.0, 0.5]}, "quantiles"),
            ({"epsilon": 0.0}, "epsilon"),
            ({"epsilon": math.inf}, "epsilon"),
            ({"bounds": (2.0, 1.0)}, "bounds"),
            ({"values": np.array([3.0, 2.0])}, "values"),
            ({"values": np.array([np.nan])}, "values"),
        ],
    )
    def test_bad_questions_are_refused(self, peer: QuantilePeer, changed: dict[str, object], named: str) -> None:
        asked = {"values": np.array([1.5]), "quantiles": [0.5], "epsilon": 1.0, "bounds": (1.0, 2.0)} | changed
        with pytest.raises(UsageError, match=f"^{named}"):
            peer.draw(**asked, rng=np.random.default_rng(1))  # type: ignore[arg-type]

    def test_the_guarantee_names_the_neighbours_and_what_is_assumed(self, peer: QuantilePeer) -> None:
        assert "ε-differentially private" in peer.guarantee
        assert "added or removed" in peer.guarantee
        assert "public" in peer.guarantee


# ---------------------------------------------------------------- the exponential mechanism


@pytest.mark.parametrize("quantile", [0.01, 0.3, 0.5, 0.99])
def test_one_draw_follows_its_gap_chances(quantile: float) -> None:
    chances = gap_chances(SMALL, quantile, 3.0, UNIT)
    rng = np.random.default_rng(4)
    for draw in (independent, recursive):
        drawn = Counter(gaps_of(SMALL, draw(SMALL, [quantile], 3.0, UNIT, rng)) for _ in range(6000))
        assert follows(drawn, {(k,): float(chance) for k, chance in enumerate(chances)})


def largest_loss(log_density: Callable[[np.ndarray, float], float], values: np.ndarray) -> float:
    outputs = np.arange(0.0125, 1, 0.075)
    return max(
        abs(log_density(values, x) - log_density(other, x)) for other in neighbours(values) for x in outputs.tolist()
    )


@pytest.mark.parametrize("quantile", [0.01, 0.3, 0.5, 0.9, 0.99])
def test_one_quantile_is_as_private_as_said(quantile: float) -> None:
    def density_at(epsilon: float) -> Callable[[np.ndarray, float], float]:
        def log_density(values: np.ndarray, output: float) -> float:
            gap = int(np.searchsorted(values, output))
            edges = np.concatenate([[0.0], values, [1.0]])
            return math.log(gap_chances(values, quantile, epsilon, UNIT)[gap] / (edges[gap + 1] - edges[gap]))

        return log_density

    # With all records in one place, nearly all weight is on one side of it and moves as far as it can.
    files = (SMALL, np.array([]), np.full(3, 0.9), np.full(30, 0.02), np.full(200, 0.5))
    assert max(largest_loss(density_at(2.0), values) for values in files) <= 2.0 + 1e-9
    # A fifth too little noise would not pass: the worst case is nearly reached.
    assert max(largest_loss(density_at(2.0 / 0.8), values) for values in files) > 2.0


def test_the_recursive_draw_is_private_on_an_enumerated_case() -> None:
    """Three quantiles at depth two: the density of all outputs is the product of the draws along the tree."""
    quantiles, epsilon = [0.25, 0.5, 0.75], 2.0

    def log_density(values: np.ndarray, outputs: tuple[float, float, float]) -> float:
        low, middle, high = outputs
        below, above = values[values < middle], values[values > middle]
        total = 0.0
        for part, output, bounds in ((values, middle, UNIT), (below, low, (0.0, middle)), (above, high, (middle, 1.0))):
            edges = np.concatenate([[bounds[0]], part, [bounds[1]]])
            gap = int(np.searchsorted(part, output))
            chance = gap_chances(part, 0.5, epsilon / 2, bounds)[gap]
            total += math.log(chance / (edges[gap + 1] - edges[gap]))
        return total

    places = [0.02, 0.15, 0.31, 0.5, 0.7, 0.9]
    for other in neighbours(SMALL):
        for outputs in itertools.combinations(places, 3):
            assert abs(log_density(SMALL, outputs) - log_density(other, outputs)) <= epsilon + 1e-9
    # The draw has that density: its chance of each ordered triple of gaps, by quadrature over the middle output.
    rng = np.random.default_rng(8)
    drawn = Counter(gaps_of(SMALL, recursive(SMALL, quantiles, epsilon, UNIT, rng)) for _ in range(6000))
    edges = np.concatenate([[0.0], SMALL, [1.0]])
    chances: dict[tuple[int, ...], float] = {}
    for gap, chance in enumerate(gap_chances(SMALL, 0.5, epsilon / 2, UNIT)):
        nodes, weights = np.polynomial.legendre.leggauss(30)
        for node, weight in zip(nodes, weights, strict=True):
            middle = edges[gap] + (node + 1) / 2 * (edges[gap + 1] - edges[gap])
            left = gap_chances(SMALL[:gap], 0.5, epsilon / 2, (0.0, middle))
            right = gap_chances(SMALL[gap:], 0.5, epsilon / 2, (middle, 1.0))
            for i, p in enumerate(left):
                for j, q in enumerate(right):
                    key = (i, gap, gap + j)
                    chances[key] = chances.get(key, 0.0) + float(chance * weight / 2 * p * q)
    assert follows(drawn, chances)


# ---------------------------------------------------------------- JointExp


@pytest.mark.parametrize("quantiles", [[0.5], [0.1, 0.2], [0.3, 0.31, 0.9], [0.2, 0.4, 0.6, 0.8]])
@pytest.mark.parametrize("records", [0, 1, 4, 9])
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 20.0])
def test_the_joint_density_agrees_with_enumeration(quantiles: list[float], records: int, epsilon: float) -> None:
    rng = np.random.default_rng(records)
    values = np.sort(rng.random(records).round(1))  # with ties: gaps of no width
    weights = all_joint_weights(values, quantiles, epsilon)
    outputs = np.sort(rng.random(len(quantiles)))
    shares = np.diff([0.0, *quantiles, 1.0])
    counts = np.diff([0, *np.searchsorted(values, outputs), records])
    log_weight = -epsilon / (4 * (1 - shares.min())) * np.abs(counts - shares * records).sum()
    expected = log_weight - math.log(sum(weights.values()))
    assert joint_log_density(values, outputs.tolist(), quantiles, epsilon, UNIT) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("quantiles", "epsilon"), [([0.5], 2.0), ([0.2, 0.5, 0.9], 3.0), ([0.2, 0.25, 0.3], 0.5)])
def test_joint_draws_follow_the_enumerated_chances(quantiles: list[float], epsilon: float) -> None:
    rng = np.random.default_rng(7)
    drawn = Counter(gaps_of(SMALL, joint(SMALL, quantiles, epsilon, UNIT, rng)) for _ in range(6000))
    assert follows(drawn, all_joint_weights(SMALL, quantiles, epsilon))


def test_joint_draws_are_uniform_within_a_gap() -> None:
    drawn = np.array([joint(np.array([]), [0.2, 0.7], 1.0, UNIT, np.random.default_rng(k)) for k in range(2000)])
    # Two ordered uniform outputs: Beta(1, 2) and Beta(2, 1).
    assert fits(values_p_value(drawn[:, 0], stats.beta(1, 2).cdf))
    assert fits(values_p_value(drawn[:, 1], stats.beta(2, 1).cdf))


@pytest.mark.parametrize("quantiles", [[0.5], [0.01], [0.99], [0.25, 0.5, 0.75], [0.1, 0.11, 0.6]])
def test_the_joint_draw_is_as_private_as_said(quantiles: list[float]) -> None:
    epsilon = 2.0
    places = [0.01, 0.07, 0.2, 0.32, 0.6, 0.97]

    def largest(values: np.ndarray, at: float) -> float:
        return max(
            abs(
                joint_log_density(values, outputs, quantiles, at, UNIT)
                - joint_log_density(other, outputs, quantiles, at, UNIT)
            )
            for other in neighbours(values)
            for outputs in itertools.combinations_with_replacement(places, len(quantiles))
        )

    files = (SMALL, np.full(12, 0.02), np.full(200, 0.5))
    assert max(largest(values, epsilon) for values in files) <= epsilon + 1e-9
    if len(quantiles) == 1:
        assert max(largest(values, epsilon / 0.8) for values in files) > epsilon


def test_a_window_changes_nothing_that_can_be_seen() -> None:
    """With many records only gaps near the quantiles are summed; the density is that of the full sum."""
    rng = np.random.default_rng(2)
    values, quantiles, epsilon = np.sort(rng.random(3000)), [0.2, 0.5, 0.8], 8.0
    shares = np.diff([0.0, *quantiles, 1.0])
    rate = epsilon / (4 * (1 - shares.min()))
    widths = np.diff(np.concatenate([[0.0], values, [1.0]]))
    gaps = np.arange(3001)
    # The full sum in three products of matrices; two outputs in one gap of so many add e^−500.
    step = np.tril(np.exp(-rate * np.abs(gaps[:, None] - gaps[None, :] - shares[1] * 3000)), -1)
    left = widths * np.exp(-rate * np.abs(gaps - shares[0] * 3000))
    end = np.exp(-rate * np.abs(3000 - gaps - shares[3] * 3000))
    total = end @ (widths * (step @ (widths * (step @ left))))
    outputs = np.quantile(values, quantiles)
    counts = np.diff([0, *np.searchsorted(values, outputs), 3000])
    expected = -rate * np.abs(counts - shares * 3000).sum() - math.log(total)
    assert joint_log_density(values, outputs.tolist(), quantiles, epsilon, UNIT) == pytest.approx(expected, abs=1e-8)


# ---------------------------------------------------------------- noisy counts


def test_the_histogram_has_noise_of_scale_one_over_epsilon() -> None:
    """Its first bin alone: the quantile read off a one-sided file tells the noise in the total."""
    rng = np.random.default_rng(9)
    drawn = []
    for _ in range(2000):
        # Two bins with 1000 records each; the median's place in log scale is the balance of the two noises.
        values = np.concatenate([np.full(1000, 2.0), np.full(1000, 50.0)])
        drawn.append(math.log10(histogram(values, [0.25], 0.5, (1.0, 100.0), rng, bins=2)[0]))
    # 0.25 (c1 + c2) / c1 with c = 1000 + Laplace(2): standard deviation 0.25 · sqrt(2) · sqrt(8) / 1000.
    assert np.std(drawn) == pytest.approx(0.001, rel=0.1)


class NoNoise(np.random.Generator):
    """Notes the scale of every request for Laplace noise, and adds none."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(1))
        self.scales: list[float] = []

    def laplace(self, loc: float = 0.0, scale: float = 1.0, size: int = 1) -> np.ndarray:  # type: ignore[override]
        self.scales.append(scale)
        return np.zeros(size)


def test_the_tree_pays_for_every_level_and_reads_off_the_leaves() -> None:
    rng = NoNoise()
    values = np.geomspace(1.0, 10_000.0, 5000)
    drawn = tree(values, [0.25, 0.5], 0.5, (1.0, 10_000.0), rng, fan_out=4, levels=3)
    assert rng.scales == [8.0] * 4
    assert drawn == pytest.approx([10.0, 100.0], rel=0.01)


def test_the_tree_is_better_than_its_leaves_alone() -> None:
    rng = np.random.default_rng(10)
    values, quantiles = np.sort(rng.lognormal(size=20_000)), np.arange(1, 20) / 20

    def mean_error(draw: Callable[[], np.ndarray]) -> float:
        errors = [np.abs(np.searchsorted(values, draw()) - quantiles * 20_000).mean() for _ in range(20)]
        return float(np.mean(errors))

    bounds = (1e-3, 1e3)
    with_tree = mean_error(lambda: tree(values, quantiles, 1.0, bounds, rng, fan_out=16, levels=3))
    leaves = mean_error(lambda: histogram(values, quantiles, 1.0, bounds, rng, bins=4096))
    assert with_tree < 0.7 * leaves
