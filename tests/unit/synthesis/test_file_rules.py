"""FileSynthesis keeps the schema's rules in every record, and spends nothing on columns that follow from others."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from support.ruled_people import VARIABLES, broken, people, schema
from tacita.comparison import HistogramSynthesis
from tacita.data.confidential import Confidential
from tacita.data.schema.rulebook import Bar
from tacita.errors import UsageError
from tacita.plan import check
from tacita.privacy import AddRemoveOne, ReplaceOne
from tacita.synthesis import FileSynthesis
from tacita.synthesis.file import FileModel
from tacita.synthesis.file.field import Field, Wanted
from tacita.synthesis.file.records import unrelated

ROWS = 4000
ADD = AddRemoveOne("person")


@cache
def model(epsilon: str = "20", **more: Any) -> FileModel:
    return FileSynthesis(list(VARIABLES), epsilon, neighbours=ADD, **more).rehearse(people(ROWS), schema(), seed=2)


@cache
def made(epsilon: str = "20", rows: int = 5000) -> pd.DataFrame:
    return next(iter(model(epsilon).sample(rows=rows).tables)).to_pandas()


@pytest.mark.parametrize("epsilon", [pytest.param("20", marks=pytest.mark.slow), "1/4"])
def test_no_record_breaks_a_rule(epsilon: str) -> None:
    assert set(broken(made(epsilon)).values()) == {0}
    for file in model(epsilon).sample(2, rows=500):
        assert set(broken(file).values()) == {0}


def test_the_rules_are_broken_where_they_are_not_declared() -> None:
    """What the test above would see if nothing kept them."""
    plan = FileSynthesis(list(VARIABLES), "20", neighbours=ADD)
    (file,) = plan.rehearse(people(2000), schema([]), seed=2).sample(rows=2000)
    assert min(count for name, count in broken(file).items() if name not in ("bounds", "only_when", "thin")) > 0


def test_a_column_that_follows_from_others_costs_nothing() -> None:
    released = model().measured
    assert {one for table in released["tables"] for one in table["attributes"]}.isdisjoint({"group", "income", "bmi"})
    assert "income" not in released["numbers"]
    with_rules, without = (
        FileSynthesis(list(VARIABLES), "1", rows=ROWS).forecast(some).figures["mean total variation from noise"]
        for some in (schema(), schema([]))
    )
    assert with_rules < without


def test_shares_of_linked_columns_and_sums_are_kept() -> None:
    real, file = people(ROWS), made()
    for name in ("group", "smokes", "housing", "rooms"):
        shares = [frame[name].value_counts(normalize=True) for frame in (real, file)]
        assert shares[0].sub(shares[1], fill_value=0).abs().max() < 0.02, name
    for name in ("wage", "other", "income"):
        assert file[name].median() == pytest.approx(real[name].median(), rel=0.05)
    assert file["cigarettes"].isna().mean() == pytest.approx(real["cigarettes"].isna().mean(), abs=0.02)


def test_values_that_were_drawn_again_do_not_pile_up() -> None:
    """Of records whose dates fall into one bin, no value is much more frequent than in the original."""
    real, file = people(5000), made()
    for name in ("start", "end"):
        most = [frame[name].value_counts(normalize=True).iloc[0] for frame in (real, file)]
        assert most[1] < 4 * most[0] + 0.002


def test_dates_are_days_within_their_bounds_and_may_be_missing() -> None:
    table = next(iter(model().sample(rows=200).tables))
    assert table.schema.field("end").type == pa.date32()
    real, file = people(ROWS), made()
    start = pd.to_datetime(file["start"])
    assert start.between("2001-01-01", "2020-12-31").all()
    assert start.median() == pytest.approx(real["start"].median(), abs=pd.Timedelta(days=250))
    assert file["end"].isna().mean() == pytest.approx(real["end"].isna().mean(), abs=0.02)


def test_a_stored_model_makes_the_same_files() -> None:
    first = model()
    again = first.plan.restore(first.to_bytes())
    assert next(iter(again.sample(rows=500).tables)).equals(next(iter(first.sample(rows=500).tables)))


def test_linked_attributes_reach_their_shares_though_no_single_value_can_change() -> None:
    """Three attributes that are all 0 or all 1: only a leap leads from one to the other."""
    random, levels = np.random.default_rng(1), (2, 2, 2)
    bars = [Bar.of(levels, {a: [0], b: [1]}) for a in range(3) for b in range(3) if a != b]
    margins = [np.array([0.8, 0.2])] * 3
    start = unrelated([np.array([0.3, 0.7])] * 3, bars, 4000, random)
    field = Field(levels, margins, bars, start)
    field.fit([Wanted((0, 1), np.array([[800.0, 0.0], [0.0, 200.0]]), 4.0, 4)], 1000, 60, random)
    assert (field.pool == field.pool[:, :1]).all()
    assert field.pool[:, 0].mean() == pytest.approx(0.2, abs=0.03)


def test_a_file_of_one_record_keeps_the_rules() -> None:
    for seed in range(2):
        for where in (None, {"group": "old"}):
            (file,) = model().sample(rows=1, seed=seed, where=where)
            assert len(file) == 1
            assert set(broken(file).values()) == {0}


def test_other_methods_refuse_rules_that_they_cannot_keep() -> None:
    plan = HistogramSynthesis(["housing", "rooms"], "1", neighbours=ReplaceOne("person"))
    with pytest.raises(UsageError, match="rules, number 7: this method cannot keep"):
        check(plan, Confidential.from_frame(people(50), schema()))
    check(
        HistogramSynthesis(["housing"], "1", neighbours=ReplaceOne("person")),
        Confidential.from_frame(people(50), schema()),
    )


def test_records_of_one_kind_keep_the_rules_and_follow_the_same_law() -> None:
    where = {"group": ["middle", "old"], "age": {"most": 70}, "end": {"not": "missing"}, "income": {"least": 4000}}
    real, (file,) = people(ROWS), model().sample(where=where, rows=2000)
    assert len(file) == 2000
    assert set(broken(file).values()) == {0}
    assert file["age"].between(18, 70).all()
    assert file["end"].notna().all()
    assert (file["income"] >= 4000).all()
    alike = real[real["age"].between(18, 70) & real["end"].notna() & (real["income"] >= 4000)]
    assert (file["smokes"] == "yes").mean() == pytest.approx((alike["smokes"] == "yes").mean(), abs=0.05)
    assert file["wage"].median() == pytest.approx(alike["wage"].median(), rel=0.15)
    (as_many,) = model().sample(where={"smokes": "yes"})
    assert len(as_many) == pytest.approx((real["smokes"] == "yes").sum(), rel=0.1)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"smokes": "yes", "group": "young"}, "no record that the schema allows"),
        ({"sex": "F"}, "where: sex is not declared"),
        ({"smokes": "often"}, "where.smokes: must be one of the column's levels"),
    ],
)
def test_records_that_cannot_be_are_refused(where: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        model().sample(where=where)
