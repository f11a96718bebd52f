"""What a forger may try on a signed bundle, with the manifest recomputed each time."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from support.release import small_release
from tacita.errors import VerificationError
from tacita.ledger.signatures import Signed, Statement, sign
from tacita.release.bundle_files import json_bytes, write_manifest
from tacita.release.signed import signable_bundle
from tacita.release.verify import read_manifest, verify

Forge = Callable[[Path], None]
BOARD, FORGER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
KEY, OTHER = (one.public_key().public_bytes_raw().hex() for one in (BOARD, FORGER))
WHO = {"name": "B. Rossi", "role": "chair of the board", "statement": "The board approves this release."}
_ORDER = 2**252 + 27742317777372353535851937790883648493  # of the group; a signature's second half is below it


def the_signature(bundle: Path) -> Path:
    (path,) = (bundle / "signatures").iterdir()
    return path


def repinned(bundle: Path, **changes: Any) -> None:
    """The manifest as a forger recomputes it."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    head = {key: manifest[key] for key in manifest if key not in ("files", "manifest_sha256")}
    write_manifest(bundle, head | changes)


FORGERIES: dict[str, Forge] = {}


def forgery(name: str) -> Callable[[Forge], Forge]:
    def keep(forge: Forge) -> Forge:
        FORGERIES[name] = forge
        return forge

    return keep


def _file(path: str) -> None:
    @forgery(f"changed {path}")
    def change(bundle: Path) -> None:
        (bundle / path).write_bytes((bundle / path).read_bytes() + b" ")
        repinned(bundle)

    @forgery(f"emptied {path}")
    def empty(bundle: Path) -> None:
        (bundle / path).write_bytes(b"")
        repinned(bundle)

    @forgery(f"removed {path}")
    def remove(bundle: Path) -> None:
        (bundle / path).unlink()
        if not any((bundle / path).parent.iterdir()):
            (bundle / path).parent.rmdir()
        repinned(bundle)


FILES = (
    "tables/employment.csv", "tables/employment.parquet", "measurements/employment.parquet", "plan.json",
    "ledger.json", "codebook.xml", "datapackage.json", "registry.yaml", "report.html", "sdmx/employment.csv",
    "sdmx/structure.xml",
)  # fmt: skip
for one in FILES:
    _file(one)


def _head(name: str, **changes: Any) -> None:
    @forgery(f"manifest with another {name}")
    def change(bundle: Path) -> None:
        repinned(bundle, **changes)


def _made(name: str, value: Any) -> None:
    @forgery(f"manifest with another made.{name}")
    def change(bundle: Path) -> None:
        manifest = json.loads((bundle / "manifest.json").read_text())
        repinned(bundle, made=manifest["made"] | {name: value})


_head("title", title="Another title")
_head("rehearsal", rehearsal=True)
_head("schema", schema={"identity": "other", "sha256": "0" * 64})
_head("public_inputs", public_inputs=[])
_head("guarantee", guarantee="NO FORMAL GUARANTEE")
_head("superseded", superseded=[])
_head("supersedes", supersedes=[{"reason": "x"}])
_head("unknown key", approved_by="the board")
_made("date", "2025-01-01")
_made("engine", "spark")
_made("randomness", "seeded (rehearsal)")
_made("python", "3.99")
_made("versions", {})
_made("code", "0" * 64)


@forgery("a file more")
def _more(bundle: Path) -> None:
    (bundle / "extra.txt").write_text("x")
    repinned(bundle)


@forgery("another whole release under the same signature")
def _exchanged(bundle: Path) -> None:
    kept = the_signature(bundle)
    content, name = kept.read_bytes(), kept.name
    shutil.rmtree(bundle)
    small_release(publisher="Another office").write(bundle)
    (bundle / "signatures").mkdir()
    (bundle / "signatures" / name).write_bytes(content)


@forgery("signatures taken away")
def _stripped(bundle: Path) -> None:
    shutil.rmtree(bundle / "signatures")


@forgery("an empty folder of signatures")
def _emptied(bundle: Path) -> None:
    the_signature(bundle).unlink()


@forgery("a file in the place of the folder")
def _flat(bundle: Path) -> None:
    content = the_signature(bundle).read_bytes()
    shutil.rmtree(bundle / "signatures")
    (bundle / "signatures").write_bytes(content)


@forgery("a linked folder of signatures")
def _linked_folder(bundle: Path) -> None:
    (bundle / "signatures").rename(bundle.parent / "elsewhere")
    (bundle / "signatures").symlink_to(bundle.parent / "elsewhere")


@forgery("a linked signature")
def _linked(bundle: Path) -> None:
    path = the_signature(bundle)
    path.rename(bundle.parent / "elsewhere.json")
    path.symlink_to(bundle.parent / "elsewhere.json")


@forgery("a pipe as signature")
def _piped(bundle: Path) -> None:
    path = the_signature(bundle)
    path.unlink()
    os.mkfifo(path)


@forgery("a signature under another name")
def _renamed(bundle: Path) -> None:
    the_signature(bundle).rename(bundle / "signatures" / f"{'0' * 16}.json")


@forgery("something else among the signatures")
def _beside(bundle: Path) -> None:
    (bundle / "signatures" / "note.txt").write_text("trust me")


@forgery("signed by the forger in the board's name")
def _resigned(bundle: Path) -> None:
    shutil.rmtree(bundle / "signatures")
    (bundle / "report.html").write_bytes(b"<!DOCTYPE html>")
    repinned(bundle)
    signable_bundle(bundle, read_manifest(bundle)).sign(FORGER, **WHO)


@forgery("signed by the forger, who calls the file after the board's key")
def _named_after(bundle: Path) -> None:
    name = the_signature(bundle).name
    _resigned(bundle)
    the_signature(bundle).rename(bundle / "signatures" / name)


