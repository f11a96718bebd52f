"""A bundle of an ordinary file, with categories, numbers and missing values: no mechanism is named, so that
`FileSynthesis` draws it."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from support.mixed_people import COLUMNS, people, schema_text
from support.specifications import head, microdata, table
from tacita.data.schema import Schema
from tacita.errors import VerificationError
from tacita.implicates import Implicates
from tacita.release.microdata import check_made_again
from tacita.release.plans import prepare
from tacita.release.run import run
from tacita.release.spec import Spec
from tacita.release.verify import compare_with_ledger, verify
from tacita.synthesis.file.model import FileModel

SPEC = (
    head("people", title="People, synthetic", neighbours="add-remove", unit="person", epsilon="5", delta="1e-6")
    + table("groups", title="People by group and sex", by=["group", "sex"], epsilon="0.5")
    + table("workers", by=["group"], where={"works": ["yes"]}, epsilon="0.5")
    + microdata("people", columns=["sex", "group", "works", "kids", "age", "hours", "worth"], epsilon="4", delta="1e-9")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    people(800).to_parquet(folder / "people.parquet")
    (folder / "people.schema.toml").write_text(schema_text())
    (folder / "people.toml").write_text(SPEC)
    return folder


def test_a_file_without_a_mechanism_is_released_and_verified(folder: Path) -> None:
    planned = prepare(Spec.load(folder / "people.toml"))
    assert type(planned.microdata[0].plan).__name__ == "FileSynthesis"
    bundle = run(Spec.load(folder / "people.toml"), folder / "bundle").bundle
    verify(bundle)
    compare_with_ledger(bundle, folder / "people.ledger")
    (made,) = (bundle / "microdata").glob("*.parquet")
    file = pd.read_parquet(made)
    assert set(COLUMNS) <= set(file.columns)
    assert 0.2 < file["hours"].isna().mean() < 0.6
    assert not file["age"].isna().any()


def test_a_trial_makes_two_files_of_many(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(self: FileModel, m: int, *how: Any) -> Implicates:
        made.append(m)
        return files(self, m, *how)

    files = FileModel.files
    monkeypatch.setattr(FileModel, "files", counted)
    asked = SPEC.replace('delta = "1e-9"', 'delta = "1e-9"\nsets = 4\ncheck = {}').replace(
        "people.ledger", "four.ledger"
    )
    (folder / "four.toml").write_text(asked)
    bundle = run(Spec.load(folder / "four.toml"), folder / "four").bundle
    assert made == [2, 4]
    assert len(list((bundle / "microdata").glob("*.parquet"))) == 4


def test_files_of_a_release_agree_with_its_tables_and_the_page_says_where(folder: Path) -> None:
    bundle = run(Spec.load(folder / "people.toml"), folder / "agreeing").bundle
    plan = json.loads((bundle / "plan.json").read_text())
    assert plan["microdata"][0]["agrees"] == ["groups"], "the other table counts workers alone"
    page = (bundle / "report.html").read_text()
    assert "Agreement with tables" in page
    assert "People by group and sex" in page
    table = pd.read_parquet(bundle / "tables" / "groups.parquet").set_index(["group", "sex"])
    file = pd.read_parquet(bundle / "microdata" / "implicate-01.parquet")
    held = file.groupby(["group", "sex"]).size().reindex(table.index, fill_value=0)
    assert ((held - table["value"]).abs() <= 5 * table["margin_of_error"] + 1).all()


def test_files_that_hide_which_tables_they_agree_with_are_not_believed(folder: Path) -> None:
    bundle = folder / "bundle"
    record = json.loads((bundle / "plan.json").read_text())["microdata"][0]
    schema = Schema.load(folder / "people.schema.toml")
    with pytest.raises(VerificationError, match="does not follow from its measurements"):
        check_made_again(bundle, {key: value for key, value in record.items() if key != "agrees"}, schema, {})
