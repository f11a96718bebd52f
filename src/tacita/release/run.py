"""Runs a specification: opens the file, pays through the ledger, publishes, writes the bundle.

With `codes` this is the one module of the release layer that may open confidential files. What it hands to the rest are
measured values.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tacita.audit.evidence import evidence_beside
from tacita.data.address import is_server, same_files
from tacita.data.confidential import Confidential
from tacita.errors import RefusedError, TacitaError, UsageError, naming
from tacita.ledger import Ledger
from tacita.noise.entropy import SeededEntropy
from tacita.privacy import Loss
from tacita.privacy.json_form import loss_from_json
from tacita.release.bundle import Budget, Release
from tacita.release.explorer import explorer_page
from tacita.release.folder import check_target, named_files, source_files
from tacita.release.making import as_release, made, unpaid
from tacita.release.plans import PlannedRelease, prepare
from tacita.release.spec import Spec
from tacita.release.trial import ROWS, TRIED, mock_tables, try_out
from tacita.release.words import account_of

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Finished:
    """Where the bundle is, and how the budget stood before and stands now."""

    bundle: Path
    release: Release
    spent_before: Loss
    spent_after: Loss


def steps(spec: Spec) -> int:
    """How many times `run` and `rehearse` report progress."""
    return 4 + len(spec.table) + len(spec.microdata)


def run(spec: Spec, out: Path, *, force: bool = False, progress: Progress = lambda step: None) -> Finished:
    """Make the release. Whatever can be refused is refused before the first charge."""
    progress("Reading the specification and the schema")
    planned = prepare(spec)
    check_target(out, force=force, keep=named_files(spec, planned.schema))
    _refuse_over_cap(planned)
    progress("Checking the file against the schema")
    with naming(data=spec.data_names, schema=Path(spec.schema_path).name):
        data = Confidential.open(spec.data_source, planned.schema, engine=spec.engine)
    planned.check(data)
    progress("Asking the ledger")
    relation, place = spec.cap.relation, spec.ledger_place
    evidence = evidence_beside(spec.path if isinstance(place, str) else place)
    _refuse_broken_promises(planned)
    plans = [product.plan for product in planned.products]
    # Before [cap] is declared: a cap that is declared stays, even if the run is refused.
    quotes = Ledger.foresee(
        place,
        plans,
        data,
        cap=spec.cap.loss,
        neighbours=relation,
        holds=spec.cap.holds,
        yearly=spec.cap.yearly,
        reason=spec.reason,
    )
    if not all(quote.is_free for quote in quotes):
        try_out(planned, out, cache(lambda: _mock(planned, 0, TRIED)))
    ledger = Ledger.open(place, cap=spec.cap.loss, neighbours=relation, holds=spec.cap.holds, yearly=spec.cap.yearly)
    before = ledger.spent(relation, data)
    labels = {f"{spec.title}: {product.spec.name}": product for product in planned.products}
    released = ledger.release_all(
        [(product.plan, label) for label, product in labels.items()],
        data,
        reason=spec.reason,
        starting=lambda label: progress(f"Measuring {labels[label].spec.name}"),
    )
    progress("Writing the bundle")
    extract = ledger.extract({one.entry for one in released})
    account = account_of(extract, relation)  # as the extract says it: another run may spend at the same time
    cap, after = loss_from_json(account["cap"]), loss_from_json(account["spent"])
    release = as_release(
        planned,
        *made(planned, released),
        budget=Budget(cap, after, planned.guarantee.loss),
        ledger_extract=extract,
        evidence=evidence,
    )
    try:
        return Finished(release.write(out, force=force), release, before, after)
    except OSError as error:
        raise TacitaError(
            f"--out {out}: the bundle could not be written ({error.strerror}). What was measured is kept in the "
            "ledger: make room, or name a folder elsewhere, and run again at no charge"
        ) from None


def rehearse(
    spec: Spec,
    out: Path,
    *,
    seed: int,
    public_data: Path | None = None,
    force: bool = False,
    progress: Progress = lambda step: None,
) -> Release:
    """The same on mock rows, or on rows declared public: seeded, stamped, and never in a ledger."""
    progress("Reading the specification and the schema")
    planned = prepare(spec, rehearsal=True)
    needed = [*named_files(spec, planned.schema), *([public_data] if public_data else [])]
    check_target(out, force=force, kind="rehearsal", keep=needed)
    progress("Opening the public rows" if public_data else "Drawing mock rows from the schema")
    data = _public(spec, planned, public_data) if public_data else _mock(planned, seed)
    progress("Checking the rows against the schema")
    planned.check(data)
    entropy = SeededEntropy(seed)

    results = []
    for product in planned.products:
        progress(f"Measuring {product.spec.name}")
        results.append(product.plan.run(data, entropy.child(product.spec.name)))
    progress("Writing the bundle")
    cost = planned.guarantee.loss
    release = as_release(
        planned,
        *made(planned, unpaid(planned, results)),
        # Shown against an untouched cap: a rehearsal knows of no ledger.
        budget=Budget(spec.cap.loss if planned.fits else cost, cost, cost),
        ledger_extract={},
        seed=seed,
        source="a file declared public" if public_data else "mock rows drawn from the schema alone",
    )
    release = replace(release, explorer=explorer_page(planned))
    release.write(out, force=force)
    return release


def _refuse_over_cap(planned: PlannedRelease) -> None:
    if not planned.fits:
        raise RefusedError(
            f"the products together cost {planned.guarantee.loss}, and [cap] allows {planned.spec.cap.most_at_once}"
            f"{'' if planned.spec.cap.yearly is None else ' a year'}. {planned.way_to_fit}. Nothing was spent"
        )


def _refuse_broken_promises(planned: PlannedRelease) -> None:
    """The promises of a ledger that has other caps, said for the product that would break one."""
    path = planned.spec.ledger_place
    if not Ledger.is_begun(path) or planned.spec.reason is not None:
        return
    promised = [account.neighbours for account in Ledger.open(path, read_only=True).accounts() if not account.waived]
    for product in planned.products:
        for relation in promised:
            try:
                product.plan.guarantee.under(relation)
            except RefusedError as error:
                raise RefusedError(
                    f"{product.spec.spoken}: the ledger promises protection under {relation}, and {error}. Choose "
                    "a mechanism that keeps that promise, or have it waived on record (`tacita ledger waive`). Nothing "
                    "was spent"
                ) from None


def _public(spec: Spec, planned: PlannedRelease, path: Path) -> Confidential:
    """The rows declared public, unless they are those that the specification protects.

    A rehearsal prints its seed, so that its noise can be taken off: on the confidential rows it would publish them.
    """
    given = _public_source(spec, path)
    own = source_files(spec.data_source)
    if same_files(source_files(given), own):
        raise _not_public(path, "is the confidential file of this specification, or a copy of it")
    data = Confidential.open(given, planned.schema, engine=spec.engine)
    if all(one.exists() for one in own):
        confidential = Confidential.open(spec.data_source, planned.schema, engine=spec.engine)
        if confidential.fingerprint() == data.fingerprint():
            raise _not_public(path, "holds the rows of the confidential file of this specification")
        once = secrets.token_hex(32)
        if data.shared_units(once, confidential.sketch(once)):
            raise _not_public(path, "holds ids of the confidential file of this specification")
    place = spec.ledger_place
    if Ledger.is_begun(place) and Ledger.open(place, read_only=True).knows(data):
        raise _not_public(path, "holds rows or ids that were paid for in the ledger of this specification")
    return data


def _public_source(spec: Spec, path: Path) -> str | dict[str, str]:
    if isinstance(spec.data, str):
        return str(path)
    names = {table: f"{table}.parquet" if is_server(name) else Path(name).name for table, name in spec.data.items()}
    if not path.is_dir():
        raise UsageError(
            f"--public-data {path}: this specification has linked tables; give the folder that holds "
            f"{', '.join(names.values())}"
        )
    return {table: str(path / name) for table, name in names.items()}


def _not_public(path: Path, why: str) -> RefusedError:
    return RefusedError(
        f"--public-data {path}: {why}. A rehearsal can be undone by anyone who has its seed; rehearse with --mock, or "
        "on a file that is public"
    )


def _mock(planned: PlannedRelease, seed: int, most_rows: int = ROWS) -> Confidential:
    tables = mock_tables(planned.schema, seed=seed, most_rows=most_rows)
    return Confidential.from_frame(tables if len(tables) > 1 else tables[planned.schema.row], planned.schema)
