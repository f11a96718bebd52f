"""How far one unit moves what a table measures, tried on every change of one record; and what lies at the edges."""

import re
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacita as tc
from tacita.measured import Measurements
from tacita.mechanisms.table.sampling import squares_reach
from tacita.noise.concentrated import rho_for
from tacita.noise.entropy import SeededEntropy
from tacita.privacy import AddRemoveOne, ReplaceOne

EPSILON, DELTA = "1", "1e-6"
SCHEMA = tc.Schema.from_dict(
    {
        "dataset": {"identity": "t", "unit": "person"},
        "variables": {
            "place": {"role": "public", "type": "categorical", "levels": ["A1", "A2", "B1"]},
            "gain": {"role": "confidential", "type": "integer", "lower": -100, "upper": 60},
            "w": {"role": "confidential", "type": "integer", "lower": 0, "upper": 9},
            "half": {"role": "confidential", "type": "numeric", "scale": 0, "lower": -2.5, "upper": 10.5},
            "wide": {"role": "confidential", "type": "integer", "lower": 0, "upper": 10**6},
            "ranking": {"role": "public", "type": "categorical", "levels": ["x", "y"]},
        },
        "hierarchy": {"tree": {"column": "place", "levels": ["part"], "part": {"A1": "A", "A2": "A", "B1": "B"}}},
    }
)
OTHERS = [("A1", 5, 1), ("A2", -7, 2), ("B1", 0, 3)]
RECORDS = [("A1", -100, 9), ("A1", 60, 9), ("A1", 0, 0), ("B1", -100, 9), ("B1", 60, 9)]
SETTINGS: dict[str, dict[str, Any]] = {
    "count": {"by": ["place"]},
    "count, one cell": {"where": {"place": ["A1"]}},
    "sum": {"statistic": "sum", "of": "gain", "by": ["place"]},
    "sum, one cell": {"statistic": "sum", "of": "gain"},
    "sum, some records": {"statistic": "sum", "of": "gain", "where": {"place": ["A1"]}},
    "sum, levels": {"statistic": "sum", "of": "gain", "by": ["place"], "levels": ["part"]},
    "sum, weights": {"statistic": "sum", "of": "gain", "weights": "w", "by": ["place"], "clamp": [-900, 540]},
    "mean": {"statistic": "mean", "of": "gain", "by": ["place"]},
    "variance": {"statistic": "variance", "of": "gain", "by": ["place"]},
}


