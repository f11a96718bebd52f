"""Files and settings that are not as they should be: `QuantileSynthesis` gives a defined result or a clear no."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.quantile import ADDED, BOUNDS, FIRM, PLANS, SCHEMA, firms, plan
from support.shared_desks import shared_desks  # noqa: F401 -- a fixture that every test here uses
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import SchemaError, TacitaError, UsageError
from tacita.ledger import Ledger
from tacita.privacy import Loss, StrongAlpha
from tacita.synthesis import QuantileSynthesis


def drawn(given: QuantileSynthesis, frame: pd.DataFrame, seed: int = 1) -> list[pd.DataFrame]:
    """The files of the release, and three that are combined."""
    model = given.rehearse(frame, SCHEMA, seed=seed)
    found = [*model.implicates, *model.sample(3)]
    for one in found:
        assert len(one) >= 1
        assert not one.isna().any().any()
        for name, (low, high) in BOUNDS.items():
            if name in one:
                assert one[name].between(low, high).all()
    return found


FILES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "constant predictor": lambda all: all.assign(size=37.0),
    "predictor at its lower bound": lambda all: all.assign(size=0.0),
    "predictor at its upper bound": lambda all: all.assign(size=1000.0),
    "collinear predictors": lambda all: all.assign(
        jobs=all["size"].round().astype(int), pay=(2 * all["size"]).round(1)
    ),
    "all-equal response": lambda all: all.assign(pay=77.0),
    "response at its lower bound": lambda all: all.assign(pay=-100.0),
    "response at its upper bound": lambda all: all.assign(pay=3000.0),
    "everything equal": lambda all: all.assign(size=5.0, jobs=5, pay=5.0, legal="own", age=3),
    "only the point mass": lambda all: all.assign(jobs=0),
    "no point mass": lambda all: all.assign(jobs=9),
    "one category": lambda all: all.assign(legal="ltd"),
    "response outside its bounds": lambda all: all.assign(pay=all.pay * 1e6 - 1e7, size=all["size"] * 1e4),
    "a group absent": lambda all: all.assign(sector="a"),
    "one record in a group": lambda all: all.assign(sector=np.where(all.index == 0, "b", "a")),
    "one record": lambda all: all[:1],
    "two records": lambda all: all[:2],
}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("epsilon", ["1/10", "30"])
@pytest.mark.parametrize(
    "name", ["four numbers", "scales", "groups", "category last", "point mass", "predictors", "keep", "keep, groups"]
)
def test_every_plan_gives_files_within_the_schema(name: str, epsilon: str, file: str) -> None:
    drawn(plan(name, epsilon), FILES[file](firms(150)))


def test_a_constant_response_stays_near_its_value() -> None:
    (found, *_) = drawn(plan("two numbers", "40"), firms(400).assign(pay=77.0))
    assert found.pay.between(76.5, 77.5).mean() > 0.99


def test_collinear_predictors_are_used_once() -> None:
    frame = firms(2000)
    frame = frame.assign(jobs=frame["size"].round().astype(int).clip(0, 500), pay=(2 * frame["size"]).round(1))
    (found, *_) = drawn(plan("four numbers", "40", rows=2000), frame)
    assert np.corrcoef(found["size"], found.pay)[0, 1] > 0.97
    assert np.corrcoef(found["size"], found.jobs)[0, 1] > 0.97


def test_values_outside_count_as_the_nearest_bound() -> None:
    """The schema's own rule: a value is clamped, never dropped and never published."""
    frame = firms(800)
    outside = frame.assign(pay=np.where(frame.index % 2, 1e9, frame.pay))
    clamped = outside.assign(pay=outside.pay.clip(-100, 3000))
    given = plan("two numbers", "5")
    assert given.rehearse(outside, SCHEMA, seed=3).to_bytes() == given.rehearse(clamped, SCHEMA, seed=3).to_bytes()


def test_an_absent_group_may_appear_by_noise_only() -> None:
    frame = firms(900).assign(sector=lambda all: np.where(all.sector == "c", "a", all.sector))
    (found, *_) = drawn(plan("groups", "8"), frame)
    assert (found.sector == "c").mean() < 0.02


def test_one_quantile_is_never_all() -> None:
    """With little budget the numbers are poor, but a variable is not published as a constant."""
    for name in ("category first", "keep", "groups"):
        for found in drawn(plan(name, "1/2"), firms(300)):
            assert found["size"].nunique() > 20


def test_noise_that_says_nobody_is_there_still_gives_a_file() -> None:
    given = plan("one number", "1/10")
    rows = [len(one) for seed in range(12) for one in drawn(given, firms(3), seed)]
    assert min(rows) == 1


