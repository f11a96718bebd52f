"""How files follow from measurements of earlier versions, so that their bundles still verify. Post-processing only.

Those had one clamped sum of every number beside the size, over what a head has in the middle of each year.
"""

from __future__ import annotations

import numpy as np

from tacita.synthesis.panel.formal.lattice import Floats, Integers
from tacita.synthesis.panel.formal.ratios import Range
from tacita.synthesis.panel.formal.released import Measurement, Noisy
from tacita.synthesis.panel.formal.smoothing import joint, smoothed
from tacita.synthesis.panel.formal.targets import not_negative
from tacita.synthesis.panel.predictors import Flags

_CLEAR, _SELDOM = 4.0, 0.02
_ASTRAY, _MOST_SHIFT = 0.1, 0.5


def is_former(found: Measurement, name: str) -> bool:
    return f"total {name}" in found.tables


def narrowed(public: Range, noisy: Noisy) -> Range:
    counts, size = noisy.values, len(noisy.values)
    clear = counts > max(_CLEAR * noisy.spread, _SELDOM * float(counts.max()))
    if not clear.any():
        return public
    low = high = int(np.argmax(counts))
    while low > 0 and clear[low - 1]:
        low -= 1
    while high < size - 1 and clear[high + 1]:
        high += 1
    unit = public.width / size
    return Range(public.low + unit * (low - 1), public.low + unit * (high + 2))


def centres_of(within: Range, noisy: Noisy, counts: Floats) -> Floats:
    means, spread = within.means(noisy.values, counts, noisy.spread)
    return np.clip(smoothed(means, spread)[0], within.low, within.high)


def held_to_total(
    logs: Floats, there: Flags, of: Integers, centres: Floats, found: Measurement, name: str,
    doubt: np.random.Generator | None,
) -> Floats:  # fmt: skip
    """Logarithms of values moved so that the clamped sum of all years is as released, against its noise: the fewer
    units of a class of sizes there are, the more. `of` is the class of every value."""
    share = np.maximum(found[f"ratios {name}"].values.sum(axis=1), 1.0) ** -0.5
    weights = np.where(there, (share / share.max())[of], 0.0)
    noisy, cap, scale = found[f"total {name}"], found.caps[f"total {name}"], np.exp(centres)[:, None]

    def total(shift: float) -> float:
        return float(np.minimum(np.where(there, np.expm1(logs + shift * weights), 0) / scale, cap).sum())

    own, released = total(0.0), float(not_negative(noisy, doubt)[0])
    wanted = joint(own, _ASTRAY * own, released, noisy.spread)[0]
    low, high = -_MOST_SHIFT, _MOST_SHIFT
    for _ in range(12):
        shift = (low + high) / 2
        low, high = (shift, high) if total(shift) < wanted else (low, shift)
    return np.asarray(logs + shift * weights)
