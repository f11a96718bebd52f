"""haney2017: what provable privacy costs against noise infusion, on a frame simulated to the paper's facts.

- `arms`, `tables`, `measure`: which mechanisms are drawn, on what, and how each draw is scored.
- `rows`, `findings`: the numbers, and the paper's claims held against them. `page`: what a reader sees.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from tacita_studies.harness.study import Study, Told

if TYPE_CHECKING:
    from tacita_studies.haney2017.arms import Grid

STUDY = Study("haney2017", seed=2017, replicates=5, full_replicates=20, counted="trials")


def run(
    out: Path, *, jobs: int | None = None, trials: int | None = None, grid: Grid | None = None, **told: Unpack[Told]
) -> dict[str, Any]:
    """Run the study and write its folder; returns the content of results.json.

    `jobs` scales the frame (establishments and places along with it). `trials`, another name for the replicates, are
    independent draws of each mechanism. `grid` may leave out settings for a quick look.
    """
    from tacita_studies.haney2017.rows import report

    if trials is not None:
        told["replicates"] = trials
    return STUDY.write(out, partial(report, jobs=jobs, grid=grid), **told)
