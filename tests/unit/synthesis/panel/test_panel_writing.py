"""Out of core: partitions, killed and resumed runs, and the same files from Spark."""

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.panels import long_plan, long_schema, plan, to_long, wide, wide_schema
from tacita.data.confidential import Confidential
from tacita.errors import RefusedError, UsageError, VerificationError
from tacita.ledger import Ledger
from tacita.noise.entropy import SeededEntropy
from tacita.noise.replay import Recording, Replaying, compare
from tacita.privacy import Loss, ReplaceOne
from tacita.synthesis.panel import write_panel, writing
from tacita.synthesis.panel.formal import plan as formal
from tacita.synthesis.panel.writing import RECORD

FIRM = ReplaceOne("firm")
BOTH = pytest.mark.parametrize("epsilon", [None, "4"])  # without and with a guarantee


class Exhausted(SeededEntropy):
    """A source that must not be asked."""

    def words(self, count: int) -> Any:
        raise AssertionError("drawn again")


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*.parquet"))
    }


def opened(rows: int = 400) -> Confidential:
    return Confidential.from_frame(wide(rows), wide_schema())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str | None], Path]:
    """The folder of a run that nothing disturbed, made once for all tests that compare with it; `epsilon` names it."""

    @cache
    def made(epsilon: str | None) -> Path:
        folder = tmp_path_factory.mktemp("whole") / "panel"
        write_panel(plan(group="industry", epsilon=epsilon), opened(), folder, SeededEntropy(5))
        return folder

    return made


@BOTH
def test_partitions_hold_the_files_of_a_run_in_memory(tmp_path: Path, epsilon: str | None) -> None:
    given = plan(group="industry", epsilon=epsilon)
    paths = write_panel(given, opened(), tmp_path, SeededEntropy(5))
    assert [str(path.relative_to(tmp_path)) for path in paths[:2]] == [
        "industry=111/implicate=1/part.parquet",
        "industry=111/implicate=2/part.parquet",
    ]
    assert len(paths) == 8
    in_memory = given.run(opened(), SeededEntropy(5)).implicates.tables
    for number in (1, 2):
        parts = [pq.ParquetFile(path).read() for path in paths if f"implicate={number}" in str(path)]
        assert pa.concat_tables(parts).equals(in_memory[number - 1].drop_columns(["industry"]))
    record = json.loads((tmp_path / RECORD).read_text())
    # Finished: nothing can be drawn from it again, and nothing in it depends on the rows.
    assert (record["seed"], record["key"], record["rows"]) == (None, None, None)
    assert record["guarantee"] == ("no guarantee" if epsilon is None else "ε = 4 under one firm's record replaced")
    assert record["rehearsal"]
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {RECORD}


@BOTH
def test_several_workers_write_the_same_files(
    tmp_path: Path, epsilon: str | None, whole: Callable[[str | None], Path]
) -> None:
    given = plan(group="industry", epsilon=epsilon)
    write_panel(given, opened(), tmp_path / "two", SeededEntropy(5), workers=2)
    assert hashes(tmp_path / "two") == hashes(whole(epsilon))
    with pytest.raises(UsageError, match="workers: give how many"):
        write_panel(given, opened(), tmp_path / "none", SeededEntropy(5), workers=0)


@BOTH
def test_one_group_and_long_files(tmp_path: Path, epsilon: str | None) -> None:
    data = Confidential.from_frame(to_long(wide(200)), long_schema())
    paths = write_panel(long_plan(epsilon=epsilon), data, tmp_path, SeededEntropy(5))
    assert [path.parent.name for path in paths] == ["implicate=1", "implicate=2"]
    made = pq.ParquetFile(paths[0]).read().to_pandas()
    assert {"firm", "year", "jobs", "pay", "county"} <= set(made.columns)


