"""One-way marginals with noise, and columns drawn independently of one another."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from tacita.agreement.trees import shared_out
from tacita.data import rowwise
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.implicates import Implicates
from tacita.noise.discrete import DiscreteLaplace, add_discrete_laplace
from tacita.noise.entropy import Entropy
from tacita.plan import Forecast
from tacita.plan.how import FREE, SIZE, How
from tacita.privacy import text
from tacita.synthesis.cellplan import CellModel, CellPlan
from tacita.synthesis.comparison.steps.budget import ROOT
from tacita.synthesis.comparison.steps.reading import read
from tacita.synthesis.domain import Codes, Integers

_ROUNDS = 300


@frozen(eq=False)
class Marginals:
    """The number of records and the counts of every column, with noise."""

    records: int
    counts: tuple[Integers, ...]


@frozen(eq=False, repr=False)
class IndependentModel(CellModel[Marginals]):
    """Noisy one-way counts, and files drawn from them."""

    form = "independent-model-1"
    any_length = True

    def files(self, m: int, random: np.random.Generator, rows: int | None) -> Implicates:
        size = max(self.released.records, 1) if rows is None else rows  # noise may leave none, and what is paid is paid
        frames = tuple(self._file(one, size, noisy=m > 1) for one in random.spawn(m))
        return Implicates(frames, self.schema, self.domain.names, "one-measurement")

    def _file(self, random: np.random.Generator, size: int, *, noisy: bool) -> pa.Table:
        totals = np.array([size], dtype=np.int64)
        spread = sqrt(DiscreteLaplace(self.plan.scale).variance())
        shares = []
        for counts in self.released.counts:
            noise = random.normal(scale=spread, size=counts.size) if noisy else np.zeros(counts.size)
            values = (counts.astype(np.float64) + noise) * (size / max(self.released.records, 1))
            shares.append(shared_out(values, np.zeros(counts.size, dtype=np.int64), totals, random=random))
        columns = [random.permutation(np.repeat(np.arange(one.size), one)) for one in shares]
        codes = self._mended(np.column_stack(columns).astype(np.int16), random)
        return self.records(codes, random)

    def _mended(self, codes: Codes, random: np.random.Generator) -> Codes:
        """Records in cells that cannot occur swap one value with others: the distribution of every column stays."""
        for _ in range(_ROUNDS):
            bad = np.flatnonzero(self.domain.forbidden(codes))
            if not bad.size:
                return codes
            pattern = self.domain.zeros[int(random.integers(len(self.domain.zeros)))]
            at = pattern[int(random.integers(len(pattern)))][0]
            others = random.permutation(len(codes))[: bad.size]
            use = ~np.isin(others, bad)
            one, two = bad[: others.size][use], others[use]
            first, second = codes[one], codes[two]
            first[:, at], second[:, at] = codes[two, at], codes[one, at]
            good = ~(self.domain.forbidden(first) | self.domain.forbidden(second))
            codes[one[good]], codes[two[good]] = first[good], second[good]
        # Noise has left margins that no file without impossible cells can have: the rest is drawn anew as a whole.
        left = self.domain.forbidden(codes)
        if bool(left.all()):
            codes[:] = self.domain.any_cell()
            return codes
        codes[left] = codes[random.choice(np.flatnonzero(~left), size=int(left.sum()))]
        return codes

    @property
    def measured(self) -> dict[str, Any]:
        counts = {name: one.tolist() for name, one in zip(self.domain.names, self.released.counts, strict=True)}
        return {"records": self.released.records, "counts": counts, "scale": text(self.plan.scale)}

    @classmethod
    def released_from(cls, content: Mapping[str, Any], table: pa.Table, plan: Any, schema: Schema) -> Marginals:
        counts = tuple(np.array(content["counts"][name], dtype=np.int64) for name in plan.columns)
        return Marginals(content["records"], counts)


@frozen(kw_only=True)
class IndependentSynthesis(CellPlan[IndependentModel]):
    """Every attribute keeps its own distribution and loses all association: what a method must beat to be of use.

    >>> print(IndependentSynthesis(["sex", "age"], "1").guarantee)
    ε = 1 under one record replaced
    """

    model = IndependentModel
    proof = "synthesis/comparison/independent.md"

    @property
    def how(self) -> How:
        return How(
            "Each column was counted by itself, and random noise was added to each count. The files are drawn from the "
            "noisy counts alone, column by column: what columns have in common was not looked at and is not in them.",
            SIZE if self.size_is_public else "",
            FREE,
        )

    @property
    def _root(self) -> Fraction:
        return Fraction(0) if self.size_is_public else self.per_record * ROOT

    @property
    def scale(self) -> Fraction:
        return len(self.columns) / (self.per_record - self._root)

    def forecast(self, schema: Schema) -> Forecast:
        domain, error = self.domain(schema), sqrt(DiscreteLaplace(self.scale).variance())
        return Forecast(
            self.product,
            sum(domain.sizes),
            (f"each one-way count is off by about {error:.3g}; associations are not kept",),
            {"one-way counts: standard error": error},
        )

    def measure(self, data: Confidential, entropy: Entropy) -> Marginals:
        domain = self.domain(data.schema)
        occupied = read(data, domain)
        records = occupied.records
        if not self.size_is_public:
            true = np.array([occupied.counts.sum(dtype=np.int64)])
            records = max(0, int(add_discrete_laplace(true, 1 / self._root, entropy, "number of records")[0]))
        marginals = []
        for at, one in enumerate(domain.attributes):
            counts = rowwise.sums(occupied.codes[:, at].astype(np.int64), occupied.counts, one.size)
            marginals.append(add_discrete_laplace(counts, self.scale, entropy, one.name))
        return Marginals(records, tuple(marginals))
