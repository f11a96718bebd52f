"""What the command line shows about a release: before it is made, after it is made, and in the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
from rich.padding import Padding
from rich.table import Table

from tacita.errors import RefusedError, UsageError
from tacita.ledger import Account, Ledger, Share
from tacita.ledger.store import now
from tacita.ledger.terms import Tally
from tacita.mechanisms.table.accuracy import FEWEST
from tacita.privacy import UNCHECKED, Loss
from tacita.release.effort import effort, speed
from tacita.release.spec import TableSpec
from tacita.release.words import account_of, firmly, kind_of_privacy, left_open, odds_example, policy_rows, up_front
from tacita.terminal import styled

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.text import Text

    from tacita.data.schema import Schema
    from tacita.plan import Forecast
    from tacita.privacy import Guarantee, Neighbours
    from tacita.release.codes import Wanted
    from tacita.release.plans import PlannedRelease
    from tacita.release.run import Finished


_SOFT_SUMS = {
    "asymptotically": "The sum is not proved: at least one release in it holds asymptotically only.",
    "never": "The sum bounds nothing: at least one file was disclosed without a guarantee.",
}


def show_plan(console: Console, planned: PlannedRelease, records: int | None = None) -> int:
    """The guarantee in plain words, the cost of each table, and the error to expect, of about so many `records` where
    that is known. Returns the exit code that `tacita run` would end with, as far as caps and the ledger decide: 0 where
    it fits."""
    guarantee, spec = planned.guarantee, planned.spec
    console.print(f"\n{spec.title}", style="bold", highlight=False)
    console.print("This is a plan. No data was opened and nothing was spent.\n")
    _show_doubts(console, guarantee)
    console.print("The guarantee", style="bold")
    _say(console, f"{kind_of_privacy(guarantee)}: {guarantee}.")
    _say(console, f"Protected: {guarantee.protects}.")
    _say(console, f"In words: {guarantee.odds_factor}. {odds_example(guarantee)}")
    _say(console, "Not protected:")
    for sentence in left_open(guarantee):
        _say(console, f"- {sentence}", indent=4)
    if guarantee.assumes:
        _say(console, "It assumes:")
        for sentence in guarantee.assumes:
            _say(console, f"- {sentence}", indent=4)
    console.print("\nThe cost", style="bold")
    cost = Table("product", "mechanism", "privacy loss", box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for product in planned.products:
        loss = firmly(product.guarantee.loss, product.guarantee.holds)
        cost.add_row(product.spec.name, product.spec.mechanism, loss)
    cost.add_row("all together", "", firmly(guarantee.loss, guarantee.holds), style="bold")
    described = [product.plan.describe() for product in planned.products]
    for number, lost in policy_rows(guarantee, planned.schema, described)[-1:]:
        cost.add_row(f"with {number}", "", lost, style="bold")
    cost.add_row("cap for this file", "", str(spec.cap.loss))
    if spec.cap.yearly is not None:
        cost.add_row("of it", "", str(spec.cap.yearly))
    console.print(Padding(cost, (0, 0, 0, 2), expand=False))
    code = _show_standing(console, planned)
    _show_brought(console, planned)
    console.print("\nThe error to expect", style="bold")
    for product in planned.products:
        forecast = _of_size(product.plan, records).forecast(planned.schema)
        size = f": up to {forecast.cells:,} cells" if isinstance(product.spec, TableSpec) else ", synthetic files"
        _say(console, f"{product.title} ({product.spec.name}){size}")
        for sentence in forecast.sentences:
            _say(console, sentence, indent=4)
        if isinstance(product.spec, TableSpec):
            _show_small(console, product.plan, planned.schema, forecast, records)
    if records is not None:
        _show_effort(console, planned, records)
    console.print()
    return code


def _show_effort(console: Console, planned: PlannedRelease, records: int) -> None:
    """How long it takes where rows are read on this machine; a cluster or a server takes time of its own."""
    if planned.spec.reads_with != "duckdb" or (work := effort(planned, records, slower=speed())) is None:
        return
    console.print("\nThe work", style="bold")
    _say(console, f"{work} for {records:,} records on this machine, within a factor of two.")


def _of_size(plan: Any, records: int | None) -> Any:
    """The same plan for files of so many records, where it does not say itself how many there are."""
    if records is None or not attrs.has(type(plan)):
        return plan
    inner = getattr(plan, "plan", None)
    if inner is not None and attrs.has(type(inner)):
        return attrs.evolve(plan, plan=_of_size(inner, records))
    return attrs.evolve(plan, rows=records) if getattr(plan, "rows", records) is None else plan


def _show_small(console: Console, plan: Any, schema: Schema, forecast: Forecast, records: int | None) -> None:
    """Cells that are too small on average to be published."""
    fewest, cells = forecast.figures.get(FEWEST), getattr(getattr(plan, "plan", plan), "cells", None)
    if records is None or fewest is None or cells is None or records / cells.count(schema) >= fewest:
        return
    each = max(1, round(records / cells.count(schema)))
    words = f"With {records:,} records a cell has about {each:,}, and needs about {fewest:,.0f}: most would stay empty."
    _say(console, styled(words, "bold red", " Use fewer or coarser attributes, or a larger epsilon."), indent=4)


_BROUGHT = {
    "counts": "counts and sums, one line for each combination of stored values that its cells have, and of each octave "
    "of a number whose limit is bought",
    "values": "counts, one line for each value or sampled unit that occurs in a cell: one column at a time, at most "
    "40 MB for a million records",
    "groups": "{columns} columns of one group of records after another, about {size} MB for a million records; the "
    "largest group must fit in memory",
    "records": "{columns} columns of every record, about {size} MB for a million records; all must fit in memory",
}


def _show_brought(console: Console, planned: PlannedRelease) -> None:
    """What leaves a cluster or a server for this machine; a file of this machine is read where it is."""
    if planned.spec.reads_with == "duckdb":
        return
    console.print(f"\nWhat {planned.spec.reads_with} sends to this machine", style="bold")
    for product in planned.products:
        columns = len(product.plan.reads(planned.schema))
        # Numbers and codes of eight bytes, once as they come and once as they are used.
        said = _BROUGHT[product.plan.brings].format(columns=columns, size=16 * columns)
        _say(console, f"{product.spec.name}: {said}.")


def _show_standing(console: Console, planned: PlannedRelease) -> int:
    """Whether `tacita run` would take it: every cap it counts against, not [cap] alone.

    Without the confidential file the ledger knows this data set by its declared name only.
    """
    spec, cost = planned.spec, planned.guarantee.loss
    cap, relation = spec.cap.loss, spec.cap.relation
    path = spec.ledger_place
    if not planned.fits:
        what = "the allowance of one year" if cost <= cap else "the cap"
        _say(console, _no(f"It does not fit {what}", f"{planned.way_to_fit}."))
        return RefusedError.exit_code
    if spec.reason is not None:
        words = "It takes nothing from the cap, and stands in the ledger as a disclosure without a guarantee, with its "
        _say(console, f"{words}reason. From then on no account of this file bounds anything.")
    if not Ledger.is_begun(path):
        try:
            new = Account(relation, (), cap, Loss.zero(), cap, yearly=spec.cap.yearly)
            if spec.cap.yearly is not None:
                spec.cap.yearly.refuse_beyond(cap, now().year)
        except (RefusedError, UsageError) as error:
            _say(console, _no("[cap] does not hold together", _sentence(str(error))))
            return error.exit_code
        _say(console, f"It fits. The ledger is new; {cap.minus(cost)} would be left for later releases.")
        _show_years(console, Share(new, cost, now().year))
        return 0
    ledger = Ledger.open(path, read_only=True)
    declared = ledger.caps()
    if declared.get(relation, cap) != cap:
        if cap not in ledger.raised_from(relation):
            words = f"The ledger's cap is {declared[relation]}, not {cap}"
            _say(console, _no(words, "Correct [cap]."))
            return RefusedError.exit_code
        words = f"The ledger's cap was raised to {declared[relation]} since this specification was written"
        _say(console, f"{words}; it runs as it is.")
    schema = planned.schema
    try:
        shares = ledger.preview(
            planned.guarantees,
            schema.identity,
            schema.lineage,
            cap=cap,
            neighbours=relation,
            holds=spec.cap.holds,
            yearly=spec.cap.yearly,
        )
    except (RefusedError, UsageError) as error:
        _say(console, _no("The ledger does not allow it", _sentence(str(error))))
        return error.exit_code
    if spec.reason is not None:
        return 0
    silent = [one for one in declared if one not in {share.account.neighbours for share in shares}]
    _show_shares(console, shares, silent, planned.guarantee.assumes)
    if relation not in declared:
        _say(console, f"The ledger has no cap for {relation} yet; `tacita run` would declare this one.")
    full = [share for share in shares if not share.fits]
    for share in full:
        words = f"It does not fit what is left under {share.account.neighbours} ({share.account.left})"
        if share.fits_cap:
            left = share.account.left_in(share.year)
            words = f"It does not fit what is left of {share.year} under {share.account.neighbours} ({left})"
        _say(console, _no(words, "Only what was released before is returned from the ledger, at no cost."))
    if not full:
        fits = "It fits." if len(shares) == 1 else "It fits every cap that it counts against."
        _say(console, f"{fits} Releases of the same rows under another name would count too; only the run finds them.")
    return RefusedError.exit_code if full else 0


def _show_shares(
    console: Console, shares: Sequence[Share], silent: Sequence[Neighbours], assumed: Sequence[str]
) -> None:
    """Each account with what this release would take from it. A cap it is silent on was waived, or it were refused."""
    lines = Table("counts under", "cap", "spent", "this release", "left after", box=None, pad_edge=False)
    for column in lines.columns:
        column.overflow = "fold"
    for share in shares:
        one = share.account
        left = str(one.left.minus(share.charge)) if share.fits else styled("too little", "bold red")
        spent = firmly(one.spent, one.holds)
        lines.add_row(str(one.neighbours), str(one.cap), spent, str(share.charge), left)
    console.print(Padding(lines, (1, 0, 1, 2), expand=False))
    for share in shares:
        _show_years(console, share)
        _show_trusted(console, share.account, said=assumed)
    for relation in silent:
        _say(console, f"This release says nothing about {relation}; that promise was waived on record.")


def _show_years(console: Console, share: Share) -> None:
    """What this year's allowance and the later years would have left."""
    one, year = share.account, share.year
    if one.yearly is None:
        return
    if not share.fits:
        _say(console, f"The allowance under {one.neighbours} is {one.yearly}; {one.left_in(year)} is left of {year}.")
        return
    after = one.left.minus(share.charge)
    rest = Tally.of(one.spent_in(year) + share.charge).left_of(one.yearly.limit(one.cap))
    later = one.yearly.until - year
    years = f"{year + 1}" if later == 1 else f"{year + 1} to {one.yearly.until}"
    then = f"for {years}, {after} of the cap is left" if later else f"{year} is the last year that is planned"
    _say(console, f"The allowance under {one.neighbours} is {one.yearly}: {rest} would be left of {year}; {then}.")


