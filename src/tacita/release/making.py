"""From the results of plans to a release: what is published of each. Post-processing only, of measured values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacita.data.address import is_server
from tacita.implicates import Synthetic
from tacita.ledger import Released
from tacita.ledger.store import ledger_name
from tacita.privacy import StrongAlpha, WeakAlpha
from tacita.release.bundle import Product, PublicInput, Release
from tacita.release.bundle_files import fingerprint, thin
from tacita.release.measurements import long_form, noise_record
from tacita.release.microdata import Microdata, agreed_with, files_of
from tacita.release.plans import PUBLISHING, PlannedMicrodata, PlannedRelease, PlannedTable, forecast_record
from tacita.synthesis.selfcheck import Checked
from tacita.tables.together import publish_all


def made(planned: PlannedRelease, released: Sequence[Released]) -> tuple[tuple[Product, ...], tuple[Microdata, ...]]:
    """What is published of each result, with plan and bytes as the ledger sealed them: post-processing only."""
    tables, rest = released[: len(planned.tables)], released[len(planned.tables) :]
    settings = [{key: getattr(table.spec, key) for key in PUBLISHING} for table in planned.tables]
    published = publish_all([one.result for one in tables], planned.schema, settings)
    return (
        tuple(_product(planned, *made) for made in zip(planned.tables, tables, published, strict=True)),
        tuple(
            _microdata(planned, files, one, [table.result for table in tables])
            for files, one in zip(planned.microdata, rest, strict=True)
        ),
    )


def unpaid(planned: PlannedRelease, results: Sequence[Any]) -> list[Released]:
    """Results that no ledger knows of: those of a rehearsal or a trial."""
    plans = [product.plan.describe() for product in planned.products]
    return [Released(result, 0, plan, result.to_bytes()) for plan, result in zip(plans, results, strict=True)]


def _product(planned: PlannedRelease, table: PlannedTable, released: Released, published: pa.Table) -> Product:
    spec, result = table.spec, released.result
    return Product(
        name=spec.name,
        title=table.title,
        mechanism=released.plan,
        settings=spec.model_dump(mode="json"),
        proof=table.plan.proof,
        guarantee=table.guarantee,
        forecast=forecast_record(table.plan.forecast(planned.schema)),
        noise=noise_record(result),
        measurements=thin(long_form(result, planned.schema)),
        table=thin(published),
    )


def _microdata(
    planned: PlannedRelease, files: PlannedMicrodata, released: Released, tables: Sequence[Any]
) -> Microdata:
    result = released.result
    if not isinstance(result, Synthetic):
        raise TypeError("a synthesizer's result has implicates and measured")
    named = {table.spec.name: one for table, one in zip(planned.tables, tables, strict=True)}
    agrees = agreed_with(released.plan, result, named)
    return Microdata(
        name=files.spec.name,
        title=files.title,
        mechanism=released.plan,
        settings=files.spec.model_dump(mode="json"),
        proof=files.plan.proof,
        guarantee=files.guarantee,
        forecast=forecast_record(files.plan.forecast(planned.schema)),
        measured=result.measured,
        implicates=files_of(result, [named[name] for name in agrees]),
        agrees=agrees,
        stored=released.stored,
        tables=files.spec.tables,
        check=result.report.record() if isinstance(result, Checked) else None,
    )


def as_release(
    planned: PlannedRelease, products: tuple[Product, ...], microdata: tuple[Microdata, ...], **rest: Any
) -> Release:
    spec = planned.spec
    written = spec.model_dump(mode="json", by_alias=True)
    # File names only: where an agency keeps its confidential files is nobody's business.
    written |= {"schema": Path(spec.schema_path).name, "ledger": ledger_name(spec.ledger)}
    data = written["data"]
    written["data"] = _named(data) if isinstance(data, str) else {key: _named(one) for key, one in data.items()}
    return Release(
        title=spec.title,
        publisher=spec.publisher,
        spec=written,
        schema=planned.schema,
        products=products,
        microdata=microdata,
        guarantee=planned.guarantee,
        public_inputs=tuple(_public_inputs(planned)),
        engine=spec.reads_with,
        date=_today(),
        **rest,
    )


def _named(place: str) -> str:
    """What the file or the table is called, without where it is kept."""
    return place.partition("#")[2] if is_server(place) else Path(place).name


def _public_inputs(planned: PlannedRelease) -> Iterator[PublicInput]:
    """Everything the release takes as public knowledge, whether or not someone thought of listing it."""
    schema = planned.schema
    yield PublicInput("The schema: variables, levels and bounds", schema.source or "written by the data steward")
    for path in schema.code_lists:
        yield PublicInput(f"Code list {path.name}", schema.source or "beside the schema", fingerprint(path)[0])
    for one in schema.shapes:
        yield PublicInput(f"Shapes of {one.level} ({one.path.name})", schema.source or "beside the schema", one.source)
    if isinstance(planned.spec.cap.relation, StrongAlpha | WeakAlpha):
        attributes = ", ".join(schema.by_role("workplace"))
        yield PublicInput(
            f"The list of establishments and their attributes ({attributes})",
            "public by the definition of the guarantee",
        )
    for table in planned.spec.table:
        for column in table.public_totals or ():
            yield PublicInput(f"The totals by {column} that {table.name} adds up to", "given in the specification")
        if isinstance(table.clamp, tuple):
            yield PublicInput(f"The limits of numbers in {table.name}", "given in the specification")
    for given in planned.spec.public_input:
        yield PublicInput(given.what, given.source)


def _today() -> str:
    """The day. How long a run took would tell how many rows it read, so a bundle has no times."""
    return datetime.now(UTC).date().isoformat()
