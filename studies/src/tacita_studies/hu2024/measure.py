"""Every method on repeated samples, and what its answers are worth against the population's values."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacita.errors import RefusedError
from tacita_studies.harness.replicates import Progress, each
from tacita_studies.hu2024.answers import Answers, Floats
from tacita_studies.hu2024.methods import SAMPLE, Entry, Method
from tacita_studies.hu2024.population import Case, doctorates, population
from tacita_studies.hu2024.printed import STATISTICS, Statistic
from tacita_studies.hu2024.sampling import draw
from tacita_studies.hu2024.scores import Scores, score

KEPT = "replicate-000"


@dataclass(frozen=True)
class Outcome:
    """One sample: answers by entry, seconds by the method's file name."""

    answers: Mapping[Entry, Answers]
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class Experiment:
    """One sample when called with its number; every method makes its answers."""

    case: Case
    methods: tuple[Method, ...]
    seed: int
    keep: Path | None = None

    def __call__(self, number: int) -> Outcome:
        frame, about = draw(self.case, self.seed + number), doctorates()
        kept = None if self.keep is None or number else self.keep / self.case.replace(" ", "-") / KEPT
        if kept is not None:
            kept.mkdir(parents=True, exist_ok=True)
            frame.to_parquet(kept / "sample.parquet", index=False)
        answers: dict[Entry, Answers] = {}
        seconds: dict[str, float] = {}
        for place, method in enumerate(self.methods):
            begun = time.perf_counter()
            try:
                made = method.make(frame, about, 1_000_003 * (self.seed + number) + place)
            except RefusedError:
                continue  # a bound that cannot be met releases nothing; rows count the samples with a release
            seconds[method.file] = time.perf_counter() - begun
            answers.update(made.answers)
            if kept is not None:
                for at, one in enumerate(made.files, start=1):
                    one.to_parquet(kept / f"synthetic-{method.file}-{at:02d}.parquet", index=False)
        return Outcome(answers, seconds)


@dataclass(frozen=True, eq=False)
class Measured:
    """Scores of every entry in one case; `owner` says which method an entry is of."""

    case: Case
    scores: Mapping[tuple[Entry, Statistic], Scores]
    owner: Mapping[Entry, Method]
    seconds: Mapping[str, float]
    replicates: int

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self.owner)

    def ratios(self, entry: Entry, statistic: Statistic, *, first: bool = False) -> Floats:
        """RMSE over the confidential sample's, per cell: over repeated samples, or the paper's of the first sample."""
        ours, sample = self.scores[entry, statistic], self.scores[SAMPLE, statistic]
        return np.asarray(ours.first_rmse / sample.first_rmse if first else ours.rmse / sample.rmse)


def measure(
    case: Case,
    methods: Sequence[Method],
    replicates: int,
    seed: int,
    workers: int,
    say: Progress,
    keep: Path | None = None,
) -> Measured:
    experiment = Experiment(case, tuple(methods), seed, keep)
    outcomes = each(experiment, replicates, workers, say, f"repeated samples, {case}")
    about, truth = doctorates(), {statistic: population(case).truth(statistic) for statistic in STATISTICS}
    owner = {entry: method for method in methods for entry in method.entries(about)}
    owner = {entry: method for entry, method in owner.items() if any(entry in one.answers for one in outcomes)}
    scores = {
        (entry, statistic): score(
            [one.answers[entry][statistic] for one in outcomes if entry in one.answers], truth[statistic]
        )
        for entry in owner
        for statistic in STATISTICS
    }
    seconds = {
        method.file: float(np.median([one.seconds.get(method.file, np.nan) for one in outcomes])) for method in methods
    }
    return Measured(case, scores, owner, seconds, replicates)
