"""Broken twins of plans over records: each has one mistake that has been made somewhere, and must be caught."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from tacita.audit.examples import Example
from tacita.audit.families import Family, Files, Random
from tacita.audit.records import record_files
from tacita.audit.toy import CELLS, SCHEMA, Columns, Integers, Toy, ToyResult
from tacita.data.confidential import Confidential
from tacita.data.reading import read
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.mechanisms.kng.line import draw_threshold
from tacita.noise.cube import CubeLaw, cube_noise
from tacita.noise.discrete import discrete_laplace
from tacita.noise.entropy import Entropy, Request, reserve
from tacita.noise.forcing import settles
from tacita.noise.gaussian import add_discrete_gaussian
from tacita.privacy import AddRemoveOne, NumbersWithin, ReplaceOne

_ADDED, _REPLACED, _ONE_STEP = AddRemoveOne("person"), ReplaceOne("person"), NumbersWithin("person", "1/1000")


@dataclass(frozen=True, eq=False)
class Twin:
    """A broken plan, what is wrong with it, and the plan of the package that could have gone wrong like this."""

    name: str
    of: str
    example: Example


def row_twins() -> tuple[Twin, ...]:
    """One for each leak class of files of records."""
    added, replaced = record_files(SCHEMA, _ADDED), record_files(SCHEMA, _REPLACED)
    several = record_files(SCHEMA, _ADDED, rows=5)

    def twin(name: str, of: str, plan: Toy, files: Files) -> Twin:
        return Twin(name, of, Example(name, plan, files, adaptive=True))

    return (
        twin("replacing a record priced as adding one", "HistogramSynthesis", _HalfSensitivity(_REPLACED), replaced),
        twin("a unit's rows are not counted", "HistogramSynthesis", _Unchecked(), several),
        twin("rows bounded to three, priced for one", "HistogramSynthesis", _PricedForOne(), several),
        twin("a unit in several groups, each at full price", "PanelSynthesis", _Groups(), several),
        twin("a record's code follows the number of rows", "QuantileSynthesis", _RowsCount(), added),
        twin("a record's place follows a sum of all rows", "QuantileSynthesis", _Centred(), added),
        twin("ids are told apart by a float", "PairwiseSynthesis", _FloatIds(), added),
        twin("only cells that occur are published", "StepsSynthesis", _Occupied(), added),
        twin("no noise where a count is zero", "IndependentSynthesis", _ZeroStays(), added),
        twin("one request more for large files", "StepsSynthesis", _MoreRequests(), added),
        twin("the exact number of records is published", "CensoredPosterior", _ExactSize(), added),
        twin("the seed follows the rows", "PairwiseSynthesis", _SeedOfRows(_REPLACED), replaced),
        twin("a digest of the rows is published", "PanelSynthesis", _Digest(_REPLACED), replaced),
        twin("the time it took is published", "SurveySynthesis", _Times(), added),
        twin("noise on whole numbers, the rest of the sum as it is", "SurveySynthesis", _OffGrid(_REPLACED), replaced),
        twin("noise clipped before the count is added", "HistogramSynthesis", _Clipped(), added),
        twin("noise a fifth smaller than stated", "HistogramSynthesis", _LessThanStated(), added),
        twin("noise on a cube a fifth smaller than stated", "PanelSynthesis", _SmallerCube(), added),
        twin("Gaussian noise sold as pure", "PairwiseSynthesis", _GaussianSoldAsPure(), added),
        twin("squares of sums priced as squares of one record", "Table", _SquaredSums(), added),
        twin("a table to compare with follows the number of rows", "SelfCheck", _ScaledByRows(), added),
        twin("the share of a quantile above the median", "QuantileSynthesis", _WrongShare(), added),
        twin("two ends of a quantile, each at the price of both", "Table", _BothEnds(), added),
        twin("breaks off when the rows are few", "QuantileSynthesis", _BreaksOff(), added),
        twin(
            "numbers off their grid are two steps apart", "PanelSynthesis", _OffStep(_ONE_STEP), Files(SCHEMA, _steps)
        ),
    )


class _HalfSensitivity(Toy):
    @property
    def scale(self) -> Fraction:
        return 1 / self.epsilon


class _Unchecked(Toy):
    def contribution(self, schema: Schema) -> None:
        """Nothing is asked of a unit's rows."""


