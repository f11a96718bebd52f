"""The same release on Spark: equal exact counts before noise, shown by playing back the recorded noise."""

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest

from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.mechanisms.eree import SmoothStaircase, SmoothVector
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording, Replaying, compare
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
