"""The verb `study`: a paper's experiment, from the package `tacita-studies` where that is installed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tacita.cli.options import Force, OutFolder
from tacita.lazy import STUDIES, study_named
from tacita.terminal import Steps, console


def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"The paper: {', '.join(STUDIES)}.")],
    out: OutFolder,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="haney2017: jobs in the simulated file.")] = None,
    establishments: Annotated[
        int | None, typer.Option(metavar="N", help="kinney2007: establishments in the simulated panel.")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option("--replicates", "--trials", metavar="R", help="Replicates: how often each method is drawn."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="S", min=0, help="Studies use simulated data, so they may be seeded.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="The paper's own size.")] = False,
    keep_data: Annotated[bool, typer.Option("--keep-data", help="Also keep the files of the first replicate.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="TACITA_DATA",
            help="A folder with public files, for tables on real data (not haney2017); they are left out otherwise.",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Repeat a paper's experiment on simulated data, beside its printed numbers."""
    run = study_named(name)
    own = {"haney2017": {"jobs": jobs}, "kinney2007": {"establishments": establishments}}.get(name, {})
    screen = console()
    with Steps(screen, 1) as progress:
        run(
            out,
            replicates=trials,
            seed=seed,
            full=full,
            keep_data=keep_data,
            force=force,
            data=data,
            workers=os.cpu_count() or 1,
            progress=progress.at,
            **own,
        )
    screen.print(f"Results: {out / 'results.json'}\nPage:    {out / 'report.html'}", highlight=False)
