"""Every method at every ε on the simulated file, as often as asked, and the same for fresh samples of the law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tacita_studies.bowen2018.methods import EPSILONS, SETS, everybody
from tacita_studies.bowen2018.printed import ONE_OVER_E, E
from tacita_studies.bowen2018.scores import Scores, general, regression
from tacita_studies.bowen2018.simulation import simulate, voters
from tacita_studies.harness.experiment import FIRST, Experiment, Outcome, timed
from tacita_studies.harness.study import Settings

FRESH_SEED = 1_000  # of the samples that show what sampling again would give


@dataclass(frozen=True)
class Repetitions(Experiment[dict[str, Outcome[Scores]]]):
    """One ε and one repetition for each number; every method makes its files, which `only` may name, and is scored."""

    rows: int
    powers: tuple[int, ...]
    full: bool = False
    only: tuple[str, ...] = ()

    def __call__(self, number: int) -> dict[str, Outcome[Scores]]:
        repetition, place = divmod(number, len(self.powers))
        power = self.powers[place]
        original, about, epsilon = simulate(self.rows), voters(), EPSILONS[power]
        kept = self.kept(repetition == 0, f"eps-{float(epsilon):.4g}", FIRST)
        kept.write("original", original)
        outcomes = {}
        for at, method in enumerate(everybody()):
            if (self.only and method.file not in self.only) or not method.runs_in(repetition, self.full):
                continue
            seed = 1_000_003 * (self.seed + repetition) + 101 * place + at
            made, seconds = timed(partial(method.make, original, about, epsilon, seed))
            files = list(made)
            scores = general(original, files, about.schema)
            if power in (E, ONE_OVER_E) and method.regressed(self.full):  # where the paper prints Tables 5 and 6
                scores |= regression(original, files)
            outcomes[method.file] = Outcome(scores, seconds)
            kept.write(f"synthetic-{method.file}", files[0])
        return outcomes


@dataclass(frozen=True)
class MeasuredFile:
    """What all repetitions gave, and what fresh samples of the law give."""

    powers: tuple[int, ...]
    outcomes: tuple[Mapping[str, Outcome[Scores]], ...]
    fresh: Scores

    def _of(self, file: str, power: int) -> list[Outcome[Scores]]:
        return [one[file] for one in self.outcomes[self.powers.index(power) :: len(self.powers)] if file in one]

    def values(self, file: str, power: int, metric: str, level: float | None = None) -> list[float]:
        return [one.scores[metric, level] for one in self._of(file, power) if (metric, level) in one.scores]

    def seconds(self, file: str, power: int) -> float:
        """The median: the first call also loads compiled loops."""
        return float(np.median([one.seconds for one in self._of(file, power)]))


def measure(rows: int, powers: Sequence[int], only: Sequence[str], chosen: Settings) -> MeasuredFile:
    experiment = Repetitions(rows, tuple(powers), chosen.full, tuple(only), seed=chosen.seed, keep=chosen.keep)
    count = chosen.replicates * len(powers)
    outcomes = experiment.all(count, chosen.workers, chosen.say, "the simulated file")
    original = simulate(rows)
    again = [simulate(rows, seed=FRESH_SEED + one) for one in range(SETS)]
    fresh = general(original, again, voters().schema) | regression(original, again)
    return MeasuredFile(tuple(powers), tuple(outcomes), fresh)
