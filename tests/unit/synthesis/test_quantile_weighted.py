"""Files with a column of weights: weighted totals are measured, paid for, held to and foretold."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from tacita.data.schema import Schema
from tacita.synthesis import FileSynthesis, PairwiseSynthesis, QuantileSynthesis
from tacita.synthesis.pinned.adjusting import Values, hold
from tacita.synthesis.pinned.measuring import Pin
from tacita.synthesis.quantile.model import QuantileModel
from tacita.synthesis.quantile.weighted import Weighing

SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "t", "unit": "family"},
        "variables": {
            "w": {"role": "weight", "type": "numeric", "scale": 1, "lower": 1, "upper": 100_000},
            "worth": {"role": "confidential", "type": "integer", "lower": -(10**6), "upper": 10**9},
            "age": {"role": "confidential", "type": "integer", "lower": 0, "upper": 120},
        },
    }
)


def _families(rows: int = 3000) -> pd.DataFrame:
    """The richest have small weights, as in surveys that look for them; others have any."""
    random = np.random.default_rng(5)
    worth = np.rint(np.exp(random.normal(9, 2, rows)))
    weight = np.where(worth > np.quantile(worth, 0.9), 2.0, np.round(random.uniform(20, 200, rows), 1))
    return pd.DataFrame({"w": weight, "worth": worth.astype(np.int64), "age": random.integers(20, 90, rows)})


def _weighted(frame: pd.DataFrame) -> float:
    return float(np.average(frame["worth"], weights=frame["w"]))


@pytest.fixture(scope="module")
def released() -> QuantileModel:
    return QuantileSynthesis(["w", "worth"], "8").rehearse(_families(), SCHEMA, seed=2)


def test_files_have_the_weighted_means_that_were_measured(released: QuantileModel) -> None:
    truth, file = _families(), released.sample(m=1)[0]
    assert _weighted(file) == pytest.approx(_weighted(truth), rel=0.1)
    assert file["w"].sum() == pytest.approx(truth["w"].sum(), rel=0.03)
    assert file["w"].between(1, 100_000).all()
    # Ranks alone do not say that the tenth with most has next to no weight.
    by_ranks = QuantileModel(
        released.plan, SCHEMA, type(released.released)(released.released.groups, None), released.seed, rehearsal=True
    )
    assert _weighted(by_ranks.sample(m=1)[0]) > 1.3 * _weighted(truth)


def test_values_stay_as_their_own_total_has_them(released: QuantileModel) -> None:
    assert released.sample(m=1)[0]["worth"].mean() == pytest.approx(_families()["worth"].mean(), rel=0.15)


def test_a_stored_model_has_its_weighted_totals(released: QuantileModel) -> None:
    again = released.plan.restore(released.to_bytes())
    assert again.released.pins == released.released.pins
    assert set(again.released.pins) == {"w", "worth"}
    assert again.sample(m=2)[1].equals(released.sample(m=2)[1])


@pytest.mark.parametrize("word", ["replaced", "added"])
def test_weighted_totals_are_paid_from_what_variables_get(word: str) -> None:
    weighing = Weighing.of(SCHEMA, ["w", "worth", "age"], replaced=word == "replaced")
    assert weighing is not None
    assert weighing.numbers == ("worth", "age")
    each = weighing.each(Fraction(4), 10_000)
    assert weighing.all(each) == 3 * each == Fraction(4) * 3 / 10
    assert weighing.all(weighing.each(Fraction(4), 10**7)) == Fraction(4) * 3 / 50, "many records need less"
    # Of a record that is replaced a total is one step; of the other steps it is two.
    assert weighing.budget(each).epsilon == (2 * each if word == "replaced" else each)
    assert weighing.each(Fraction(4), 100) == 0
    plan = QuantileSynthesis(["w", "worth"], "8")
    costs = plan._costs(plan.variables(SCHEMA))
    assert costs.less(Fraction(1)).all_variables == costs.all_variables - 1 == 3


def test_without_a_weight_nothing_is_spent_on_it() -> None:
    assert Weighing.of(SCHEMA, ["worth", "age"], replaced=True) is None
    model = QuantileSynthesis(["worth"], "8").rehearse(_families(500), SCHEMA, seed=2)
    assert model.released.pins == {}
    assert "weighted totals" not in model.measured


def test_records_below_zero_that_noise_would_hide_cannot_carry_a_total_away() -> None:
    values = np.concatenate([np.full(900, 100.0), np.full(100, -1e6)])
    number = Values(values, np.ones(1000, dtype=np.bool_), -1e6, 1e6)
    population = Pin(0.0, 10.0, 0.0, 10.0, 0.0, 0.0, (1000.0,), 1.0)
    unseen = Pin(0.0, 400.0, -400.0, 400.0, 500.0, 0.0, (90_000.0,), 500.0)
    weights, _ = hold(np.ones(1000), (0.0, 10.0), {"y": number}, population, {"y": unseen}, None, values_stay=True)
    assert -(weights * values)[900:].sum() <= 510
    assert (weights * values)[:900].sum() == pytest.approx(90_000, rel=0.15)


def test_plans_say_what_weighted_means_will_be_off_by() -> None:
    for kind in (QuantileSynthesis, FileSynthesis):
        many, few = (kind(["w", "worth"], "4", rows=rows).forecast(SCHEMA) for rows in (10_000, 50))
        told = many.figures["worth: weighted mean error"]
        assert 0.005 < told < 0.05 < many.figures["worth: weighted mean error, heavy tail"] < 0.5
        assert any("weighted means of worth are off by about" in one for one in many.sentences)
        assert "worth: weighted mean error" not in few.figures
        assert any("too few records" in one and "weighted" in one for one in few.sentences)
        assert any("the files have no weights" in one for one in kind(["worth"], "4").forecast(SCHEMA).sentences)
    cuts = {"worth": [0, 10_000], "w": [10, 100]}
    pairs = PairwiseSynthesis(["w", "worth"], "1", delta="1e-9", cuts=cuts).forecast(SCHEMA).sentences
    assert any("weighted totals are not measured" in one for one in pairs)
