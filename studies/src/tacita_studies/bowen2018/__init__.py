"""bowen2018: categorical person files by STEPS and by all pairs at once, judged by SPECKS and the paper's analyses.

- `simulation`, `real`: the data and what is public about them. `methods`: who synthesizes them.
- `scores`, `measure`, `rows`, `bars`: the numbers. `page`: what a reader sees. `printed`: the paper's numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from tacita_studies.harness.study import Study, Told

STUDY = Study("bowen2018", seed=2018, replicates=5, full_replicates=24, real="cps2016_categorical")


def run(
    out: Path,
    *,
    rows: int | None = None,
    powers: Sequence[int] | None = None,
    only: Sequence[str] = (),
    **told: Unpack[Told],
) -> dict[str, Any]:
    """Run the study and write its folder; returns the content of results.json.

    `data` is a folder with the public files for the table on real data, which is left out without it. `rows`, `powers`
    (of e, the values of ε) and `only` (names of methods' files) shrink the study for a quick look.
    """
    # Compiled loops are loaded only when a study is run.
    from tacita_studies.bowen2018.rows import report

    return STUDY.write(out, partial(report, size=rows, powers=powers, only=tuple(only)), **told)
