"""tran2023: synthetic heavy-tailed data by private quantile regression, beside the paper's printed tables.

- `simulation`, `panel`: the data. `methods`, `panel_private`: who synthesizes them.
- `section4`, `section5`, `unconditional`, `real`: who meets whom, and the result rows. `page`: what a reader sees.
- `peers`: methods of others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from tacita.errors import UsageError
from tacita_studies.harness.experiment import Method
from tacita_studies.harness.study import Study, Told

STUDY = Study("tran2023", seed=2023, replicates=30, full_replicates=100, real="ppp_small_states")
REPETITIONS = 5  # of the panel, as in the paper


def _everybody(method: Method) -> bool:
    return True


def run(
    out: Path,
    *,
    rows: int = 5000,
    panel_scale: float = 1.0,
    repetitions: int = REPETITIONS,
    entrants: Callable[[Method], bool] = _everybody,
    **told: Unpack[Told],
) -> dict[str, Any]:
    """Run the study and write its folder; returns the content of results.json.

    Methods that take seconds per file run in fewer replicates unless `full`. `data` is a folder with the public files
    for the table on real data, which is left out without it. `rows`, `panel_scale` and `repetitions` shrink the study
    for a quick look, and `entrants` says which methods of section 4 take part. The same arguments give the same files,
    whatever the number of `workers`.
    """
    if repetitions < 1:
        raise UsageError("repetitions: the study needs at least one")
    # Compiled loops are loaded only when a study is run.
    from tacita_studies.tran2023.study import report

    own = partial(report, size=rows, panel_scale=panel_scale, repetitions=repetitions, takes_part=entrants)
    return STUDY.write(out, own, **told)
