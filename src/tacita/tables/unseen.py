"""What lies above a limit that was bought, as margins hold it. Post-processing: of public facts and released values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Unseen:
    """What cells hold above the clamp: a little more than is `expected`, all of one sign, and what `chance` may add,
    which noise knows nothing of, so that both add up by their squares. Earlier bundles have it all `expected`."""

    expected: Floats
    chance: Floats

    def beside(self, half: Floats) -> Floats:
        """A margin of noise with this in it."""
        return np.asarray(np.hypot(half, self.chance) + self.expected)

    def times(self, factor: Floats) -> Unseen:
        """Of a sum that counts so many times. Nothing bounds what is open, be it counted 0 times."""
        factor = np.where(np.isfinite(self.expected), factor, 1.0)
        return Unseen(self.expected * factor, self.chance * factor)


def beyond(facts: Mapping[str, Any], value: Floats, noise: Floats) -> Unseen:
    """What each cell may hold above the clamp, by its value and the deviation of its noise. Above an open tail
    (`mechanisms/table/clamp.py`) there may be anything."""
    if facts.get("open"):
        return Unseen(np.full(value.size, np.inf), np.zeros(value.size))
    ends = np.cumsum(facts.get("sizes", ()))[:-1]  # of levels, each of which holds everything
    both = zip(np.split(value, ends), np.split(noise, ends), strict=True)
    held = np.concatenate([parted(*one) for one in both])
    return Unseen(*(np.asarray(facts.get(name, 0.0) * facts["upper"] * held) for name in ("unseen", "chance")))


def parted(value: Floats, noise: Floats) -> Floats:
    """How much of something that few records have a cell may hold: the root of its part in all. Its part alone would be
    missed in the cells where they are; a cell that has most of the whole has most of them, too."""
    size = np.maximum(np.abs(value), noise)
    return np.asarray(np.sqrt(size / np.maximum(size.sum(), np.finfo(float).tiny)))
