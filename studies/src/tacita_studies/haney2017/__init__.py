"""haney2017: what provable privacy costs against noise infusion, on a frame simulated to the paper's facts.

`run` is what `tacita study haney2017` calls. It writes results.json and report.html, and with `keep_data` the
tables themselves. Nothing here is confidential, so the run is seeded and repeatable.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacita.errors import UsageError
from tacita.release.folder import written_whole
from tacita.simulated.frame import FULL_ESTABLISHMENTS, FULL_JOBS, simulate
from tacita_studies.haney2017.arms import Grid
from tacita_studies.haney2017.measure import Progress, measure
from tacita_studies.haney2017.page import write_report
from tacita_studies.haney2017.rows import rows_of
from tacita_studies.harness.results import as_document, write_json

PAPER_TRIALS = 20
DEFAULT_TRIALS = 5


def run(
    out: Path,
    *,
    jobs: int = FULL_JOBS,
    trials: int | None = None,
    seed: int = 2017,
    full: bool = False,
    keep_data: bool = False,
    force: bool = False,
    grid: Grid | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run the study and write its folder; returns the content of results.json.

    `jobs` scales the frame (establishments and places along with it). `trials` is the number of independent
    draws of each mechanism: 5 unless said otherwise, and 20, as in the paper, with `full`. `grid` may leave out
    settings for a quick look. The same arguments give the same files.
    """
    repeats = trials if trials is not None else PAPER_TRIALS if full else DEFAULT_TRIALS
    if repeats < 1:
        raise UsageError("trials: the study needs at least one draw of each mechanism")
    settled = grid or Grid()
    say = progress or (lambda what, done, total: None)
    with written_whole(Path(out), force=force, kind="study") as folder:
        say("simulating the linked frame", 0, 1)
        frame = simulate(jobs, max(50, round(jobs * FULL_ESTABLISHMENTS / FULL_JOBS)), seed)
        measured = measure(frame, repeats, seed, settled, say, folder if keep_data else None)
        settings = {
            "jobs": jobs,
            "establishments": len(frame.workplace_id),
            "trials": repeats,
            "infusion_draws": len(measured.infusion),
            "seed": seed,
            "full": full,
            "alphas": list(settled.alphas),
            "epsilons": list(settled.epsilons),
            "thetas": list(settled.thetas),
            "frame": frame.facts(),
        }
        rows = rows_of(measured)
        document = as_document("haney2017", settings, rows)
        write_json(folder, document)
        write_report(folder, rows, settings)
    return document