class _PricedForOne(_Unchecked):
    """Keeps at most three equal rows, which is a bound, and pays for one."""

    def counts(self, rows: Columns) -> Integers:
        codes = self.codes(rows)
        first = np.ones(codes.size, dtype=bool)
        first[3:] = (codes[3:] != codes[2:-1]) | (codes[2:-1] != codes[1:-2]) | (codes[1:-2] != codes[:-3])
        return np.bincount(codes[first], minlength=CELLS).astype(np.int64)


class _Groups(_Unchecked):
    """Each region is a group of its own with all of ε, as if a person were in one of them."""

    def noisy(self, counts: Integers, entropy: Entropy) -> Integers:
        groups = [super(_Groups, self).noisy(one, entropy) for one in counts.reshape(4, 2)]
        return np.concatenate(groups)


class _RowsCount(Toy):
    def codes(self, rows: Columns) -> Integers:
        # As a BLAS kernel that switches with the number of rows: every value moves in its last bit.
        pay = rows["pay"] if rows["pay"].size % 2 else np.nextafter(rows["pay"], np.inf)
        return (rows["region"] * 2 + (pay > 0)).astype(np.int64)


class _Centred(Toy):
    def codes(self, rows: Columns) -> Integers:
        above = rows["pay"] > float(rows["pay"].mean())
        return (rows["region"] * 2 + above).astype(np.int64)


class _SquaredSums(Toy):
    """A sum that a record moves by one has a square that it moves by twice the sum."""

    def counts(self, rows: Columns) -> Integers:
        return super().counts(rows) ** 2


class _ScaledByRows(Toy):
    """A distance from the even table of as many records as there are: one more record moves every cell of that."""

    @property
    def scale(self) -> Fraction:
        return CELLS / self.epsilon

    def counts(self, rows: Columns) -> Integers:
        counts = super().counts(rows)
        return np.array([np.abs(CELLS * counts - counts.sum()).sum()])


class _FloatIds(Toy):
    """Counts a person at every house whose id rounds to the same float."""

    def counts(self, rows: Columns) -> Integers:
        houses = np.arange(2**24, 2**24 + CELLS)
        return np.array([(rows["house"].astype(np.float32) == np.float32(one)).sum() for one in houses], dtype=np.int64)


class _Occupied(Toy):
    def counts(self, rows: Columns) -> Integers:
        counts = super().counts(rows)
        return counts[counts > 0]


class _ZeroStays(Toy):
    def noisy(self, counts: Integers, entropy: Entropy) -> Integers:
        values = counts.copy()
        values[counts > 0] = super().noisy(counts[counts > 0], entropy)
        return values


class _MoreRequests(Toy):
    def noisy(self, counts: Integers, entropy: Entropy) -> Integers:
        values = super().noisy(counts, entropy)
        if counts.sum() > 7:
            entropy.announce(Request("large file", "uniform words", np.zeros(0), np.zeros(0)))
            entropy.words(1)
        return values


class _ExactSize(Toy):
    def more(self, rows: Columns) -> tuple[Any, ...]:
        return (rows["pay"].size,)


class _SeedOfRows(Toy):
    def more(self, rows: Columns) -> tuple[Any, ...]:
        return (int(np.random.default_rng(int(rows["pay"].sum())).integers(1000)),)


class _Digest(Toy):
    def more(self, rows: Columns) -> tuple[Any, ...]:
        return (hashlib.sha256(b"".join(one.tobytes() for one in rows.values())).hexdigest(),)


class _Times(Toy):
    def more(self, rows: Columns) -> tuple[Any, ...]:
        return (time.perf_counter_ns(),)


