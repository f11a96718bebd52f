"""What a metric is: a named number with a direction, a range, a reference value and a meaning in one line.

Reports are generic over metrics: they show whatever is in the list and never know one by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tacita.errors import UsageError
from tacita.evaluation.encoding import Comparison, Pair

Better = Literal["lower", "higher", "closer"]
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Outcome:
    """What a metric's function returns: its value, what a report may want to show, and the value per file.

    `note` is a sentence that a reader of this value must not miss, such as that it cannot be read as usual here.
    """

    value: float
    details: Mapping[str, Any] = field(default_factory=dict)
    by_implicate: tuple[float, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Metric:
    """A measure of utility or risk; call it with a `Comparison` to get a `Score`.

    `better` is "lower", "higher" or "closer" (to the reference). `reference` is the value that perfect synthesis,
    or synthesis as good as a fresh sample, would have; the meaning says which.

    >>> share = Metric("rows", "closer", (0, math.inf), 1.0, "synthetic rows per original row",
    ...                averaged(lambda pair: Outcome(pair.synthetic.rows / pair.original.rows)))
    >>> import pandas as pd
    >>> from tacita.evaluation.encoding import compare
    >>> frame = pd.DataFrame({"x": [1, 2]})
    >>> share(compare(frame, [frame, pd.concat([frame, frame])])).summary()
    'rows 1.5 (standard error 0.5 over 2 files)'
    """

    name: str
    better: Better
    range: tuple[float, float]
    reference: float | None
    meaning: str
    score: Callable[[Comparison], Outcome] = field(repr=False)

    def __post_init__(self) -> None:
        if self.better not in ("lower", "higher", "closer"):
            raise UsageError(f'{self.name}.better: must be "lower", "higher" or "closer"')
        if not self.range[0] < self.range[1]:
            raise UsageError(f"{self.name}.range: the lower end must be below the upper end")
        if self.better == "closer" and self.reference is None:
            raise UsageError(f'{self.name}.reference: "closer" needs a value to be close to')
        if not self.meaning or "\n" in self.meaning:
            raise UsageError(f"{self.name}.meaning: say in one line what the number means")

    def __call__(self, comparison: Comparison) -> Score:
        return self._scored(comparison, "original")

    def on_holdout(self, comparison: Comparison) -> Score:
        """The same against rows that the synthesizer never saw: does the file describe the population?"""
        return self._scored(comparison.against_holdout, "holdout")

    def _scored(self, comparison: Comparison, against: Literal["original", "holdout"]) -> Score:
        outcome = self.score(comparison)
        return Score(self, float(outcome.value), outcome.details, outcome.by_implicate, against, outcome.note)


@dataclass(frozen=True)
class Score:
    """A metric's value: always a finite number inside the metric's range, never a NaN."""

    metric: Metric
    value: float
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)
    by_implicate: tuple[float, ...] = ()
    against: Literal["original", "holdout"] = "original"
    note: str = ""

    def __post_init__(self) -> None:
        low, high = self.metric.range
        if not math.isfinite(self.value):
            raise UsageError(f"{self.metric.name}: has no defined value for these files")
        if not low - _ROUNDING * abs(low) <= self.value + _ROUNDING or not self.value - _ROUNDING <= high:
            raise UsageError(f"{self.metric.name}: the value lies outside its range; this is a fault of the metric")
        object.__setattr__(self, "value", min(max(self.value, low), high))
        if where := _first_nan(self.details, "details"):
            raise UsageError(f"{self.metric.name}: {where} has no defined value")

    @property
    def standard_error(self) -> float | None:
        """Of the mean over synthetic files; None with fewer than two, or where files are judged together."""
        if len(self.by_implicate) < 2:
            return None
        return float(np.std(self.by_implicate, ddof=1)) / math.sqrt(len(self.by_implicate))

    def summary(self) -> str:
        error = self.standard_error
        spread = "" if error is None else f" (standard error {error:.3g} over {len(self.by_implicate)} files)"
        said = f". {self.note}" if self.note else ""
        return f"{self.metric.name} {self.value:.4g}{spread}{said}"


def averaged(of_pair: Callable[[Pair], Outcome]) -> Callable[[Comparison], Outcome]:
    """A metric's function from a function of one original and one synthetic file: the mean over the files.

    `details["files"]` keeps each file's own details, in order.
    """

    def score(comparison: Comparison) -> Outcome:
        return mean_of([of_pair(pair) for pair in comparison.pairs])

    return score


def mean_of(files: Sequence[Outcome]) -> Outcome:
    """One outcome from those of the single files."""
    values = tuple(float(one.value) for one in files)
    notes = dict.fromkeys(one.note for one in files if one.note)
    return Outcome(
        math.fsum(values) / len(values), {"files": tuple(one.details for one in files)}, values, " ".join(notes)
    )


def _first_nan(thing: object, path: str) -> str | None:
    """Where the first NaN is, however deep; infinities may stand (an unbounded range, a missing bound)."""
    if isinstance(thing, float):
        return path if math.isnan(thing) else None
    if isinstance(thing, np.ndarray):
        return path if thing.dtype.kind == "f" and bool(np.isnan(thing).any()) else None
    if isinstance(thing, Mapping):
        inside = ((f"{path}.{key}", value) for key, value in thing.items())
    elif isinstance(thing, Sequence) and not isinstance(thing, str):
        inside = ((f"{path}[{place}]", value) for place, value in enumerate(thing))
    else:
        return None
    for place, value in inside:
        if where := _first_nan(value, place):
            return where
    return None
