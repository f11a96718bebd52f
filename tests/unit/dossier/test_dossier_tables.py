"""Published tables of every kind against the rows they were made from."""

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.bundles import PEOPLE, opened, people, published, ruled, spec, table
from support.bundles import released as made_from
from support.command_line import SCHEMA, SPEC, write_jobs
from support.magnitudes import firms
from support.specifications import key, levels, number, schema
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.dossier.exact import JOBS, RECORDS, TRUTH, Question, answered, establishment_counts
from tacita.dossier.request import request_of
from tacita.dossier.run import evaluate
from tacita.dossier.tables import TableCheck, check_tables
from tacita.errors import UsageError
from tacita.release.run import run
from tacita.release.spec import Spec

FRAME = ruled(people())


# ---------------------------------------------------------------- the exact answer


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Confidential:
    folder = tmp_path_factory.mktemp("people")
    people().to_parquet(folder / "file.parquet", index=False)
    (folder / "file.schema.toml").write_text(PEOPLE, encoding="utf-8")
    return opened(folder)


def _weighted_quantile(rows: pd.DataFrame, share: float) -> float:
    ordered = rows.sort_values("pay")
    return float(ordered["pay"].to_numpy()[np.searchsorted(ordered["w"].cumsum(), share * ordered["w"].sum())])


