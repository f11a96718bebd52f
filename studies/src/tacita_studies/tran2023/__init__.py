"""tran2023: synthetic heavy-tailed data by private quantile regression, beside the paper's printed tables.

`run` is what `tacita study tran2023` calls. It writes results.json and report.html, and with `keep_data` the files of
the first replicate. Nothing here is confidential, so the run is seeded and repeatable.

- `simulation`, `variants`, `panel`: the data. `method`, `methods`, `panel_methods`: who synthesizes them.
- `section4`, `section5`, `real`: who meets whom, and the result rows. `page`, `pictures`: what a reader sees.
- `peers`: methods of others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacita.errors import UsageError
from tacita_studies.harness.replicates import Progress
from tacita_studies.tran2023.method import Method

__all__ = ["run"]

PAPER_REPLICATES = 100
DEFAULT_REPLICATES = 30
REPETITIONS = 5  # of the panel, as in the paper


def run(
    out: Path,
    *,
    replicates: int | None = None,
    seed: int = 2023,
    full: bool = False,
    keep_data: bool = False,
    force: bool = False,
    data: Path | None = None,
    workers: int = 1,
    rows: int = 5000,
    panel_scale: float = 1.0,
    repetitions: int = REPETITIONS,
    entrants: Callable[[Method], bool] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run the study and write its folder; returns the content of results.json.

    30 replicates of the simulation unless said otherwise, and 100, as in the paper, with `full`; methods that take
    seconds per file run in fewer unless `full`. `data` is a folder with the public files for the table on real
    data, which is left out without it. `rows`, `panel_scale` and `repetitions` shrink the study for a quick look, and
    `entrants` says which methods of section 4 take part. The same arguments give the same files, whatever the number
    of `workers`.
    """
    count = replicates if replicates is not None else PAPER_REPLICATES if full else DEFAULT_REPLICATES
    if count < 1 or repetitions < 1:
        raise UsageError("replicates: the study needs at least one")
    if data is not None and not Path(data).is_dir():
        raise UsageError("data: there is no such folder; name the one that holds ppp_small_states, or leave it out")
    # Compiled loops are loaded only when a study is run.
    from tacita_studies.tran2023.study import Settings, write_study

    chosen = Settings(
        count,
        seed,
        full,
        rows,
        panel_scale,
        repetitions,
        None if data is None else Path(data),
        entrants or _everybody,
    )
    return write_study(Path(out), chosen, workers, progress or _silent, keep_data=keep_data, force=force)


def _everybody(method: Method) -> bool:
    return True


def _silent(what: str, done: int, total: int) -> None:
    pass
