"""The verb `evaluate`: the dossier about confidential rows and what was made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacita.cli.options import Force, OutFolder
from tacita.terminal import Steps, console


def evaluate(
    out: OutFolder,
    spec: Annotated[
        Path | None, typer.Argument(metavar="[SPEC]", help="The specification; it names schema, data and ledger.")
    ] = None,
    synthetic: Annotated[
        list[Path] | None, typer.Option(metavar="PATH", help="A synthetic file, or a folder of implicates; repeatable.")
    ] = None,
    original: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The confidential file, where SPEC does not name it.")
    ] = None,
    holdout: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Rows of the same population kept out of the synthesis.")
    ] = None,
    bundle: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also hold a bundle against the confidential rows.")
    ] = None,
    earlier: Annotated[
        Path | None, typer.Option(metavar="DIR", help="An earlier dossier, to say what has changed since.")
    ] = None,
    schema: Annotated[Path | None, typer.Option(metavar="FILE", help="The schema, where there is no SPEC.")] = None,
    questions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What to look at: the keys of \\[evaluation] as a TOML file.")
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Without a schema: a number that is a code; repeatable.")
    ] = None,
    rows: Annotated[int, typer.Option(metavar="N", help="Look at no more than N random rows of a file.")] = 1_000_000,
    attacks: Annotated[int, typer.Option(metavar="N", help="Also attack SPEC's products by N runs of each; slow.")] = 0,
    force: Force = False,
) -> None:
    """Write the internal dossier: utility and risk against the confidential rows. Confidential, not for release."""
    from tacita.dossier.request import request_of
    from tacita.dossier.run import evaluate as make_dossier
    from tacita.release.spec import Spec

    screen = console()
    if spec is not None and Spec.load(spec).engine == "spark":
        screen.print(
            'The specification names engine = "spark". An evaluation does not use it: DuckDB reads the files on this '
            f"machine, and no more than {rows:,} rows of each come into memory."
        )
    request = request_of(
        spec,
        schema=schema,
        original=original,
        synthetic=synthetic or [],
        holdout=holdout,
        bundle=bundle,
        earlier=earlier,
        questions=questions,
        categorical=categorical or [],
        rows=rows,
        attacks=attacks,
    )
    with Steps(screen, 1) as progress:
        findings = make_dossier(request, out, force=force, progress=progress.at, say=screen.print)
    for verdict in findings.verdicts():
        screen.print(f"{verdict.title}: {verdict.grade}", highlight=False, markup=False)
    screen.print(f"Confidential, not for release: {out / 'dossier.html'}", highlight=False)
