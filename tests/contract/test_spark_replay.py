"""The same release on Spark: equal exact counts before noise, shown by playing back the recorded noise."""

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tacita.audit.statistics import INCOMES, STATISTIC_SETTINGS
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.mechanisms.eree import SmoothStaircase, SmoothVector
from tacita.mechanisms.table import Table
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording, Replaying, compare
from tacita.privacy import AddRemoveOne
from tacita.simulated.frame import simulate
from tacita.tables import publish

pytestmark = pytest.mark.spark


def _plans() -> list[SmoothStaircase | SmoothVector]:
    return [
        SmoothStaircase("0.1", "1", by=["place", "sector"], margin_share="1/10"),
        SmoothVector("0.05", "2", by=["sector", "ownership"], worker=["sex"]),
    ]


@pytest.mark.parametrize("form", ["flat", "linked"])
def test_spark_gives_the_same_release(form: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("needs pyspark (pip install tacita[spark]) and a Java runtime")
    written = simulate(jobs=6_000, establishments=400, seed=3).write(tmp_path, form=form)
    schema = Schema.load(written["jobs.schema.toml"])
    linked = {name: written[f"{name}.parquet"] for name in ("job", "workplace", "worker")} if form == "linked" else None
    source = linked or written["jobs.parquet"]
    here, there = (Confidential.open(source, schema, engine=engine) for engine in ("duckdb", "spark"))
    assert here.fingerprint() == there.fingerprint()
    for plan in _plans():
        recording = Recording(SeededEntropy(11))
        first = plan.run(here, recording)
        replaying = Replaying(recording)
        second = plan.run(there, replaying)
        replaying.finish()
        for difference in compare(recording, replaying):
            np.testing.assert_array_equal(difference.true_d, difference.true_d2)
            np.testing.assert_array_equal(difference.scale_d, difference.scale_d2)
        assert publish(first, schema).equals(publish(second, schema))


TABLES = ("count, where", "sum, bought", "mean, missing", "variance", "ratio", "quantiles, weights", "mean, sampling")


def test_spark_gives_the_same_tables_of_any_file(tmp_path: Path) -> None:
    """Equal random words lead to equal bytes: everything before the noise is the same whole number."""
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("needs pyspark (pip install tacita[spark]) and a Java runtime")
    random, rows = np.random.default_rng(2), 2_000
    frame = pd.DataFrame(
        {
            "person": np.arange(rows),
            "sex": random.choice(["F", "M", None], rows),
            "region": random.choice(["N", "E", "S", "?", "elsewhere"], rows),
            "age": random.integers(10, 95, rows),
            "pay": np.round(np.exp(random.normal(7, 1.5, rows)), 2),
            "worth": np.round(random.normal(0, 1e5, rows)),
            "w": np.round(random.gamma(2, 300, rows), 1),
            "hours": np.where(random.random(rows) < 0.2, np.nan, random.integers(5, 80, rows)),
        }
    )
    frame.to_parquet(tmp_path / "incomes.parquet")
    here, there = (
        Confidential.open(tmp_path / "incomes.parquet", INCOMES, engine=engine) for engine in ("duckdb", "spark")
    )
    for name in TABLES:
        plan = Table(**{"epsilon": "2", "neighbours": AddRemoveOne("person"), **STATISTIC_SETTINGS[name]})
        assert plan.run(here, SeededEntropy(1)).to_bytes() == plan.run(there, SeededEntropy(1)).to_bytes(), name
