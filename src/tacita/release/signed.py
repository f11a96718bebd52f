"""Signatures of a bundle: who vouches for its manifest, and so for every file of it.

They lie in `signatures/`, one file for each key, and are the only files of a bundle that its manifest does not pin. A
board's sign-off is one of them: a name, a role and a statement over the hash of the manifest.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacita.errors import UsageError, VerificationError
from tacita.ledger.signatures import Signed, Statement, key_id, read_signed, sign
from tacita.ledger.store import now
from tacita.release.bundle_files import SIGNATURES

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KIND = "bundle"
_FILE = re.compile(r"[0-9a-f]{16}\.json")
_MOST = 1_000  # signatures of one bundle


def sign_bundle(
    folder: Path, manifest: Mapping[str, Any], key: Ed25519PrivateKey, *, name: str, role: str, statement: str
) -> Path:
    """Add a signature to a bundle that was verified. Like the bundle, it has a day and no time of day."""
    day = now().date().isoformat()
    signed = sign(Statement(KIND, _subject(manifest), name, role, statement, day), key)
    target = folder / SIGNATURES / f"{signed.key_id}.json"
    if os.path.lexists(target):
        raise UsageError(f"{folder}: this key has signed it already ({target.name}); a signature is never replaced")
    try:
        _put(signed, folder, target, day, str(manifest["made"]["date"]))
    except OSError:
        raise UsageError(f"{folder}: cannot be written to; sign a copy of the bundle that is yours") from None
    return target


def _put(signed: Signed, folder: Path, target: Path, day: str, made: str) -> None:
    """Whole or not at all, with the day as its time."""
    with tempfile.TemporaryDirectory(prefix=".tacita-", dir=folder.parent) as aside:
        whole = Path(aside) / target.name
        whole.write_bytes(signed.to_bytes())
        whole.chmod(0o644)
        target.parent.mkdir(exist_ok=True)
        whole.replace(target)
    for path, date in ((target, day), (target.parent, day), (folder, made)):
        moment = datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()
        os.utime(path, (moment, moment))


def signatures(folder: Path, manifest: Mapping[str, Any]) -> list[Signed]:
    """Every signature of a bundle, each genuine under the key it names and about this very manifest."""
    place = folder / SIGNATURES
    if not os.path.lexists(place):
        return []
    if place.is_symlink() or not place.is_dir():
        raise VerificationError(f"{SIGNATURES} is not a folder")
    names = sorted(path.name for path in place.iterdir())
    if not names or len(names) > _MOST:
        raise VerificationError(f"{SIGNATURES}/ holds no signature, or more than any bundle has")
    told = []
    for name in names:
        where, path = f"{SIGNATURES}/{name}", place / name
        if not _FILE.fullmatch(name) or path.is_symlink() or not path.is_file():
            raise VerificationError(f"{where} is not a signature; nothing else may lie there")
        with path.open("rb") as file:
            signed = read_signed(file.read((1 << 16) + 1), where)
        if signed.statement.kind != KIND or signed.statement.subject != _subject(manifest):
            raise VerificationError(f"{where}: was signed for something else than this bundle, or the bundle is forged")
        if name != f"{signed.key_id}.json":
            raise VerificationError(f"{where}: is not called after its key")
        told.append(signed)
    return told


def told(found: Iterable[Signed], keys: Iterable[str], not_compared: str) -> Iterator[str]:
    """What the signatures say, in sentences; refuses where a key that must have signed did not."""
    by_key, trusted = {one.key: one for one in found}, list(dict.fromkeys(keys))
    for key in trusted:
        if key not in by_key:
            raise VerificationError(
                f"it is not signed with the key {key_id(key)}: another bundle than its owner signed, a forged one, or "
                "one that was never signed"
            )
        yield f"signed with the key {key_id(key)} by {by_key[key].statement}"
    for key, one in by_key.items():
        if key not in trusted:
            yield f"{not_compared}the signature with the key {one.key_id}, which says {one.statement}"


def _subject(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {"manifest_sha256": manifest["manifest_sha256"], "title": manifest["title"]}
