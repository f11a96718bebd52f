"""Folders that appear whole or not at all, and never in the place of something else.

Everything is written aside, in a hidden folder beside the target, and renamed at the end. A run that fails half-way
leaves nothing behind; one that is killed leaves a hidden folder that the next run into the same place clears away,
after putting back what the killed one had moved. `force` replaces a former output of the same verb and nothing else.

Where two folders cannot be swapped in one step, the former one is moved into the hidden folder before the new one
leaves it. So a hidden folder that holds both has the only copy of the former one, and no code removes it.

Recognises what an earlier call of Tacita wrote, so that `--force` replaces that and nothing else.

A bundle is known by its manifest; every other folder carries a small record of its files. Both have the hash of each
file: one that a person edited or put in the place of another is not Tacita's any more, and the folder stays.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from tacita.data.address import is_server
from tacita.errors import UsageError
from tacita.release.bundle_files import SIGNATURES, fingerprint, manifest_hash, write_json

if TYPE_CHECKING:
    from tacita.data.schema import Schema
    from tacita.release.spec import Spec

try:
    import fcntl
except ImportError:  # not on Windows: there the hidden folders of killed runs stay
    fcntl = None  # type: ignore[assignment]

_PREFIX, _SUFFIX, _OWNER = ".tacita-", ".partial", "tacita-writing.json"
_NEW, _OLD = "new", "old"
_ROOM = 4 << 20  # bytes that must fit beside the target: more than a bundle of tables takes
_EXCHANGE, _HERE = 2, -100  # of Linux's renameat2


def named_files(spec: Spec, schema: Schema) -> list[Path]:
    """Every file that a specification stands on: none of them may be lost to an output."""
    ledger = [] if isinstance(spec.ledger_place, str) else [spec.ledger_place]
    public = [*schema.code_lists, *(one.path for one in schema.shapes)]
    return [spec.path, spec.resolve(spec.schema_path), *ledger, *source_files(spec.data_source), *public]


def source_files(source: str | Mapping[str, str]) -> list[Path]:
    """The files behind what `Confidential.open` takes; a table of a server is none.

    >>> source_files({"job": "a/job.parquet", "worker": "duckdb:a/staff.db?table=worker"})
    [PosixPath('a/job.parquet'), PosixPath('a/staff.db')]
    """
    places = [source] if isinstance(source, str) else list(source.values())
    places = [place for place in places if not is_server(place)]
    return [
        Path(place.removeprefix("duckdb:").partition("?")[0]) if place.startswith("duckdb:") else Path(place)
        for place in places
    ]


def check_target(out: Path, *, force: bool, kind: Kind = "release", keep: Iterable[Path] = ()) -> None:
    """Refuse a target that cannot be written, or must not be, before anything is spent on filling it.

    `keep` are files that the work needs, such as those a specification names: none of them may lie in the target.
    """
    try:
        target = Path(os.path.realpath(out))
        exists = target.exists()
    except (OSError, ValueError) as problem:
        raise _unwritable(out, problem) from None
    if exists and not target.is_dir():
        raise UsageError(f"--out {out}: is a file; name a folder")
    _refuse_to_cover(out, target, keep)
    _recover(target)
    if target.is_dir() and any(target.iterdir()):
        if not force:
            raise UsageError(f"--out {out}: the folder is not empty; name another one, or add --force to replace it")
        if reason := why_not(target, kind):
            raise UsageError(
                f"--out {out}: --force replaces a former {kind} only, and {reason}. Name another folder, or remove "
                "this one yourself"
            )
    if os.path.ismount(target):
        raise UsageError(f"--out {out}: is where a file system is mounted and cannot be renamed; name a folder in it")
    _try_to_write(out, target)


def _refuse_to_cover(out: Path, target: Path, keep: Iterable[Path]) -> None:
    for path in keep:
        needed = Path(os.path.realpath(path))
        if needed.is_relative_to(target):
            raise UsageError(
                f"--out {out}: holds {needed.name}, which this work needs; name a folder that holds nothing of it"
            )
        if needed.is_dir() and target.is_relative_to(needed):
            raise UsageError(f"--out {out}: lies inside {needed.name}, which this work reads; name a folder elsewhere")


def _try_to_write(out: Path, target: Path) -> None:
    """Make what will be made, beside the target, and take it away again."""
    parent = next(place for place in (target.parent, *target.parents) if place.exists())
    try:
        if target.exists() and not os.access(target, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "")
        with _aside(parent, target) as probe:
            (probe / _NEW / target.relative_to(parent)).mkdir(parents=True, exist_ok=True)
            with (probe / _NEW / "room").open("wb", buffering=0) as file:
                file.write(bytes(_ROOM))
                os.fsync(file.fileno())
    except OSError as problem:
        raise _unwritable(out, problem) from None


def check_page(out: Path, bundle: Path | None, *, force: bool, option: str = "--out") -> None:
    """Refuse a file that is not a former page, or that would change a bundle."""
    target = Path(os.path.realpath(out))
    if bundle is not None and target.is_relative_to(os.path.realpath(bundle)):
        raise UsageError(f"{option} {out}: lies inside the bundle, which would no longer verify; name a file elsewhere")
    try:
        if target.is_dir():
            raise UsageError(f"{option} {out}: is a folder; name a file")
        if not os.path.lexists(target):
            return
        if not force:
            raise UsageError(f"{option} {out}: exists already; name another file, or add --force to replace it")
        with target.open("rb") as file:
            is_page = file.read(64).lstrip().lower().startswith(b"<!doctype html")
    except OSError as problem:
        raise _unwritable(out, problem) from None
    if not is_page:
        raise UsageError(f"{option} {out}: --force replaces a former page only, and this is none; name another file")


def write_page(out: Path, text: str) -> None:
    """Write aside, then rename, so that what was there stays until the new file is whole."""
    target = Path(os.path.realpath(out))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _aside(target.parent, target) as aside:
            (aside / _NEW / "page").write_text(text, encoding="utf-8")
            (aside / _NEW / "page").replace(target)
    except OSError as problem:
        raise _unwritable(out, problem) from None


def _unwritable(out: Path, problem: Exception) -> UsageError:
    known = {
        errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
        errno.ENOSPC: "the disk is full; make room, or name a folder elsewhere",
        errno.EDQUOT: "the quota is used up; make room, or name a folder elsewhere",
    }
    reason = known.get(getattr(problem, "errno", None) or 0, "cannot be written to; name a folder elsewhere")
    shown = str(out) if len(str(out)) <= 80 else f"{str(out)[:80]}..."
    return UsageError(f"--out {shown}: {reason}")


@contextmanager
def written_whole(
    out: Path, *, force: bool, kind: Kind = "release", keep: Iterable[Path] = (), moment: float | None = None
) -> Iterator[Path]:
    """A folder to fill; it becomes `out` when the block ends well, and vanishes when it does not.

    `moment` becomes the time of every file in it, where the real one would tell how long the work took.
    """
    check_target(out, force=force, kind=kind, keep=keep)
    target = Path(os.path.realpath(out))
    target.parent.mkdir(parents=True, exist_ok=True)
    with _aside(target.parent, target) as aside:
        new = aside / _NEW
        yield new
        mark(new, kind)
        if moment is not None:
            _set_times(new, moment)
        _swap(aside, target)


@contextmanager
def scratch(out: Path) -> Iterator[Path]:
    """A hidden folder beside `out` to try things out in; gone afterwards, or with the next run into the same place."""
    target = Path(os.path.realpath(out))
    parent = next(place for place in (target.parent, *target.parents) if place.exists())
    with _aside(parent, target) as aside:
        yield aside / _NEW


@contextmanager
def _aside(parent: Path, target: Path) -> Iterator[Path]:
    """A hidden folder that says what it is for, locked for as long as this process lives and gone afterwards."""
    with ExitStack() as held:
        with _alone(parent):
            aside = Path(tempfile.mkdtemp(prefix=_PREFIX, suffix=_SUFFIX, dir=parent))
            held.callback(_remove, aside)
            note = held.enter_context((aside / _OWNER).open("wb"))
            note.write(json.dumps({"tacita_writes": target.name}).encode())
            note.flush()
            _lock(note)
        (aside / _NEW).mkdir()
        yield aside


def _remove(aside: Path) -> None:
    if _has_only_copy(aside):
        return
    for part in (aside / _NEW, aside / _OLD, aside):  # what says whose it is goes last
        shutil.rmtree(part, ignore_errors=True)


def _has_only_copy(aside: Path) -> bool:
    """Whether the former folder was moved in here and the new one did not take its place."""
    return (aside / _OLD).exists() and (aside / _NEW).exists()


@contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """One process at a time makes such folders: one that does not say whose it is then belongs to nobody alive."""
    handle = None
    with suppress(OSError):  # a file system without such locks
        if fcntl is not None:
            handle = os.open(parent, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _lock(note: BinaryIO) -> bool:
    """Whether the lock could be had; it goes with the process that has it, however that ends."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _recover(target: Path) -> None:
    """Put back what a killed run had moved aside, and clear away what it was writing."""
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        return
    with _alone(target.parent):
        for aside in target.parent.glob(f"{_PREFIX}*{_SUFFIX}"):
            with suppress(OSError):
                if [one.name for one in aside.iterdir()] == [_OWNER] and not (aside / _OWNER).stat().st_size:
                    (aside / _OWNER).unlink()
                aside.rmdir()  # fails where there is anything inside
    for aside in target.parent.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError, ValueError, TypeError, LookupError), (aside / _OWNER).open("rb") as note:
            is_for_target = json.loads(note.read(1 << 16))["tacita_writes"] == target.name
            is_ours = {one.name for one in aside.iterdir()} <= {_OWNER, _NEW, _OLD}
            if not (is_for_target and is_ours and _lock(note)):
                continue
            if _has_only_copy(aside):
                _put_back(aside, target)
            _remove(aside)


