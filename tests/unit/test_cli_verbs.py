"""Rehearsals, drafts, evaluations and every kind of table through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from support.command_line import SCHEMA, SECRET, SPEC, Call, replaced, write_jobs


@pytest.mark.parametrize("source", ["mock", "public"])
def test_a_rehearsal_spends_nothing_and_does_not_verify(folder: Path, tacita: Call, source: str) -> None:
    spec, out = folder / "release.toml", folder / "rehearsal"
    write_jobs(folder / "public.parquet", lambda job: "south" if job % 3 else "north", first_id=1000)
    rows = ["--mock"] if source == "mock" else ["--public-data", folder / "public.parquet"]
    done = tacita("rehearse", spec, *rows, "--seed", 7, "--out", out)
    assert done.code == 0, done.err
    assert "REHEARSAL" in done.out
    assert not (folder / "jobs.ledger").exists()
    refused = tacita("verify", out)
    assert refused.code == 4
    assert "rehearsal, not a release" in refused.err
    tacita("rehearse", spec, *rows, "--seed", 7, "--out", folder / "again")
    assert "Explore: Test tables" in (out / "explore.html").read_text(encoding="utf-8")
    table = "tables/places.csv"
    assert (out / table).read_bytes() == (folder / "again" / table).read_bytes()


def test_confidential_rows_are_not_rehearsed_on(folder: Path, tacita: Call) -> None:
    """A rehearsal's seed is printed: on the confidential rows its noise could be taken off again."""
    spec, rows = folder / "release.toml", folder / "jobs.parquet"
    (folder / "link.parquet").symlink_to(rows)
    (folder / "hard.parquet").hardlink_to(rows)
    (folder / "copy.parquet").write_bytes(rows.read_bytes())
    pa_csv.write_csv(pq.read_table(rows).take(list(range(59, -1, -1))), folder / "same.csv")  # the rows, otherwise
    asked = ("rehearse", spec, "--seed", 1, "--out", folder / "out", "--public-data")
    for name in ("jobs.parquet", "link.parquet", "hard.parquet", "copy.parquet", "same.csv"):
        said = tacita(*asked, folder / name)
        assert said.code == 3, name
        assert "confidential file of this specification" in said.err
    assert tacita("run", spec, "--out", folder / "bundle").code == 0
    for name in ("jobs.parquet", "link.parquet", "hard.parquet", "copy.parquet"):
        (folder / name).unlink()
    said = tacita(*asked, folder / "same.csv")  # the file is gone, and the ledger knows its rows
    assert said.code == 3
    assert "paid for in the ledger" in said.err
    assert not (folder / "out").exists()


def test_confidential_values_are_not_drafted_as_public(folder: Path, tacita: Call) -> None:
    (folder / "copy.parquet").write_bytes((folder / "jobs.parquet").read_bytes())
    (folder / "link.parquet").symlink_to(folder / "jobs.parquet")
    for name in ("jobs.parquet", "copy.parquet", "link.parquet"):
        said = tacita("init", folder / "jobs.parquet", "--public-copy", folder / name, "--out", folder / "draft")
        assert said.code == 3
        assert "is the confidential file itself" in said.err
    assert not (folder / "draft").exists()


def test_a_rehearsal_on_the_confidential_file_less_a_row_is_refused(folder: Path, tacita: Call) -> None:
    rows = pq.read_table(folder / "jobs.parquet")
    pq.write_table(rows.slice(0, rows.num_rows - 1), folder / "less.parquet")
    done = tacita(
        "rehearse",
        folder / "release.toml",
        "--public-data",
        folder / "less.parquet",
        "--seed",
        7,
        "--out",
        folder / "r",
    )
    assert done.code == 3
    assert "holds ids of the confidential file" in done.err


ALPHA = 'neighbours = "strong"\nalpha = "0.1"\nepsilon = "9"'

WEAK = 'neighbours = "weak"\nalpha = "0.1"\nepsilon = "9"'


def unit(name: str) -> str:
    return f'neighbours = "add-remove"\nunit = "{name}"\nepsilon = "9"'


