"""A small release built by hand, so that the bundle can be tested without mechanisms or rows."""

from typing import Any

import numpy as np

from tacita.data.schema import Schema
from tacita.ledger.terms import domain_of
from tacita.measured import Measured
from tacita.mechanisms.eree import SmoothStaircase
from tacita.privacy import Guarantee, Loss
from tacita.privacy.json_form import canonical, digest, guarantee_to_json, loss_to_json, neighbours_to_json
from tacita.release.bundle import Budget, Product, PublicInput, Release
from tacita.release.measurements import long_form, noise_record
from tacita.release.plans import PUBLISHING, forecast_record
from tacita.release.spec import TableSpec
from tacita.tables.together import publish_all

PLAN = SmoothStaircase("0.1", "1", by=["place"])
PROMISE = PLAN.guarantee
SETTINGS = TableSpec(name="employment", by=("place",), mechanism="SmoothStaircase", epsilon="1").model_dump(mode="json")


def schema() -> Schema:
    return Schema.from_dict(
        {
            "dataset": {"identity": "demo", "unit": "establishment", "source": "a public register"},
            "variables": {
                "workplace_id": {"role": "id", "entity": "workplace"},
                "place": {
                    "role": "workplace",
                    "type": "categorical",
                    "levels": ["01", "02", "03"],
                    "labels": {"01": "Upper <Town>", "02": "Lower Town", "03": "Harbour"},
                },
            },
        }
    )


def measured() -> Measured:
    """Noisy counts as a mechanism returns them."""
    return Measured(
        keys={"place": np.array([0, 1, 2], dtype=np.int32)},
        worker=(),
        values=np.array([[1520], [310], [-4]], dtype=np.int64),
        error=PLAN.error_law(1),
        plan=PLAN.describe(),
        guarantee=str(PROMISE),
        rehearsal=False,
    )


def sealed_extract(*before: dict[str, Any], of: Schema | None = None, promise: Guarantee = PROMISE) -> dict[str, Any]:
    """What a ledger with one paid release hands to a bundle; `before` are lines that came before the release."""
    reserve = 3 + len(before)
    cap = {"neighbours": neighbours_to_json(PROMISE.neighbours), "cap": loss_to_json(Loss("2")), "reason": "declared"}
    bodies: list[dict[str, Any]] = [
        {"kind": "open", "ledger": "test"},
        {"kind": "cap", **cap},
        *before,
        {
            "kind": "reserve",
            "label": "demo",
            "domain": domain_of(of or schema()),
            "plan": PLAN.describe(),
            "guarantee": guarantee_to_json(promise),
            "account": neighbours_to_json(promise.neighbours),
            "charge": loss_to_json(promise.loss),
        },
        {"kind": "commit", "reserve": reserve, "sha256": digest(measured().to_bytes()), "bytes": 10},
    ]
    previous, entries = "0" * 64, []
    for number, body in enumerate(bodies, start=1):
        entry = {"number": number, "previous": previous, "time": "2026-01-01T00:00:00+00:00", **body}
        previous = digest(canonical(entry))
        entries.append({"sha256": previous, "entry": entry})
    head = {"number": len(entries), "sha256": previous}
    return {"format": 1, "ledger": "test", "head": head, "entries": entries, "accounts": []}


def small_release(**changes: Any) -> Release:
    product = Product(
        name="employment",
        title="Jobs by place",
        mechanism=PLAN.describe(),
        settings=SETTINGS,
        proof=PLAN.proof,
        guarantee=PROMISE,
        forecast=forecast_record(PLAN.forecast(schema())),
        noise=noise_record(measured()),
        measurements=long_form(measured(), schema()),
        table=publish_all([measured()], schema(), [{key: SETTINGS[key] for key in PUBLISHING}])[0],
    )
    facts: dict[str, Any] = {
        "title": "Employment by place & sector",
        "publisher": "An office",
        "spec": {"title": "Employment by place & sector"},
        "schema": schema(),
        "products": (product,),
        "guarantee": PROMISE,
        "budget": Budget(cap=Loss("2"), spent=Loss("1.5"), this_release=Loss("1")),
        "ledger_extract": sealed_extract(),
        "public_inputs": (PublicInput("Code list of places", "a public register", "ab" * 32),),
        "engine": "duckdb",
        "date": "2026-01-01",
    }
    return Release(**(facts | changes))