@contextmanager
def stopped_after(finished: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A run that ends in the middle of writing another file."""
    written = []
    write = pq.write_table

    def killed(table: pa.Table, path: Path, **rest: Any) -> None:
        if len(written) == finished:
            path.write_bytes(b"half a file")
            raise KeyboardInterrupt
        written.append(path)
        write(table, path, **rest)

    with monkeypatch.context() as patch:
        patch.setattr(writing.pq, "write_table", killed)
        with pytest.raises(KeyboardInterrupt):
            yield


@pytest.mark.parametrize(
    ("finished", "epsilon"),
    [
        (0, None),
        (3, None),
        (3, "4"),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in [(1, None), (6, None), (0, "4"), (1, "4"), (6, "4")]),
    ],
)
def test_a_run_that_stops_goes_on_without_drawing_again(
    tmp_path: Path,
    finished: int,
    epsilon: str | None,
    monkeypatch: pytest.MonkeyPatch,
    whole: Callable[[str | None], Path],
) -> None:
    given = plan(group="industry", epsilon=epsilon)
    with stopped_after(finished, monkeypatch):
        write_panel(given, opened(), tmp_path / "killed", SeededEntropy(5))
    before = hashes(tmp_path / "killed")
    assert len(before) == finished
    write_panel(given, opened(), tmp_path / "killed", Exhausted(99))
    after = hashes(tmp_path / "killed")
    assert after == hashes(whole(epsilon))
    assert before.items() <= after.items()
    assert not list((tmp_path / "killed").rglob("*.part"))
    # Once more: everything is there, and nothing is read or drawn.
    write_panel(given, opened(), tmp_path / "killed", Exhausted(99))
    assert hashes(tmp_path / "killed") == after


@BOTH
def test_a_run_goes_on_with_its_own_rows_only(
    tmp_path: Path, epsilon: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, folder = plan(group="industry", epsilon=epsilon), tmp_path / "panel"
    with stopped_after(2, monkeypatch):
        write_panel(given, opened(), folder, SeededEntropy(5))
    kept, frame = hashes(folder), wide(400)
    data = opened()
    record = (folder / RECORD).read_text()
    assert data.fingerprint() not in record  # the digest says nothing without its key
    frame.loc[7, "jobs2003"] = 77
    with pytest.raises(RefusedError, match="begun from other rows"):
        write_panel(given, Confidential.from_frame(frame, wide_schema()), folder, SeededEntropy(5))
    assert hashes(folder) == kept
    again = Confidential.from_frame(wide(400).sample(frac=1, random_state=1), wide_schema())
    assert len(write_panel(given, again, folder, Exhausted(1))) == 8


def test_a_release_is_measured_and_charged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.open(tmp_path / "firms.ledger", cap=Loss("10"), neighbours=FIRM)
    given, folder = plan(group="industry", epsilon="4"), tmp_path / "panel"
    with stopped_after(3, monkeypatch):
        write_panel(given, opened(), folder, ledger=ledger, label="panel")
    assert ledger.spent(FIRM, "firms") == Loss("4")

    def measured_again(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(formal, "measure", measured_again)
    changed = wide(400)
    changed.loc[7, "jobs2003"] = 77
    with pytest.raises(RefusedError, match="begun from other rows"):
        write_panel(given, Confidential.from_frame(changed, wide_schema()), folder, ledger=ledger, label="other rows")
    with pytest.raises(RefusedError, match="do not share a folder"):
        write_panel(given, opened(), folder, SeededEntropy(5))
    paths = write_panel(given, opened(), folder, ledger=ledger, label="panel")
    assert ledger.spent(FIRM, "firms") == Loss("4")
    record = json.loads((folder / RECORD).read_text())
    assert not record["rehearsal"]
    assert record["rows"] is None
    # The files are those of the stored result.
    model = ledger.release(given, opened(), label="panel")
    for path in paths:
        group, number = (part.split("=")[1] for part in path.parts[-3:-1])
        wanted = model.group_file(group, int(number), 2).drop_columns(["industry"])
        assert pq.ParquetFile(path).read().equals(wanted)


def test_nothing_is_kept_of_a_run_that_stops_while_it_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.open(tmp_path / "firms.ledger", cap=Loss("10"), neighbours=FIRM)
    given, folder, measure, done = plan(group="industry", epsilon="4"), tmp_path / "panel", formal.measure, []

    def stops(*asked: Any) -> Any:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(measure(*asked))
        return done[-1]

    with monkeypatch.context() as patch:
        patch.setattr(formal, "measure", stops)
        with pytest.raises(KeyboardInterrupt):
            write_panel(given, opened(), folder, ledger=ledger, label="panel")
    assert [path.name for path in folder.iterdir()] == [RECORD]
    # The ledger's rule: a run that has seen the rows is spent. What it drew is gone, so it is measured and paid anew.
    assert len(write_panel(given, opened(), folder, ledger=ledger, label="panel")) == 8
    assert ledger.spent(FIRM, "firms") == Loss("8")


def test_a_ledger_or_a_rehearsal(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "firms.ledger", cap=Loss("10"), neighbours=FIRM)
    with pytest.raises(UsageError, match="no guarantee"):
        write_panel(plan(), opened(60), tmp_path / "out", ledger=ledger, label="panel")
    with pytest.raises(UsageError, match="goes with a label"):
        write_panel(plan(epsilon="4"), opened(60), tmp_path / "out", ledger=ledger)
    with pytest.raises(UsageError, match="without entropy"):
        write_panel(plan(epsilon="4"), opened(60), tmp_path / "out", SeededEntropy(1), ledger=ledger, label="panel")
    assert not (tmp_path / "out").exists()


_PROGRAM = """
import sys
from pathlib import Path
from support.panels import plan, wide, wide_schema
from tacita.data.confidential import Confidential
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.panel import write_panel
data = Confidential.from_frame(wide(400), wide_schema())
write_panel(plan(group="industry", sets=10, epsilon=EPSILON), data, Path(sys.argv[1]), SeededEntropy(5))
"""


@pytest.mark.parametrize("epsilon", [None, pytest.param("4", marks=pytest.mark.slow)])
def test_a_process_that_is_killed_leaves_whole_files(tmp_path: Path, epsilon: str | None) -> None:
    folder = tmp_path / "killed"
    start = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[3])!r})\nEPSILON = {epsilon!r}\n"
    command = [sys.executable, "-c", start + _PROGRAM]
    process = subprocess.Popen([*command, str(folder)])
    deadline = time.monotonic() + 120
    while not hashes(folder) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    some = hashes(folder)
    assert some
    given = plan(group="industry", sets=10, epsilon=epsilon)
    write_panel(given, opened(), folder, Exhausted(1))
    write_panel(given, opened(), tmp_path / "whole", SeededEntropy(5))
    assert hashes(folder) == hashes(tmp_path / "whole")
    assert some.items() <= hashes(folder).items()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RefusedError, match="is not empty"):
        write_panel(plan(), opened(60), tmp_path, SeededEntropy(1))
    folder = tmp_path / "panel"
    write_panel(plan(), opened(60), folder, SeededEntropy(1))
    with pytest.raises(RefusedError, match="another plan or schema"):
        write_panel(plan(sets=3), opened(60), folder, SeededEntropy(1))
    (folder / "implicate=2" / "part.parquet").unlink()
    with pytest.raises(VerificationError, match="files are missing"):
        write_panel(plan(), opened(60), folder, SeededEntropy(1))
    (folder / RECORD).write_text("{")
    with pytest.raises(VerificationError, match="not one that Tacita wrote"):
        write_panel(plan(), opened(60), folder, SeededEntropy(1))


@pytest.mark.spark
@BOTH
@pytest.mark.parametrize("form", [pytest.param("wide", marks=pytest.mark.slow), "long"])  # wide: also the next test
def test_spark_writes_the_same_files(form: str, epsilon: str | None, tmp_path: Path) -> None:
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("needs pyspark (pip install tacita[spark]) and a Java runtime")
    frame, schema, given = wide(300), wide_schema(), plan(group="sector", epsilon=epsilon)
    if form == "long":
        frame, schema, given = to_long(frame), long_schema(), long_plan(group="sector", epsilon=epsilon)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "panel.parquet")
    for engine in ("duckdb", "spark"):
        data = Confidential.open(tmp_path / "panel.parquet", schema, engine=engine)
        write_panel(given, data, tmp_path / engine, SeededEntropy(5))
    found = hashes(tmp_path / "duckdb")
    assert len(found) == 4
    assert found == hashes(tmp_path / "spark")


@pytest.mark.spark
def test_spark_measures_the_same_before_noise(tmp_path: Path) -> None:
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("needs pyspark (pip install tacita[spark]) and a Java runtime")
    pq.write_table(pa.Table.from_pandas(wide(300), preserve_index=False), tmp_path / "panel.parquet")
    here, there = (
        Confidential.open(tmp_path / "panel.parquet", wide_schema(), engine=one) for one in ("duckdb", "spark")
    )
    given, recording = plan(group="sector", epsilon="4"), Recording(SeededEntropy(11))
    first = given.run(here, recording)
    replaying = Replaying(recording)
    assert given.run(there, replaying).to_bytes() == first.to_bytes()
    for difference in compare(recording, replaying):
        assert np.array_equal(difference.true_d, difference.true_d2)


@BOTH
def test_what_a_run_needs_to_go_on_is_no_part_of_its_folder(
    tmp_path: Path, epsilon: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, folder, beside = plan(group="industry", epsilon=epsilon), tmp_path / "panel", tmp_path / ".panel.resume.json"
    with stopped_after(2, monkeypatch):
        write_panel(given, opened(), folder, SeededEntropy(5))
    kept = json.loads(beside.read_text())
    assert beside.stat().st_mode & 0o777 == 0o600
    assert kept["key"]
    for path in folder.rglob("*"):
        assert path.is_dir() or not any(one and one.encode() in path.read_bytes() for one in kept.values())
    moved = beside.rename(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match=r"\.panel\.resume\.json beside it"):
        write_panel(given, opened(), folder, Exhausted(1))
    moved.rename(beside)
    assert len(write_panel(given, opened(), folder, Exhausted(1))) == 8
    assert [path.name for path in tmp_path.iterdir()] == ["panel"]


def test_a_run_begun_by_an_earlier_version_goes_on_and_gives_its_key_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, folder, beside = plan(group="industry"), tmp_path / "panel", tmp_path / ".panel.resume.json"
    with stopped_after(2, monkeypatch):
        write_panel(given, opened(), folder, SeededEntropy(5))
    record = json.loads((folder / RECORD).read_text()) | json.loads(beside.read_text()) | {"form": "panel-folder-2"}
    del record["finished"]
    beside.unlink()
    (folder / RECORD).write_text(json.dumps(record))
    with stopped_after(1, monkeypatch):
        write_panel(given, opened(), folder, Exhausted(1))
    assert record["key"] not in (folder / RECORD).read_text()
    assert len(write_panel(given, opened(), folder, Exhausted(1))) == 8
