"""Recognises what an earlier call of Tacita wrote, so that `--force` replaces that and nothing else.

A bundle is known by its manifest and a dossier by its two files. The folders of studies and demonstrations carry a
small record of their files; those from before that record are known by the names that their verb wrote.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

from tacita.release.bundle_files import write_json

Kind = Literal["release", "rehearsal", "dossier", "study", "demo"]
MARKER = ".tacita-output.json"
_LARGEST_RECORD = 1 << 26  # bytes; far above any manifest, and a stranger's file is not read whole
_BY_FILE_MANAGERS = {".DS_Store", "Thumbs.db", "desktop.ini"}
# Without a record: a file that says what wrote it, and the names that may stand beside it.
_BY_NAMES: dict[Kind, tuple[str, bytes, str]] = {
    "dossier": ("dossier.json", b'"scores"', r"dossier\.(json|html)"),
    "study": ("results.json", b'"study"', r"(results\.json|report\.html)|(.*/)?replicate-\d+/[^/]+\.parquet"),
    "demo": (
        "release.toml",
        b'publisher = "Demonstration office"',
        r"(release\.toml|jobs\.(schema\.toml|ledger)|(job|workplace|worker)\.parquet"
        r"|(places|sectors|place_population)\.csv)|bundle/.*",
    ),
}


def mark(folder: Path, kind: Kind) -> None:
    """Leave the record by which a later call knows this folder; bundles and dossiers say themselves what they are."""
    if kind in ("study", "demo"):
        write_json(folder / MARKER, {"tacita_output": kind, "files": sorted(_files(folder))})


def why_not(folder: Path, kind: Kind) -> str | None:
    """Why a folder may not be replaced by a new output of this kind; None where it may."""
    found = _listed(folder, kind)
    if found is None:
        return f"it is not a {kind} that Tacita wrote"
    written, files = found
    if written != kind:
        return f"it holds a {written}, not a {kind}"
    strange = sorted(name for name in _files(folder) if name not in files and Path(name).name not in _BY_FILE_MANAGERS)
    return f"it holds {strange[0]}, which Tacita did not write" if strange else None


def _listed(folder: Path, kind: Kind) -> tuple[str, set[str]] | None:
    """What a folder is, and the files that belong to it; None where it is a stranger's."""
    manifest = _read(folder / "manifest.json")
    if isinstance(manifest.get("files"), dict) and "tacita_bundle" in manifest:
        return "rehearsal" if manifest.get("rehearsal") else "release", {*manifest["files"], "manifest.json"}
    record = _read(folder / MARKER)
    if isinstance(record.get("files"), list) and isinstance(record.get("tacita_output"), str):
        return record["tacita_output"], {*map(str, record["files"]), MARKER}
    for former, (name, words, pattern) in _BY_NAMES.items():
        if former == kind and words in _bytes(folder / name):
            return former, {one for one in _files(folder) if re.fullmatch(pattern, one)}
    return None


def _files(folder: Path) -> list[str]:
    """Every file and every link below a folder, as relative paths; links are not followed."""
    places = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    return [path.relative_to(folder).as_posix() for path in places]


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_bytes(path) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _bytes(path: Path) -> bytes:
    is_small = path.is_file() and not path.is_symlink() and path.stat().st_size <= _LARGEST_RECORD
    return path.read_bytes() if is_small else b""
