"""Numbers that are stored as text are read alike by every engine, however they are written."""

import importlib.util
import shutil

import pandas as pd
import pytest

from support.engine_rows import small_spark, stored
from support.postgres_server import Server
from tacita.data.confidential import Confidential
from tacita.data.reading import read
from tacita.data.schema import Schema

LOWER, UPPER, MISSING = -10.0, 2_000_000.0, 7.0
READ = {
    **dict.fromkeys(("1e999", "1.8e308", "1e99999", "9" * 400, "inf", "INF", "+infinity", "1E308"), UPPER),
    **dict.fromkeys(("-1e999", "-" + "9" * 400, "-iNf", "-1e99999", "-11"), LOWER),
    **dict.fromkeys(("1e-400", "1e-99999", "0." + "0" * 400 + "1", "0e99999", "-0", "4.9e-324", "2e-324"), 0.0),
    **dict.fromkeys(("nan", "-NaN", "1_000", "1,000", "１２", "٣", "5d", "5f ", "5D", "0x10", "1 000"), MISSING),
    **dict.fromkeys(("1e", "1.5.2", ".", "-", "e5", "++5", "true", "NULL", ""), MISSING),
    **dict.fromkeys(("5", " 5", "5 ", "+5", "5.", "5.000", "0" * 50 + "5", "0.05e2", "50e-1", "5e0000000000"), 5.0),
}
SCHEMA = Schema.from_dict(
    {
        "dataset": {"identity": "numbers", "unit": "record"},
        "variables": {
            "code": {"role": "confidential", "type": "categorical", "levels": [str(k) for k in range(len(READ))]},
            "pay": {
                "role": "confidential",
                "type": "numeric",
                "lower": LOWER,
                "upper": UPPER,
                "missing": MISSING,
                "outside": "clamp",
            },
        },
    }
)
FRAME = pd.DataFrame({"code": [str(k) for k in range(len(READ))], "pay": list(READ)})


def is_read_right(data: Confidential) -> None:
    found = read(data, ["code", "pay"])
    read_as = dict(zip(found["code"].tolist(), found["pay"].tolist(), strict=True))
    assert {text: read_as[k] for k, text in enumerate(READ)} == READ
    assert data.fingerprint() == Confidential.from_frame(FRAME, SCHEMA).fingerprint()


def test_duckdb_reads_numbers_that_are_text() -> None:
    is_read_right(Confidential.from_frame(FRAME, SCHEMA))


@pytest.mark.spark
@pytest.mark.skipif(
    importlib.util.find_spec("pyspark") is None or shutil.which("java") is None,
    reason="needs pyspark (pip install tacita[spark]) and a Java runtime",
)
def test_spark_reads_them_alike() -> None:
    with small_spark():
        is_read_right(Confidential.from_frame(FRAME, SCHEMA, engine="spark"))


def test_a_server_reads_them_alike(server: Server) -> None:
    is_read_right(Confidential.open(stored(server, FRAME), SCHEMA))
