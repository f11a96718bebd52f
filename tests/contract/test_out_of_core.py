"""Files larger than the memory that the engine may use: every kind of product is made all the same."""

from pathlib import Path

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacita
from tacita.data.confidential import Confidential
from tacita.data.engine import connect
from tacita.data.schema import Schema
from tacita.errors import TacitaError
from tacita.mechanisms.change import Change
from tacita.mechanisms.codes import CodeLists
from tacita.mechanisms.table import Table
from tacita.noise.entropy import SeededEntropy
from tacita.plan import check
from tacita.plan.bounded import Bounded
from tacita.privacy import AddRemoveOne
from tacita.synthesis.selfcheck import SelfCheck

ROWS, LIMIT = 300_000, "60MB"
PERSON = AddRemoveOne("person")
SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "large", "unit": "person"},
        "variables": {
            "person": {"role": "id", "entity": "person"},
            "sex": {"role": "confidential", "type": "categorical", "levels": ["F", "M"]},
            "region": {"role": "public", "type": "categorical", "levels": ["N", "E", "S"]},
            "pay": {"role": "confidential", "type": "numeric", "lower": 0, "upper": 1000, "scale": 2},
            "w": {"role": "weight", "type": "numeric", "lower": 1, "upper": 9, "scale": 1},
            "jobs1": {"role": "confidential", "type": "integer", "lower": 0, "upper": 99},
            "jobs2": {"role": "confidential", "type": "integer", "lower": 0, "upper": 99},
        },
    }
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ids of 240 letters, which no dictionary shortens: more than the limit by themselves."""
    random, path = np.random.default_rng(1), tmp_path_factory.mktemp("large") / "large.parquet"
    table = pa.table(
        {
            "person": [f"{one:0240d}" for one in random.permutation(ROWS)],
            "sex": random.choice(["F", "M"], ROWS),
            "region": random.choice(["N", "E", "S"], ROWS),
            "pay": random.integers(0, 100_000, ROWS) / 100,
            "w": random.integers(10, 91, ROWS) / 10,
            "jobs1": random.integers(1, 100, ROWS),
            "jobs2": random.integers(1, 100, ROWS),
        }
    )
    assert table.nbytes > 60e6
    pq.write_table(table, path, row_group_size=50_000)
    return path


def limited(file: Path, folder: Path) -> Confidential:
    engine = ibis.duckdb.connect(memory_limit=LIMIT, temp_directory=str(folder), threads=1)
    return Confidential.open(file, SCHEMA, engine=engine)


PLANS = {
    "mean": Table("mean", of="pay", by=["sex", "region"], epsilon="1", neighbours=PERSON),
    "median": Table("median", of="pay", by=["region"], epsilon="1", neighbours=PERSON),
    "pairs": tacita.PairwiseSynthesis(["sex", "region"], "1", delta="1e-9", neighbours=PERSON),
    "file": tacita.FileSynthesis(["sex", "region", "pay"], "1", neighbours=PERSON),
    "quantiles": tacita.QuantileSynthesis(["sex", "pay"], "1", neighbours=PERSON),
    "survey": tacita.SurveySynthesis(["pay"], "1", weight="w", by=["region"]),
    "panel": tacita.PanelSynthesis({"jobs": "jobs{year}"}, "1", unit="person", keep=["region"], years=(1, 2)),
    "growth": Change("growth", "1", of=["jobs1", "jobs2"], by=["region"], neighbours=PERSON),
    "codes": CodeLists(["sex"], "1", "1e-9", neighbours=PERSON),
    "self-check": SelfCheck(tacita.PairwiseSynthesis(["sex", "region"], "1", neighbours=PERSON), share="1/2"),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_product_is_the_same_with_little_memory(name: str, file: Path, tmp_path: Path) -> None:
    found = []
    for data in (limited(file, tmp_path), Confidential.open(file, SCHEMA)):
        check(PLANS[name], data)
        found.append((data.fingerprint(), PLANS[name].run(data, SeededEntropy(3)).to_bytes()))
    assert found[0] == found[1]


def test_rows_are_bounded_by_sorting_on_disk(file: Path, tmp_path: Path) -> None:
    """Ranking the rows of every unit takes all of them at once, with their hashes: far more than the limit."""
    plan = Bounded(Table("count", by=["sex"], epsilon="1", neighbours=PERSON), 1)
    little, much = (
        plan.run(data, SeededEntropy(3)).to_bytes()
        for data in (limited(file, tmp_path), Confidential.open(file, SCHEMA))
    )
    assert little == much


def test_the_limit_is_one(file: Path) -> None:
    """The control: with nowhere to put rows, the same question fails, and says so without a row."""
    engine = connect(ibis.duckdb.connect(memory_limit=LIMIT, temp_directory="", threads=1))
    plan = Bounded(Table("count", by=["sex"], epsilon="1", neighbours=PERSON), 1)
    with pytest.raises(TacitaError, match="memory suffices"):
        plan.run(Confidential.open(file, SCHEMA, engine=engine), SeededEntropy(3))
