"""A bundle of synthetic voters: specification, plan, run, verification, with `PairwiseSynthesis`."""

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import tacita as tc
from support.pairwise import NAMES, voters
from support.specifications import head, microdata
from tacita.cli import app
from tacita.errors import TacitaError, VerificationError
from tacita.release.plans import prepare
from tacita.release.run import run
from tacita.release.spec import Spec
from tacita.release.verify import compare_with_ledger, verify

SCHEMA = """
[dataset]
identity = "voters"
unit = "person"
[variables]
sex = { role = "confidential", type = "categorical", levels = ["F", "M"] }
registered = { role = "confidential", type = "categorical", levels = ["no", "yes"] }
voted = { role = "confidential", type = "categorical", levels = ["no", "yes"] }
region = { role = "confidential", type = "categorical", levels = ["N", "E", "S", "W"] }
age = { role = "confidential", type = "integer", lower = 0, upper = 99 }
pay = { role = "confidential", type = "numeric", lower = -50, upper = 5000 }
[[zeros]]
registered = "no"
voted = "yes"
"""

SPEC = head(
    "voters", title="Voters, synthetic", neighbours="replace", unit="person", epsilon="3", delta="1e-6"
) + microdata(
    "voters",
    mechanism="PairwiseSynthesis",
    columns=["sex", "registered", "voted", "region", "age", "pay"],
    epsilon="2",
    delta="1e-9",
    sets=2,
    cuts={"age": [18, 40, 65], "pay": [0, 1000.5]},
)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    voters(400).to_parquet(tmp_path / "voters.parquet", index=False)
    (tmp_path / "voters.schema.toml").write_text(SCHEMA)
    (tmp_path / "voters.toml").write_text(SPEC)
    return tmp_path / "voters.toml"


def test_a_bundle_is_made_and_verified(spec: Path) -> None:
    bundle = run(Spec.load(spec), spec.parent / "bundle").bundle
    assert verify(bundle)[-2].endswith("the synthetic files follow from them")
    compare_with_ledger(bundle, spec.parent / "voters.ledger")
    files = tc.Implicates.read(bundle / "microdata", tc.Schema.load(spec.parent / "voters.schema.toml"))
    assert (files.m, files.kind, files.columns) == (2, "one-measurement", NAMES)
    for frame in files:
        assert len(frame) == 400
        assert not ((frame["registered"] == "no") & (frame["voted"] == "yes")).any()
        assert frame["age"].between(0, 99).all()
    measured = json.loads((bundle / "measurements/voters.json").read_text())
    assert "variance" in json.dumps(measured)
    page = (bundle / "report.html").read_text(encoding="utf-8")
    assert "Voters, synthetic" in page
    again = run(Spec.load(spec), spec.parent / "again")
    assert again.spent_before == again.spent_after
    for name in ("implicate-01.parquet", "implicate-02.csv"):
        assert (bundle / "microdata" / name).read_bytes() == (again.bundle / "microdata" / name).read_bytes()


def test_a_changed_measurement_is_found(spec: Path) -> None:
    bundle = run(Spec.load(spec), spec.parent / "bundle").bundle
    path = bundle / "measurements/voters.result"
    path.write_bytes(path.read_bytes().replace(b'"rows":400', b'"rows":401'))
    with pytest.raises(VerificationError):
        verify(bundle)


def test_from_the_command_line(spec: Path) -> None:
    runner = CliRunner()
    planned = runner.invoke(app, ["plan", str(spec)])
    assert planned.exit_code == 0, planned.output
    assert "one-way tables" in " ".join(planned.output.split())
    made = runner.invoke(app, ["run", str(spec), "--out", str(spec.parent / "out")])
    assert made.exit_code == 0, made.output
    checked = runner.invoke(app, ["verify", str(spec.parent / "out")])
    assert checked.exit_code == 0, checked.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sets = 2", "sits = 2", r'sits of microdata "voters": PairwiseSynthesis has no such setting'),
        ('"sex", "reg', '"sax", "reg', r'microdata "voters": sax: no such variable'),
        ("[18, 40, 65]", "[18, 40, 165]", r'microdata "voters": cuts\.age'),
        ("[18, 40, 65]", '["18"]', r'microdata "voters": cuts\.age: must be numbers'),
        (
            'columns = ["sex", "registered", "voted", "region", "age", "pay"]\n',
            "",
            r'columns of microdata "voters" is missing; PairwiseSynthesis needs it',
        ),
        ('delta = "1e-9"', 'delta = "2"', r'microdata "voters": delta'),
    ],
)
def test_a_mistake_names_the_key(spec: Path, old: str, new: str, message: str) -> None:
    assert old in SPEC
    spec.write_text(SPEC.replace(old, new))
    with pytest.raises(TacitaError, match=message):
        prepare(Spec.load(spec))


def test_an_impossible_record_stops_the_release_before_it_costs(spec: Path) -> None:
    frame = pd.read_parquet(spec.parent / "voters.parquet")
    frame.loc[5, ["registered", "voted"]] = ["no", "yes"]
    frame.to_parquet(spec.parent / "voters.parquet", index=False)
    with pytest.raises(TacitaError, match="calls impossible"):
        run(Spec.load(spec), spec.parent / "bundle")
    assert not (spec.parent / "bundle").exists()
