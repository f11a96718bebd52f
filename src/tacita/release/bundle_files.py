"""The files of a bundle and the manifest that pins them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

BUNDLE_FORM = 1  # raised when the layout changes in a way that an older `verify` would misread


def write_manifest(folder: Path, head: dict[str, Any]) -> None:
    """Pin every file of the folder, and then the manifest itself."""
    files = {}
    for path in bundle_files(folder):
        digest, size = fingerprint(folder / path)
        files[path] = {"sha256": digest, "size": size}
    document = {**head, "files": files}
    document["manifest_sha256"] = manifest_hash(document)
    write_json(folder / "manifest.json", document)


def manifest_hash(document: dict[str, Any]) -> str:
    """The hash of a manifest without its own hash."""
    rest = {key: value for key, value in document.items() if key != "manifest_sha256"}
    return hashlib.sha256(json_bytes(rest)).hexdigest()


def bundle_files(folder: Path) -> list[str]:
    """Every file but the manifest, as sorted relative paths."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    return sorted(name for name in found if name != "manifest.json")


def fingerprint(path: Path) -> tuple[str, int]:
    """sha256 and size of one file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size


def json_bytes(document: dict[str, Any]) -> bytes:
    """The one way Tacita writes JSON, so that equal documents are equal bytes."""
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a document to a file in that one way."""
    path.write_bytes(json_bytes(document))