class _OffGrid(Toy):
    def more(self, rows: Columns) -> tuple[Any, ...]:
        return (float(rows["pay"].sum() % 1),)


@settles("values", like="add_discrete_laplace")
def _too_small(values: Integers, scale: Fraction, entropy: Entropy, label: str) -> Integers:
    return values + discrete_laplace(values.size, scale * Fraction(4, 5), entropy)


@settles("values", like="add_discrete_laplace")
def _clipped(values: Integers, scale: Fraction, entropy: Entropy, label: str) -> Integers:
    end = int(scale * 3 / 2)
    return np.asarray(values + np.clip(discrete_laplace(values.size, scale, entropy), -end, end))


@settles("values", like="add_cube")
def _small_cube(values: Integers, scale: Fraction, entropy: Entropy, label: str) -> Integers:
    return np.asarray(values + cube_noise(1, CubeLaw(scale * Fraction(4, 5), values.size), entropy)[0])


class _SmallerCube(Toy):
    def noisy(self, counts: Integers, entropy: Entropy) -> Integers:
        return _small_cube(counts, 10 * self.scale, entropy, "counts")


class _LessThanStated(Toy):
    def noisy(self, counts: Integers, entropy: Entropy) -> Integers:
        return _too_small(counts, 10 * self.scale, entropy, "counts")


class _Clipped(Toy):
    def noisy(self, counts: Integers, entropy: Entropy) -> Integers:
        return _clipped(counts, 10 * self.scale, entropy, "counts")


class _GaussianSoldAsPure(Toy):
    def noisy(self, counts: Integers, entropy: Entropy) -> Integers:
        return add_discrete_gaussian(counts, Fraction(4), entropy, "counts")


class _WrongShare(Toy):
    """A private quantile at nine tenths, with the sensitivity of one tenth."""

    def run(self, data: Confidential, entropy: Entropy) -> ToyResult:
        places = np.sort((read(data, ["pay"])["pay"] * 10).astype(np.int64))
        share = Fraction(9, 10)
        entropy.announce(Request("quantile", "threshold", np.zeros(1), np.zeros(1)))
        place = draw_threshold(places, 1001, share, self.epsilon * share / (1 - share), reserve(64, entropy))
        return ToyResult((place,), 0, entropy.rehearsal)


class _BothEnds(Toy):
    """Drawn together, two ends have the price of one; drawn one after the other, that of two."""

    def run(self, data: Confidential, entropy: Entropy) -> ToyResult:
        places = np.sort((read(data, ["pay"])["pay"] * 10).astype(np.int64))
        entropy.announce(Request("quantile", "threshold", np.zeros(1), np.zeros(1)))
        spare = reserve(64, entropy)
        ends = tuple(draw_threshold(places, 1001, Fraction(1, 2), self.epsilon, spare) for _ in range(2))
        return ToyResult(ends, 0, entropy.rehearsal)


class _OffStep(Toy):
    """Values are told to be whole tenths and rounded to them: halfway between two, one step becomes two."""

    def counts(self, rows: Columns) -> Integers:
        return np.array([np.rint(rows["pay"] * 10).astype(np.int64).sum()])


def _steps(random: Random, count: int) -> Family:
    """One person's pay moves by a tenth; everybody's lies halfway between two of them."""
    pay = random.integers(1, 90, 6) + 0.05 + 0.2 * random.integers(0, 4, 6)

    def frame(moved: float, at: int) -> pd.DataFrame:
        other = np.where(np.arange(6) == at, pay + moved, pay)
        return pd.DataFrame({"person": np.arange(6), "region": "N", "pay": other, "house": float(2**24)})

    return Family(frame(0.0, 0), tuple(frame(0.1 if at % 2 else -0.1, at % 6) for at in range(count)))


class _BreaksOff(Toy):
    def counts(self, rows: Columns) -> Integers:
        if rows["pay"].size % 7 == 0:
            raise UsageError("too few records")
        return super().counts(rows)