@pytest.mark.parametrize("name", PLANS)
def test_an_empty_file_is_refused_before_anything_is_spent(name: str, tmp_path: Path) -> None:
    check_nothing_spent(plan(name), firms(5)[:0], tmp_path, "no rows")


# ---------------------------------------------------------------- settings


def ledger(folder: Path, neighbours: Any) -> Ledger:
    return Ledger.open(folder / "firms.ledger", cap=Loss("5"), neighbours=neighbours)


def check_nothing_spent(given: QuantileSynthesis, frame: pd.DataFrame, folder: Path, message: str) -> None:
    book = ledger(folder, given.neighbours)
    with pytest.raises(TacitaError, match=message):
        book.release(given, Confidential.from_frame(frame, SCHEMA), label="firms")
    assert book.spent(given.neighbours, "firms") == Loss.zero()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"columns": []}, "columns: name the columns"),
        ({"columns": "size"}, r'columns: give a list of names, such as \["size"\]'),
        ({"columns": ["size", "size"]}, "columns: a name is listed twice"),
        ({"epsilon": 1.0}, "epsilon: give it as a string"),
        ({"epsilon": "0"}, "epsilon: must be above 0"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"predictors": {"size": ["pay"]}}, r"predictors\.size: pay does not come before size"),
        ({"predictors": {"pay": ["pay"]}}, r"predictors\.pay: pay does not come before pay"),
        ({"predictors": {"pay": ["nobody"]}}, r"predictors\.pay: nobody does not come before pay"),
        ({"predictors": {"pay": "size"}}, "predictors: give a list of names"),
        ({"predictors": {"age": ["size"]}}, "predictors: age is not in columns"),
        ({"groups": ["size"]}, "columns: size is also named in groups"),
        ({"keep": ["age"], "neighbours": ADDED}, "keep: .*use neighbours = ReplaceOne"),
        ({"keep": ["age"], "neighbours": FIRM, "groups": ["sector"]}, "groups: .*add them to keep"),
        ({"keep": ["age"], "neighbours": FIRM, "rows": 9}, "rows: with keep"),
        ({"neighbours": StrongAlpha("0.1")}, r"neighbours: must be AddRemoveOne\(unit\) or ReplaceOne"),
        ({"rows": 0}, "rows: must be a whole number"),
        ({"rows": 1.5}, "rows: must be a whole number"),
        ({"rows": 10**10}, "rows: must be a whole number from 1 to 1,000,000,000"),
        ({"sets": 0}, "sets: must be a whole number"),
        ({"sets": True}, "sets: must be a whole number"),
        ({"scales": {"pay": "sqrt"}}, r"scales\.pay: must be one of identity, log, arcsinh"),
        ({"scales": "log"}, "scales: give one entry for each column"),
        ({"tails": {"pay": "heavy"}}, r"tails\.pay: must be one of fitted, exponential, pareto"),
        ({"shares": {"pay": "0"}}, r"shares\.pay: must be above 0"),
        ({"shares": {"pay": 0.5}}, r"shares\.pay: give it as a string"),
        ({"shares": {"age": "1"}}, "shares: age is not in columns"),
        ({"spikes": {"pay": 0}}, r"spikes\.pay: give a list of values"),
        ({"spikes": {"pay": []}}, r"spikes\.pay: give a list of values"),
        ({"spikes": {"pay": ["x"]}}, r"spikes\.pay: must be numbers"),
        ({"spikes": {"pay": [0, 0.0]}}, r"spikes\.pay: must be numbers, each of them once"),
        ({"spikes": {"pay": [float("nan")]}}, r"spikes\.pay: must be numbers"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused_at_once(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        QuantileSynthesis(**({"columns": ["size", "pay"], "epsilon": "1"} | settings))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"columns": ["size", "nobody"]}, "nobody: no such variable"),
        ({"columns": ["firm", "size"]}, "columns: firm is an id; ids are never synthesized"),
        ({"columns": ["size"], "groups": ["age"]}, "age: is not categorical"),
        ({"columns": ["size"], "groups": ["nobody"]}, "nobody: no such variable"),
        ({"columns": ["size"], "keep": ["legal"], "neighbours": FIRM}, "keep: legal has role confidential"),
        ({"columns": ["legal", "size"], "scales": {"legal": "log"}}, "scales: legal is categorical"),
        ({"columns": ["legal"], "spikes": {"legal": [0]}}, "spikes: legal is categorical"),
        ({"columns": ["jobs"], "spikes": {"jobs": [501]}}, r"spikes\.jobs: a point mass lies outside the bounds"),
        ({"columns": ["jobs"], "spikes": {"jobs": [0.5]}}, r"spikes\.jobs: 0\.5 is not a value that the schema allows"),
        (
            {"columns": ["size"], "epsilon": "1/1000000", "neighbours": ADDED},
            "rows: with this epsilon the number of records",
        ),
    ],
)
def test_what_the_schema_cannot_carry_is_refused_with_nothing_spent(
    settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    given = QuantileSynthesis(**({"epsilon": "1"} | settings))
    with pytest.raises(TacitaError, match=message):
        given.forecast(SCHEMA)
    check_nothing_spent(given, firms(20), tmp_path, message)


def test_a_missing_value_without_a_rule_is_refused_with_nothing_spent(tmp_path: Path) -> None:
    frame = firms(20)
    frame.loc[4, "pay"] = np.nan
    check_nothing_spent(plan("two numbers"), frame, tmp_path, r"pay: a value is missing")
    assert drawn(plan("one number"), frame), "a column that the plan does not read does not matter"


def test_an_undeclared_category_is_refused_and_not_shown(tmp_path: Path) -> None:
    frame = firms(20)
    frame.loc[4, "legal"] = "SECRET"
    given = plan("category first")
    with pytest.raises(SchemaError, match="legal") as error:
        ledger(tmp_path, given.neighbours).release(given, Confidential.from_frame(frame, SCHEMA), label="firms")
    assert "SECRET" not in str(error.value)


def test_too_many_cells_are_refused_before_a_table_is_built() -> None:
    levels = [str(one) for one in range(1000)]
    kinds: dict[str, Any] = {
        name: {"role": "confidential", "type": "categorical", "levels": levels} for name in ("home", "work")
    }
    wide = Schema.from_dict({"dataset": {"identity": "wide", "unit": "person"}, "variables": kinds})
    given = QuantileSynthesis(["home", "work"], "1", rows=9)
    with pytest.raises(UsageError, match=r"work: .* 1,000,000 cells, more than 200,000; give predictors\.work"):
        given.reads(wide)
    QuantileSynthesis(["home", "work"], "1", rows=9, predictors={"work": []}).reads(wide)


def test_equal_bounds_leave_nothing_to_synthesize() -> None:
    flat = Schema.from_dict(
        {
            "dataset": {"identity": "flat", "unit": "person"},
            "variables": {"pay": {"role": "confidential", "type": "integer", "lower": 3, "upper": 3}},
        }
    )
    with pytest.raises(UsageError, match="pay: lower and upper are equal"):
        QuantileSynthesis(["pay"], "1").reads(flat)


def test_a_release_is_paid_for_once(tmp_path: Path) -> None:
    given, data = plan("two numbers", "1"), Confidential.from_frame(firms(100), SCHEMA)
    book = ledger(tmp_path, ADDED)
    first = book.release(given, data, label="firms")
    assert not first.rehearsal
    assert book.spent(ADDED, "firms") == Loss("1")
    again = book.release(given, data, label="the same again")
    assert book.spent(ADDED, "firms") == Loss("1")
    assert again.to_bytes() == first.to_bytes()
    assert again.implicates.tables[0].equals(first.implicates.tables[0])


@pytest.mark.parametrize(
    ("m", "rows", "message"),
    [(0, None, "m: give"), (True, None, "m: give"), (2, 0, "rows: must"), (1, -3, "rows: must")],
)
def test_sampling_nothing_is_refused(m: Any, rows: Any, message: str) -> None:
    model = plan("one number").rehearse(firms(50), SCHEMA, seed=1)
    with pytest.raises(UsageError, match=message):
        model.sample(m, rows=rows)


def test_kept_rows_cannot_be_multiplied() -> None:
    model = plan("keep").rehearse(firms(50), SCHEMA, seed=1)
    with pytest.raises(UsageError, match="leave rows out"):
        model.sample(rows=200)


def test_a_column_of_a_linked_table_is_refused_before_anything_is_read() -> None:
    schema = Schema.from_dict(
        {
            "dataset": {"identity": "linked", "unit": "establishment"},
            "variables": {
                "place_id": {"role": "id", "entity": "workplace"},
                "size": {"role": "confidential", "type": "integer", "lower": 0, "upper": 9, "table": "workplace"},
            },
        }
    )
    with pytest.raises(UsageError, match="size: stands in the workplace table"):
        QuantileSynthesis(["size"], "1").reads(schema)
