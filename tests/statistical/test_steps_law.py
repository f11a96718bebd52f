"""Does StepsSynthesis draw what its proof says? Right laws are accepted, laws a fifth off rejected, at one rate."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from elections_by_hand import chances
from numpy.typing import NDArray
from person_sample import NAMES, ZEROS, persons, schema
from scipy.stats import binom, chi2

from tacita.confidential import Confidential
from tacita.noise.binomial import reaching
from tacita.noise.discrete import DiscreteLaplace
from tacita.noise.entropy import SeededEntropy, SystemEntropy, reserve
from tacita.schema import Categorical
from tacita.synthesis.attributes import Attribute
from tacita.synthesis.baselines.dirichlet import _urn
from tacita.synthesis.domain import FREE, Domain
from tacita.synthesis.steps import StepsSynthesis
from tacita.synthesis.steps.cells import Leaves, measure_cells
from tacita.synthesis.steps.electing import Ballot, Electorate, _scores, candidates, elect
from tacita.synthesis.steps.reading import Occupied
from tacita.synthesis.steps.score import widest

# The chance that one of these tests fails although the code is right; a wrong law must be rejected at this level.
TEST_FAILURE_RATE = 1e-6
A_FIFTH_LESS = Fraction(4, 5)


def p_value(observed: NDArray[Any], expected: NDArray[np.float64]) -> float:
    """Pearson's test, thin cells merged."""
    order = np.argsort(-expected)
    seen, wanted = observed[order].astype(float), expected[order]
    thick = max(1, int((wanted >= 10).sum()))
    if thick < wanted.size:
        # What is thin joins the thinnest of the others.
        seen = np.append(seen[: thick - 1], seen[thick - 1 :].sum())
        wanted = np.append(wanted[: thick - 1], wanted[thick - 1 :].sum())
    if wanted.size == 1:
        return 1.0
    return float(chi2.sf(((seen - wanted) ** 2 / wanted).sum(), wanted.size - 1))


def noise_p_value(noise: NDArray[np.int64], scale: Fraction) -> float:
    k = np.arange(-60, 61)
    chance = DiscreteLaplace(scale).pmf(k)
    return p_value(np.bincount(np.clip(noise, -60, 60) + 60, minlength=121), chance / chance.sum() * noise.size)


# ---------------------------------------------------------------- counts and cells of whole runs


@pytest.fixture(scope="module")
def runs() -> tuple[list[Any], dict[str, Any]]:
    plan = StepsSynthesis(NAMES, "2", zeros=ZEROS, layers=2, election="public", stop="never")
    frame = persons(150)
    data = Confidential.from_frame(frame, schema())
    true = {
        "first": frame.groupby("income").size().reindex([str(one) for one in range(5)], fill_value=0).to_numpy(),
        "second": frame.groupby(["income", "voted"]).size().unstack(fill_value=0).reindex(
            [str(one) for one in range(5)], fill_value=0
        ).to_numpy().ravel(),
    }  # fmt: skip
    return [plan.run(data, SystemEntropy()).trees[0] for _ in range(500)], true


@pytest.mark.parametrize(("layer", "name"), [(1, "first"), (2, "second")])
def test_the_noise_of_each_layer_has_the_scale_of_its_share(runs: Any, layer: int, name: str) -> None:
    trees, true = runs
    noise = np.concatenate([tree.layers[layer].noisy - true[name] for tree in trees])
    # ε' = 1, half for the cells, a quarter for each layer: scale 4.
    assert noise_p_value(noise, Fraction(4)) > TEST_FAILURE_RATE
    assert noise_p_value(noise, 4 * A_FIFTH_LESS) < TEST_FAILURE_RATE


