"""Values of records that keep every rule. Post-processing only.

States that no rule allows together were never drawn; what is left are values within their bins. Records that break a
rule get other values of the same bins, as often as it takes to leave the law of those that keep it as it is; the few
that are still wrong get values of a record of the same bins, or become copies of one that is right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacita.data.schema import Rulebook
from tacita.errors import UsageError
from tacita.synthesis.file.columns import Column, Number
from tacita.synthesis.file.values import Bins

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_TRIES = 40


def kept(
    book: Rulebook,
    columns: Sequence[Column],
    codes: Integers,
    leaning: Floats,
    random: np.random.Generator,
    margins: Sequence[Floats],
    doubt: np.random.Generator | None = None,
) -> dict[str, Integers]:
    """Units of all columns for the states of those that are drawn, and where each leans within its state. `margins` of
    the columns and `doubt` as in `Bins`."""
    bins = {k: Bins(one, doubt, margins[k]) for k, one in enumerate(columns) if isinstance(one, Number)}

    def drawn(k: int, some: Integers | slice) -> Integers:
        return bins[k].units(codes[some, k], random, leaning[some, k]) if k in bins else codes[some, k].copy()

    units = {one.name: drawn(k, slice(None)) for k, one in enumerate(columns)}
    whole = book.completed(units)
    wrong = np.flatnonzero(book.broken(whole)) if book.rules else np.zeros(0, dtype=np.int64)
    linked = {name for rule in book.rules for name in book.sources(rule)}
    wide = [k for k, one in enumerate(columns) if one.name in linked and isinstance(one, Number)]
    for _ in range(_TRIES):
        if not wrong.size:
            break
        again = {one.name: units[one.name][wrong] for one in columns}
        again |= {columns[k].name: drawn(k, wrong) for k in wide}
        here = book.completed(again)
        for name, values in here.items():
            whole[name][wrong] = values
        units = {one.name: whole[one.name] for one in columns}
        wrong = wrong[book.broken(here)]
    if wrong.size:
        _copy(whole, codes[:, wide], wrong, random)
    return whole


def kept_still(book: Rulebook, units: dict[str, Integers], changed: dict[str, Integers]) -> dict[str, Integers]:
    """The changed values, where the record still keeps every rule with them."""
    whole = book.completed({name: changed.get(name, units[name]) for name in book.drawn})
    if book.rules:
        broken = book.broken(whole)
        whole = {name: np.where(broken, units[name], values) for name, values in whole.items()}
    return whole


def _copy(whole: dict[str, Integers], cells: Integers, wrong: Integers, random: np.random.Generator) -> None:
    """Wrong records become copies of right ones, of the same cell where there is one."""
    right = np.setdiff1d(np.arange(len(cells)), wrong)
    if not right.size:
        raise UsageError("rules: none of the records drawn keeps them all; draw again with another seed")
    places: dict[tuple[int, ...], list[int]] = {}
    for at in random.permutation(right)[: 100 * wrong.size].tolist():
        places.setdefault(tuple(cells[at].tolist()), []).append(at)
    donors = random.choice(right, wrong.size)
    for k, at in enumerate(wrong.tolist()):
        same = places.get(tuple(cells[at].tolist()))
        donors[k] = same[int(random.integers(len(same)))] if same else donors[k]
    for values in whole.values():
        values[wrong] = values[donors]
