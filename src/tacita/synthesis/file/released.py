"""What is released of a file before any record is drawn: tables, shapes and totals; and how they are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import numpy as np
from attrs import frozen

from tacita.privacy import text
from tacita.synthesis.file.budget import Question
from tacita.synthesis.file.columns import Shape
from tacita.synthesis.file.targets import Answer
from tacita.synthesis.pinned.measuring import Pin


@frozen(eq=False)
class Tables:
    """The number of records, public or as measured; the shape of every number; bins; all noisy tables; totals."""

    records: int
    bins: int
    shapes: Mapping[str, Shape]
    answers: tuple[Answer, ...]
    pins: Mapping[str, Pin]
    """Totals that were measured directly, by column."""


def record_of(released: Tables, names: Sequence[str]) -> dict[str, Any]:
    """As JSON values; `names` are those of the columns that tables are of."""
    return {
        "records": released.records,
        "bins": released.bins,
        "numbers": {
            name: {
                "records": shape.records,
                "values": list(shape.values),
                "counts": list(shape.counts),
                "shares": [text(one) for one in shape.shares],
                "thresholds": list(shape.thresholds),
                "between": list(shape.between),
                "habits": [list(row) for row in shape.habits],
                "noise": shape.noise,
                "tallies": list(shape.tallies),
                "tally noise": shape.tally_noise,
                "sizes": list(shape.sizes),
                "size noise": shape.size_noise,
                "finer cuts": list(shape.finer_cuts),
                "finer": list(shape.finer),
                "finer noise": shape.finer_noise,
            }
            for name, shape in released.shapes.items()
        },
        "tables": [
            {
                "attributes": [names[at] for at in one.question.attributes],
                "contrast": one.question.contrast,
                "law": "discrete Laplace, scale" if one.question.pure else "discrete Gaussian, variance",
                "noise": text(one.question.noise),
                "cost": text(one.question.cost),
                "values": one.values.tolist(),
            }
            for one in released.answers
        ],
        "totals": {name: asdict(pin) for name, pin in released.pins.items()},
    }


def tables_from(content: Mapping[str, Any], names: Sequence[str]) -> Tables:
    """From what `record_of` gave."""
    places = {name: k for k, name in enumerate(names)}
    shapes = {
        name: Shape(
            one["records"],
            tuple(one["values"]),
            tuple(one["counts"]),
            tuple(Fraction(share) for share in one["shares"]),
            tuple(one["thresholds"]),
            tuple(one["between"]),
            tuple(tuple(row) for row in one["habits"]),
            one["noise"],
            tuple(one.get("tallies", ())),
            one.get("tally noise", 0.0),
            tuple(one.get("sizes", ())),
            one.get("size noise", 0.0),
            tuple(one.get("finer cuts", ())),
            tuple(one.get("finer", ())),
            one.get("finer noise", 0.0),
        )
        for name, one in content["numbers"].items()
    }
    answers = tuple(
        Answer(
            Question(
                tuple(places[name] for name in one["attributes"]),
                one["contrast"],
                Fraction(one["noise"]),
                Fraction(one["cost"]),
                "Laplace" in one["law"],
            ),
            np.array(one["values"], dtype=np.int64),
        )
        for one in content["tables"]
    )
    pins = {name: Pin(**{**one, "totals": tuple(one["totals"])}) for name, one in content["totals"].items()}
    return Tables(content["records"], content["bins"], shapes, answers, pins)