def _no(words: str, fix: str) -> Text:
    return styled(f"{words}:", "bold red", f" `tacita run` would refuse. {fix}")


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"


def show_codes(console: Console, want: Wanted, spec: Path, *, buy: bool) -> None:
    """What code lists cost and will find; with `buy` they are bought first, and what was found is said."""
    from tacita.release.codes import buy as bought
    from tacita.release.codes import listed_of

    found = bought(want) if buy else None
    if found is None:
        console.print("This is a plan. No data was opened and nothing was spent.\n")
    console.print(f"Codes of {', '.join(want.files)}: {want.plan.guarantee}", highlight=False)
    for sentence in want.plan.forecast(want.schema).sentences:
        _say(console, sentence)
    for name, path in want.files.items():
        if found is None:
            _say(console, f"{name}: {path.name} is not there and would be written")
        else:
            _say(console, f"{name}: {len(listed_of(want, found, name)):,} codes found, written to {path.name}")
    console.print(f"Next: {'tacita plan' if buy else 'the same with --buy, or lists by hand, then tacita plan'} {spec}")


def show_finished(console: Console, finished: Finished, bundle: Path) -> None:
    """The ledger before and after, and where the bundle is."""
    budget = finished.release.budget
    table = Table("", "spent", "left", box=None, pad_edge=False, padding=(0, 3, 0, 0))
    promise = finished.release.guarantee
    holds = account_of(finished.release.ledger_extract, promise.neighbours).get("holds", promise.holds)
    for name, spent in (("before", finished.spent_before), ("after", finished.spent_after)):
        # Whether the part before was firm is not told apart; a sum with a soft part is soft.
        table.add_row(name, firmly(spent, None if spent.is_zero else holds), str(budget.cap.minus(spent)))
    _show_doubts(console, promise)
    console.print(f"Ledger, cap {budget.cap} ({promise.neighbours}):", highlight=False)
    console.print(Padding(table, (0, 0, 0, 2), expand=False))
    if finished.spent_before == finished.spent_after:
        console.print("Nothing new was charged: this release had been paid for, and its stored results were used.")
    for files in finished.release.microdata:
        if files.check is not None:
            from tacita.release.microdata import verdict_of  # what makes files is not loaded to show a plan

            _say(console, verdict_of(files.record()), indent=0)
    console.print(f"Bundle: {bundle}\nPage:   {bundle / 'report.html'}", highlight=False)


