"""The self-check: its price, what it measures against distances counted by hand, how far one record moves it, and what
becomes of files that fail."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from support.mixed_people import COLUMNS, people, schema
from tacita.data.confidential import Confidential
from tacita.data.reading import read
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.mechanisms.table.noise import Budget
from tacita.noise.concentrated import rho_for
from tacita.noise.entropy import SeededEntropy
from tacita.plan import Bounded
from tacita.privacy import AddRemoveOne, Loss, NumbersWithin, ReplaceOne
from tacita.release.settings import plan_from_record
from tacita.synthesis import FileSynthesis, PanelSynthesis, PlainPanelSynthesis, QuantileSynthesis
from tacita.synthesis.selfcheck import SelfCheck, stamped
from tacita.synthesis.selfcheck.measuring import _Comparison, _means, measure
from tacita.synthesis.selfcheck.report import LIMITS, as_limits
from tacita.synthesis.selfcheck.yardstick import STEPS, WIDEST, Yardstick, centred, coded

ADDED, REPLACED = AddRemoveOne("person"), ReplaceOne("person")
RELATIONS = pytest.mark.parametrize("neighbours", [ADDED, REPLACED], ids=["added", "replaced"])
SILENT = Budget(Fraction(10**9))  # noise of next to nothing, so that what is compared shows


def checked(neighbours: Any = REPLACED, epsilon: str = "1", **more: Any) -> SelfCheck:
    delta = more.pop("delta", "1e-9")
    return SelfCheck(FileSynthesis(COLUMNS, epsilon, delta=delta, neighbours=neighbours), **more)


# ---------------------------------------------------------------- the price


def test_synthesizer_and_check_share_one_budget() -> None:
    pure = checked(delta="0", share="1/5")
    assert (pure.inner.epsilon, pure.budget.epsilon, pure.budget.gaussian) == (Fraction(4, 5), Fraction(1, 5), False)
    assert pure.guarantee.loss == Loss("1")


@pytest.mark.parametrize("share", ["0.05", "1/2"])
def test_where_noise_is_gaussian_it_is_rho_that_is_shared(share: str) -> None:
    plan, delta = checked(share=share), Fraction(1, 10**9)
    whole = rho_for(Fraction(1), delta)
    assert plan.guarantee.loss == Loss("1", delta="1e-9")
    used = rho_for(plan.inner.epsilon, delta) + plan.budget.rho
    assert whole * Fraction(999_999, 1_000_000) < used <= whole


def test_the_loss_of_a_checked_plan_is_the_loss_of_the_plan() -> None:
    for plan in (checked(ADDED), checked(REPLACED, delta="0")):
        assert plan.guarantee == plan.plan.guarantee


def test_a_check_is_part_of_what_a_plan_is() -> None:
    plan = checked(share="0.1", limits={"mean": "5%", "rank": 0.5}, fail="withhold")
    record = plan.describe()
    assert record["mechanism"] == "FileSynthesis"
    assert record["epsilon"] == "1"
    assert record["check"]["share"] == "0.1"
    assert record["check"]["limits"] == {
        "beyond": "0.02",
        "mean": "0.05",
        "one_way": "0.05",
        "one_way_worst": "0.1",
        "rank": "0.5",
        "two_way": "0.12",
        "two_way_worst": "0.25",
    }
    assert plan_from_record(record) == plan
    assert hash(plan_from_record(record)) == hash(plan)
    several = Bounded(plan, 3)
    assert plan_from_record(several.describe()) == several
    assert plan.describe() != plan.plan.describe()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"share": "0"}, "share: must lie between 0 and 1"),
        ({"share": "1"}, "share: must lie between 0 and 1"),
        ({"share": 0.05}, "share"),
        ({"fail": "burn"}, "fail: must be one of stamp, withhold"),
        ({"limits": {"three_way": 0.1}}, r"limits\.three_way: there is no such check; give one_way"),
        ({"limits": {"mean": "-1%"}}, r"limits\.mean: must be a share above 0"),
        ({"limits": {"mean": "much"}}, r"limits\.mean: must be a share above 0"),
        ({"limits": {"mean": True}}, r"limits\.mean: must be a share above 0"),
        ({"limits": 0.1}, "limits: give shares by name"),
    ],
)
def test_a_wrong_setting_is_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        checked(**given)


def test_a_share_that_buys_nothing_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(UsageError, match="share: leaves too little"):
        checked(share="1e-12").reads(schema())


def test_what_cannot_be_checked_is_refused() -> None:
    layout: dict[str, Any] = {"unit": "firm", "keep": ["county"], "years": (2000, 2001)}
    with pytest.raises(UsageError, match="one row for each unit"):
        SelfCheck(PanelSynthesis({"jobs": "jobs"}, "4", period="year", **layout))
    with pytest.raises(UsageError, match="spends no ε"):
        SelfCheck(PlainPanelSynthesis({"jobs": "jobs{year}"}, **layout))
    assert SelfCheck(PanelSynthesis({"jobs": "jobs{year}"}, "4", alpha="0.1", **layout)).replaced
    assert isinstance(PanelSynthesis({"jobs": "jobs{year}"}, "4", alpha="0.1", **layout).neighbours, NumbersWithin)


def test_the_forecast_says_how_much_the_check_will_tell() -> None:
    few = checked(delta="0", epsilon="0.5").forecast(schema())
    assert "self-check takes 0.05 of the budget" in few.sentences[-1]
    assert "may leave open whether the files are fit" in few.sentences[-1]
    many = checked(epsilon="8").forecast(schema())
    assert "leave open" not in many.sentences[-1]
    assert many.figures["self-check: margin of a distance"] < few.figures["self-check: margin of a distance"] / 10


# ---------------------------------------------------------------- what is measured

TWO = Schema.from_dict(
    {
        "dataset": {"identity": "two", "unit": "person"},
        "variables": {
            "sex": {"role": "confidential", "type": "categorical", "levels": ["F", "M"]},
            "pay": {"role": "confidential", "type": "integer", "lower": 0, "upper": 1000, "missing": "own state"},
            "w": {"role": "confidential", "type": "integer", "lower": 1, "upper": 9},
        },
    }
)


def found(truth: pd.DataFrame, file: pd.DataFrame, *, weight: str | None = None, replaced: bool = True) -> Any:
    data, table = Confidential.from_frame(truth, TWO), pa.Table.from_pandas(file, preserve_index=False)
    names = ("sex", "pay") if weight is None else ("sex", "pay", "w")
    report = measure(data, table, names, weight, SILENT, as_limits({}), replaced, SeededEntropy(1))
    return {one.name: one for one in report.findings}


def frame(sex: str, pay: list[float | None], w: list[int] | None = None) -> pd.DataFrame:
    return pd.DataFrame({"sex": list(sex), "pay": pd.array(pay, dtype="Int64"), "w": w or [1] * len(pay)})


@RELATIONS
def test_distances_are_those_counted_by_hand(neighbours: Any) -> None:
    """Ten records against five synthetic ones, each of which stands for two."""
    truth = frame("FFFFFFMMMM", [0, 0, 0, 0, 0, 0, 100, 100, 100, None])
    file = frame("FFMMM", [0, 0, 0, 100, 200])
    got = found(truth, file, replaced=neighbours is REPLACED)
    # Sex: 6 to 4 against 4 to 6. Pay: 6, 3, 0 and one missing against 6, 2 and 2.
    assert got["one_way"].value == pytest.approx((0.2 + 0.2) / 2, abs=1e-3)
    assert got["one_way_worst"].value == pytest.approx(0.2, abs=1e-3)
    # Together: F0 6, M100 3, M missing 1 against F0 4, M0 2, M100 2, M200 2.
    assert got["two_way"].value == got["two_way_worst"].value == pytest.approx(0.4, abs=1e-3)
    # Up to 0: 6 and 6. Up to 100: 9 and 8.
    assert got["rank"].value == pytest.approx(0.1, abs=1e-3)
    assert got["beyond"].value == 0
    for one in got.values():
        assert one.low <= one.value <= (one.high or 9)


def test_numbers_beyond_the_file_are_counted_once_a_record() -> None:
    got = found(frame("FFFM", [5, 50, 500, None], [9, 1, 9, 1]), frame("FFFM", [10, 20, 30, 40]), weight="w")
    assert got["beyond"].value == pytest.approx(3 / 4)


def test_means_are_compared_over_records_that_have_one() -> None:
    file = frame("FM" * 500, [90, 110] * 500)
    assert found(frame("FM" * 300, [95, None] * 300), file)["mean"].value == pytest.approx(0.05 / 2, abs=1e-3)
    assert found(frame("FM" * 300, [95, 105] * 300), file)["mean"].value == pytest.approx(0, abs=1e-3)


def test_weighted_means_are_compared_where_there_is_a_weight() -> None:
    """Plain means agree, weighted ones do not: the heavy records of the file have little."""
    truth, file = frame("FM" * 300, [90, 110] * 300, [1, 3] * 300), frame("FM" * 300, [90, 110] * 300, [3, 1] * 300)
    assert found(truth, file)["mean"].value == pytest.approx(0, abs=1e-3)
    assert found(truth, file, weight="w")["mean"].value == pytest.approx(10 / 95, abs=2e-3)


def test_rare_levels_and_undeclared_ones_are_one_state() -> None:
    levels = [f"{k:02d}" for k in range(40)]
    kind = {"role": "confidential", "type": "categorical", "levels": levels}
    wide = Schema.from_dict({"dataset": {"identity": "wide", "unit": "person"}, "variables": {"code": kind}})
    file = coded(pa.table({"code": [one for k, one in enumerate(levels) for _ in range(k + 1)]}), wide, ["code"])
    (column,) = Yardstick.of(wide, file).columns
    assert column.size == 21
    assert column.code(np.array([39.0, 20.0, 19.0, 0.0, -1.0, np.nan])).tolist() == [19, 0, 20, 20, 20, 20]


# ---------------------------------------------------------------- how far one record moves it


def asked(truth: dict[str, Any], file: dict[str, Any], records: int, replaced: bool) -> dict[str, tuple[int, int]]:
    yardstick = Yardstick.of(TWO, file)
    means = [
        one for name in ("pay", "w") for one in centred(name, "w" if name == "pay" else None, file, lambda e: True)
    ]
    questions = (*_Comparison(yardstick, file, truth, records, replaced).questions(), *_means(means, truth, replaced))
    return {one.name: (one.value, one.reach.total) for one in questions}


@RELATIONS
def test_no_record_moves_a_number_further_than_its_reach_and_some_move_it_as_far(neighbours: Any) -> None:
    random, replaced = np.random.default_rng(3), neighbours is REPLACED
    furthest: dict[str, float] = {}
    extreme = ({"sex": "F", "pay": 0, "w": 9}, {"sex": "M", "pay": 1000, "w": 9}, {"sex": "M", "pay": None, "w": 1})

    def some(count: int, high: int) -> pd.DataFrame:
        pay = random.integers(0, high, count).astype(object)
        pay[random.random(count) < 0.2] = None
        return frame("".join(random.choice(["F", "M"], count)), pay.tolist(), random.integers(1, 10, count).tolist())

    def as_read(rows: pd.DataFrame) -> dict[str, Any]:
        return coded(pa.Table.from_pandas(rows, preserve_index=False), TWO, ["sex", "pay", "w"])

    for trial in range(60):
        file, truth = some(int(random.integers(3, 40)), (3, 40, 1000)[trial % 3]), some(29, (2, 600)[trial % 2])
        truth = pd.concat([pd.DataFrame([extreme[trial % 2]]).astype(truth.dtypes), truth])
        base = asked(as_read(truth), as_read(file), 30, replaced)
        for one in extreme:
            other = pd.concat([truth.iloc[1:] if replaced else truth, pd.DataFrame([one]).astype(truth.dtypes)])
            for name, (value, reach) in asked(as_read(other), as_read(file), 30, replaced).items():
                moved = abs(value - base[name][0])
                assert base[name][1] == reach
                assert moved <= reach, name
                furthest[name] = max(furthest.get(name, 0.0), moved / reach)
    assert furthest.keys() == LIMITS.keys()
    assert all(furthest[name] == 1 for name in furthest if name != "mean"), furthest
    assert furthest["mean"] > 0.8  # a reach of a fifth less would be passed


def test_the_reach_of_a_distance_is_that_of_a_record_and_of_two() -> None:
    rows = coded(pa.Table.from_pandas(frame("FM", [1, 2]), preserve_index=False), TWO, ["sex", "pay", "w"])
    added, replaced = (asked(rows, rows, 2, one) for one in (False, True))
    for name in ("one_way", "one_way_worst", "two_way", "two_way_worst"):
        assert (added[name][1], replaced[name][1]) == (STEPS, 2 * STEPS)
    assert added["rank"][1] == replaced["rank"][1] == STEPS
    assert added["beyond"][1] == replaced["beyond"][1] == 1


# ---------------------------------------------------------------- what becomes of the files


def test_good_files_are_fit_for_use() -> None:
    result = checked(epsilon="8").rehearse(people(20_000), schema(), seed=1)
    assert result.report.verdict == "fit for use"
    assert result.report.records == 20_000
    assert {one.name for one in result.report.findings} == LIMITS.keys()
    assert result.implicates is result.model.implicates
    assert result.sample(2, seed=3).m == 2


@RELATIONS
def test_a_check_that_is_too_coarse_says_so(neighbours: Any) -> None:
    assert checked(neighbours, share="0.001").rehearse(people(300), schema(), seed=2).report.verdict == "not decided"


@pytest.mark.parametrize("fail", ["stamp", "withhold"])
def test_files_that_fail_are_kept_or_not_and_come_back_as_they_were(fail: Any) -> None:
    plan = checked(epsilon="4", limits={"two_way": "0.01%"}, fail=fail)
    result = plan.rehearse(people(5000), schema(), seed=1)
    assert result.report.verdict == "not fit for use"
    assert (result.implicates is None) == (fail == "withhold")
    back = plan.restore(result.to_bytes())
    assert (back.to_bytes(), back.measured, back.report) == (result.to_bytes(), result.measured, result.report)
    if fail == "withhold":
        assert set(result.measured) == {"check"}
        assert b"tables" not in result.to_bytes()
        with pytest.raises(UsageError, match="were withheld"):
            result.sample()
        assert stamped(plan).rehearse(people(5000), schema(), seed=1).implicates is not None
        assert stamped(Bounded(plan, 2)).plan.fail == "stamp"


def test_a_file_whose_tail_ran_away_is_caught() -> None:
    """As of a model that draws pay 100 times too high in the upper tail."""
    random = np.random.default_rng(1)
    pay = random.integers(0, 10, 4000)
    file = np.where(pay == 9, pay * 100, pay)
    got = found(frame("FM" * 2000, pay.tolist()), frame("FM" * 2000, file.tolist()))
    assert got["mean"].broken
    assert got["mean"].value > 0.9


def test_what_a_file_holds_beyond_the_clamp_is_never_called_fit() -> None:
    """A few records hold most of the file's mean: too few to be seen through the noise of a small budget."""
    pay = [10] * 1990 + [1000] * 10
    data = Confidential.from_frame(frame("FM" * 1000, [10] * 2000), TWO)
    file = pa.Table.from_pandas(frame("FM" * 1000, pay), preserve_index=False)
    budget, limits = Budget(Fraction(1, 5)), as_limits(dict.fromkeys(LIMITS, "90%") | {"mean": "20%"})
    report = measure(data, file, ("sex", "pay"), None, budget, limits, True, SeededEntropy(1))
    (mean,) = (one for one in report.findings if one.name == "mean")
    assert not mean.met
    assert mean.high is not None
    assert mean.high > 0.3


