"""Plain, stepwise and sandwich KNG drawn honestly: the right sensitivity, public boxes, no start value.

What differs from `paper`: predictors are scaled from public boxes to [0, 1], so that the ∞-norm treats intercept and
slopes alike; the sensitivity is that of `sensitivity`; quantiles are kept from crossing at the corners of the public
box, not on the confidential rows; without predictors, and for all but the median when the slope is fixed, the draw
is exact and one-dimensional; whole planes come from `chain` and must pass its gate. The proof is `kng.md`.

>>> from tacita.noise.entropy import SeededEntropy
>>> y = np.arange(1000.0)
>>> planes = HonestLayout("stepwise").fit(np.zeros((1000, 0)), y, box=[], bounds=(0, 1000),
...     quantiles=[Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)], epsilon="100", entropy=SeededEntropy(1))
>>> planes.round(-1).ravel().tolist()
[250.0, 500.0, 750.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tacita.errors import UsageError
from tacita.mechanisms.kng.line import Lattice
from tacita.noise.choice import choose, uniform_below
from tacita.noise.entropy import Entropy, Request, reserve
from tacita.privacy import AddRemoveOne, Guarantee, Loss, Neighbours, Number, ReplaceOne, exact
from tacita_studies.kng.budget import HALF, MAIN_IN_TEXT, QUANTILES, Kind, Layout, Slope, Step, intervals
from tacita_studies.kng.chain import ASSUMES, Gate, corners, sample_plane
from tacita_studies.kng.sensitivity import box_size, rate

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
Range = tuple[Number, Number]

# Even spacing is the flat base measure of the paper; by ratio, a far gap is no more likely for being long.
Spacing = Literal["even", "ratio"]
ONE_RECORD = AddRemoveOne("record")
_UNIT = {"even": 2.0**10, "ratio": 2.0**-14}


@dataclass(frozen=True)
class HonestLayout(Layout):
    """A layout, and what its draws promise.

    >>> print(HonestLayout("sandwich", "fixed").guarantee("1", predictors=0))
    ε = 1 under one record added or removed
    >>> HonestLayout("sandwich", "fixed").guarantee("1", predictors=2).holds
    'asymptotically'
    """

    neighbours: Neighbours = ONE_RECORD
    spacing: Spacing = "even"
    gate: Gate = field(default_factory=Gate)

    def guarantee(self, epsilon: Number, *, predictors: int) -> Guarantee:
        """The promise of all quantiles of one variable together."""
        assumes = (
            "bounds of the response and boxes of the predictors are public; values outside are moved to the ends",
        )
        if predictors == 0:
            return Guarantee(self.neighbours, Loss(epsilon), assumes=assumes)
        return Guarantee(self.neighbours, Loss(epsilon), "asymptotically", assumes + ASSUMES)

    def fit(
        self,
        predictors: Numbers,
        response: Numbers,
        *,
        box: Sequence[Range],
        bounds: Range,
        quantiles: Sequence[Fraction] = QUANTILES,
        epsilon: Number,
        entropy: Entropy,
        label: str = "response",
    ) -> Numbers:
        """Planes, one row per quantile: intercept first, in the units of the data, for predictors inside the box."""
        budget = exact(epsilon, "epsilon")
        if budget <= 0:
            raise UsageError("epsilon: must be above 0")
        steps = self.steps(quantiles)
        low, high = (float(exact(end, "bounds")) for end in bounds)
        if not low < high:
            raise UsageError(f"{label}: its public lower bound must be below its upper bound")
        design = np.column_stack([np.ones(len(response)), _to_unit_box(predictors, box)])
        wanted = np.clip(np.nan_to_num(np.asarray(response, dtype=np.float64), nan=low), low, high)
        size = design.shape[1]
        fitted: dict[Fraction, Numbers] = {}
        line: _Line | None = _Line(wanted, low, high, self.spacing) if size == 1 else None
        radius, diameter = box_size([(0, 1)] * (size - 1))
        for step in steps:
            name, share = f"{label}, quantile {float(step.tau):g}", step.share * budget
            if line is not None:
                own = rate(step.tau, share, self.neighbours)
                fitted[step.tau] = line.draw(step, own, entropy, name)
            else:
                own = rate(step.tau, share, self.neighbours, radius, diameter)
                floor, cap = (
                    fitted[one] if one in fitted else np.array([end, *np.zeros(size - 1)])
                    for one, end in ((step.floor, low), (step.cap, high))
                )
                fitted[step.tau] = sample_plane(
                    design, wanted, float(step.tau), float(own), floor, cap, entropy, gate=self.gate, label=name
                ).plane
                if step.tau == HALF and self.slope == "fixed" and self.kind != "plain":
                    line = _Line.beside(fitted[HALF], design, wanted, low, high, self.spacing)
                    fitted[HALF] = line.plane(HALF)
        planes = np.array([fitted[tau] for tau in sorted(fitted)])
        return _to_data_units(planes, box)


class _Line:
    """Quantiles that differ only in the intercept: exact draws on a public lattice."""

    def __init__(
        self, values: Numbers, low: float, high: float, spacing: Spacing, slopes: Numbers | None = None
    ) -> None:
        self.slopes = np.zeros(0) if slopes is None else slopes
        self.lattice = Lattice(low, high, unit=(high - low) * _UNIT[spacing], centre=min(max(0.0, low), high))
        self.places: Places = np.sort(self.lattice.place(values))
        self.known: dict[Fraction, int] = {}

    @classmethod
    def beside(
        cls, median: Numbers, design: Numbers, response: Numbers, low: float, high: float, spacing: Spacing
    ) -> _Line:
        """The residuals from the median's slopes; intercepts keep the plane inside the bounds on the whole box."""
        slopes = median[1:]
        tilt = corners(slopes.size)[:, 1:] @ slopes
        residuals = response.copy()
        for k, slope in enumerate(slopes, start=1):
            residuals -= design[:, k] * slope  # one record at a time: a matrix product may round by position
        line = cls(residuals, low - tilt.min(), high - tilt.max(), spacing, slopes)
        line.known[HALF] = int(line.lattice.place(median[:1])[0])
        return line

    def draw(self, step: Step, own: Fraction, entropy: Entropy, name: str) -> Numbers:
        low = 0 if step.floor is None else self.known[step.floor]
        high = self.lattice.places - 1 if step.cap is None else self.known[step.cap]
        widths, scores, inside = threshold_law(self.places, low, high, step.tau)
        entropy.announce(
            Request(name, f"threshold rate={own}", np.array([self.places.size]), np.array([float(1 / own)]))
        )
        spare = reserve(64, entropy)
        gap = choose(widths, scores, own / step.tau.denominator, spare)
        place = int(inside[gap]) + 1 + uniform_below(int(widths[gap]), spare)
        self.known[step.tau] = place
        return self.plane(step.tau)

    def plane(self, tau: Fraction) -> Numbers:
        return np.array([float(self.lattice.value(np.array([self.known[tau]]))[0]), *self.slopes])


