"""Every method on repeated samples, and what its answers are worth against the population's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tacita.errors import RefusedError
from tacita_studies.harness.experiment import FIRST, Experiment, Outcome, timed
from tacita_studies.harness.study import Settings
from tacita_studies.hu2024.answers import Answers, Floats, Scores, score
from tacita_studies.hu2024.methods import SAMPLE, Entry, Pseudo, SurveyMethod
from tacita_studies.hu2024.population import Case, doctorates, draw, population
from tacita_studies.hu2024.printed import STATISTICS, Arm, Statistic

ByFile = Mapping[str, Outcome[Mapping[Entry, Answers]]]


@dataclass(frozen=True)
class RepeatedSamples(Experiment[ByFile]):
    """One sample for each number; every method makes its answers."""

    case: Case
    methods: tuple[SurveyMethod, ...]

    def __call__(self, number: int) -> ByFile:
        frame, about = draw(self.case, self.seed + number), doctorates()
        kept = self.kept(number == 0, self.case.replace(" ", "-"), FIRST)
        kept.write("sample", frame)
        outcomes = {}
        for place, method in enumerate(self.methods):
            try:
                made, seconds = timed(partial(method.make, frame, about, 1_000_003 * (self.seed + number) + place))
            except RefusedError:
                continue  # a bound that cannot be met releases nothing; rows count the samples with a release
            outcomes[method.file] = Outcome(made.answers, seconds)
            for at, one in enumerate(made.files, start=1):
                kept.write(f"synthetic-{method.file}-{at:02d}", one)
        return outcomes


@dataclass(frozen=True, eq=False)
class MeasuredCase:
    """Scores of every entry in one case; `owner` says which method an entry is of."""

    case: Case
    scores: Mapping[tuple[Entry, Statistic], Scores]
    owner: Mapping[Entry, SurveyMethod]
    seconds: Mapping[str, float]
    replicates: int

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self.owner)

    def ratios(self, entry: Entry, statistic: Statistic, *, first: bool = False) -> Floats:
        """RMSE over the confidential sample's, per cell: over repeated samples, or the paper's of the first sample."""
        ours, sample = self.scores[entry, statistic], self.scores[SAMPLE, statistic]
        return np.asarray(ours.first_rmse / sample.first_rmse if first else ours.rmse / sample.rmse)


def measure(case: Case, methods: Sequence[SurveyMethod], chosen: Settings) -> MeasuredCase:
    experiment = RepeatedSamples(case, tuple(methods), seed=chosen.seed, keep=chosen.keep)
    outcomes = experiment.all(chosen.replicates, chosen.workers, chosen.say, f"repeated samples, {case}")
    answers = [{entry: one for made in outcome.values() for entry, one in made.scores.items()} for outcome in outcomes]
    about, truth = doctorates(), {statistic: population(case).truth(statistic) for statistic in STATISTICS}
    owner = {entry: method for method in methods for entry in method.entries(about)}
    owner = {entry: method for entry, method in owner.items() if any(entry in one for one in answers)}
    scores = {
        (entry, statistic): score([one[entry][statistic] for one in answers if entry in one], truth[statistic])
        for entry in owner
        for statistic in STATISTICS
    }
    times = {one.file: [made[one.file].seconds if one.file in made else np.nan for made in outcomes] for one in methods}
    seconds = {file: float(np.median(taken)) for file, taken in times.items()}
    return MeasuredCase(case, scores, owner, seconds, chosen.replicates)


@dataclass(frozen=True, eq=False)
class RecordBounds:
    """The largest |log-likelihood| of each record over draws, of the unweighted and of the weighted fit: Figure 3."""

    arm: Arm
    target: float
    before: Floats
    after: Floats


def first_bounds(methods: Sequence[SurveyMethod], seed: int) -> list[RecordBounds]:
    """For every pseudo posterior, on the first sample. It is simulated, so its records may be shown."""
    frame, about = draw("informative", seed), doctorates()
    records = []
    for one in methods:
        if isinstance(one, Pseudo) and one.paper:
            bounds = one.record_bounds(frame, about, seed)
            records.append(RecordBounds(one.arm, float(one.bound), bounds.before, bounds.after))
    return records
