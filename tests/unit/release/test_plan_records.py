"""`tacita plan --records`: forecasts of a file whose size is known, and tables whose cells would stay empty."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from support.bundles import spec, table
from support.command_line import Call
from support.mixed_people import COLUMNS, schema_text
from tacita.release.outlook import show_plan
from tacita.release.plans import prepare
from tacita.release.spec import Spec

FILE = f'[[microdata]]\nname = "people"\ncolumns = {COLUMNS}\nepsilon = "1"\ndelta = "0"\n'
TABLES = (
    table("means", statistic="mean", of="worth", by=["sex"])
    + table("per-kid", statistic="ratio", of=["worth", "kids"], by=["sex", "group"], epsilon="1/2")
    + table("middle", statistic="quantiles", of="age", quantiles=["0.1", "0.9"], by=["sex"])
)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    (tmp_path / "file.schema.toml").write_text(schema_text(), encoding="utf-8")
    (tmp_path / "release.toml").write_text(spec(TABLES + FILE), encoding="utf-8")
    return tmp_path / "release.toml"


def _said(path: Path, records: int | None) -> str:
    shown = io.StringIO()
    show_plan(Console(width=120, file=shown), prepare(Spec.load(path)), records)
    return " ".join(shown.getvalue().split())


@pytest.mark.parametrize("check", ["", "check = {}\n"])
def test_forecasts_of_files_speak_of_so_many_records(release: Path, check: str) -> None:
    release.write_text(release.read_text(encoding="utf-8") + check, encoding="utf-8")
    assert "If there are 10,000 records:" in _said(release, None)
    assert "If there are 2,345 records:" in _said(release, 2345)


def test_tables_whose_cells_would_stay_empty_are_named(release: Path) -> None:
    assert "would stay empty" not in _said(release, None)
    said = _said(release, 300)
    assert said.count("most would stay empty. Use fewer or coarser attributes, or a larger epsilon.") == 1
    warned = said.index("With 300 records a cell has about 50, and needs about")
    assert said.index("(per-kid)") < warned < said.index("(middle)")
    assert "would stay empty" not in _said(release, 100_000)


def test_the_work_of_a_run_on_this_machine_is_foretold(release: Path) -> None:
    assert "The work" not in _said(release, None)
    assert re.search(r"The work About \d+ seconds of processor time and 0\.\d GB of memory", _said(release, 2345))
    elsewhere = 'engine = "spark"\n' + release.read_text(encoding="utf-8").lstrip()
    release.write_text(elsewhere, encoding="utf-8")
    assert "The work" not in _said(release, 2345)


def test_more_records_than_a_file_may_have_are_refused_by_the_name_of_the_option(release: Path, tacita: Call) -> None:
    said = tacita("plan", release, "--records", "1000000001")
    assert said.code == 2
    assert "--records" in said.err