def threshold_law(places: Places, low: int, high: int, tau: Fraction) -> tuple[Places, Places, Places]:
    """Gaps of thresholds from `low` to `high`: how many in each, their scores times τ's denominator, where they begin.

    A threshold t counts the sorted places below it; its score is |#{places < t} − τ·n| over all n records.

    >>> threshold_law(np.array([2, 5]), 0, 9, Fraction(1, 2))
    (array([3, 3, 4]), array([2, 0, 2]), array([-1,  2,  5]))
    """
    first, last = np.searchsorted(places, (low, high))
    edges = np.concatenate(([low - 1], places[first:last], [high])).astype(np.int64)
    ranks = np.arange(first, last + 1, dtype=np.int64)
    scores = np.abs(tau.denominator * ranks - tau.numerator * places.size)
    return np.diff(edges), scores, edges[:-1]


@dataclass(frozen=True)
class Variable:
    """One variable of a synthesis: its layout, its share of the budget, and what is public about it."""

    name: str
    layout: HonestLayout
    share: Number
    bounds: Range
    box: tuple[Range, ...] = ()


def simulation(
    kind: Kind,
    slope: Slope = "fixed",
    *,
    neighbours: Neighbours = ONE_RECORD,
    spacing: Spacing = "even",
    gate: Gate | None = None,
) -> tuple[Variable, Variable, Variable]:
    """Section 4.1 of tran2023 with the text's shares and bounds; C_X becomes the public box of the predictors."""
    first, later = (
        HonestLayout(kind, slope, median, main, MAIN_IN_TEXT, neighbours, spacing, gate or Gate())
        for median, main in (("0.25", "0.6"), ("0.8", "0.8"))
    )
    return (
        Variable("x1", first, "0.5", (0, 1000)),
        Variable("x2", later, "0.25", (0, 1000), ((0, 46),)),
        Variable("x3", later, "0.25", (0, 2000), ((0, 46), (0, 106))),
    )


