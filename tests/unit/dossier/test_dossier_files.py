"""Reading: bounded, repeatable, and with codes kept as they are written."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support.dossier import schema
from tacita.data.schema import Schema
from tacita.dossier.files import common_columns, original_file, plain_file, synthetic_paths
from tacita.errors import UsageError


def test_a_large_file_is_sampled_in_the_engine_and_the_same_way_each_time(tmp_path: Path) -> None:
    path = tmp_path / "large.parquet"
    pd.DataFrame({"x": np.arange(50_000)}).to_parquet(path, index=False)
    file, table = plain_file(path, "synthetic 1", None, 1000)
    assert (file.rows, file.looked_at, table.num_rows) == (50_000, 1000, 1000)
    chosen = table["x"].to_numpy()
    assert len(np.unique(chosen)) == 1000
    assert chosen.mean() == pytest.approx(25_000, abs=2_500)  # five standard errors of a mean of 1,000
    again = plain_file(path, "synthetic 1", None, 1000)[1]
    assert again.equals(table)


def test_codes_keep_their_leading_zeros_where_a_schema_says_so(tmp_path: Path) -> None:
    declared = Schema.from_dict(
        {
            "dataset": {"identity": "d", "unit": "person"},
            "variables": {
                "place": {"role": "public", "type": "categorical", "levels": ["01", "02"]},
                "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 9},
            },
        }
    )
    (tmp_path / "s.csv").write_text("place,pay\n01,1.5\n02,\n", encoding="utf-8")
    for _, table in (
        plain_file(tmp_path / "s.csv", "synthetic 1", declared),
        original_file(str(tmp_path / "s.csv"), declared),
    ):
        assert table["place"].to_pylist() == ["01", "02"]
        assert table["pay"].to_pylist() == [1.5, None]


def test_identifiers_are_never_compared(paths: dict[str, Path]) -> None:
    table = plain_file(paths["original"], "original", schema())[1]
    kept, left_out = common_columns([table, table.drop_columns(["sex"])], schema())
    assert kept == ["place", "year", "pay"]
    assert left_out == ["sex"]
    with pytest.raises(UsageError, match="no column is in every file"):
        common_columns([table.select(["sex"]), table.select(["pay"])], schema())


def test_a_folder_stands_for_its_implicates(tmp_path: Path) -> None:
    (tmp_path / "bundle" / "microdata").mkdir(parents=True)
    names = ["implicate-01.parquet", "implicate-02.parquet"]
    for name in reversed(names):
        (tmp_path / "bundle" / "microdata" / name).touch()
    for given in (tmp_path / "bundle", tmp_path / "bundle" / "microdata"):
        assert [path.name for path in synthetic_paths([given])] == names
    assert synthetic_paths([tmp_path / "one.csv"]) == [tmp_path / "one.csv"]
