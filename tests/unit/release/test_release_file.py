"""A bundle of an ordinary file, with categories, numbers and missing values: no mechanism is named, so that
`FileSynthesis` draws it."""

from pathlib import Path

import pandas as pd
import pytest

from support.mixed_people import COLUMNS, people, schema_text
from tacita.release.plans import prepare
from tacita.release.run import run
from tacita.release.spec import Spec
from tacita.release.verify import compare_with_ledger, verify

SPEC = """
title = "People, synthetic"
schema = "people.schema.toml"
data = "people.parquet"
ledger = "people.ledger"
[cap]
neighbours = "add-remove"
unit = "person"
epsilon = "5"
delta = "1e-6"
[[microdata]]
name = "people"
columns = ["sex", "group", "works", "kids", "age", "hours", "worth"]
epsilon = "4"
delta = "1e-9"
"""


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