def synthesize(
    frame: pd.DataFrame,
    variables: Sequence[Variable],
    *,
    epsilon: Number,
    rows: int,
    entropy: Entropy,
    quantiles: Sequence[Fraction] = QUANTILES,
) -> pd.DataFrame:
    """`rows` synthetic records (a public number): each variable from planes given those before it.

    A quantile stands for the interval that it closes, and the last one also for what is above it.
    """
    if sum(exact(one.share, "share") for one in variables) > 1:
        raise UsageError("share: the shares of the variables must not add to more than 1")
    taus = sorted(quantiles)
    chances = np.cumsum([float(right - left) for left, right in intervals(taus)])
    made: dict[str, Numbers] = {}
    for place, one in enumerate(variables):
        before = [other.name for other in variables[:place]]
        if len(one.box) != place:
            raise UsageError(f"{one.name}: give the public box of each variable before it, {place} in all")
        planes = one.layout.fit(
            frame[before].to_numpy(dtype=np.float64).reshape(len(frame), place),
            frame[one.name].to_numpy(dtype=np.float64),
            box=one.box,
            bounds=one.bounds,
            quantiles=taus,
            epsilon=exact(epsilon, "epsilon") * exact(one.share, "share"),
            entropy=entropy,
            label=one.name,
        )
        ends = np.array([[float(exact(end)) for end in side] for side in one.box]).reshape(-1, 2)
        known = np.column_stack([np.ones(rows), *(np.clip(made[b], *end) for b, end in zip(before, ends, strict=True))])
        chance = (entropy.words(rows) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        which = np.searchsorted(chances, chance, side="right").clip(max=len(taus) - 1)
        made[one.name] = _values(planes, known, which, sort=one.layout.kind == "plain")
    return pd.DataFrame(made)


def synthesis_guarantee(variables: Sequence[Variable], epsilon: Number) -> Guarantee:
    """What `synthesize` promises for all variables together.

    >>> print(synthesis_guarantee(simulation("stepwise", "fixed"), "1"))
    ε = 1 under one record added or removed (asymptotically)
    """
    total = exact(epsilon, "epsilon")
    parts = [
        one.layout.guarantee(total * exact(one.share, "share"), predictors=place) for place, one in enumerate(variables)
    ]
    promise = parts[0]
    for part in parts[1:]:
        promise = promise + part
    if isinstance(promise.neighbours, ReplaceOne):
        return promise
    extra = ("the number of synthetic records is a public number, not the confidential count",)
    return Guarantee(promise.neighbours, promise.loss, promise.holds, promise.assumes + extra)


def _values(planes: Numbers, known: Numbers, which: Places, *, sort: bool) -> Numbers:
    """Planes drawn one by one may cross: sorted at each record they do not."""
    if not sort:
        return np.asarray(np.einsum("rc,rc->r", known, planes[which]))
    made = np.empty(len(known))
    for start in range(0, len(known), 100_000):
        part = slice(start, start + 100_000)
        values = np.sort(known[part] @ planes.T, axis=1)
        made[part] = values[np.arange(len(values)), which[part]]
    return made


def _to_unit_box(predictors: Numbers, box: Sequence[Range]) -> Numbers:
    """Predictors moved into their public box, which becomes [0, 1]; a missing value counts as the lower end."""
    if predictors.ndim != 2 or predictors.shape[1] != len(box):
        raise UsageError("box: give one public range per predictor, as (lower, upper)")
    scaled = np.empty(predictors.shape)
    for k, side in enumerate(box):
        low, high = (float(exact(end, "box")) for end in side)
        if not low < high:
            raise UsageError(f"box: the public range of predictor {k + 1} must have its lower end below its upper end")
        scaled[:, k] = (np.clip(np.nan_to_num(predictors[:, k], nan=low), low, high) - low) / (high - low)
    return scaled


def _to_data_units(planes: Numbers, box: Sequence[Range]) -> Numbers:
    result = planes.copy()
    for k, side in enumerate(box, start=1):
        low, high = (float(exact(end)) for end in side)
        result[:, k] = planes[:, k] / (high - low)
        result[:, 0] -= result[:, k] * low
    return result
