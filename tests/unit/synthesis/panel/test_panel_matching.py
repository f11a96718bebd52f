"""Plain panels have the sums of the file they stand for, where a sum may be told; models that keep relations."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.panels import YEARS, plan, wide, wide_schema
from tacita.data.confidential import Confidential
from tacita.errors import UsageError
from tacita.synthesis.panel import LogRegression
from tacita.synthesis.panel.matching import YearSums, years_matched
from tacita.synthesis.panel.numbers import Scale
from tacita.synthesis.panel.predictors import Column, Predictors
from tacita.synthesis.panel.reading import all_groups

JOBS = [f"jobs{year}" for year in YEARS]


def _files(frame: pd.DataFrame, **settings: Any) -> list[pd.DataFrame]:
    return [table.to_pandas() for table in plan(**settings).rehearse(frame, wide_schema(), seed=1).released]


def _flows(frame: pd.DataFrame) -> np.ndarray:
    steps = np.diff(frame[JOBS].fillna(0).to_numpy(), axis=1)
    return np.array([np.maximum(steps, 0).sum(axis=0), np.maximum(-steps, 0).sum(axis=0)])


def test_as_many_begin_and_end_in_each_year_as_in_the_file() -> None:
    frame = wide(600)
    for made in _files(frame, sets=2):
        for column in ("born", "gone"):
            pd.testing.assert_series_equal(made[column].value_counts(), frame[column].value_counts(), check_dtype=False)


def test_totals_and_job_flows_are_those_of_the_file() -> None:
    frame = wide(2000)
    for made in _files(frame, sets=2):
        assert made[JOBS].sum().to_numpy() == pytest.approx(frame[JOBS].sum().to_numpy(), rel=0.02)
        assert _flows(made) == pytest.approx(_flows(frame), rel=0.03)


def test_totals_are_kept_where_those_that_enter_may_not_be_told_by_themselves() -> None:
    """They are few and large, and told together with those that stay."""
    frame = wide(1500)
    enters = frame.index[(frame.born == 2003) & frame.jobs2003.notna()]
    frame = frame.drop(index=enters[12:])
    for column in JOBS[YEARS.index(2003) :]:
        frame.loc[enters[:12], column] = frame.loc[enters[:12], column].clip(40, 80)
    for made in _files(frame, sets=2):
        assert made[JOBS].sum().to_numpy() == pytest.approx(frame[JOBS].sum().to_numpy(), rel=0.01)


def test_a_year_moves_to_another_that_its_unit_may_have() -> None:
    random = np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], 20)
    low = random.permutation(np.repeat([0, 1, 2], [25, 17, 18]))
    drawn = np.maximum(low, random.integers(0, 3, 60))
    matched = years_matched(drawn, truth, low, random)
    assert (matched >= low).all()
    assert np.bincount(matched).tolist() == [20, 20, 20]
    few = np.array([2, 1])
    assert years_matched(few, np.array([0, 0]), np.zeros(2, dtype=np.int64), random) is few  # too few to be told


def test_no_sum_is_kept_that_one_unit_outweighs() -> None:
    def sums(frame: pd.DataFrame) -> YearSums:
        layout = plan().layout(wide_schema())
        ((_, panel),) = all_groups(Confidential.from_frame(frame, wide_schema()), layout)
        return YearSums.of(panel)

    frame = wide(600)
    assert ("jobs", 3, "staying") in sums(frame).parts
    there = frame.index[frame.jobs2003.notna() & (frame.gone > 2003) & (frame.born < 2003)]
    frame.loc[there, "jobs2003"] = 0
    frame.loc[there[0], "jobs2003"] = 5000
    assert ("jobs", 3, "staying") not in sums(frame).parts
    frame.loc[there[:3], "jobs2003"] = [5000, 4500, 4000]  # none of the three outweighs the others, and they are few
    assert ("jobs", 3, "staying") not in sums(frame).parts
    assert not sums(wide(15)).parts


def test_a_regression_of_logs_keeps_a_production_function() -> None:
    random = np.random.default_rng(1)
    logs = random.normal(5, 1.5, (2, 4000))
    output = np.round(np.exp(1 + 0.3 * logs[0] + 0.6 * logs[1] + 0.3 * random.standard_t(3, 4000)))
    given = Predictors(4000, {"labour": Column(np.expm1(logs[0])), "capital": Column(np.expm1(logs[1]))})
    fitted = LogRegression(("labour", "capital")).fit(output, given, Scale(0.0, 1e9, 1.0), random)
    design = np.column_stack([np.ones(4000), *logs])

    def slopes(values: np.ndarray) -> np.ndarray:
        return np.linalg.lstsq(design, np.log1p(values), rcond=None)[0][1:]

    made = fitted.draw(given, random)
    assert slopes(made) == pytest.approx(slopes(output), abs=0.02)
    assert np.quantile(np.log1p(made), [0.01, 0.5, 0.99]) == pytest.approx(
        np.quantile(np.log1p(output), [0.01, 0.5, 0.99]), rel=0.03
    )
    with pytest.raises(UsageError, match="near"):
        LogRegression(near=1)
