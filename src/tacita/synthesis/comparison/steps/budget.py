"""How a budget is divided over the root, the layers of a tree, its elections and its cells. Public arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log

ROOT = Fraction(1, 50)  # of the whole, where the number of records is not public


@dataclass(frozen=True)
class Costs:
    """What each step may spend, calibrated for one record added or removed."""

    root: Fraction
    layers: tuple[Fraction, ...]
    elections: tuple[Fraction, ...]
    cells: Fraction

    @property
    def total(self) -> Fraction:
        return self.root + sum(self.layers, Fraction(0)) + sum(self.elections, Fraction(0)) + self.cells

    def left(self, layer: int, *, voted: bool) -> Fraction:
        """What a node of this layer that is not split has left for its cells: all that its branch did not spend."""
        spent = self.root + sum(self.layers[:layer], Fraction(0)) + sum(self.elections[:layer], Fraction(0))
        if voted:
            spent += self.elections[layer]
        return self.total - spent

    def smallest(self, layer: int, fan_out: int) -> int:
        """The noisy count below which a node of this layer is too small to be split by the public rule.

        1 + ln(fan-out) times the scale of its own noise and its children's: of the children of an empty node fewer than
        one in five is then split in its turn, so noise alone grows no tree.
        """
        scale = 1 / min(self.layers[max(layer - 1, 0) : layer + 1])
        return ceil(float(scale) * (1 + log(max(fan_out, 2))))


def divided(
    whole: Fraction,
    layers: int,
    attributes: int,
    weights: str | Sequence[Fraction],
    election_share: Fraction,
    *,
    root: bool,
    stop: bool = False,
) -> Costs:
    """The plan's division. With as many layers as attributes, the last layer is the cells.

    >>> divided(Fraction(1), 2, 15, "half-leaf", Fraction(0), root=False).layers
    (Fraction(1, 4), Fraction(1, 4))
    """
    first = whole * ROOT if root else Fraction(0)
    # Where one attribute is left there is nothing to elect, unless the node may stop instead.
    paid = min(layers, attributes if stop else attributes - 1) if election_share else 0
    vote = (whole - first) * election_share / paid if paid else Fraction(0)
    rest = whole - first - vote * paid
    leaf = layers < attributes
    if isinstance(weights, str):
        if weights == "equal":
            given = [Fraction(1)] * (layers + leaf)
        else:
            parts = layers + leaf
            given = [Fraction(1, 2 * (parts - 1))] * (parts - 1) + [Fraction(1, 2)] if parts > 1 else [Fraction(1)]
    else:
        given = list(weights)
    shares = [rest * one / sum(given, Fraction(0)) for one in given]
    return Costs(
        first,
        tuple(shares[:layers]),
        (vote,) * paid + (Fraction(0),) * (layers - paid),
        shares[layers] if leaf else Fraction(0),
    )
