"""Growth and flows between two years: what is read, what is refused, what comes out."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.dossier.exact import TRUTH, exact_changes
from tacita.errors import TacitaError
from tacita.mechanisms.change import Change
from tacita.mechanisms.change.measuring import Limit
from tacita.noise.entropy import SeededEntropy
from tacita.noise.forcing import Tape
from tacita.plan.bounded import Bounded
from tacita.privacy import AddRemoveOne, ReplaceOne
from tacita.tables import publish

NUMBER = {"role": "confidential", "type": "integer", "missing": 0}
SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "firms", "unit": "firm"},
        "variables": {
            "firm": {"role": "id", "entity": "firm"},
            "place": {"role": "confidential", "type": "categorical", "levels": ["A", "B"]},
            "year": {"role": "confidential", "type": "integer", "lower": 2000, "upper": 2010},
            "jobs": {**NUMBER, "lower": 0, "upper": 500},
            "sales": {**NUMBER, "lower": 0, "upper": 10**9},
            "profit": {**NUMBER, "lower": -(10**6), "upper": 10**6},
            "before": {**NUMBER, "lower": 0, "upper": 10**9},
            "after": {**NUMBER, "lower": 0, "upper": 10**9},
        },
    }
)
BETWEEN = {"year": [2001, 2002]}


def plan(statistic: str = "growth", epsilon: str = "1", **given: Any) -> Change:
    settings: dict[str, Any] = {"by": ["place"], "between": BETWEEN, "neighbours": AddRemoveOne("firm"), **given}
    return Change(statistic, epsilon, **settings)  # type: ignore[arg-type]


def panel(count: int = 3000, seed: int = 1) -> pd.DataFrame:
    """Firms of which some enter, leave, or move to place A; and rows of another year, which do not count."""
    random = np.random.default_rng(seed)
    first = pd.DataFrame({"firm": np.arange(count), "place": random.choice(["A", "B"], count), "year": 2001})
    first["jobs"] = np.minimum(random.lognormal(2.5, 1, count).astype(int) + 1, 500)
    first["sales"] = (first.jobs * random.lognormal(4, 0.5, count)).astype(int)
    first["profit"] = (first.sales * random.normal(0.1, 0.2, count)).astype(int)
    second = first.assign(year=2002, firm=first.firm + count // 20)
    second["jobs"] = np.clip(np.rint(second.jobs * random.lognormal(0.02, 0.2, count)), 1, 500).astype(int)
    second["sales"] = (second.sales * random.lognormal(0.05, 0.2, count)).astype(int)
    second.loc[random.random(count) < 0.03, "place"] = "A"
    return pd.concat([first, second, first.assign(year=2005)], ignore_index=True).assign(before=0, after=0)


SMALL = pd.DataFrame(
    {
        "firm": [1, 1, 2, 2, 3, 4, 5, 5, 1],
        "place": ["A", "A", "A", "B", "A", "B", "B", "B", "B"],
        "year": [2001, 2002, 2001, 2002, 2001, 2002, 2001, 2002, 2007],
        "jobs": [10, 16, 20, 25, 7, 9, 30, 12, 400],
    }
).assign(sales=0, profit=0, before=0, after=0)


def confidential(statistic: str, frame: pd.DataFrame, **given: Any) -> list[list[Any]]:
    tape = Tape(SeededEntropy(1))
    plan(statistic, **given).run(Confidential.from_frame(frame, SCHEMA), tape)
    return [np.asarray(next(iter(draw.confidential.values()))).tolist() for draw in tape.draws]


def test_what_is_added_up_is_exact() -> None:
    """Firm 1 grows by 6, 2 moves from A to B, 3 leaves, 4 enters, 5 shrinks by 18; other years do not count."""
    assert confidential("growth", SMALL, of="jobs") == [[6 - 20 - 7, 25 + 9 - 18], [10 + 20 + 7, 30]]
    assert confidential("flows", SMALL, of="jobs") == [[[6, 0], [0, 18], [0, 34], [27, 0]]]
    assert confidential("flows", SMALL) == [[[0, 2], [2, 0]]]
    assert confidential("growth", SMALL, where={"place": ["A"]}, by=[])[0] == [-2]


def test_a_unit_counts_up_to_the_limit_and_half_of_it_in_each_of_two_cells() -> None:
    limit = Limit.above(1000)
    assert (limit.most, limit.halvings) == (1000, 0)
    assert Limit.above(7).even.most == 8
    wide = Limit.above(2**40)
    assert wide.most << wide.halvings >= 2**40
    assert wide.most <= 2**22
    # Declared bounds of 500 leave room for a firm of 500 that moves.
    far = SMALL.assign(jobs=500)
    assert confidential("flows", far, of="jobs") == [[[0, 0], [0, 0], [0, 1000], [1000, 0]]]


def test_both_years_may_stand_in_one_row() -> None:
    frame = panel().query("year == 2001").assign(before=lambda x: x.sales, after=lambda x: (1.1 * x.sales).astype(int))
    wide = plan(of=["before", "after"], between={}, epsilon="8")
    table = publish(wide.rehearse(frame, SCHEMA, seed=1), SCHEMA).to_pandas().set_index(["measure", "place"])
    assert ((table.loc["percent"].value - 10).abs() <= table.loc["percent"].margin_of_error).all()
    assert table.loc["percent"].margin_of_error.max() < 2
    assert Bounded(wide, 2).guarantee.loss.epsilon == 16
    with pytest.raises(TacitaError, match="all rows of a unit together"):
        Bounded(plan(), 2)


@pytest.mark.parametrize("relation", [AddRemoveOne("firm"), ReplaceOne("firm")])
@pytest.mark.parametrize(
    ("statistic", "of"), [("growth", ()), ("growth", "sales"), ("flows", "jobs"), ("growth", "profit")]
)
def test_margins_hold_the_truth(statistic: str, of: Any, relation: Any) -> None:
    frame, asked = panel(), plan(statistic, "4", of=of, neighbours=relation)
    truth = {
        name: cells(("place",))[TRUTH]
        for name, cells in exact_changes(asked, Confidential.from_frame(frame, SCHEMA)).items()
    }
    inside, given = [], []
    for seed in range(6):
        table = publish(asked.rehearse(frame, SCHEMA, seed=seed), SCHEMA, nonnegative=False).to_pandas()
        for name, exact in truth.items():
            own = table[table.measure == name]
            inside += (np.abs(own.value.to_numpy() - exact.to_numpy()) <= own.margin_of_error.to_numpy()).tolist()
            given += own.margin_of_error.notna().tolist()
    assert np.mean(given) > 0.3  # noise may leave open whether a tail is
    assert np.mean(np.array(inside)[given]) > 0.9


@pytest.mark.parametrize("statistic", ["growth", "flows"])
@pytest.mark.parametrize(("shape", "epsilon", "is_open"), [(0.6, "4", True), (3.0, "16", False)])
def test_above_an_open_tail_no_margin_is_given(statistic: str, shape: float, epsilon: str, is_open: bool) -> None:
    """As for sums: sales with a Pareto tail of shape below 1 have as much in every octave as in the one before."""
    count, number = 30_000, {**NUMBER, "lower": 0, "upper": 10**15}
    variables = {"firm": {"role": "id", "entity": "firm"}, "before": number, "after": number}
    schema = Schema.from_dict({"dataset": {"identity": "firms", "unit": "firm"}, "variables": variables})
    sales = (1000 * np.random.default_rng(1).random(count) ** (-1 / shape)).astype(np.int64)
    frame = pd.DataFrame({"firm": np.arange(count), "before": sales, "after": 2 * sales})
    result = plan(statistic, epsilon, of=["before", "after"], between={}, by=[]).rehearse(frame, schema, seed=2)
    assert {facts.get("open", False) for facts in result.facts.values()} == {is_open}
    table = publish(result, schema).to_pandas()
    assert table.value.notna().all()
    assert (table.margin_of_error.isna() == is_open).all()
    assert (table.quality == "D").all() == is_open


def test_the_forecast_speaks_of_the_noise_that_comes() -> None:
    said = plan(epsilon="1").forecast(SCHEMA)
    table = publish(plan(epsilon="1").rehearse(panel(), SCHEMA, seed=1), SCHEMA).to_pandas()
    assert table[table.measure == "change"].margin_of_error.to_numpy() == pytest.approx(
        said.figures["margin_of_change"], rel=0.02
    )
    points = table[table.measure == "percent"].margin_of_error.mean()
    assert points == pytest.approx(said.figures["points_at_1000"] / 1.5, rel=0.1)  # 1,500 firms in a cell


def test_totals_of_flows_are_sums() -> None:
    table = publish(plan("flows", "4", of="jobs").rehearse(panel(), SCHEMA, seed=1), SCHEMA, totals=["place"])
    assert set(table["measure"].to_pylist()) == {"creation", "destruction", "entry", "exit", "net"}
    with pytest.raises(TacitaError, match="totals: are for counts and sums"):
        publish(plan(epsilon="4").rehearse(panel(), SCHEMA, seed=1), SCHEMA, totals=["place"])


def test_where_no_unit_is_visible_nothing_is_said() -> None:
    table = publish(plan(of="sales", epsilon="0.1").rehearse(panel(30), SCHEMA, seed=1), SCHEMA).to_pandas()
    assert list(dict.fromkeys(table.measure)) == ["earlier", "later", "change", "percent"]
    assert table.value.isna().all()


def test_what_is_stored_comes_back() -> None:
    one = plan(of="sales")
    result = one.rehearse(panel(), SCHEMA, seed=1)
    assert publish(one.restore(result.to_bytes()), SCHEMA).equals(publish(result, SCHEMA))
    record = json.loads(json.dumps(one.describe()))
    assert record.pop("mechanism") == "Change"
    assert Change.from_record(record) == one


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"between": {}}, "of: name two columns, the earlier year first"),
        ({"of": ["before", "after"]}, "of: with between, name one column"),
        ({"between": {"year": [2001]}}, "between: name one column and two years"),
        ({"between": {"year": [1999, 2001]}}, "between: 1999 is not among the declared values of year"),
        ({"between": {"place": ["A", "B"]}}, "by: place also stands in of or between"),
        ({"neighbours": AddRemoveOne("person")}, "the schema has no person id"),
        ({"statistic": "flows", "of": "profit"}, "profit: may be negative"),
        ({"rho": "1"}, "epsilon: give it"),
    ],
)
def test_what_cannot_be_measured_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(TacitaError, match=words):
        plan(**given).forecast(SCHEMA)


def test_two_rows_of_a_unit_in_one_year_are_refused() -> None:
    twice = pd.concat([SMALL, SMALL.iloc[[0]]], ignore_index=True)
    with pytest.raises(TacitaError, match="has more than one row of a year"):
        plan(of="jobs").rehearse(twice, SCHEMA, seed=1)
    plan(of="jobs").rehearse(pd.concat([SMALL, SMALL.iloc[[8]]], ignore_index=True), SCHEMA, seed=1)  # of another year
