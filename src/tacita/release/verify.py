"""Checks a bundle: every byte as it was written, every claim backed by the ledger, every other file by its sources.

Tables and synthetic files are made again from the measurements and compared by value, whatever versions made them.
Page and records are made again by the code that wrote them, and compared byte by byte (the charts of the page by their
words); code of another version words them otherwise, and then it is said that they were not compared.

Nothing in the bundle is taken on trust, but who can write to it can make another one that agrees with itself. Only a
signature under a key that is known from elsewhere (`release.signed`), the ledger (`compare_with_ledger`) or a manifest
hash from elsewhere tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tacita.audit.evidence import check as check_evidence
from tacita.data.schema import Schema
from tacita.errors import TacitaError, VerificationError
from tacita.ledger import Ledger
from tacita.ledger.terms import Cap, restated
from tacita.ledger.views import verify_extract
from tacita.privacy import Guarantee, Loss, in_sequence
from tacita.privacy.json_form import canonical, guarantee_from_json, loss_from_json, neighbours_from_json
from tacita.release.alike import read_both, same_document, same_page
from tacita.release.bundle_files import (
    BUNDLE_FORM,
    PARTS,
    bundle_files,
    corrections,
    fingerprint,
    json_bytes,
    manifest_hash,
    read_json,
)
from tacita.release.microdata import FOLDER, check_microdata
from tacita.release.page import render_page
from tacita.release.page_maps import check_shapes
from tacita.release.records import PAGE, code_hash, records
from tacita.release.remade import recomputed, sealed_results
from tacita.release.signed import check_claims, signable_bundle, signable_dossier
from tacita.release.signed import told as told_by_signatures
from tacita.release.words import NO_GUARANTEE, account_of
from tacita.release.xlsx import WORKBOOK, same_workbook

NOT_COMPARED = "not compared: "  # how a sentence begins that reports no check
SUPERSEDED = "superseded: "  # how a sentence begins that warns of using the release
_SHARES = ("this_release", "other_releases", "left", "cap")
_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


def verify(folder: str | Path, keys: Iterable[str] = ()) -> list[str]:
    """Check a release bundle and return what was checked, in words; raises VerificationError at the first fault.

    Each of the `keys` (`tacita.ledger.signatures.public_key`) must have signed it.
    """
    return list(checks(Path(folder), keys=keys))


def checks(folder: Path, kept: str | Path | None = None, keys: Iterable[str] = ()) -> Iterator[str]:
    """The same one check at a time, so that a person can watch; `kept` is the ledger, where it is at hand."""
    folder = folder.absolute()  # a colon in a relative path would be read as the scheme of an address
    manifest = read_manifest(folder)
    yield "the manifest is whole"
    with hostile_content():
        yield from told_by_signatures(signable_bundle(folder, manifest), keys, NOT_COMPARED)
    with hostile_content():
        count = check_files(folder, manifest)
        yield f"all {count} files are as they were written, and there is no other"
        plan, ledger = (read_json(folder / name) for name in ("plan.json", "ledger.json"))
        _refuse_rehearsal(folder, manifest, plan, ledger)
        _check_names(manifest, plan)
        yield "it is a release, not a rehearsal"
        guarantee = _check_promise(manifest, plan)
        _check_payment(plan, ledger, guarantee)
        told = corrections(ledger["extract"])
        if {part: manifest[part] for part in PARTS if part in manifest} != told:
            raise VerificationError("manifest.json: does not say of corrections what the ledger sealed")
        check_claims(plan, ledger, by_this_code=manifest["made"].get("code") == code_hash())
        if guarantee.holds == "never":
            yield f"{NO_GUARANTEE}: the bundle says so itself, and its reason is the one that the ledger sealed"
        else:
            yield f"the promise adds up over all products: {guarantee}"
            yield "the ledger's entries are sealed and pay for every product"
        for one in told.get("superseded", []):
            reason = "".join(letter if letter.isprintable() else " " for letter in one["reason"])
            yield f"{SUPERSEDED}on {one['date']}, on record: {reason}"
        _check_tables(folder, plan)
        check_shapes(folder, plan)
        _check_microdata(folder, plan, ledger)
        yield "each table and each synthetic file is the same in both formats"
        if "evidence.json" in manifest["files"]:
            yield check_evidence(read_json(folder / "evidence.json"), manifest["made"]["versions"]["tacita"])
        yield from recomputed(folder, manifest, plan, ledger)
        _check_records(folder, manifest, plan)
        yield _made_again(folder, manifest)
    if kept is not None:
        compare_with_ledger(folder, kept)
        yield "the ledger holds these entries and figures, and is unaltered"


@contextmanager
def hostile_content() -> Iterator[None]:
    """What goes wrong while a bundle's files are read is the bundle's fault; say so, not where in the code it was."""
    try:
        yield
    except VerificationError:
        raise
    except TacitaError as error:
        raise VerificationError(f"the bundle contradicts itself: {error}") from None
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        AssertionError,
        ArithmeticError,
        OSError,
        RecursionError,
        MemoryError,
        pa.ArrowException,
    ):
        raise VerificationError("a file of this bundle lacks a part that every release has") from None


def _refuse_rehearsal(folder: Path, manifest: dict[str, Any], plan: dict[str, Any], ledger: dict[str, Any]) -> None:
    """A rehearsal says so in many places; one that is left is enough."""
    stamped = any(document["rehearsal"] is not False for document in (manifest, plan, ledger))
    seeded = plan["seed"] is not None or manifest["made"]["randomness"] != "operating system"
    elsewhere = plan["source"] != "the confidential file" or any(folder.glob("REHEARSAL*"))
    records = b'\nstatus: "published"\n' not in (folder / "registry.yaml").read_bytes()
    if stamped or seeded or elsewhere or records:
        raise VerificationError(
            "this is a rehearsal, not a release: its noise came from a seed and can be drawn again. "
            "Make the release with `tacita run`"
        )


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest, after checking that not one byte of it has changed."""
    path = folder / "manifest.json"
    if not path.is_file():
        raise VerificationError(f"{folder}: there is no manifest.json, so this is not a whole bundle")
    try:
        manifest = read_json(path)
        # Compared as bytes too: a changed space would leave the content, and so its hash, as it was.
        is_whole = json_bytes(manifest) == path.read_bytes()
        is_whole = is_whole and manifest.get("manifest_sha256") == manifest_hash(manifest)
    except (ValueError, AttributeError, RecursionError):
        is_whole = False
    if not is_whole:
        raise VerificationError("manifest.json was changed after it was written")
    if manifest.get("tacita_bundle") != BUNDLE_FORM:
        raise VerificationError("manifest.json: this bundle was written in a form that this version does not know")
    content: dict[str, Any] = manifest
    return content


