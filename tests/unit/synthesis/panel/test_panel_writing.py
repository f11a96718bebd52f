"""Out of core: partitions, killed and resumed runs, and the same files from Spark."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from panel_sample import long_plan, long_schema, plan, to_long, wide, wide_schema

from tacita.confidential import Confidential
from tacita.errors import RefusedError, VerificationError
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.panel import write_panel, writing
from tacita.synthesis.panel.writing import RECORD


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


def test_partitions_hold_the_files_of_a_run_in_memory(tmp_path: Path) -> None:
    given = plan(group="industry")
    paths = write_panel(given, opened(), tmp_path, SeededEntropy(5))
    assert [str(path.relative_to(tmp_path)) for path in paths[:2]] == [
        "industry=111/implicate=1/part.parquet",
        "industry=111/implicate=2/part.parquet",
    ]
    assert len(paths) == 8
    in_memory = given.run(opened(), SeededEntropy(5)).tables
    for number in (1, 2):
        parts = [pq.ParquetFile(path).read() for path in paths if f"implicate={number}" in str(path)]
        assert pa.concat_tables(parts).equals(in_memory[number - 1].drop_columns(["industry"]))
    record = json.loads((tmp_path / RECORD).read_text())
    assert record["seed"] is None  # finished: nothing can be drawn from it again
    assert record["guarantee"] == "no guarantee"
    assert record["rehearsal"]


def test_one_group_and_long_files(tmp_path: Path) -> None:
    data = Confidential.from_frame(to_long(wide(200)), long_schema())
    paths = write_panel(long_plan(), data, tmp_path, SeededEntropy(5))
    assert [path.parent.name for path in paths] == ["implicate=1", "implicate=2"]
    made = pq.ParquetFile(paths[0]).read().to_pandas()
    assert {"firm", "year", "jobs", "pay", "county"} <= set(made.columns)


@pytest.mark.parametrize("finished", [0, 1, 3, 6])
def test_a_run_that_stops_goes_on_without_drawing_again(
    tmp_path: Path, finished: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = plan(group="industry")
    write_panel(given, opened(), tmp_path / "whole", SeededEntropy(5))
    written = []

    def killed(table: pa.Table, path: Path, **rest: Any) -> None:
        if len(written) == finished:
            path.write_bytes(b"half a file")
            raise KeyboardInterrupt
        written.append(path)
        pq_write(table, path, **rest)

    pq_write = pq.write_table
    with monkeypatch.context() as patch:
        patch.setattr(writing.pq, "write_table", killed)
        with pytest.raises(KeyboardInterrupt):
            write_panel(given, opened(), tmp_path / "killed", SeededEntropy(5))
    before = hashes(tmp_path / "killed")
    assert len(before) == finished
    write_panel(given, opened(), tmp_path / "killed", Exhausted(99))
    after = hashes(tmp_path / "killed")
    assert after == hashes(tmp_path / "whole")
    assert before.items() <= after.items()
    assert not list((tmp_path / "killed").rglob("*.part"))
    # Once more: everything is there, and nothing is read or drawn.
    write_panel(given, opened(), tmp_path / "killed", Exhausted(99))
    assert hashes(tmp_path / "killed") == after


_PROGRAM = """
import sys
from pathlib import Path
from panel_sample import plan, wide, wide_schema
from tacita.confidential import Confidential
from tacita.noise.entropy import SeededEntropy
from tacita.synthesis.panel import write_panel
write_panel(plan(group="industry", sets=30), Confidential.from_frame(wide(800), wide_schema()), Path(sys.argv[1]),
            SeededEntropy(5))
"""


def test_a_process_that_is_killed_leaves_whole_files(tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n{_PROGRAM}"]
    process = subprocess.Popen([*command, str(folder)])
    deadline = time.monotonic() + 120
    while not hashes(folder) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    some = hashes(folder)
    assert some
    given = plan(group="industry", sets=30)
    write_panel(given, opened(800), folder, Exhausted(1))
    write_panel(given, opened(800), tmp_path / "whole", SeededEntropy(5))
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
@pytest.mark.parametrize("form", ["wide", "long"])
def test_spark_writes_the_same_files(form: str, tmp_path: Path) -> None:
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("needs pyspark (pip install tacita[spark]) and a Java runtime")
    frame, schema, given = wide(300), wide_schema(), plan(group="sector")
    if form == "long":
        frame, schema, given = to_long(frame), long_schema(), long_plan(group="sector")
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "panel.parquet")
    for engine in ("duckdb", "spark"):
        data = Confidential.open(tmp_path / "panel.parquet", schema, engine=engine)
        write_panel(given, data, tmp_path / engine, SeededEntropy(5))
    found = hashes(tmp_path / "duckdb")
    assert len(found) == 4
    assert found == hashes(tmp_path / "spark")
