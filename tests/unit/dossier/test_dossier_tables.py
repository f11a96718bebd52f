"""Published tables against exact counts that are known by hand."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.command_line import SCHEMA, SPEC, write_jobs
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.dossier.request import request_of
from tacita.dossier.run import evaluate
from tacita.dossier.tables import check_tables, establishment_counts
from tacita.errors import UsageError
from tacita.release.run import run
from tacita.release.spec import Spec


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
    assert found["tacita_n"].sum() == len(jobs)
    truth = jobs.groupby(["place", "sex"]).size().to_dict()
    assert found.groupby(["place", "sex"])["tacita_n"].sum().to_dict() == truth
    women = establishment_counts(_data(released), ["place"], [], {"sex": ["F"]})
    assert women["tacita_n"].sum() == (jobs["sex"] == "F").sum()


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
    (check,) = check_tables(released / "bundle", _data(released))
    assert check.rmse == pytest.approx(np.sqrt(12.5))
    assert check.relative == pytest.approx(7 / exact.sum())
    assert check.coverage == 0.5
    assert check.worst[0][1:3] == (exact[1], exact[1] - 4)
    assert 0 < check.infusion_rmse < 10
    assert check.rounding_rmse <= 2.5


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
