"""The kinney2007 study: its figures are right, disclosure and coverage count what they say, the folder has its form."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita.errors import UsageError
from tacita.evaluation import compare, k_marginal
from tacita.inference import PartialSynthesis, combine_estimates
from tacita_studies import kinney2007
from tacita_studies.harness.bars import Bar
from tacita_studies.harness.real import RealFile
from tacita_studies.harness.replicates import silent
from tacita_studies.harness.results import Row, Rows
from tacita_studies.harness.study import Settings
from tacita_studies.kinney2007 import coverage, real
from tacita_studies.kinney2007.facts import YEARS
from tacita_studies.kinney2007.figures import (
    ALL,
    CELL_SIZES,
    CUTS,
    Figures,
    Units,
    correlation,
    pair_shares,
    variation,
    yearly,
)
from tacita_studies.kinney2007.measure import DRAWS, MadeFiles, MeasuredIndustry, measure
from tacita_studies.kinney2007.methods import EPSILONS, FILES, METHODS, PLAIN, BusinessMethod, formal
from tacita_studies.kinney2007.rows import (
    BARS,
    BY_NAME,
    COVERED,
    DISCLOSURE,
    DISTANCES,
    K_MARGINAL,
    LEAST_PANELS,
    OTHER_DRAWS,
    TABLE,
    TABLE_2,
    coverage_rows,
    draws_that_hold,
    largest,
    simulated_rows,
    within,
)
from tacita_studies.kinney2007.simulation import Industry

DATA = Path(os.environ.get("TACITA_DATA", Path(__file__).parents[3] / "shared" / "data"))
SMALL = Industry("581", "44", 1_000)


@pytest.fixture(scope="module")
def panel() -> pa.Table:
    return SMALL.simulate(seed=3)


# ---------------------------------------------------------------- figures


def test_figures_of_a_hand_made_panel() -> None:
    """Three establishments: one there throughout, one that closes after 1977, one that opens in 1978."""
    columns: dict[str, Any] = {
        "firstyear": np.array([1975, 1976, 1978]),
        "lastyear": np.array([2001, 1977, 2001]),
        "multiunit": ["1", "5", "1"],
    }
    for year in YEARS:
        jobs = [10 + (year >= 1977) * 2, 4 if year <= 1977 else None, 6 if year >= 1978 else None]
        columns[f"emp{year}"] = pa.array(jobs, pa.int32())
        columns[f"pay{year}"] = pa.array([None if one is None else 20 * one for one in jobs], pa.int32())
    found = Figures.of(pa.table(columns))
    assert found.statuses.tolist() == pytest.approx([2 / 3, 0, 0, 0, 1 / 3])
    assert found.first[[0, 1, 3]].tolist() == pytest.approx([1 / 3] * 3)
    assert found.last[[1, 25]].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert found.life[[26, 1, 23]].tolist() == pytest.approx([1 / 3] * 3)
    assert found.employment[:4].tolist() == [14, 16, 18, 18]
    assert found.payroll[:3].tolist() == [280, 320, 360]
    assert found.creation[:3].tolist() == pytest.approx([2 / 15, 6 / 17, 0])
    assert found.destruction[:3].tolist() == pytest.approx([0, 4 / 17, 0])
    assert found.entry[:3].tolist() == pytest.approx([0, 1 / 2, 0])
    assert found.exit[:3].tolist() == pytest.approx([0, 1 / 2, 0])


def test_the_k_marginal_is_the_one_of_the_evaluation(panel: pa.Table) -> None:
    """Classes as categories, establishments that are there in one of two years."""
    other = SMALL.simulate(seed=4)
    jobs = [yearly(one, "emp")[10:12] for one in (panel, other)]

    def classes(pair: Any) -> pd.DataFrame:
        there = pair[:, ~np.isnan(pair).all(axis=0)]
        codes = np.where(np.isnan(there), -1, np.searchsorted(CUTS, np.nan_to_num(there), side="right"))
        return pd.DataFrame({"now": codes[0].astype(str), "after": codes[1].astype(str)})

    expected = k_marginal(k=2)(compare(classes(jobs[0]), classes(jobs[1]))).value
    shares = [pair_shares(one[:1], one[1:]) for one in jobs]
    assert 1000 * (1 - variation(shares[1], shares[0])) == pytest.approx(expected)
    assert expected < 990
    assert Figures.of(panel).k_marginal(Figures.of(panel)) == 1000


def test_a_correlation_of_constants_is_none() -> None:
    known = np.array([1.0, 2.0, 4.0, np.nan])
    assert correlation(known, 3 * known) == pytest.approx(1.0)
    assert correlation(known, np.ones(4)) == 0.0


# ---------------------------------------------------------------- disclosure


def test_disclosure_counts_modes_with_ties_by_chance() -> None:
    units = pa.table(
        {
            "county": ["a", "a", "b"],
            "sic4": ["1", "1", "1"],
            "establishment": [2, 1, 3],
            "firstyear": [1980, 1990, 1985],
        }
    )
    found = Units.of(units)  # in the order of ids within a cell: 1990, 1980 | 1985
    files = [pa.table({"firstyear": years}) for years in ([1990, 1980, 1985], [1990, 1981, 1986], [1980, 1980, 1985])]
    assert found.linked(files).tolist() == [1, 1, 1]
    assert found.linked(files[:2]).tolist() == [1, 0.5, 0.5]
    assert found.in_the_cell(files).tolist() == [0, 1, 1]  # 1980 three times, 1990 twice
    assert found.in_the_cell(files[:1]).tolist() == [0.5, 0.5, 1]
    by_size = found.by_size(found.in_the_cell(files))
    assert by_size == {ALL: (pytest.approx(2 / 3), 3), CELL_SIZES[0]: (1.0, 1), CELL_SIZES[1]: (0.5, 2)}


@pytest.mark.parametrize("method", [PLAIN, formal("4")], ids=lambda one: one.file)
def test_units_stand_in_the_order_of_the_files(panel: pa.Table, method: BusinessMethod) -> None:
    ordered = panel.sort_by([(name, "ascending") for name in ("county", "sic4", "establishment")])
    for table in method.make(panel, SMALL, 1, sets=2).tables:
        for name in ("county", "sic4"):
            assert table[name].to_pylist() == ordered[name].to_pylist()


def test_copies_of_the_file_would_give_everything_away(panel: pa.Table) -> None:
    units = Units.of(panel)
    copy = panel.sort_by([(name, "ascending") for name in ("county", "sic4", "establishment")])
    assert units.linked([copy] * 5).mean() == 1
    assert units.by_size(units.in_the_cell([copy]))[CELL_SIZES[0]][0] == 1
    assert units.without_files().mean() < 0.4


# ---------------------------------------------------------------- intervals


def test_the_regression_is_that_of_statsmodels(panel: pa.Table) -> None:
    sm = pytest.importorskip("statsmodels.api")
    frame = panel.to_pandas()
    parts = []
    for year in YEARS:
        here = frame[frame[f"emp{year}"] > 0]
        parts.append(
            pd.DataFrame(
                {
                    "log": np.log(here[f"emp{year}"].astype(float)),
                    "one": 1.0,
                    "age": year - here["firstyear"].astype(float),
                    "larger": (here["multiunit"] != "1").astype(float),
                    "unit": here.index,
                }
            )
        )
    rows = pd.concat(parts)
    fitted = sm.OLS(rows["log"], rows[["one", "age", "larger"]]).fit(
        cov_type="cluster", cov_kwds={"groups": rows["unit"], "use_correction": False}
    )
    found, units = coverage.regression(panel), rows["unit"].nunique()
    assert found.value == pytest.approx(fitted.params.to_numpy())
    assert found.variance == pytest.approx(fitted.cov_params().to_numpy() * units / (units - 1))


def test_files_are_combined_by_the_rule_of_partial_synthesis(panel: pa.Table) -> None:
    files = PLAIN.make(panel, SMALL, 5, sets=3)
    assert files.kind == "partial"
    expected = combine_estimates([coverage.regression(one) for one in files.tables], PartialSynthesis())
    found = coverage.combined(files)
    assert found.value == pytest.approx(expected.value)
    assert found.variance == pytest.approx(expected.variance)


def test_confidential_intervals_cover_the_law() -> None:
    found = coverage.coverage((), 60, 1_000, 130_000, Settings(60, 11))
    assert set(found) == {coverage.CONFIDENTIAL}
    for one in found[coverage.CONFIDENTIAL]:
        assert one.share >= 0.85, one
        assert one.length == 1
        assert abs(one.bias) < 0.6, one
    rows = list(coverage_rows(found, (), 60, 1_000))
    assert {row.method for row in rows} == {coverage.CONFIDENTIAL}


# ---------------------------------------------------------------- the folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("study") / "kinney"
    kinney2007.run(
        out,
        establishments=1_000,
        replicates=1,
        panel_size=400,
        large=10_000,
        epsilons=("4", "8"),
        draws=2,
        keep_data=True,
        seed=4,
    )
    return out


@pytest.mark.usefixtures("rows_of_the_agreed_form")
def test_results_have_the_agreed_form(document: dict[str, Any]) -> None:
    assert document["study"] == "kinney2007"
    tables = {row["table"] for row in document["rows"]}
    assert tables == {
        TABLE, "Lives", "By year", "Sizes", "Correlations", DISTANCES, DISCLOSURE, "Checks", "Coverage", OTHER_DRAWS,
    }  # fmt: skip
    assert {row["method"] for row in document["rows"] if row["table"] == DISTANCES} == {
        PLAIN.name,
        *(formal(one).name for one in ("4", "8")),
    }


def test_table_2_stands_beside_ours(document: dict[str, Any]) -> None:
    rows = [row for row in document["rows"] if row["table"] == TABLE and row["paper"] is not None]
    for label, printed in TABLE_2.items():
        here = {row["method"]: row for row in rows if row["label"] == label}
        assert {name: row["paper"] for name, row in here.items()} == {
            "truth": printed.observed,
            PLAIN.name: printed.synthetic,
        }
        assert here[PLAIN.name]["ours"] == pytest.approx(here["truth"]["ours"], abs=0.03)
    for method in ("truth", PLAIN.name):
        assert sum(row["ours"] for row in rows if row["method"] == method) == pytest.approx(1)


def test_every_method_says_what_it_promises(document: dict[str, Any]) -> None:
    for row in document["rows"]:
        if row["table"] == DISTANCES:
            start = "none" if row["epsilon"] is None else f"ε = {row['epsilon']} under one establishment's record"
            assert row["guarantee"].startswith(start)


def test_kept_files_give_the_rows(folder: Path, document: dict[str, Any]) -> None:
    truth = Figures.of(pq.read_table(folder / "panel.parquet"))
    for method in (PLAIN, formal("4"), formal("8")):
        paths = [folder / f"synthetic-{method.file}-{number:02d}.parquet" for number in range(1, FILES + 1)]
        tables = [pq.read_table(path) for path in paths]
        assert not {"establishment"} & set(tables[0].column_names)
        mean = Figures.mean([Figures.of(table) for table in tables])
        (row,) = [
            row
            for row in document["rows"]
            if (row["table"], row["method"], row["metric"]) == (DISTANCES, method.name, largest("employment"))
        ]
        assert row["ours"] == pytest.approx(np.abs(mean.employment / truth.employment - 1).max())


def test_the_page_stands_alone(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 6
    wanted = ("Table 2 beside ours", "Distance against ε", "Do intervals cover?", "Impossible records")
    assert [words for words in wanted if words not in page] == []
    unwanted = ("http://", "https://", "<script", "None", ">nan<")
    assert [words for words in unwanted if words in page] == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"replicates": 0}, "replicates: the study needs"),
        ({"establishments": 10}, "establishments: the study needs"),
        ({"epsilons": ()}, "epsilons: name at least one"),
        ({"data": Path("nowhere")}, "data: there is no such folder"),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        kinney2007.run(tmp_path / "a", **wrong)
    assert not any(tmp_path.iterdir())


# ---------------------------------------------------------------- the bars


def test_a_bar_knows_its_limits() -> None:
    bar = Bar("plain", COVERED, 0.9, 0.98, {"coefficient": "age"}, replicates=LEAST_PANELS)
    assert bar.limit == "at least 0.9 and at most 0.98"
    assert not bar.met(0.99)
    assert Bar("plain", largest("employment"), most=0.02).met(0.02)
    assert len(BARS) == 16
    assert bar.row([]) is None
    row = Row("Coverage", "plain", COVERED, 0.95, replicates=LEAST_PANELS, where={"coefficient": "age"})
    assert bar.verdict(row) is True
    assert bar.verdict(replace(row, ours=0.8)) is False
    assert bar.verdict(replace(row, replicates=LEAST_PANELS - 1)) is None


def test_distances_are_those_of_the_worst_year() -> None:
    truth = Figures.of(SMALL.simulate(seed=5))
    off = truth.employment.copy()
    off[[3, 7, 9]] *= [1.04, 0.9, 1.06]
    made = replace(truth, employment=off)
    measured = MeasuredIndustry(1_000, truth, {}, (MadeFiles(PLAIN, (made, truth), {}, {}, 0, 1, 1.0),))
    rows = {row.metric: row for row in simulated_rows(measured) if row.table == DISTANCES}
    assert rows[largest("employment")].ours == pytest.approx(0.05)  # the mean of a file and the truth
    assert rows[largest("employment")].where["worst"] == pytest.approx(0.10)
    assert rows[within("employment")].where["worst"] == 24
    assert rows[K_MARGINAL].ours == 1000
    assert BY_NAME["first year"].distances(made, truth).max() == 0


def test_draws_hold_only_where_all_limits_do() -> None:
    truth = Figures.of(SMALL.simulate(seed=5))
    off = replace(truth, entry=1.06 * truth.entry)
    made = MadeFiles(formal("4"), (truth,), {}, {}, 0, 1, 1.0)
    rows = list(simulated_rows(MeasuredIndustry(1_000, truth, {}, (made,), ((truth,), (off,)))))
    assert draws_that_hold(Rows(rows)) == (3, 2)
    assert draws_that_hold(Rows(row for row in rows if row.table != OTHER_DRAWS)) == (1, 1)
    assert draws_that_hold(Rows([])) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("method", [PLAIN, formal("4")], ids=lambda one: one.file)
def test_bars_of_the_simulated_industry(method: BusinessMethod) -> None:
    """The formal version in the middle one of five draws of the noise: one draw may be lucky."""
    rows = list(simulated_rows(measure(130_000, (method,), Settings(1, 2007))))
    for bar in BARS:
        found = [row.ours or 0.0 for row in rows if (row.method, row.metric) == (bar.method, bar.metric)]
        if bar.method == method.name and bar.metric != COVERED:
            assert len(found) in (1, 1 + DRAWS), bar
            assert bar.met(float(np.median(found))), (bar, found)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1_000, coverage.SIZE])
def test_intervals_cover_over_100_panels(size: int) -> None:
    """Also where a first year has fewer units than a share can be told from."""
    found = coverage.coverage((PLAIN,), 100, size, coverage.LARGE, Settings(100, 2007, workers=2))
    rows = list(coverage_rows(found, (PLAIN,), 100, size))
    for bar in BARS:
        row = bar.row(rows)
        if bar.metric == COVERED:
            assert row is not None
            assert bar.met(row.ours or 0.0), (bar, row.ours)


@pytest.mark.slow
def test_more_epsilon_is_nearer() -> None:
    rows = list(simulated_rows(measure(40_000, METHODS[1:], Settings(1, 2007))))
    scores = {row.method: row.ours or 0.0 for row in rows if (row.table, row.metric) == (DISTANCES, K_MARGINAL)}
    assert sorted(scores, key=lambda name: scores[name]) == [formal(one).name for one in EPSILONS]


# ---------------------------------------------------------------- real files


@pytest.mark.realdata
@pytest.mark.parametrize("file", real.FILES, ids=lambda one: one.path.split("/")[1].split(".")[0])
def test_real_files_are_described_in_full(file: RealFile[real.UnitFile]) -> None:
    if not (DATA / file.path).exists():
        pytest.skip(f"{file.path} is not in the data folder; set TACITA_DATA")
    frame, about = file.read(DATA), file.about
    for name, levels in about.keep.items():
        assert set(frame[name]) <= set(levels), name
    jobs, pay = about.arrays(frame)
    assert np.nanmax(jobs) <= about.most[0]
    assert np.nanmax(pay) <= about.most[1]
    assert (np.isnan(jobs) == np.isnan(pay)).all()
    assert int((~np.isnan(jobs)).sum()) == len(frame)


@pytest.mark.realdata
def test_plain_files_of_spanish_firms_are_as_near_as_a_fresh_sample() -> None:
    (spain,) = [one for one in real.FILES if "Snmesp" in one.path]
    if not (DATA / spain.path).exists():
        pytest.skip(f"{spain.path} is not in the data folder; set TACITA_DATA")
    rows = list(real.real_rows(DATA, (PLAIN,), 1, silent, [spain]))
    found = {(row.method, row.metric): row.ours or 0.0 for row in rows}
    assert found[PLAIN.name, real.PAIRS] > found[real.RESAMPLED, real.PAIRS] - 20
    assert found[PLAIN.name, real.EMPLOYMENT] < 0.05
    assert found[PLAIN.name, real.PERSISTENCE] < 0.01
    assert {row.guarantee[:4] for row in rows if row.method == PLAIN.name} == {"none"}
