"""Record-level bounds before and after weighting, on the first sample: Figure 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacita_studies.hu2024.answers import Floats
from tacita_studies.hu2024.methods import Method, Pseudo
from tacita_studies.hu2024.population import doctorates
from tacita_studies.hu2024.printed import Arm
from tacita_studies.hu2024.sampling import draw


@dataclass(frozen=True, eq=False)
class RecordBounds:
    """The largest |log-likelihood| of each record over draws, of the unweighted and of the weighted fit."""

    arm: Arm
    target: float
    before: Floats
    after: Floats


def first_bounds(methods: Sequence[Method], seed: int) -> list[RecordBounds]:
    """For every pseudo posterior among the methods. The sample is simulated, so its records may be shown."""
    frame, about = draw("informative", seed), doctorates()
    found = []
    for one in methods:
        if isinstance(one, Pseudo) and one.paper:
            bounds = one.record_bounds(frame, about, seed)
            found.append(RecordBounds(one.arm, float(one.bound), bounds.before, bounds.after))
    return found
