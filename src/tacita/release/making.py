"""From the results of plans to a release: what is published of each. Post-processing only, of measured values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacita.implicates import Synthetic
from tacita.ledger import Released
from tacita.privacy import StrongAlpha, WeakAlpha
from tacita.release.bundle import Product, PublicInput, Release
from tacita.release.bundle_files import fingerprint
from tacita.release.measurements import long_form, noise_record
from tacita.release.microdata import Microdata
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
        tuple(_microdata(planned, files, one) for files, one in zip(planned.microdata, rest, strict=True)),
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
        measurements=long_form(result, planned.schema),
        table=published,
    )


def _microdata(planned: PlannedRelease, files: PlannedMicrodata, released: Released) -> Microdata:
    result = released.result
    if not isinstance(result, Synthetic):
        raise TypeError("a synthesizer's result has implicates and measured")
    return Microdata(
        name=files.spec.name,
        title=files.title,
        mechanism=released.plan,
        settings=files.spec.model_dump(mode="json"),
        proof=files.plan.proof,
        guarantee=files.guarantee,
        forecast=forecast_record(files.plan.forecast(planned.schema)),
        measured=result.measured,
        implicates=result.implicates,
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
    for key in ("schema", "ledger"):
        written[key] = Path(written[key]).name
    data = written["data"]
    written["data"] = Path(data).name if isinstance(data, str) else {key: Path(one).name for key, one in data.items()}
    return Release(
        title=spec.title,
        publisher=spec.publisher,
        spec=written,
        schema=planned.schema,
        products=products,
        microdata=microdata,
        guarantee=planned.guarantee,
        public_inputs=tuple(_public_inputs(planned)),
        engine=spec.engine,
        date=_today(),
        **rest,
    )


def _public_inputs(planned: PlannedRelease) -> Iterator[PublicInput]:
    """Everything the release takes as public knowledge, whether or not someone thought of listing it."""
    schema = planned.schema
    yield PublicInput("The schema: variables, levels and bounds", schema.source or "written by the data steward")
    for path in schema.code_lists:
        yield PublicInput(f"Code list {path.name}", schema.source or "beside the schema", fingerprint(path)[0])
    if isinstance(planned.spec.cap.relation, StrongAlpha | WeakAlpha):
        attributes = ", ".join(schema.by_role("workplace"))
        yield PublicInput(
            f"The list of establishments and their attributes ({attributes})",
            "public by the definition of the guarantee",
        )
    for one in planned.spec.public_input:
        yield PublicInput(one.what, one.source)


def _today() -> str:
    """The day. How long a run took would tell how many rows it read, so a bundle has no times."""
    return datetime.now(UTC).date().isoformat()
