"""From a draft to a plan with little to fill in, for every kind of file; and what is said on the way names its file."""

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from support.command_line import Call
from tacita.errors import SchemaError, UsageError, explained_at, naming
from tacita.privacy import NumbersWithin
from tacita.release.plans import prepare
from tacita.release.spec import Spec
from tacita.release.words import not_protected

FILES: dict[str, pd.DataFrame] = {
    "persons": pd.DataFrame({"sex": [1, 2] * 20, "age": list(range(20, 60))}),
    "households": pd.DataFrame({"tenure": [1, 2] * 20, "members": [1, 2, 3, 4] * 10}),
    "survey": pd.DataFrame({"region": [1, 2] * 20, "zinc": [80.5] * 40, "finalwgt": [120] * 40}),
    "establishments": pd.DataFrame({"state": ["ID", "ND"] * 20, "jobs": [1, 20] * 20}),
    "jobs": pd.DataFrame({"worker": range(40), "place": [1, 2] * 20, "county": ["a", "b"] * 20}),
    "panel": pd.DataFrame(
        {"firm": [f"f{one // 2}" for one in range(40)], "year": [2001, 2002] * 20, "emp": [5] * 40}
    ).assign(sector="x"),
}
CODES = {"sex": '"1", "2"', "tenure": '"1", "2"', "region": '"1", "2"'}
# What a person writes, line by line; as many as the bar allows.
FILLED: dict[str, list[str]] = {
    "persons": ["age lower 0", "age upper 110", "by sex", "of age", "by sex"],
    "households": ["members lower 1", "members upper 15", "by tenure", "of members", "by tenure"],
    "survey": [
        *("zinc lower 0", "zinc upper 300", "finalwgt lower 1", "finalwgt upper 500"),
        *("by region", "of zinc", "by region"),
    ],
    "establishments": [
        *('state role "public"', 'state levels ["ID", "ND"]', "jobs lower 0", "jobs upper 500"),
        *("of jobs", "by state"),
    ],
    "jobs": ['county role "workplace"', 'county levels ["a", "b"]', "by county"],
    "panel": [
        *('sector role "public"', 'sector levels ["x"]', "year lower 2001", "year upper 2002"),
        *("emp lower 0", "emp upper 900", "columns emp", "period year", "keep sector", "years [2001, 2002]"),
    ],
}
IDS = {"panel": {"firm": "establishment"}, "jobs": {"worker": "worker", "place": "workplace"}}


def written(schema: str, column: str, key: str, value: str) -> str:
    """The schema with the value of one key of one column."""
    head, found, rest = schema.partition(f"[variables.{column}]\n")
    assert found, column
    changed, many = re.subn(rf"^{key} = .*$", f"{key} = {value}", rest, count=1, flags=re.MULTILINE)
    assert many, key
    return head + found + changed


def identified(schema: str, column: str, entity: str) -> str:
    """The schema with one column declared as an id."""
    head, found, rest = schema.partition(f"[variables.{column}]\n")
    assert found, column
    assert f'"{entity}"' in head, "the draft says what the entity is called"
    return f'{head}{found}role = "id"\nentity = "{entity}"\n\n{rest.partition(chr(10) * 2)[2]}'


def finished(kind: str, folder: Path, tacita: Call) -> tuple[Path, int]:
    """What `init` drafts for such a file, filled in as a person would; and how many values that took."""
    FILES[kind].to_csv(folder / "f.csv", index=False)
    said = tacita("init", folder / "f.csv", "--kind", kind, "--out", folder)
    assert said.code == 0, said.err
    schema, spec = folder / "f.schema.toml", folder / "f.release.toml"
    columns, release, count = schema.read_text(), spec.read_text(), 0
    for column in FILES[kind].columns:
        if column in CODES:  # numbers that are codes: the drafted bounds may stay as they are
            columns = written(columns, column, "type", f'"categorical"\nlevels = [{CODES[column]}]')
            count += 2
    for column, entity in IDS.get(kind, {}).items():
        columns = identified(columns, column, entity)
        count += 1
    for line in FILLED[kind]:
        where, value = line.split(" ", 1)
        count += 1
        if where in FILES[kind].columns:
            columns = written(columns, where, *value.split(" ", 1))
        elif where == "years":
            release = release.replace("years = [2000, 2020]", f"years = {value}")
        else:
            release = re.sub(rf'^({where} = .*?)"TODO"', rf'\1"{value}"', release, count=1, flags=re.MULTILINE)
    schema.write_text(columns)
    spec.write_text(release)
    return spec, count


@pytest.mark.parametrize("kind", list(FILES))
def test_a_finished_draft_of_every_kind_fits_its_cap(kind: str, tmp_path: Path, tacita: Call) -> None:
    spec, filled = finished(kind, tmp_path, tacita)
    planned = prepare(Spec.load(spec))
    assert planned.fits
    assert filled <= 12
    assert "TODO" not in re.sub(r"#.*", "", spec.read_text())


