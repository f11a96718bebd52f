"""FileSynthesis as its users meet it: files of every kind of column, what they keep, and what is refused."""

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.mixed_people import COLUMNS, people, schema
from tacita.comparison import HistogramSynthesis
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import SchemaError, UsageError
from tacita.mechanisms.table import Table
from tacita.plan import check
from tacita.privacy import AddRemoveOne, ReplaceOne
from tacita.synthesis import FileSynthesis
from tacita.synthesis.file import FileModel
from tacita.tables import publish

ROWS = 6000
ADD = AddRemoveOne("person")


@cache
def model(epsilon: str = "20", **more: Any) -> FileModel:
    return FileSynthesis(COLUMNS, epsilon, neighbours=ADD, **more).rehearse(people(ROWS), schema(), seed=2)


@cache
def made(epsilon: str = "20", **more: Any) -> pd.DataFrame:
    return next(iter(model(epsilon, **more).implicates.tables)).to_pandas()


def test_numbers_keep_their_point_mass_their_tails_and_their_resolution() -> None:
    real, file = people(ROWS)["worth"], made()["worth"]
    assert (file == file.round()).all()
    assert file.between(-(10**6), 10**9).all()
    assert (file == 0).mean() == pytest.approx((real == 0).mean(), abs=0.02)
    assert (file < 0).mean() == pytest.approx((real < 0).mean(), abs=0.02)
    for share in (0.4, 0.5, 0.75, 0.9, 0.98):
        assert (real <= file.quantile(share)).mean() == pytest.approx(share, abs=0.03)
    assert file.mean() == pytest.approx(real.mean(), rel=0.15)


def test_missing_numbers_stay_missing_for_whom_they_are_missing() -> None:
    file = made()
    gone = file["hours"].isna()
    assert gone[file["works"] == "no"].mean() > 0.95
    assert gone[file["works"] == "yes"].mean() < 0.05
    assert file["hours"].dropna().between(0, 100).all()


def test_what_two_columns_have_in_common_is_kept() -> None:
    real, file = people(ROWS), made()
    for frame in (real, file):
        frame["old"] = frame["age"] > 50
    for pair in (["sex", "group"], ["works", "old"], ["group", "kids"]):
        shares = [frame.groupby(pair).size() / len(frame) for frame in (real, file)]
        assert shares[0].sub(shares[1], fill_value=0).abs().sum() < 0.06, pair


def test_impossible_combinations_of_three_columns_never_occur() -> None:
    for epsilon in ("20", "1/2"):
        file = made(epsilon)
        assert not ((file["sex"] == "F") & (file["group"] == "c") & (file["works"] == "no")).any()


def test_a_pure_promise_keeps_less_but_something() -> None:
    plan = FileSynthesis(COLUMNS, "20", delta="0", neighbours=ADD)
    assert str(plan.guarantee.loss) == "ε = 20"
    real, file = people(ROWS), made("20", delta="0")
    assert (file["sex"] == "F").mean() == pytest.approx((real["sex"] == "F").mean(), abs=0.03)
    assert file["age"].median() == pytest.approx(real["age"].median(), abs=3)


def test_files_of_any_length_and_several_that_differ_by_the_noise() -> None:
    assert len(next(iter(model().sample(rows=1000).tables))) == 1000
    shares = [(one.to_pandas()["works"] == "yes").mean() for one in model("1/2").sample(4, rows=2000).tables]
    assert 0 < np.std(shares) < 0.2


def counted(*by: str, **more: Any) -> Any:
    return Table("count", "2", by=by, neighbours=ADD, **more).rehearse(people(ROWS), schema(), seed=5)


@pytest.mark.parametrize("m", [1, 3])
def test_files_agree_with_tables_that_are_published_beside_them(m: int) -> None:
    tables = [counted("group", "sex"), counted("works", "sex", "group"), counted("works"), counted()]
    alone = FileSynthesis(COLUMNS, "0.2", neighbours=ADD).rehearse(people(ROWS), schema(), seed=2)
    files = [one.to_pandas() for one in alone.agreeing(tables).sample(m).tables]
    for table in tables[:3]:
        published = publish(table, schema()).to_pandas().set_index(list(table.keys))
        held = sum(one.groupby(list(table.keys)).size().reindex(published.index, fill_value=0) for one in files) / m
        off = (held - published["value"]).abs()
        assert (off <= 2 * published["margin_of_error"] + 1).all(), table.keys
    assert {len(one) for one in files} == {round(float(tables[3].noisy["count"][0]))}


def test_tables_of_other_records_or_columns_are_not_taken() -> None:
    drawn = model()
    others = [counted("sex", where={"works": ["yes"]}), Table("mean", "2", of="age", neighbours=ADD)]
    others[1] = others[1].rehearse(people(ROWS), schema(), seed=5)
    assert [drawn.usable(one) for one in (counted("sex"), *others)] == [True, False, False]
    with pytest.raises(UsageError, match="tables: number 2 does not count the records"):
        drawn.agreeing([counted("sex"), others[0]])


