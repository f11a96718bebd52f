"""Sums and flows of firms from a specification to a bundle that verifies."""

import json
from pathlib import Path

import pandas as pd
import pytest

from support.magnitudes import firms
from support.specifications import head, key, levels, number, schema, table
from tacita.errors import TacitaError, VerificationError
from tacita.release.plans import prepare
from tacita.release.run import rehearse, run
from tacita.release.spec import Spec
from tacita.release.verify import verify

SCHEMA = schema(
    "firms",
    "firm",
    firm=key("firm"),
    place=levels("A", "B", "C", role="public", outside="C", labels={"A": "Upper Town"}),
    sector=levels("1", "2", role="public"),
    pay=number(0, 1000000, scale=2),
    jobs=number(0, 5000, kind="integer"),
    before=number(0, 5000, kind="integer"),
)
SPEC = (
    head("firms", title="Firms", neighbours="numbers-within", unit="firm", alpha="0.1", epsilon="12")
    + table("pay", statistic="sum", of="pay", by=["place", "sector"], totals=["place"], epsilon="4")
    + table("pay-and-jobs", statistic="sum", of=["pay", "jobs"], by=["place"], epsilon="4")
    + table("flows", statistic="flows", of=["before", "jobs"], by=["sector"], where={"place": ["A", "C"]}, epsilon="4")
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    firms(400).to_parquet(tmp_path / "firms.parquet", index=False)
    (tmp_path / "firms.schema.toml").write_text(SCHEMA)
    (tmp_path / "firms.toml").write_text(SPEC)
    return tmp_path


def changed(folder: Path, old: str, new: str) -> Spec:
    assert old in SPEC
    (folder / "firms.toml").write_text(SPEC.replace(old, new))
    return Spec.load(folder / "firms.toml")


def test_the_bundle_holds_them_and_verifies(folder: Path) -> None:
    run(Spec.load(folder / "firms.toml"), folder / "bundle")
    assert any("follow from" in line for line in verify(folder / "bundle"))
    page = (folder / "bundle" / "report.html").read_text(encoding="utf-8")
    assert "such as “the numbers of this" in page  # no guess about a person: it is numbers that are hidden
    assert "times as large”" in page
    frame = firms(400)
    pay = pd.read_csv(folder / "bundle" / "tables" / "pay.csv")
    assert pay[pay.level == "total"].value.sum() == pytest.approx(frame.pay.sum(), rel=0.03)
    assert set(pay.guarantee) == {"ε = 4 under one firm's numbers changed by up to α = 0.1"}
    both = pd.read_csv(folder / "bundle" / "tables" / "pay-and-jobs.csv")
    assert both.measure.tolist() == ["pay"] * 3 + ["jobs"] * 3
    assert both[both.measure == "jobs"].value.sum() == pytest.approx(frame.jobs.sum(), rel=0.05)
    flows = pd.read_csv(folder / "bundle" / "tables" / "flows.csv").set_index(["measure", "sector"]).value
    assert (flows["creation"] - flows["destruction"] - flows["net"]).abs().max() <= 0
    plan = json.loads((folder / "bundle" / "plan.json").read_text())
    assert [one["settings"]["mechanism"] for one in plan["tables"]] == ["SmoothSums", "SmoothSums", "SmoothFlows"]
    resources = json.loads((folder / "bundle" / "datapackage.json").read_text())["resources"]
    keys = {one["path"]: one["schema"]["primaryKey"] for one in resources if one["path"].startswith("tables/")}
    assert keys["tables/flows.csv"] == ["sector", "measure"]
    page = (folder / "bundle" / "report.html").read_text()
    assert "Upper Town" in page
    assert "largest firm is" in page
    assert "power of the largest coordinate" in page


def test_a_value_that_was_altered_is_found(folder: Path) -> None:
    run(Spec.load(folder / "firms.toml"), folder / "bundle")
    path = folder / "bundle" / "tables" / "flows.csv"
    path.write_text(path.read_text().replace("creation", "creatiom", 1))
    with pytest.raises(VerificationError):
        verify(folder / "bundle")


def test_a_rehearsal_needs_no_ledger(folder: Path) -> None:
    rehearse(Spec.load(folder / "firms.toml"), folder / "bundle", seed=1)
    assert not (folder / "firms.ledger").exists()
    assert (folder / "bundle" / "tables" / "flows.csv").is_file()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('statistic = "flows"', 'statistic = "mean"', "statistic of table .flows.: .* sums, growth and flows"),
        ('statistic = "flows"\n', "", "statistic of table .flows.: .* sums, growth and flows"),
        ('of = ["before", "jobs"]', 'of = ["jobs"]', "of: name two columns"),
        ('of = "pay"', 'of = "place"', "place is no number"),
        ('statistic = "flows"', 'statistic = "flows"\nmechanism = "SmoothSums"', "statistic"),
        ('statistic = "flows"', 'statistic = "flows"\nworker = ["sector"]', "worker of table .flows."),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(folder: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(TacitaError, match=words):
        prepare(changed(folder, old, new))


def test_nothing_is_charged_twice(folder: Path) -> None:
    spec = Spec.load(folder / "firms.toml")
    for name in ("one", "two"):
        run(spec, folder / name)
    tables = [(folder / name / "tables" / "pay.csv").read_bytes() for name in ("one", "two")]
    assert tables[0] == tables[1]
