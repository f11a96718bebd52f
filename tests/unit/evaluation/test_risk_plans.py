"""Attacks that run a plan: promises that hold stand, broken ones are caught, and what cannot be attacked is named."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.attacked_plans import SCHEMA, Copier, Files, Histogram, people
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.evaluation.risk import PlanAttack, attack_plan
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
