"""Rows that did not fit in memory do not stay on disk."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tacita.data.engine.spill import Spill

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs locks that end with their process (POSIX)")


def test_what_a_killed_process_spilled_goes_with_the_next_and_what_is_in_use_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    killed = "import os, tempfile; from tacita.data.engine.spill import Spill; Spill.make(); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", killed], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    (left,) = tmp_path.iterdir()
    (left / "rows.tmp").write_bytes(b"rows")
    (tmp_path / "tacita-of-somebody-else").mkdir()
    (tmp_path / "tacita-rows-empty").mkdir()
    (tmp_path / "tacita-rows-begun").mkdir()
    (tmp_path / "tacita-rows-begun" / "new").touch()
    first = Spill.make()
    second = Spill.make()
    assert not left.exists()
    assert first.folder.stat().st_mode & 0o077 == 0
    assert {one.name for one in tmp_path.iterdir()} == {
        "tacita-of-somebody-else",
        first.folder.name,
        second.folder.name,
    }
    first.remove()
    second.remove()
    assert [one.name for one in tmp_path.iterdir()] == ["tacita-of-somebody-else"]


def test_a_folder_that_is_swept_while_it_is_made_leaves_no_open_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rename, opening = Path.rename, Path.open
    lost: list[Path] = []
    files: list[Any] = []

    def kept(path: Path, *how: Any) -> Any:
        files.append(opening(path, *how))
        return files[-1]

    def swept(path: Path, target: Path) -> Path:
        if not lost:
            lost.append(path.parent)
            shutil.rmtree(path.parent)
        return rename(path, target)

    monkeypatch.setattr(Path, "open", kept)
    monkeypatch.setattr(Path, "rename", swept)
    made = Spill.make()
    assert made.folder.is_dir()
    assert made.folder not in lost
    assert [one.closed for one in files] == [True, False]
    made.remove()
    assert made.lock.closed
