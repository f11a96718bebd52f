"""Made-up files for the accuracy suite: people, and plants with jobs in two years."""

from pathlib import Path

import numpy as np
import pandas as pd

SCHEMA = """
[dataset]
identity = "made-up"
unit = "person"

[variables]
sex = { role = "confidential", type = "categorical", levels = ["f", "m", "unknown"], missing = "unknown" }
pay = { role = "confidential", type = "integer", lower = 0, upper = 1000, missing = 0 }
"""
TRIES = """
[cap]
neighbours = "replace"
unit = "person"

[[compare]]
statistic = "mean"
of = ["pay"]
by = "sex"

[[compare]]
statistic = "share"
of = "sex"

[[compare]]
statistic = "rank"
of = "pay"
at = [0.5]
forecast = "pay: rank error"

[[try]]
name = "both"
epsilon = ["1", "100"]
[try.microdata]
mechanism = "QuantileSynthesis"
columns = ["sex", "pay"]
sets = 3

[[try]]
name = "table"
epsilon = "100"
vary = { statistic = ["mean", "median", "variance"] }
[try.table]
of = "pay"
by = ["sex"]

[[try]]
name = "shares"
epsilon = "100"
[try.table]
statistic = "share"
of = "sex"

[[try]]
name = "impossible"
epsilon = "1"
[try.microdata]
mechanism = "QuantileSynthesis"
columns = ["sex", "age"]
"""
JOBS_SCHEMA = """
[dataset]
identity = "made-up-jobs"
unit = "establishment"

[variables]
plant = { role = "id", entity = "workplace" }
place = { role = "workplace", type = "categorical", levels = ["01", "02", "03"] }
before = { role = "confidential", type = "integer", lower = 0, upper = 10000 }
jobs = { role = "size", type = "integer", lower = 0, upper = 10000 }
"""
JOBS_TRIES = """
[cap]
neighbours = "strong"
alpha = "0.1"

[[try]]
name = "gains and losses"
epsilon = "20"
cap = { neighbours = "numbers-within", unit = "establishment", alpha = "0.1" }
[try.table]
statistic = "flows"
of = ["before", "jobs"]

[[try]]
name = "jobs"
epsilon = "4"
[try.table]
mechanism = "SmoothGamma"
by = ["place"]
margin_share = "1/10"
"""


def people() -> pd.DataFrame:
    random = np.random.default_rng(5)
    pay = random.integers(100, 900, 600)
    return pd.DataFrame({"sex": np.where(pay % 2, "f", "m"), "pay": pay}).assign(extra="not declared")


def made_up(where: Path) -> Path:
    """A folder with two files, their schemas and tries."""
    frame = people()
    frame.loc[:4, "sex"] = None
    frame.to_csv(where / "people.csv.gz", index=False)
    (where / "people.schema.toml").write_text(SCHEMA, encoding="utf-8")
    (where / "people.accuracy.toml").write_text(TRIES, encoding="utf-8")
    jobs = pd.DataFrame({"plant": range(300), "place": ["01", "02"] * 150, "jobs": [*range(150), *range(150)]})
    jobs["before"] = jobs["jobs"].to_numpy()[::-1]
    jobs.to_parquet(where / "plants.parquet")
    (where / "plants.schema.toml").write_text(JOBS_SCHEMA, encoding="utf-8")
    (where / "plants.accuracy.toml").write_text(JOBS_TRIES, encoding="utf-8")
    return where