def test_a_column_called_as_weights_are_is_the_weight_of_a_survey(tmp_path: Path, tacita: Call) -> None:
    FILES["survey"].to_csv(tmp_path / "f.csv", index=False)
    said = tacita("init", tmp_path / "f.csv", "--kind", "survey", "--out", tmp_path)
    assert "one row is a respondent of a sample" in " ".join(said.out.split())
    assert tomllib.loads((tmp_path / "f.release.toml").read_text())["table"][1]["weights"] == "finalwgt"
    assert tomllib.loads((tmp_path / "f.schema.toml").read_text())["variables"]["finalwgt"]["role"] == "weight"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("age", "upper", "-1"), r"schema f\.schema\.toml: variables\.age\.lower: is above upper"),
        (("sex", "levels", "[1, 2]"), r"schema f\.schema\.toml: variables\.sex\.levels: must be a list of texts"),
        (
            ("sex", "levels", '["1", "3"]'),
            r"data f\.csv, schema f\.schema\.toml: table .counts.: person\.sex: a value",
        ),
        (("sex", "levels", '["TODO"]'), r"schema f\.schema\.toml: table .counts.: variables\.sex: still says TODO"),
    ],
)
def test_messages_name_the_files(change: tuple[str, str, str], said: str, tmp_path: Path, tacita: Call) -> None:
    spec, _ = finished("persons", tmp_path, tacita)
    schema = tmp_path / "f.schema.toml"
    schema.write_text(written(schema.read_text(), *change))
    refused = tacita("run", spec, "--out", tmp_path / "bundle")
    assert refused.code == 2
    assert re.search(said, " ".join(refused.err.split()))
    assert "docs/keys.md#variables" in refused.err
    assert not (tmp_path / "f.ledger").exists()


def test_a_column_that_the_file_lacks_is_said_of_the_file(tmp_path: Path, tacita: Call) -> None:
    spec, _ = finished("persons", tmp_path, tacita)
    FILES["persons"][["sex"]].to_csv(tmp_path / "f.csv", index=False)
    refused = " ".join(tacita("run", spec, "--out", tmp_path / "bundle").err.split())
    assert (
        "data f.csv, schema f.schema.toml: person.age: the schema declares this column and the file lacks it" in refused
    )


def test_a_wrong_setting_names_the_specification(tmp_path: Path, tacita: Call) -> None:
    spec, _ = finished("persons", tmp_path, tacita)
    spec.write_text(spec.read_text().replace('statistic = "mean"', 'statistic = "average"'))
    said = " ".join(tacita("plan", spec).err.split())
    assert 'f.release.toml: table "means": statistic: must be one of' in said
    assert "docs/keys.md#table" in said


def test_a_file_called_after_a_section_is_not_taken_for_it() -> None:
    with pytest.raises(SchemaError) as caught, naming(schema="design.toml"):
        raise SchemaError("variables.age.lower: is above upper")
    assert explained_at(caught.value) == "docs/keys.md#variables"
    with pytest.raises(UsageError, match=r"^--out: no$"), naming(schema="a.toml"):
        raise UsageError("--out: no")


@pytest.mark.parametrize(("unit", "said"), [("establishment", "That an establishment"), ("firm", "That a firm")])
def test_units_have_their_article(unit: str, said: Any) -> None:
    assert not_protected(NumbersWithin(unit, "0.1"))[0].startswith(said)


def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_paid(tmp_path: Path, tacita: Call) -> None:
    spec, _ = finished("persons", tmp_path, tacita)
    refused = tacita("run", spec, "--out", tmp_path / "f.csv" / "bundle")
    assert refused.code == 2
    assert "--out" in refused.err
    assert "Unexpected" not in refused.err
    assert not (tmp_path / "f.ledger").exists()


def test_a_drafted_panel_is_rehearsed_on_mock_rows(tmp_path: Path, tacita: Call) -> None:
    spec, _ = finished("panel", tmp_path, tacita)
    done = tacita("rehearse", spec, "--mock", "--seed", 1, "--out", tmp_path / "rehearsal")
    assert done.code == 0, done.err
    assert list((tmp_path / "rehearsal" / "microdata").rglob("implicate-01.parquet"))


def test_someone_at_a_terminal_is_asked_what_the_file_is(
    tmp_path: Path, tacita: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("tacita.cli.sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("tacita.cli.typer.prompt", lambda words, default: (asked.append(words), "jobs")[1])
    FILES["jobs"].to_csv(tmp_path / "f.csv", index=False)
    said = tacita("init", tmp_path / "f.csv", "--out", tmp_path)
    assert said.code == 0, said.err
    assert asked == ["What is the file"]
    assert "establishments: one row is an establishment or firm" in " ".join(said.out.split())
    assert tomllib.loads((tmp_path / "f.release.toml").read_text())["cap"]["neighbours"] == "strong"


def test_counts_of_a_survey_are_drafted_with_its_weight(tmp_path: Path, tacita: Call) -> None:
    FILES["survey"].to_csv(tmp_path / "f.csv", index=False)
    assert tacita("init", tmp_path / "f.csv", "--kind", "survey", "--out", tmp_path).code == 0
    tables = tomllib.loads((tmp_path / "f.release.toml").read_text())["table"]
    assert [one["weights"] for one in tables] == ["finalwgt", "finalwgt"]