def _put_back(aside: Path, target: Path) -> None:
    """The former folder to where it was; where something else stands there by now, a person has to choose."""
    try:
        (aside / _OLD).rename(target)  # also over an empty folder, never over a full one
    except OSError:
        raise UsageError(
            f"--out {target.name}: a run was killed while it replaced this folder, and something else was put in its "
            f"place since. The former content is in {aside.name}/{_OLD}, beside it: move that to where you want it, "
            f"and remove {aside.name}"
        ) from None


def _set_times(folder: Path, moment: float) -> None:
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (moment, moment))


def _swap(aside: Path, target: Path) -> None:
    """Rename into place; the folder that was there goes only after the new one stands."""
    new, old = aside / _NEW, aside / _OLD
    if not target.exists():
        new.rename(target)
    elif not _exchanged(new, target):
        target.rename(old)
        try:
            new.rename(target)
        except BaseException:
            old.rename(target)
            raise


def _exchanged(one: Path, other: Path) -> bool:
    """Swap two folders in one step, so that a kill leaves one or the other; False where the system cannot."""
    try:
        call = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


Kind = Literal["release", "rehearsal", "dossier", "study", "demo"]
MARKER = ".tacita-output.json"
_LARGEST_RECORD = 1 << 26  # bytes; far above any manifest, and a stranger's file is not read whole
_BY_FILE_MANAGERS = {".DS_Store", "Thumbs.db", "desktop.ini"}


