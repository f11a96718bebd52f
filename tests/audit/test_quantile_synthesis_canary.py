"""A planted record in a tiny file: the bound that many runs prove stays below the declared ε, and catches a lie."""

from fractions import Fraction

import numpy as np
import pytest

from support.quantile import SCHEMA, plan
from tacita.evaluation.risk.canary import CanaryBound, canary_bound
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.quantile.measuring import Costs, measure

EPSILON = 2
# In the middle of the lattice, so that thresholds fall on either side as often; the canary draws them upwards.
COLUMNS = {"size": np.full(3, 5.5), "pay": np.full(3, -100.0), "sector": np.zeros(3)}
CANARY = {"size": 1000.0, "pay": 3000.0, "sector": 0.0}


def bound(name: str, trials: int, times: Fraction = Fraction(1)) -> CanaryBound:
    given = plan(name, str(EPSILON))
    variables, groups = given.variables(SCHEMA), given._groups(SCHEMA)
    honest = given._costs(variables)
    costs = Costs(honest.counts * times, {one: cost * times for one, cost in honest.variables.items()})
    names = given.reads(SCHEMA)

    def draw(canary_in: bool, count: int, random: np.random.Generator) -> list[list[float]]:
        columns = {one: np.append(COLUMNS[one], CANARY[one]) if canary_in else COLUMNS[one] for one in names}
        found = []
        for _ in range(count):
            source = SeededEntropy(int(random.integers(2**62)))
            first, *_ = measure(columns, variables, groups, costs, given.rows, None, source)
            curve = first.fitted["size"].parts[0].model.curve  # type: ignore[union-attr]
            found.append([float(sum(first.records)), *curve.values[[0, 1, -1]].tolist()])
        return found

    return canary_bound(draw, trials=trials, seed=3)


@pytest.mark.parametrize("name", ["one number", "one number, rows given"])
def test_the_canary_is_seen_and_the_bound_stays_below_the_declared_epsilon(name: str) -> None:
    found = bound(name, trials=500)
    assert 0 < found.epsilon <= EPSILON


@pytest.mark.parametrize("name", ["two numbers", "groups"])
def test_with_more_to_release_the_bound_stays_below_too(name: str) -> None:
    assert not bound(name, trials=150).refutes(EPSILON)


def test_a_run_that_spends_far_more_than_it_declares_is_refuted() -> None:
    """Declared 1, spent 10."""
    assert bound("one number, rows given", trials=400, times=Fraction(5)).refutes(1)
