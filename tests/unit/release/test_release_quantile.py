"""Synthetic microdata by quantiles from a specification: plan, run, verify, and the same files ever after."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support.command_line import Call
from support.quantile import firms
from support.specifications import head, microdata
from tacita.data.schema import Schema
from tacita.implicates import Implicates
from tacita.inference import combine
from tacita.release.plans import prepare
from tacita.release.spec import Spec
from tacita.synthesis import QuantileSynthesis

SCHEMA_TEXT = """
[dataset]
identity = "firms"
unit = "firm"
source = "a simulated register"
[variables]
sector = { type = "categorical", role = "public", levels = ["a", "b", "c"] }
size = { type = "numeric", role = "confidential", lower = 0, upper = 1000, scale = 2 }
jobs = { type = "integer", role = "confidential", lower = 0, upper = 500 }
pay = { type = "numeric", role = "confidential", lower = -100, upper = 3000, scale = 1 }
"""

SPEC = head("firms", title="Firms, synthetic", neighbours="add-remove", unit="firm", epsilon="3") + microdata(
    "firms",
    title="Firms by sector",
    mechanism="QuantileSynthesis",
    epsilon="2",
    columns=["size", "jobs", "pay"],
    groups=["sector"],
    sets=3,
    spikes={"jobs": [0]},
    scales={"pay": "arcsinh"},
    predictors={"pay": ["size"]},
    shares={"size": "2", "jobs": "1", "pay": "2"},
    tails={"size": "exponential"},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "firms.schema.toml").write_text(SCHEMA_TEXT)
    (tmp_path / "firms.toml").write_text(SPEC)
    firms(600).drop(columns=["firm", "age", "legal"]).to_parquet(tmp_path / "firms.parquet", index=False)
    return tmp_path


def test_every_setting_can_be_written_in_a_specification(folder: Path) -> None:
    (product,) = prepare(Spec.load(folder / "firms.toml")).microdata
    plan = product.plan
    assert isinstance(plan, QuantileSynthesis)
    assert plan.spikes == {"jobs": (0.0,)}
    assert plan.predictors == {"pay": ("size",)}
    assert plan.shares["size"] == 2
    assert plan.neighbours.unit == "firm"


def test_from_a_specification_to_a_verified_bundle(folder: Path, tacita: Call) -> None:
    planned = tacita("plan", folder / "firms.toml")
    assert planned.code == 0, planned.err
    assert "QuantileSynthesis" in planned.out
    assert "ranks" in planned.out
    done = tacita("run", folder / "firms.toml", "--out", folder / "bundle")
    assert done.code == 0, done.err
    checked = tacita("verify", folder / "bundle", "--ledger", folder / "firms.ledger")
    assert checked.code == 0, checked.err
    files = Implicates.read(folder / "bundle" / "microdata", Schema.load(folder / "firms.schema.toml"))
    assert (files.m, files.kind) == (3, "one-measurement")
    mean = combine(files, lambda frame: (frame["size"].mean(), frame["size"].var() / len(frame)))
    assert np.isfinite(mean.interval(0.95)).all()
    again = tacita("run", folder / "firms.toml", "--out", folder / "again")
    assert again.code == 0, again.err
    for number in (1, 2, 3):
        name = f"microdata/implicate-{number:02d}.parquet"
        pd.testing.assert_frame_equal(
            pd.read_parquet(folder / "bundle" / name), pd.read_parquet(folder / "again" / name)
        )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('columns = ["size", "jobs", "pay"]', 'columns = ["size", "jobs", "nobody"]', "nobody"),
        ('scales = { pay = "arcsinh" }', 'scales = { pay = "sqrt" }', "scales.pay: must be one of"),
        ("spikes = { jobs = [0] }", "spikes = { jobs = [999] }", "spikes.jobs"),
        ('groups = ["sector"]', 'groups = ["size"]', "size"),
        ('groups = ["sector"]', "group = 1", "has no such setting; did you mean groups?"),
    ],
)
def test_a_mistake_names_the_product_and_spends_nothing(
    folder: Path, tacita: Call, old: str, new: str, message: str
) -> None:
    text = (folder / "firms.toml").read_text()
    assert old in text
    (folder / "firms.toml").write_text(text.replace(old, new))
    said = tacita("run", folder / "firms.toml", "--out", folder / "bundle")
    assert said.code != 0
    assert 'microdata "firms"' in said.err
    assert message in said.err
    assert (
        not (folder / "firms.ledger").exists() or "spent ε = 0" in tacita("ledger", "show", folder / "firms.ledger").out
    )
    assert not (folder / "bundle").exists()