def test_a_table_to_keep_is_measured_and_kept() -> None:
    keep = (("works", "sex", "group"), ("age", "works"))
    drawn = FileSynthesis(COLUMNS, "1", neighbours=ADD, keep=keep, keep_share="0.5").rehearse(
        people(ROWS), schema(), seed=2
    )
    listed = [frozenset(one["attributes"]) for one in drawn.measured["tables"]]
    assert all(listed.count(frozenset(table)) == 1 for table in keep)
    file = next(iter(drawn.implicates.tables)).to_pandas()
    real, held = (frame.groupby(list(keep[0])).size() / len(frame) for frame in (people(ROWS), file))
    assert real.sub(held, fill_value=0).abs().sum() < 0.05


def test_what_is_spent_on_kept_tables_is_within_the_whole() -> None:
    for more in ({}, {"keep": (("sex", "works"), ("group", "kids", "sex"))}):
        plan = FileSynthesis(["sex", "group", "works", "kids"], "1", neighbours=ADD, **more)
        released = plan.rehearse(people(500), schema(), seed=2).released
        assert sum(one.question.cost for one in released.answers) <= plan.budget.total


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"keep": "sex"}, "keep: give lists of two or three columns"),
        ({"keep": [["sex"]]}, "keep: give lists of two or three columns"),
        ({"keep": [["sex", "sex"]]}, "keep: give lists of two or three columns"),
        ({"keep": [["sex", "works"], ["works", "sex"]]}, "keep: a table is listed twice"),
        ({"keep": [["sex", "height"]]}, "keep: height is not in columns"),
        ({"keep": [["sex", "works"]], "keep_share": "1"}, "keep_share: must be above 0 and at most"),
    ],
)
def test_tables_to_keep_that_cannot_be_are_refused(setting: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        FileSynthesis(COLUMNS, "1", **setting)


def test_the_forecast_speaks_of_noise_and_of_units() -> None:
    far = {e: FileSynthesis(COLUMNS, e, rows=ROWS).forecast(schema()).figures for e in ("1/10", "10")}
    key = "mean total variation from noise"
    assert far["1/10"][key] > 3 * far["10"][key]
    assert far["1/10"]["age: error of the mean at most"] > far["10"]["age: error of the mean at most"] > 0
    said = str(FileSynthesis(COLUMNS, "1", rows=ROWS).forecast(schema()))
    assert "age: the median is off by about" in said


@pytest.mark.parametrize("epsilon", ["1/2", "2"])
def test_tables_of_two_columns_are_off_by_about_what_was_forecast(epsilon: str) -> None:
    columns = ["sex", "group", "works", "kids"]
    real, plan = people(ROWS), FileSynthesis(columns, epsilon, rows=ROWS, neighbours=ADD)
    file = next(iter(plan.rehearse(real, schema(), seed=3).implicates.tables)).to_pandas()
    distances = []
    for pair in combinations(columns, 2):
        shares = [frame.groupby(list(pair)).size() / len(frame) for frame in (real, file)]
        distances.append(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)
    assert 1 / 3 < np.mean(distances) / plan.forecast(schema()).figures["distance of tables of two"] < 3


def test_zeros_that_leave_nothing_are_refused_before_anything_is_spent() -> None:
    content = schema().to_dict()
    content["zeros"] = [{"sex": a, "works": b} for a in ("F", "M") for b in ("no", "yes")]
    with pytest.raises(UsageError, match="no combination"):
        FileSynthesis(["sex", "works"], "1").reads(Schema.from_dict(content))


@pytest.mark.parametrize(("delta", "small"), [("0", "1/10000"), ("1e-9", "1/100000")])
def test_noise_without_end_is_refused_before_anything_is_spent(delta: str, small: str) -> None:
    with pytest.raises(UsageError, match="epsilon: too small"):
        FileSynthesis(COLUMNS, "1e-9", delta=delta).reads(schema())
    with pytest.raises(UsageError, match="rows: the number of records would be known"):
        FileSynthesis(["sex"], small, delta=delta, neighbours=ADD).reads(schema())
    assert FileSynthesis(COLUMNS, "1/50", delta=delta, neighbours=ADD, rows=100).reads(schema())


def test_other_methods_refuse_missing_numbers_as_a_state() -> None:
    plan = HistogramSynthesis(["sex", "hours"], "1", cuts={"hours": [20]}, neighbours=ReplaceOne("person"))
    with pytest.raises(UsageError, match="hours: its missing values are a state of their own"):
        check(plan, Confidential.from_frame(people(50), schema()))


def test_a_number_is_missing_in_one_way() -> None:
    content = schema().to_dict()
    assert Schema.from_dict(content) == schema()
    assert content["variables"]["hours"]["missing"] == "own state"
    content["variables"]["age"]["missing"] = "elsewhere"
    with pytest.raises(SchemaError, match=r"variables.age.missing"):
        Schema.from_dict(content)
