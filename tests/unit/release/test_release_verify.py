"""`verify` trusts nothing: not the versions that a manifest names, not what kind of file a name stands for."""

import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from support.release import SETTINGS, measured, schema, sealed_extract, small_release
from tacita.data.schema import Schema
from tacita.errors import VerificationError
from tacita.release import bundle as bundle_module
from tacita.release.alike import same_document, same_page, same_values
from tacita.release.bundle_files import write_manifest
from tacita.release.measurements import long_form
from tacita.release.plans import PUBLISHING
from tacita.release.signed import UNSIGNED
from tacita.release.verify import NOT_COMPARED, verify
from tacita.tables.together import publish_all


def repin(folder: Path, **made: object) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["made"].update(made)
    write_manifest(folder, {key: manifest[key] for key in manifest if key not in ("files", "manifest_sha256")})


@pytest.mark.parametrize("library", ["tacita", "numpy", "pyarrow"])
def test_another_version_is_no_reason_not_to_compute_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    version = bundle_module._version
    monkeypatch.setattr(bundle_module, "_version", lambda name: "0.0.9" if name == library else version(name))
    bundle = small_release().write(tmp_path / "bundle")
    assert any(one.endswith("the tables follow from them") for one in verify(bundle))
    path = bundle / "tables/employment.parquet"
    table = pq.read_table(path)
    forged = table.set_column(table.column_names.index("value"), "value", pa.array([15200, 3100, 0]))
    pq.write_table(forged, path)
    pa_csv.write_csv(forged, path.with_suffix(".csv"))
    repin(bundle)
    with pytest.raises(VerificationError, match=rf"does not follow.*made with {library} 0\.0\.9"):
        verify(bundle)


def test_a_table_that_other_code_of_the_same_version_made_says_so(tmp_path: Path) -> None:
    bundle = small_release().write(tmp_path / "bundle")
    path = bundle / "tables/employment.parquet"
    table = pq.read_table(path)
    changed = table.set_column(table.column_names.index("value"), "value", pa.array([15200, 3100, 0]))
    pq.write_table(changed, path)
    pa_csv.write_csv(changed, path.with_suffix(".csv"))
    repin(bundle)
    with pytest.raises(VerificationError, match=r"does not follow from its measurements$"):
        verify(bundle)
    repin(bundle, code="0" * 64)
    with pytest.raises(VerificationError, match="other code than this wrote it, though both are called tacita"):
        verify(bundle)


def linked(folder: Path) -> None:
    (folder / "registry.yaml").rename(folder.parent / "elsewhere")
    (folder / "registry.yaml").symlink_to(folder.parent / "elsewhere")


def endless(folder: Path) -> None:
    (folder / "registry.yaml").unlink()
    (folder / "registry.yaml").symlink_to("/dev/zero")


def piped(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return change


def linked_folder(folder: Path) -> None:
    (folder / "tables").rename(folder.parent / "tables")
    (folder / "tables").symlink_to(folder.parent / "tables")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (linked, "registry.yaml is not a regular file"),
        (endless, "registry.yaml is not a regular file"),
        (piped("registry.yaml"), "registry.yaml is not a regular file"),
        (piped("manifest.json"), "there is no manifest.json"),
        (linked_folder, "tables is not a regular file"),
        (lambda folder: (folder / "more").symlink_to(folder.parent), "more is not a regular file"),
        (lambda folder: (folder / "dangling").symlink_to("nowhere"), "dangling is not a regular file"),
        (lambda folder: (folder / "a" / "b").mkdir(parents=True), "a/b/ is not in the manifest"),
        (lambda folder: (folder / "tables" / "more").mkdir(), "tables/more/ is not in the manifest"),
    ],
)
def test_a_bundle_holds_regular_files_in_folders(bundle: Path, change: Callable[[Path], None], message: str) -> None:
    change(bundle)
    with pytest.raises(VerificationError, match=message):
        verify(bundle)


def test_a_file_of_another_size_is_not_read(bundle: Path) -> None:
    with (bundle / "report.html").open("r+b") as page:
        page.truncate(1 << 40)  # a terabyte that takes no room
    with pytest.raises(VerificationError, match=r"report\.html was changed"):
        verify(bundle)


def test_more_rows_than_the_files_can_hold_are_not_read(bundle: Path) -> None:
    path = bundle / "tables/employment.parquet"
    table = pq.read_table(path)
    pq.write_table(table.take(pa.array([0] * 100_000)), path)
    repin(bundle)
    with pytest.raises(VerificationError, match="claims more rows"):
        verify(bundle)