def test_the_cells_of_a_leaf_sum_to_its_count_with_the_noise_of_all_of_them(runs: Any) -> None:
    trees, true = runs
    noise = np.concatenate([tree.cells[0].sums - true["second"] for tree in trees])
    sizes = np.concatenate([tree.cells[0].possible for tree in trees])
    unit = noise / np.sqrt(sizes * DiscreteLaplace(Fraction(2)).variance())
    # Sums of 6 to 12 draws: their mean square is close to normal over 5000 sums; kurtosis at most 3 + 3/6.
    z = (np.mean(unit**2) - 1) / np.sqrt(2.5 / unit.size)
    assert abs(z) < 5.5
    assert abs((np.mean(unit**2) / 0.64 - 1) / np.sqrt(2.5 / unit.size)) > 5.5


@pytest.mark.parametrize(("layers", "epsilon"), [(0, "2"), (2, "1/2"), (5, "2")])
def test_several_files_differ_by_as_much_as_they_are_off(layers: int, epsilon: str) -> None:
    """What the combining rule for one measurement rests on; by attributes of the tree and of its cells alike."""
    frame = persons(1000)
    data = Confidential.from_frame(frame, schema())
    plan = StepsSynthesis(NAMES, epsilon, layers=layers, zeros=ZEROS, election="public", stop="never")
    wanted = {"income": "0", "voted": "1", "sex": "1", "region": "2"}
    off, spread = [], []
    for seed in range(40):
        files = list(plan.run(data, SeededEntropy(seed)).sample(6, seed=seed))
        shares = np.array([[(file[name] == level).mean() for name, level in wanted.items()] for file in files])
        off.append(shares.mean(axis=0) - [(frame[name] == level).mean() for name, level in wanted.items()])
        spread.append(shares.var(axis=0, ddof=1))
    ratio = np.sqrt(np.mean(spread, axis=0) / np.mean(np.square(off), axis=0))
    assert ((ratio > 0.6) & (ratio < 1.6)).all(), ratio


# ---------------------------------------------------------------- sparse cells

PAIR = Domain(
    tuple(Attribute(f"a{at}", Categorical(tuple("0123"[:size]))) for at, size in enumerate((2, 3, 4))),
    (((1, 0), (2, 0)),),
)


def one_leaf() -> Leaves:
    """Two leaves by the first attribute with 11 possible cells each, three of them occupied."""
    fixed = np.array([[0, FREE, FREE], [1, FREE, FREE]], dtype=np.int16)
    codes = np.array([[0, 0, 1], [0, 2, 3], [1, 1, 1]], dtype=np.int16)
    return Leaves(1, np.array([0, 1]), fixed, np.array([6, 2]), np.array([0, 0, 1]), codes, np.array([1, 5, 2]))


@pytest.mark.parametrize("dense", [0, 1 << 20], ids=["sparse", "all cells"])
def test_both_ways_list_cells_with_the_same_law(dense: int) -> None:
    """Every cell, occupied or empty: how often it is below the threshold, and each value above it."""
    leaves, scale, draws, top = one_leaf(), Fraction(3, 2), 4000, 12
    true = np.zeros((2, 12), dtype=np.int64)
    true[0, 1], true[0, 11], true[1, 5] = 1, 5, 2
    seen = np.zeros((2, 12, top + 1), dtype=np.int64)
    entropy = SystemEntropy()
    listed = np.zeros(draws, dtype=np.int64)
    for draw in range(draws):
        found = measure_cells(PAIR, leaves, scale, entropy, dense=dense)
        assert found.threshold == 1
        assert found.possible.tolist() == [11, 11]
        np.add.at(seen, (found.node, found.place, np.minimum(found.noisy, top)), 1)
        listed[draw] = found.noisy.size
    assert seen[:, 0].sum() == 0, "an impossible cell"
    seen[:, :, 0] = draws - seen.sum(axis=2)

    def worst(law_scale: Fraction) -> float:
        found = []
        for node in range(2):
            for place in range(1, 12):
                k = np.arange(-200, 201)
                chance = DiscreteLaplace(law_scale).pmf(k)
                value = np.clip(k + true[node, place], 0, top)
                expected = np.bincount(value, weights=chance, minlength=top + 1) * draws
                found.append(p_value(seen[node, place], expected))
        return min(found)

    assert worst(scale) > TEST_FAILURE_RATE / 22
    assert worst(scale * A_FIFTH_LESS) < TEST_FAILURE_RATE / 22
    # Cells are independent, so the number of listed ones has the variance of a sum of coins.
    q = np.exp(-1 / float(scale))
    tails = [q / (1 + q)] * 19 + [1 - q**m / (1 + q) for m in (1, 5, 2)]
    variance = sum(p * (1 - p) for p in tails)
    assert abs(listed.var() / variance - 1) < 6 * np.sqrt(2 / draws)
    assert abs(listed.mean() - sum(tails)) < 6 * np.sqrt(variance / draws)