@forgery("signed by the forger, with words that would take over a terminal")
def _escaped(bundle: Path) -> None:
    shutil.rmtree(bundle / "signatures")
    said = Statement("bundle", {}, "\x1b[2JB. Rossi", "chair", "approved", "2026-01-01")
    raw = Signed(said, OTHER, FORGER.sign(said.message()).hex())
    (bundle / "signatures").mkdir()
    (bundle / "signatures" / f"{raw.key_id}.json").write_bytes(raw.to_bytes())
    with pytest.raises(VerificationError, match="no genuine signature"):
        verify(bundle)


def _documents(change: Callable[[dict[str, Any]], Any]) -> Forge:
    def forge(bundle: Path) -> None:
        path = the_signature(bundle)
        document = json.loads(path.read_text())
        changed = change(document)
        path.write_bytes(json_bytes(document if changed is None else changed))

    return forge


def _signed_field(name: str, value: Any) -> None:
    FORGERIES[f"signature with another {name}: {value!r}"] = _documents(lambda one: one["signed"].update({name: value}))


for name, value in (
    ("kind", "ledger head"), ("kind", ""), ("name", "A. Nobody"), ("name", ""), ("name", 7), ("role", "operator"),
    ("statement", "The board approves everything."), ("date", "2020-01-01"), ("date", "today"), ("date", None),
    ("subject", {}), ("subject", []), ("subject", {"manifest_sha256": "0" * 64, "title": "x"}), ("more", "x"),
):  # fmt: skip
    _signed_field(name, value)


def _field(words: str, change: Callable[[dict[str, Any]], Any]) -> None:
    FORGERIES[f"signature: {words}"] = _documents(change)


_field("the forger's key", lambda one: one.update(key=OTHER))
_field("a key in capitals", lambda one: one.update(key=one["key"].upper()))
_field("a short key", lambda one: one.update(key=one["key"][:-2]))
_field("a key of zeros", lambda one: one.update(key="00" * 32, signature="00" * 64))
_field("a key of small order", lambda one: one.update(key="01" + "00" * 31, signature="01" + "00" * 63))
_field(
    "a first bit flipped",
    lambda one: one.update(signature=f"{int(one['signature'][0], 16) ^ 8:x}" + one["signature"][1:]),
)
_field(
    "a last bit flipped",
    lambda one: one.update(signature=one["signature"][:-1] + f"{int(one['signature'][-1], 16) ^ 1:x}"),
)
_field("signature cut", lambda one: one.update(signature=one["signature"][:-2]))
_field("signature in capitals", lambda one: one.update(signature=one["signature"].upper()))
_field("signature twice", lambda one: one.update(signature=one["signature"] * 2))
_field("no signature", lambda one: one.update(signature=""))
_field("signature of zeros", lambda one: one.update(signature="00" * 64))
_field("another form", lambda one: one.update(tacita_signature=2))
_field("one more field", lambda one: one.update(note="x"))
_field("another order of fields", lambda one: dict(reversed(one.items())))
for key in ("tacita_signature", "signed", "key", "signature"):
    _field(f"without {key}", lambda one, key=key: {other: one[other] for other in one if other != key})


@forgery("signature: the second half above the order of the group")
def _malleable(bundle: Path) -> None:
    path = the_signature(bundle)
    document = json.loads(path.read_text())
    raw = bytes.fromhex(document["signature"])
    second = int.from_bytes(raw[32:], "little") + _ORDER
    document["signature"] = (raw[:32] + second.to_bytes(32, "little")).hex()
    path.write_bytes(json_bytes(document))


def _bytes(words: str, change: Callable[[bytes], bytes]) -> None:
    @forgery(f"signature file: {words}")
    def forge(bundle: Path) -> None:
        path = the_signature(bundle)
        path.write_bytes(change(path.read_bytes()))


_bytes("empty", lambda content: b"")
_bytes("no JSON", lambda content: b"\x00" + content)
_bytes("a list", lambda content: b"[]\n")
_bytes("a byte order mark", lambda content: b"\xef\xbb\xbf" + content)
_bytes("a space more", lambda content: content + b" ")
_bytes("in one line", lambda content: json.dumps(json.loads(content)).encode())
_bytes("a key named twice", lambda content: content.replace(b'"key":', b'"key": "00",\n  "key":', 1))
_bytes("deeply nested", lambda content: b"[" * 50_000)
_bytes("endless", lambda content: content[:-2] + b" " * 100_000 + b"}\n")
_bytes(
    "of another kind",
    lambda content: sign(Statement("ledger head", {"ledger": "x"}, *WHO.values(), "2026-01-01"), BOARD).to_bytes(),
)


def _leaves(document: Any) -> list[tuple[Any, Any]]:
    """Where each value of a JSON document stands: its holder and its key."""
    pairs = document.items() if isinstance(document, dict) else enumerate(document)
    holders = [[(document, key)] if not isinstance(value, dict | list) else _leaves(value) for key, value in pairs]
    return [leaf for held in holders for leaf in held]


def _leaf(name: str, number: int) -> None:
    @forgery(f"{name} with its value {number} changed")
    def change(bundle: Path) -> None:
        document = json.loads((bundle / name).read_text())
        holder, key = _leaves(document)[number]
        value = holder[key]
        holder[key] = not value if isinstance(value, bool) else f"{value}1" if isinstance(value, str) else 7.25
        (bundle / name).write_bytes(json_bytes(document))
        repinned(bundle)


for one, values in (("plan.json", 40), ("ledger.json", 40), ("datapackage.json", 20)):
    for number in range(values):
        _leaf(one, number)
