"""Every method on the simulated industry: figures of each file, disclosure, impossible records, seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tacita.synthesis.panel.rules import broken_rules
from tacita_studies.harness.experiment import Experiment, Kept, timed
from tacita_studies.harness.study import Settings
from tacita_studies.kinney2007.figures import Figures, Units
from tacita_studies.kinney2007.methods import MAIN, BusinessMethod, formal
from tacita_studies.kinney2007.simulation import ONE, Industry, schema

DRAWS = 4  # of the noise, beside the first: one may be lucky or unlucky

Risk = Mapping[str, tuple[float, int]]


@dataclass(frozen=True, eq=False)
class MadeFiles:
    """What one method's files show."""

    method: BusinessMethod
    files: tuple[Figures, ...]
    linked: Risk
    in_the_cell: Risk
    impossible: int  # establishments of all files that break a rule
    checked: int  # establishments and years that were looked at
    seconds: float

    @property
    def mean(self) -> Figures:
        return Figures.mean(self.files)


@dataclass(frozen=True, eq=False)
class MeasuredIndustry:
    establishments: int
    truth: Figures
    without_files: Risk
    made: tuple[MadeFiles, ...]
    again: tuple[tuple[Figures, ...], ...] = ()  # the files of `MAIN` from other draws of the noise


@dataclass(frozen=True)
class Draws(Experiment[MadeFiles]):
    """One method with its own seed for each number; those after `first` are other draws of the noise.

    Each simulates the panel itself, so that it can run in a process of its own.
    """

    industry: Industry
    tasks: tuple[tuple[BusinessMethod, int], ...]
    first: int

    def __call__(self, number: int) -> MadeFiles:
        (method, seed), other = self.tasks[number], number >= self.first
        panel = self.industry.simulate(seed=self.seed)
        made, seconds = timed(partial(method.make, panel, self.industry, seed))
        tables, layout = made.tables, method.plan().layout(schema((self.industry,)))
        for at, table in enumerate(tables, start=1):
            self.kept(not other).write(f"synthetic-{method.file}-{at:02d}", table)
        units = Units.of(panel)
        return MadeFiles(
            method,
            tuple(Figures.of(table) for table in tables),
            {} if other else units.by_size(units.linked(tables)),
            {} if other else units.by_size(units.in_the_cell(tables)),
            sum(sum(broken_rules(table, layout).values()) for table in tables),
            sum(len(layout.years) * table.num_rows for table in tables),
            seconds,
        )


def measure(
    establishments: int, methods: Sequence[BusinessMethod], chosen: Settings, draws: int = DRAWS
) -> MeasuredIndustry:
    """`draws` more are made of the files at `MAIN`, if it is asked for.

    Seconds are those of a process that shares the machine with the other workers.
    """
    industry, seed = Industry(ONE.sic3, ONE.sector, establishments), chosen.seed
    panel, main = industry.simulate(seed=seed), formal(MAIN)
    Kept(chosen.keep).write("panel", panel)
    tasks = [(method, seed + at) for at, method in enumerate(methods)]
    tasks += [(main, seed + 1000 * (1 + draw)) for draw in range(draws if main in methods else 0)]
    work = Draws(industry, tuple(tasks), len(methods), seed=seed, keep=chosen.keep)
    what = "synthesis: methods and other draws of the noise"
    made = work.all(len(tasks), chosen.workers, chosen.say, what)
    units = Units.of(panel)
    again = tuple(one.files for one in made[len(methods) :])
    guess = units.by_size(units.without_files())
    return MeasuredIndustry(establishments, Figures.of(panel), guess, tuple(made[: len(methods)]), again)
