"""A score is a finite number in its range, whatever the files; a metric says what it is."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacita.evaluation.risk
import tacita.inference
from tacita.errors import UsageError
from tacita.evaluation import Metric, Outcome, Score, averaged, compare, general_metrics

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
