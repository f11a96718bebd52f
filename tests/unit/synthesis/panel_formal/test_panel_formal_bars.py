"""One simulated industry of 130,000 establishments over 26 years at ε = 4: how near the files come."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from numpy.typing import NDArray

from tacita.evaluation import compare, k_marginal
from tacita.synthesis.panel import PanelSynthesis
from tacita.synthesis.panel.rules import broken_rules
from tacita_studies.kinney2007.facts import YEARS
from tacita_studies.kinney2007.simulation import ONE, schema

PLAN = PanelSynthesis(
    {"employment": "emp{year}", "payroll": "pay{year}"},
    "4",
    unit="establishment",
    keep=["county", "sic4", "sic3"],
    years=(YEARS[0], YEARS[-1]),
    first="firstyear",
    last="lastyear",
    static=["multiunit"],
    change={"changeyear": ("multiunit", ("2", "3", "4"))},
    coarser={"state": ("county", 2)},
    group="sic3",
)
Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def truth() -> pa.Table:
    return ONE.simulate(seed=1)


@pytest.fixture(scope="module", params=[2, 3, 4])
def files(truth: pa.Table, request: pytest.FixtureRequest) -> tuple[pa.Table, pa.Table]:
    """The industry, and a file for each of several draws of the noise."""
    return truth, PLAN.rehearse(truth, schema(), seed=request.param).implicates.tables[0]


def _jobs(table: pa.Table) -> Floats:
    return np.array([pc.fill_null(table[f"emp{year}"], 0).to_numpy() for year in YEARS], dtype=np.float64)


def _off(one: Floats, two: Floats) -> Floats:
    return np.abs(two / one - 1)


@pytest.mark.slow
def test_no_record_is_impossible(files: tuple[pa.Table, pa.Table]) -> None:
    assert not any(broken_rules(files[1], PLAN.layout(schema())).values())


@pytest.mark.slow
def test_employment_and_job_creation_of_each_year(files: tuple[pa.Table, pa.Table]) -> None:
    jobs = [_jobs(one) for one in files]
    assert (_off(*(one.sum(axis=1) for one in jobs)) < 0.05).sum() >= 24
    created = [np.maximum(np.diff(one, axis=0), 0).sum(axis=1) for one in jobs]
    # There are 25 transitions between 26 years.
    assert (_off(*created) < 0.15).sum() >= 24


@pytest.mark.slow
def test_entry_and_exit_rates(files: tuple[pa.Table, pa.Table]) -> None:
    first, last = ([one[name].to_numpy() for one in files] for name in ("firstyear", "lastyear"))
    there = [
        np.array([((begin <= year) & (end >= year)).sum() for year in YEARS])
        for begin, end in zip(first, last, strict=True)
    ]
    entry = [
        np.array([(begin == year).sum() for year in YEARS[1:]]) / units[1:]
        for begin, units in zip(first, there, strict=True)
    ]
    leave = [
        np.array([(end == year).sum() for year in YEARS[:-1]]) / units[:-1]
        for end, units in zip(last, there, strict=True)
    ]
    assert _off(*entry).max() < 0.05
    assert _off(*leave).max() < 0.05


@pytest.mark.slow
def test_pairs_of_years(files: tuple[pa.Table, pa.Table]) -> None:
    scores, stricter = [], []
    for before, after in zip(YEARS[:-1:4], YEARS[1::4], strict=True):
        names = [f"emp{before}", f"emp{after}"]
        pair = [one.select(names) for one in files]
        scores.append(k_marginal(2)(compare(*pair)).value)
        # Without the establishments that are there in neither year, which are easy to get right.
        seen = [one.filter(pc.or_(pc.is_valid(one[names[0]]), pc.is_valid(one[names[1]]))) for one in pair]
        stricter.append(k_marginal(2)(compare(*seen)).value)
    assert np.mean(scores) >= 970
    assert np.mean(stricter) >= 930
