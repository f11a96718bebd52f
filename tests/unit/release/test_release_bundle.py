import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from support.release import sealed_extract, small_release
from tacita.errors import UsageError, VerificationError
from tacita.privacy import Loss
from tacita.release.bundle import Budget
from tacita.release.bundle_files import bundle_files, json_bytes, write_manifest
from tacita.release.page import render_page
from tacita.release.verify import verify

FILES = [
    "codebook.xml",
    "datapackage.json",
    "ledger.json",
    "measurements/employment.parquet",
    "plan.json",
    "registry.yaml",
    "report.html",
    "sdmx/employment.csv",
    "sdmx/structure.xml",
    "tables/employment.csv",
    "tables/employment.parquet",
]


def test_layout_is_the_published_one(bundle: Path) -> None:
    assert bundle_files(bundle) == FILES
    assert (bundle / "manifest.json").is_file()


def test_a_sound_bundle_verifies(bundle: Path) -> None:
    assert len(verify(bundle)) == 8


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
@pytest.mark.parametrize("where", [0.0, 0.37, 0.5, 0.81, 1.0])
def test_one_changed_byte_is_found(bundle: Path, name: str, where: float) -> None:
    path = bundle / name
    content = bytearray(path.read_bytes())
    content[int(where * (len(content) - 1))] ^= 0x01
    path.write_bytes(content)
    with pytest.raises(VerificationError):
        verify(bundle)


def test_a_changed_space_in_the_manifest_is_found(bundle: Path) -> None:
    path = bundle / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"title": ', b'"title":  ', 1))
    with pytest.raises(VerificationError, match=r"manifest\.json was changed"):
        verify(bundle)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(bundle: Path, name: str) -> None:
    (bundle / name).unlink()
    with pytest.raises(VerificationError, match=name):
        verify(bundle)


def test_an_added_file_is_named(bundle: Path) -> None:
    (bundle / "tables" / "extra.csv").write_text("a\n1\n")
    with pytest.raises(VerificationError, match=r"tables/extra.csv is not in the manifest"):
        verify(bundle)


def _repin(folder: Path) -> None:
    """Somebody edits a file and writes the hashes anew: only the content can give it away."""
    manifest = json.loads((folder / "manifest.json").read_text())
    write_manifest(folder, {key: manifest[key] for key in manifest if key not in ("files", "manifest_sha256")})


def _edit(name: str, change: Callable[[dict], None]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        document = json.loads((folder / name).read_text())
        change(document)
        (folder / name).write_bytes(json_bytes(document))

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (_edit("plan.json", lambda plan: plan["guarantee"]["loss"].update(epsilon="0.5")), "do not add up"),
        (_edit("plan.json", lambda plan: plan["tables"][0]["mechanism"].update(epsilon="9")), "no finished entry pays"),
        (_edit("plan.json", lambda plan: plan.pop("tables")), "lacks a part"),
        (
            _edit("plan.json", lambda plan: plan["tables"][0].update(name="../../secret")),
            "not one that a file can have",
        ),
        (_edit("plan.json", lambda plan: plan.update(title="Another")), "title or public inputs"),
        (_edit("plan.json", lambda plan: plan.update(source="a public file")), "rehearsal, not a release"),
        (_edit("plan.json", lambda plan: plan["schema"]["dataset"].update(identity="x")), "the schema is not the one"),
        (lambda folder: (folder / "registry.yaml").write_text('status: "REHEARSAL"'), "rehearsal, not a release"),
        (lambda folder: (folder / "plan.json").write_text("[" * 100_000 + "]" * 100_000), "lacks a part"),
        (lambda folder: (folder / "plan.json").write_text("[]"), "lacks a part"),
        (lambda folder: (folder / "datapackage.json").write_text("{}"), "lacks a part"),
        (
            lambda folder: (folder / "sdmx/employment.csv").write_text(
                (folder / "sdmx/employment.csv").read_text().replace("310", "3100")
            ),
            "does not hold the values of tables/employment.csv",
        ),
        (_edit("ledger.json", lambda ledger: ledger["left"].update(epsilon="1")), "do not add up to the cap"),
        (_edit("ledger.json", lambda ledger: ledger["extract"]["entries"].pop()), "no finished entry pays"),
        (
            _edit(
                "ledger.json", lambda ledger: (ledger["cap"].update(epsilon="3"), ledger["left"].update(epsilon="1.5"))
            ),
            "the cap is not the one that the ledger sealed",
        ),
        (
            _edit("ledger.json", lambda ledger: ledger["extract"]["entries"][2]["entry"].update(label="x")),
            "not what was sealed",
        ),
        (
            lambda folder: (folder / "measurements/employment.parquet").rename(folder / "measurements/other.parquet"),
            "measurements/ does not hold",
        ),
        (
            lambda folder: (folder / "tables/employment.csv").write_text(
                (folder / "tables/employment.csv").read_text().replace("310", "311")
            ),
            "do not hold the same values",
        ),
    ],
)
def test_a_repinned_forgery_contradicts_itself(bundle: Path, edit: Callable[[Path], None], message: str) -> None:
    edit(bundle)
    _repin(bundle)
    with pytest.raises(VerificationError, match=message):
        verify(bundle)


def test_a_rehearsal_is_refused_and_stamped_everywhere(tmp_path: Path) -> None:
    out = small_release(seed=7, source="mock rows").write(tmp_path / "rehearsal")
    with pytest.raises(VerificationError, match="rehearsal, not a release"):
        verify(out)
    assert json.loads((out / "manifest.json").read_text())["rehearsal"] is True
    assert (out / "REHEARSAL.txt").is_file()
    assert pq.read_table(out / "tables/employment.parquet")["guarantee"].unique().to_pylist() == [
        "REHEARSAL: no guarantee"
    ]
    for name in ("report.html", "registry.yaml", "codebook.xml", "datapackage.json", "tables/employment.csv"):
        assert "REHEARSAL" in (out / name).read_text(), name


