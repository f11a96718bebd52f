"""Recognises what an earlier call of Tacita wrote, so that `--force` replaces that and nothing else.

A bundle is known by its manifest; every other folder carries a small record of its files. Both have the hash of each
file: one that a person edited or put in the place of another is not Tacita's any more, and the folder stays.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from tacita.release.bundle_files import SIGNATURES, fingerprint, manifest_hash, write_json

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
