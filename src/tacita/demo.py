"""A complete release of a small simulated file, from schema to verified bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tacita.release.folder import written_whole
from tacita.release.outlook import show_finished, show_plan
from tacita.release.plans import prepare
from tacita.release.run import run
from tacita.release.signed import UNSIGNED
from tacita.release.spec import Spec
from tacita.release.verify import checks
from tacita.simulated.frame import simulate
from tacita.terminal import styled

if TYPE_CHECKING:
    from rich.console import Console

SPEC = """\
# What to publish, how it is protected, and what it may cost.
title = "Employment by place and sector, 2026"
publisher = "Demonstration office"
schema = "jobs.schema.toml"
data = { job = "job.parquet", workplace = "workplace.parquet", worker = "worker.parquet" }
ledger = "jobs.ledger"

[cap]                          # the most that may ever be lost about the units of this file
neighbours = "strong"          # one establishment's size, within a factor 1 + alpha, is hidden
alpha = "0.05"
epsilon = "4"

[[table]]
name = "employment"
title = "Jobs by place, sector and ownership"
by = ["place", "sector", "ownership"]
mechanism = "SmoothStaircase"
epsilon = "1"
margin_share = "1/5"           # a fifth of epsilon buys narrower margins of error

[[table]]
name = "sector"
title = "Jobs by sector and ownership"
by = ["sector", "ownership"]
totals = ["sector"]            # made consistent from the noisy cells, at no cost
mechanism = "SmoothStaircase"
epsilon = "1"
margin_share = "1/5"

[[table]]
name = "education"
title = "Jobs by sector and education of the worker"
by = ["sector"]
worker = ["education"]         # one establishment's workers fall in several cells: measured as one vector
mechanism = "SmoothVector"
epsilon = "1"
margin_share = "1/5"

[[public_input]]
what = "Lists of places and sectors"
source = "simulated with the file"
"""


def demonstrate(console: Console, out: Path, *, force: bool = False) -> Path:
    """Simulate a file below `out`, then plan, run and verify its release; returns the bundle's folder."""
    with written_whole(out, force=force, kind="demo") as folder:
        console.print("Simulating a linked file of 40,000 jobs in 2,000 establishments ...")
        simulate(jobs=40_000, establishments=2_000).write(folder, form="linked")
        (folder / "release.toml").write_text(SPEC, encoding="utf-8")
        spec = Spec.load(folder / "release.toml")
        console.rule("tacita plan release.toml", align="left")
        show_plan(console, prepare(spec))
        console.rule("tacita run release.toml --out bundle", align="left")
        finished = run(spec, folder / "bundle", progress=lambda step: console.print(f"  {step}"))
    bundle = out / "bundle"
    show_finished(console, finished, bundle)
    console.rule("tacita verify bundle", align="left")
    for sentence in checks(bundle):
        console.print(styled("  ok", "green", f"  {sentence}"), highlight=False)
    console.print(f"{UNSIGNED}\n\nVerified. Open the page in a browser: {bundle / 'report.html'}", highlight=False)
    return bundle
