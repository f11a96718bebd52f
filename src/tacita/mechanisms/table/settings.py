"""Settings that tables of any file share, each with its one rule. Public values only."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tacita.errors import UsageError
from tacita.plan.fields import as_epsilon, as_names
from tacita.privacy import Loss, Number, exact


def as_columns(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else as_names(given)


def optional_epsilon(given: Number | None) -> Fraction | None:
    return None if given is None else as_epsilon(given)


def optional_rho(given: Number | None) -> Fraction | None:
    rho = None if given is None else exact(given, "rho")
    if rho is not None and rho <= 0:
        raise UsageError('rho: must be above 0, such as "0.01"')
    return rho


def as_confidence(given: Number) -> Fraction:
    return exact(str(given) if isinstance(given, float) else given, "confidence")


def loss_of(epsilon: Fraction, delta: Fraction, rho: Fraction | None) -> Loss:
    return Loss(epsilon, delta=delta) if rho is None else Loss(rho=rho)
