"""Folders with a file, its schema and a specification, from which a bundle is made and evaluated."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from support import specifications
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.release.run import run
from tacita.release.spec import Spec

PEOPLE = """
[dataset]
identity = "people"
unit = "person"
[variables]
tract = { type = "categorical", role = "confidential", levels = ["A11", "A12", "A21", "B11"], outside = "B11" }
sex = { type = "categorical", role = "confidential", levels = ["F", "M"] }
pay = { type = "numeric", role = "confidential", lower = -10, upper = 1000, scale = 1, missing = 0 }
hours = { type = "integer", role = "confidential", lower = 1, upper = 80 }
w = { type = "numeric", role = "weight", lower = 1, upper = 50, scale = 2 }
[hierarchy.geography]
column = "tract"
levels = ["county", "state"]
prefix = { county = 2, state = 1 }
"""


def people(count: int = 900, seed: int = 2) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "tract": random.choice(["A11", "A12", "A21", "elsewhere"], count),
            "sex": random.choice(["F", "M"], count),
            "pay": np.where(
                random.random(count) < 0.02, np.nan, random.lognormal(4, 0.8, count).clip(0, 1000).round(1)
            ),
            "hours": random.integers(1, 60, count),
            "w": random.uniform(1, 50, count).round(2),
        }
    )


def ruled(frame: pd.DataFrame) -> pd.DataFrame:
    """As the schema's own rules have it."""
    return frame.assign(tract=frame["tract"].replace("elsewhere", "B11"), pay=frame["pay"].fillna(0))


def spec(tables: str, *, data: str = "file.parquet", cap: str = 'neighbours = "add-remove"\nunit = "person"') -> str:
    return (
        f'title = "Test"\nschema = "file.schema.toml"\ndata = "{data}"\nledger = "file.ledger"\n'
        f'[cap]\n{cap}\nepsilon = "10000"\n{tables}'
    )


def released(folder: Path, schema: str, frame: pd.DataFrame, text: str) -> tuple[Path, Confidential]:
    """The bundle of a release, and the file behind it."""
    frame.to_parquet(folder / "file.parquet", index=False)
    (folder / "file.schema.toml").write_text(schema, encoding="utf-8")
    (folder / "release.toml").write_text(text, encoding="utf-8")
    run(Spec.load(folder / "release.toml"), folder / "bundle")
    return folder / "bundle", opened(folder)


def published(bundle: Path, name: str, values: Any, margin: Any = None) -> None:
    """Put other values into a published table, and other margins."""
    path = bundle / "tables" / f"{name}.parquet"
    table = pq.read_table(path)
    for column, given in (("value", values), ("margin_of_error", margin)):
        if given is not None:
            at = table.column_names.index(column)
            table = table.set_column(at, column, pa.array(np.asarray(given, dtype=np.float64)))
    pq.write_table(table, path)


def opened(folder: Path) -> Confidential:
    return Confidential.open(str(folder / "file.parquet"), Schema.load(folder / "file.schema.toml"))


def table(name: str, **settings: Any) -> str:
    """One [[table]], at ε = 1 unless it says otherwise."""
    return specifications.table(name, **{"epsilon": "1", **settings})