def test_other_synthesizers_are_checked_alike() -> None:
    data = people(3000)
    plan = SelfCheck(QuantileSynthesis(["age", "worth"], "4", neighbours=ADDED), share="0.2")
    report = plan.rehearse(data, schema(), seed=1).report
    assert {one.name for one in report.findings} == LIMITS.keys()
    assert abs(report.records - 3000) < 300
    single = SelfCheck(FileSynthesis(["sex"], "4", neighbours=REPLACED)).rehearse(data, schema(), seed=1).report
    assert [one.name for one in single.findings] == ["one_way", "one_way_worst"]


def test_what_was_read_for_the_check_is_what_the_file_holds() -> None:
    """The synthetic file is coded without the engine, the rows by it: the same rows must give the same codes."""
    rows = people(200)
    read_once = read(Confidential.from_frame(rows, schema()), COLUMNS)
    written = rows.assign(hours=rows["hours"].where(rows["hours"] != -9))
    by_hand = coded(pa.Table.from_pandas(written, preserve_index=False), schema(), COLUMNS)
    for name in COLUMNS:
        np.testing.assert_array_equal(by_hand[name], read_once[name])


def test_dates_are_compared_by_table_and_rank() -> None:
    born = {"role": "confidential", "type": "date", "lower": "1950-01-01", "upper": "2000-12-31"}
    for missing in ("own state", "1950-01-01"):
        dated = Schema.from_dict(
            {
                "dataset": {"identity": "dated", "unit": "person"},
                "variables": {"born": {**born, "missing": missing}, "sex": TWO.to_dict()["variables"]["sex"]},
            }
        )
        days = pd.date_range("1960-01-01", periods=900).date
        rows = pd.DataFrame({"born": [*days, *[None] * 100], "sex": ["F", "M"] * 500})
        data, file = Confidential.from_frame(rows, dated), pa.Table.from_pandas(rows, preserve_index=False)
        report = measure(data, file, ("born", "sex"), None, SILENT, as_limits({}), True, SeededEntropy(1))
        assert {one.name for one in report.findings} == LIMITS.keys() - {"mean"}
        assert all(one.value < 1e-3 for one in report.findings), report


def test_no_clamp_is_wider_than_noise_was_promised_for() -> None:
    """Half a record in a thousand holds all that there is: the widest clamps are left out, or none is left."""
    for heavy in (1, 3, 30, 300):
        values = np.zeros(2000)
        values[:heavy] = 1e9
        for one in centred("x", None, {"x": values}, lambda ends: 0.0):
            assert one.ends[1] - one.ends[0] <= WIDEST * STEPS
