"""Which mechanisms a specification may name: those of the package, and those that other packages register.

A plan's `describe()` has its class name as "mechanism", and its other entries are settings that make the same plan
again. Other packages register a plan by an example of it in the entry point group `tacita.plans`, which `tacita audit`
tries as well.
"""

from __future__ import annotations

from typing import Any

from tacita import synthesis
from tacita.errors import UsageError
from tacita.lazy import third_party
from tacita.mechanisms import change, eree, magnitude, slow, table
from tacita.plan import Plan

JOB_MECHANISMS = tuple(eree.PLANS)
MAGNITUDE_MECHANISMS = magnitude.MEASURES
TABLE_MECHANISMS = (*JOB_MECHANISMS, *MAGNITUDE_MECHANISMS.values(), *table.__all__, *change.__all__, *slow.__all__)


def synthesizer_names() -> tuple[str, ...]:
    return (*synthesis.HOMES, *_registered())


def mechanism_named(name: str) -> type[Plan[Any]]:
    """The class of that name; it is loaded when it is first asked for."""
    for home in (eree, magnitude, table, change, slow, synthesis):
        if name in (TABLE_MECHANISMS if home is not synthesis else synthesis.HOMES) and hasattr(home, name):
            mechanism: type[Plan[Any]] = getattr(home, name)
            return mechanism
    return _registered()[name]


def _registered() -> dict[str, type[Plan[Any]]]:
    known: dict[str, type[Plan[Any]]] = {}
    for example in third_party():
        plan = type(example.plan)
        # A name is a plan's identity in the ledger: two plans of one name would be taken for one another.
        if plan.__name__ in (*TABLE_MECHANISMS, *synthesis.HOMES) or known.get(plan.__name__, plan) is not plan:
            raise UsageError(
                f"{plan.__module__}: registers a plan called {plan.__name__}, and there is one of that name; rename it"
            )
        known[plan.__name__] = plan
    return known
