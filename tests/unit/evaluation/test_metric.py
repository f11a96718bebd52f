"""What every metric has in common: a finite score in its range, one encoding, errors that name no value."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tacita.evaluation.risk
import tacita.inference
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.evaluation import (
    Metric,
    Outcome,
    Panel,
    Regression,
    Score,
    Tabulation,
    WidePanel,
    averaged,
    cell_coverage,
    cell_rmse_ratio,
    chi_square_agreement,
    compare,
    general_metrics,
    holdout_nrmse,
    regression_metrics,
    risk,
    trend_metrics,
)
from tacita.evaluation.encoding import MISSING

ANY = pd.DataFrame({"x": [1.0, 2.0, 3.0]})


def metric(**changed: Any) -> Metric:
    given: dict[str, Any] = {
        "name": "rows",
        "better": "higher",
        "range": (0.0, 10.0),
        "reference": None,
        "meaning": "synthetic rows",
        "score": averaged(lambda pair: Outcome(pair.synthetic.rows, {"of": pair.original.rows})),
    }
    return Metric(**given | changed)


def test_the_mean_over_files_has_a_standard_error_and_keeps_each_files_details() -> None:
    score = metric()(compare(ANY, [ANY.iloc[:1], ANY.iloc[:2], ANY]))
    assert score.value == 2.0
    assert score.by_implicate == (1.0, 2.0, 3.0)
    assert score.standard_error == pytest.approx(1 / math.sqrt(3))
    assert [one["of"] for one in score.details["files"]] == [3, 3, 3]
    assert metric()(compare(ANY, ANY)).standard_error is None


def test_the_holdout_takes_the_place_of_the_original() -> None:
    comparison = compare(ANY, ANY, holdout=pd.concat([ANY, ANY]))
    score = metric().on_holdout(comparison)
    assert score.against == "holdout"
    assert score.details["files"][0]["of"] == 6
    with pytest.raises(UsageError, match="holdout"):
        metric().on_holdout(compare(ANY, ANY))


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.1, 10.1])
def test_a_value_that_is_not_a_number_in_the_range_is_refused(value: float) -> None:
    with pytest.raises(UsageError, match="rows"):
        Score(metric(), value)


@pytest.mark.parametrize("details", [{"a": math.nan}, {"a": ({"b": np.array([0.0, math.nan])},)}])
def test_nan_is_refused_however_deep_in_the_details(details: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"details\.a"):
        Score(metric(), 1.0, details)


def test_rounding_at_the_ends_of_the_range_is_cut_off() -> None:
    assert Score(metric(), -1e-12).value == 0.0
    assert Score(metric(), 10 + 1e-12).value == 10.0


@pytest.mark.parametrize(
    "changed", [{"better": "more"}, {"range": (1.0, 1.0)}, {"better": "closer"}, {"meaning": ""}, {"meaning": "a\nb"}]
)
def test_a_metric_must_say_what_it_is(changed: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        metric(**changed)


def odd_files() -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    frame = pd.DataFrame({"a": ["x", "y"] * 20, "b": np.arange(40.0), "c": np.arange(40) % 3})
    return {
        "equal": (frame, frame),
        "one row each": (frame.iloc[:1], frame.iloc[:1]),
        "one constant column": (frame.assign(b=1.0), frame.assign(b=1.0)),
        "constant in one file": (frame, frame.assign(b=1.0, a="x")),
        "all constant": (frame.assign(a="x", b=1.0, c=0), frame.assign(a="x", b=1.0, c=0)),
        "all missing numbers": (frame.assign(b=np.nan), frame.assign(b=np.nan)),
        "missing in one file": (frame, frame.assign(b=np.nan, a=None)),
        "everything missing": (frame.assign(a=None, b=np.nan, c=None), frame.assign(a=None, b=np.nan, c=None)),
        "nothing shared": (frame, frame.assign(a="z", b=frame.b + 1e6, c=9)),
        "huge values": (frame.assign(b=frame.b * 1e300), frame.assign(b=frame.b * 1e300)),
        "one column": (frame[["b"]], frame[["b"]]),
        "unequal sizes": (frame, frame.iloc[:7]),
    }


@pytest.mark.parametrize("case", odd_files())
def test_every_general_metric_has_a_defined_value_for_odd_files(case: str) -> None:
    original, synthetic = odd_files()[case]
    comparison = compare(original, [synthetic, synthetic], holdout=original)
    for one in general_metrics():
        for score in (one(comparison), one.on_holdout(comparison)):
            assert math.isfinite(score.value), one.name
            assert score.standard_error == 0.0


def test_general_metrics_tell_equal_from_disjoint_files() -> None:
    equal, disjoint = odd_files()["equal"], odd_files()["nothing shared"]
    for one in general_metrics():
        near, far = one(compare(*equal)), one(compare(*disjoint))
        if one.better == "higher":
            assert near.value == 1000.0
            assert far.value == 0.0
        else:
            assert near.value < far.value, one.name


def test_names_are_distinct() -> None:
    names = [one.name for one in general_metrics()]
    assert len(set(names)) == len(names)


def test_every_exported_name_is_there_and_nothing_else_is() -> None:
    for package in (tacita.evaluation, tacita.inference, tacita.evaluation.risk):
        assert len(set(package.__all__)) == len(package.__all__)
        assert all(getattr(package, name) is not None for name in package.__all__)
        with pytest.raises(AttributeError):
            package.no_such_name  # noqa: B018
    assert set(dir(tacita.evaluation)) == set(tacita.evaluation.__all__)


def test_notes_of_single_files_are_said_once() -> None:
    once = averaged(lambda pair: Outcome(1.0, note="Read with care."))
    assert metric(score=once)(compare(ANY, [ANY, ANY])).note == "Read with care."


def some(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "area": rng.choice(list("abc"), rows),
            "ill": rng.choice(["no", "yes"], rows),
            "pay": rng.normal(size=rows),
            "jobs": rng.integers(0, 5, rows).astype(float),
        }
    )


MANY, OTHER = some(60, 1), some(60, 2)

NOTHING: dict[str, Any] = {"area": None, "ill": None, "pay": np.nan, "jobs": np.nan}

SAME: dict[str, Any] = {"area": "a", "ill": "no", "pay": 1.0, "jobs": 2.0}

AWKWARD = {
    "one row each": (some(1, 3), some(1, 4)),
    "one synthetic row": (MANY, some(1, 5)),
    "constant in the original": (MANY.assign(**SAME), OTHER),
    "constant in the synthetic file": (MANY, OTHER.assign(**SAME)),
    "constant in both": (MANY.assign(**SAME), OTHER.assign(**SAME)),
    "missing in the original": (MANY.assign(**NOTHING), OTHER),
    "missing in the synthetic file": (MANY, OTHER.assign(**NOTHING)),
    "missing in both": (MANY.assign(**NOTHING), OTHER.assign(**NOTHING)),
    "nothing in common": (MANY, OTHER.assign(area="z", ill="?", pay=1e6, jobs=99.0)),
    "numbers near the end of the scale": (MANY.assign(pay=MANY["pay"] * 1e300), OTHER),
}


def every_specific_metric() -> Iterator[Metric]:
    yield chi_square_agreement()
    for model in (
        Regression("jobs", ("area", "pay")),
        Regression("ill", ("area", "pay"), family="logistic"),
        Regression("ill", ("area", "jobs"), family="logistic", firth=True),
    ):
        yield from regression_metrics(model)
        yield holdout_nrmse(model)
    for table in (Tabulation(("area", "ill"), "share"), Tabulation(("area",), "mean", "pay")):
        yield cell_rmse_ratio(table)
        yield cell_coverage(table)
    yield from trend_metrics(WidePanel.of({1: "jobs", 2: "pay"}))
    yield from trend_metrics(Panel("area", "jobs", "jobs"))
    yield risk.uniques(["area", "ill"])
    yield risk.replicated_uniques(["area", "pay"])
    yield risk.attribute_disclosure(["area"], "pay")
    yield risk.attribute_disclosure(["pay"], "area")
    yield risk.nearest_record()
    for rule in (risk.PPercent(), risk.Dominance()):
        yield risk.sensitive_cells(["area"], "jobs", rule)
        yield risk.given_away_cells(["area"], "jobs", rule)


@pytest.mark.parametrize("case", AWKWARD)
def test_a_defined_value_or_a_sentence(case: str) -> None:
    original, synthetic = AWKWARD[case]
    comparison = compare(original, [synthetic, synthetic], holdout=some(40, 6))
    said: list[str] = []
    answered = 0
    for metric in every_specific_metric():
        try:
            value = metric(comparison).value
        except UsageError as error:
            said.append(f"{metric.name}: {error}")
        else:
            assert math.isfinite(value)
            answered += 1
    # The net under all measures caught nothing: each has thought of the case itself.
    assert not [one for one in said if "no defined value" in one or "fault of the metric" in one]
    assert answered >= 5  # uniques and such have an answer whatever the files are


SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "people-2026", "unit": "person"},
        "variables": {
            "id": {"role": "id", "entity": "person"},
            "sex": {
                "role": "public",
                "type": "categorical",
                "levels": ["F", "M", "U"],
                "missing": "U",
                "missing_codes": ["9"],
            },
            "region": {"role": "public", "type": "categorical", "levels": ["1", "2"]},
            "pay": {"role": "confidential", "type": "integer", "lower": 0, "upper": 100},
            "age": {
                "role": "public",
                "type": "integer",
                "lower": 0,
                "upper": 120,
                "missing": 0,
                "missing_codes": [999],
            },
        },
    }
)

ORIGINAL = pd.DataFrame(
    {"id": [1, 2, 3], "sex": ["F", None, "9"], "region": [1.0, 2.0, np.nan], "pay": [5, 500, 7], "age": [30, 999, 40]}
)

SYNTHETIC = pd.DataFrame({"sex": ["M", "X"], "region": [2, 2], "pay": [np.nan, 1.0], "age": [1, 2]})


def test_the_schema_gives_kinds_levels_and_missing_rules() -> None:
    comparison = compare(ORIGINAL, SYNTHETIC, schema=SCHEMA)
    original, synthetic = comparison.original, comparison.synthetic[0]
    assert original.names == ("sex", "region", "pay", "age")  # the identifier is left out, from either file
    assert original.column("sex").levels == ("F", "M", "U", "X")  # an undeclared level is kept as one
    assert original.codes["sex"].tolist() == [0, 2, 2]
    assert synthetic.codes["sex"].tolist() == [1, 3]
    assert original.missing("sex").tolist() == [False, True, True]
    assert original.column("region").levels == ("1", "2", MISSING)
    assert original.codes["region"].tolist() == [0, 1, 2]
    assert original.codes["region"].dtype == np.int32
    assert original.numbers["pay"].tolist() == [5, 500, 7]  # not clamped: what clamping lost must show
    assert synthetic.missing("pay").tolist() == [True, False]
    assert original.numbers["age"].tolist() == [30, 0, 40]


def test_without_a_schema_text_is_categorical_and_the_caller_names_the_codes() -> None:
    frame = pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "c": [True, False], "d": [10, 9]})
    found = compare(frame, frame, categorical=["d"]).original
    assert found.categorical == ("a", "c", "d")
    assert found.column("d").levels == ("9", "10")  # in the order of the numbers
    assert found.numeric == ("b",)


def test_an_arrow_table_and_a_frame_are_encoded_alike() -> None:
    frame = pd.DataFrame({"a": ["x", None, "y"], "b": [1.0, np.nan, 2.0]})
    table = pa.table({"a": pa.chunked_array([["x"], [None, "y"]]), "b": pa.array([1, None, 2], pa.int32())})
    coded = frame.assign(a=frame.a.astype("category"))
    for other in (table, coded, pa.Table.from_pandas(coded)):
        one = compare(frame, other)
        assert one.synthetic[0].codes["a"].tolist() == one.original.codes["a"].tolist()
        np.testing.assert_array_equal(one.synthetic[0].numbers["b"], one.original.numbers["b"])


def test_anything_with_frames_is_a_set_of_synthetic_files() -> None:
    class Files:
        frames = (ORIGINAL, ORIGINAL)

    assert len(compare(ORIGINAL, Files()).synthetic) == 2


def test_missing_is_not_a_level_where_nothing_is_missing() -> None:
    frame = pd.DataFrame({"a": ["x", "y"]})
    assert compare(frame, frame).original.column("a").levels == ("x", "y")


def test_numbers_become_tenths_of_the_original_with_missing_apart() -> None:
    original = pd.DataFrame({"x": np.arange(100.0)})
    synthetic = pd.DataFrame({"x": [-5.0, 9.0, 10.0, 1e9, np.nan]})
    cells = compare(original, synthetic).pairs[0].cells
    assert np.bincount(cells.codes[0, :100]).tolist() == [10] * 10
    assert cells.codes[0, 100:].tolist() == [0, 0, 1, 9, 10]


def test_each_result_is_computed_once_per_pair() -> None:
    pair = compare(ORIGINAL, ORIGINAL).pairs[0]
    calls: list[int] = []
    assert [pair.once("key", lambda: calls.append(1) or len(calls)) for _ in range(3)] == [1, 1, 1]


SECRET = "4711secret"


@pytest.mark.parametrize(
    ("original", "synthetic", "options", "said"),
    [
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}), {}, "synthetic file 1: lacks the column a"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1], "b": [1]}), {}, "has the column b"),
        (pd.DataFrame({"a": []}), pd.DataFrame({"a": [1]}), {}, "original: has no rows"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": []}), {}, "synthetic file 1: has no rows"),
        (pd.DataFrame({"a": [1]}), [], {}, "no file given"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), {"holdout": pd.DataFrame({"b": [1]})}, "holdout: lacks"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), pd.DataFrame({"a": [1]}), {}, "same name"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), {"categorical": ["z"]}, "categorical: z"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), {"columns": []}, "none to compare"),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [np.inf]}), {}, "a: holds infinite values"),
        (pd.DataFrame({"zz": [1]}), pd.DataFrame({"zz": [1]}), {"schema": SCHEMA}, "zz: not declared"),
        (pd.DataFrame({"pay": [1]}), pd.DataFrame({"pay": [SECRET]}), {"schema": SCHEMA}, "pay: is declared a number"),
    ],
)
def test_errors_name_the_file_or_column_and_never_a_value(
    original: pd.DataFrame, synthetic: pd.DataFrame, options: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        compare(original, synthetic, **options)  # type: ignore[arg-type]
    assert SECRET not in str(caught.value)


def test_columns_restricts_the_comparison() -> None:
    wide = ORIGINAL.assign(extra=1)
    assert compare(wide, SYNTHETIC, columns=["sex", "age"]).original.names == ("sex", "age")
