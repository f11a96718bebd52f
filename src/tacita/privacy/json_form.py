"""Promises as JSON and back, without losing a digit.

Every number is a string that `Fraction` reads exactly, and every text has one canonical form, so that a hash of
it means the same on every machine.

>>> loss_to_json(Loss("0.1"))
{'epsilon': '0.1', 'delta': '0'}
>>> neighbours_from_json(neighbours_to_json(StrongAlpha("1/3"))) == StrongAlpha("1/3")
True
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from tacita.errors import UsageError
from tacita.privacy import (
    AddRemoveOne,
    Guarantee,
    Holds,
    Loss,
    Neighbours,
    NumbersWithin,
    PerRecord,
    ReplaceOne,
    StrongAlpha,
    WeakAlpha,
    text,
)


def canonical(value: Any) -> str:
    """The one text of a JSON value: sorted keys, no spaces, no NaN.

    >>> canonical({"b": (1, 2), "a": "é"})
    '{"a":"é","b":[1,2]}'
    """
    try:
        # Read back once: a key that is not text, or a tuple, has its final form only after the first writing.
        plain = json.loads(json.dumps(value, allow_nan=False))
        written = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        written.encode()
    except (TypeError, ValueError):
        raise UsageError(
            "the description holds something JSON cannot carry exactly; use only text, whole numbers, true, false, "
            "null, lists and objects, and write rationals as strings"
        ) from None
    return written


def digest(content: str | bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def neighbours_to_json(neighbours: Neighbours) -> dict[str, str]:
    match neighbours:
        case AddRemoveOne(unit):
            return {"kind": "add-remove-one", "unit": unit}
        case ReplaceOne(unit):
            return {"kind": "replace-one", "unit": unit}
        case StrongAlpha():
            return {"kind": "strong-alpha", "alpha": text(neighbours.alpha)}
        case WeakAlpha():
            return {"kind": "weak-alpha", "alpha": text(neighbours.alpha)}
        case NumbersWithin():
            return {"kind": "numbers-within", "unit": neighbours.unit, "alpha": text(neighbours.alpha)}
        case PerRecord():
            sizes = {"offset": text(neighbours.offset), "reference": text(neighbours.reference)}
            return {"kind": "per-record", "unit": neighbours.unit, "scaling": neighbours.scaling, **sizes}
    raise UsageError(
        "neighbours: use AddRemoveOne(unit), ReplaceOne(unit), StrongAlpha(alpha), WeakAlpha(alpha), "
        "NumbersWithin(unit, alpha) or PerRecord(unit, scaling, offset=…, reference=…)"
    )


def neighbours_from_json(value: Mapping[str, Any]) -> Neighbours:
    match dict(value):
        case {"kind": "add-remove-one", "unit": str(unit), **rest} if not rest:
            return AddRemoveOne(unit)
        case {"kind": "replace-one", "unit": str(unit), **rest} if not rest:
            return ReplaceOne(unit)
        case {"kind": "strong-alpha", "alpha": str(alpha), **rest} if not rest:
            return StrongAlpha(alpha)
        case {"kind": "weak-alpha", "alpha": str(alpha), **rest} if not rest:
            return WeakAlpha(alpha)
        case {"kind": "numbers-within", "unit": str(unit), "alpha": str(alpha), **rest} if not rest:
            return NumbersWithin(unit, alpha)
        case {
            "kind": "per-record",
            "unit": str(unit),
            "scaling": "square-root" | "fourth-root" | "log" as scaling,
            "offset": str(offset),
            "reference": str(reference),
            **rest,
        } if not rest:
            return PerRecord(unit, scaling, offset=offset, reference=reference)
    raise UsageError(
        "neighbours: kind must be add-remove-one, replace-one (unit), strong-alpha, weak-alpha (alpha), "
        "numbers-within (unit, alpha) or per-record (unit, scaling, offset, reference)"
    )


def loss_to_json(loss: Loss) -> dict[str, str]:
    if loss.rho is not None:
        return {"rho": text(loss.rho)}
    return {"epsilon": text(loss.epsilon), "delta": text(loss.delta)}


def loss_from_json(value: Mapping[str, Any]) -> Loss:
    match dict(value):
        case {"rho": str(rho), **rest} if not rest:
            return Loss(rho=rho)
        case {"epsilon": str(epsilon), "delta": str(delta), **rest} if not rest:
            return Loss(epsilon, delta=delta)
    raise UsageError("loss: needs either rho, or epsilon and delta, each as a string")


def guarantee_to_json(guarantee: Guarantee) -> dict[str, Any]:
    return {
        "neighbours": neighbours_to_json(guarantee.neighbours),
        "loss": loss_to_json(guarantee.loss),
        "holds": guarantee.holds,
        "assumes": list(guarantee.assumes),
    }


def guarantee_from_json(value: Mapping[str, Any]) -> Guarantee:
    """
    >>> g = Guarantee(ReplaceOne("worker"), Loss(rho="1/3"), "asymptotically", ("the chain has converged",))
    >>> guarantee_from_json(guarantee_to_json(g)) == g
    True
    """
    holds = holds_from_json(value["holds"])
    if holds is None:
        raise UsageError("holds: a guarantee says how firmly it holds")
    return Guarantee(
        neighbours_from_json(value["neighbours"]), loss_from_json(value["loss"]), holds, tuple(value["assumes"])
    )


def holds_from_json(value: Any) -> Holds | None:
    match value:
        case None | "always" | "asymptotically" | "never" as holds:
            return holds
    raise UsageError("holds: must be always, asymptotically or never")
