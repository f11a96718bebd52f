"""What an audit found, as a document that a release can carry: figures by plan, a day, and no times."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacita.errors import UsageError, VerificationError

if TYPE_CHECKING:
    from tacita.audit.run import PlanReport

FORM = "tacita-audit-1"
VERSION = version_of("tacita")
_FIGURES = ("claims", "neighbours_tried", "pairs_compared", "worst_loss_over_claim", "canary_lower_bound")


def document(reports: tuple[PlanReport, ...]) -> dict[str, Any]:
    """The form of `tacita audit --json`."""
    return {
        "form": FORM,
        "version": VERSION,
        "date": datetime.now(UTC).date().isoformat(),
        "passed": all(one.passed for one in reports),
        "plans": [_plan(one) for one in sorted(reports, key=lambda one: one.plan)],
    }


def _plan(report: PlanReport) -> dict[str, Any]:
    outcome = report.outcome
    return {
        "plan": report.plan,
        "claims": report.claims,
        "neighbours_tried": outcome.neighbours,
        "pairs_compared": outcome.pairs,
        "files_refused": outcome.refused,
        "worst_loss_over_claim": report.worst,
        "findings": [{"check": one.check, "what": one.what} for one in outcome.findings],
        "twins": [{"name": name, "caught_by": check} for name, check in report.twins],
        "canary_lower_bound": report.canary,
        "seconds": round(report.seconds, 1),
    }


def evidence(document: dict[str, Any]) -> dict[str, Any]:
    """The same without seconds, which say something about a machine and nothing about a plan."""
    plans = [{key: value for key, value in one.items() if key != "seconds"} for one in document["plans"]]
    return {**document, "plans": plans}


def evidence_name(version: str = VERSION) -> str:
    return f"evidence-{version}.json"


def write(path: Path, content: dict[str, Any]) -> None:
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); name another place") from None


def evidence_beside(place: Path) -> dict[str, Any] | None:
    """The evidence for this version of the package, where an audit left it in the same folder."""
    path = place.parent / evidence_name()
    if not path.is_file():
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        check(document, VERSION)
    except (ValueError, RecursionError, OSError, VerificationError):
        raise UsageError(
            f"{path.name}: is not the evidence of a passed audit of tacita {VERSION}; make it again with "
            "`tacita audit --out`, or take it away"
        ) from None
    return evidence(document)


def check(document: Any, version: str) -> str:
    """One sentence about evidence that is whole, of this version, and has nothing against any plan."""
    try:
        plans = document["plans"]
        whole = document["form"] == FORM and all(key in one for one in plans for key in _FIGURES)
        worst = max(one["worst_loss_over_claim"] or 0.0 for one in plans)
        clean = document["passed"] is True and worst <= 1 + 1e-6 and not any(one["findings"] for one in plans)
        caught = all(twin["caught_by"] for one in plans for twin in one["twins"])
        tried = sum(one["neighbours_tried"] for one in plans)
    except (KeyError, TypeError, ValueError):
        raise VerificationError("evidence.json: is not the evidence of an audit") from None
    if not (whole and clean and caught):
        raise VerificationError("evidence.json: the audit that it reports did not pass")
    if document["version"] != version:
        raise VerificationError(
            f"evidence.json: is about tacita {document['version']}, and this was made with {version}"
        )
    files = f"{tried:,} neighbouring files"
    return f"an audit of tacita {version} on {files} found no loss above what {len(plans)} plans promise"
