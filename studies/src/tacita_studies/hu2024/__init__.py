"""hu2024: private survey tables from synthetic microdata with weights, held against the population they speak of.

- `population`, `real`, `survey_file`: the data and what is public about them. `methods`: who makes tables.
- `answers`, `measure`, `rows`: the numbers, and what they are held to. `page`, `pictures`: what a reader sees.
- `printed`: the paper's numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from tacita_studies.harness.study import Study, Told

STUDY = Study("hu2024", seed=2024, replicates=100, full_replicates=100, real="laeken_eusilc_ses")


def run(out: Path, *, only: Sequence[str] = (), **told: Unpack[Told]) -> dict[str, Any]:
    """Run the study and write its folder; returns the content of results.json.

    `data` is a folder with the public files for the tables on real data, which are left out without it. `only` names
    methods' files, for a quick look; the confidential sample always takes part.
    """
    # Compiled loops are loaded only when a study is run.
    from tacita_studies.hu2024.study import report

    return STUDY.write(out, partial(report, only=tuple(only)), **told)