@pytest.mark.parametrize("place", ["tables", "measurements"])
def test_one_long_text_in_every_row_is_not_unpacked(bundle: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """A few hundred bytes can stand for a gigabyte: a dictionary holds the text once, and each row points at it."""
    monkeypatch.setattr("tacita.release.remade._MOST_LETTERS", 1 << 20)
    path = bundle / place / "employment.parquet"
    table = pq.read_table(path)
    pointed = pa.DictionaryArray.from_arrays(pa.array([0] * table.num_rows, pa.int32()), pa.array(["a" * (1 << 20)]))
    pq.write_table(table.set_column(0, table.column_names[0], pointed), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 20_000
    repin(bundle)
    with pytest.raises(VerificationError, match="claims more rows than its bundle can hold"):
        verify(bundle)


def test_lists_within_a_table_are_not_unpacked(bundle: Path) -> None:
    path = bundle / "tables/employment.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(0, table.column_names[0], pa.array([[1]] * table.num_rows)), path)
    repin(bundle)
    with pytest.raises(VerificationError, match="holds other things than numbers"):
        verify(bundle)


def test_pictures_that_never_end_are_looked_at_once() -> None:
    """A page of two megabytes took hours."""
    began = time.process_time()
    assert not same_page("<svg " * 400_000, "<p>1</p>")
    assert time.process_time() - began < 10


def test_randomness_from_a_seed_is_no_release(bundle: Path) -> None:
    repin(bundle, randomness="seeded (rehearsal)")
    with pytest.raises(VerificationError, match="rehearsal, not a release"):
        verify(bundle)


def test_a_colon_in_the_name_is_no_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small_release().write("jobs:v2")
    assert verify("jobs:v2")


def test_floats_are_compared_to_nine_digits_and_the_rest_exactly() -> None:
    one = pa.table({"a": [0.1, None, float("nan")], "b": ["x", "y", None]})
    assert same_values(one, one.set_column(0, "a", pa.array([0.1 + 1e-13, None, float("nan")])))
    assert not same_values(one, one.set_column(0, "a", pa.array([0.1 + 1e-6, None, float("nan")])))
    assert not same_values(one, one.set_column(0, "a", pa.array([0.1, 0.0, float("nan")])))
    assert not same_values(one, one.set_column(1, "b", pa.array(["x", "z", None])))
    assert not same_values(one, one.slice(1))
    assert not same_document({"a": 1}, {"a": 1.0})
    assert not same_document({"a": [1]}, {"a": [1, 2]})


def test_it_is_said_that_a_bundle_can_be_forged() -> None:
    assert "not signed" in UNSIGNED


# ---------------------------------------------------------------- text that a spreadsheet would run


def test_a_csv_file_runs_nothing(tmp_path: Path) -> None:
    content = schema().to_dict()
    labels = {"-1": "@SUM(A1)", "=1+1": "minus", "03": "Harbour"}
    content["variables"]["place"] |= {"levels": list(labels), "labels": labels}
    odd = Schema.from_dict(content)
    (table,) = publish_all([measured()], odd, [{key: SETTINGS[key] for key in PUBLISHING}])
    release = small_release(schema=odd, ledger_extract=sealed_extract(of=odd))
    (product,) = release.products
    product = replace(product, table=table, measurements=long_form(measured(), odd))
    out = replace(release, products=(product,)).write(tmp_path / "bundle")
    text = (out / "tables/employment.csv").read_text()
    assert '"\'=1+1"' in text
    assert '"-1"' in text  # a code that is a number, and numbers themselves, stay
    assert '"\'@SUM(A1)"' in text
    assert set(pq.read_table(out / "tables/employment.parquet")["place"].to_pylist()) == {"-1", "=1+1", "03"}
    fields = json.loads((out / "datapackage.json").read_text())["resources"][0]["schema"]["fields"]
    assert fields[0]["constraints"]["enum"] == ["-1", "'=1+1", "03"]
    assert verify(out)


# ---------------------------------------------------------------- files that follow from the others


EDITS = {
    "report.html": ("Employment by place", "Employment by face"),
    "registry.yaml": ("An office", "Another office"),
    "codebook.xml": ("Upper", "Lower"),
    "datapackage.json": ("An office", "Another office"),
    "sdmx/structure.xml": ("Upper", "Lower"),
    "sdmx/employment.csv": ("0.9", "0.8"),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_page_or_record_that_was_edited_and_pinned_again_is_found(bundle: Path, name: str) -> None:
    before, after = EDITS[name]
    text = (bundle / name).read_text()
    assert before in text
    (bundle / name).write_text(text.replace(before, after, 1))
    repin(bundle)
    with pytest.raises(VerificationError, match=rf"{name} (is not|does not)"):
        verify(bundle)


def test_a_chart_may_be_drawn_otherwise_but_says_the_same(bundle: Path) -> None:
    page = (bundle / "report.html").read_text()
    (bundle / "report.html").write_text(re.sub(r"translate\(\d", "translate(9", page))
    repin(bundle)
    assert verify(bundle)[-1] == "the page and the records for archives follow from the rest"
    words = re.search(r"<svg.*?<text[^>]*>([^<]+)<", page, re.DOTALL)
    assert words
    (bundle / "report.html").write_text(page[: words.start(1)] + "forged" + page[words.end(1) :])
    repin(bundle)
    with pytest.raises(VerificationError, match=r"report\.html is not the page"):
        verify(bundle)


def test_what_other_code_wrote_is_said_not_to_be_compared(bundle: Path) -> None:
    repin(bundle, code="other")
    assert verify(bundle)[-1].startswith(NOT_COMPARED)
