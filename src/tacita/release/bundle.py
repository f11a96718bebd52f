"""A release and the folder it is handed over in.

The folder holds everything a reader needs to check it: tables and synthetic files, the noisy measurements they were
made from, the plan as run, the ledger's entries, records for archives, a public page, and a manifest that pins every
other file. Nothing in here can reach confidential rows: a `Release` is built from published values only.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacita.data.schema import Schema
from tacita.ledger.signatures import public_key
from tacita.privacy import Guarantee, Loss
from tacita.privacy.json_form import loss_to_json, neighbours_to_json
from tacita.release.bundle_files import BUNDLE_FORM, corrections, write_csv, write_json, write_manifest, write_parquet
from tacita.release.folder import Kind, written_whole
from tacita.release.microdata import Made, Microdata, write_microdata
from tacita.release.page_maps import shapes_record, write_shapes
from tacita.release.records import STAMP, code_hash, write_records
from tacita.release.spec import Spec
from tacita.release.verify import verify as verify_bundle
from tacita.release.words import NO_GUARANTEE, guarantee_record

_ENGINES = ("duckdb", "ibis-framework", "pyarrow", "pyspark", "psycopg")
_LIBRARIES = ("tacita", "numpy", "scipy", "numba", "python-flint", *_ENGINES, "altair", "vl-convert-python", "jinja2")


@dataclass(frozen=True)
class Product(Made):
    """One table: what was measured, and what is published."""

    noise: dict[str, Any]
    measurements: pa.Table
    table: pa.Table


@dataclass(frozen=True)
class Budget:
    """Where the cap stands once this release is paid for."""

    cap: Loss
    spent: Loss
    this_release: Loss

    @property
    def left(self) -> Loss:
        return self.cap.minus(self.spent)

    @property
    def other_releases(self) -> Loss:
        return self.spent.minus(self.this_release)


@dataclass(frozen=True)
class PublicInput:
    """Something used that is not confidential, where it came from, and its hash where it is a file."""

    what: str
    source: str
    sha256: str = ""


@dataclass(frozen=True)
class Release:
    """Everything that leaves the agency, in memory; `write` puts it in a folder."""

    title: str
    publisher: str
    spec: dict[str, Any]
    schema: Schema
    products: tuple[Product, ...]
    guarantee: Guarantee
    budget: Budget
    ledger_extract: dict[str, Any]
    public_inputs: tuple[PublicInput, ...]
    engine: str
    date: str
    """The day it was made. Times of day would tell how long the rows took to read, and so how many there are."""
    seed: int | None = None
    source: str = "the confidential file"
    microdata: tuple[Microdata, ...] = ()
    evidence: dict[str, Any] | None = None
    """What `tacita audit` found about the version that made the release, where it was run."""
    explorer: str = ""
    """The page of `tacita explore`, which a rehearsal brings along."""

    @property
    def rehearsal(self) -> bool:
        return self.seed is not None

    def __repr__(self) -> str:
        """Short enough to be the last line of a cell in a notebook."""
        kind = "a rehearsal" if self.rehearsal else str(self.guarantee)
        names = [one.name for one in (*self.products, *self.microdata)]
        return f"Release({self.title!r}, {kind}, products={names})"

    @classmethod
    def run(cls, spec: str | Path | Mapping[str, Any], out: str | Path, *, force: bool = False) -> Release:
        """What `tacita run` does: check, pay, measure and write the bundle to `out`.

        `spec` is a file, or its keys as a mapping; then paths in it are seen from the current folder.
        """
        from tacita.release.run import run  # which imports this module

        return run(Spec.of(spec), Path(out), force=force).release

    @classmethod
    def rehearse(
        cls,
        spec: str | Path | Mapping[str, Any],
        out: str | Path,
        *,
        seed: int,
        public_data: str | Path | None = None,
        force: bool = False,
    ) -> Release:
        """What `tacita rehearse` does: the same on mock rows or on rows that are public, stamped, and unpaid."""
        from tacita.release.run import rehearse

        public = None if public_data is None else Path(public_data)
        return rehearse(Spec.of(spec), Path(out), seed=seed, public_data=public, force=force)

    def write(self, out: str | Path, *, force: bool = False) -> Path:
        """Write the bundle aside, then rename it to `out`; an existing folder is replaced only with `force`."""
        target = Path(out)
        kind: Kind = "rehearsal" if self.rehearsal else "release"
        moment = datetime.fromisoformat(self.date).replace(tzinfo=UTC).timestamp()
        with written_whole(target, force=force, kind=kind, moment=moment) as folder:
            _write_products(self, folder)
            write_shapes(folder, self.schema.shapes)
            write_json(folder / "plan.json", _plan_document(self))
            write_json(folder / "ledger.json", _ledger_document(self))
            if self.evidence is not None:
                write_json(folder / "evidence.json", self.evidence)
            if self.rehearsal:
                (folder / f"{STAMP}.txt").write_text(
                    f"{STAMP}. Made with a seed from {self.source}. Not a release: it carries no guarantee, "
                    "because its noise can be drawn again.\n",
                    encoding="utf-8",
                )
            if self.explorer:
                (folder / "explore.html").write_text(self.explorer, encoding="utf-8")
            made = _made(self)
            write_records(folder, made)
            write_manifest(folder, _manifest_head(self, made))
        return target

    @staticmethod
    def verify(folder: str | Path, keys: Iterable[str | Path] = ()) -> list[str]:
        """Check a bundle; returns what was checked, in words, or raises VerificationError.

        `keys` are files of public keys (`tacita keys new`) that must have signed it.
        """
        return verify_bundle(folder, [public_key(Path(key)) for key in keys])


# ---------------------------------------------------------------- files


def _write_products(release: Release, folder: Path) -> None:
    (folder / "measurements").mkdir()
    if release.products:
        (folder / "tables").mkdir()
    for files in release.microdata:
        write_microdata(files, folder, rehearsal=release.rehearsal)
    for product in release.products:
        table = _stamped(product.table) if release.rehearsal else product.table
        write_parquet(table, folder / "tables" / f"{product.name}.parquet")
        write_csv(table, folder / "tables" / f"{product.name}.csv")
        write_parquet(product.measurements, folder / "measurements" / f"{product.name}.parquet")


def _stamped(table: pa.Table) -> pa.Table:
    """A rehearsal's rows say so themselves, since a table is easily copied out of its folder."""
    label = pa.repeat(f"{STAMP}: no guarantee", table.num_rows)
    return table.set_column(table.column_names.index("guarantee"), "guarantee", label)