def test_a_rehearsal_does_not_pass_by_dropping_its_stamp(tmp_path: Path) -> None:
    out = small_release(seed=7).write(tmp_path / "rehearsal")
    (out / "REHEARSAL.txt").unlink()
    manifest = json.loads((out / "manifest.json").read_text()) | {"rehearsal": False}
    write_manifest(out, {key: manifest[key] for key in manifest if key not in ("files", "manifest_sha256")})
    with pytest.raises(VerificationError, match="rehearsal"):
        verify(out)


def test_a_full_folder_is_kept_without_force(bundle: Path) -> None:
    before = {name: (bundle / name).read_bytes() for name in bundle_files(bundle)}
    with pytest.raises(UsageError, match="--force"):
        small_release(title="Other").write(bundle)
    assert {name: (bundle / name).read_bytes() for name in bundle_files(bundle)} == before


def test_force_replaces_the_whole_folder(bundle: Path) -> None:
    small_release(title="Other").write(bundle, force=True)
    assert json.loads((bundle / "plan.json").read_text())["title"] == "Other"
    assert [path.name for path in bundle.parent.iterdir()] == ["bundle"]


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> str:
        raise RuntimeError("no page today")

    monkeypatch.setattr("tacita.release.records.render_page", fail)
    with pytest.raises(RuntimeError):
        small_release().write(tmp_path / "bundle")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_forced_write_keeps_the_old_bundle(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> str:
        raise RuntimeError("no page today")

    monkeypatch.setattr("tacita.release.records.render_page", fail)
    with pytest.raises(RuntimeError):
        small_release(title="Other").write(bundle, force=True)
    assert len(verify(bundle)) == 8
    assert [path.name for path in bundle.parent.iterdir()] == ["bundle"]


def test_the_manifest_lists_versions_and_public_inputs(bundle: Path) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    assert manifest["made"]["versions"]["numpy"]
    assert manifest["made"]["randomness"] == "operating system"
    assert manifest["schema"]["sha256"] == small_release().schema.hash
    assert manifest["public_inputs"] == [
        {"what": "Code list of places", "source": "a public register", "sha256": "ab" * 32}
    ]


def test_a_bundle_can_be_moved(bundle: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "copy"
    shutil.copytree(bundle, moved)
    assert verify(moved)


def test_missing_margins_and_labels_survive_both_formats(tmp_path: Path) -> None:
    release = small_release()
    (product,) = release.products
    table = product.table.set_column(3, "margin_of_error", pa.array([60.5, None, 9.0]))
    table = table.set_column(1, "place_label", pa.array(["Upper <Town>", None, ""]))
    out = small_release(products=(replace(product, table=table),)).write(tmp_path / "bundle")
    # Both formats agree, so what is found is that the table was not made from its measurements.
    with pytest.raises(VerificationError, match=r"tables/employment\.parquet does not follow"):
        verify(out)


def _forge_measurement(folder: Path) -> None:
    path = folder / "measurements/employment.parquet"
    table = pq.read_table(path)
    place = table.column_names.index("noisy")
    pq.write_table(table.set_column(place, "noisy", pa.array([1520, 311, -4])), path)


def _forge_both_formats(folder: Path) -> None:
    path = folder / "tables/employment.parquet"
    table = pq.read_table(path)
    forged = table.set_column(table.column_names.index("value"), "value", pa.array([1520, 311, 0]))
    pq.write_table(forged, path)
    pa_csv.write_csv(forged, path.with_suffix(".csv"))


@pytest.mark.parametrize(
    ("forge", "message"), [(_forge_measurement, "not what the ledger stored"), (_forge_both_formats, "does not follow")]
)
def test_a_consistent_forgery_is_found_by_recomputing(
    bundle: Path, forge: Callable[[Path], None], message: str
) -> None:
    forge(bundle)
    _repin(bundle)
    with pytest.raises(VerificationError, match=message):
        verify(bundle)


def test_budget_shares_add_up() -> None:
    budget = Budget(cap=Loss("2"), spent=Loss("1.5"), this_release=Loss("1"))
    assert (budget.other_releases, budget.left) == (Loss("0.5"), Loss("0.5"))


def test_the_sample_extract_is_sound() -> None:
    assert sealed_extract()["head"]["number"] == 4


def test_nothing_tells_the_time_of_day(bundle: Path) -> None:
    """How long a run took says how many rows there were; so the bundle knows its day and no more."""
    times = re.compile(rb"T(?!00:00:00)\d\d:\d\d")
    for path in bundle.rglob("*"):
        assert path.stat().st_mtime == datetime(2026, 1, 1, tzinfo=UTC).timestamp(), path.name
        assert path.is_dir() or not times.search(path.read_bytes()), path.name
    made = json.loads((bundle / "manifest.json").read_text())["made"]
    assert made["date"] == "2026-01-01"
    assert not {"started", "finished"} & set(made)
    assert "1 January 2026" in (bundle / "report.html").read_text()


def test_the_page_of_an_earlier_bundle_is_made_again(bundle: Path) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    made = {**manifest["made"], "started": "2026-01-01T10:00:00+00:00", "finished": "2026-01-01T10:00:09+00:00"}
    del made["date"]
    assert "1 January 2026" in render_page(bundle, made)