def show_ledger(console: Console, ledger: Ledger) -> None:
    """Every entry as a line, then the accounts."""
    lines = Table(
        "entry", "time (UTC)", "kind", "label", "loss", "state", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for entry in ledger.entries():
        loss = firmly(entry.loss or "", entry.holds) if entry.loss or entry.kind == "disclose" else ""
        time = entry.time[:19].replace("T", " ")
        state = "; ".join(part for part in (entry.state, entry.operator and f"entered by {entry.operator}") if part)
        lines.add_row(str(entry.number), time, entry.kind, entry.label, loss, state)
    console.print(lines)
    console.print()
    for account in ledger.accounts():
        console.print(str(account), highlight=False)
        _show_trusted(console, account)
    for entry in ledger.interrupted():
        console.print(f"Entry {entry.number} was reserved and never finished; it counts as spent.", style="yellow")


def _show_doubts(console: Console, guarantee: Guarantee) -> None:
    """What a board must not miss, before any number."""
    for sentence in up_front(guarantee):
        _say(console, styled(sentence, "bold red"))
        console.print()


def _show_trusted(console: Console, account: Account, *, said: Sequence[str] = ()) -> None:
    """Under the sum of an account, what all of it rests on, unless it was said before."""
    if account.holds != "always":
        _say(console, styled(_SOFT_SUMS[account.holds], "bold red"))
    for sentence in (one for one in account.assumes if one not in said):
        unchecked = sentence.startswith(UNCHECKED)
        _say(console, styled(f"- {sentence}", "bold red" if unchecked else ""), indent=4)


def _say(console: Console, sentence: str | Text, *, indent: int = 2) -> None:
    """A sentence that wraps under itself; long lines are hard to read on a wide screen."""
    console.print(
        Padding(sentence, (0, 0, 0, indent), expand=False),
        width=min(console.width, 100),
        highlight=False,
        soft_wrap=False,
    )
