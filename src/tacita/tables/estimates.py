"""From noisy measurements of a table to estimates: a value for every cell and an interval that holds the truth.

Post-processing only: everything is computed from `Measurements`, whose facts are public.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.measured import Measurements
from tacita.mechanisms.table.noise import PRUDENCE, half_step, law_of, spread_of
from tacita.noise.combination import margin as combined
from tacita.tables import sampling
from tacita.tables.unseen import Unseen, beyond, parted

Floats = NDArray[np.float64]

_UNITS = 200
_SURELY = 0.8  # confidence, on both sides, that a cell has as many records as a quantile needs


@dataclass(frozen=True, eq=False)
class Estimates:
    """One entry per cell. `additive`: the value of a union of cells is the sum of their values. `variance` is that of
    the error, where values can be added. `bounds` are what no value can exceed."""

    keys: dict[str, NDArray[np.int64]]
    value: Floats
    lower: Floats
    upper: Floats
    additive: bool = False
    whole: bool = False
    places: int | None = None
    """Decimal places to which values are rounded already, so that their sums agree to the last digit."""
    decimals: int | None = None
    variance: Floats | None = None
    kurtosis: float = 0.0
    together: bool = False
    """Whether errors of cells may go up and down together, as those of samples of whole villages do."""
    bounds: tuple[float | Floats, float | Floats] = (-np.inf, np.inf)
    parts: tuple[str, ...] | None = None
    """Which number of its cell each entry is, where a cell has several: quantiles, or sums of several columns."""
    parted_by: str = "quantile"
    """What these numbers are, and so the name of the column that tells them apart."""
    listed: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)
    """Codes and labels of a column, where they are others than those of the schema."""

    def where(self, kept: NDArray[np.bool_]) -> Estimates:
        """Some of the entries."""
        ends = (np.broadcast_to(one, self.value.shape)[kept] for one in self.bounds)
        return replace(
            self,
            keys={name: code[kept] for name, code in self.keys.items()},
            value=self.value[kept],
            lower=self.lower[kept],
            upper=self.upper[kept],
            variance=None if self.variance is None else self.variance[kept],
            bounds=(next(ends), next(ends)),
            parts=None if self.parts is None else tuple(np.array(self.parts, dtype=object)[kept]),
        )

    @classmethod
    def joined(cls, entries: Sequence[Estimates]) -> Estimates:
        """The entries of several, one after the other, alike in all else."""
        first = entries[0]
        ends = (np.concatenate([np.broadcast_to(one.bounds[at], one.value.shape) for one in entries]) for at in (0, 1))
        return replace(
            first,
            keys={name: np.concatenate([one.keys[name] for one in entries]) for name in first.keys},
            value=np.concatenate([one.value for one in entries]),
            lower=np.concatenate([one.lower for one in entries]),
            upper=np.concatenate([one.upper for one in entries]),
            variance=None,
            bounds=(next(ends), next(ends)),
            parts=None if first.parts is None else tuple(part for one in entries for part in one.parts or ()),
        )


def decimals_beside(narrowest: float) -> int:
    """To how many decimals values are rounded that are to agree: so finely that it does not show beside the narrowest
    margin, of which a unit is at most a two-hundredth.

    >>> decimals_beside(3.0), decimals_beside(50_000.0)
    (2, -2)
    """
    return int(np.clip(-np.floor(np.log10(narrowest / _UNITS)), -12, 9))


def estimated(result: Measurements, confidence: float) -> Estimates:
    """Values and intervals of a table, whatever its statistic."""
    keys = {name: code.astype(np.int64) for name, code in result.keys.items()}
    if result.facts.get("visible") is False and result.statistic not in ("growth", "flows"):
        nothing = np.full(result.cells, np.nan)
        # Sums of nothing said are nothing said either: a table that asks for totals was paid for like any other.
        added = result.statistic in ("count", "sum")
        spread = np.zeros(result.cells) if added else None
        return Estimates(keys, nothing, nothing - np.inf, nothing + np.inf, additive=added, variance=spread)
    return _ESTIMATES[_kind(result)](result, keys, confidence)


def _kind(result: Measurements) -> str:
    for own in ("magnitudes", "slow"):
        if own in result.facts:
            return own
    statistic = result.statistic
    if statistic == "mean" and result.plan["weights"]:
        return "ratio"
    return "quantiles" if statistic == "median" else statistic


def margin(confidence: float, parts: list[tuple[Floats, float]]) -> Floats:
    """Half the length of an interval for a sum of errors, on the safe side: where a value is no plain sum of noises,
    its margin is computed as if the noises' weights were known, and is a little short."""
    return combined(1 - float(PRUDENCE) * (1 - confidence), parts)


