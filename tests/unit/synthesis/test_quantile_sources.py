"""The same release from any file format and engine."""

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

from support.quantile import SCHEMA, firms, plan
from tacita.data.confidential import Confidential
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording, Replaying, compare
from tacita.synthesis import QuantileSynthesis

NAMES = ["groups", "category first", "point mass", "keep", "four numbers"]


def written(frame: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix == ".dta":
        pyreadstat.write_dta(frame, str(path))
    else:
        frame.to_csv(path, index=False)
    return path


def released(given: QuantileSynthesis, data: Confidential) -> Any:
    data.check(given.reads(SCHEMA))
    return given.run(data, SeededEntropy(8))


@pytest.mark.parametrize("form", ["parquet", "dta", "csv", "csv.gz"])
def test_every_file_format_gives_the_same_release(form: str, tmp_path: Path) -> None:
    frame = firms(250)
    data = Confidential.open(written(frame, tmp_path / f"firms.{form}"), SCHEMA)
    for name in NAMES:
        given = plan(name)
        assert released(given, data).to_bytes() == released(given, Confidential.from_frame(frame, SCHEMA)).to_bytes()


@pytest.mark.spark
def test_spark_gives_the_same_release(tmp_path: Path) -> None:
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("needs pyspark (pip install tacita[spark]) and a Java runtime")
    path = written(firms(250), tmp_path / "firms.parquet")
    here, there = (Confidential.open(path, SCHEMA, engine=engine) for engine in ("duckdb", "spark"))
    for name in ("groups", "point mass"):
        recording = Recording(SeededEntropy(11))
        first = plan(name).run(here, recording)
        replaying = Replaying(recording)
        second = plan(name).run(there, replaying)
        for one in compare(recording, replaying):
            assert one.true_d.tolist() == one.true_d2.tolist()
        assert first.to_bytes() == second.to_bytes()
