"""The Multinomial-Dirichlet sanitizer: files drawn from the posterior of a prior heavy enough to hide one record.

The one-step sanitizer: discrete Laplace noise on every cell of the full cross-tabulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import sqrt
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from attrs import field, frozen
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from tacita.data import rowwise
from tacita.data.confidential import Confidential, engine_of
from tacita.data.confidential import rows as confidential_rows
from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.implicates import Implicates
from tacita.noise.choice import uniform_below
from tacita.noise.discrete import DiscreteLaplace
from tacita.noise.entropy import Entropy, Request, reserve
from tacita.noise.forcing import settles
from tacita.plan import Forecast
from tacita.plan.fields import one_of, whole
from tacita.plan.how import EACH_PAID, FREE, SIZE, How
from tacita.synthesis.cellplan import CellModel, CellPlan
from tacita.synthesis.comparison.steps.budget import Costs, divided
from tacita.synthesis.comparison.steps.cells import threshold_for
from tacita.synthesis.comparison.steps.electing import Ballot
from tacita.synthesis.comparison.steps.measuring import Growth, measure
from tacita.synthesis.comparison.steps.model import Fit, Measurement, StepsModel, root_codes
from tacita.synthesis.comparison.steps.reading import Occupied, read
from tacita.synthesis.domain import Domain

Integers = NDArray[np.int64]


def prior_weight(rows: int, epsilon: Fraction) -> int:
    """The least whole prior count per cell with which a file of `rows` rows loses at most ε: rows/(e^ε − 1), upwards.

    >>> prior_weight(1000, Fraction(1)), prior_weight(44821, Fraction(1, 2))
    (582, 69092)
    """
    precision = 128
    while True:
        with ctx.workprec(precision):
            wanted = (arb(rows) / (arb(fmpq(epsilon.numerator, epsilon.denominator)).exp() - 1)).ceil().unique_fmpz()
        if wanted is not None:
            return max(1, int(wanted))
        precision *= 2


@frozen(eq=False, repr=False)
class DirichletFiles(CellModel[tuple[Integers, ...]]):
    """The drawn files, as numbers of cells. There is no measurement behind them."""

    form = "dirichlet-files-1"

    @property
    def paid_files(self) -> int:
        return len(self.released)

    def files(self, m: int, random: np.random.Generator, rows: int | None) -> Implicates:
        frames = tuple(self._file(places, one) for places, one in zip(self.released, random.spawn(m), strict=False))
        return Implicates(frames, self.schema, self.domain.names, "full")

    def _file(self, places: Integers, random: np.random.Generator) -> pa.Table:
        order = random.permutation(places)
        codes = self.domain.decoded(root_codes(self.domain), np.zeros(order.size, dtype=np.int64), order)
        return self.records(codes, random)

    @property
    def measured(self) -> dict[str, Any]:
        """Nothing but the files themselves was released."""
        return {"files": len(self.released)}

    def stored(self) -> tuple[Mapping[str, Any], pa.Table]:
        return {}, pa.table({f"{at}": pa.array(one) for at, one in enumerate(self.released)})

    @classmethod
    def released_from(
        cls, content: Mapping[str, Any], table: pa.Table, plan: Any, schema: Schema
    ) -> tuple[Integers, ...]:
        return tuple(table[name].to_numpy() for name in table.column_names)


@frozen(kw_only=True)
class DirichletSynthesis(CellPlan[DirichletFiles]):
    """Each file is a draw from the posterior predictive of cell probabilities, with the same prior count in every cell.

    Its ε comes from that prior count, rows/(e^ε − 1) in each cell and file: in large tables the prior outweighs the
    records by far, and the file is close to uniform. It is here to be compared with. `rows` is the public number of
    rows of a file; where a record is replaced it is the number of records unless given.

    >>> print(DirichletSynthesis(["sex", "age"], "1").guarantee)
    ε = 1 under one record replaced
    """

    model = DirichletFiles
    proof = "synthesis/comparison/dirichlet.md"

    rows: int | None = field(default=None, validator=whole(1, 10**8, optional=True))

    def __attrs_post_init__(self) -> None:
        if self.rows is None and not self.size_is_public:
            raise UsageError("rows: where records are added or removed their number is not public; give rows = …")

    @property
    def how(self) -> How:
        return How(
            "The rows of the files were drawn at random from the confidential records themselves, mixed with so many "
            "made-up ones in every combination that can occur that no single record shows. No noise was added: the "
            "draw is what protects.",
            SIZE if self.rows is None else "",
            EACH_PAID,
        )

    def reads(self, schema: Schema) -> tuple[str, ...]:
        # Where the number of rows is that of the records, the run knows more; a file has at least one.
        _check_size(self.domain(schema), self.rows or 1, prior_weight(self.rows or 1, self.epsilon / self.sets))
        return super().reads(schema)

    def suits(self, data: Confidential) -> None:
        """The number of records is public where it sets the number of rows; so is whether the urn can hold them."""
        super().suits(data)
        if self.rows is None:
            table = confidential_rows(data)
            (counted,) = engine_of(data).collect(table.aggregate(records=table.count())).to_pylist()
            rows = int(counted["records"])
            _check_size(self.domain(data.schema), rows, prior_weight(rows, self.epsilon / self.sets))

    def forecast(self, schema: Schema) -> Forecast:
        cells, rows = self.domain(schema).cells, self.rows or 10_000
        prior = prior_weight(rows, self.epsilon / self.sets)
        share = rows / (rows + prior * cells)
        return Forecast(
            self.product,
            cells,
            (f"with {rows:,} records, about {100 * share:.2g}% of each file comes from them, the rest is uniform",),
            {"prior count per cell": float(prior), "share from the records": share},
        )

    def measure(self, data: Confidential, entropy: Entropy) -> tuple[Integers, ...]:
        domain = self.domain(data.schema)
        occupied = read(data, domain)
        rows = self.rows or occupied.records
        prior = prior_weight(rows, self.epsilon / self.sets)
        return tuple(_urn(domain, occupied, rows, prior, entropy, f"file {at + 1}") for at in range(self.sets))


def _check_size(domain: Domain, rows: int, prior: int) -> None:
    """All balls of the urn are numbered in 64 bits; half of them are far more than records and rows can need."""
    if prior * domain.raw_cells + rows > 1 << 63:
        raise UsageError("epsilon, columns: so large a domain needs a larger epsilon, fewer columns or fewer rows")


@settles("occupied")
def _urn(domain: Domain, occupied: Occupied, rows: int, prior: int, entropy: Entropy, label: str) -> Integers:
    """Cells of one file, by Pólya's urn with whole numbers of balls: exact, and no empty cell is ever visited."""
    _check_size(domain, rows, prior)
    held, cells = int(occupied.counts.sum(dtype=np.int64)), domain.raw_cells
    weights = domain.strides(root_codes(domain))[0]
    record = np.repeat(rowwise.cells(len(occupied.codes), occupied.codes.T, domain.sizes), occupied.counts)
    entropy.announce(Request(label, f"multinomial-dirichlet prior={prior}", occupied.counts[:0], np.zeros(0)))
    spare = reserve(rows + 64, entropy)
    drawn: list[int] = []
    while len(drawn) < rows:
        ball = uniform_below(held + prior * cells + len(drawn), spare)
        if ball < held:
            drawn.append(int(record[ball]))
        elif ball < held + prior * cells:
            cell = (ball - held) // prior
            if not _forbidden(domain, weights, cell):
                drawn.append(cell)
        else:
            drawn.append(drawn[ball - held - prior * cells])
    # In the order of their values: a file says nothing but how many records each cell has.
    return np.sort(np.array(drawn, dtype=np.int64))


