"""Survey tables in a bundle: asked for in a specification, made from its files, shown, described, verified."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest

from support.specifications import head, levels, microdata, number, schema, section
from support.survey import FIELDS, GENDERS
from tacita.data.schema import Schema
from tacita.errors import SpecError, UsageError, VerificationError
from tacita.implicates import Implicates
from tacita.inference.survey import Count, Mean, survey_table
from tacita.release import survey_tables
from tacita.release.plans import prepare
from tacita.release.run import rehearse, run
from tacita.release.spec import Spec
from tacita.release.verify import verify

SCHEMA = schema(
    "doctors",
    "person",
    field=levels("arts", "law", "maths", role="design", label="Field of study", labels={"arts": "Arts & letters"}),
    gender=levels("f", "m", role="public"),
    w=number(1, 60, role="weight"),
    pay=number(0, 900),
) + section("design", weight="w", strata=["field"], public=["field", "gender"])

SPEC = head("doctors", title="Doctors", neighbours="add-remove", unit="person", epsilon="3") + microdata(
    "doctors",
    title="Doctors and their pay",
    mechanism="QuantileSynthesis",
    epsilon="2",
    columns=["w", "pay"],
    groups=["field", "gender"],
    sets=3,
    tables=[["field", "gender"], ["gender"], []],
)
FILES = ["doctors-by-field-gender.csv", "doctors-by-gender.csv", "doctors-total.csv"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    rows = 900
    frame = pd.DataFrame(
        {
            "field": np.array(FIELDS)[rng.integers(3, size=rows)],
            "gender": np.array(GENDERS)[rng.integers(2, size=rows)],
            "w": rng.uniform(2, 50, rows).round(2),
            "pay": rng.lognormal(4, 0.5, rows).round(2),
        }
    )
    frame.to_parquet(tmp_path / "doctors.parquet", index=False)
    (tmp_path / "doctors.schema.toml").write_text(SCHEMA)
    (tmp_path / "doctors.toml").write_text(SPEC)
    return tmp_path


def made(folder: Path, spec: Spec) -> Path:
    run(spec, folder / "bundle")
    return folder / "bundle"


def changed(folder: Path, old: str, new: str, name: str = "doctors.toml") -> Spec:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))
    return Spec.load(folder / "doctors.toml")


def test_the_tables_are_made_from_the_published_files_and_add_up(folder: Path) -> None:
    bundle = made(folder, Spec.load(folder / "doctors.toml"))
    assert sorted(path.name for path in (bundle / "tables").iterdir()) == FILES
    files = Implicates.read(bundle / "microdata", Schema.load(folder / "doctors.schema.toml"))
    wanted = survey_table(files, ["field", "gender"], [Count(), Mean("pay")])
    found = pd.read_csv(bundle / "tables" / FILES[0])
    assert list(found)[:5] == ["field", "gender", "statistic", "value", "standard_error"]
    assert found["statistic"].tolist() == wanted["statistic"].tolist()
    np.testing.assert_allclose(found["value"], wanted["estimate"], rtol=1e-10)
    np.testing.assert_allclose(found["standard_error"], wanted["standard_error"], rtol=1e-9)
    np.testing.assert_allclose(found["margin_of_error"], (wanted["upper"] - wanted["lower"]) / 2, rtol=1e-9)
    assert set(found["guarantee"]) == {"ε = 2 under one person added or removed"}
    far = (found["margin_of_error"] / found["value"].abs()).to_numpy()
    assert ((found["quality"] == "D") == ~(far <= 0.5)).all()
    unreliable = any((pd.read_csv(bundle / "tables" / name)["quality"] == "D").any() for name in FILES)
    assert ("(unreliable)" in (bundle / "report.html").read_text()) == unreliable
    counts = found[found["statistic"] == "count"].set_index(["field", "gender"])["value"]
    for field in (*FIELDS, "all"):
        assert counts[field, "f"] + counts[field, "m"] == counts[field, "all"]
    assert len(pd.read_csv(bundle / "tables" / FILES[2])) == 2


def test_the_bundle_verifies_describes_and_shows_them(folder: Path) -> None:
    bundle = made(folder, changed(folder, "[cap]", "excel = true\n[cap]"))
    sheets = openpyxl.load_workbook(bundle / "tables.xlsx")
    assert sheets.sheetnames == ["about", *(name.removesuffix(".csv") for name in FILES)]
    assert sheets["doctors-by-gender"].max_row == 3 + len(pd.read_csv(bundle / "tables" / FILES[1]))
    assert any("follow from them" in line for line in verify(bundle))
    (record,) = json.loads((bundle / "plan.json").read_text())["microdata"]
    assert record["tables"] == [["field", "gender"], ["gender"], []]
    described = json.loads((bundle / "datapackage.json").read_text())
    (resource,) = [one for one in described["resources"] if one["path"] == f"tables/{FILES[0]}"]
    assert resource["schema"]["primaryKey"] == ["field", "gender", "statistic"]
    page = (bundle / "report.html").read_text()
    assert "<h3>Survey tables</h3>" in page
    assert "Arts &amp; letters" in page
    assert "Mean of pay" in page
    assert "tables/doctors-by-gender.csv" in page
    codebook = (bundle / "codebook.xml").read_text()
    assert "survey table by field, gender" in codebook


def test_a_table_that_was_altered_is_found(folder: Path) -> None:
    from tacita.release.microdata import check_made_again

    bundle = made(folder, Spec.load(folder / "doctors.toml"))
    (record,) = json.loads((bundle / "plan.json").read_text())["microdata"]
    schema = Schema.load(folder / "doctors.schema.toml")
    check_made_again(bundle, record, schema, {})
    path = bundle / "tables" / FILES[1]
    kept = pd.read_csv(path)
    kept.assign(value=kept["value"] * 1.0001).to_csv(path, index=False)
    with pytest.raises(VerificationError, match=r"tables/doctors-by-gender\.csv does not follow"):
        check_made_again(bundle, record, schema, {})
    path.unlink()
    with pytest.raises(VerificationError, match=r"tables/doctors-by-gender\.csv does not follow"):
        check_made_again(bundle, record, schema, {})


def test_a_rehearsal_says_so_in_every_row(folder: Path) -> None:
    bundle = folder / "rehearsal"
    rehearse(Spec.load(folder / "doctors.toml"), bundle, seed=1)
    assert set(pd.read_csv(bundle / "tables" / FILES[0])["guarantee"]) == {"REHEARSAL: no guarantee"}


def test_without_tables_the_bundle_is_as_it_was(folder: Path) -> None:
    spec = changed(folder, 'tables = [["field", "gender"], ["gender"], []]\n', "")
    bundle = made(folder, spec)
    assert not (bundle / "tables").exists()
    (record,) = json.loads((bundle / "plan.json").read_text())["microdata"]
    assert "tables" not in record
    assert "Survey tables" not in (bundle / "report.html").read_text()


TABLES = 'tables = [["field", "gender"], ["gender"], []]'


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ('tables = [["region"]]', "region"),
        ('tables = [["pay"]]', "pay: is not categorical"),
        ('tables = [["gender", "gender"]]', "each names a column once"),
        ('tables = [["gender"], ["gender"]]', "two are by the same columns"),
        ('tables = "gender"', "must be a list"),
    ],
)
def test_tables_that_cannot_be_are_refused_before_anything_is_drawn(folder: Path, new: str, words: str) -> None:
    with pytest.raises(Exception, match=words):
        prepare(changed(folder, TABLES, new))


def test_tables_need_weights_in_the_files_and_two_files(folder: Path) -> None:
    with pytest.raises(SpecError, match="standard errors need two synthetic files"):
        prepare(changed(folder, "sets = 3", "sets = 1"))
    with pytest.raises(SpecError, match="w is needed for them and is no column of the synthetic files"):
        prepare(changed(folder, 'columns = ["w", "pay"]', 'columns = ["pay"]'))
    design: Any = SCHEMA[SCHEMA.index("[design]") :]
    with pytest.raises(SpecError, match="survey tables need weights"):
        prepare(changed(folder, design, "", "doctors.schema.toml"))


def test_public_columns_that_no_standard_error_needs_may_be_missing_from_the_files(folder: Path) -> None:
    """`[design] public` lists what everyone may know, not what every product must hold."""
    changed(folder, TABLES, 'tables = [["field"]]')
    bundle = made(folder, changed(folder, 'groups = ["field", "gender"]', 'groups = ["field"]'))
    assert "gender" not in pd.read_csv(bundle / "microdata" / "implicate-01.csv")
    assert len(pd.read_csv(bundle / "tables" / "doctors-by-field.csv")) == 2 * (len(FIELDS) + 1)


RUN, TABLE = "tacita.synthesis.quantile.plan.QuantileSynthesis.run", "tacita.release.survey_tables.made_table"


@pytest.mark.parametrize(
    ("broken", "error"),
    [(RUN, ZeroDivisionError("so it goes")), (RUN, UsageError("so it goes")), (TABLE, ZeroDivisionError("so it goes"))],
)
def test_what_fails_on_mock_rows_is_found_before_the_charge(
    folder: Path, monkeypatch: pytest.MonkeyPatch, broken: str, error: Exception
) -> None:
    def fails(*args: Any, **more: Any) -> None:
        raise error

    monkeypatch.setattr(broken, fails)
    with pytest.raises(UsageError, match=r"so it goes.*Nothing was spent"):
        run(Spec.load(folder / "doctors.toml"), folder / "bundle")
    assert not (folder / "doctors.ledger").exists()
    assert not (folder / "bundle").exists()


def test_a_mock_sample_that_a_table_cannot_be_made_of_is_no_reason_to_refuse(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, calls = survey_tables.made_table, []

    def first_refused(files: Implicates, *args: Any) -> Any:
        calls.append(files.rows)
        if len(calls) == 1:
            raise UsageError("strata: 1 with a single sampled unit")
        return make(files, *args)

    monkeypatch.setattr(survey_tables, "made_table", first_refused)
    verify(made(folder, Spec.load(folder / "doctors.toml")))
    assert max(calls[0]) < 500 < max(calls[1])
