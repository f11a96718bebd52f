"""hu2024: private survey tables from synthetic microdata with weights, held against the population they speak of.

`run` is what `tacita study hu2024` calls. It writes results.json and report.html, and with `keep_data` the sample and
the synthetic files of the first replicate. The population is simulated, so the run is seeded and repeatable.

- `population`, `sampling`, `real`, `survey_file`: the data and what is public about them. `methods`: who makes tables.
- `answers`, `scores`, `measure`, `rows`, `bars`: the numbers. `page`, `page_tables`, `pictures`: what a reader sees.
- `printed`: the paper's numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tacita.errors import UsageError
from tacita_studies.harness.replicates import Progress

__all__ = ["run"]

PAPER_REPLICATES = 100
DEFAULT_REPLICATES = 100


def run(
    out: Path,
    *,
    replicates: int | None = None,
    seed: int = 2024,
    full: bool = False,
    keep_data: bool = False,
    force: bool = False,
    data: Path | None = None,
    workers: int = 1,
    only: Sequence[str] = (),
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run the study and write its folder; returns the content of results.json.

    100 samples, as in the paper, unless said otherwise. `data` is a folder with the public files for the tables on real
    data, which are left out without it. `only` names methods' files, for a quick look; the confidential sample always
    takes part.
    """
    count = replicates if replicates is not None else PAPER_REPLICATES if full else DEFAULT_REPLICATES
    if count < 1:
        raise UsageError("replicates: the study needs at least one")
    if data is not None and not Path(data).is_dir():
        raise UsageError("data: there is no such folder; name the one that holds laeken_eusilc_ses, or leave it out")
    # Compiled loops are loaded only when a study is run.
    from tacita_studies.hu2024.study import Settings, write_study

    chosen = Settings(count, seed, tuple(only), None if data is None else Path(data))
    return write_study(Path(out), chosen, workers, progress or _silent, keep_data=keep_data, force=force)


def _silent(what: str, done: int, total: int) -> None:
    pass
