"""Signed statements: Ed25519 keys, what a person signed, and whether a signature is genuine.

What is signed is small and says whole what it is about: a kind, a subject (hashes), a name, a role, a statement and a
day. This module knows neither bundles nor budgets. A key is a PEM file as other tools write and read it.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacita.errors import UsageError, VerificationError
from tacita.ledger.decisions import require_words
from tacita.ledger.store import now
from tacita.privacy.json_form import canonical, digest

if TYPE_CHECKING:  # loaded when a key is used
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FORM = 1
_LARGEST = 1 << 16  # bytes of a key or of a signed statement
_KEY, _SIGNATURE, _DAY = (re.compile(one) for one in (r"[0-9a-f]{64}", r"[0-9a-f]{128}", r"\d{4}-\d{2}-\d{2}"))


@dataclass(frozen=True)
class Statement:
    """What was signed: by whom, in what role, about what."""

    kind: str
    subject: Mapping[str, Any]
    name: str
    role: str
    statement: str
    date: str

    def message(self) -> bytes:
        """The bytes under the signature; the first line keeps them apart from anything else a key may sign."""
        return f"tacita signature {FORM}\n{canonical(asdict(self))}".encode()

    def __str__(self) -> str:
        return f"{self.name}, {self.role}, on {self.date}: {self.statement}"


@dataclass(frozen=True)
class Signed:
    """A statement with its signature, and the public key that it is genuine under."""

    statement: Statement
    key: str
    signature: str

    @property
    def key_id(self) -> str:
        return key_id(self.key)

    def to_bytes(self) -> bytes:
        document = {"tacita_signature": FORM, "signed": asdict(self.statement), "key": self.key}
        return (json.dumps({**document, "signature": self.signature}, indent=2, ensure_ascii=False) + "\n").encode()


def key_id(key: str) -> str:
    """A short name of a public key.

    >>> key_id("00" * 32)
    '66687aadf862bd77'
    """
    return digest(bytes.fromhex(key))[:16]


# ---------------------------------------------------------------- keys


def new_key(folder: Path, name: str, passphrase: str | None = None) -> tuple[Path, Path]:
    """Write NAME.key, for the signer alone, and NAME.pub, for everyone; neither replaces a file."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise UsageError(f"{name[:80]}: becomes a file name: use letters, digits, -, _ and . only")
    private, public = folder / f"{name}.key", folder / f"{name}.pub"
    for path in (private, public):
        if os.path.lexists(path):
            raise UsageError(f"{path}: exists already, and a key is never replaced; choose another name")
    key = Ed25519PrivateKey.generate()
    secret: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase is not None:
        secret = serialization.BestAvailableEncryption(passphrase.encode())
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_new(private, key.private_bytes(pem, form, secret), 0o600)
        _write_new(public, key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo), 0o644)
    except OSError:
        raise UsageError(f"{folder}: cannot be written to; name a folder elsewhere with --out") from None
    return private, public


def _write_new(path: Path, content: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(content)


def private_key(path: Path, passphrase: str | None = None) -> Ed25519PrivateKey:
    """The key in a file that only its owner may read."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    content = _read(path, "--key")
    if b"PUBLIC KEY" in content:
        raise UsageError(f"--key {path}: is a public key; sign with the private one, NAME.key")
    if os.name == "posix" and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"--key {path}: others may read it; make it yours alone with: chmod 600 {path}")
    if passphrase is None and b"ENCRYPTED" in content:
        raise UsageError(f"--key {path}: is protected by a passphrase; give it in TACITA_PASSPHRASE")
    try:
        key = load_pem_private_key(content, passphrase.encode() if passphrase and b"ENCRYPTED" in content else None)
    except (ValueError, TypeError):
        raise UsageError(f"--key {path}: is no private key, or the passphrase is another one") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(f"--key {path}: is not an Ed25519 key; make one with `tacita keys new`")
    return key


def public_key(path: Path) -> str:
    """The public key in a file, as its 32 bytes in hexadecimal."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    content = _read(path, "--key")
    if b"PRIVATE KEY" in content:
        raise UsageError(f"--key {path}: is a private key; verify with the public one, NAME.pub")
    try:
        key = load_pem_public_key(content)
        if isinstance(key, Ed25519PublicKey):
            return key.public_bytes_raw().hex()
    except ValueError:
        pass
    raise UsageError(f"--key {path}: is no Ed25519 public key; give the NAME.pub that its owner handed out")


def _read(path: Path, option: str) -> bytes:
    if not path.is_file():
        raise UsageError(f"{option} {path}: there is no such file")
    if path.stat().st_size > _LARGEST:
        raise UsageError(f"{option} {path}: is too large to be what it should be")
    return path.read_bytes()


# ---------------------------------------------------------------- signing and checking


def sign(statement: Statement, key: Ed25519PrivateKey) -> Signed:
    """Sign a statement."""
    _require_words(statement)
    return Signed(statement, key.public_key().public_bytes_raw().hex(), key.sign(statement.message()).hex())


def _require_words(statement: Statement) -> None:
    """Its words will stand in lists for years, and be shown on terminals: they must be there, and printable."""
    require_words(statement.name, "name", "who signs")
    require_words(statement.role, "role", "in what role, such as operator or member of the board")
    require_words(statement.statement, "statement", "what is signed for")


def read_signed(content: bytes, where: str) -> Signed:
    """A signed statement as it was written, byte for byte, that is genuine under the key it names."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        if len(content) > _LARGEST:
            raise ValueError("too large")
        document = json.loads(content)
        signed = Signed(Statement(**document["signed"]), document["key"], document["signature"])
        _require_words(signed.statement)
        well_formed = bool(
            document["tacita_signature"] == FORM
            and isinstance(signed.statement.kind, str)
            and isinstance(signed.statement.subject, dict)
            and _DAY.fullmatch(signed.statement.date)
            and _KEY.fullmatch(signed.key)
            and _SIGNATURE.fullmatch(signed.signature)
            and signed.to_bytes() == content  # no second spelling of the same document
        )
        if not well_formed:
            raise ValueError("not as written")
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(signed.key)).verify(
            bytes.fromhex(signed.signature), signed.statement.message()
        )
    except (InvalidSignature, LookupError, TypeError, ValueError, AttributeError, RecursionError, UsageError):
        raise VerificationError(f"{where}: is no genuine signature; it was altered, or forged") from None
    return signed


# ---------------------------------------------------------------- heads of ledgers

HEAD = "ledger head"


def sign_head(head: Mapping[str, Any], key: Ed25519PrivateKey, *, name: str, role: str, statement: str) -> Signed:
    """Sign what `Ledger.head` says."""
    return sign(Statement(HEAD, head, name, role, statement, now().date().isoformat()), key)


def read_head(path: Path, key: str) -> Statement:
    """A head that was signed with this key."""
    signed = read_signed(_read(path, "--head"), path.name)
    if signed.statement.kind != HEAD:
        raise VerificationError(f"{path.name}: is not the signed head of a ledger")
    if signed.key != key:
        raise VerificationError(f"{path.name}: is signed with the key {signed.key_id}, not with {key_id(key)}")
    return signed.statement