@pytest.mark.parametrize(("count", "threshold", "scale"), [(40, 1, 2), (1000, 4, 1), (10**12, 24, 1)])
def test_how_many_reach_the_threshold_is_binomial(count: int, threshold: int, scale: int) -> None:
    spare = reserve(64, SystemEntropy())
    drawn = np.array([reaching(count, threshold, Fraction(scale), spare) for _ in range(3000)])

    def p(at: float) -> float:
        q = np.exp(-1 / at)
        law = binom(count, q**threshold / (1 + q))
        low, high = int(law.ppf(1e-9)), int(law.ppf(1 - 1e-9))
        chance = law.pmf(np.arange(low, high + 1))
        return p_value(np.bincount(np.clip(drawn, low, high) - low, minlength=chance.size), chance * drawn.size)

    assert p(scale) > TEST_FAILURE_RATE
    assert p(0.8 * scale) < TEST_FAILURE_RATE


# ---------------------------------------------------------------- elections and the urn


def test_elections_have_the_chances_of_the_proof() -> None:
    draws = 6000
    fixed = np.full((draws, 3), FREE, dtype=np.int16)
    codes = np.tile(np.array([[0, 0, 1], [0, 2, 3], [1, 1, 1], [0, 1, 1]], dtype=np.int16), (draws, 1))
    at, ones = np.repeat(np.arange(draws), 4), np.ones(4 * draws, dtype=np.int64)
    nodes = Electorate(fixed, np.full(draws, 4), at, codes, ones)
    ballot = Ballot("private", "most", "deviance", (0, 1, 2), None)
    epsilon = Fraction(1)
    winners = elect(PAIR, nodes, ballot, epsilon, 0.0, SystemEntropy(), "test")
    levels = candidates(PAIR, fixed[:1])
    single = Electorate(fixed[:1], np.array([4]), at[:4], codes[:4], ones[:4])
    scores = _scores(PAIR, single, levels >= 2, levels, np.array([8]), ballot)[0, :3]
    scale = widest(8, PAIR.sizes, with_stop=False) / float(epsilon)
    seen = np.bincount(winners, minlength=3)
    assert p_value(seen, chances(scores, scale) * draws) > TEST_FAILURE_RATE
    assert p_value(seen, chances(scores, 0.8 * scale) * draws) < 1e-3


def test_the_urn_follows_its_prior_and_its_records() -> None:
    occupied = Occupied(np.array([[0, 1, 1], [1, 2, 2]], dtype=np.int16), np.array([6, 2]), 8)
    drawn = np.concatenate([_urn(PAIR, occupied, 3, 2, SystemEntropy(), "test") for _ in range(3000)])
    weight = np.full(24, 2.0)
    weight[[0, 12]] = 0
    weight[[5, 22]] += [6, 2]
    # Draws of one urn are alike: compare means, with the variance of an urn of 3 draws (1 + (3 − 1)/(52 + 1) times).
    share = weight / weight.sum()
    seen = np.bincount(drawn, minlength=24)
    assert seen[[0, 12]].sum() == 0
    possible = share > 0
    assert p_value(seen[possible], share[possible] * drawn.size) > TEST_FAILURE_RATE
    even = np.full(22, 1 / 22)
    assert p_value(seen[possible], even * drawn.size) < TEST_FAILURE_RATE
