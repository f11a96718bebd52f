"""What agencies do today, for comparison: methods without a guarantee, and labelled so.

None is a plan: the ledger does not take them, and nothing made with them goes into a bundle. They answer
the question of a disclosure review board: what would the practice we know have cost in accuracy?

Random rounding is for counts of any records. The others work on establishment arrays: `cell` gives the table cell
of each establishment, `counts` has one row per establishment and one column per worker group (a single column of
totals for a table without worker attributes).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.errors import UsageError
from tacita.noise.entropy import Entropy
from tacita.privacy import AddRemoveOne, Guarantee, Loss, Number, exact

Values = NDArray[np.float64]

_NOTHING = Guarantee(
    AddRemoveOne("establishment"),
    Loss.zero(),
    holds="never",
    assumes=("an attacker knows nothing about any establishment's workers",),
)


@dataclass(frozen=True, init=False)
class NoiseInfusion:
    """Input noise infusion (haney2017, section 5.1): every establishment is multiplied by its own secret factor.

    The factor is uniform on [1−t, 1−s] ∪ [1+s, 1+t]. It is a keyed hash of the establishment's id, so the same
    establishment keeps it in every table and every year for as long as the key is kept; all its worker groups
    share it. A true cell count strictly between 0 and `small_cell` is replaced by a whole number from 1 to
    ⌊small_cell⌋, drawn from a posterior predictive law: the probability of k is proportional to one plus the
    number of cells of the table whose true count is k (a flat Dirichlet prior). Zero cells stay zero.

    >>> print(NoiseInfusion().guarantee)
    no guarantee
    >>> factors = NoiseInfusion().factors([11, 12, 11], key=b"a secret of the agency")
    >>> bool(factors[0] == factors[2]), bool((abs(factors - 1) >= 0.05).all())
    (True, True)
    """

    s: Fraction
    t: Fraction
    small_cell: Fraction

    def __init__(self, s: Number = "0.05", t: Number = "0.15", small_cell: Number = "2.5") -> None:
        low, high, limit = exact(s, "s"), exact(t, "t"), exact(small_cell, "small_cell")
        if not 0 < low < high < 1:
            raise UsageError('s, t: the factor stays between s and t away from 1; give 0 < s < t < 1, such as "0.05"')
        if limit < 0:
            raise UsageError('small_cell: must not be negative; "2.5" replaces counts of 1 and 2, "0" replaces none')
        for name, value in (("s", low), ("t", high), ("small_cell", limit)):
            object.__setattr__(self, name, value)

    @property
    def guarantee(self) -> Guarantee:
        return _NOTHING

    def factors(self, ids: ArrayLike, *, key: bytes) -> Values:
        """The factor of each establishment: a function of its id and the key, and of nothing else."""
        if not key:
            raise UsageError("key: the factors need a secret key of at least one byte; keep it between releases")
        secret = hashlib.blake2b(key, digest_size=32).digest()
        keyed = hashlib.blake2b(key=secret, digest_size=8)
        digests = bytearray()
        for one in np.asarray(ids).ravel().tolist():
            hashed = keyed.copy()
            hashed.update(str(one).encode())
            digests += hashed.digest()
        words = np.frombuffer(bytes(digests), dtype="<u8")
        sign = np.where(words & np.uint64(1), 1.0, -1.0)
        uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
        s, t = float(self.s), float(self.t)
        return np.asarray(1.0 + sign * (s + (t - s) * uniform), dtype=np.float64)

    def apply(self, cell: ArrayLike, counts: ArrayLike, cells: int, factors: ArrayLike, entropy: Entropy) -> Values:
        """The infused table, one row per cell and one column per worker group; not rounded."""
        where, table = _shaped(cell, counts, cells)
        true = _by_cell(where, table, cells)
        infused = _by_cell(where, table * np.asarray(factors, dtype=np.float64)[:, None], cells)
        limit = math.floor(self.small_cell)
        small = (true > 0) & (true < float(self.small_cell))
        if limit and small.any():
            seen = 1.0 + np.array([(true == k).sum() for k in range(1, limit + 1)])
            steps = np.cumsum(seen / seen.sum())
            draws = (entropy.words(int(small.sum())) >> np.uint64(11)).astype(np.float64) * 2.0**-53
            infused[small] = 1 + np.minimum(np.searchsorted(steps, draws, side="right"), limit - 1)
        return infused


@dataclass(frozen=True, init=False)
class SuppressAndRound:
    """No noise: primary suppression by the p% rule, and what is left rounded to a base.

    A cell is suppressed when the second largest contributor could estimate the largest to within a share p:
    total − largest − second < p · largest; also, on request, when fewer than `minimum` establishments contribute.
    Suppressed cells come back as NaN. Published margins could be used to work back: `with_secondary` takes further
    cells out.

    >>> rule = SuppressAndRound()
    >>> rule.apply(cell=[0, 0, 0, 1], counts=[[40], [30], [22], [9]], cells=3).ravel()
    array([90., nan,  0.])
    """

    p: Fraction
    base: int
    minimum: int

    def __init__(self, p: Number = "0.15", base: int = 5, minimum: int = 0) -> None:
        share = exact(p, "p")
        if share < 0:
            raise UsageError('p: a share of the largest contributor, such as "0.15" for the 15% rule')
        if base < 1 or minimum < 0:
            raise UsageError("base, minimum: base is a whole number from 1, minimum a number of contributors from 0")
        for name, value in (("p", share), ("base", base), ("minimum", minimum)):
            object.__setattr__(self, name, value)

    @property
    def guarantee(self) -> Guarantee:
        return _NOTHING

    def apply(self, cell: ArrayLike, counts: ArrayLike, cells: int) -> Values:
        """The published table; NaN where the cell is suppressed."""
        where, table = _shaped(cell, counts, cells)
        total = _by_cell(where, table, cells)
        largest, second = _two_largest(where, table, cells)
        contributors = _by_cell(where, (table > 0).astype(np.float64), cells)
        unsafe = (total - largest - second) < float(self.p) * largest
        unsafe |= (contributors > 0) & (contributors < self.minimum)
        # Half a base goes up, so that the rule does not depend on how a computer breaks ties.
        rounded = self.base * np.floor(total / self.base + 0.5)
        return np.where(unsafe, np.nan, rounded)

    def impute(self, published: Values, margin: ArrayLike, totals: ArrayLike, weight: ArrayLike) -> Values:
        """What a user would put in the holes: the rest of each published margin, shared out by public weights.

        `margin` names the margin of each cell, `totals` (margins × columns) the margins themselves, which are
        rounded to the base as they would be published, and `weight` a public size of each cell, such as its
        number of establishments.
        """
        group = np.asarray(margin, dtype=np.int64)
        known = self.base * np.floor(np.asarray(totals, dtype=np.float64) / self.base + 0.5)
        hole = np.isnan(published)
        rest = np.maximum(0.0, known - _by_cell(group, np.where(hole, 0.0, published), len(known)))
        weights = np.where(hole, np.asarray(weight, dtype=np.float64)[:, None], 0.0)
        shared = _by_cell(group, weights, len(known))[group]
        share = np.divide(weights, shared, out=np.zeros_like(weights), where=shared > 0)
        return np.where(hole, share * rest[group], published)


def with_secondary(published: Values, truth: Values, lines: Sequence[NDArray[np.int64]]) -> Values:
    """Secondary suppression: a line whose total is published must not have a single hole, so the smallest other cell of
    the line goes too, until no line has one. `lines` number the line of every cell, once for each direction.

    Cells without anyone protect nobody and stay. Two holes may still be told from each other roughly: real practice
    solves for intervals, and loses somewhat more.

    >>> rows, columns = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
    >>> truth = np.array([5.0, 60, 70, 80, 90, 99])
    >>> with_secondary(np.where(truth < 6, np.nan, truth), truth, [rows, columns])
    array([nan, nan, 70., nan, nan, 99.])
    """
    shown = published.copy()
    before = -1
    while before != (before := int(np.isnan(shown).sum())):
        for line in lines:
            hole = np.isnan(shown)
            alone = np.bincount(line, weights=hole)[line] == 1
            order = np.lexsort((truth, line))
            there = order[(alone & ~hole & (truth > 0))[order]]
            smallest = there[np.unique(line[there], return_index=True)[1]]
            shown[smallest] = np.nan
    return shown


@dataclass(frozen=True)
class RandomRounding:
    """Counts go to the multiple of a base below or above them by chance, so that they are right on average.

    >>> RandomRounding().deviation([10, 11, 12, 13]).round(2)
    array([0.  , 2.  , 2.45, 2.45])
    """

    base: int = 5

    def __post_init__(self) -> None:
        if self.base < 2:
            raise UsageError("base: a whole number from 2, such as 5")

    @property
    def guarantee(self) -> Guarantee:
        return _NOTHING

    def deviation(self, counts: ArrayLike) -> Values:
        """The standard deviation of each rounded count; there is no bias, so it is the error to expect."""
        rest = np.mod(np.asarray(counts, dtype=np.float64), self.base)
        return np.asarray(np.sqrt(rest * (self.base - rest)), dtype=np.float64)


def _shaped(cell: ArrayLike, counts: ArrayLike, cells: int) -> tuple[NDArray[np.int64], Values]:
    where = np.asarray(cell, dtype=np.int64)
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or where.shape != table.shape[:1]:
        raise UsageError("counts: needs one row per establishment and one column per worker group, and cell one entry")
    if len(where) and not 0 <= where.min() <= where.max() < cells:
        raise UsageError("cell: every establishment's cell is a number from 0 to cells − 1")
    return where, table


def _by_cell(cell: NDArray[np.int64], table: Values, cells: int) -> Values:
    columns = [np.bincount(cell, weights=table[:, j], minlength=cells) for j in range(table.shape[1])]
    return np.stack(columns, axis=1)


def _two_largest(cell: NDArray[np.int64], table: Values, cells: int) -> tuple[Values, Values]:
    largest, second = np.zeros((2, cells, table.shape[1]))
    for j in range(table.shape[1]):
        order = np.lexsort((table[:, j], cell))  # within a cell, largest last
        last = np.searchsorted(cell[order], np.arange(cells), side="right")
        held = np.bincount(cell, minlength=cells)
        ordered = table[order, j]
        largest[held >= 1, j] = ordered[last[held >= 1] - 1]
        second[held >= 2, j] = ordered[last[held >= 2] - 2]
    return largest, second
