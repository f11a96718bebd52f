"""The files of a bundle and the manifest that pins them."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tacita.errors import VerificationError

BUNDLE_FORM = 1  # raised when the layout changes in a way that an older `verify` would misread
_LARGEST_DOCUMENT = 1 << 28  # bytes of JSON; far above any plan or ledger extract


SIGNATURES = "signatures"


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
    """Every file but the manifest and its signatures, and every empty folder, as sorted relative paths.

    A bundle holds regular files in folders; a link, a pipe or a device in it is a VerificationError.
    """
    names = _regular_files(folder, folder)
    return sorted(name for name in names if name != "manifest.json" and not name.startswith(f"{SIGNATURES}/"))


def _regular_files(place: Path, folder: Path) -> Iterator[str]:
    entries = list(os.scandir(place))
    if not entries:
        yield f"{place.relative_to(folder).as_posix()}/"
    for entry in entries:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield from _regular_files(path, folder)
        elif entry.is_file(follow_symlinks=False):
            yield path.relative_to(folder).as_posix()
        else:
            raise VerificationError(
                f"{path.relative_to(folder).as_posix()} is not a regular file but a link, a pipe or a device, and a "
                "bundle has none"
            )


def fingerprint(path: Path, expected: int | None = None) -> tuple[str, int]:
    """sha256 and size of one file; one that is not as large as expected is not read."""
    with path.open("rb") as file:
        facts = os.fstat(file.fileno())
        if expected is not None and facts.st_size != expected:
            return "", facts.st_size
        return hashlib.file_digest(file, "sha256").hexdigest(), facts.st_size


def read_json(path: Path) -> Any:
    """A document of a bundle; nothing that is endless or absurdly large is read."""
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode):
        raise VerificationError(f"{path.name} is not a regular file")
    if facts.st_size > _LARGEST_DOCUMENT:
        raise VerificationError(f"{path.name} is larger than any bundle's")
    return json.loads(path.read_bytes())


def json_bytes(document: dict[str, Any]) -> bytes:
    """The one way Tacita writes JSON, so that equal documents are equal bytes."""
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a document to a file in that one way."""
    path.write_bytes(json_bytes(document))