def _frame(records: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(records, columns=["place", "gain", "w"]).assign(half=1.0, wide=3, ranking="x")


def _measured(plan: tc.Table, records: list[Any]) -> Measurements:
    """With the same noise every time."""
    return plan.run(tc.Confidential.from_frame(_frame(records), SCHEMA), SeededEntropy(5))


def _losses(plan: tc.Table, one: Any, other: Any) -> Fraction:
    """What the two results lose by the laws that they state, in shares of the whole promise."""
    (facts,) = one.facts.values()
    laws = facts.get("laws") or [facts["law"]]
    level = one.keys.get("level", np.zeros(one.cells, dtype=int))
    whole, lost = (rho_for(plan.epsilon, plan.delta) if plan.delta else plan.epsilon), Fraction(0)
    for at, law in enumerate(laws):
        moved = [int(x) for name in one.noisy for x in (one.noisy[name] - other.noisy[name])[level == at]]
        if plan.delta:
            lost += Fraction(sum(x * x for x in moved)) / (2 * Fraction(law["variance"]))
        else:
            lost += sum(map(abs, moved)) / Fraction(law["scale"])
    return lost / whole


@pytest.mark.parametrize("delta", ["0", DELTA])
@pytest.mark.parametrize("neighbours", [AddRemoveOne("person"), ReplaceOne("person")])
@pytest.mark.parametrize("name", SETTINGS)
def test_no_change_of_one_record_loses_more_than_is_paid(name: str, neighbours: Any, delta: str) -> None:
    """A replaced record may stay in its cell and change its sign, or leave for another one."""
    plan = tc.Table(**{"epsilon": EPSILON, "neighbours": neighbours, "delta": delta, **SETTINGS[name]})
    with_one = [_measured(plan, [*OTHERS, record]) for record in RECORDS]
    without = _measured(plan, OTHERS) if isinstance(neighbours, AddRemoveOne) else None
    pairs = [(one, without) for one in with_one] if without is not None else product(with_one, with_one)
    worst = max(_losses(plan, one, other) for one, other in pairs)
    assert worst <= 1
    assert worst > Fraction(1, 4), "the noise is far more than the promise asks for"


def test_a_forecast_knows_that_a_replaced_record_may_change_its_sign() -> None:
    def margin(lower: int) -> float:
        plan = tc.Table(
            "sum", "1", of="gain", by=["place"], delta=DELTA, clamp=(lower, 60), neighbours=ReplaceOne("person")
        )
        return plan.forecast(SCHEMA).figures["margin"]

    assert margin(-60) == pytest.approx(2**0.5 * margin(0), rel=1e-3)


def test_records_at_a_bound_between_two_steps_stand_on_the_ladder() -> None:
    """10.5 is 11 as a record, and must be as a bound: else the run would fail on such a record, after the charge."""
    frame = _frame(OTHERS * 20).assign(half=[10.5, -2.5, 20.0] * 20)
    plan = tc.Table("median", "50", of="half", neighbours=AddRemoveOne("person"))
    (value,) = tc.publish(plan.rehearse(frame, SCHEMA, seed=1), SCHEMA)["value"].to_pylist()
    assert value == 11


@pytest.mark.parametrize("settings", [{"statistic": "sum", "of": "wide"}, {"weights": "wide"}])
def test_totals_of_a_table_in_which_nobody_is_visible_are_empty(settings: dict[str, Any]) -> None:
    plan = tc.Table(epsilon="0.01", by=["place", "ranking"], neighbours=AddRemoveOne("person"), **settings)
    measured = plan.rehearse(_frame(OTHERS), SCHEMA, seed=1)
    assert measured.facts["visible"] is False
    found = tc.publish(measured, SCHEMA, totals=["place"]).to_pandas()
    assert found["value"].isna().all()
    assert found["level"].tolist() == ["cell"] * 6 + ["total"] * 3


def test_what_has_no_value_has_no_rank_and_a_column_may_be_called_ranking() -> None:
    plan = tc.Table("mean", "1", of="gain", by=["place", "ranking"], neighbours=AddRemoveOne("person"))
    found = tc.publish(plan.rehearse(_frame(OTHERS * 100), SCHEMA, seed=1), SCHEMA, rank=True).to_pandas()
    assert found["value"].isna().tolist() == found["rank"].isna().tolist() == found["rank_best"].isna().tolist()
    assert found["rank"].dropna().tolist() != []
    counts = tc.Table("count", "1", by=["place", "ranking"], neighbours=AddRemoveOne("person"))
    totals = tc.publish(counts.rehearse(_frame(OTHERS), SCHEMA, seed=1), SCHEMA, totals=["ranking"]).to_pandas()
    assert totals["ranking"].tolist()[-2:] == ["x", "y"]


@pytest.mark.parametrize("times", [1, 2, 3, 5])
def test_no_change_of_one_record_moves_the_squares_of_sampling_units_further(times: int) -> None:
    """All sums of two units in a cell, and all records that leave the one and join the other, or come back."""
    most = 2
    reach = squares_reach(times, most, 2)

    def squares(*sums: int) -> int:
        return sum(min(abs(one), times * most) ** 2 for one in sums)

    sums, steps = range(-(times + 2) * most, (times + 2) * most + 1), range(-most, most + 1)
    moved = max(
        max(abs(squares(one + gone, two) - squares(one, two + new)), abs(squares(one + gone) - squares(one + new)))
        for one, two, gone, new in product(sums, sums, steps, steps)
    )
    assert moved == reach.total
    assert moved**2 == reach.square


@pytest.mark.parametrize("clamp", [(-100, 60), (-50.5, 50.5), (0.5, 6.5), (0.0, 4.4)])
def test_clamps_between_two_steps_leave_the_numbers_within_them_as_they_are(clamp: tuple[float, float]) -> None:
    frame = _frame([("A1", at, 1) for at in (1, 2, 3, 4) for _ in range(500)])
    plan = tc.Table("mean", "20", of="gain", clamp=clamp, neighbours=AddRemoveOne("person"))
    (mean,) = tc.publish(plan.rehearse(frame, SCHEMA, seed=2), SCHEMA)["value"].to_pylist()
    assert mean == pytest.approx(2.5, abs=0.02)


@pytest.mark.parametrize(("records", "seen"), [(0.4, 0), (1.6, 10)])
def test_a_plan_says_how_many_records_far_above_all_others_stay_unseen(records: float, seen: int) -> None:
    schema = tc.Schema.from_dict(
        {
            "dataset": {"identity": "incomes", "unit": "person"},
            "variables": {"pay": {"role": "confidential", "type": "integer", "lower": 0, "upper": 10**12}},
        }
    )
    plan = tc.Table("sum", "1", of="pay", neighbours=AddRemoveOne("person"))
    (said,) = (one for one in plan.forecast(schema).sentences if "far above all others" in one)
    few = int(re.findall(r"fewer than about (\d+) records", said)[0])
    frame = pd.DataFrame({"pay": np.append(np.full(20_000, 1_000), np.full(round(records * few), 10**11))})
    limits = [plan.rehearse(frame, schema, seed=seed).facts["sum"]["upper"] for seed in range(10)]
    assert sum(limit > 10**11 for limit in limits) == seen


@pytest.mark.parametrize(("shape", "is_open"), [(0.9, True), (3.0, False)])
def test_a_tail_whose_amounts_do_not_fall_is_open_and_no_margin_is_given(shape: float, is_open: bool) -> None:
    """Above the limit a Pareto tail of shape below 1 has as much in every octave as in the one before."""
    random = np.random.default_rng(1)
    schema = tc.Schema.from_dict(
        {
            "dataset": {"identity": "incomes", "unit": "person"},
            "variables": {"pay": {"role": "confidential", "type": "integer", "lower": 0, "upper": 10**12}},
        }
    )
    frame = pd.DataFrame({"pay": np.minimum(1000 * random.random(30_000) ** (-1 / shape), 1e12).astype(np.int64)})
    result = tc.Table("sum", "4", of="pay", neighbours=AddRemoveOne("person")).rehearse(frame, schema, seed=2)
    assert result.facts["sum"].get("open", False) is is_open
    (row,) = tc.publish(result, schema).to_pylist()
    assert row["value"] is not None
    assert (row["margin_of_error"] is None, row["quality"] == "D") == (is_open, is_open)


# ---------------------------------------------------------------- what is said before


@pytest.mark.parametrize("weight", ["w", "wide"])
def test_a_weighted_share_is_foretold_in_points(weight: str) -> None:
    plan = tc.Table("share", "1", of="place", weights=weight, neighbours=AddRemoveOne("person"))
    said = " ".join(plan.forecast(SCHEMA).sentences)
    assert "a share of one in four has ±" in said
    assert "points where 1,000 records count" in said
    assert ("if all weights are 9;" if weight == "w" else "if all weights are that limit;") in said


def test_points_of_a_weighted_share_are_those_of_the_noise() -> None:
    """Where all weights are the limit, half of the errors and 95% of them lie where the forecast has them."""
    frame = _frame([("A1", 0, 9)] * 250 + [("A2", 0, 9)] * 500 + [("B1", 0, 9)] * 250)
    plan = tc.Table("share", "1", of="place", weights="w", neighbours=AddRemoveOne("person"))
    (points,) = (one for one in plan.forecast(SCHEMA).sentences if "points" in one)
    margin = float(points.split("; ± ")[1].split(" points")[0])
    off = [
        abs(tc.publish(plan.rehearse(frame, SCHEMA, seed=seed), SCHEMA)["value"][0].as_py() - 0.25)
        for seed in range(60)
    ]
    assert 0.3 * margin / 100 < np.quantile(off, 0.95) < 1.2 * margin / 100


DIVIDED: list[tuple[str, dict[str, Any]]] = [
    ("count", {"weights": "wide"}),
    ("share", {"of": "place", "weights": "wide"}),
    ("sum", {"of": "wide", "weights": "w"}),
    ("mean", {"of": "wide"}),
]


@pytest.mark.parametrize(("statistic", "settings"), DIVIDED)
def test_only_quotients_are_said_to_be_divided(statistic: str, settings: dict[str, Any]) -> None:
    said = " ".join(tc.Table(statistic, "1", **settings).forecast(SCHEMA).sentences)
    assert ("for a mean that is divided by the records of the cell" in said) is (statistic == "mean")


def test_a_ratio_says_how_many_records_a_cell_needs() -> None:
    plan = tc.Table("ratio", "1", of=["w", "wide"], by=["place"], neighbours=AddRemoveOne("person"))
    forecast = plan.forecast(SCHEMA)
    fewest = forecast.figures["fewest_records"]
    said = f"cells of fewer than about {fewest:,.0f} records stay empty where the limit of wide is 20 times its mean"
    assert said in " ".join(forecast.sentences)
    pay = np.random.default_rng(1).lognormal(6, 1, 40_000).astype(np.int64)

    def result(small: int, large: int) -> Measurements:
        places = ["A1"] * small + ["A2"] * large + ["B1"] * (pay.size - small - large)
        return plan.rehearse(_frame([(place, 0, 5) for place in places]).assign(wide=pay), SCHEMA, seed=3)

    needed = fewest * result(0, 0).facts["below"]["upper"] / (20 * pay.mean())
    published = tc.publish(result(round(needed / 2), round(2 * needed)), SCHEMA)["value"].to_pylist()
    assert [one is not None for one in published] == [False, True, True]
