"""What the command line shows about a release: before it is made, after it is made, and in the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from tacita.ledger import Ledger
from tacita.release.words import kind_of_privacy, not_protected, odds_example

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from tacita.release.plans import PlannedRelease
    from tacita.release.run import Finished


def show_plan(console: Console, planned: PlannedRelease) -> None:
    """The guarantee in plain words, the cost of each table, and the error to expect."""
    guarantee, spec = planned.guarantee, planned.spec
    console.print(f"\n[bold]{escape(spec.title)}[/]", highlight=False)
    console.print("This is a plan. No data was opened and nothing was spent.\n")
    console.print("[bold]The guarantee[/]")
    _say(console, f"{kind_of_privacy(guarantee)}: {guarantee}.")
    _say(console, f"Protected: {guarantee.neighbours.meaning}.")
    _say(console, f"In words: {guarantee.odds_factor}. {odds_example(guarantee)}")
    _say(console, "Not protected:")
    for sentence in not_protected(guarantee.neighbours):
        _say(console, f"- {sentence}", indent=4)
    console.print("\n[bold]The cost[/]")
    cost = Table("table", "mechanism", "privacy loss", box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for table in planned.tables:
        cost.add_row(table.spec.name, table.spec.mechanism, str(table.guarantee.loss))
    cost.add_row("all tables", "", str(guarantee.loss), style="bold")
    cost.add_row("cap for this file", "", str(spec.cap.loss))
    console.print(Padding(cost, (0, 0, 0, 2), expand=False))
    _say(console, _standing(planned))
    console.print("\n[bold]The error to expect[/]")
    for table in planned.tables:
        forecast = table.plan.forecast(planned.schema)
        _say(console, f"{escape(table.title)} ({table.spec.name}): up to {forecast.cells:,} cells")
        for sentence in forecast.sentences:
            _say(console, escape(sentence), indent=4)
    console.print()


def _standing(planned: PlannedRelease) -> str:
    """Whether the release fits: the cap, and what the ledger knows of this file by its declared name."""
    spec, cost = planned.spec, planned.guarantee.loss
    cap, relation = spec.cap.loss, spec.cap.relation
    if not planned.fits:
        return "[bold red]It does not fit the cap:[/] `tacita run` would refuse. Lower epsilon, or drop a table."
    path = spec.resolve(spec.ledger)
    if not path.exists():
        return f"It fits. The ledger is new; {cap.minus(cost)} would be left for later releases."
    ledger = Ledger.open(path, read_only=True)
    declared = ledger.caps().get(relation)
    if declared is None:
        return f"It fits. The ledger has no cap for {relation} yet; `tacita run` would declare this one."
    if declared != cap:
        return f"[bold red]The ledger's cap is {declared}, not {cap}:[/] `tacita run` would refuse. Correct \\[cap]."
    left = ledger.remaining(relation, planned.schema.identity)
    if cost <= left:
        return f"It fits. {left} is left of the cap, and {left.minus(cost)} would be left after this release."
    return (
        f"[bold red]It does not fit what is left ({left}):[/] `tacita run` would refuse, except for tables that "
        "were released before, which are returned from the ledger at no cost."
    )


def show_finished(console: Console, finished: Finished, bundle: Path) -> None:
    """The ledger before and after, and where the bundle is."""
    budget = finished.release.budget
    table = Table("", "spent", "left", box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for name, spent in (("before", finished.spent_before), ("after", finished.spent_after)):
        table.add_row(name, str(spent), str(budget.cap.minus(spent)))
    relation = finished.release.guarantee.neighbours
    console.print(f"Ledger, cap {budget.cap} ({relation}):", highlight=False)
    console.print(Padding(table, (0, 0, 0, 2), expand=False))
    if finished.spent_before == finished.spent_after:
        console.print("Nothing new was charged: this release had been paid for, and its stored results were used.")
    console.print(f"Bundle: {bundle}\nPage:   {bundle / 'report.html'}", highlight=False)


def show_ledger(console: Console, ledger: Ledger) -> None:
    """Every entry as a line, then the accounts."""
    lines = Table(
        "entry", "time (UTC)", "kind", "label", "loss", "state", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for entry in ledger.entries():
        loss = "" if entry.loss is None else str(entry.loss)
        lines.add_row(str(entry.number), entry.time[:19].replace("T", " "), entry.kind, entry.label, loss, entry.state)
    console.print(lines)
    console.print()
    for account in ledger.accounts():
        console.print(str(account), highlight=False)
    for entry in ledger.interrupted():
        console.print(f"[yellow]Entry {entry.number} was reserved and never finished; it counts as spent.[/]")


def _say(console: Console, sentence: str, *, indent: int = 2) -> None:
    """A sentence that wraps under itself; long lines are hard to read on a wide screen."""
    console.print(
        Padding(sentence, (0, 0, 0, indent), expand=False),
        width=min(console.width, 100),
        highlight=False,
        soft_wrap=False,
    )
