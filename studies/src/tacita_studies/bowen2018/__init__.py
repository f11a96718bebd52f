"""bowen2018: categorical person files by STEPS and by all pairs at once, judged by SPECKS and the paper's analyses.

`run` is what `tacita study bowen2018` calls. It writes results.json and report.html, and with `keep_data` the files of
the first repetition. The simulated file is public, so the run is seeded and repeatable.

- `simulation`, `real`, `person_file`: the data and what is public about them. `methods`: who synthesizes them.
- `scores`, `measure`, `rows`, `bars`: the numbers. `page`: what a reader sees. `printed`: the paper's numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacita.errors import UsageError
from tacita_studies.harness.replicates import Progress

__all__ = ["run"]

PAPER_REPLICATES = 24
DEFAULT_REPLICATES = 5


def run(
    out: Path,
    *,
    replicates: int | None = None,
    seed: int = 2018,
    full: bool = False,
    keep_data: bool = False,
    force: bool = False,
    data: Path | None = None,
    workers: int = 1,
    rows: int | None = None,
    powers: Sequence[int] | None = None,
    only: Sequence[str] = (),
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run the study and write its folder; returns the content of results.json.

    Five repetitions unless said otherwise, and 24 with `full`. `data` is a folder with the public files for the table
    on real data, which is left out without it. `rows`, `powers` (of e, the values of ε) and `only` (names of methods'
    files) shrink the study for a quick look.
    """
    count = replicates if replicates is not None else PAPER_REPLICATES if full else DEFAULT_REPLICATES
    if count < 1:
        raise UsageError("replicates: the study needs at least one")
    if data is not None and not Path(data).is_dir():
        raise UsageError("data: there is no such folder; name the one that holds cps2016_categorical, or leave it out")
    # Compiled loops are loaded only when a study is run.
    from tacita_studies.bowen2018.study import Settings, write_study

    chosen = Settings(count, seed, full, rows, None if powers is None else tuple(powers), tuple(only), data)
    return write_study(Path(out), chosen, workers, progress or _silent, keep_data=keep_data, force=force)


def _silent(what: str, done: int, total: int) -> None:
    pass
