"""Is a synthetic panel near the data? The simulated industry against fixed bars, and real panels of firms."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tacita.data.schema import Schema
from tacita.evaluation.trends import long_trends
from tacita.synthesis.panel import PlainPanelSynthesis
from tacita.synthesis.panel.rules import broken_rules
from tacita_studies.kinney2007.facts import YEARS
from tacita_studies.kinney2007.simulation import BEFORE, STATUSES, Industry, plan, schema

DATA = Path(os.environ.get("TACITA_DATA", Path(__file__).parents[5] / "shared" / "data"))


def facts(table: pa.Table) -> dict[str, Any]:
    status = np.asarray(table["multiunit"].to_pylist())
    jobs = np.array([table[f"emp{year}"].to_numpy(zero_copy_only=False) for year in YEARS], dtype=np.float64)
    when, unit = np.nonzero(jobs > 0)
    trends = long_trends(unit, when, jobs[when, unit], len(YEARS))
    pairs = [~np.isnan(jobs[at]) & ~np.isnan(jobs[at + 1]) for at in range(len(YEARS) - 1)]
    return {
        "status": np.array([(status == one).mean() for one in STATUSES]),
        "first": np.array([(table["firstyear"].to_numpy() == year).mean() for year in (BEFORE, *YEARS)]),
        "last": np.array([(table["lastyear"].to_numpy() == year).mean() for year in YEARS]),
        "correlation": np.array([np.corrcoef(jobs[at, who], jobs[at + 1, who])[0, 1] for at, who in enumerate(pairs)]),
        "spread": np.array([np.nanstd(np.log1p(one)) for one in jobs]),
        "employment": trends.employment,
        "creation": trends.rate("job creation"),
        "destruction": trends.rate("job destruction"),
    }


@pytest.mark.parametrize(
    ("establishments", "slack"), [(15_000, 3.0), pytest.param(130_000, 1.0, marks=pytest.mark.slow)]
)
def test_the_average_file_is_within_the_bars(establishments: int, slack: float) -> None:
    industry = Industry("581", "44", establishments)
    panel, about = industry.simulate(seed=1), schema((industry,))
    given = plan(5)
    start = time.process_time()
    files = given.rehearse(panel, about, seed=1).released
    assert time.process_time() - start < 60
    truth = facts(panel)
    found = [facts(table) for table in files]
    mean = {name: np.mean([one[name] for one in found], axis=0) for name in truth}
    for name, bar in (("status", 0.005), ("first", 0.005), ("last", 0.005), ("correlation", 0.02)):
        assert np.abs(mean[name] - truth[name]).max() < slack * bar, name
    for name, bar in (("employment", 0.02), ("creation", 0.1), ("destruction", 0.1), ("spread", 0.01)):
        assert np.abs(mean[name] / truth[name] - 1).max() < slack * bar, name
    for table in files:
        assert not any(broken_rules(table, given.layout(about)).values())


def test_lives_in_a_small_group_are_as_long_as_in_the_data() -> None:
    """A thousand units over 26 years: no first year has enough of them for a share of its own."""
    industry = Industry("581", "44", 1_000)
    panel = industry.simulate(seed=3)
    files = plan(5).rehearse(panel, schema((industry,)), seed=3).released

    def years_seen(table: pa.Table) -> float:
        return sum(table.num_rows - table[f"emp{year}"].null_count for year in YEARS) / table.num_rows

    assert np.mean([years_seen(table) for table in files]) == pytest.approx(years_seen(panel), rel=0.04)


def test_broken_rules_are_found() -> None:
    """The counter of impossible records counts them: one of each kind is put in."""
    industry = Industry("581", "44", 300)
    about = schema((industry,))
    layout = plan(1).layout(about)
    frame = industry.simulate(seed=1).to_pandas()
    assert not any(broken_rules(pa.Table.from_pandas(frame), layout).values())
    gone = frame.index[frame.lastyear < 1990][0]
    there = frame.index[(frame.firstyear == 1975) & (frame.lastyear == 2001)]
    frame.loc[gone, "emp1995"] = 5
    frame.loc[there[0], "pay1980"] = np.nan
    frame.loc[there[1], ["firstyear", "lastyear"]] = [1990, 1980]
    frame.loc[there[2], "emp1999"] = 10**6
    single = frame.index[(frame.multiunit == "1") & (frame.lastyear > 1990)][0]
    frame.loc[single, "changeyear"] = 1990
    found = broken_rules(pa.Table.from_pandas(frame), layout)
    assert found["a value outside the life"] == 2  # also of the one whose years were turned round
    assert found["no value within the life"] == 1
    assert found["last before first"] == 1
    assert found["employment outside its bounds"] == 1
    assert found["changeyear without a change, or none with one"] == 1


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["EmplUK", "Snmesp"])
def test_real_panels_of_firms(name: str) -> None:
    """Long files of a few hundred firms; a life is what the rows show."""
    path = DATA / "firm_panels" / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"needs {name}.csv.gz of the public data (../shared/data or $TACITA_DATA)")
    frame = pd.read_csv(path)
    if name == "Snmesp":
        frame = frame.assign(emp=np.exp(frame.n), wage=np.exp(frame.w), sector=1)
    frame = frame.assign(sector=frame.sector.astype(int).astype(str))
    number = {"role": "confidential", "type": "numeric", "scale": 3, "lower": 0}
    about = Schema.from_dict(
        {
            "dataset": {"identity": name, "unit": "firm"},
            "variables": {
                "firm": {"role": "id", "entity": "firm"},
                "year": {"role": "confidential", "type": "integer", "lower": 1970, "upper": 1999},
                "sector": {"role": "public", "type": "categorical", "levels": sorted(set(frame.sector))},
                "emp": {**number, "upper": 100_000},
                "wage": {**number, "upper": 1000},
            },
        }
    )
    given = PlainPanelSynthesis(
        {"emp": "emp", "wage": "wage"},
        unit="firm",
        keep=["sector"],
        years=(int(frame.year.min()), int(frame.year.max())),
        period="year",
        sets=5,
    )
    made = list(given.rehearse(frame[["firm", "year", "sector", "emp", "wage"]], about, seed=1).implicates)
    logs = np.log(frame.emp)
    for one in made:
        assert one.firm.nunique() == frame.firm.nunique()
        assert not one.duplicated(["firm", "year"]).any()
        assert np.log(one.emp.clip(lower=1e-3)).std() == pytest.approx(logs.std(), rel=0.15)
        assert one.groupby("firm").year.apply(lambda years: years.max() - years.min() + 1 == len(years)).all()
    rows = np.mean([len(one) for one in made])
    assert rows == pytest.approx(len(frame), rel=0.03)
    assert np.mean([one.emp.mean() for one in made]) == pytest.approx(frame.emp.mean(), rel=0.15)

    def persistence(file: pd.DataFrame) -> float:
        lagged = file.assign(year=file.year + 1)[["firm", "year", "emp"]]
        both = file.merge(lagged, on=["firm", "year"], suffixes=("", "_before"))
        return float(np.corrcoef(np.log1p(both.emp), np.log1p(both.emp_before))[0, 1])

    assert np.mean([persistence(one) for one in made]) == pytest.approx(persistence(frame), abs=0.02)
