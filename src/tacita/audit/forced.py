"""The forcing check: a run on a neighbouring file is handed what the first released, and the losses are added up.

Three things can go wrong, and each is a leak: the second run asks for noise in another way (`requests`), its result is
not the same to the byte although it was handed the same outputs (`bytes`), or what its draws tell apart is more than
was promised (`loss`). A file that is refused before anything is drawn is no neighbour that anybody sees a release of;
but a run that breaks off while others of its family do not is the fourth (`refusal`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tacita.audit.desk import desk
from tacita.audit.families import Family, Files, Random
from tacita.audit.losses import loss_of, over_claim
from tacita.data.confidential import Confidential
from tacita.errors import TacitaError
from tacita.noise.entropy import SeededEntropy
from tacita.noise.forcing import Draw, Tape
from tacita.noise.replay import ReplayMismatch
from tacita.plan import check

# Losses are computed in double precision; promises are exact.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Finding:
    """Something that must not be: which check saw it, and what it was, without any value of a file."""

    check: str
    what: str


@dataclass(frozen=True)
class Outcome:
    """Of one plan on some families: files tried beside the first of each, pairs compared, and the worst of them."""

    neighbours: int = 0
    pairs: int = 0
    refused: int = 0
    worst: float = 0.0
    findings: tuple[Finding, ...] = ()

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.neighbours + other.neighbours,
            self.pairs + other.pairs,
            self.refused + other.refused,
            max(self.worst, other.worst),
            tuple(dict.fromkeys(self.findings + other.findings)),
        )


@dataclass(frozen=True, eq=False)
class _Run:
    """What one file gave: its result and draws, or why there are none."""

    released: bytes = b""
    draws: list[Draw] = field(default_factory=list)
    refused: bool = False
    finding: Finding | None = None


def force(plan: Any, files: Files, random: Random, *, families: int, near: int) -> Iterator[Outcome]:
    """One outcome per family; stop taking them where one has a finding that is enough."""
    for _ in range(families):
        yield _force_family(plan, files, files.family(random, near), int(random.integers(2**62)))


def _force_family(plan: Any, files: Files, family: Family, seed: int) -> Outcome:
    return _compare(plan, family, _runs(plan, files, family, seed))


def _runs(plan: Any, files: Files, family: Family, seed: int) -> list[_Run]:
    """The first file that is accepted draws; every other one is handed what it drew. Which one draws changes from
    family to family, so that outputs come from both sides."""
    runs = [_Run(refused=True) for _ in family.files]
    order = [(at + seed) % len(runs) for at in range(len(runs))]
    first: Tape | None = None
    for at in order:
        data = opened(plan, family.files[at], files)
        if data is None:
            continue
        tape = Tape(SeededEntropy(seed)) if first is None else Tape(first)
        runs[at] = _run(plan, data, tape)
        if first is None and runs[at].finding is None:
            first = tape
    return runs


def opened(plan: Any, file: Any, files: Files, number: int = 0) -> Confidential | None:
    """The file behind its schema, after all checks that come before anything is spent; None where one refuses it. The
    next one with the same `number` takes its place."""
    try:
        data = Confidential.from_frame(file, files.schema, engine=desk(number).engine())
        check(plan, data)
    except TacitaError:
        return None
    return data


def _run(plan: Any, data: Confidential, tape: Tape) -> _Run:
    try:
        released = plan.run(data, tape).to_bytes()
        tape.finish()
    except ReplayMismatch as mismatch:
        return _Run(finding=Finding("requests", str(mismatch)))
    except Exception as error:  # whatever breaks off here does so after all checks
        return _Run(finding=Finding("refusal", f"a run broke off with {type(error).__name__} after all checks"))
    return _Run(released, tape.draws)


def _compare(plan: Any, family: Family, runs: list[_Run]) -> Outcome:
    ran = [one for one in runs if not one.refused]
    refused = len(runs) - len(ran)
    broke = [one.finding for one in ran if one.finding is not None]
    if len(broke) == len(ran):
        return Outcome(refused=len(runs))  # no file of the family has a release
    findings, worst, pairs = list(broke), 0.0, 0
    claim = plan.guarantee.loss
    for a, b in family.pairs():
        one, two = runs[a], runs[b]
        if one.refused or two.refused or one.finding or two.finding:
            continue
        pairs += 1
        if one.released != two.released:
            findings.append(Finding("bytes", "results differ in what was not drawn"))
            continue
        try:
            lost = over_claim((loss_of(x, y) for x, y in zip(one.draws, two.draws, strict=True)), claim)
        except ReplayMismatch as mismatch:
            findings.append(Finding("requests", str(mismatch)))
            continue
        worst = max(worst, lost)
        if lost > 1 + TOLERANCE:
            findings.append(Finding("loss", "neighbours are told apart by more than was promised"))
    return Outcome(len(ran) - 1, pairs, refused, worst, tuple(dict.fromkeys(findings)))
