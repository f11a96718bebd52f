"""`--force` replaces a former output of the same verb and nothing else; a kill at any moment loses nothing."""

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.release import small_release
from tacita.errors import UsageError
from tacita.release import folder as folders
from tacita.release.folder import MARKER, Kind, check_target, source_files, written_whole
from tacita.release.verify import verify


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fill(out: Path, kind: Kind, text: str = "one", *, force: bool = False) -> None:
    with written_whole(out, force=force, kind=kind) as folder:
        (folder / "part").mkdir()
        (folder / "part" / "a.txt").write_text(text)


@pytest.mark.parametrize("kind", ["study", "dossier", "demo"])
def test_a_former_output_of_the_same_verb_is_replaced(tmp_path: Path, kind: Kind) -> None:
    fill(tmp_path / "out", kind)
    fill(tmp_path / "out", kind, "two", force=True)
    assert (tmp_path / "out" / "part" / "a.txt").read_text() == "two"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_no_other_folder_is_replaced(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "jobs.parquet").write_text("rows")
    for kind in ("release", "rehearsal", "dossier", "study", "demo"):
        with pytest.raises(UsageError, match="--force replaces a former"):
            fill(mine, kind, force=True)
    assert content(mine) == {"jobs.parquet": b"rows"}


def test_an_output_of_another_verb_is_kept(tmp_path: Path) -> None:
    fill(tmp_path / "study", "study")
    with pytest.raises(UsageError, match="it holds a study, not a release"):
        small_release().write(tmp_path / "study", force=True)
    release = small_release().write(tmp_path / "bundle")
    with pytest.raises(UsageError, match="it holds a release, not a rehearsal"):
        small_release(seed=1).write(release, force=True)
    assert verify(release)


def test_a_file_that_a_person_added_is_kept(tmp_path: Path) -> None:
    bundle = small_release().write(tmp_path / "bundle")
    (bundle / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"it holds notes\.txt, which Tacita did not write"):
        small_release().write(bundle, force=True)
    assert (bundle / "notes.txt").read_text() == "mine"
    fill(tmp_path / "out", "study")
    (tmp_path / "out" / "part" / "link").symlink_to(bundle)
    with pytest.raises(UsageError, match="part/link"):
        fill(tmp_path / "out", "study", force=True)


def test_a_file_that_the_work_needs_is_never_covered(tmp_path: Path) -> None:
    bundle = small_release().write(tmp_path / "bundle")
    before = content(bundle)
    link = tmp_path / "link"
    link.symlink_to(bundle)
    for out in (bundle, link, tmp_path):
        with pytest.raises(UsageError, match="which this work needs"):
            check_target(out, force=True, keep=[bundle / "tables/employment.csv"])
    with pytest.raises(UsageError, match="which this work needs"):
        check_target(tmp_path / "jobs.ledger", force=False, keep=[tmp_path / "jobs.ledger"])  # not there yet
    with pytest.raises(UsageError, match="lies inside bundle, which this work reads"):
        check_target(bundle / "tables" / "out", force=False, keep=[bundle])
    assert content(bundle) == before


@pytest.mark.parametrize("kind", ["study", "dossier", "demo"])
@pytest.mark.parametrize("text", ["edited by hand", "ONE"])  # another size, and the same
def test_an_output_in_which_a_person_edited_a_file_is_kept(tmp_path: Path, kind: Kind, text: str) -> None:
    fill(tmp_path / "out", kind)
    (tmp_path / "out" / "part" / "a.txt").write_text(text)
    with pytest.raises(UsageError, match=r"part/a\.txt in it is not as Tacita recorded it.*remove this one yourself"):
        fill(tmp_path / "out", kind, force=True)
    assert (tmp_path / "out" / "part" / "a.txt").read_text() == text


