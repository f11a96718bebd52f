"""A table of several levels from specification to bundle: sums agree in the files, and nothing counts twice."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from support.command_line import Call
from support.specifications import head, table
from tacita import Schema, Table
from tacita.data.confidential import Confidential
from tacita.dossier.asked import asked_by

SCHEMA = """
[dataset]
identity = "people"
unit = "person"
[variables]
tract = { type = "categorical", role = "confidential", levels = ["A11", "A12", "A21", "B11", "B12"] }
sex = { type = "categorical", role = "confidential", levels = ["F", "M"], labels = { F = "Women", M = "Men" } }
[hierarchy.geography]
column = "tract"
levels = ["county", "state", "nation"]
file = "tracts.csv"
"""
TRACTS = "tract,county,state\nA11,A1,A\nA12,A1,A\nA21,A2,A\nB11,B1,B\nB12,B1,B\n"
SPEC = head("people", title="People", data="csv", neighbours="add-remove", unit="person", epsilon="2") + table(
    "people", by=["tract", "sex"], levels=["county", "state", "nation"], epsilon="1"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(2)
    people = {"tract": random.choice(["A11", "A12", "A21", "B11", "B12"], 900), "sex": random.choice(["F", "M"], 900)}
    pd.DataFrame(people).to_csv(tmp_path / "people.csv", index=False)
    for name, text in (("people.schema.toml", SCHEMA), ("tracts.csv", TRACTS), ("people.toml", SPEC)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_table_of_levels_is_planned_released_and_verified(folder: Path, tacita: Call) -> None:
    said = tacita("plan", folder / "people.toml")
    assert said.code == 0, said.err
    for level in ("nation × sex", "state × sex", "county × sex", "tract × sex"):
        assert level in said.out
    said = tacita("run", folder / "people.toml", "--out", folder / "bundle")
    assert said.code == 0, said.err
    said = tacita("verify", folder / "bundle")
    assert said.code == 0, said.err
    table = pq.read_table(folder / "bundle" / "tables" / "people.parquet").to_pandas()
    assert table.columns[0] == "level"
    assert table.groupby("level").size().to_dict() == {
        "nation × sex": 2, "state × sex": 4, "county × sex": 6, "tract × sex": 10,
    }  # fmt: skip
    totals = table.groupby(["level", "sex"])["value"].sum().unstack()
    assert (totals.nunique() == 1).all()
    structure = next((folder / "bundle").rglob("*structure*.xml")).read_text(encoding="utf-8")
    assert "LEVEL" in structure
    page = next((folder / "bundle").glob("*.html")).read_text(encoding="utf-8")
    assert "tract × sex" in page
    plan = json.loads((folder / "bundle" / "plan.json").read_text(encoding="utf-8"))
    assert plan["tables"][0]["noise"]["law"] == "discrete-laplace"


def test_code_on_the_page_keeps_to_the_finest_level(
    folder: Path, tacita: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tacita("run", folder / "people.toml", "--out", folder / "bundle").code == 0
    from tacita.release.page import code_for_cells

    table = pq.read_table(folder / "bundle" / "tables" / "people.parquet")
    blocks = dict(code_for_cells("people", table, ()))
    assert 'table["level"] == "tract × sex"' in blocks["Python"]
    monkeypatch.chdir(folder / "bundle")
    names: dict[str, object] = {}
    exec(blocks["Python"], names)
    cells = table.to_pandas().query("level == 'tract × sex' and tract == 'A11'")
    assert names["a"] == cells["value"].sum()


def test_means_and_shares_of_levels_are_released_verified_and_compared_with_the_truth(
    folder: Path, tacita: Call
) -> None:
    frame = pd.read_csv(folder / "people.csv").assign(age=lambda rows: np.arange(len(rows)) % 90)
    frame.to_csv(folder / "people.csv", index=False)
    age = 'age = { type = "integer", role = "confidential", lower = 0, upper = 100 }\n[hierarchy'
    (folder / "people.schema.toml").write_text(SCHEMA.replace("[hierarchy", age, 1), encoding="utf-8")
    start, _, _ = SPEC.partition("[[table]]")
    asked = {"by": ["tract"], "levels": ["county", "nation"], "epsilon": "1"}
    spec = (
        start + table("age", statistic="mean", of="age", **asked) + table("sex", statistic="share", of="sex", **asked)
    )
    (folder / "people.toml").write_text(spec, encoding="utf-8")
    for words in (
        ("plan", folder / "people.toml"),
        ("run", folder / "people.toml", "--out", folder / "bundle"),
        ("verify", folder / "bundle"),
        ("evaluate", folder / "people.toml", "--bundle", folder / "bundle", "--out", folder / "inside"),
    ):
        said = tacita(*words)
        assert said.code == 0, said.err
    ages = pd.read_csv(folder / "bundle" / "tables" / "age.csv")
    top = ages[ages.level == "nation"].iloc[0]
    assert abs(top.value - frame.age.mean()) < 2 * top.margin_of_error < 20
    assert len(ages) == 1 + 3 + 5
    shares = pd.read_csv(folder / "bundle" / "tables" / "sex.csv")
    assert set(shares.level) == {"nation × sex", "county × sex", "tract × sex"}
    data = Confidential.open(folder / "people.csv", Schema.load(folder / "people.schema.toml"))
    plan = Table("mean", "1", of="age", by=["tract"], levels=["county", "nation"])
    (truth,) = asked_by(plan, data, plan.levels)
    exact = truth.exact(("level", "tract")).set_index("tract")["tacita_truth"]
    assert exact["Total"] == pytest.approx(frame.age.mean())
    assert exact["A1"] == pytest.approx(frame.age[frame.tract.isin(["A11", "A12"])].mean())


def test_the_tree_s_file_is_listed_as_a_public_input(folder: Path, tacita: Call) -> None:
    assert tacita("run", folder / "people.toml", "--out", folder / "bundle").code == 0
    manifest = (folder / "bundle" / "manifest.json").read_text(encoding="utf-8")
    assert "tracts.csv" in manifest


def test_a_level_that_the_schema_lacks_is_refused_before_anything_is_spent(folder: Path, tacita: Call) -> None:
    spec = folder / "people.toml"
    spec.write_text(SPEC.replace('"nation"]', '"world"]'), encoding="utf-8")
    said = tacita("run", spec, "--out", folder / "bundle")
    assert said.code == 2
    assert "levels: world is no level" in said.err
    assert not (folder / "people.ledger").exists()


@pytest.mark.parametrize(
    "asked",
    ['levels = ["county", "state", "nation"]\nby = ["tract"]', 'statistic = "share"\nof = "sex"\nby = ["tract"]'],
)
def test_tables_of_thousands_of_cells_pass_the_trial_before_the_charge(folder: Path, tacita: Call, asked: str) -> None:
    """The trial leaves cells out of a large table, but none without which the rest cannot be published."""
    tracts = [f"{state}{county}{at:03d}" for state in "AB" for county in "12" for at in range(601)]
    listed = ", ".join(f'"{one}"' for one in tracts)
    old = '["A11", "A12", "A21", "B11", "B12"]'
    sexes = SCHEMA.replace(old, f"[{listed}]").replace('["F", "M"]', '["F", "M", "X"]')
    (folder / "people.schema.toml").write_text(sexes, encoding="utf-8")
    lines = "".join(f"{one},{one[:2]},{one[0]}\n" for one in tracts)
    (folder / "tracts.csv").write_text(f"tract,county,state\n{lines}", encoding="utf-8")
    pd.DataFrame({"tract": tracts, "sex": "F"}).to_csv(folder / "people.csv", index=False)
    head, _, _ = SPEC.partition("by = ")
    (folder / "people.toml").write_text(f'{head}{asked}\nepsilon = "1"\n', encoding="utf-8")
    said = tacita("run", folder / "people.toml", "--out", folder / "bundle")
    assert said.code == 0, said.err
    assert pq.read_table(folder / "bundle" / "tables" / "people.parquet").num_rows > 2400
