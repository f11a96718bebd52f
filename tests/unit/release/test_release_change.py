"""Growth and flows from specification to bundle: planned, run, verified, and held against the rows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from support.command_line import Call
from support.specifications import head, table

SCHEMA = """
[dataset]
identity = "careers"
unit = "person"
[variables]
person = { role = "id", entity = "person" }
region = { role = "confidential", type = "categorical", levels = ["N", "S"] }
year = { role = "confidential", type = "categorical", levels = ["2023", "2024"] }
pay = { role = "confidential", type = "integer", lower = 0, upper = 1000000 }
"""
SPEC = (
    head("careers", title="Careers", data="csv", neighbours="add-remove", unit="person", epsilon="40")
    + table("growth", statistic="growth", of="pay", between={"year": ["2023", "2024"]}, by=["region"], epsilon="20")
    + table("flows", statistic="flows", between={"year": ["2023", "2024"]}, by=["region"], totals=[], epsilon="1")
)


@pytest.fixture
def specification(tmp_path: Path) -> Path:
    random = np.random.default_rng(3)
    first = pd.DataFrame({"person": np.arange(2000), "region": random.choice(["N", "S"], 2000), "year": "2023"})
    first["pay"] = np.exp(10 + 0.6 * random.standard_normal(2000)).astype(int)
    second = first.assign(person=first.person + 100, year="2024", pay=(first.pay * 1.05).astype(int))
    pd.concat([first, second]).to_csv(tmp_path / "careers.csv", index=False)
    (tmp_path / "careers.schema.toml").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "careers.toml").write_text(SPEC, encoding="utf-8")
    return tmp_path / "careers.toml"


def test_growth_is_planned_published_verified_and_evaluated(specification: Path, tacita: Call) -> None:
    told = tacita("plan", specification)
    assert "times the limit up to which one person's change counts" in told.out
    bundle, dossier = specification.parent / "bundle", specification.parent / "dossier"
    evaluate = ("evaluate", specification, "--bundle", bundle, "--out", dossier)
    for words in (("run", specification, "--out", bundle), ("verify", bundle), evaluate):
        said = tacita(*words)
        assert said.code == 0, said.err
    growth = pq.read_table(bundle / "tables" / "growth.parquet").to_pandas().set_index(["measure", "region"])
    assert list(growth.index.get_level_values(0).unique()) == ["earlier", "later", "change", "percent"]
    percent = growth.loc["percent"]
    assert ((percent.value - 5).abs() <= percent.margin_of_error + 5).all()  # who came may earn more than who left
    record = json.loads((dossier / "dossier.json").read_text(encoding="utf-8"))
    named = {check["name"] for check in record["tables"]}
    assert {"growth · percent", "flows · entry"} <= named


def test_under_a_promise_about_numbers_years_stand_in_columns(specification: Path, tacita: Call) -> None:
    text = specification.read_text(encoding="utf-8").replace('"add-remove"', '"numbers-within"\nalpha = "0.1"')
    specification.write_text(text, encoding="utf-8")
    refused = tacita("plan", specification)
    assert refused.code != 0
    assert 'between of table "growth": SmoothGrowth has no such setting' in refused.err