def test_a_bundle_in_which_a_person_edited_or_put_a_file_is_kept(tmp_path: Path) -> None:
    bundle = small_release().write(tmp_path / "bundle")
    page = bundle / "report.html"
    page.write_text("my own words")
    with pytest.raises(UsageError, match=r"report\.html in it is not as Tacita recorded it"):
        small_release().write(bundle, force=True)
    page.unlink()
    page.symlink_to(tmp_path)
    with pytest.raises(UsageError, match=r"report\.html in it is not as Tacita recorded it"):
        small_release().write(bundle, force=True)
    page.unlink()
    (bundle / "manifest.json").write_text((bundle / "manifest.json").read_text().replace("report.html", "thesis.html"))
    (bundle / "thesis.html").write_text("mine")
    with pytest.raises(UsageError, match="it is not a release that Tacita wrote"):
        small_release().write(bundle, force=True)
    assert (bundle / "thesis.html").read_text() == "mine"


@pytest.mark.parametrize("record", [None, {"tacita_output": "study", "files": ["results.json"]}])
def test_outputs_of_which_no_hashes_are_recorded_are_kept(tmp_path: Path, record: object) -> None:
    """They were known by the names of their files, under which a person may have put something else."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "results.json").write_text('{"study": "tran2023"}')
    if record is not None:
        (out / MARKER).write_text(json.dumps(record))
    with pytest.raises(UsageError, match="remove this one yourself"):
        fill(out, "study", force=True)
    assert (out / "results.json").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from tacita.release import folder
where, out = sys.argv[1], Path(sys.argv[2])
def die(*args, **more): os.kill(os.getpid(), signal.SIGKILL)
if where == "between":
    folder._exchanged = lambda one, other: False
    real = Path.rename
    def rename(self, target):
        if self.name == "new": die()
        return real(self, target)
    Path.rename = rename
with folder.written_whole(out, force=True, kind="study") as place:
    (place / "new.txt").write_text("new")
    if where == "before": die()
    if where == "after": folder.shutil.rmtree = die
"""


@pytest.mark.parametrize("where", ["before", "between", "after"])
def test_a_kill_leaves_the_old_or_the_new_and_the_next_run_clears_up(tmp_path: Path, where: str) -> None:
    out = tmp_path / "out"
    fill(out, "study", "old")
    done = subprocess.run([sys.executable, "-c", KILLED, where, str(out)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob(".tacita-*.partial"))) == 1
    with pytest.raises(UsageError, match="not empty"):  # the next run, which puts back what was moved
        check_target(out, force=False, kind="study")
    expected = {"new.txt"} if where == "after" else {"part/a.txt"}
    assert set(content(out)) == {*expected, MARKER}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


KILLED_AT = """
import itertools, os, shutil, signal, sys
from pathlib import Path
from tacita.release import folder

folder._ROOM = 1  # the probe for room need not be felt here

def replace_until(at, way, out):
    steps = itertools.count()
    def counted(real):
        def step(*args, **more):
            if next(steps) == at: os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **more)
        return step
    if way == "renames": folder._exchanged = lambda one, other: False
    folder._exchanged = counted(folder._exchanged)
    Path.rename, Path.mkdir, Path.unlink, Path.rmdir = map(counted, (Path.rename, Path.mkdir, Path.unlink, Path.rmdir))
    shutil.rmtree = counted(shutil.rmtree)
    with folder.written_whole(Path(out), force=True, kind="study") as place:
        (place / "b.txt").write_text("new")

for line in sys.stdin:
    at, way, out = line.rstrip().split(" ", 2)
    child = os.fork()
    if not child:
        replace_until(int(at), way, out)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
Killed = Callable[[int, str, Path], bool]


@pytest.fixture(scope="module")
def killed() -> Iterator[Killed]:
    """Whether a run that replaces a folder was killed at a step; it has an end, after which it is not."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED_AT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as forks:
        asked, answered = forks.stdin, forks.stdout
        assert asked is not None
        assert answered is not None

        def run(at: int, way: str, out: Path) -> bool:
            asked.write(f"{at} {way} {out}\n")
            code = int(answered.readline())
            assert code in (0, -signal.SIGKILL)
            return code != 0

        yield run


