"""An audit on the terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tacita.audit import evidence
from tacita.audit.run import PlanReport, Progress, Size, audit
from tacita.errors import VerificationError


def audit_and_show(
    console: Console,
    plans: tuple[str, ...],
    full: bool,
    neighbours: int | None,
    json_file: Path | None,
    folder: Path | None,
    progress: Progress,
) -> Callable[[], None]:
    """Audit, write what was found, and return what shows it once the progress bar is gone."""
    size = Size.full() if full else Size()
    size = size if neighbours is None else size.with_neighbours(neighbours)
    reports = audit(plans, size=size, progress=progress)
    document = evidence.document(reports)
    if json_file is not None:
        evidence.write(json_file, document)
    if folder is not None:
        evidence.write(folder / evidence.evidence_name(), evidence.evidence(document))
    return lambda: show(console, reports)


def show(console: Console, reports: tuple[PlanReport, ...]) -> None:
    """A line for each plan, then what was found; raises where something was."""
    table = Table("Plan", "Claims", "Files", "Loss / claim", "Twins", "ε ≥", "Seconds", box=None)
    table.columns[0].no_wrap = True
    for one in reports:
        caught = sum(check is not None for _, check in one.twins)
        worst = "not proved" if one.worst is None else f"{one.worst:.4f}"
        canary = "" if one.canary is None else f"{one.canary:.2f}"
        twins = f"{caught} of {len(one.twins)}" if one.twins else ""
        tried = f"{one.outcome.neighbours:,}"
        table.add_row(Text(one.plan), str(one.claims), tried, worst, twins, canary, f"{one.seconds:.0f}")
    console.print(table)
    for one in reports:
        for finding in one.outcome.findings:
            _complain(console, one.plan, f"{finding.check}: {finding.what}")
        for name, check in one.twins:
            if check is None:
                _complain(console, one.plan, f"a broken twin was not caught: {name}")
    broken = [one.plan for one in reports if not one.passed]
    if broken:
        raise VerificationError(f"the audit found something against {', '.join(broken)}")
    claims, files = sum(one.claims for one in reports), sum(one.outcome.neighbours for one in reports)
    console.print(f"Nothing found: {claims} claims on {files:,} neighbouring files. That is evidence, not proof.")


def _complain(console: Console, plan: str, what: str) -> None:
    console.print(Text.assemble((plan, "bold red"), f", {what}"), highlight=False)
