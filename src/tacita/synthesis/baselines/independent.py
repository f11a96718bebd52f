"""One-way marginals with noise, and columns drawn independently of one another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.data import rowwise
from tacita.data.confidential import Confidential
from tacita.data.schema import Schema
from tacita.errors import UsageError, VerificationError
from tacita.how import FREE, SIZE, How
from tacita.implicates import Implicates
from tacita.noise.discrete import DiscreteLaplace, add_discrete_laplace
from tacita.noise.entropy import Entropy, Request
from tacita.plan import Forecast
from tacita.privacy import text
from tacita.synthesis.cellplan import CellPlan
from tacita.synthesis.domain import Codes, Domain, Integers
from tacita.synthesis.steps.budget import ROOT
from tacita.synthesis.steps.reading import read
from tacita.tables.hierarchy import shared_out

_FORM = "independent-model-1"
_ROUNDS = 300


@dataclass(frozen=True, init=False)
class IndependentSynthesis(CellPlan):
    """Every attribute keeps its own distribution and loses all association: what a method must beat to be of use.

    >>> print(IndependentSynthesis(["sex", "age"], "1").guarantee)
    ε = 1 under one person's record replaced
    """

    @property
    def proof(self) -> str:
        return "synthesis/baselines/independent.md"

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
    def _scale(self) -> Fraction:
        return len(self.attributes) / (self.per_record - self._root)

    def forecast(self, schema: Schema) -> Forecast:
        domain, error = self.domain(schema), sqrt(DiscreteLaplace(self._scale).variance())
        return Forecast(
            f"Synthetic microdata: {', '.join(self.attributes)}",
            sum(domain.sizes),
            (f"each one-way count is off by about {error:.3g}; associations are not kept",),
            {"one-way counts: standard error": error},
        )

    def run(self, data: Confidential, entropy: Entropy) -> IndependentModel:
        domain = self.domain(data.schema)
        occupied = read(data, domain)
        records = occupied.records
        if not self.size_is_public:
            true = np.array([occupied.counts.sum(dtype=np.int64)])
            records = max(0, int(add_discrete_laplace(true, 1 / self._root, entropy, "number of records")[0]))
        marginals = []
        for at, one in enumerate(domain.attributes):
            counts = rowwise.sums(occupied.codes[:, at].astype(np.int64), occupied.counts, one.size)
            marginals.append(add_discrete_laplace(counts, self._scale, entropy, one.name))
        entropy.announce(Request("seed of the synthetic files", "uniform words", np.zeros(0), np.zeros(0)))
        seed = int(entropy.words(1)[0])
        return self._model(data.schema, records, tuple(marginals), seed, entropy.rehearsal)

    def restore(self, stored: bytes) -> IndependentModel:
        content = json.loads(stored)
        if content.get("form") != _FORM:
            raise VerificationError("a stored result is not one that Tacita wrote; restore the ledger from its backup")
        marginals = tuple(np.array(content["counts"][name], dtype=np.int64) for name in self.attributes)
        schema = Schema.from_dict(content["schema"])
        return self._model(schema, content["records"], marginals, content["seed"], content["rehearsal"])

    def _model(
        self, schema: Schema, records: int, marginals: tuple[Integers, ...], seed: int, rehearsal: bool
    ) -> IndependentModel:
        return IndependentModel(
            schema, self.domain(schema), records, marginals, self._scale, self.sets, seed, self.describe(), rehearsal
        )


@dataclass(frozen=True, eq=False)
class IndependentModel:
    """Noisy one-way counts, and files drawn from them."""

    schema: Schema
    domain: Domain
    records: int
    marginals: tuple[Integers, ...]
    scale: Fraction
    sets: int
    seed: int
    plan: Mapping[str, Any]
    rehearsal: bool

    @cached_property
    def implicates(self) -> Implicates:
        return self.sample(self.sets, seed=self.seed)

    def sample(self, m: int = 1, *, seed: int | None = None, rows: int | None = None) -> Implicates:
        """m files; with m > 1 each draws how the counts may have been without the noise."""
        if isinstance(m, bool) or not isinstance(m, int) or m < 1:
            raise UsageError("m: give the number of files, at least 1")
        size = self.records if rows is None else rows
        if size < 1:
            raise UsageError("rows: the noisy number of records is 0, so there is nothing to draw; give rows = …")
        source = np.random.default_rng(self.seed if seed is None else seed)
        frames = tuple(self._file(random, size, noisy=m > 1) for random in source.spawn(m))
        return Implicates(frames, self.schema, self.domain.names, "one-measurement")

    def _file(self, random: np.random.Generator, size: int, *, noisy: bool) -> pa.Table:
        totals = np.array([size], dtype=np.int64)
        spread = sqrt(DiscreteLaplace(self.scale).variance())
        shares = []
        for counts in self.marginals:
            noise = random.normal(scale=spread, size=counts.size) if noisy else np.zeros(counts.size)
            values = (counts.astype(np.float64) + noise) * (size / max(self.records, 1))
            shares.append(shared_out(values, np.zeros(counts.size, dtype=np.int64), totals, random=random))
        columns = [random.permutation(np.repeat(np.arange(one.size), one)) for one in shares]
        codes = self._mended(np.column_stack(columns).astype(np.int16), random)
        return pa.table({one.name: one.column(codes[:, at], random) for at, one in enumerate(self.domain.attributes)})

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
            raise UsageError("zeros: every record drawn falls in a cell that cannot occur; ask for more rows")
        codes[left] = codes[random.choice(np.flatnonzero(~left), size=int(left.sum()))]
        return codes

    @property
    def measured(self) -> dict[str, Any]:
        """The released numbers."""
        counts = {name: one.tolist() for name, one in zip(self.domain.names, self.marginals, strict=True)}
        return {"records": self.records, "counts": counts, "scale": text(self.scale)}

    def to_bytes(self) -> bytes:
        stored = {"form": _FORM, "plan": dict(self.plan), "schema": self.schema.to_dict(), "seed": self.seed}
        stored |= {"rehearsal": self.rehearsal, **self.measured}
        return json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()