@pytest.mark.parametrize("way", ["exchange", "renames"])
def test_a_kill_between_any_two_steps_loses_neither_the_old_nor_the_new(
    tmp_path: Path, killed: Killed, way: str
) -> None:
    """Every step of a run is killed, and then every step of the run that finds what the first one left."""
    for first in itertools.count():
        for second in itertools.count():
            place = tmp_path / f"{first}-{second}"
            out = place / "out"
            fill(out, "study", "old")
            ended = not killed(first, way, out)
            if ended or not killed(second, way, out):
                assert set(content(out)) == {"b.txt", MARKER}
                break
            # An empty folder in its place, as a scheduler makes one, must not cost the only copy.
            out.mkdir(exist_ok=True)
            with pytest.raises(UsageError, match="not empty"):
                check_target(out, force=False, kind="study")
            assert set(content(out)) - {MARKER} in ({"part/a.txt"}, {"b.txt"})
            assert [path.name for path in place.iterdir()] == ["out"]
        if ended:
            break
    assert first > 8


def test_the_only_copy_is_never_removed_for_a_stranger_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The former folder is moved aside, a person puts another in its place, and the new one cannot go there."""
    out = tmp_path / "out"
    fill(out, "study", "old")
    real = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if self.name == "new":
            out.mkdir()
            (out / "mine.txt").write_text("mine")
        return real(self, target)

    monkeypatch.setattr(folders, "_exchanged", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match="not empty"):
        fill(out, "study", "new", force=True)
    (aside,) = tmp_path.glob(".tacita-*.partial")
    for _ in range(2):
        with pytest.raises(UsageError, match=rf"The former content is in {aside.name}/old, beside it"):
            check_target(out, force=True, kind="study")
    assert (aside / "old" / "part" / "a.txt").read_text() == "old"
    assert content(out) == {"mine.txt": b"mine"}


def test_the_folder_of_a_living_run_and_strangers_stay(tmp_path: Path) -> None:
    stranger = tmp_path / ".tacita-mine.partial"
    stranger.mkdir()
    (stranger / "a.txt").write_text("mine")
    foreign = tmp_path / ".tacita-foreign.partial"
    (foreign / "new").mkdir(parents=True)
    (foreign / "tacita-writing.json").write_text(json.dumps({"tacita_writes": "out"}))
    (foreign / "more").write_text("mine")
    with written_whole(tmp_path / "out", force=False, kind="study") as first:
        (first / "a.txt").write_text("first")
        check_target(tmp_path / "out", force=False, kind="study")
        assert (first / "a.txt").exists()
    assert stranger.is_dir()
    assert foreign.is_dir()


def test_a_swap_that_fails_puts_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    fill(out, "study", "old")
    real = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError("no more")
        return real(self, target)

    monkeypatch.setattr(folders, "_exchanged", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match="no more"):
        fill(out, "study", force=True)
    assert (out / "part" / "a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("x" * 300, "too long"), ("a/" + "x" * 300, "too long"), ("a\0b", "cannot be written"), ("file/x", "cannot be")],
)
def test_a_name_that_cannot_be_is_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=message):
        check_target(tmp_path / name, force=False)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_found_by_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="disk is full"):
        check_target(tmp_path / "out", force=False)
    assert list(tmp_path.iterdir()) == []


def test_the_files_behind_a_source() -> None:
    assert source_files("duckdb:a/b.db?table=x") == [Path("a/b.db")]
    assert source_files("a?b.csv") == [Path("a?b.csv")]


def test_a_folder_that_a_run_was_killed_over_before_it_could_say_whose_it_is_goes_too(tmp_path: Path) -> None:
    for name in (".tacita-abc.partial", ".tacita-abd.partial"):
        (tmp_path / name).mkdir()
    (tmp_path / ".tacita-abd.partial" / "tacita-writing.json").touch()
    kept = tmp_path / ".tacita-def.partial"
    kept.mkdir()
    (kept / "something").touch()
    with written_whole(tmp_path / "out", force=False) as folder:
        (folder / "a").touch()
    assert sorted(one.name for one in tmp_path.iterdir()) == [".tacita-def.partial", "out"]
