"""All broken twins, and which check of the audit catches each."""

from __future__ import annotations

from functools import cache

import numpy as np

from tacita.audit.drawn import law_findings
from tacita.audit.forced import Finding, force, opened
from tacita.audit.twins_rows import Twin, row_twins
from tacita.audit.twins_tables import table_twins
from tacita.errors import TacitaError
from tacita.noise.entropy import SeededEntropy
from tacita.noise.forcing import Tape

_FAMILIES, _NEAR, _TIMES = 60, 8, 3000


@cache
def twins() -> tuple[Twin, ...]:
    return (*row_twins(), *table_twins())


def caught_by(twin: Twin, seed: int = 1) -> str | None:
    """The first check that finds what is wrong with a twin; None where all of them let it pass."""
    random = np.random.default_rng(seed)
    findings = _law(twin, random)
    for outcome in force(twin.example.plan, twin.example.files, random, families=_FAMILIES, near=_NEAR):
        if findings:
            break
        findings = outcome.findings
    return findings[0].check if findings else None


def _law(twin: Twin, random: np.random.Generator) -> tuple[Finding, ...]:
    data = opened(twin.example.plan, twin.example.files.family(random, 0).base, twin.example.files)
    if data is None:
        return ()
    tape = Tape(SeededEntropy(5))
    try:
        twin.example.plan.run(data, tape)
    except TacitaError:
        return ()
    return law_findings(tape.draws, times=_TIMES)
