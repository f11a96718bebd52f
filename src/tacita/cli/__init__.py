"""The command line: one function per verb. Heavy modules are imported inside the verbs, so that help is instant.

The verbs of a ledger are in `ledger_verbs`, those of keys and signatures in `signing_verbs`, a paper's study in
`study_verb`, the dossier in `evaluate_verb`.

Exit codes: 0 done; 2 wrong usage, schema or specification; 3 refused by the ledger or a privacy rule;
4 verification failed; 1 anything else.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from tacita.cli.evaluate_verb import evaluate
from tacita.cli.ledger_verbs import ledger_app
from tacita.cli.options import Force, OutFolder
from tacita.cli.signing_verbs import keys_app, signer
from tacita.cli.signing_verbs import sign as sign_verb
from tacita.cli.study_verb import study
from tacita.errors import UsageError, in_words, spent
from tacita.terminal import Steps, complain, console, open_terminal, styled

app = typer.Typer(
    name="tacita",
    help="Publishable tables from confidential files, with a privacy guarantee that is proved, paid for and explained.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(ledger_app, name="ledger")
app.add_typer(keys_app, name="keys")

SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="The release specification, a TOML file.")]


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        console().print(f"tacita {version('tacita')}", highlight=False)
        raise typer.Exit


@app.callback()
def _common(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the full traceback of an error; it may carry confidential values.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and stop.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    # `main` looks for --debug itself, since an error can come from anywhere, even before this is called.
    pass


@app.command(epilog="Example:  tacita init jobs.parquet --kind jobs")
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The confidential file, or its folder.")],
    public_copy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file declared public, from which levels may be read.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="What the file is: persons, households, survey, establishments, jobs, panel."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write the two drafts.")] = Path(),
    force: Force = False,
) -> None:
    """Draft a schema and a specification from column names and storage types only.

    Of FILE only names and types are read. Levels and bounds are left for a person to fill in, for the columns that will
    be used. Without --kind a terminal is asked, and a script gets the draft for persons.
    """
    from tacita.data.draft import draft_schema, storage_types, weight_columns
    from tacita.data.draft_spec import DRAFTS, draft_spec

    if not file.exists():
        raise UsageError(f"{file}: there is no such file")
    name = file.name.split(".")[0]
    schema, spec = out / f"{name}.schema.toml", out / f"{name}.release.toml"
    for target in (schema, spec):
        if target.exists() and not force:
            raise UsageError(f"{target}: exists already; move it away, or add --force to replace it")
    chosen = kind or _asked_kind()
    if chosen not in DRAFTS:
        raise UsageError(f"--kind {chosen}: must be one of {', '.join(DRAFTS)}")
    columns = storage_types(file)
    draft, weights = DRAFTS[chosen], weight_columns(columns) if chosen == "survey" else ()
    texts = (
        draft_schema(file, public_copy, draft.unit, role=draft.role, numbers=draft.numbers, entities=draft.entities),
        draft_spec(schema.name, Path(os.path.relpath(file, out)).as_posix(), chosen, next(iter(weights), None)),
    )
    out.mkdir(parents=True, exist_ok=True)
    for target, text in zip((schema, spec), texts, strict=True):
        target.write_text(text, encoding="utf-8")
    console().print(
        f"Drafted {schema} and {spec} (--kind {chosen}: one row is {draft.row}). Fill in what says TODO "
        f"of the columns you want to use, then: tacita plan {spec}"
    )
    if dates := [name for name, storage in columns.items() if storage == "other date"]:
        console().print(
            f"{', '.join(dates)}: drafted as categorical. If these are dates, write them as 2026-01-31 in the file; "
            "the draft says how to declare them then"
        )


def _asked_kind() -> Any:
    """What the file is, asked where someone is there to answer."""
    from tacita.data.draft_spec import DRAFTS

    if not sys.stdin.isatty():
        return "persons"
    for name, draft in DRAFTS.items():
        console().print(f"  {name}: one row is {draft.row}", highlight=False)
    return typer.prompt("What is the file", default="persons")


@app.command(epilog="Example:  tacita codes release.toml --epsilon 0.1 --buy")
def codes(
    spec: SpecFile,
    epsilon: Annotated[str, typer.Option(metavar="E", help="What the codes may cost, all columns together.")],
    delta: Annotated[str, typer.Option(metavar="D", help="The δ that goes with it.")] = "1e-9",
    buy: Annotated[bool, typer.Option("--buy", help="Pay for the codes and write the lists.")] = False,
) -> None:
    """Find the codes of columns that nobody has a code list of: name the file in the schema all the same.

    It is for each categorical column whose levels_file is not there. Codes that few records have are not found; they
    become what `outside` says. Without --buy no data is opened and nothing is spent.
    """
    from tacita.release.codes import wanted
    from tacita.release.outlook import show_codes
    from tacita.release.spec import Spec

    want = wanted(Spec.load(spec), epsilon, delta)
    show_codes(console(), want, spec, buy=buy)


@app.command(epilog="Example:  tacita plan release.toml --records 20000")
def plan(
    spec: SpecFile,
    records: Annotated[
        int | None,
        typer.Option("--records", metavar="N", min=1, max=10**9, help="About how many records the file has, if known."),
    ] = None,
) -> None:
    """Say what a release would promise, cost and deliver. Touches no data and spends nothing.

    With --records forecasts speak of so many, say which tables would stay empty, and how much time and memory a run
    takes. It changes nothing of the release.

    Exit code 3 where it does not fit what the cap and the ledger allow: then `tacita run` would refuse it.
    """
    from tacita.release.outlook import show_plan
    from tacita.release.plans import prepare
    from tacita.release.spec import Spec

    if code := show_plan(console(), prepare(Spec.load(spec)), records):
        raise typer.Exit(code)


@app.command(epilog="Example:  tacita explore release.toml --out explore.html")
def explore(
    spec: SpecFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="The HTML file to write; SPEC.explore.html unless named."),
    ] = None,
    force: Force = False,
) -> None:
    """Write a page on which to move prices, caps and margins and see what they buy. Touches no data, spends nothing."""
    from tacita.release.explorer import explorer_page
    from tacita.release.folder import check_page, write_page
    from tacita.release.plans import prepare
    from tacita.release.spec import Spec

    page = out or spec.with_suffix(".explore.html")
    check_page(page, None, force=force)
    write_page(page, explorer_page(prepare(Spec.load(spec))))
    console().print(f"Open in a browser: {page}", highlight=False)


@app.command(
    epilog="Example:  tacita run release.toml --out bundle/\n\n"
    'Example:  tacita run release.toml --out bundle/ --sign operator.key --name "A. Berg" --role operator'
)
def run(
    spec: SpecFile,
    out: OutFolder,
    sign: Annotated[
        Path | None,
        typer.Option(
            "--sign", metavar="KEY", help="Also sign the bundle with this private key, as `tacita sign` does."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="With --sign: who signs. Public.")] = None,
    role: Annotated[str | None, typer.Option(metavar="ROLE", help="With --sign: in what role. Public.")] = None,
    force: Force = False,
) -> None:
    """Make the release: pay through the ledger, measure, publish, write the bundle.

    The same release asked for again returns the stored result and costs nothing.
    """
    from tacita.release.outlook import show_finished
    from tacita.release.run import run as run_release
    from tacita.release.run import steps
    from tacita.release.spec import Spec

    screen, loaded, sign_it = console(), Spec.load(spec), signer(sign, name, role)
    with Steps(screen, steps(loaded)) as progress:
        finished = run_release(loaded, out, force=force, progress=progress)
    show_finished(screen, finished, out)
    if sign_it is not None:
        sign_it(out)


@app.command(epilog="Example:  tacita rehearse release.toml --mock --seed 1 --out rehearsal/")
def rehearse(
    spec: SpecFile,
    out: OutFolder,
    seed: Annotated[
        int, typer.Option(metavar="S", min=0, help="A whole number; the same seed gives the same rehearsal.")
    ],
    mock: Annotated[bool, typer.Option("--mock", help="Draw rows from the schema alone.")] = False,
    public_data: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Rows declared public, in the form of the confidential file.")
    ] = None,
    force: Force = False,
) -> None:
    """Run a specification on mock or public rows: seeded, stamped REHEARSAL, and never in a ledger."""
    from tacita.release.run import rehearse as rehearse_release
    from tacita.release.run import steps
    from tacita.release.spec import Spec

    if mock == (public_data is not None):
        raise UsageError("say what to rehearse on: either --mock, or --public-data PATH")
    screen, loaded = console(), Spec.load(spec)
    with Steps(screen, steps(loaded)) as progress:
        rehearse_release(loaded, out, seed=seed, public_data=public_data, force=force, progress=progress)
    screen.print(f"REHEARSAL written to {out}. Nothing was spent, and it is not a release.")


@app.command(epilog="Example:  tacita verify bundle/")
def verify(
    bundle: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The bundle that `tacita run` wrote, or a dossier's folder.")
    ],
    ledger: Annotated[
        str | None, typer.Option(metavar="LEDGER", help="Also check that this ledger holds the bundle's entries.")
    ] = None,
    key: Annotated[
        list[Path] | None,
        typer.Option("--key", metavar="PUB", help="A public key that must have signed the bundle; repeatable."),
    ] = None,
) -> None:
    """Check a bundle: fails if one byte has changed, or if a claim is not backed by what the bundle holds.

    Of a dossier it checks that each file is as it was written, and who signed it.
    """
    from tacita.ledger.signatures import public_key
    from tacita.release.signed import is_dossier, trust
    from tacita.release.verify import NOT_COMPARED, SUPERSEDED, checks, dossier_checks

    screen = console()
    if not bundle.is_dir():
        raise UsageError(f"{bundle}: there is no such folder")
    keys, of_dossier = [public_key(path) for path in key or []], is_dossier(bundle)
    if of_dossier and ledger is not None:
        raise UsageError("--ledger: a dossier has no entries in a ledger; verify its bundle with it")
    for sentence in dossier_checks(bundle, keys) if of_dossier else checks(bundle, ledger, keys):
        mark = ("  --", "yellow") if sentence.startswith((NOT_COMPARED, SUPERSEDED)) else ("  ok", "green")
        screen.print(styled(*mark, f"  {sentence}"), highlight=False)
    screen.print(f"Verified: {bundle}\n{trust(bundle, keys)}".rstrip(), highlight=False)


app.command(
    epilog='Example:  tacita sign bundle/ --key board.key --name "B. Rossi" --role "chair of the board" '
    '--statement "The board approves this release"'
)(sign_verb)


@app.command(epilog="Example:  tacita report bundle/ --out page.html")
def report(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="The folder that `tacita run` wrote.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")],
    force: Force = False,
) -> None:
    """Make the public page of a bundle again, from the bundle alone."""
    from tacita.release.folder import check_page, write_page
    from tacita.release.verify import page_of

    if not bundle.is_dir():
        raise UsageError(f"{bundle}: there is no such folder")
    check_page(out, bundle, force=force)
    write_page(out, page_of(bundle))
    console().print(f"Page written to {out}")


app.command(
    epilog="Example:  tacita evaluate release.toml --synthetic implicate-01.parquet --out dossier/\n\n"
    "Example:  tacita evaluate release.toml --bundle bundle/ --out dossier/"
)(evaluate)
app.command(epilog="Example:  tacita study tran2023 --out study/ --replicates 30")(study)


@app.command(epilog="Example:  tacita audit SmoothStaircase --json audit.json")
def audit(
    plans: Annotated[
        list[str] | None, typer.Argument(metavar="[PLAN]...", help="Plans to audit; all of them unless named.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Ten times as many neighbours, and longer canaries.")] = False,
    neighbours: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Neighbouring files to try on each plan.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Also write the figures.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Also write the evidence; beside a ledger, releases carry it."),
    ] = None,
) -> None:
    """Attack the package's own promises: hostile neighbours, exact losses, canaries, and broken twins to be caught."""
    from tacita.audit.show import audit_and_show

    shown = console()
    with Steps(shown, 1) as progress:
        finish = audit_and_show(shown, tuple(plans or ()), full, neighbours, json_file, out, progress.at)
    finish()


@app.command(epilog="Example:  tacita demo --out demo/")
def demo(out: OutFolder, force: Force = False) -> None:
    """A complete release of a small simulated file: plan, run, verify, and a page to look at."""
    from tacita.demo import demonstrate

    demonstrate(console(), out, force=force)


@cache  # building it takes longer than the shortest verbs; a session or a test may call `main` many times
def _command() -> Any:
    return typer.main.get_command(app)


def main(arguments: list[str] | None = None) -> None:
    """The entry point: runs a verb and turns errors into messages and exit codes."""
    open_terminal()
    given = sys.argv[1:] if arguments is None else arguments
    try:
        _command()([argument for argument in given if argument != "--debug"])
    except Exception as error:
        if "--debug" in given:
            raise
        kind, message, code = in_words(error, given)
        complain(kind, ". ".join(part for part in (message, spent(error)) if part))
        sys.exit(code)
