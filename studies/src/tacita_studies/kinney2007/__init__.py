"""kinney2007: synthetic panels of establishments, as the paper makes them and with a formal guarantee.

`run` is what `tacita study kinney2007` calls. It writes results.json and report.html, and with `keep_data` the panel
and the synthetic files. The panel is simulated from public statistics, so the run is seeded and repeatable.

- `facts`, `simulation`, `real`: the data and what is public about them. `methods`: who makes files.
- `figures`, `risk`, `coverage`, `measure`, `rows`, `bars`: the numbers. `page`, `pictures`: what a reader sees.
- `printed`: the paper's numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacita.errors import UsageError
from tacita_studies.harness.replicates import Progress

__all__ = ["run"]

FULL_REPLICATES = 100
DEFAULT_REPLICATES = 20
FULL_DRAWS = 9  # ten of the noise, with the first
LEAST_ESTABLISHMENTS = 1_000


def run(
    out: Path,
    *,
    establishments: int | None = None,
    replicates: int | None = None,
    seed: int = 2007,
    full: bool = False,
    keep_data: bool = False,
    force: bool = False,
    data: Path | None = None,
    workers: int = 1,
    epsilons: Sequence[str] | None = None,
    panel_size: int | None = None,
    large: int | None = None,
    draws: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run the study and write its folder; returns the content of results.json.

    One simulated industry of 130,000 establishments unless said otherwise. `replicates` are simulated panels on which
    the coverage of intervals is judged: 20, and 100 with `full`. The files with a guarantee are made anew with other
    `draws` of the noise, to see how far they depend on chance: 4 times, and 9 times with `full`. `data` is a folder
    with the public files for the table on real data, which is left out without it. `epsilons`, `panel_size`
    (establishments of the repeated panels) and `large` (of the one they are held to) shrink the study for a quick look.
    """
    count = replicates if replicates is not None else FULL_REPLICATES if full else DEFAULT_REPLICATES
    if count < 1:
        raise UsageError("replicates: the study needs at least one")
    if establishments is not None and establishments < LEAST_ESTABLISHMENTS:
        raise UsageError(f"establishments: the study needs at least {LEAST_ESTABLISHMENTS:,}")
    if epsilons is not None and not epsilons:
        raise UsageError("epsilons: name at least one")
    if data is not None and not Path(data).is_dir():
        raise UsageError("data: there is no such folder; name the one that holds firm_panels, or leave it out")
    # Compiled loops are loaded only when a study is run.
    from tacita_studies.kinney2007 import coverage
    from tacita_studies.kinney2007.measure import DRAWS
    from tacita_studies.kinney2007.methods import EPSILONS, PLAIN, Method
    from tacita_studies.kinney2007.simulation import ESTABLISHMENTS
    from tacita_studies.kinney2007.study import Settings, write_study

    formal = map(Method, EPSILONS if epsilons is None else epsilons)
    chosen = Settings(
        establishments or ESTABLISHMENTS,
        count,
        panel_size or coverage.SIZE,
        large or coverage.LARGE,
        seed,
        draws if draws is not None else FULL_DRAWS if full else DRAWS,
        (PLAIN, *formal),
        None if data is None else Path(data),
    )
    return write_study(Path(out), chosen, workers, progress or _silent, keep_data=keep_data, force=force)


def _silent(what: str, done: int, total: int) -> None:
    pass
