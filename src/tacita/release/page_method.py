"""What the page says about how each product came about: the words of the plan that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tacita.errors import TacitaError
from tacita.plan.how import How
from tacita.release.plans import plan_from_record


def how_of(record: Mapping[str, Any]) -> How | None:
    """The words of the plan that made a product; None for a plan that has none, or that no longer exists."""
    try:
        plan = plan_from_record(record["mechanism"])
    except (TacitaError, LookupError, TypeError):
        return None
    found = getattr(plan, "how", None)
    return found if isinstance(found, How) else None


def methods(records: Sequence[Mapping[str, Any]]) -> str:
    """How the products know the confidential file, each method once."""
    told = dict.fromkeys(how.knows for how in map(how_of, records) if how is not None)
    return " ".join(told)


def method_facts(record: Mapping[str, Any]) -> str:
    """The same for one product, with what leaves exactly and what one more file would cost."""
    how = how_of(record)
    if how is None:
        return ""
    rows = (
        ("What it knows of the confidential file", how.knows),
        ("What leaves exactly", how.exact or "Nothing."),
        ("Further files", how.another),
    )
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(said)}</dd>" for name, said in rows if said) + "</dl>"
