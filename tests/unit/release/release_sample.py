"""A small release built by hand, so that the bundle can be tested without mechanisms or rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tacita.ledger.codec import canonical, digest, guarantee_to_json, loss_to_json, neighbours_to_json
from tacita.privacy import Guarantee, Loss, StrongAlpha
from tacita.release.bundle import Budget, Product, PublicInput, Release
from tacita.schema import Schema

PROMISE = Guarantee(StrongAlpha("0.1"), Loss("1"), assumes=("the sampler is exact",))
MECHANISM = {"mechanism": "SmoothStaircase", "alpha": "0.1", "epsilon": "1", "by": ["place"]}


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


def sealed_extract() -> dict[str, Any]:
    """What a ledger with one paid release hands to a bundle."""
    bodies: list[dict[str, Any]] = [
        {"kind": "open", "ledger": "test"},
        {
            "kind": "reserve",
            "label": "demo",
            "plan": MECHANISM,
            "guarantee": guarantee_to_json(PROMISE),
            "account": neighbours_to_json(PROMISE.neighbours),
            "charge": loss_to_json(PROMISE.loss),
        },
        {"kind": "commit", "reserve": 2, "sha256": "0" * 64, "bytes": 10},
    ]
    previous, entries = "0" * 64, []
    for number, body in enumerate(bodies, start=1):
        entry = {"number": number, "previous": previous, "time": "2026-01-01T00:00:00+00:00", **body}
        previous = digest(canonical(entry))
        entries.append({"sha256": previous, "entry": entry})
    head = {"number": 3, "sha256": previous}
    return {"format": 1, "ledger": "test", "head": head, "entries": entries, "accounts": []}


def small_release(**changes: Any) -> Release:
    table = pa.table(
        {
            "place": ["01", "02", "03"],
            "place_label": ["Upper <Town>", "Lower Town", "Harbour"],
            "value": pa.array([1520, 310, 4], pa.int64()),
            "margin_of_error": pa.array([60.5, 21.0, 9.0]),
            "confidence": pa.array([0.95, 0.95, 0.95]),
            "guarantee": [str(PROMISE)] * 3,
        }
    )
    measurements = pa.table({"place": ["01", "02", "03"], "noisy": [1519.6, 310.2, 3.7], "law": ["staircase"] * 3})
    product = Product(
        name="employment",
        title="Jobs by place",
        mechanism=MECHANISM,
        settings={"mechanism": "SmoothStaircase", "where": {}, "integers": True, "nonnegative": True},
        proof="mechanisms/eree/smooth.md",
        guarantee=PROMISE,
        forecast={"cells": 3, "sentences": ["Half of the cells within ± 3."], "figures": {"mean": 3.0}},
        measurements=measurements,
        table=table,
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
        "started": "2026-01-01T10:00:00+00:00",
        "finished": "2026-01-01T10:00:09+00:00",
    }
    return Release(**(facts | changes))