def check_files(folder: Path, manifest: dict[str, Any]) -> int:
    """Every file as the manifest pins it, and no other; returns how many there are."""
    listed, present = set(manifest["files"]), set(bundle_files(folder))
    if missing := sorted(listed - present):
        raise VerificationError(f"{missing[0]} is missing from the bundle")
    if extra := sorted(present - listed):
        raise VerificationError(f"{extra[0]} is not in the manifest; it was added after the bundle was written")
    for path, facts in manifest["files"].items():
        digest, size = fingerprint(folder / path, expected=facts["size"])
        if (digest, size) != (facts["sha256"], facts["size"]):
            raise VerificationError(f"{path} was changed after it was written")
    return len(listed)


def _check_names(manifest: dict[str, Any], plan: dict[str, Any]) -> None:
    """What the documents say of one another: the schema, what was public, and names that lead nowhere else."""
    schema = Schema.stored(plan["schema"])
    if manifest["schema"] != {"identity": schema.identity, "sha256": schema.hash}:
        raise VerificationError("manifest.json: the schema is not the one of plan.json")
    if manifest["title"] != plan["title"] or manifest["public_inputs"] != plan["public_inputs"]:
        raise VerificationError("manifest.json: title or public inputs are not those of plan.json")
    for product in _products(plan):
        if not _FILE_NAME.fullmatch(product["name"]):
            raise VerificationError("plan.json: a product's name is not one that a file can have")


