"""Every method at every ε on the simulated file, as often as asked, and the same for fresh samples of the law."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacita_studies.bowen2018.methods import EPSILONS, SETS, everybody
from tacita_studies.bowen2018.printed import ONE_OVER_E, E
from tacita_studies.bowen2018.scores import Scores, general, regression
from tacita_studies.bowen2018.simulation import simulate, voters
from tacita_studies.harness.replicates import Progress, each

FRESH_SEED = 1_000  # of the samples that show what sampling again would give


@dataclass(frozen=True)
class Outcome:
    scores: Scores
    seconds: float


@dataclass(frozen=True)
class Experiment:
    """One ε and one repetition when called with its number; every method makes its files and is scored."""

    rows: int
    seed: int
    powers: tuple[int, ...]
    keep: Path | None = None
    full: bool = False
    only: tuple[str, ...] = ()

    def __call__(self, number: int) -> dict[str, Outcome]:
        repetition, place = divmod(number, len(self.powers))
        power = self.powers[place]
        original, about, epsilon = simulate(self.rows), voters(), EPSILONS[power]
        kept = None
        if self.keep is not None and repetition == 0:
            kept = self.keep / f"eps-{float(epsilon):.4g}" / "replicate-000"
            kept.mkdir(parents=True, exist_ok=True)
            original.to_parquet(kept / "original.parquet", index=False)
        found = {}
        for at, method in enumerate(everybody()):
            if (self.only and method.file not in self.only) or not method.runs_in(repetition, self.full):
                continue
            begun = time.perf_counter()
            made = method.make(original, about, epsilon, 1_000_003 * (self.seed + repetition) + 101 * place + at)
            seconds = time.perf_counter() - begun
            files = list(made)
            scores = general(original, files, about.schema)
            if power in (E, ONE_OVER_E) and method.regressed(self.full):  # where the paper prints Tables 5 and 6
                scores |= regression(original, files)
            found[method.file] = Outcome(scores, seconds)
            if kept is not None:
                files[0].to_parquet(kept / f"synthetic-{method.file}.parquet", index=False)
        return found


@dataclass(frozen=True)
class Measured:
    """What all repetitions gave, and what fresh samples of the law give."""

    powers: tuple[int, ...]
    outcomes: tuple[Mapping[str, Outcome], ...]
    fresh: Scores

    def values(self, file: str, power: int, metric: str, level: float | None = None) -> list[float]:
        here = self.outcomes[self.powers.index(power) :: len(self.powers)]
        key = (metric, level)
        return [one[file].scores[key] for one in here if file in one and key in one[file].scores]

    def seconds(self, file: str, power: int) -> float:
        """The median: the first call also loads compiled loops."""
        here = self.outcomes[self.powers.index(power) :: len(self.powers)]
        return float(np.median([one[file].seconds for one in here if file in one]))


def measure(
    rows: int,
    replicates: int,
    seed: int,
    workers: int,
    say: Progress,
    *,
    powers: Sequence[int] = tuple(EPSILONS),
    keep: Path | None = None,
    full: bool = False,
    only: Sequence[str] = (),
) -> Measured:
    """`only` names the methods' files, for a quick look."""
    experiment = Experiment(rows, seed, tuple(powers), keep, full, tuple(only))
    outcomes = each(experiment, replicates * len(powers), workers, say, "the simulated file")
    original = simulate(rows)
    again = [simulate(rows, seed=FRESH_SEED + one) for one in range(SETS)]
    fresh = general(original, again, voters().schema) | regression(original, again)
    return Measured(tuple(powers), tuple(outcomes), fresh)