@pytest.mark.parametrize(
    ("cap", "table"),
    [
        (ALPHA, 'mechanism = "SmoothStaircase"\nby = ["place"]\nmargin_share = "1/4"\ntotals = ["place"]'),
        (ALPHA, 'mechanism = "SmoothStaircase"\nby = []\nintegers = false\nnonnegative = false'),
        (ALPHA, 'mechanism = "SmoothStaircase"\nby = ["place"]\nworker = ["sex"]'),
        (ALPHA, 'mechanism = "SmoothVector"\nby = ["place"]\nworker = ["sex"]\nmargin_share = "1/4"\ntotals = ["sex"]'),
        (ALPHA, 'mechanism = "LogLaplace"\nby = ["place"]\nconfidence = "0.9"'),
        (ALPHA, 'mechanism = "SmoothStudent"\nby = ["place"]\nrank = true'),
        (ALPHA, 'mechanism = "SmoothGamma"\nby = ["place"]'),
        (WEAK, 'mechanism = "SmoothStaircase"\nby = ["place"]\nwhere = { sex = ["F"] }'),
        (WEAK, 'mechanism = "SmoothStaircase"\nby = ["place"]\nworker = ["sex"]\nmargin_share = "1/4"'),
        (ALPHA + '\ndelta = "0.01"', 'mechanism = "SmoothLaplace"\nby = ["place"]\ndelta = "0.001"'),
        (unit("worker"), 'mechanism = "EdgeLaplace"\nby = ["place"]\nworker = ["sex"]'),
        (unit("establishment"), 'mechanism = "TruncatedLaplace"\nby = ["place"]\ntheta = 20'),
    ],
)
def test_every_kind_of_table_runs_and_verifies(folder: Path, tacita: Call, cap: str, table: str) -> None:
    head = SPEC[: SPEC.index("[cap]")]
    spec = folder / "release.toml"
    spec.write_text(f'{head}[cap]\n{cap}\n[[table]]\nname = "one"\nepsilon = "2"\n{table}\n')
    assert tacita("plan", spec).code == 0
    done = tacita("run", spec, "--out", folder / "bundle")
    assert done.code == 0, done.err
    checked = tacita("verify", folder / "bundle", "--ledger", folder / "jobs.ledger")
    assert checked.code == 0, checked.err
    assert "the tables follow from them" in checked.out


def test_plan_says_how_the_ledger_stands(folder: Path, tacita: Call) -> None:
    spec = folder / "release.toml"
    assert "The ledger is new; ε = 1 would be left" in tacita("plan", spec).out
    assert tacita("run", spec, "--out", folder / "one").code == 0
    assert "strong α = 0.1 neighbours ε = 2 ε = 1 ε = 1 ε = 0 It fits." in tacita("plan", spec).out
    replaced('epsilon = "1"', 'epsilon = "3/2"')(folder)
    said = tacita("plan", spec)
    assert "It does not fit what is left under strong α = 0.1 neighbours (ε = 1)" in said.out
    assert said.code == tacita("run", spec, "--out", folder / "two").code == 3
    replaced('epsilon = "2"', 'epsilon = "5"')(folder)
    said = tacita("plan", spec)
    assert "The ledger's cap is ε = 2, not ε = 5" in said.out
    assert "Correct [cap]." in said.out
    assert said.code == tacita("run", spec, "--out", folder / "two").code == 3


def test_a_release_over_the_cap_is_planned_and_said_not_to_fit(folder: Path, tacita: Call) -> None:
    replaced('epsilon = "1"', 'epsilon = "3"')(folder)
    said = tacita("plan", folder / "release.toml")
    assert said.code == 3
    assert "It does not fit the cap" in said.out
    assert "The error to expect" in said.out


def test_a_cap_that_this_release_would_break_leaves_the_ledger_as_it_was(folder: Path, tacita: Call) -> None:
    """A second spec on the same ledger, with a plan that says nothing about what the first one promised."""
    spec = folder / "release.toml"
    assert tacita("run", spec, "--out", folder / "one").code == 0
    ledger = (folder / "jobs.ledger").read_bytes()
    worker = 'neighbours = "add-remove"\nunit = "worker"'
    text = spec.read_text().replace('neighbours = "strong"\nalpha = "0.1"', worker)
    spec.write_text(text.replace("SmoothStaircase", "EdgeLaplace"))
    said = tacita("run", spec, "--out", folder / "two")
    assert said.code == 3
    assert "promises protection under strong" in said.err
    assert (folder / "jobs.ledger").read_bytes() == ledger


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


def test_explore_writes_a_page_from_public_things_alone(folder: Path, tacita: Call) -> None:
    """The confidential file may be elsewhere, and no ledger comes into being."""
    (folder / "jobs.parquet").unlink()
    done = tacita("explore", folder / "release.toml")
    assert done.code == 0, done.err
    page = folder / "release.explore.html"
    assert "Test tables" in page.read_text(encoding="utf-8")
    assert not (folder / "jobs.ledger").exists()
    again = tacita("explore", folder / "release.toml")
    assert again.code == 2
    assert "add --force" in again.err
    assert tacita("explore", folder / "release.toml", "--out", folder / "other.html").code == 0
    assert (folder / "other.html").read_bytes() == page.read_bytes()
    kept = tacita("explore", folder / "release.toml", "--out", folder / "jobs.schema.toml", "--force")
    assert kept.code == 2
    assert (folder / "jobs.schema.toml").read_text() == SCHEMA


def test_explore_refuses_what_plan_refuses(folder: Path, tacita: Call) -> None:
    replaced('by = ["place"]', 'by = ["plaace"]')(folder)
    refused = tacita("explore", folder / "release.toml")
    assert refused.code == 2
    assert "plaace" in refused.err
    assert not (folder / "release.explore.html").exists()
