"""The page of a ledger: for the office and its board, made from the ledger alone and the same bytes each time.

It names operators and notes, which no bundle does, so it is not part of a release. Days, not times of day, and nothing
that depends on when it is looked at. The words are in `pages/templates/ledger.html.j2`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tacita.ledger import Account, Entry, Ledger
from tacita.pages import render
from tacita.privacy import Loss
from tacita.release.words import firmly

_DECISIONS = {
    "cap": "Cap",
    "waive": "Promise lifted",
    "overlap": "Overlap let pass",
    "supersede": "Correction",
    "note": "Note",
}


def ledger_page(ledger: Ledger, name: str) -> str:
    """The page of a ledger that is called `name`."""
    entries, head = ledger.entries(), ledger.verify()
    releases = [one for one in entries if one.kind in ("reserve", "disclose")]
    decisions = [one for one in entries if one.kind in _DECISIONS]
    return render.page(
        "ledger.html.j2",
        name=name,
        head=head,
        count=len(entries),
        first=entries[0].time[:10],
        last=entries[-1].time[:10],
        accounts=[_account(one) for one in ledger.accounts()],
        releases=[_release(one) for one in releases],
        decisions=[_decision(one) for one in decisions],
        interrupted=[one.number for one in ledger.interrupted()],
    )


def _account(one: Account) -> dict[str, Any]:
    return {
        "of": ", ".join(one.identities) or "No file yet",
        "relation": one.neighbours,
        "cap": one.cap,
        "spent": firmly(one.spent, one.holds),
        "left": one.left,
        "share": _share(one.spent, one.cap),
        "holds": one.holds,
        "yearly": one.yearly,
        "years": [(str(year), str(spent), str(one.left_in(year))) for year, spent in one.by_year],
        "waived": one.waived,
        "silent": one.silent,
        "assumes": one.assumes,
    }


def _share(spent: Loss, cap: Loss) -> float:
    """How much of the cap is gone, in percent: of whichever part of the loss is nearest to its end."""
    pairs: Iterator[tuple[Any, Any]] = iter(
        ((spent.epsilon, cap.epsilon), (spent.delta, cap.delta), (spent.rho, cap.rho))
    )
    return min(100.0, max((100 * float(part / whole) for part, whole in pairs if whole), default=0.0))


def _release(one: Entry) -> tuple[Any, ...]:
    loss = firmly(one.loss or "", one.holds) if one.loss or one.kind == "disclose" else ""
    return one.number, one.time[:10], one.label, one.identity, loss, one.state


def _decision(one: Entry) -> tuple[Any, ...]:
    amount = ", ".join(part for part in (one.loss and f"{one.loss} under {one.neighbours}", one.state) if part)
    return one.number, one.time[:10], _DECISIONS[one.kind], amount, one.label, one.operator or None