WAGES = FRAME["w"] * FRAME["pay"]
BY_TRACT = FRAME.assign(wages=WAGES, paid=FRAME["w"] * FRAME["hours"]).groupby("tract")
EXACT = {
    "count": (Question("count"), BY_TRACT.size()),
    "weighted count": (Question("count", weights="w"), BY_TRACT["w"].sum()),
    "sum": (Question("sum", ("pay",)), BY_TRACT["pay"].sum()),
    "weighted sum": (Question("sum", ("pay",), weights="w"), BY_TRACT["wages"].sum()),
    "mean": (Question("mean", ("pay",)), BY_TRACT["pay"].mean()),
    "weighted mean": (Question("mean", ("pay",), weights="w"), BY_TRACT["wages"].sum() / BY_TRACT["w"].sum()),
    "variance": (Question("variance", ("pay",)), BY_TRACT["pay"].var()),
    "ratio": (Question("ratio", ("pay", "hours")), BY_TRACT["pay"].sum() / BY_TRACT["hours"].sum()),
    "weighted ratio": (
        Question("ratio", ("pay", "hours"), weights="w"),
        BY_TRACT["wages"].sum() / BY_TRACT["paid"].sum(),
    ),
    "median": (
        Question("median", ("pay",), shares=(Fraction(1, 2),)),
        BY_TRACT["pay"].apply(lambda one: np.quantile(one, 0.5, method="inverted_cdf")),
    ),
    "weighted quantile": (
        Question("quantiles", ("pay",), weights="w", shares=(Fraction(9, 10),)),
        BY_TRACT[["pay", "w"]].apply(_weighted_quantile, 0.9),
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_the_exact_answer_is_that_of_the_rows(file: Confidential, name: str) -> None:
    question, truth = EXACT[name]
    by_tract = Question(question.statistic, question.of, ("tract",), {}, question.weights, question.shares)
    cells = answered(file, by_tract).set_index("tract")
    np.testing.assert_allclose(cells[TRUTH], truth.reindex(cells.index), rtol=1e-9)
    np.testing.assert_array_equal(cells[RECORDS], BY_TRACT.size().reindex(cells.index))


OWN_STATE = PEOPLE.replace("missing = 0", 'missing = "own state"')
KNOWN = people().assign(tract=FRAME["tract"]).dropna(subset=["pay"])
KNOWN_PAY = KNOWN.assign(wages=KNOWN["w"] * KNOWN["pay"]).groupby("tract")
OF_THOSE_KNOWN = {
    "sum": (Question("sum", ("pay",)), KNOWN_PAY["pay"].sum()),
    "mean": (Question("mean", ("pay",)), KNOWN_PAY["pay"].mean()),
    "weighted mean": (Question("mean", ("pay",), weights="w"), KNOWN_PAY["wages"].sum() / KNOWN_PAY["w"].sum()),
    "variance": (Question("variance", ("pay",)), KNOWN_PAY["pay"].var()),
    "ratio": (Question("ratio", ("pay", "hours")), KNOWN_PAY["pay"].sum() / KNOWN_PAY["hours"].sum()),
    "median": (
        Question("median", ("pay",), shares=(Fraction(1, 2),)),
        KNOWN_PAY["pay"].apply(lambda one: np.quantile(one, 0.5, method="inverted_cdf")),
    ),
}


@pytest.mark.parametrize("name", OF_THOSE_KNOWN)
def test_records_whose_number_is_missing_as_a_state_of_its_own_are_not_in_the_truth(tmp_path: Path, name: str) -> None:
    people().to_parquet(tmp_path / "file.parquet", index=False)
    (tmp_path / "file.schema.toml").write_text(OWN_STATE, encoding="utf-8")
    question, truth = OF_THOSE_KNOWN[name]
    by_tract = Question(question.statistic, question.of, ("tract",), {}, question.weights, question.shares)
    cells = answered(opened(tmp_path), by_tract).set_index("tract")
    assert KNOWN_PAY.size().sum() < len(FRAME)
    np.testing.assert_allclose(cells[TRUTH], truth.reindex(cells.index), rtol=1e-9)
    np.testing.assert_array_equal(cells[RECORDS], KNOWN_PAY.size().reindex(cells.index))


def test_shares_are_within_groups_and_where_leaves_records_out(file: Confidential) -> None:
    shares = answered(file, Question("share", ("sex",), ("tract", "sex"), weights="w"))
    assert shares.groupby("tract")[TRUTH].sum().tolist() == pytest.approx([1.0] * 4)
    women = FRAME[(FRAME.sex == "F") & (FRAME.tract == "A11")].w.sum() / FRAME[FRAME.tract == "A11"].w.sum()
    assert shares[TRUTH].iloc[0] == pytest.approx(women)
    (mean,) = answered(file, Question("mean", ("pay",), (), {"sex": ("M",)}))[TRUTH]
    assert mean == pytest.approx(FRAME[FRAME.sex == "M"].pay.mean())


def test_a_cell_without_records_has_a_count_and_no_mean(tmp_path: Path) -> None:
    people().query("tract != 'A21'").to_parquet(tmp_path / "file.parquet", index=False)
    (tmp_path / "file.schema.toml").write_text(PEOPLE, encoding="utf-8")
    data = opened(tmp_path)
    assert answered(data, Question("count", (), ("tract",)))[TRUTH].tolist()[2] == 0
    assert np.isnan(answered(data, Question("mean", ("pay",), ("tract",)))[TRUTH].tolist()[2])
    assert np.isnan(answered(data, Question("median", ("pay",), ("tract",), shares=(Fraction(1, 2),)))[TRUTH][2])


# ---------------------------------------------------------------- tables of any file

TABLES = {
    "count": {"by": ["tract", "sex"], "totals": ["tract"]},
    "weighted": {"by": ["sex"], "weights": "w"},
    "sum": {"statistic": "sum", "of": "pay", "by": ["tract"], "where": {"sex": ["F"]}},
    "mean": {"statistic": "mean", "of": "hours", "by": ["tract", "sex"]},
    "weighted-mean": {"statistic": "mean", "of": "pay", "weights": "w"},
    "variance": {"statistic": "variance", "of": "hours", "by": ["sex"]},
    "share": {"statistic": "share", "of": "sex", "by": ["tract"]},
    "ratio": {"statistic": "ratio", "of": ["pay", "hours"], "by": ["tract"]},
    "median": {"statistic": "median", "of": "hours", "by": ["tract"]},
    "quantiles": {"statistic": "quantiles", "of": "hours", "quantiles": ["0.1", "0.9"], "by": ["sex"]},
    "levels": {"by": ["tract", "sex"], "levels": ["county", "state"]},
    "level-sums": {"statistic": "sum", "of": "hours", "by": ["tract"], "levels": ["state"]},
}


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TableCheck]:
    """Of a bundle with a large ε, in which every table lies near the truth."""
    folder = tmp_path_factory.mktemp("people")
    asked = "".join(table(name, **{"epsilon": "50", **settings}) for name, settings in TABLES.items())
    made, skipped = check_tables(*made_from(folder, PEOPLE, people(), spec(asked)))
    assert not skipped
    return {one.name: one for one in made}


@pytest.mark.parametrize("name", TABLES)
def test_every_statistic_is_held_against_the_rows(checks: dict[str, TableCheck], name: str) -> None:
    check = checks[name]
    assert check.relative < 0.05
    assert check.off == 0
    assert check.withheld == 0
    assert check.coverage is not None
    assert check.margins == check.cells
    assert check.bands
    assert len(check.worst) == min(check.cells, 15)


def test_totals_and_coarser_levels_are_held_too(checks: dict[str, TableCheck]) -> None:
    assert [(one.name, one.cells) for one in checks["count"].parts] == [("total", 4)]
    assert [(one.name, one.cells) for one in checks["levels"].parts] == [("county × sex", 6), ("state × sex", 4)]
    for check in checks.values():
        assert all(one.relative < 0.05 and one.coverage is not None for one in check.parts)


def test_counts_have_comparators_and_other_statistics_none(checks: dict[str, TableCheck]) -> None:
    rounding, small = checks["count"].practice
    assert (rounding.name, rounding.withheld) == ("Random rounding", 0)
    assert rounding.rmse is not None
    assert 1 < rounding.rmse < 2.5
    assert (small.rmse, small.withheld) == (0.0, 0)
    assert [name for name, one in checks.items() if one.practice] == ["count", "levels"]


def test_the_forecast_stands_beside_the_outcome(tmp_path: Path) -> None:
    names = ("count", "sum", "mean", "variance", "level-sums")
    asked = "".join(table(name, **TABLES[name]) for name in names)
    bundle, data = made_from(tmp_path, PEOPLE, people(), spec(asked))
    plan = {one["name"]: one for one in json.loads((bundle / "plan.json").read_text())["tables"]}
    made = {one.name: one for one in check_tables(bundle, data)[0]}
    assert all(one.forecast is not None and one.forecast.is_median for one in made.values())
    foretold = {name: one.forecast.foretold for name, one in made.items() if one.forecast is not None}
    figures = {name: one["forecast"]["figures"] for name, one in plan.items()}
    assert foretold["count"] == figures["count"]["median_error"]
    sizes = FRAME.groupby(["tract", "sex"]).size()
    assert foretold["mean"] == pytest.approx(np.median(1000 * figures["mean"]["median_error_at_1000"] / sizes))
    clamp = plan["sum"]["noise"]["sum"]["upper"]
    assert foretold["sum"] == pytest.approx(figures["sum"]["median_error_in_clamps"] * clamp)
    off = sizes.to_numpy() + 3 * foretold["count"]
    published(bundle, "count", [*off, *FRAME.groupby("tract").size()])
    outcome = next(one.forecast for one in check_tables(bundle, data)[0] if one.name == "count")
    assert outcome is not None
    assert outcome.ratio == pytest.approx(3)


def test_figures_of_a_numerator_or_of_weights_are_no_forecast_of_a_quotient(tmp_path: Path) -> None:
    quotients = {
        "ratio": TABLES["ratio"],
        "weighted-mean": TABLES["weighted-mean"],
        "weighted-share": {"statistic": "share", "of": "sex", "weights": "w"},
    }
    asked = "".join(table(name, **settings) for name, settings in quotients.items())
    made, _ = check_tables(*made_from(tmp_path, PEOPLE, people(), spec(asked)))
    assert [(one.name, one.forecast) for one in made] == [(name, None) for name in quotients]


def test_a_wrong_table_is_seen(tmp_path: Path) -> None:
    bundle, data = made_from(tmp_path, PEOPLE, people(), spec(table("mean", **TABLES["mean"], epsilon="200")))
    truth = FRAME.groupby(["tract", "sex"])["hours"].mean()
    published(bundle, "mean", 3 * truth)
    (check,), _ = check_tables(bundle, data)
    assert check.off == 1
    assert check.coverage == 0
    assert check.relative == pytest.approx(2)
    published(bundle, "mean", [np.nan, *truth[1:]])
    (check,), _ = check_tables(bundle, data)
    assert (check.withheld, check.compared, check.coverage, check.off) == (1, 7, 1, 0)


# ---------------------------------------------------------------- establishments

FIRMS = schema(
    "firms",
    "firm",
    firm=key("workplace"),
    place=levels("A", "B", "C", role="workplace", outside="C"),
    sector=levels("1", "2", role="workplace"),
    pay=number(0, 1000000, scale=2),
    jobs=number(0, 5000, role="size", kind="integer"),
    before=number(0, 5000, kind="integer"),
)


def test_sums_and_flows_of_firms(tmp_path: Path) -> None:
    asked = (
        table("pay", statistic="sum", of="pay", by=["place", "sector"], totals=["place"], epsilon="40")
        + table("both", statistic="sum", of=["pay", "jobs"], by=["place"], epsilon="40")
        + table("flows", statistic="flows", of=["before", "jobs"], by=["sector"], epsilon="40")
    )
    cap = 'neighbours = "numbers-within"\nunit = "establishment"\nalpha = "0.1"'
    made, skipped = check_tables(*made_from(tmp_path, FIRMS, firms(400), spec(asked, cap=cap)))
    assert not skipped
    assert [one.name for one in made] == [
        "pay", "both · pay", "both · jobs", "flows · creation", "flows · destruction", "flows · net",
    ]  # fmt: skip
    frame = firms(400)
    by_name = {one.name: one for one in made}
    assert sum(one[1] for one in by_name["pay"].worst) == pytest.approx(frame.pay.sum())
    assert sum(one[1] for one in by_name["both · jobs"].worst) == frame.jobs.sum()
    gains = (frame.jobs - frame.before).clip(lower=0)
    assert sum(one[1] for one in by_name["flows · creation"].worst) == gains.sum()
    for check in made:
        assert check.relative < 0.2, check.name
        assert (check.forecast is None) == check.name.endswith("net")
    infusion, suppression = by_name["pay"].practice
    assert infusion.rmse is not None
    assert 0 < infusion.rmse < 0.15 * frame.pay.sum()
    assert suppression.rmse is not None
    assert suppression.rmse <= 0.5
    assert by_name["pay"].against_infusion is not None
    assert (by_name["both · jobs"].unit, by_name["both · jobs"].sized_in) == ("jobs", "establishments")
    assert not by_name["flows · net"].practice


def test_sums_of_chosen_firms_are_held_against_those_firms(tmp_path: Path) -> None:
    asked = table("pay", statistic="sum", of="pay", by=["place"], where={"sector": ["1"]}, epsilon="40")
    cap = 'neighbours = "numbers-within"\nunit = "establishment"\nalpha = "0.1"'
    (check,), _ = check_tables(*made_from(tmp_path, FIRMS, firms(400), spec(asked, cap=cap)))
    frame = firms(400)
    assert sum(one[1] for one in check.worst) == pytest.approx(frame.pay[frame.sector == 1].sum())
    assert check.relative < 0.2


def test_sums_by_slow_scaling_are_held_against_the_rows_and_the_practice(tmp_path: Path) -> None:
    asked = '[[table]]\nname = "pay"\nstatistic = "sum"\nof = "pay"\nby = ["place", "sector"]\nrho = "500"\n'
    sizes = 'scaling = "log"\noffset = "10000"\nreference = "100000"\naccount = "rho"\ndelta = "1e-9"'
    cap = f'neighbours = "per-record"\nunit = "establishment"\n{sizes}'
    (check,), skipped = check_tables(*made_from(tmp_path, FIRMS, firms(400), spec(asked, cap=cap)))
    assert not skipped
    assert sum(one[1] for one in check.worst) == pytest.approx(firms(400).pay.sum())
    assert len(check.practice) == 2
    assert check.forecast is None


def test_files_of_establishments_with_their_size_are_evaluated(tmp_path: Path) -> None:
    asked = table("jobs", by=["place", "sector"], epsilon="2")
    cap = 'neighbours = "strong"\nalpha = "0.1"'
    (check,), _ = check_tables(*made_from(tmp_path, FIRMS, firms(400), spec(asked, cap=cap)))
    assert sum(one[1] for one in check.worst) == firms(400).jobs.sum()
    assert (check.unit, check.sized_in) == ("jobs", "jobs")
    assert check.forecast is not None
    assert check.forecast.foretold > 0
    assert [one.name for one in check.practice] == ["Noise infusion", "Cell suppression"]


# ---------------------------------------------------------------- jobs


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A folder with jobs, schema, specification, ledger and bundle."""
    write_jobs(tmp_path / "jobs.parquet")
    (tmp_path / "jobs.schema.toml").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "release.toml").write_text(SPEC, encoding="utf-8")
    run(Spec.load(tmp_path / "release.toml"), tmp_path / "bundle")
    return tmp_path


def _data(folder: Path) -> Confidential:
    return Confidential.open(str(folder / "jobs.parquet"), Schema.load(folder / "jobs.schema.toml"))


def test_establishments_are_counted_by_cell(released: Path) -> None:
    found = establishment_counts(_data(released), ["place"], ["sex"], {})
    jobs = pq.read_table(released / "jobs.parquet").to_pandas()
    assert found[JOBS].sum() == len(jobs)
    truth = jobs.groupby(["place", "sex"]).size().to_dict()
    assert found.groupby(["place", "sex"])[JOBS].sum().to_dict() == truth
    women = establishment_counts(_data(released), ["place"], [], {"sex": ["F"]})
    assert women[JOBS].sum() == (jobs["sex"] == "F").sum()


def test_errors_and_coverage_are_those_of_the_published_values(released: Path) -> None:
    path = released / "bundle" / "tables" / "places.parquet"
    table = pq.read_table(path)
    truth = pq.read_table(released / "jobs.parquet").to_pandas()["place"].value_counts()
    exact = np.array([truth[place] for place in table["place"].to_pylist()])
    shifted = table.set_column(
        table.column_names.index("value"), "value", pa.array(exact + np.array([3, -4]), type=table["value"].type)
    ).set_column(
        table.column_names.index("margin_of_error"),
        "margin_of_error",
        pa.array([3, 3], type=table["margin_of_error"].type),
    )
    pq.write_table(shifted, path)
    (check,), _ = check_tables(released / "bundle", _data(released))
    assert check.rmse == pytest.approx(np.sqrt(12.5))
    assert check.relative == pytest.approx(7 / exact.sum())
    assert check.coverage == 0.5
    assert check.worst[0][1:3] == (exact[1], exact[1] - 4)
    infusion, suppression = check.practice
    assert infusion.rmse is not None
    assert 0 < infusion.rmse < 10
    assert suppression.rmse is not None
    assert suppression.rmse <= 2.5


def test_the_dossier_of_a_bundle_shows_ledger_and_comparators(released: Path, tmp_path: Path) -> None:
    asked = request_of(released / "release.toml", bundle=released / "bundle")
    found = evaluate(asked, tmp_path / "out")
    page = (tmp_path / "out" / "dossier.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert "Ours over noise infusion" in page
    assert "paid: ε = 1 under strong α = 0.1 neighbours" in page
    assert "not paid: it must not be released" in page
    assert [one.state for one in found.touches if one.paid.startswith("paid")] == ["released"]
    assert not re.search(r"\bnan\b", page)
    scores = json.loads((tmp_path / "out" / "dossier.json").read_text())["scores"]
    assert {one["name"] for one in scores} == {
        "error of cells: places",
        "total error: places",
        "coverage of margins: places",
    }


def test_a_bundle_of_another_schema_is_refused(released: Path) -> None:
    other = released / "other.schema.toml"
    other.write_text(SCHEMA.replace('"north", "south"', '"north", "south", "west"'), encoding="utf-8")
    data = Confidential.open(str(released / "jobs.parquet"), Schema.load(other))
    with pytest.raises(UsageError, match="another schema"):
        check_tables(released / "bundle", data)