def mark(folder: Path, kind: Kind) -> None:
    """Leave the record by which a later call knows this folder; a bundle says itself what it is."""
    if kind not in ("release", "rehearsal"):
        prints = {name: fingerprint(folder / name) for name in sorted(_files(folder))}
        files = {name: {"sha256": digest, "size": size} for name, (digest, size) in prints.items()}
        write_json(folder / MARKER, {"tacita_output": kind, "files": files})


def why_not(folder: Path, kind: Kind, *, signed: bool = False) -> str | None:
    """Why a folder may not be replaced by a new output of this kind; None where it may.

    With `signed`, why it is not a whole output of this kind: signatures may then lie in it.
    """
    former = _former(folder)
    if former is None:
        return f"it is not a {kind} that Tacita wrote"
    written, files, record = former
    if written != kind:
        return f"it holds a {written}, not a {kind}"
    for name in sorted(_files(folder)):
        if name == record or Path(name).name in _BY_FILE_MANAGERS:
            continue
        if name.startswith(f"{SIGNATURES}/"):
            if signed:
                continue
            return "it is signed, and signatures are not thrown away"
        if name not in files:
            return f"it holds {name}, which Tacita did not write"
        if not _is_as_recorded(folder / name, files[name]):
            return f"{name} in it is not as Tacita recorded it, so it may be someone's work"
    if signed and (missing := sorted(set(files) - set(_files(folder)))):
        return f"{missing[0]} is missing"
    return None


def kind_of(folder: Path) -> str | None:
    """What a folder says it is; None where Tacita did not write it."""
    former = _former(folder)
    return None if former is None else former[0]


def _former(folder: Path) -> tuple[str, dict[str, Any], str] | None:
    """What a folder is, what is recorded of its files, and where; None where it is a stranger's."""
    manifest = _read(folder / "manifest.json")
    if isinstance(manifest.get("files"), dict) and manifest.get("manifest_sha256") == manifest_hash(manifest):
        return "rehearsal" if manifest.get("rehearsal") else "release", manifest["files"], "manifest.json"
    record = _read(folder / MARKER)
    files, kind = record.get("files"), record.get("tacita_output")
    if not isinstance(files, dict | list) or not isinstance(kind, str):
        return None
    # Earlier records list names alone, by which nobody can tell whether a file was edited since.
    return kind, files if isinstance(files, dict) else dict.fromkeys(map(str, files)), MARKER


def _is_as_recorded(path: Path, facts: Any) -> bool:
    if not isinstance(facts, dict) or path.is_symlink() or not path.is_file():
        return False
    return fingerprint(path, expected=facts.get("size")) == (facts.get("sha256"), facts.get("size"))


def _files(folder: Path) -> list[str]:
    """Every file and every link below a folder, as relative paths; links are not followed."""
    places = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    return [path.relative_to(folder).as_posix() for path in places]


def _read(path: Path) -> dict[str, Any]:
    is_small = path.is_file() and not path.is_symlink() and path.stat().st_size <= _LARGEST_RECORD
    try:
        content = json.loads(path.read_bytes()) if is_small else {}
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