def _check_promise(manifest: dict[str, Any], plan: dict[str, Any]) -> Guarantee:
    total = guarantee_from_json(plan["guarantee"])
    # Two products that ask for exactly the same thing are drawn once and paid for once.
    drawn = {canonical(one["mechanism"]): guarantee_from_json(one["guarantee"]) for one in _products(plan)}
    if total != in_sequence(drawn.values()):
        raise VerificationError("plan.json: the products' losses do not add up to the promise")
    stamped = [manifest.get("guarantee"), *(one["settings"].get("guarantee") for one in plan.get("microdata", []))]
    if total.holds == "never" and (plan["tables"] or stamped != [NO_GUARANTEE, "none"]):
        raise VerificationError("plan.json: this bundle holds a product without a guarantee, and does not say so")
    if total.holds != "never" and any(stamped):
        raise VerificationError("manifest.json: says that there is no guarantee, and plan.json promises one")
    return total


def _products(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [*plan["tables"], *plan.get("microdata", [])]


def _check_payment(plan: dict[str, Any], ledger: dict[str, Any], guarantee: Guarantee) -> None:
    """The entries are sealed, pay for every product, and cost under the bundle's relation what the bundle says.

    An entry names one account, and a release counts in every account that its guarantee implies: where the ledger has
    other caps the entry may name another one than the bundle's. So each entry's guarantee is restated here.
    """
    verify_extract(ledger["extract"])
    lines = [line["entry"] for line in ledger["extract"]["entries"]]
    reserved = {line["number"]: line for line in lines if line["kind"] == "reserve"}
    disclosed = {line["number"]: line for line in lines if line["kind"] == "disclose"}
    finished = {line["reserve"] for line in lines if line["kind"] == "commit"}
    for product in _products(plan):
        # One reservation may pay for two products only if they ask for exactly the same thing.
        entries, reason = (disclosed, product["settings"]["reason"]) if guarantee.holds == "never" else (reserved, None)
        if not any(
            line["plan"] == product["mechanism"] and line.get("reason") == reason and number in finished
            for number, line in entries.items()
        ):
            raise VerificationError(f"ledger.json: no finished entry pays for {product['name']}")
    relation = neighbours_from_json(ledger["neighbours"])
    if relation != guarantee.neighbours:
        raise VerificationError("ledger.json: the budget is kept under other neighbours than the promise")
    this, other, left, cap = (loss_from_json(ledger[key]) for key in _SHARES)
    declared = [
        line for line in lines if line["kind"] == "cap" and neighbours_from_json(line["neighbours"]) == relation
    ]
    if not declared or loss_from_json(declared[-1]["cap"]) != cap:
        raise VerificationError("ledger.json: the cap is not the one that the ledger sealed for these neighbours")
    sealed = Cap(relation, cap, declared[-1]["number"])
    costs = [restated(guarantee_from_json(line["guarantee"]), sealed) for line in reserved.values()]
    charged = sum((cost for cost in costs if cost is not None), Loss.zero())
    if None in costs:
        raise VerificationError(f"ledger.json: an entry says nothing about {relation}")
    if this != charged or charged != guarantee.loss or this + other + left != cap:
        raise VerificationError("ledger.json: the shares do not add up to the cap")


def _check_tables(folder: Path, plan: dict[str, Any]) -> None:
    expected = {table["name"] for table in plan["tables"]}
    for place in ("tables", "measurements"):
        if {path.stem for path in (folder / place).glob("*.parquet")} != expected:
            raise VerificationError(f"{place}/ does not hold the tables that plan.json lists")
    for name in sorted(expected):
        read_both(folder / "tables" / f"{name}.parquet")


def _check_records(folder: Path, manifest: dict[str, Any], plan: dict[str, Any]) -> None:
    """The SDMX files hold the values of the tables, and the data package pins the files that are there."""
    for table in plan["tables"]:
        path = folder / "sdmx" / f"{table['name']}.csv"
        values = pq.read_table(folder / "tables" / f"{table['name']}.parquet")["value"].to_pylist()
        stated = pa_csv.read_csv(path)["OBS_VALUE"].to_pylist() if path.is_file() else None
        if stated is not None and not same_document(_floats(stated), _floats(values)):
            raise VerificationError(f"sdmx/{table['name']}.csv does not hold the values of tables/{table['name']}.csv")
    for one in read_json(folder / "datapackage.json")["resources"]:
        if one["hash"] != f"sha256:{manifest['files'][one['path']]['sha256']}":
            raise VerificationError(f"datapackage.json: does not pin {one['path']} as it is")


def _floats(values: list[Any]) -> list[float | None]:
    """Numbers as they are compared; one that was withheld is in neither file."""
    return [None if one is None else float(one) for one in values]


def _made_again(folder: Path, manifest: dict[str, Any]) -> str:
    """The page and the records are what this code makes of the rest."""
    made = manifest["made"]
    if made.get("code") != code_hash():
        return (
            f"{NOT_COMPARED}the page and the records for archives, which say that other code than this wrote them "
            f"(tacita {made['versions'].get('tacita')}). Make the page again with `tacita report`, or verify the "
            "bundle with the version that wrote it"
        )
    for path, content in records(folder, made).items():
        stored = (folder / path).read_bytes()
        if stored != content and not (path == WORKBOOK and same_workbook(stored, content)):
            raise VerificationError(f"{path} is not what this bundle's plan, ledger and products make it")
    if not same_page((folder / PAGE).read_text(encoding="utf-8"), render_page(folder, made)):
        raise VerificationError(f"{PAGE} is not the page of this bundle: it was edited; `tacita report` makes it again")
    return "the page and the records for archives follow from the rest"


def _check_microdata(folder: Path, plan: dict[str, Any], ledger: dict[str, Any]) -> None:
    records = plan.get("microdata", [])
    if not records and (folder / FOLDER).exists():
        raise VerificationError(f"{FOLDER}/ holds files that plan.json does not list")
    for record in records:
        check_microdata(folder, record, sealed_results(ledger))


def dossier_checks(folder: Path, keys: Iterable[str] = ()) -> Iterator[str]:
    """What `checks` is for a bundle: its files are as they were written, and who signed them."""
    with hostile_content():
        dossier = signable_dossier(folder.absolute())
        yield "all files of the dossier are as they were written, and there is no other"
        yield from told_by_signatures(dossier, keys, NOT_COMPARED)


def page_of(folder: Path) -> str:
    """The public page, made again from a bundle in which no byte has changed."""
    folder = folder.absolute()
    manifest = read_manifest(folder)
    with hostile_content():
        check_files(folder, manifest)
        return render_page(folder, manifest["made"])


def compare_with_ledger(folder: Path, ledger: str | Path) -> None:
    """The bundle's entries and figures are those of this ledger, and the ledger itself is sound."""
    with hostile_content():
        stated = read_json(folder / "ledger.json")
    book = Ledger.open(ledger, read_only=True)
    book.verify(stated["extract"])
    with hostile_content():
        relation = neighbours_from_json(stated["neighbours"])
        account = account_of(stated["extract"], relation)  # which `verify` has compared with the ledger
        this, other, left, cap = (loss_from_json(stated[key]) for key in _SHARES)
        known = [loss_from_json(account[key]) for key in ("spent", "left", "cap")]
        if [this + other, left, cap] != known:
            raise VerificationError("ledger.json: the shares of the cap are not those of the ledger at that time")
