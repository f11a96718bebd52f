"""Section 4 of tran2023: 100 training and testing files, one synthetic file per method and training file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita_studies.harness.experiment import FIRST, Experiment, Method, Outcome, timed
from tacita_studies.harness.replicates import Progress
from tacita_studies.harness.results import Row, mean_and_se
from tacita_studies.kng.chain import NotConvergedError
from tacita_studies.tran2023.printed import GENERAL, SPECIFIC, printed
from tacita_studies.tran2023.scores import general, general_and_specific
from tacita_studies.tran2023.simulation import ORDER, Variant, simulate

Numbers = NDArray[np.float64]
SECONDS = "seconds per synthetic file"
ORIGINAL = "original"


@dataclass(frozen=True, kw_only=True)
class FileMethod(Method):
    """A function from a file and a seed to a synthetic file; `most` caps the replicates of a slow one.

    Modes: "none" has no privacy, "proved" is drawn exactly, "honest" from the law that the method names, as far as
    chains that pass a gate can tell, "peer" is somebody else's method, "paper" the authors' own chain, "start only" the
    same with ε → 0.
    """

    guarantee: str
    make: Callable[[pd.DataFrame, int], pd.DataFrame]
    most: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def where(self) -> dict[str, Any]:
        return {**super().where, **self.details}

    def runs_in(self, replicate: int) -> bool:
        return self.most is None or replicate < self.most


@dataclass(frozen=True)
class FileOutcome(Outcome[Mapping[str, float]]):
    """`values` are the synthetic ones, of the first replicate only, for the pictures."""

    values: Mapping[str, Numbers] = field(default_factory=dict)


@dataclass(frozen=True)
class Replicates(Experiment[dict[str, FileOutcome]]):
    """One replicate for each number: simulate, let every method make its file, score the files."""

    methods: tuple[FileMethod, ...]
    rows: int = 5000
    variant: Variant | None = None

    def __call__(self, number: int) -> dict[str, FileOutcome]:
        seed = self.seed + number
        training, testing = (simulate if self.variant is None else self.variant.simulate)(self.rows, seed=seed)
        kept = self.kept(number == 0, FIRST)
        kept.write("original", training)
        kept.write("test", testing)
        outcomes = {ORIGINAL: FileOutcome({}, 0.0, _values(training))} if number == 0 else {}
        for place, method in enumerate(self.methods):
            if not method.runs_in(number):
                continue
            try:
                synthetic, seconds = timed(partial(method.make, training, 1_000_003 * (seed + 1) + place))
            except NotConvergedError:
                continue  # chains that do not agree release nothing; rows count the replicates with a file
            scores = (
                general_and_specific(training, testing, synthetic)
                if self.variant is None
                else general(training, synthetic, further=True)
            )
            outcomes[method.file] = FileOutcome(scores, seconds, _values(synthetic) if number == 0 else {})
            kept.write(f"synthetic-{method.file}", synthetic)
        return outcomes


def _values(frame: pd.DataFrame) -> dict[str, Numbers]:
    return {name: frame[name].to_numpy(dtype=np.float64) for name in ORDER}


@dataclass(frozen=True)
class MeasuredMethods:
    """What all replicates of one experiment gave."""

    methods: tuple[FileMethod, ...]
    replicates: tuple[Mapping[str, FileOutcome], ...]

    def values(self, method: FileMethod, metric: str) -> list[float]:
        """The metric in every replicate in which the method ran."""
        return [one[method.file].scores[metric] for one in self.replicates if method.file in one]

    def seconds(self, method: FileMethod) -> float:
        """The median, so that the compilation in the first replicate does not count."""
        times = [one[method.file].seconds for one in self.replicates if method.file in one]
        return float(np.median(times)) if times else math.nan

    @property
    def first_files(self) -> dict[str, Mapping[str, Numbers]]:
        """Synthetic values of the first replicate by the method's name, the original under its own."""
        names = {method.file: method.name for method in self.methods} | {ORIGINAL: ORIGINAL}
        return {names[key]: one.values for key, one in self.replicates[0].items()}


def measure(experiment: Replicates, replicates: int, workers: int, say: Progress, what: str) -> MeasuredMethods:
    return MeasuredMethods(experiment.methods, tuple(experiment.all(replicates, workers, say, what)))


def rows_of(measured: MeasuredMethods, reference: FileMethod) -> Iterator[Row]:
    """Tables 1 and 2 beside the printed ones, and the time each method takes."""
    for method in measured.methods:
        for table, metrics in (("Table 1", GENERAL), ("Table 2", SPECIFIC)):
            yield from _rows(measured, method, reference, table, metrics)
        seconds, count = measured.seconds(method), len(measured.values(method, GENERAL[0]))
        said, where = method.guarantee, method.where
        yield Row("Time", method.name, SECONDS, seconds, replicates=count, guarantee=said, where=where)


def variant_rows(measured: MeasuredMethods, variant: Variant, reference: FileMethod) -> Iterator[Row]:
    """Every measure of general utility on one variant of the simulation."""
    metrics = list(next(one for one in measured.replicates[0].values() if one.scores).scores)
    for method in measured.methods:
        for row in _rows(measured, method, reference, f"Variant: {variant.name}", metrics):
            yield replace(row, paper=None)


def _rows(
    measured: MeasuredMethods, method: FileMethod, reference: FileMethod, table: str, metrics: Sequence[str]
) -> Iterator[Row]:
    for metric in metrics:
        values = measured.values(method, metric)
        mean, se = mean_and_se(values) if values else (None, None)
        paper, ideal = printed(method.printed, metric), mean_and_se(measured.values(reference, metric))[0]
        count, said = len(values), method.guarantee
        yield Row(table, method.name, metric, mean, se, paper, None, ideal, count, said, method.where)