def _plan_document(release: Release) -> dict[str, Any]:
    return {
        "title": release.title,
        "publisher": release.publisher,
        "rehearsal": release.rehearsal,
        "seed": release.seed,
        "source": release.source,
        "guarantee": guarantee_record(release.guarantee),
        "tables": [{**_record(product), "noise": product.noise} for product in release.products],
        "microdata": [{**_record(files), **files.record()} for files in release.microdata],
        "public_inputs": _public_inputs(release),
        "spec": release.spec,
        "schema": release.schema.to_dict(),
        **({"shapes": shapes_record(release.schema.shapes)} if release.schema.shapes else {}),
    }


def _record(product: Made) -> dict[str, Any]:
    return {
        "name": product.name,
        "title": product.title,
        "mechanism": product.mechanism,
        "settings": product.settings,
        "proof": product.proof,
        "guarantee": guarantee_record(product.guarantee),
        "forecast": product.forecast,
    }


def _ledger_document(release: Release) -> dict[str, Any]:
    return {
        "rehearsal": release.rehearsal,
        "neighbours": neighbours_to_json(release.guarantee.neighbours),
        "cap": loss_to_json(release.budget.cap),
        "this_release": loss_to_json(release.budget.this_release),
        "other_releases": loss_to_json(release.budget.other_releases),
        "left": loss_to_json(release.budget.left),
        "extract": release.ledger_extract,
    }


# ---------------------------------------------------------------- manifest


def _made(release: Release) -> dict[str, Any]:
    versions = {name: number for name in _LIBRARIES if (number := _version(name))}
    return {
        "date": release.date,
        "engine": release.engine,
        "randomness": "seeded (rehearsal)" if release.rehearsal else "operating system",
        "python": platform.python_version(),
        "versions": versions,
        "code": code_hash(),
    }


def _public_inputs(release: Release) -> list[dict[str, str]]:
    return [
        {"what": one.what, "source": one.source, **({"sha256": one.sha256} if one.sha256 else {})}
        for one in release.public_inputs
    ]


def _manifest_head(release: Release, made: dict[str, Any]) -> dict[str, Any]:
    return {
        "tacita_bundle": BUNDLE_FORM,
        "title": f"{STAMP}: {release.title}" if release.rehearsal else release.title,
        "rehearsal": release.rehearsal,
        **({"guarantee": NO_GUARANTEE} if release.guarantee.holds == "never" else {}),
        **corrections(release.ledger_extract),
        "made": made,
        "schema": {"identity": release.schema.identity, "sha256": release.schema.hash},
        "public_inputs": _public_inputs(release),
    }


@cache  # reading what is installed took a tenth of a small release's time
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
