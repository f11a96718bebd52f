"""A uniform number with as many random bits as a comparison needs, and no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb, ctx

from tacita.errors import TacitaError
from tacita.noise.entropy import Spare

_WORD_BITS = 64
_MOST_BITS = 64 * _WORD_BITS


class Uniform:
    """A uniform number of which the first `bits` bits are known: leading/2^bits <= U <= (leading + 1)/2^bits."""

    def __init__(self, word: int, spare: Spare) -> None:
        self.leading, self.bits, self._spare = word, _WORD_BITS, spare

    def at_least(self, cdf: Callable[[int], Any]) -> bool:
        """Whether U >= F for the number F that `cdf` encloses; draws more bits until that is certain."""
        while True:
            precision = self.bits + _WORD_BITS
            value = cdf(precision)
            with ctx.workprec(precision):
                scaled = value * arb(2) ** self.bits
            if scaled <= self.leading:
                return True
            if scaled >= self.leading + 1:
                return False
            if self.bits >= _MOST_BITS:
                raise TacitaError("an exact draw did not end: a certified distribution function does not converge")
            self.leading = (self.leading << _WORD_BITS) | self._spare.take()
            self.bits += _WORD_BITS
