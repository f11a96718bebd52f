"""What could be known beforehand costs nothing, and what fails afterwards is not measured again."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.command_line import Call, replaced
from tacita.errors import RefusedError, TacitaError
from tacita.ledger import Ledger
from tacita.mechanisms.eree import SmoothStaircase
from tacita.privacy import Loss, StrongAlpha
from tacita.release import run as run_module
from tacita.release.bundle import Release
from tacita.release.run import run
from tacita.release.spec import Spec

STRONG = StrongAlpha("0.1")
SECOND = """
[[table]]
name = "everything"
mechanism = "SmoothStaircase"
epsilon = "1"
"""


def lists_of_places(folder: Path) -> None:
    table = pq.read_table(folder / "jobs.parquet")
    places = pa.array([[one] for one in table["place"].to_pylist()])
    at = table.column_names.index("place")
    pq.write_table(table.set_column(at, "place", places), folder / "jobs.parquet")


def missing_place(folder: Path) -> None:
    table = pq.read_table(folder / "jobs.parquet")
    places = [None, *table["place"].to_pylist()[1:]]
    at = table.column_names.index("place")
    pq.write_table(table.set_column(at, "place", pa.array(places)), folder / "jobs.parquet")


def both(*changes: Callable[[Path], None]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        for one in changes:
            one(folder)

    return change


BROKEN: dict[str, Callable[[Path], None]] = {
    "a law that does not exist at this ε": replaced('epsilon = "1"', 'epsilon = "0.1"'),
    "a law that does not exist in the second table": lambda folder: (
        (folder / "release.toml").write_text((folder / "release.toml").read_text() + SECOND.replace('"1"', '"0.1"'))
        and None
    ),
    "a name no disk takes": replaced('name = "places"', f'name = "{"p" * 300}"'),
    "a column of lists": lists_of_places,
    "a missing value": missing_place,
    "a promise about something else": replaced('mechanism = "SmoothStaircase"', 'mechanism = "EdgeLaplace"'),
    "a cap that is too small": replaced('epsilon = "1"', 'epsilon = "3"'),
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("known", [True, False], ids=["ledger with an entry", "no ledger yet"])
def test_what_is_wrong_beforehand_leaves_the_ledger_as_it_was(
    folder: Path, tacita: Call, change: Callable[[Path], None], known: bool
) -> None:
    ledger = folder / "jobs.ledger"
    if known:
        Ledger.open(ledger, cap=Loss("2"), neighbours=STRONG)
    before = ledger.read_bytes() if known else None
    change(folder)
    said = tacita("run", folder / "release.toml", "--out", folder / "bundle")
    assert said.code in (2, 3), said.err
    assert (ledger.read_bytes() if ledger.exists() else None) == before
    assert not (folder / "bundle").exists()
    assert not [one for one in folder.iterdir() if one.name.startswith(".")]


@pytest.mark.parametrize("part", ["publish", "render_page"])
def test_what_cannot_be_published_is_found_on_mock_values(
    folder: Path, tacita: Call, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """Whatever it is that fails after the noise: it fails before the charge as well."""

    def fails(*anything: Any, **more: Any) -> None:
        raise ValueError("the level is not to its liking")

    place = {"publish": "tacita.release.making.publish_all", "render_page": "tacita.release.records.render_page"}[part]
    monkeypatch.setattr(place, fails)
    said = tacita("run", folder / "release.toml", "--out", folder / "bundle")
    assert said.code == 2
    assert "the level is not to its liking" in said.err
    assert "Nothing was spent" in said.err
    assert not (folder / "jobs.ledger").exists()


def test_a_failure_after_the_charge_keeps_the_measurement(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Spec.load(folder / "release.toml")
    write = Release.write

    def full_disk(self: Release, out: Path, **more: Any) -> Path:
        if out.name == "bundle":
            raise OSError(28, "No space left on device")
        return write(self, out, **more)

    monkeypatch.setattr(Release, "write", full_disk)
    with pytest.raises(TacitaError, match=r"\(No space left on device\)\. .* kept in the ledger: .* at no charge"):
        run(spec, folder / "bundle")
    stored = Ledger.open(folder / "jobs.ledger").entries()
    assert [entry.kind for entry in stored] == ["open", "cap", "reserve", "commit"]
    monkeypatch.undo()
    finished = run(spec, folder / "bundle")
    assert finished.spent_before == finished.spent_after == Loss("1")
    assert Ledger.open(folder / "jobs.ledger").entries() == stored
    Release.verify(folder / "bundle")


def test_a_run_that_failed_says_what_it_cost(folder: Path, tacita: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*anything: Any) -> None:
        raise MemoryError("row 17 of 60")

    monkeypatch.setattr(SmoothStaircase, "measure", fails)
    said = tacita("run", folder / "release.toml", "--out", folder / "bundle")
    assert said.code == 1
    assert "Spent all the same: ε = 1 under strong α = 0.1 neighbours" in said.err
    assert "row 17" not in said.err


def test_tables_of_one_release_are_reserved_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget runs out between the look at the ledger and the reservation: no table is paid for alone."""
    (folder / "release.toml").write_text((folder / "release.toml").read_text() + SECOND)
    spec = Spec.load(folder / "release.toml")
    rival = Spec.parse({**_raw(folder), "table": [{**_raw(folder)["table"][0], "epsilon": "0.9"}]}, spec.path)
    real = run_module.try_out

    def overtaken(*anything: Any) -> None:
        monkeypatch.setattr(run_module, "try_out", real)
        run(rival, folder / "rival")

    monkeypatch.setattr(run_module, "try_out", overtaken)
    with pytest.raises(RefusedError, match=r"asked is ε = 2, left is ε = 1\.1"):
        run(spec, folder / "bundle")
    assert Ledger.open(folder / "jobs.ledger").spent(STRONG, "test-jobs") == Loss("0.9")


def _raw(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "release.toml").read_text())


@pytest.mark.parametrize("content", [b"", bytes(4096)], ids=["empty", "blank pages"])
def test_a_ledger_whose_making_was_cut_short(folder: Path, tacita: Call, content: bytes) -> None:
    """An empty file is made whole by the run; anything else that is no ledger is refused and left alone."""
    ledger = folder / "jobs.ledger"
    ledger.write_bytes(content)
    said = tacita("ledger", "show", ledger)
    assert said.code == (2 if not content else 4)
    if content:
        assert tacita("run", folder / "release.toml", "--out", folder / "bundle").code == 4
        assert ledger.read_bytes() == content
        return
    assert "tacita run" in said.err
    assert tacita("plan", folder / "release.toml").code == 0
    assert tacita("run", folder / "release.toml", "--out", folder / "bundle").code == 0
    assert tacita("ledger", "verify", ledger).code == 0


def test_a_file_replaced_while_it_is_measured_gives_no_result(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Spec.load(folder / "release.toml")
    measure = SmoothStaircase.measure

    def exchanged(*anything: Any) -> Any:
        table = pq.read_table(folder / "jobs.parquet")
        pq.write_table(table, folder / "other.parquet")
        (folder / "other.parquet").replace(folder / "jobs.parquet")
        return measure(*anything)

    monkeypatch.setattr(SmoothStaircase, "measure", exchanged)
    with pytest.raises(RefusedError, match="was changed or replaced after it was opened"):
        run(spec, folder / "bundle")
    ledger = Ledger.open(folder / "jobs.ledger")
    assert [entry.kind for entry in ledger.entries()] == ["open", "cap", "reserve", "failed"]
    assert not (folder / "bundle").exists()
