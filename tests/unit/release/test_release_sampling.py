"""Weighted tables of a clustered sample from specification to bundle: margins cover sampling, and it verifies."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support.command_line import Call
from support.specifications import head, table

SCHEMA = """
[dataset]
identity = "sample"
unit = "person"
[variables]
village = { role = "design", type = "categorical", levels = [LEVELS] }
sex = { role = "confidential", type = "categorical", levels = ["F", "M"] }
pay = { role = "confidential", type = "integer", lower = 0, upper = 1000000 }
w = { role = "weight", type = "numeric", lower = 1, upper = 1000, scale = 1 }
[design]
weight = "w"
psu = ["village"]
one_psu = "certainty"
""".replace("LEVELS", ", ".join(f'"{one}"' for one in range(40)))
SPEC = (
    head("sample", title="Pay", data="csv", neighbours="add-remove", unit="person", epsilon="40")
    + table("pay", statistic="mean", of="pay", by=["sex"], weights="w", epsilon="20")
    + "sampling = SAMPLING\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(2)
    village = random.integers(0, 40, 1200)
    pay = np.round(np.exp(9 + 0.5 * random.standard_normal(40)[village] + 0.3 * random.standard_normal(1200)))
    people = {"village": village, "sex": random.choice(["F", "M"], 1200), "pay": pay.astype(int), "w": 12.5}
    pd.DataFrame(people).to_csv(tmp_path / "sample.csv", index=False)
    (tmp_path / "sample.schema.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


def _margins(folder: Path, tacita: Call, sampling: str) -> np.ndarray:
    specification, bundle = folder / f"{sampling}.toml", folder / sampling
    specification.write_text(SPEC.replace("SAMPLING", sampling), encoding="utf-8")
    for words in (("run", specification, "--out", bundle), ("verify", bundle)):
        said = tacita(*words)
        assert said.code == 0, said.err
    (planned,) = json.loads((bundle / "plan.json").read_text(encoding="utf-8"))["tables"]
    assert planned["mechanism"]["sampling"] is (sampling == "true")
    return pd.read_csv(bundle / "tables" / "pay.csv")["margin_of_error"].to_numpy()


def test_margins_in_the_bundle_cover_sampling_where_it_is_asked_for(folder: Path, tacita: Call) -> None:
    assert (_margins(folder, tacita, "true") > 2 * _margins(folder, tacita, "false")).all()


def test_the_page_says_that_such_margins_cover_sampling_and_others_do_not(folder: Path, tacita: Call) -> None:
    _margins(folder, tacita, "true")
    _margins(folder, tacita, "false")
    with_it, without = ((folder / one / "report.html").read_text(encoding="utf-8") for one in ("true", "false"))
    assert "the chance of sampling together" in with_it
    assert "and nothing else" not in with_it
    assert "and nothing else" in without
    assert "and so does what another sample would have given" in without
    assert "Every record counts by its weight, w." in without
