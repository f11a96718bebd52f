"""Codes for missing numbers are missing in a dossier too, where the schema says that missing is a state of its own."""

from pathlib import Path

from support.mixed_people import people, schema
from tacita.dossier.files import original_file


def test_codes_of_missing_numbers_are_not_values(tmp_path: Path) -> None:
    rows = people(200)
    rows.to_parquet(tmp_path / "people.parquet")
    _, table = original_file(str(tmp_path / "people.parquet"), schema())
    hours = table["hours"].to_pandas()
    assert hours.isna().sum() == (rows["hours"] == -9).sum() > 0
    assert hours.min() >= 0
