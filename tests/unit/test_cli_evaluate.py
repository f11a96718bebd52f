"""`tacita evaluate` from the command line: forms, refusals and exit codes."""

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from support.command_line import SCHEMA, SECRET, SPEC, Call, write_jobs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_jobs(tmp_path / "jobs.parquet")
    write_jobs(tmp_path / "synthetic.parquet", lambda job: "south" if job % 3 else "north")
    (tmp_path / "jobs.schema.toml").write_text(SCHEMA, encoding="utf-8")
    (tmp_path / "release.toml").write_text(SPEC, encoding="utf-8")
    return tmp_path


def test_with_a_specification(folder: Path, tacita: Call) -> None:
    out = folder / "dossier"
    said = tacita("evaluate", folder / "release.toml", "--synthetic", folder / "synthetic.parquet", "--out", out)
    assert said.code == 0, said.err
    assert "About" in said.out
    assert "Confidential, not for release" in said.out
    assert sorted(path.name for path in out.iterdir()) == [".tacita-output.json", "dossier.html", "dossier.json"]
    names = {one["name"] for one in json.loads((out / "dossier.json").read_text())["variables"]}
    assert names == {"place", "sex"}


def test_a_specification_for_spark_is_read_with_duckdb_and_says_so(folder: Path, tacita: Call) -> None:
    (folder / "release.toml").write_text(SPEC.replace("[cap]", 'engine = "spark"\n[cap]', 1))
    out = folder / "dossier"
    said = tacita(
        "evaluate",
        *(folder / "release.toml", "--synthetic", folder / "synthetic.parquet"),
        *("--rows", 50, "--out", out),
    )
    assert said.code == 0, said.err
    assert "An evaluation does not use it: DuckDB reads the files on this machine, and no more than 50 rows" in said.out
    assert (out / "dossier.html").is_file()


def test_without_a_specification_or_a_schema(folder: Path, tacita: Call) -> None:
    pd.DataFrame({"x": range(50), "y": ["a", "b"] * 25}).to_csv(folder / "a.csv", index=False)
    out = folder / "dossier"
    said = tacita("evaluate", "--original", folder / "a.csv", "--synthetic", folder / "a.csv", "--out", out)
    assert said.code == 0, said.err
    record = json.loads((out / "dossier.json").read_text())
    assert {one["name"]: one["kind"] for one in record["variables"]} == {"x": "numeric", "y": "categorical"}
    assert all(one["variation"] == 0 for one in record["variables"])


def test_a_declared_question_is_asked(folder: Path, tacita: Call) -> None:
    (folder / "release.toml").write_text(SPEC + '\n[evaluation]\nknown = ["place"]\ntargets = ["sex"]\n')
    out = folder / "dossier"
    tacita("evaluate", folder / "release.toml", "--synthetic", folder / "synthetic.parquet", "--out", out)
    names = {one["name"] for one in json.loads((out / "dossier.json").read_text())["scores"]}
    assert "attribute disclosure of sex from place" in names


def test_the_questions_are_no_part_of_the_bundle(folder: Path, tacita: Call) -> None:
    (folder / "release.toml").write_text(SPEC + '\n[evaluation]\nknown = ["place"]\n')
    assert tacita("run", folder / "release.toml", "--out", folder / "bundle").code == 0
    assert "evaluation" not in (folder / "bundle" / "plan.json").read_text()
    said = tacita("evaluate", folder / "release.toml", "--bundle", folder / "bundle", "--out", folder / "dossier")
    assert said.code == 0, said.err
    said = tacita("evaluate", folder / "release.toml", "--bundle", folder / "bundle", "--out", folder / "bundle" / "d")
    assert said.code == 3
    assert "inside the bundle" in said.err
    assert tacita("verify", folder / "bundle").code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--original", "jobs.parquet"], "nothing to evaluate"),
        (["--synthetic", "synthetic.parquet"], "--original: is missing"),
        (["--synthetic", "nowhere.parquet", "--original", "jobs.parquet"], "there is no such file"),
        (["release.toml", "--synthetic", "synthetic.parquet", "--schema", "jobs.schema.toml"], "leave the option out"),
        (["release.toml", "--bundle", "nowhere"], "is not a bundle"),
        (["release.toml", "--synthetic", "synthetic.parquet", "--earlier", "nowhere"], "is not a dossier"),
        (["--original", "jobs.parquet", "--bundle", "nowhere"], "is not a bundle"),
    ],
)
def test_wrong_usage_names_the_option(folder: Path, tacita: Call, arguments: list[str], words: str) -> None:
    given = [folder / one if one.endswith((".parquet", ".toml", "nowhere")) else one for one in arguments]
    said = tacita("evaluate", *given, "--out", folder / "dossier")
    assert said.code == 2
    assert words in said.err
    assert not (folder / "dossier").exists()


def test_an_unknown_key_of_the_questions_is_named(folder: Path, tacita: Call) -> None:
    (folder / "q.toml").write_text('knwon = ["place"]\n')
    said = tacita(
        "evaluate",
        *("--original", folder / "jobs.parquet", "--synthetic", folder / "synthetic.parquet"),
        *("--questions", folder / "q.toml", "--out", folder / "dossier"),
    )
    assert said.code == 2
    assert "knwon" in said.err
    assert "did you mean known" in said.err


def test_a_value_of_the_confidential_file_never_reaches_the_screen(folder: Path, tacita: Call) -> None:
    write_jobs(folder / "jobs.parquet", lambda job: SECRET)
    table = pq.read_table(folder / "synthetic.parquet")
    pq.write_table(table.rename_columns(["a", "b", "c", "d"]), folder / "synthetic.parquet")
    said = tacita(
        "evaluate", folder / "release.toml", "--synthetic", folder / "synthetic.parquet", "--out", folder / "dossier"
    )
    assert said.code == 2
    assert SECRET not in said.out + said.err


def test_attacks_on_the_tables_of_a_specification(folder: Path, tacita: Call) -> None:
    out = folder / "dossier"
    said = tacita("evaluate", folder / "release.toml", "--attacks", "40", "--out", out)
    assert said.code == 0, said.err
    (score,) = json.loads((out / "dossier.json").read_text())["scores"]
    assert score["name"] == "lower bound on ε: places"
    assert 0 <= score["value"] <= 1
    assert "1 more worker at an establishment of 5" in (out / "dossier.html").read_text()
    said = tacita("evaluate", "--original", folder / "jobs.parquet", "--attacks", "40", "--out", folder / "d")
    assert said.code == 2
    assert "needs the specification" in said.err
