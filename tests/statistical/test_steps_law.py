"""Does StepsSynthesis draw what its proof says? Right laws are accepted, laws a fifth off rejected, at one rate."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from support.elections_by_hand import chances
from support.goodness_of_fit import cells_of, counts_p_value, fits, share_p_value
from support.people import NAMES, ZEROS, persons, schema
from tacita.data.confidential import Confidential
from tacita.data.schema import Categorical
from tacita.noise.discrete import DiscreteLaplace, reaching
from tacita.noise.entropy import SeededEntropy, SystemEntropy, reserve
from tacita.synthesis.attributes import Attribute
from tacita.synthesis.comparison.dirichlet import _urn
from tacita.synthesis.comparison.steps import StepsSynthesis
from tacita.synthesis.comparison.steps.cells import Leaves, measure_cells
from tacita.synthesis.comparison.steps.electing import Ballot, Electorate, _scores, candidates, elect, widest
from tacita.synthesis.comparison.steps.reading import Occupied
from tacita.synthesis.domain import FREE, Domain

A_FIFTH_LESS = Fraction(4, 5)


def sum_chances(scale: Fraction, terms: int, reach: int) -> NDArray[np.float64]:
    """A sum of independent discrete Laplace numbers: below −reach, each number up to reach, above."""
    one = DiscreteLaplace(scale).pmf(np.arange(-300, 301))
    law = one
    for _ in range(terms - 1):
        law = np.convolve(law, one)
    middle = law.size // 2
    inside = law[middle - reach : middle + reach + 1]
    return np.concatenate([[(1 - inside.sum()) / 2], inside, [(1 - inside.sum()) / 2]])


def noise_p_value(noise: NDArray[np.int64], scale: Fraction, terms: int = 1, reach: int = 60) -> float:
    return counts_p_value(cells_of(noise, -reach, 2 * reach + 1), sum_chances(scale, terms, reach))


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
    return [plan.run(data, SeededEntropy(seed)).released[0] for seed in range(500)], true


@pytest.mark.parametrize(("layer", "name"), [(1, "first"), (2, "second")])
def test_the_noise_of_each_layer_has_the_scale_of_its_share(runs: Any, layer: int, name: str) -> None:
    trees, true = runs
    noise = np.concatenate([tree.layers[layer].noisy - true[name] for tree in trees])
    # ε' = 1, half for the cells, a quarter for each layer: scale 4.
    assert fits(noise_p_value(noise, Fraction(4)))
    assert not fits(noise_p_value(noise, 4 * A_FIFTH_LESS))


def test_the_cells_of_a_leaf_sum_to_its_count_with_the_noise_of_all_of_them(runs: Any) -> None:
    trees, true = runs
    noise = np.concatenate([tree.cells[0].sums - true["second"] for tree in trees])
    sizes = np.concatenate([tree.cells[0].possible for tree in trees])
    # Leaves of people who voted have half as many possible cells as the others: 6 and 12.
    for size in np.unique(sizes):
        assert fits(noise_p_value(noise[sizes == size], Fraction(2), int(size), 100))
        assert not fits(noise_p_value(noise[sizes == size], 2 * A_FIFTH_LESS, int(size), 100))


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


@pytest.mark.fresh
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
                found.append(counts_p_value(seen[node, place], np.bincount(value, weights=chance, minlength=top + 1)))
        return min(1.0, len(found) * min(found))

    assert fits(worst(scale))
    assert not fits(worst(scale * A_FIFTH_LESS))
    # Cells are independent, so the number of listed ones is a sum of coins.
    q = np.exp(-1 / float(scale))
    tails = [q / (1 + q)] * 19 + [1 - q**m / (1 + q) for m in (1, 5, 2)]
    law = np.ones(1)
    for p in tails:
        law = np.convolve(law, [1 - p, p])
    assert fits(counts_p_value(np.bincount(listed, minlength=23), law))


@pytest.mark.fresh
@pytest.mark.parametrize(("count", "threshold", "scale"), [(40, 1, 2), (1000, 4, 1), (10**12, 24, 1)])
def test_how_many_reach_the_threshold_is_binomial(count: int, threshold: int, scale: int) -> None:
    spare = reserve(64, SystemEntropy())
    drawn = np.array([reaching(count, threshold, Fraction(scale), spare) for _ in range(3000)])

    def p(at: float) -> float:
        q = np.exp(-1 / at)
        law = binom(count, q**threshold / (1 + q))
        low, high = int(law.ppf(1e-9)), int(law.ppf(1 - 1e-9))
        chance = np.concatenate([[law.cdf(low - 1)], law.pmf(np.arange(low, high + 1)), [law.sf(high)]])
        return counts_p_value(cells_of(drawn, low, high - low + 1), chance)

    assert fits(p(scale))
    assert not fits(p(0.8 * scale))


# ---------------------------------------------------------------- elections and the urn


@pytest.mark.fresh
def test_elections_have_the_chances_of_the_proof() -> None:
    draws = 20_000
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
    assert fits(counts_p_value(seen, chances(scores, scale)))
    assert not fits(counts_p_value(seen, chances(scores, 0.8 * scale)))


@pytest.mark.fresh
def test_the_urn_follows_its_prior_and_its_records() -> None:
    occupied = Occupied(np.array([[0, 1, 1], [1, 2, 2]], dtype=np.int16), np.array([6, 2]), 8)
    weight = np.full(24, 2.0)
    weight[[0, 12]] = 0
    weight[[5, 22]] += [6, 2]
    share = weight / weight.sum()
    seen = np.bincount([_urn(PAIR, occupied, 1, 2, SystemEntropy(), "test")[0] for _ in range(5000)], minlength=24)
    assert fits(counts_p_value(seen, share))
    assert not fits(counts_p_value(seen, (weight > 0) / 22))
    # A second draw from the same urn finds one record more where the first fell.
    pairs = np.array([_urn(PAIR, occupied, 2, 2, SystemEntropy(), "test") for _ in range(5000)])
    again = float(share @ (weight + 1) / (weight.sum() + 1))
    assert fits(float(share_p_value((pairs[:, 0] == pairs[:, 1]).sum(), len(pairs), again)))