# ---------------------------------------------------------------- counts and sums


def _counts(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    if result.plan["weights"]:
        return _sum_of("count", result, keys, confidence, bounds=(0.0, np.inf))
    described = result.facts["count"]["law"]
    value = result.noisy["count"].astype(np.float64)
    half = float(law_of(described).margin(confidence))
    variance, kurtosis = spread_of(described)
    return Estimates(
        keys,
        value,
        value - half,
        value + half,
        additive=True,
        whole=True,
        variance=np.full(value.size, variance),
        kurtosis=kurtosis,
        bounds=(0.0, np.inf),
    )


def _sums(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    facts = result.facts["sum"]
    nonnegative = facts["lower"] >= 0
    return _sum_of("sum", result, keys, confidence, bounds=(0.0 if nonnegative else -np.inf, np.inf))


def _sum_of(
    name: str, result: Measurements, keys: dict[str, Any], confidence: float, bounds: tuple[float, float]
) -> Estimates:
    value, variance, kurtosis, unseen = amounts(name, result)
    if sampling.measured(result):
        noise, variance = variance, variance + sampling.of_sums(result, value, variance, confidence)
        kurtosis *= float(np.max(noise / variance)) ** 2
    half = margin(confidence, [(variance, kurtosis)])
    above = unseen.beside(half)
    return Estimates(
        keys,
        value,
        value - (above if result.facts[name]["lower"] < 0 else half),
        value + above,
        additive=True,
        variance=variance,
        kurtosis=kurtosis,
        together="units" in result.noisy,
        bounds=bounds,
    )


def amounts(name: str, result: Measurements) -> tuple[Floats, Floats, float, Unseen]:
    """Sums in their own units, the variance of their noise and its kurtosis, and what each cell may hold above the
    clamp."""
    facts = result.facts[name]
    step = facts["step"]
    value = result.noisy[name].astype(np.float64) * step
    variance, kurtosis = noise_of(facts, value.size)
    noise = variance * step**2
    return value, noise, kurtosis, beyond(facts, value, np.sqrt(noise))


def noise_of(facts: Mapping[str, Any], cells: int) -> tuple[Floats, float]:
    """The variance of each cell's noise, in steps, and its kurtosis: by its law, or as several levels agree."""
    if "agreed" in facts:
        return facts["agreed"], facts["kurtosis"]
    variance, kurtosis = spread_of(facts["law"])
    return np.full(cells, variance), kurtosis


# ---------------------------------------------------------------- what follows from them


def _means(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    """A mean is where the sum of distances above divides the interval: its error at the true share m is that of
    (1 − m)·above − m·below, over the number of records."""
    facts = result.facts["mean"]
    step, steps, low, high = facts["step"], facts["steps"], facts["lower"], facts["upper"]
    above, below = (result.noisy[name].astype(np.float64) for name in ("above", "below"))
    number = (above + below) / steps
    variance, kurtosis = noise_of(facts, above.size)
    share = np.clip(above / np.where(number > 0, number * steps, np.inf), 0.0, 1.0)
    half = margin(confidence, [((1 - share) ** 2 * variance, kurtosis), (share**2 * variance, kurtosis)]) * step
    # A count that may be zero says nothing about a mean. Else the count's own error is part of the combination above.
    floor = margin(confidence, [(2 * variance, kurtosis / 2)]) / steps
    known = number > floor
    safe = np.where(known, number, 1.0)
    value = np.where(known, low + share * (high - low), np.nan)
    half = np.where(known, half / safe, np.inf)
    wide = beyond(facts, above * step, np.sqrt(variance) * step).times(1 / safe).beside(half)
    # Where numbers may be negative, the clamp cuts them off on both sides.
    lower, upper = value - (wide if low < 0 else half), value + wide
    lower = lower if low < 0 and facts["unseen"] else np.maximum(lower, low)
    upper = upper if facts["unseen"] else np.minimum(upper, high)
    return Estimates(keys, value, np.where(known, lower, low), np.where(known, upper, np.inf))


def _variances(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    facts = result.facts["variance"]
    steps = facts["steps"]
    parts = np.stack([result.noisy[name].astype(np.float64) for name in ("high", "cross", "low")]) / steps**2
    number = parts.sum(axis=0)
    noise, kurtosis = spread_of(facts["law"])
    noise /= steps**4
    known = number > 4 * np.sqrt(3 * noise) + 2
    safe = np.where(known, number, 1.0)
    square, first = parts[0] / safe, (parts[0] + parts[1] / 2) / safe
    spread = np.maximum(square - first**2, 0.0)
    gradient = [1 - square - 2 * first * (1 - first), -square - 2 * first * (0.5 - first), -square + 2 * first**2]
    half = margin(confidence, [((one / safe) ** 2 * noise, kurtosis) for one in gradient])
    length = (facts["step"] * steps) ** 2
    correction = safe / np.maximum(safe - 1, 1)
    value = np.where(known, spread * length * correction, np.nan)
    half = np.where(known, half * length * correction, np.inf)
    # A number above the clamp adds its square to the variance, and more where the mean may be negative.
    signed = 2 * (facts["unseen"] + facts.get("chance", 0.0)) if facts["lower"] < 0 else 0.0
    held = facts["upper"] ** 2 * parted(parts[0], np.full(value.size, np.sqrt(noise))) / safe
    above = Unseen((facts["unseen_squares"] + signed) * held, facts.get("chance_squares", 0.0) * held).beside(half)
    above = np.full(value.size, np.inf) if facts.get("open") else above
    return Estimates(keys, value, np.maximum(value - half, 0.0), value + above, bounds=(0.0, np.inf))


def _shares(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    """Levels of the last attribute within each combination of the others."""
    levels = int(result.keys[result.plan["of"][0]].max()) + 1
    if result.plan["weights"]:
        inside, noise, kurtosis, unseen = amounts("count", result)
    else:
        inside = result.noisy["count"].astype(np.float64)
        noise, kurtosis = noise_of(result.facts["count"], inside.size)
        unseen = Unseen(np.zeros(inside.size), np.zeros(inside.size))
    facts = result.facts["count"]
    rough = 0.0 if result.plan["weights"] or "law" not in facts else half_step(law_of(facts["law"]))
    whole = np.repeat(inside.reshape(-1, levels).sum(axis=1), levels)
    known = whole > 2 * np.sqrt(noise * levels)
    safe = np.where(known, whole, 1.0)
    share = np.clip(inside / safe, 0.0, 1.0)
    parts = [((1 - share) ** 2 * noise / safe**2, kurtosis)] + [(share**2 * noise / safe**2, kurtosis)] * (levels - 1)
    if sampling.measured(result):
        squares = sampling.of_residuals(result, confidence)
        others = np.repeat(squares.reshape(-1, levels).sum(axis=1), levels) - squares
        parts.append((((1 - share) ** 2 * squares + share**2 * others) / safe**2, 0.0))
    half = unseen.times(1 / safe).beside(margin(confidence, parts)) + rough * np.maximum(share, 1 - share) / safe
    value = np.where(known, share, np.nan)
    half = np.where(known, half, np.inf)
    return Estimates(keys, value, np.maximum(value - half, 0.0), np.minimum(value + half, 1.0), bounds=(0.0, 1.0))


def _ratios(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    """The true ratio r makes above − r·below zero but for noise: the interval is of all r for which that is likely."""
    above, noise_above, one, unseen_above = amounts("above", result)
    below, noise_below, two, unseen_below = amounts("below", result)
    least = margin(confidence, [(noise_below, two)])
    known = below > 1.5 * least
    safe = np.where(known, below, 1.0)
    ratio = above / safe
    chance = sampling.of_residuals(result, confidence) if sampling.measured(result) else np.zeros(1)
    half = margin(confidence, [(noise_above, one), (ratio**2 * noise_below, two), (chance, 0.0)])
    # Half the length of Fieller's interval: the less sure the denominator, the wider; and cells that are shown although
    # their denominators are too small are those whose noise is large.
    half = unseen_below.times(np.abs(ratio)).beside(unseen_above.beside(half))
    half = half / safe / (1 - np.where(known, least / safe, 0.0) ** 2)
    # A ratio of amounts that are not negative is not negative either.
    lowest = 0.0 if min(result.facts[name]["lower"] for name in ("above", "below")) >= 0 else -np.inf
    value = np.where(known, np.maximum(ratio, lowest), np.nan)
    half = np.where(known, half, np.inf)
    return Estimates(keys, value, ratio - half, ratio + half, bounds=(lowest, np.inf))


# ---------------------------------------------------------------- quantiles


def _quantiles(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    """Two draws enclose a quantile; the estimate lies in the middle between them."""
    facts = result.facts["quantiles"]
    parts, shares = facts["parts"], facts["shares"]
    ends = [
        np.sort(np.stack([result.noisy[f"{end}_{at}"] for end in ("low", "high")]), axis=0) for at in range(len(shares))
    ]
    # Quantiles of a cell do not cross.
    low = np.maximum.accumulate(np.stack([one[0] for one in ends]), axis=0)
    high = np.minimum.accumulate(np.stack([one[1] for one in ends])[::-1], axis=0)[::-1]
    low, high = np.minimum(low, high), np.maximum(low, high)
    middle = _between(low, high, facts["lower"], facts["upper"])
    # Draws of a cell with too few records fall anywhere, and say nothing.
    variance, kurtosis = spread_of(result.facts["count"]["law"])
    surely = result.noisy["count"] - combined(_SURELY, [(np.full(1, variance), kurtosis)])
    known = (surely[None, :] >= np.array(facts["least"])[:, None]).ravel()
    repeated = {name: np.tile(code, len(shares)) for name, code in keys.items()}
    named = tuple(share for share in shares for _ in range(result.cells))
    return Estimates(
        repeated,
        np.where(known, middle.ravel() / parts, np.nan),
        np.where(known, low.ravel() / parts, -np.inf),
        np.where(known, high.ravel() / parts, np.inf),
        decimals=len(str(parts)) - 1,
        bounds=(facts["lower"] / parts, facts["upper"] / parts),
        parts=named if result.statistic == "quantiles" else None,
    )


def _between(low: NDArray[np.int64], high: NDArray[np.int64], lower: int, upper: int) -> NDArray[np.int64]:
    """The middle of two values: their mean where they are near each other, their geometric one where they are not."""
    centre = min(max(0, lower), upper)
    one, two = (low - centre).astype(np.float64), (high - centre).astype(np.float64)
    even = (one + two) / 2
    same_side = (one > 0) == (two > 0)
    ratio = np.where(same_side, np.sqrt(np.abs(one * two)) * np.sign(two), even)
    return np.asarray(np.rint(np.where(np.abs(two - one) > np.abs(even), ratio, even)) + centre, dtype=np.int64)


def _magnitudes(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    from tacita.tables.magnitudes import magnitudes  # which loads laws that other tables do without

    return magnitudes(result, keys, confidence)


def _slow(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    from tacita.tables.slow import slow

    return slow(result, keys, confidence)


def _growth(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    from tacita.tables.changes import growth  # which is made of what stands here

    return growth(result, keys, confidence)


def _flows(result: Measurements, keys: dict[str, Any], confidence: float) -> Estimates:
    from tacita.tables.changes import flows

    return flows(result, keys, confidence)


_ESTIMATES: dict[str, Callable[[Measurements, dict[str, Any], float], Estimates]] = {
    "count": _counts,
    "sum": _sums,
    "mean": _means,
    "variance": _variances,
    "share": _shares,
    "ratio": _ratios,
    "quantiles": _quantiles,
    "magnitudes": _magnitudes,
    "slow": _slow,
    "growth": _growth,
    "flows": _flows,
}