def _forbidden(domain: Domain, weights: Integers, cell: int) -> bool:
    return any(
        all(cell // int(weights[at]) % domain.sizes[at] == code for at, code in pattern) for pattern in domain.zeros
    )


Negative = Literal["project", "clip"]


@frozen(kw_only=True)
class HistogramSynthesis(CellPlan[StepsModel]):
    """Noise on every cell at once; cells below a public threshold of at least 1 are dropped, the rest brought to n.

    `negative` says how: "project" moves all cells down together until they sum to n, "clip" scales them in proportion,
    as the sanitizer is usually run.

    >>> print(HistogramSynthesis(["sex", "age"], "1").guarantee)
    ε = 1 under one record replaced
    """

    model = StepsModel
    proof = "synthesis/comparison/histogram.md"

    negative: Negative = field(default="clip", validator=one_of(Negative))

    @property
    def how(self) -> How:
        return How(
            "Every combination of the columns that can occur was counted, and random noise was added to each count; "
            "counts that came out small were set aside. The files are drawn from the noisy counts alone.",
            SIZE if self.size_is_public else "",
            FREE,
        )

    def _costs(self) -> Costs:
        return divided(self.per_record, 0, len(self.columns), "equal", Fraction(0), root=not self.size_is_public)

    def forecast(self, schema: Schema) -> Forecast:
        cells, scale = self.domain(schema).cells, 1 / self._costs().cells
        error, least = sqrt(DiscreteLaplace(scale).variance()), threshold_for(self.domain(schema).raw_cells, scale, 0)
        sentence = f"each of {cells:,} cells is off by about {error:.3g}; those below {least} at most are dropped"
        return Forecast(
            self.product,
            cells,
            (sentence,),
            {"cells: standard error": error, "cells: threshold": float(least)},
        )

    def measure(self, data: Confidential, entropy: Entropy) -> tuple[Measurement, ...]:
        domain = self.domain(data.schema)
        occupied = read(data, domain)
        ballot = Ballot("public", "most", "deviance", (), None)
        records = occupied.records if self.size_is_public else None
        return (measure(domain, occupied, ballot, Growth(0, ()), self._costs(), records, entropy),)

    @property
    def fit(self) -> Fit:
        return "least-squares"

    @property
    def clip(self) -> bool:
        return self.negative == "clip"
