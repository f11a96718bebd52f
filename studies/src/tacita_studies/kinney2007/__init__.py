"""kinney2007: synthetic panels of establishments, as the paper makes them and with a formal guarantee.

- `facts`, `simulation`, `real`: the data and what is public about them. `methods`: who makes files.
- `figures`, `coverage`, `measure`, `rows`: the numbers, and what they are held to. `page`: what a reader sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from tacita.errors import UsageError
from tacita_studies.harness.study import Study, Told

STUDY = Study("kinney2007", seed=2007, replicates=20, full_replicates=100, real="firm_panels")
FULL_DRAWS = 9  # ten of the noise, with the first
LEAST_ESTABLISHMENTS = 1_000


def run(
    out: Path,
    *,
    establishments: int | None = None,
    epsilons: Sequence[str] | None = None,
    panel_size: int | None = None,
    large: int | None = None,
    draws: int | None = None,
    **told: Unpack[Told],
) -> dict[str, Any]:
    """Run the study and write its folder; returns the content of results.json.

    One simulated industry of 130,000 establishments unless said otherwise. The replicates are simulated panels on which
    the coverage of intervals is judged. The files with a guarantee are made anew with other `draws` of the noise, to
    see how far they depend on chance: 4 times, and 9 times with `full`. `data` is a folder with the public files for
    the table on real data, which is left out without it. `epsilons`, `panel_size` (establishments of the repeated
    panels) and `large` (of the one they are held to) shrink the study for a quick look.
    """
    if establishments is not None and establishments < LEAST_ESTABLISHMENTS:
        raise UsageError(f"establishments: the study needs at least {LEAST_ESTABLISHMENTS:,}")
    if epsilons is not None and not epsilons:
        raise UsageError("epsilons: name at least one")
    # Compiled loops are loaded only when a study is run.
    from tacita_studies.kinney2007.study import report

    own = partial(report, establishments=establishments, panel_size=panel_size, large=large, epsilons=epsilons)
    drawn = FULL_DRAWS if draws is None and told.get("full") else draws
    return STUDY.write(out, partial(own, draws=drawn), **told)
