"""Every touch of confidential rows that is known, and whether it was paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tacita.ledger import Ledger


@dataclass(frozen=True)
class Touch:
    """Something that read confidential rows."""

    when: str
    what: str
    paid: str
    state: str


def touches(
    ledger: str | Path | None, moment: str, columns: Sequence[str], tables: Sequence[str], attacks: Sequence[str] = ()
) -> list[Touch]:
    """The ledger's reservations, the check before a run, and this evaluation itself."""
    found = []
    if ledger is not None and Ledger.is_begun(ledger):
        for entry in Ledger.open(ledger, read_only=True).entries():
            if entry.kind == "reserve" and entry.loss is not None:
                paid = f"paid: {entry.loss} under {entry.neighbours}"
                found.append(Touch(_minute(entry.time), f"Released: {entry.label}", paid, entry.state))
    found.append(
        Touch(
            "before each run",
            "Check of the file against its schema: it may only refuse, and its message names columns and rules, "
            "never a value or a count",
            "not paid: seen by the data steward only",
            "",
        )
    )
    parts = [f"columns {', '.join(columns)}"] if columns else []
    parts += [f"exact counts behind {', '.join(tables)}"] if tables else []
    parts += [f"rehearsals of {', '.join(attacks)} for attacks"] if attacks else []
    found.append(
        Touch(
            _minute(moment),
            f"This dossier: {'; '.join(parts) or 'the rows'}, and everything computed from them here",
            "not paid: it must not be released, in whole or in part",
            "",
        )
    )
    return found


def _minute(moment: str) -> str:
    return moment[:16].replace("T", "\u00a0").replace("-", "\u2011")  # neither breaks at the end of a line
