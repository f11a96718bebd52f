"""Values in the outer bins of a number whose values were all counted, with noise. Post-processing only.

Bounds may be far wider than what records have. Of hundreds of values that nobody has, some noisy counts are large, and
what they add to a mean is more than all else. How many records an outer bin has is known far better than the sum of its
counts; how they fall off within it is asked of laws that all begin at the bin's inner end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.synthesis.file.likely import Facts

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FORMS = np.array([1.0, 2.0, 4.0])  # exp(-(k/λ)^form): from tails to an end
_SCALES = 40
_SHORTEST = 0.15  # values
_HEAVY = 1.3  # λ beside that of an exponential law of the same median
_SPREAD = 0.6  # how far its logarithm may be off
_LEAST = 1e-9
_SURE = 3.0  # by so much (in logarithms) others must foretell better than a law
_LEAST_FAR = 1.5  # of the records beyond the median, over those of the bin


def with_tails(
    counts: Floats,
    expected: Floats,
    noisy: Floats,
    bins: Integers,
    margin: Floats,
    noise: float,
    random: np.random.Generator | None,
) -> Floats:
    """Counts with those of outer bins by a law that falls outwards, unless those around each (`expected`) foretell
    the noisy counts clearly better. `bins` and `margin` as in `with_ends`; `random` as in `Facts.likely`."""
    whole = counts.copy()
    margin = margin[: int(bins[-1]) + 1]
    held, total = np.flatnonzero(margin > 0), float(margin.sum())
    if not held.size:
        return whole
    middle = int(np.searchsorted(np.cumsum(margin), total / 2))
    median = int(np.flatnonzero(bins == middle)[int(np.argmax(noisy[bins == middle]))])
    for outward in (1, -1):
        for one in held[-1:] if outward > 0 else held[:1]:
            places = np.flatnonzero(bins == one)[::outward]
            records = float(margin[one])
            if one == middle:
                inner = outward * (places - median) < 0
                records -= float(counts[places[inner]].sum())
                places = places[~inner]
            away = max(float(outward * (places[0] - median)), 1.0)
            if records <= 0:
                continue
            scale = away * _HEAVY / np.log(max(0.5 * total / records, _LEAST_FAR))
            whole[places] = _fallen(whole[places], expected[places], noisy[places], records, scale, noise, random)
    return whole


def _fallen(
    before: Floats,
    expected: Floats,
    noisy: Floats,
    records: float,
    usual: float,
    noise: float,
    random: np.random.Generator | None,
) -> Floats:
    laws, prior = _laws(before.size, usual)
    chances = prior + np.array([_foretells(records * law, noisy, noise) for law in laws])
    rival = _foretells(records * expected / max(float(expected.sum()), _LEAST), noisy, noise)
    top = float(chances.max())
    weights = np.exp(chances - top)
    if top + np.log(weights.sum()) < rival - _SURE:
        return before
    weights /= weights.sum()
    law = weights @ laws if random is None else laws[random.choice(len(laws), p=weights)]
    likely = records * law
    facts = Facts.of(noisy - likely, likely, np.zeros(likely.size), noise)
    found = np.maximum(likely + facts.likely(random), 0.0)
    return np.asarray(found * (records / max(float(found.sum()), _LEAST)))


def _laws(size: int, usual: float) -> tuple[Floats, Floats]:
    """Shares of so many values, the innermost first, for each form and scale, and the logarithms of their chances."""
    k = np.arange(size)
    scales = np.geomspace(_SHORTEST, max(2.0 * size, 1.0), _SCALES)
    prior = -(np.log((scales + 0.5) / (usual + 0.5)) ** 2) / (2 * _SPREAD**2)
    prior -= np.log(np.exp(prior).sum() * _FORMS.size)
    with np.errstate(under="ignore"):
        laws = np.exp(-np.minimum((k / scales[:, None]) ** _FORMS[:, None, None], 700.0)).reshape(-1, size)
    return laws / laws.sum(axis=1, keepdims=True), np.tile(prior, _FORMS.size)


def _foretells(likely: Floats, noisy: Floats, noise: float) -> float:
    """Logarithm of how likely the noisy counts are; counts themselves are off by chance."""
    seen = noise + likely
    return float(-0.5 * ((noisy - likely) ** 2 / seen + np.log(seen)).sum())
