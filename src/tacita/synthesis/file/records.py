"""Records to start from, and records that agree with tables: one value changes at a time, as long as that helps.

Post-processing only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacita.data.schema.rulebook import Bar, impossible, possible
from tacita.synthesis.file.graph import Graph, tabulate
from tacita.synthesis.file.sweeps import STRIDE, graft, mend

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ENOUGH = 0.05  # changed values for each record in a pass: then it is over
_MOST_TRIES = 50


@dataclass(frozen=True, eq=False)
class Goal:
    """What a table of the records should be, and what a squared distance from it weighs."""

    attributes: tuple[int, ...]
    counts: Floats
    weight: float


def agree(
    records: Integers,
    levels: tuple[int, ...],
    ones: Sequence[Goal],
    tables: Sequence[Goal],
    bars: Sequence[Bar],
    passes: int,
    random: np.random.Generator,
    held: int = 0,
) -> None:
    """Change the records, pass by pass, until hardly any change helps; their first `held` values stay."""
    graph = Graph(levels, [one.attributes for one in tables], bars)
    heaviest = max(one.weight for one in (*ones, *tables))
    one_weight, weight = (np.array([one.weight / heaviest for one in some] or [0.0]) for some in (ones, tables))

    def slope(one: Goal) -> Floats:
        return np.asarray((tabulate(records, levels, one.attributes) - one.counts) * (one.weight / heaviest))

    # Short numbers, as of a large file all views together do not fit a processor's own memory.
    more = np.zeros(STRIDE)
    slopes, flat = (
        np.concatenate([*some, more]).astype(np.float32)
        for some in ([slope(one) for one in ones], [graph.flat([slope(one) for one in tables])])
    )
    one_weight, weight = one_weight.astype(np.float32), weight.astype(np.float32)
    held_by = [[k for k, one in enumerate(tables) if set(one.attributes) & set(block)] for block in graph.blocks]
    for _ in range(passes):
        order = random.permutation(len(records))
        changed = mend(
            records,
            held,
            order,
            graph.starts,
            slopes,
            one_weight,
            graph.first,
            graph.views,
            flat,
            weight,
            graph.bars,
            graph.owner,
            graph.kin,
        )
        for block, some in zip(graph.blocks, held_by, strict=True):
            donors, tied = random.permutation(len(records)), np.array(some, dtype=np.int64)
            laid = (graph.starts, slopes, one_weight, graph.views, flat, weight, graph.kin)
            changed += graft(records, order, donors, block, tied, *laid)
        if changed <= _ENOUGH * len(records):
            break


def unrelated(shares: Sequence[Floats], bars: Sequence[Bar], rows: int, random: np.random.Generator) -> Integers:
    """Records with each value drawn by itself, none of them in an impossible combination."""

    def drawn(a: int, count: int) -> Integers:
        at = np.searchsorted(np.cumsum(shares[a]), random.random(count) * shares[a].sum(), side="right")
        return np.asarray(np.minimum(at, shares[a].size - 1), dtype=np.int64)

    records = np.column_stack([drawn(a, rows) for a in range(len(shares))])
    for _ in range(_MOST_TRIES):
        if not impossible(records, bars).any():
            return np.ascontiguousarray(records)
        for bar in bars:
            bad = np.flatnonzero(impossible(records, [bar]))
            a = bar.attributes[int(random.integers(len(bar.attributes)))]
            records[bad, a] = drawn(a, bad.size)
    left = impossible(records, bars)
    good = records[~left] if not left.all() else np.array([possible([one.size for one in shares], bars)])
    records[left] = good[random.integers(len(good), size=int(left.sum()))]
    return np.ascontiguousarray(records)
