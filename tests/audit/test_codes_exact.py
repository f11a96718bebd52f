"""The codes of a column, computed from the laws themselves: no two neighbours are further apart than ε and δ say."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pandas as pd
import pytest

import tacita as tc
from tacita.data.schema import Schema
from tacita.mechanisms.codes import CodeLists
from tacita.noise.discrete import DiscreteLaplace
from tacita.noise.entropy import SeededEntropy
from tacita.noise.gaussian import DiscreteGaussian

DELTA = Fraction(1, 1000)  # large, so that what it pays for is seen
RELATIONS = [tc.AddRemoveOne("person"), tc.ReplaceOne("person")]
SILENT = None


def noise(plan: CodeLists) -> dict[int, float]:
    """The chance of each noise; what is left out has less than 1e-12."""
    budget, _ = plan._noise
    law = budget.law(plan._reach)
    far = law.margin(Fraction(10**12 - 1, 10**12))
    values = np.arange(-far, far + 1)
    if isinstance(law, DiscreteLaplace):
        chances = law.pmf(values)
    else:
        assert isinstance(law, DiscreteGaussian)
        heights = np.exp(-(values.astype(float) ** 2) / (2 * float(law.variance)))
        chances = heights / heights.sum()
    return dict(zip(values.tolist(), chances.tolist(), strict=True))


def outputs(count: int, threshold: int, law: dict[int, float]) -> dict[int | None, float]:
    """What is released of one value: its noisy count, or nothing; a value that no record has is never released."""
    if count == 0:
        return {SILENT: 1.0}
    released: dict[int | None, float] = {SILENT: 0.0}
    for drawn, chance in law.items():
        if count + drawn >= threshold:
            released[count + drawn] = released.get(count + drawn, 0.0) + chance
        else:
            released[SILENT] = (released[SILENT] or 0.0) + chance
    return released


def missed(one: tuple[int, ...], two: tuple[int, ...], threshold: int, law: dict[int, float], epsilon: float) -> float:
    """The least δ for which outputs of the first file are within e^ε of those of the second."""
    sides = [[outputs(count, threshold, law) for count in file] for file in (one, two)]
    worst = 0.0
    for output in product(*(set(first) | set(second) for first, second in zip(*sides, strict=True))):
        chances = [
            np.prod([place.get(value, 0.0) for place, value in zip(side, output, strict=True)]) for side in sides
        ]
        worst += max(0.0, float(chances[0] - exp(epsilon) * chances[1]))
    return worst


# Counts of two values of one column in two neighbouring files: the second stands for a value of a single unit.
ADDED = [((20, 0), (19, 0)), ((3, 1), (3, 0)), ((4, 0), (3, 0)), ((1, 0), (0, 0)), ((1, 1), (0, 1))]
REPLACED = [((20, 19), (19, 20)), ((1, 3), (0, 4)), ((1, 0), (0, 1)), ((2, 1), (1, 2)), ((1, 1), (0, 2))]


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
@pytest.mark.parametrize("relation", RELATIONS, ids=["added", "replaced"])
def test_no_neighbours_are_further_apart_than_claimed(relation: tc.AddRemoveOne, epsilon: str) -> None:
    plan = CodeLists(["a"], epsilon, DELTA, neighbours=relation)
    law = noise(plan)
    for pair in ADDED if isinstance(relation, tc.AddRemoveOne) else REPLACED:
        for one, two in (pair, pair[::-1]):
            assert missed(one, two, plan.threshold, law, float(plan.epsilon)) <= float(DELTA) * (1 + 1e-6)


@pytest.mark.parametrize("relation", RELATIONS, ids=["added", "replaced"])
def test_a_lower_threshold_or_less_noise_breaks_the_claim(relation: tc.AddRemoveOne) -> None:
    plan = CodeLists(["a"], "1", DELTA, neighbours=relation)
    law = noise(plan)
    pairs = ADDED if isinstance(relation, tc.AddRemoveOne) else REPLACED
    files = [ends for pair in pairs for ends in (pair, pair[::-1])]
    low = int(plan.threshold * 0.7)
    assert max(missed(one, two, low, law, 1.0) for one, two in files) > float(DELTA)
    less = CodeLists(["a"], "1.25", DELTA, neighbours=relation)  # a fifth less noise
    assert max(missed(one, two, plan.threshold, noise(less), 1.0) for one, two in files) > float(DELTA)


def test_the_law_with_the_lower_threshold_is_taken() -> None:
    one = tc.AddRemoveOne("person")
    few = CodeLists(["a"], "0.5", "1e-9", neighbours=one)
    many = CodeLists([f"c{at}" for at in range(20)], "0.5", "1e-9", neighbours=one)
    assert not few._noise[0].gaussian
    assert many._noise[0].gaussian
    pure = DiscreteLaplace(Fraction(20) / many.epsilon)
    assert many.threshold < pure.margin(1 - 2 * many.delta / 20 / 3)


def test_codes_are_found_as_often_as_their_noise_says() -> None:
    """As many records as the forecast names: in 19 of 20 draws. As many as the threshold: in half of them."""
    schema = Schema.from_dict(
        {
            "dataset": {"identity": "x", "unit": "person"},
            "variables": {
                "a": {"role": "confidential", "type": "categorical", "levels": ["other"], "outside": "other"}
            },
        }
    )
    plan = CodeLists(["a"], "1", "1e-9", neighbours=tc.AddRemoveOne("person"))
    frame = pd.DataFrame({"a": ["many"] * plan.surely + ["some"] * plan.threshold + ["one"]})
    data = tc.Confidential.from_frame(frame, schema)
    draws = 400
    found = [plan.run(data, SeededEntropy(seed)).of("a") for seed in range(draws)]
    shares = {code: sum(code in one for one in found) / draws for code in ("many", "some", "one")}
    assert shares["one"] == 0
    assert 0.88 < shares["many"] < 1  # 0.95 or a little more; seven standard errors
    assert 0.35 < shares["some"] < 0.8
