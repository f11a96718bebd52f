"""Signatures of a bundle or a dossier: who vouches for its list of files, and so for every file of it.

They lie in `signatures/`, one file for each key, and are the only files that the list (a bundle's manifest, a dossier's
record) does not pin. A board's sign-off is one of them: a name, a role and a statement over the hash of the list.

What plan.json claims of each product is no more than the ledger's entry sealed for it.

Schema and guarantee are held to the entry, whatever version wrote them, and the guarantee to what its plan loses: an
entry can be written by hand. Proof, forecast, settings and the sentences beside the numbers follow from the plan in the
entry; they are compared where this very code wrote them, since other versions word them otherwise.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacita.data.schema import Schema
from tacita.errors import UsageError, VerificationError
from tacita.ledger.signatures import Signed, Statement, key_id, read_signed, sign
from tacita.ledger.store import now
from tacita.ledger.terms import domain_of, softest
from tacita.plan import Plan, claimed
from tacita.privacy import UNPROTECTED, Guarantee, Loss, Neighbours
from tacita.privacy.json_form import guarantee_from_json, neighbours_from_json
from tacita.release.alike import same_document
from tacita.release.bundle_files import SIGNATURES, fingerprint
from tacita.release.folder import MARKER, kind_of, why_not
from tacita.release.plans import forecast_record
from tacita.release.settings import plan_as_set, plan_from_record
from tacita.release.words import guarantee_record

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

UNSIGNED = (
    "This bundle is not signed: who can write to it can forge one that verifies. Compare its manifest hash with the "
    "publisher's; --ledger, where the ledger is, vouches for measurements, entries and figures of the account."
)
UNSIGNED_DOSSIER = "This dossier is not signed: who can write to it can forge one that verifies."
UNKNOWN_KEY = (
    "This bundle is signed, and no key was given: who can write to it can forge one that verifies, with a signature of "
    "their own. Get the publisher's public key by another way, and verify with --key."
)
_FILE = re.compile(r"[0-9a-f]{16}\.json")
_MOST = 1_000  # signatures of one folder


@dataclass(frozen=True)
class Signable:
    """A folder that was verified, and the words that stand for it under a signature."""

    kind: str
    folder: Path
    subject: Mapping[str, str]
    made: str | None = None  # the day that its files carry, where they carry one

    def sign(self, key: Ed25519PrivateKey, *, name: str, role: str, statement: str) -> Path:
        """Add a signature, with a day and no time of day."""
        day = now().date().isoformat()
        signed = sign(Statement(self.kind, dict(self.subject), name, role, statement, day), key)
        target = self.folder / SIGNATURES / f"{signed.key_id}.json"
        if os.path.lexists(target):
            raise UsageError(
                f"{self.folder}: this key has signed it already ({target.name}); a signature is never replaced"
            )
        try:
            _put(signed, self.folder, target, {target: day, target.parent: day, self.folder: self.made})
        except OSError:
            raise UsageError(
                f"{self.folder}: cannot be written to; sign a copy of the {self.kind} that is yours"
            ) from None
        return target

    def signatures(self) -> list[Signed]:
        """Every signature of the folder, each genuine under the key it names and about this very folder."""
        place = self.folder / SIGNATURES
        if not os.path.lexists(place):
            return []
        if place.is_symlink() or not place.is_dir():
            raise VerificationError(f"{SIGNATURES} is not a folder")
        names = sorted(path.name for path in place.iterdir())
        if not names or len(names) > _MOST:
            raise VerificationError(f"{SIGNATURES}/ holds no signature, or more than any {self.kind} has")
        return [self._read(place / name) for name in names]

    def _read(self, path: Path) -> Signed:
        where = f"{SIGNATURES}/{path.name}"
        if not _FILE.fullmatch(path.name) or path.is_symlink() or not path.is_file():
            raise VerificationError(f"{where} is not a signature; nothing else may lie there")
        with path.open("rb") as file:
            signed = read_signed(file.read((1 << 16) + 1), where)
        if signed.statement.kind != self.kind or signed.statement.subject != self.subject:
            raise VerificationError(
                f"{where}: was signed for something else than this {self.kind}, or the {self.kind} is forged"
            )
        if path.name != f"{signed.key_id}.json":
            raise VerificationError(f"{where}: is not called after its key")
        return signed


def signable_bundle(folder: Path, manifest: Mapping[str, Any]) -> Signable:
    """A bundle stands for its manifest, which pins every other file."""
    subject = {"manifest_sha256": manifest["manifest_sha256"], "title": manifest["title"]}
    return Signable("bundle", folder, subject, manifest["made"].get("date"))


def is_dossier(folder: Path) -> bool:
    """Whether a folder says of itself that it is a dossier."""
    return kind_of(folder) == "dossier"


def signable_dossier(folder: Path) -> Signable:
    """A dossier stands for the record of its files, once each is found as it was recorded."""
    problem = why_not(folder, "dossier", signed=True)
    if problem is not None:
        raise VerificationError(f"{folder}: {problem}")
    return Signable("dossier", folder, {"record_sha256": fingerprint(folder / MARKER)[0]})


def _put(signed: Signed, folder: Path, target: Path, days: Mapping[Path, str | None]) -> None:
    """Whole or not at all, with the day as its time."""
    with tempfile.TemporaryDirectory(prefix=".tacita-", dir=folder.parent) as aside:
        whole = Path(aside) / target.name
        whole.write_bytes(signed.to_bytes())
        whole.chmod(0o644)
        target.parent.mkdir(exist_ok=True)
        whole.replace(target)
    for path, day in days.items():
        if day is not None:
            moment = datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()
            os.utime(path, (moment, moment))


def told(folder: Signable, keys: Iterable[str], not_compared: str) -> Iterator[str]:
    """What the signatures say, in sentences; refuses where a key that must have signed did not."""
    by_key, trusted = {one.key: one for one in folder.signatures()}, list(dict.fromkeys(keys))
    for key in trusted:
        if key not in by_key:
            raise VerificationError(
                f"it is not signed with the key {key_id(key)}: another {folder.kind} than its owner signed, a forged "
                "one, or one that was never signed"
            )
        yield f"signed with the key {key_id(key)} by {by_key[key].statement}"
    for key, one in by_key.items():
        if key not in trusted:
            yield f"{not_compared}the signature with the key {one.key_id}, which says {one.statement}"


def trust(folder: Path, keys: Sequence[str]) -> str:
    """What a reader must still know who verified a folder with these keys; nothing where one of them signed it."""
    unsigned, of_dossier = not (folder / SIGNATURES).exists(), is_dossier(folder)
    if unsigned:
        return UNSIGNED_DOSSIER if of_dossier else UNSIGNED
    if keys:
        return ""
    return UNKNOWN_KEY.replace("bundle", "dossier") if of_dossier else UNKNOWN_KEY


def check_claims(plan: dict[str, Any], ledger: dict[str, Any], *, by_this_code: bool) -> None:
    """Refuse a plan.json that says of a product what the entry that pays for it does not bear out."""
    schema, relation = Schema.stored(plan["schema"]), neighbours_from_json(ledger["neighbours"])
    for product in (*plan["tables"], *plan.get("microdata", [])):
        name, made = product["name"], plan_from_record(product["mechanism"])
        paying = [line for line in _finished(ledger) if line["plan"] == product["mechanism"]]
        # Entries of earlier versions sealed the variables alone.
        domains = domain_of(schema, made.relies_on(schema)), domain_of(schema)
        paying = [line for line in paying if line["domain"] in domains]
        if not paying:
            raise VerificationError(f"plan.json: the schema is not the one that the ledger sealed for {name}")
        stated = guarantee_from_json(product["guarantee"])
        if not any(stated in _sealed(line, made, schema, relation) for line in paying):
            raise VerificationError(f"plan.json: the guarantee of {name} is not the one that the ledger sealed")
        if stated.holds != "never" and not _borne_out(stated, claimed(made, schema).under(relation)):
            raise VerificationError(
                f"plan.json: {name} promises less loss, or holds more firmly, than its plan does; its entry in the "
                "ledger was not written by Tacita"
            )
        if by_this_code:
            _check_words(product, made, schema)
    if by_this_code and plan["guarantee"] != guarantee_record(guarantee_from_json(plan["guarantee"])):
        raise VerificationError("plan.json: the words of the promise are not those of its numbers")


def _finished(ledger: dict[str, Any]) -> list[dict[str, Any]]:
    lines = [line["entry"] for line in ledger["extract"]["entries"]]
    finished = {line["reserve"] for line in lines if line["kind"] == "commit"}
    return [line for line in lines if line["kind"] in ("reserve", "disclose") and line["number"] in finished]


def _sealed(line: dict[str, Any], made: Plan[Any], schema: Schema, relation: Neighbours) -> Iterator[Guarantee]:
    """What a bundle may state on the strength of one entry.

    A result that is paid for is published again for nothing, also by a later version, which may word the assumptions
    otherwise than the entry does: what it claims for this plan and schema counts too, unless it claims more.
    """
    sealed, now = guarantee_from_json(line["guarantee"]), claimed(made, schema)
    if line["kind"] == "disclose":
        for one in (sealed, made.guarantee):
            yield Guarantee(relation, Loss.zero(), "never", (UNPROTECTED + line["reason"], *one.assumes))
        return
    yield sealed.under(relation)
    if (now.neighbours, now.loss) == (sealed.neighbours, sealed.loss) and softest((now, sealed)) == now.holds:
        yield now.under(relation)


def _borne_out(stated: Guarantee, plan: Guarantee) -> bool:
    """Whether the plan itself, as this version knows it, loses no more than is stated, and that as firmly."""
    return plan.loss <= stated.loss and softest((stated, plan)) == stated.holds


def _check_words(product: dict[str, Any], made: Plan[Any], schema: Schema) -> None:
    name, described = product["name"], made.describe()  # as it is called now: the entry may have former words
    if product["guarantee"] != guarantee_record(guarantee_from_json(product["guarantee"])):
        raise VerificationError(f"plan.json: the words of the guarantee of {name} are not those of its numbers")
    if product["proof"] != made.proof:
        raise VerificationError(f"plan.json: the proof of {name} is not that of its mechanism")
    if not same_document(product["forecast"], json.loads(json.dumps(forecast_record(made.forecast(schema))))):
        raise VerificationError(f"plan.json: the forecast of {name} is not that of its mechanism")
    if plan_as_set(product["settings"], described).describe() != described:
        raise VerificationError(f"plan.json: the settings of {name} are not those of its mechanism")
