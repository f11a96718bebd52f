"""The Excel workbook of a bundle: read by somebody else's library, harmless, the same each time, and verified."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyarrow.parquet as pq
import pytest
from openpyxl.utils.escape import unescape

from support.bundles import released, spec, table
from support.release import small_release
from tacita.errors import SpecError, VerificationError
from tacita.release.bundle_files import write_manifest
from tacita.release.run import rehearse
from tacita.release.spec import Spec
from tacita.release.verify import verify
from tacita.release.xlsx import Sheet, same_workbook, workbook

FORMULAS = ["=1+1", "+a", "-b", "@sum"]
HELD = [*FORMULAS, "01", "<&>", "_x0041_"]
CODES = [*HELD, "nobody"]
SCHEMA = f"""
[dataset]
identity = "people"
unit = "person"
[variables.code]
type = "categorical"
role = "confidential"
levels = {json.dumps(CODES)}
[variables.hours]
type = "integer"
role = "confidential"
lower = 1
upper = 80
"""
HEAD = 3  # the row of the columns' names
TABLES = (
    table("counts", by=["code"], title="People by code")
    + table("hours", by=["code"], statistic="mean", of="hours", withhold="20%")
    + table("a-table-whose-name-is-longer-than-a-sheet", by=[])
)


def asked(text: str) -> str:
    return text.replace("[cap]", "excel = true\n[cap]", 1)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workbook")
    frame = pd.DataFrame({"code": HELD * 40 + ["01"] * 600, "hours": [30] * (len(HELD) * 40 + 600)})
    return released(folder, SCHEMA, frame, asked(spec(TABLES)))[0]


def rows(sheet: Any) -> list[tuple[Any, ...]]:
    return [tuple(as_excel_shows(cell.value) for cell in row) for row in sheet.iter_rows()]


def as_excel_shows(value: Any) -> Any:
    """Excel reads _x0041_ as A; the library leaves that to others."""
    return unescape(value) if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("name", "sheet"),
    [
        ("counts", "counts"),
        ("hours", "hours"),
        ("a-table-whose-name-is-longer-than-a-sheet", "a-table-whose-name-is-longer-th"),
    ],
)
def test_a_sheet_holds_the_published_table(bundle: Path, name: str, sheet: str) -> None:
    stored = pq.read_table(bundle / "tables" / f"{name}.parquet").drop_columns(["confidence", "guarantee"])
    found = rows(openpyxl.load_workbook(bundle / "tables.xlsx")[sheet])
    assert found[HEAD - 1] == tuple(stored.column_names)
    assert found[HEAD:] == [tuple(row.values()) for row in stored.to_pylist()]
    assert {"value", "margin_of_error", "quality"} <= set(found[HEAD - 1])
    assert "Margins at 0.95 confidence. Guarantee: ε = 1 under one person added or removed" in found[1][0]


def test_a_value_that_is_withheld_is_an_empty_cell(bundle: Path) -> None:
    found = rows(openpyxl.load_workbook(bundle / "tables.xlsx")["hours"])
    at = found[HEAD - 1].index("value")
    withheld = [row for row in found[HEAD:] if row[0] == "nobody"]
    assert [(row[at], row[at + 1]) for row in withheld] == [(None, None)]


def test_text_is_never_a_formula_and_stays_text_when_edited(bundle: Path) -> None:
    sheet = openpyxl.load_workbook(bundle / "tables.xlsx")["counts"]
    cells = [sheet.cell(row, 1) for row in range(HEAD + 1, HEAD + 1 + len(CODES))]
    assert [as_excel_shows(cell.value) for cell in cells] == CODES
    assert {cell.data_type for cell in cells} == {"s"}
    assert {cell.number_format for cell in cells} == {"@"}
    assert [cell.quotePrefix for cell in cells] == [code in FORMULAS for code in CODES]
    with zipfile.ZipFile(bundle / "tables.xlsx") as file:
        assert not any(b"<f>" in file.read(name) for name in file.namelist())


def test_the_first_sheet_says_what_a_reader_must_know(bundle: Path) -> None:
    about = rows(openpyxl.load_workbook(bundle / "tables.xlsx")["about"])
    said = dict(about[1:])
    assert about[0][0] == "Test"
    assert "Taken on trust" in said["Promise"]
    assert said["Privacy loss"] == "ε = 3"
    assert said["Unit of the file"] == "person"
    assert "Assumed" in said
    assert "Not protected" in said
    assert said["Column quality"].startswith("Quality by relative margin")
    assert said["Sheet counts"] == "People by code (tables/counts.csv)"


def test_it_is_the_same_file_each_time_and_carries_no_date(tmp_path: Path) -> None:
    release = small_release(spec={"title": "Employment", "excel": True})
    one, other = (release.write(tmp_path / name) / "tables.xlsx" for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()
    with zipfile.ZipFile(one) as file:
        assert {entry.date_time for entry in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def repacked(content: bytes, part: str = "", old: bytes = b"", new: bytes = b"") -> bytes:
    """The same parts packed without compression, one of them changed."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(packed, "w") as after:
        for entry in before.infolist():
            held = before.read(entry)
            assert entry.filename != part or old in held
            after.writestr(entry.filename, held.replace(old, new) if entry.filename == part else held)
    return packed.getvalue()


def pinned(folder: Path, content: bytes) -> Path:
    """The bundle with another workbook, and a manifest that says it was always so."""
    (folder / "tables.xlsx").write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_text())
    write_manifest(folder, {key: manifest[key] for key in manifest if key not in ("files", "manifest_sha256")})
    return folder


def test_verify_makes_it_again(tmp_path: Path) -> None:
    folder = small_release(spec={"title": "Employment", "excel": True}).write(tmp_path / "bundle")
    content = (folder / "tables.xlsx").read_bytes()
    assert verify(folder)
    forged = repacked(content, "xl/worksheets/sheet2.xml", b"<v>1520</v>", b"<v>9520</v>")
    with pytest.raises(VerificationError, match=r"tables\.xlsx is not what this bundle's plan"):
        verify(pinned(folder, forged))


def test_how_a_workbook_is_packed_does_not_matter_and_what_it_holds_does() -> None:
    content = workbook([Sheet("one", ("Title",), ("a",), [(1,)])])
    assert same_workbook(repacked(content), content)
    assert not same_workbook(repacked(content, "xl/workbook.xml", b"one", b"two"), content)
    for broken in (b"", content[:-40], b"x" * len(content)):
        assert not same_workbook(broken, content)


def test_only_who_asks_gets_one(bundle: Path, tmp_path: Path) -> None:
    assert not (small_release().write(tmp_path / "bundle") / "tables.xlsx").exists()
    text = (bundle.parent / "release.toml").read_text()
    start = text.index("[[table]]")
    (tmp_path / "files.toml").write_text(text[:start] + '[[microdata]]\nname = "files"\ncolumns = ["code"]\n')
    with pytest.raises(SpecError, match="excel: is a workbook of tables, and there is none"):
        Spec.load(tmp_path / "files.toml")


def test_a_rehearsal_says_so_on_every_sheet(bundle: Path, tmp_path: Path) -> None:
    rehearse(Spec.load(bundle.parent / "release.toml"), tmp_path / "rehearsal", seed=1)
    found = openpyxl.load_workbook(tmp_path / "rehearsal" / "tables.xlsx")
    assert len(found.worksheets) == 4
    assert all(sheet.cell(1, 1).value.startswith("REHEARSAL: Test") for sheet in found.worksheets)
