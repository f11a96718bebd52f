"""Levels of establishments' tables, from specification to bundle: sums of the cells that were measured, which agree."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support.command_line import Call
from support.specifications import head, key, levels, number, schema, section, table
from tacita.errors import TacitaError
from tacita.release.plans import prepare
from tacita.release.spec import Spec

PLACES = ["A11", "A12", "A21", "B11"]
TREE = section("hierarchy.geography", column="place", levels=["county", "nation"], prefix={"county": 2})
NUMBERS = {
    "pay": number(0, 1000000, scale=2),
    "jobs": number(0, 5000, kind="integer"),
    "before": number(0, 5000, kind="integer"),
}
PLACED = {"place": levels(*PLACES, role="public"), "sector": levels("1", "2", role="public")}
FIRMS = schema("firms", "firm", firm=key("firm"), **PLACED, **NUMBERS) + TREE
ALL = ["county", "nation"]
WITHIN = head("firms", title="Firms", neighbours="numbers-within", unit="firm", alpha="0.1", epsilon="12")
SUMS = (
    WITHIN
    + table("pay", statistic="sum", of="pay", by=["place", "sector"], levels=ALL, epsilon="4")
    + table("both", statistic="sum", of=["pay", "jobs"], by=["place"], levels=["nation"], epsilon="4")
    + table("flows", statistic="flows", of=["before", "jobs"], by=["place"], levels=ALL, epsilon="4")
)
JOBS = (
    head("jobs", title="Jobs", neighbours="strong", alpha="0.1", epsilon="4")
    + table("jobs", by=["place"], worker=["sex"], levels=ALL, mechanism="SmoothVector", epsilon="2")
    + table("all", by=["place"], levels=ALL, epsilon="2", nonnegative=False)
)
JOBS_SCHEMA = (
    schema(
        "jobs", "establishment", workplace_id=key("workplace"), place=levels(*PLACES, role="workplace"),
        sex=levels("F", "M", role="worker"),
    )
    + TREE
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(3)
    count, jobs = 200, np.round(np.exp(random.normal(3, 1, 200)))
    frame = pd.DataFrame(
        {
            "firm": np.arange(count), "place": random.choice(PLACES, count, p=[0.5, 0.3, 0.19, 0.01]),
            "sector": random.choice(["1", "2"], count), "pay": np.round(jobs * 900.5, 2), "jobs": jobs,
            "before": np.maximum(0, jobs + np.round(random.normal(0, 6, count))),
        }
    )  # fmt: skip
    frame.to_parquet(tmp_path / "firms.parquet", index=False)
    workers = frame.loc[frame.index.repeat(jobs.astype(int)), ["firm", "place"]].rename(
        columns={"firm": "workplace_id"}
    )
    workers.assign(sex=random.choice(["F", "M"], len(workers))).to_parquet(tmp_path / "jobs.parquet", index=False)
    for name, text in (
        ("firms.schema.toml", FIRMS),
        ("firms.toml", SUMS),
        ("jobs.schema.toml", JOBS_SCHEMA),
        ("jobs.toml", JOBS),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def released(folder: Path, name: str, tacita: Call) -> dict[str, pd.DataFrame]:
    for words in (
        ("plan", folder / f"{name}.toml"),
        ("run", folder / f"{name}.toml", "--out", folder / name),
        ("verify", folder / name),
    ):
        said = tacita(*words)
        assert said.code == 0, said.err
    return {path.stem: pd.read_csv(path, dtype={"sector": str}) for path in (folder / name / "tables").glob("*.csv")}


def test_levels_of_sums_and_flows_are_the_sums_of_their_cells(folder: Path, tacita: Call) -> None:
    tables = released(folder, "firms", tacita)
    pay, both, flows = tables["pay"], tables["both"], tables["flows"]
    sizes = pay.groupby("level").size().to_dict()
    assert sizes["nation × sector"] == 2
    assert sizes["place × sector"] > sizes["county × sector"] > 2
    per_level = pay.groupby(["level", "sector"]).value.sum().unstack().round(2)
    assert (per_level.nunique() == 1).all()
    counties = pay[pay.level == "place × sector"].assign(place=lambda rows: rows.place.str[:2])
    summed = counties.groupby(["place", "sector"]).value.sum().round(2)
    assert (
        pay[pay.level == "county × sector"].set_index(["place", "sector"]).value.round(2).to_dict() == summed.to_dict()
    )
    assert (pay.value >= 0).all()
    frame = pd.read_parquet(folder / "firms.parquet")
    truth = frame.pay.sum()
    top = pay[pay.level == "nation × sector"]
    assert abs(top.value.sum() - truth) < 2 * top.margin_of_error.sum() < truth
    assert (both.groupby(["level", "measure"]).value.sum().unstack().round(2).nunique() == 1).all()
    assert set(both.measure) == {"pay", "jobs"}
    net = flows.pivot(index=["level", "place"], columns="measure", values="value")
    assert (net.creation - net.destruction == net.net).all()
    assert (net.drop(columns="net") >= 0).all(axis=None)
    assert (net.groupby("level").sum().nunique() == 1).all()
    page = (folder / "firms" / "report.html").read_text(encoding="utf-8")
    assert "county × sector" in page


def test_levels_of_jobs_cross_with_attributes_of_workers(folder: Path, tacita: Call) -> None:
    tables = released(folder, "jobs", tacita)
    jobs, every = tables["jobs"], tables["all"]
    assert set(jobs.level) == {"nation × sex", "county × sex", "place × sex"}
    assert (jobs.groupby(["level", "sex"]).value.sum().unstack().nunique() == 1).all()
    assert (jobs.value >= 0).all()
    assert every.groupby("level").value.sum().nunique() == 1
    margins = every.groupby("level").margin_of_error.max()
    assert margins["nation"] > margins["place"]
    # The only cell of its county says the same there.
    alone = every[every.place.isin(["B1", "B11"])]
    assert alone.value.nunique() == alone.margin_of_error.nunique() == 1


def test_the_office_reads_how_far_every_level_is_off(folder: Path, tacita: Call) -> None:
    released(folder, "firms", tacita)
    said = tacita("evaluate", folder / "firms.toml", "--bundle", folder / "firms", "--out", folder / "inside")
    assert said.code == 0, said.err
    said_on = "".join(one.read_text(encoding="utf-8") for one in (folder / "inside").rglob("*.html"))
    assert "county × sector" in said_on


def test_units_of_no_number_leave_sums_unsaid(folder: Path, tacita: Call) -> None:
    """Growth is no sum; a level that nobody declared is none; totals and levels are the same thing twice."""
    for old, new, words in (
        (
            'levels = ["county", "nation"]\nepsilon',
            'levels = ["world"]\nepsilon',
            "table .pay.: levels: world is no level",
        ),
        (
            'levels = ["nation"]',
            'levels = ["nation"]\ntotals = ["place"]',
            "table .both.: totals: levels has the coarser cells",
        ),
        ('statistic = "flows"', 'statistic = "growth"', "table .flows.: levels: are for counts and sums"),
        ('levels = ["nation"]', 'levels = ["nation"]\nrank = true', "table .both.: rank: levels has .* no ranks"),
        ('levels = ["nation"]', 'levels = ["nation"]\nagree = true', "table .both.: levels: sums of cells cannot"),
    ):
        assert old in SUMS
        (folder / "firms.toml").write_text(SUMS.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(TacitaError, match=words):
            prepare(Spec.load(folder / "firms.toml"))
    assert not (folder / "firms.ledger").exists()
