"""Section 4 of tran2023: 100 training and testing files, one synthetic file per method and training file."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita_studies.harness.replicates import Progress, each
from tacita_studies.harness.results import Row, mean_and_se
from tacita_studies.kng.chain import NotConvergedError
from tacita_studies.tran2023.method import Method
from tacita_studies.tran2023.printed import GENERAL, SPECIFIC, printed
from tacita_studies.tran2023.scores import general, general_and_specific
from tacita_studies.tran2023.simulation import ORDER, simulate
from tacita_studies.tran2023.variants import Variant

Numbers = NDArray[np.float64]
SECONDS = "seconds per synthetic file"


@dataclass(frozen=True)
class Outcome:
    """One method in one replicate; `files` keeps the synthetic values of the first replicate, for the pictures."""

    scores: Mapping[str, float]
    seconds: float
    values: Mapping[str, Numbers] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """One replicate when called with its number: simulate, let every method make its file, score the files."""

    methods: tuple[Method, ...]
    seed: int
    rows: int = 5000
    variant: Variant | None = None
    keep: Path | None = None

    def __call__(self, number: int) -> dict[str, Outcome]:
        seed = self.seed + number
        make = simulate if self.variant is None else self.variant.simulate
        training, testing = make(self.rows, seed=seed)
        kept = None if self.keep is None or number else self.keep / "replicate-000"
        if kept is not None:
            kept.mkdir(parents=True, exist_ok=True)
            training.to_parquet(kept / "original.parquet", index=False)
            testing.to_parquet(kept / "test.parquet", index=False)
        found = {}
        if number == 0:
            found[ORIGINAL] = Outcome({}, 0.0, _values(training))
        for place, method in enumerate(self.methods):
            if not method.runs_in(number):
                continue
            begun = time.perf_counter()
            try:
                synthetic = method.make(training, 1_000_003 * (seed + 1) + place)
            except NotConvergedError:
                continue  # chains that do not agree release nothing; rows count the replicates with a file
            seconds = time.perf_counter() - begun
            scores = (
                general_and_specific(training, testing, synthetic)
                if self.variant is None
                else general(training, synthetic, further=True)
            )
            found[method.file] = Outcome(scores, seconds, _values(synthetic) if number == 0 else {})
            if kept is not None:
                synthetic.to_parquet(kept / f"synthetic-{method.file}.parquet", index=False)
        return found


ORIGINAL = "original"


def _values(frame: pd.DataFrame) -> dict[str, Numbers]:
    return {name: frame[name].to_numpy(dtype=np.float64) for name in ORDER}


@dataclass(frozen=True)
class Measured:
    """What all replicates of one experiment gave."""

    methods: tuple[Method, ...]
    replicates: tuple[Mapping[str, Outcome], ...]

    def values(self, method: Method, metric: str) -> list[float]:
        """The metric in every replicate in which the method ran."""
        return [one[method.file].scores[metric] for one in self.replicates if method.file in one]

    def seconds(self, method: Method) -> float:
        """The median, so that the compilation in the first replicate does not count."""
        found = [one[method.file].seconds for one in self.replicates if method.file in one]
        return float(np.median(found)) if found else math.nan

    @property
    def first_files(self) -> dict[str, Mapping[str, Numbers]]:
        """Synthetic values of the first replicate by the method's name, the original under its own."""
        names = {method.file: method.name for method in self.methods} | {ORIGINAL: ORIGINAL}
        return {names[key]: one.values for key, one in self.replicates[0].items()}


def measure(experiment: Experiment, replicates: int, workers: int, say: Progress, what: str) -> Measured:
    return Measured(experiment.methods, tuple(each(experiment, replicates, workers, say, what)))


def rows_of(measured: Measured, reference: Method) -> Iterator[Row]:
    """Tables 1 and 2 beside the printed ones, and the time each method takes."""
    for method in measured.methods:
        for table, metrics in (("Table 1", GENERAL), ("Table 2", SPECIFIC)):
            yield from _rows(measured, method, reference, table, metrics)
        yield Row(
            "Time",
            method.name,
            SECONDS,
            measured.seconds(method),
            replicates=len(measured.values(method, GENERAL[0])),
            guarantee=method.guarantee,
            where=method.where,
        )


def variant_rows(measured: Measured, variant: Variant, reference: Method) -> Iterator[Row]:
    """Every measure of general utility on one variant of the simulation."""
    metrics = list(next(one for one in measured.replicates[0].values() if one.scores).scores)
    for method in measured.methods:
        for row in _rows(measured, method, reference, f"Variant: {variant.name}", metrics):
            yield Row(**{**row.__dict__, "paper": None})


def _rows(measured: Measured, method: Method, reference: Method, table: str, metrics: Sequence[str]) -> Iterator[Row]:
    for metric in metrics:
        values = measured.values(method, metric)
        mean, se = mean_and_se(values) if values else (None, None)
        yield Row(
            table,
            method.name,
            metric,
            mean,
            se,
            printed(method.printed, metric),
            reference=mean_and_se(measured.values(reference, metric))[0],
            replicates=len(values),
            guarantee=method.guarantee,
            where=method.where,
        )
