"""The verbs of a ledger: look at it, check it, and decide something on record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacita.cli.options import Force
from tacita.cli.signing_verbs import PASSPHRASE, PrivateKey, Role, Signer
from tacita.errors import UsageError
from tacita.terminal import console

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tacita.privacy import Loss, Neighbours

ledger_app = typer.Typer(
    help="Look at a ledger, check it, or decide something on record: caps, waivers, corrections, notes.",
    no_args_is_help=True,
)

LedgerPlace = Annotated[
    str, typer.Argument(metavar="LEDGER", help="The ledger: a file, or postgresql://host/database#name.")
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why, and who decided it. Public: later bundles show it.")]
Operator = Annotated[
    str,
    typer.Option(metavar="NAME", envvar="TACITA_OPERATOR", help="Who enters this. Kept in the ledger, in no bundle."),
]
Relation = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="The relation, as in \\[cap]: strong, weak, add-remove, replace, numbers-within or per-record.",
    ),
]
Alpha = Annotated[str | None, typer.Option(metavar="A", help="Its alpha, as in \\[cap].")]
Unit = Annotated[str | None, typer.Option(metavar="WORD", help="Its unit, as in \\[cap].")]


@ledger_app.command(
    "show",
    epilog="Example:  tacita ledger show jobs.ledger\n\nExample:  tacita ledger show jobs.ledger --html ledger.html",
)
def ledger_show(
    path: LedgerPlace,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page for the board instead.")
    ] = None,
    force: Force = False,
) -> None:
    """Every entry, and what is spent and left."""
    from tacita.ledger import Ledger

    ledger = Ledger.open(path, read_only=True)
    if html is None:
        from tacita.release.outlook import show_ledger

        show_ledger(console(), ledger)
        return
    from tacita.release.folder import check_page, write_page
    from tacita.release.page import ledger_page

    check_page(html, None, force=force, option="--html")
    write_page(html, ledger_page(ledger, ledger.name))
    console().print(f"For the office and its board, not for release: {html}", highlight=False)


@ledger_app.command(
    "create",
    epilog="Example:  tacita ledger create postgresql://db.office/statistics#jobs --roles --cap release.toml\n\n"
    "Example:  tacita ledger create postgresql://db.office/statistics#jobs --move jobs.ledger",
)
def ledger_create(
    path: LedgerPlace,
    cap: Annotated[
        Path | None, typer.Option("--cap", metavar="SPEC", help="Declare the \\[cap] of this specification.")
    ] = None,
    roles: Annotated[
        bool, typer.Option("--roles", help="Make the roles operator, steward, board and reader on the server.")
    ] = False,
    move: Annotated[
        Path | None, typer.Option("--move", metavar="FILE", help="Take over all entries of this ledger file.")
    ] = None,
    script: Annotated[bool, typer.Option("--script", help="Print the SQL for an administrator instead.")] = False,
) -> None:
    """Make a ledger before its first release: on a server, with roles, or with what a file holds so far."""
    from tacita.ledger import Ledger
    from tacita.ledger.founding import create, sql

    if script:
        if cap is not None or move is not None:
            raise UsageError("--script: prints tables and roles alone; give --cap or --move in a second call")
        typer.echo(sql(path, roles=roles))
        return
    create(path, roles=roles, moved=move)
    if cap is not None:
        from tacita.release.spec import Spec

        terms = Spec.load(cap).cap
        Ledger.open(path, cap=terms.loss, neighbours=terms.relation, holds=terms.holds, yearly=terms.yearly)
    ledger = Ledger.open(path, read_only=True)
    caps = "; ".join(f"{loss} for {relation}" for relation, loss in ledger.caps().items())
    console().print(f"{ledger!r}\n{f'Cap: {caps}' if caps else 'No cap is declared yet.'}", highlight=False)
    if roles:
        console().print(
            f'Roles are there. Give them to people on the server: GRANT "{ledger.name}_operator" TO …;', highlight=False
        )
    if move is not None:
        console().print(f"Put {move.name} away: whoever still spends from it spends twice.", highlight=False)


@ledger_app.command(
    "verify",
    epilog="Example:  tacita ledger verify jobs.ledger\n\n"
    "Example:  tacita ledger verify jobs.ledger --head head-2026.json --key board.pub",
)
def ledger_verify(
    path: LedgerPlace,
    head: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A signed head: the ledger must still hold all up to it.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", metavar="PUB", help="The public key that must have signed the head.")
    ] = None,
) -> None:
    """Check the hash chain, the stored results and the sums against the caps.

    With a signed head, also that the file was not put back to an older state since.
    """
    from tacita.ledger import Ledger

    if (head is None) != (key is None):
        raise UsageError("--head and --key go together: a signed head, and the public key of who signed it")
    ledger = Ledger.open(path, read_only=True)
    last = ledger.verify()
    if head is not None and key is not None:
        from tacita.ledger.signatures import public_key, read_head

        signed = read_head(head, public_key(key))
        ledger.verify_head(signed.subject)
        console().print(f"It holds the head signed by {signed}", highlight=False)
    console().print(f"Verified: {path}\nhead of the chain: {last}")


@ledger_app.command(
    "sign",
    epilog='Example:  tacita ledger sign jobs.ledger --key board.key --name "B. Rossi" --role "chair of the board" '
    "--out head-2026.json",
)
def ledger_sign(
    path: LedgerPlace,
    key: PrivateKey,
    name: Signer,
    role: Role,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The signed head; keep it away from the ledger.")],
    statement: Annotated[str, typer.Option(metavar="TEXT", help="What is signed for.")] = "The ledger stood like this.",
) -> None:
    """Sign the head of the chain: later, `tacita ledger verify --head` finds a ledger that was put back."""
    import os

    from tacita.ledger import Ledger
    from tacita.ledger.signatures import private_key, sign_head

    if os.path.lexists(out):
        raise UsageError(f"--out {out}: exists already; name another file, a signed head is never replaced")
    opened = private_key(key, os.environ.get(PASSPHRASE))
    ledger = Ledger.open(path, read_only=True)
    ledger.verify()
    signed = sign_head(ledger.head(), opened, name=name, role=role, statement=statement)
    out.write_bytes(signed.to_bytes())
    number = signed.statement.subject["number"]
    console().print(f"Signed: the ledger up to entry {number}, in {out}", highlight=False)


@ledger_app.command(
    "raise",
    epilog='Example:  tacita ledger raise jobs.ledger --epsilon 3 --reason "Board, 3 March: two more years" '
    '--operator "A. Meier"',
)
def ledger_raise(
    path: LedgerPlace,
    reason: Reason,
    operator: Operator,
    epsilon: Annotated[str | None, typer.Option(metavar="E", help="The new cap; more than the present one.")] = None,
    delta: Annotated[str | None, typer.Option(metavar="D", help="The new delta; the present one unless given.")] = None,
    per_year: Annotated[
        str | None, typer.Option(metavar="E", help="The most that one calendar year may take inside the cap.")
    ] = None,
    until: Annotated[int | None, typer.Option(metavar="YEAR", help="The last year that --per-year is for.")] = None,
    neighbours: Relation = None,
    alpha: Alpha = None,
    unit: Unit = None,
) -> None:
    """Raise a cap, or change its allowance per year, on record. Specifications that name the earlier ones still run.

    Where the ledger has several caps, --neighbours with --alpha or --unit says which one.
    """
    from tacita.ledger import Ledger, Yearly
    from tacita.privacy import Loss

    ledger = Ledger.open(path)
    caps = ledger.caps()
    relation = _relation(neighbours, alpha, unit, caps)
    if relation is None:
        if len(caps) != 1:
            listed = "; ".join(str(one) for one in caps)
            raise UsageError(f"--neighbours: this ledger has several caps ({listed}); say which one rises")
        (relation,) = caps
    if epsilon is None and per_year is None:
        raise UsageError("say what rises: --epsilon, or --per-year with --until")
    if (per_year is None) != (until is None):
        raise UsageError("--per-year and --until go together: add the other one")
    new = None if epsilon is None else _loss(epsilon, delta, caps.get(relation))
    yearly = None
    if per_year is not None and until is not None:
        own = _loss(per_year, delta, caps.get(relation))
        yearly = Yearly(own if own.rho is not None else Loss(own.epsilon), until)
    ledger.raise_cap(new, reason=reason, neighbours=relation, yearly=yearly, operator=operator)
    terms = "" if yearly is None else f", with {yearly}"
    console().print(f"The cap for {relation} is {ledger.caps()[relation]} now{terms}.", highlight=False)


@ledger_app.command(
    "waive",
    epilog="Example:  tacita ledger waive jobs.ledger --neighbours strong --alpha 0.1 "
    '--reason "Board, 3 March" --operator "A. Meier"\n\n'
    "Example:  tacita ledger waive jobs.ledger --overlap jobs-2025 jobs-2026 "
    '--reason "Board, 3 March" --operator "A. Meier"',
)
def ledger_waive(
    path: LedgerPlace,
    reason: Reason,
    operator: Operator,
    neighbours: Relation = None,
    alpha: Alpha = None,
    unit: Unit = None,
    overlap: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Let the data sets A and B hold the same units, each with its own budget."),
    ] = None,
) -> None:
    """Lift a promise for later releases, or let two files hold the same units, on record. There is no way back."""
    from tacita.ledger import Ledger

    if (neighbours is None) == (overlap is None):
        raise UsageError("say what is waived: either --neighbours (with --alpha or --unit), or --overlap A B")
    ledger = Ledger.open(path)
    relation = _relation(neighbours, alpha, unit, ledger.caps())
    if relation is not None:
        ledger.waive(relation, reason=reason, operator=operator)
        console().print(f"Later releases need say nothing about {relation}.", highlight=False)
    if overlap is not None:
        ledger.waive_overlap(*overlap, reason=reason, operator=operator)
        words = "may hold the same units; a unit in both loses the sum of both budgets."
        console().print(f"{overlap[0]} and {overlap[1]} {words}", highlight=False)


@ledger_app.command(
    "supersede",
    epilog="Example:  tacita ledger supersede jobs.ledger 3 --by 7 "
    '--reason "A wrong code list; corrected file" --operator "A. Meier"',
)
def ledger_supersede(
    path: LedgerPlace,
    entries: Annotated[list[int], typer.Argument(metavar="ENTRY...", help="The releases that are superseded.")],
    reason: Reason,
    operator: Operator,
    by: Annotated[
        list[int] | None,
        typer.Option(metavar="ENTRY", help="The release that takes their place; repeatable. Without it: withdrawn."),
    ] = None,
) -> None:
    """Say that releases were corrected, or withdrawn. What they cost stays spent.

    Entries are those of `tacita ledger show`. Running a specification again costs nothing, and its bundle then says
    that it is superseded, or what it supersedes, on its page and in its manifest.
    """
    from tacita.ledger import Ledger

    Ledger.open(path).supersede(entries, by=by or (), reason=reason, operator=operator)
    listed = ", ".join(map(str, entries))
    became = f"superseded by {', '.join(map(str, by))}" if by else "withdrawn"
    console().print(
        f"On record: {listed} {became}. `tacita run` with the specification of either makes, at no charge, a bundle "
        "that says so.",
        highlight=False,
    )


@ledger_app.command(
    "annotate",
    epilog="Example:  tacita ledger annotate jobs.ledger --entry 3 "
    '--note "Sent to the press office" --operator "A. Meier"',
)
def ledger_annotate(
    path: LedgerPlace,
    note: Annotated[str, typer.Option(metavar="TEXT", help="What is to be remembered. It stays in the ledger.")],
    operator: Operator,
    entry: Annotated[int | None, typer.Option(metavar="N", help="The entry that it is about.")] = None,
) -> None:
    """Add a note, about one entry or the whole ledger. It changes nothing and is in no bundle."""
    from tacita.ledger import Ledger

    Ledger.open(path).annotate(note, about=entry, operator=operator)
    console().print("Noted.", highlight=False)


def _relation(
    neighbours: str | None, alpha: str | None, unit: str | None, declared: Iterable[Neighbours]
) -> Neighbours | None:
    """The relation that the options name; None where they name none. One that takes many numbers to write down is
    looked up among those that the ledger has a cap for."""
    if neighbours is None:
        if alpha is not None or unit is not None:
            raise UsageError("--neighbours: goes with --alpha and --unit; add it, as in [cap] of a specification")
        return None
    from pydantic import ValidationError

    from tacita.privacy import PerRecord
    from tacita.release.cap_spec import CapSpec

    if neighbours == "per-record":
        alike = [one for one in declared if isinstance(one, PerRecord) and unit in (None, one.unit)]
        if len(alike) != 1 or alpha is not None:
            raise UsageError(
                f"--neighbours: this ledger has {len(alike)} caps for per-record privacy of that unit, and exactly one "
                "can be meant; give --unit, and no --alpha"
            )
        return alike[0]
    given = {"neighbours": neighbours, "alpha": alpha, "unit": unit, "epsilon": "1"}
    try:
        return CapSpec.model_validate(given).relation
    except ValidationError as error:
        first = error.errors()[0]
        words = first["msg"].removeprefix("Value error, ").replace("; add it to [cap]", "; add the option")
        raise UsageError(f"--{(first['loc'] or ('neighbours',))[0]}: {words}") from None


def _loss(epsilon: str, delta: str | None, present: Loss | None) -> Loss:
    """A new cap in the kind of the present one: an account in ρ takes the ρ that (ε, δ) allows, as [cap] does."""
    from tacita.noise.concentrated import rho_for
    from tacita.privacy import Loss, exact

    if present is not None and present.rho is not None:
        if delta is None:
            raise UsageError("--delta: this account is kept in ρ; give the delta of [cap] too")
        return Loss(rho=rho_for(exact(epsilon, "epsilon"), exact(delta, "delta")))
    kept = "0" if present is None else present.delta
    return Loss(epsilon, delta=kept if delta is None else delta)
