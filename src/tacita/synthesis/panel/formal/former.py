"""How files follow from measurements of earlier versions, so that their bundles still verify. Post-processing only.

Those had one clamped sum of every number beside the size, over what a head has in the middle of each year, and steps
of a size leaned on those of neighbouring ones alone.
"""

from __future__ import annotations

import numpy as np

from tacita.agreement.trees import onto_simplices
from tacita.synthesis.panel.formal.lattice import Bins, Floats, Integers, Steps
from tacita.synthesis.panel.formal.ratios import Range
from tacita.synthesis.panel.formal.released import NEAR, Measurement, Noisy
from tacita.synthesis.panel.formal.smoothing import joint, law_of, smoothed, towards, varied, with_tail
from tacita.synthesis.panel.formal.targets import not_negative
from tacita.synthesis.panel.predictors import Flags

_CLEAR, _SELDOM = 4.0, 0.02
_ASTRAY, _MOST_SHIFT = 0.1, 0.5
_FAR = 5  # bins from none: steps beyond them that do not stand out are taken from neighbouring rows


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


def step_laws(noisy: Noisy, rows: Bins, random: np.random.Generator | None) -> Floats:
    """Laws of steps by size; divided twice, as they were, so that files are the same to the last digit."""
    return law_of(law_of(varied(_step_counts(noisy, rows), noisy.spread, random)))


def _step_counts(noisy: Noisy, rows: Bins) -> Floats:
    """Released steps by size; of sizes that are seldom, shrunk towards those of neighbouring ones."""
    possible, edges = Steps.possible(rows), Steps.edges()
    found = np.zeros(noisy.values.shape)
    raw = noisy.values.astype(np.float64)
    found[:, Steps.same] = np.maximum(raw[:, Steps.same], 0)
    wide = np.flatnonzero(rows.upper > rows.lower)
    near = np.exp(-(((wide[:, None] - wide[None, :]) / NEAR) ** 2) / 2)
    around = dict(zip(wide.tolist(), near, strict=True))
    for row in range(rows.count):
        pooled = around[row] @ raw[wide] if row in around else raw[row]
        doubt = noisy.spread * (float((around[row] ** 2).sum()) ** 0.5 if row in around else 1.0)
        total = max(raw[row].sum(), 0.0)
        parent = np.zeros(Steps.count)
        parent[Steps.same] = max(pooled[Steps.same], 0.0)
        for cells in (np.arange(Steps.same)[::-1], np.arange(Steps.same + 1, Steps.count)):
            cells = cells[possible[row, cells]]
            place = np.abs(cells - Steps.same) - 1
            parent[cells] = with_tail(pooled[cells], doubt, edges[place])
        inside = possible[row]
        mixed = towards(raw[row, inside], parent[inside], noisy.spread)
        found[row, inside] = onto_simplices(mixed, np.zeros(len(mixed), dtype=np.int64), np.array([total]))
        # The far ends hold few units of great weight: they are the neighbours' in any case.
        far = inside & (np.abs(np.arange(Steps.count) - Steps.same) > _FAR)
        far &= parent < _CLEAR * doubt
        kept = found[row, inside & ~far].sum()
        found[row, far] = parent[far] * kept / max(parent[inside & ~far].sum(), 1e-9)
    return found
