"""Attacks that run a plan, contributor rules and the canary bound: what holds stands, what is broken is caught."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from support.attacked_plans import SCHEMA, Copier, Files, Histogram, people
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.evaluation.encoding import compare
from tacita.evaluation.risk import (
    Dominance,
    PlanAttack,
    PPercent,
    attack_plan,
    canary_bound,
    detection_power,
    given_away_cells,
    sensitive_cells,
)
from tacita.evaluation.risk.canary import Draw
from tacita.evaluation.risk.contributors import Cells
from tacita.evaluation.risk.plans import _outlier
from tacita.mechanisms import eree
from tacita.privacy import Guarantee, Loss, ReplaceOne

JOBS = Schema.from_dict(
    {
        "dataset": {"identity": "jobs", "unit": "establishment"},
        "variables": {
            "firm": {"role": "id", "entity": "workplace"},
            "worker": {"role": "id", "entity": "worker"},
            "place": {"role": "workplace", "type": "categorical", "levels": ["1", "2", "3"]},
            "sex": {"role": "worker", "type": "categorical", "levels": ["F", "M"]},
        },
    }
)


def jobs() -> pd.DataFrame:
    """One firm of 40 in place 3, and 30 of 2; codes are stored as numbers, as they often are."""
    firm = np.concatenate([np.zeros(40, dtype=int), np.repeat(np.arange(1, 31), 2)])
    return pd.DataFrame(
        {
            "firm": firm,
            "worker": np.arange(100),
            "place": np.where(firm == 0, 3, 1 + firm % 2),
            "sex": np.where(np.arange(100) % 2, "F", "M"),
        }
    )


def attack(plan: Any, frame: pd.DataFrame, schema: Schema, runs: int = 60) -> PlanAttack:
    return attack_plan("it", plan, frame, schema, runs=runs, seed=5)


def test_a_promise_that_holds_is_not_refuted() -> None:
    found = attack(Histogram("1", 1.0), people(), SCHEMA, runs=300)
    assert found.claimed == 1
    assert 0 < found.canary.epsilon <= 1  # the attack sees the planted record, and no more of it than there is
    assert not found.is_refuted
    assert not found.is_doubtful
    assert found.membership is not None
    assert found.membership.shadow_runs == 300
    assert found.membership.advantage < np.tanh(0.5) + 0.05
    assert found.power is not None
    assert 0 < found.power < 1


def test_a_broken_promise_is_refuted() -> None:
    found = attack(Histogram("0.1", 4.0), people(), SCHEMA)
    assert found.is_refuted
    assert found.canary.epsilon > 1
    assert found.canary.ceiling > found.canary.epsilon
    assert "200 others" in found.planted


def test_a_model_that_only_leans_towards_the_record_is_caught_too() -> None:
    """Files drawn from a mean that is told almost exactly: no synthetic record comes near the planted one."""

    @dataclass(frozen=True)
    class Mean(Histogram):
        def rehearse(self, frame: pd.DataFrame, schema: Schema, *, seed: int) -> Any:
            rng = np.random.default_rng(seed)
            told = frame["pay"].mean() + rng.laplace(0, 1e-3)
            return Files((pd.DataFrame({"area": "a", "pay": told + np.linspace(-1, 1, 30)}),))

    found = attack(Mean("0.5"), people(), SCHEMA)
    assert found.is_refuted
    assert found.canary.event.startswith("output 5")  # after nearness, density, matches and the share of an area


def test_shadow_models_catch_a_copier() -> None:
    rng = np.random.default_rng(2)
    sparse = people(120).assign(pay=lambda one: rng.permutation(120) % 21)
    found = attack(Copier("0.2"), sparse, SCHEMA)
    assert found.membership is not None
    assert found.membership.advantage > 0.3
    assert found.is_doubtful


def test_one_record_replaced_keeps_the_number_of_rows() -> None:
    seen: set[int] = set()

    @dataclass(frozen=True)
    class Counting(Histogram):
        def rehearse(self, frame: pd.DataFrame, schema: Schema, *, seed: int) -> Any:
            seen.add(len(frame))
            return super().rehearse(frame, schema, seed=seed)

    found = attack(Counting("2", 1.0, ReplaceOne("person")), people(100), SCHEMA)
    assert seen == {100, 50}
    assert "in place of another" in found.planted
    assert not found.is_refuted


def test_the_canary_is_a_record_that_the_schema_allows() -> None:
    canary = _outlier(people(), SCHEMA)
    assert canary.to_dict("records") == [{"person": 200, "area": "d", "pay": 20}]
    Confidential.from_frame(pd.concat([people(), canary]), SCHEMA).check(SCHEMA.names)


@pytest.mark.parametrize(
    ("plan", "planted"),
    [
        (eree.SmoothStaircase("0.1", "2", by=["place"]), "4 more workers at an establishment of 40"),
        (eree.SmoothStaircase("0.1", "2", by=["place"], worker=["sex"], definition="weak"), "4 more workers"),
        (eree.EdgeLaplace("2", by=["place"], where={"sex": ["F"]}), "one more worker at an establishment of 20"),
        (eree.TruncatedLaplace(30, "2", by=["place"]), "the whole workforce of 30"),
    ],
)
def test_tables_are_attacked_with_neighbours_of_their_own_guarantee(plan: Any, planted: str) -> None:
    found = attack(plan, jobs(), JOBS, runs=100)
    assert planted in found.planted
    assert found.membership is None
    assert not found.is_refuted
    assert found.claimed == 2


def test_a_table_with_too_little_noise_is_caught() -> None:
    @dataclass(frozen=True, init=False)
    class Bold(eree.EdgeLaplace):
        @property
        def guarantee(self) -> Guarantee:
            return Guarantee(super().guarantee.neighbours, Loss("0.1"))

    found = attack(Bold("6", by=["place"], worker=["sex"]), jobs(), JOBS, runs=100)
    assert found.is_refuted
    assert found.canary.epsilon > 1


def test_a_file_of_establishment_sizes() -> None:
    sizes = Schema.from_dict(
        {
            "dataset": {"identity": "sizes", "unit": "establishment"},
            "variables": {
                "firm": {"role": "id", "entity": "workplace"},
                "place": {"role": "workplace", "type": "categorical", "levels": ["1", "2"]},
                "size": {"role": "size", "type": "integer", "lower": 0, "upper": 1000},
            },
        }
    )
    frame = pd.DataFrame({"firm": [1, 2, 3], "place": ["1", "2", "2"], "size": [10, 70, 3]})
    found = attack(eree.SmoothStaircase("0.1", "2", by=["place"]), frame, sizes, runs=40)
    assert "7 more workers at an establishment of 70" in found.planted


def test_a_concentrated_promise_is_restated_with_a_delta() -> None:
    @dataclass(frozen=True)
    class Concentrated(Histogram):
        @property
        def guarantee(self) -> Guarantee:
            return Guarantee(self.neighbours, Loss(rho="0.5"))

    found = attack(Concentrated(), people(), SCHEMA, runs=20)
    assert found.claimed == pytest.approx(0.5 + 2 * np.sqrt(0.5 * np.log(1e6)))
    assert found.canary.delta == 1e-6


def test_what_cannot_be_attacked_is_said() -> None:
    @dataclass(frozen=True)
    class Strange(Histogram):
        def rehearse(self, frame: pd.DataFrame, schema: Schema, *, seed: int) -> Any:
            return 3

    with pytest.raises(UsageError, match="at least 20"):
        attack(Histogram(), people(), SCHEMA, runs=5)
    with pytest.raises(UsageError, match="too small"):
        attack(Histogram(), people(30), SCHEMA)
    with pytest.raises(UsageError, match="neither a table of counts nor synthetic files"):
        attack(Strange(), people(), SCHEMA)
    with pytest.raises(UsageError, match="no row of the file"):
        attack(eree.EdgeLaplace("1", where={"sex": ["M"]}), jobs().assign(sex="F"), JOBS)


def establishments(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "place": rng.integers(0, 30, n).astype(str),
            "sector": rng.choice(list("ab"), n),
            "jobs": np.where(rng.random(n) < 0.1, 0, np.round(rng.lognormal(2, 1.5, n))),
        }
    )


@pytest.mark.parametrize("rule", [PPercent(10), PPercent(50), Dominance(1, 75), Dominance(3, 90)], ids=str)
def test_sensitive_cells_agree_with_a_loop_over_cells(rule: PPercent | Dominance) -> None:
    frame = establishments(300, 1)
    sensitive = cells = 0
    for _, cell in frame.groupby(["place", "sector"]):
        jobs = sorted(cell.jobs[cell.jobs > 0], reverse=True)
        if not jobs:
            continue
        cells += 1
        if isinstance(rule, PPercent):
            sensitive += sum(jobs) - sum(jobs[:2]) < rule.p / 100 * jobs[0]
        else:
            sensitive += sum(jobs[: rule.n]) > rule.k / 100 * sum(jobs)
    score = sensitive_cells(["place", "sector"], "jobs", rule)(compare(frame, frame))
    assert 0 < sensitive < cells
    assert (score.details["sensitive"], score.details["cells"]) == (sensitive, cells)
    assert score.value == pytest.approx(sensitive / cells)


def test_an_exact_release_gives_every_sensitive_cell_away_and_a_distorted_one_does_not() -> None:
    frame = establishments(300, 2)
    exact = given_away_cells(["place", "sector"], "jobs")(compare(frame, [frame, frame]))
    assert exact.details["given away"] == exact.details["sensitive"] > 0
    doubled = given_away_cells(["place", "sector"], "jobs")(compare(frame, frame.assign(jobs=frame.jobs * 2)))
    assert doubled.details["given away"] == 0
    assert doubled.details["sensitive"] == exact.details["sensitive"]


def test_one_cell_by_hand() -> None:
    """90, 6, 4: the second takes 6 from the total 100 and is at 94, within 10% of 90 but not within 4%."""
    frame = pd.DataFrame({"place": ["x"] * 3, "jobs": [90.0, 6.0, 4.0]})
    for p, expected in ((10, 1.0), (4, 0.0)):
        assert sensitive_cells(["place"], "jobs", PPercent(p))(compare(frame, frame)).value == expected
    noisy = frame.assign(jobs=[85.0, 6.0, 4.0])  # released 95: estimate 89
    assert given_away_cells(["place"], "jobs", PPercent(10))(compare(frame, noisy)).value == 1
    noisy = frame.assign(jobs=[110.0, 6.0, 4.0])  # released 120: estimate 114
    assert given_away_cells(["place"], "jobs", PPercent(10))(compare(frame, noisy)).value == 0
    assert Dominance(1, 80).within == pytest.approx(25)


def test_awkward_contributions_are_named() -> None:
    frame = establishments(20, 3)
    for bad in (frame.assign(jobs=0.0), frame.assign(jobs=np.nan)):
        with pytest.raises(UsageError, match="jobs: nobody contributes"):
            sensitive_cells(["place"], "jobs")(compare(bad, frame))
    with pytest.raises(UsageError, match="not negative"):
        sensitive_cells(["place"], "jobs")(compare(frame.assign(jobs=-1.0), frame))
    with pytest.raises(UsageError, match="sector: contributions must be numbers"):
        sensitive_cells(["place"], "sector")(compare(frame, frame))
    with pytest.raises(UsageError, match="p must lie"):
        PPercent(0)
    with pytest.raises(UsageError, match="rule"):
        Dominance(0, 75)
    with pytest.raises(UsageError, match="one cell per contribution"):
        Cells.of(np.array([1]), np.array([1.0, 2.0]))


# ------------------------------------------------------------------ canary


def laplace(epsilon: float, noise: float = 1.0) -> Draw:
    """A count with Laplace noise of scale `noise`/ε: ε-private for noise = 1, (ε/noise)-private in truth."""

    def draw(canary_in: bool, count: int, rng: np.random.Generator) -> np.ndarray:
        return rng.laplace(float(canary_in), noise / epsilon, count)

    return draw


def randomised_response(epsilon: float) -> Draw:
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))

    def draw(canary_in: bool, count: int, rng: np.random.Generator) -> np.ndarray:
        return (rng.random(count) < (truth if canary_in else 1 - truth)).astype(float)

    return draw


@pytest.mark.parametrize(
    ("mechanism", "epsilon"), [(laplace(1.0), 1.0), (laplace(0.3), 0.3), (randomised_response(1.0), 1.0)]
)
def test_bound_of_a_correct_mechanism_exceeds_its_epsilon_no_more_often_than_it_says(
    mechanism: Draw, epsilon: float
) -> None:
    """300 experiments at 90%: more than 51 wrong bounds would happen by chance less than once in 10,000."""
    assert stats.binom.sf(51, 300, 0.1) < 1e-4
    bounds = [canary_bound(mechanism, trials=400, confidence=0.9, seed=seed).epsilon for seed in range(300)]
    assert sum(bound > epsilon for bound in bounds) <= 51
    assert max(bounds) > epsilon / 3  # a bound that is always 0 would be true and useless


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_a_mechanism_with_a_fifth_of_its_noise_missing_is_refuted(epsilon: float) -> None:
    found = canary_bound(laplace(epsilon, noise=0.8), trials=40_000, seed=4)
    assert epsilon < found.epsilon <= epsilon / 0.8
    assert found.refutes(epsilon)
    assert not canary_bound(laplace(epsilon), trials=40_000, seed=4).refutes(epsilon)


def test_power_is_what_simulated_experiments_show() -> None:
    """The event is known in the formula and searched for in the experiment, so the formula is a near upper limit."""
    predicted = detection_power(1.0, 1.25, trials=1500)
    refuted = np.mean([canary_bound(laplace(1.0, 0.8), trials=1500, seed=seed).refutes(1.0) for seed in range(100)])
    assert 0.8 < predicted < 0.95
    assert predicted - 0.3 < refuted < predicted + 0.1
    # Too few trials find nothing, and the result says how much it could have found at most.
    small = canary_bound(laplace(5.0), trials=50, seed=5)
    assert small.ceiling < 5.0
    assert not small.refutes(5.0)


def test_direction_and_delta_are_handled() -> None:
    def lowered(canary_in: bool, count: int, rng: np.random.Generator) -> np.ndarray:
        return rng.laplace(-float(canary_in), 1.0, count)

    found = canary_bound(lowered, trials=5000, seed=6)
    assert 0.8 < found.epsilon < 1

    def leaky(canary_in: bool, count: int, rng: np.random.Generator) -> np.ndarray:
        """Shows the canary in 5% of runs and is silent otherwise: (0, 0.05)-private, and not ε-private for any ε."""
        return (rng.random(count) < 0.05 * canary_in).astype(float)

    assert canary_bound(leaky, trials=5000, seed=7).epsilon > 3
    assert canary_bound(leaky, trials=5000, delta=0.06, seed=7).epsilon == 0


def test_a_constant_mechanism_shows_nothing_and_bad_draws_are_refused() -> None:
    nothing = canary_bound(lambda canary_in, count, rng: np.zeros(count), trials=100)
    assert nothing.epsilon == 0
    frame = pd.DataFrame({"x": [1]})
    assert nothing.metric(compare(frame, frame)).value == 0
    with pytest.raises(UsageError, match="not a number"):
        canary_bound(lambda canary_in, count, rng: np.full(count, np.nan), trials=100)
    with pytest.raises(UsageError, match="must return"):
        canary_bound(lambda canary_in, count, rng: np.zeros(3), trials=100)
    with pytest.raises(UsageError, match="too few"):
        canary_bound(laplace(1.0), trials=3)
