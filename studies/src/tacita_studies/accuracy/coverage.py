"""Tables rehearsed by the hundred: do their margins hold the truth as often as they say, and was the forecast right?

A file is opened once for all rehearsals of a table, and what its engine was asked before is remembered, so a rehearsal
costs little more than its noise. Only counts are kept of what came out.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any
from unittest.mock import patch

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from tacita.data.confidential import Confidential
from tacita.data.engine.backends import DuckEngine
from tacita.errors import TacitaError
from tacita.mechanisms.table import Table, measuring, quantiles
from tacita.noise.entropy import SeededEntropy
from tacita.plan.contribution import check
from tacita.release.plans import PUBLISHING
from tacita.tables.together import publish_all
from tacita_studies.accuracy.answers import Floats
from tacita_studies.accuracy.measure import Attempt
from tacita_studies.accuracy.published import Part, PublishedTable
from tacita_studies.accuracy.ranks import RankErrors


class _Remembering(DuckEngine):
    """Public files do not change between two rehearsals."""

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self._answers: dict[Any, pa.Table] = {}

    def collect(self, expression: Any) -> pa.Table:
        asked = expression.op()  # equal where the same is asked again
        if asked not in self._answers:
            self._answers[asked] = super().collect(expression)
        return self._answers[asked]


_ASKED = (
    *((measuring, name) for name in ("counted", "totals", "octaves", "by_size")),
    *((quantiles, name) for name in ("values", "by_size")),
)


@contextmanager
def _answers_kept() -> Iterator[None]:
    """Group-bys of tables are asked once of a file; even to write them down again takes longer than noise does."""
    with ExitStack() as stack:
        for module, name in _ASKED:
            stack.enter_context(patch.object(module, name, _kept(getattr(module, name))))
        yield


def _kept(ask: Callable[..., Any]) -> Callable[..., Any]:
    answers: dict[str, Any] = {}

    def again(data: Confidential, *told: Any) -> Any:
        key = repr(told)
        if key not in answers:
            answers[key] = ask(data, *told)
        return answers[key]

    return again


@dataclass
class TableCoverage:
    """What became of one statistic of one table in all its rehearsals."""

    file: str
    plan: str
    setting: str
    epsilon: float
    statistic: str
    cells: int = 0
    draws: int = 0
    margins: int = 0
    covered: int = 0
    open: int = 0
    """Values without a margin."""
    silent: int = 0
    """Cells of which nothing was said."""
    outcome: float | None = None
    """The median of error over forecast."""
    error: float | None = None
    """The median of error over truth."""
    words: str = ""
    """Of a plan that refused."""
    ratios: list[Floats] = field(default_factory=list, repr=False)
    errors: list[Floats] = field(default_factory=list, repr=False)

    def of(self, statistic: str) -> TableCoverage:
        """Of another statistic of the same table, before anything is known of it."""
        return TableCoverage(self.file, self.plan, self.setting, self.epsilon, statistic)

    def add(self, truth: Floats, value: Floats, margin: Floats, ratio: Floats) -> None:
        there = np.isfinite(truth)
        truth, value, margin, ratio = truth[there], value[there], margin[there], ratio[there]
        said, bounded = np.isfinite(value), np.isfinite(value) & np.isfinite(margin)
        off = np.abs(value - truth)
        self.cells, self.draws = truth.size, self.draws + 1
        self.silent += int((~said).sum())
        self.open += int((said & ~bounded).sum())
        self.margins += int(bounded.sum())
        self.covered += int((off[bounded] <= margin[bounded] + 1e-9 * np.abs(truth[bounded])).sum())
        self.ratios.append(ratio[said & np.isfinite(ratio)])
        self.errors.append(off[said] / np.where(truth[said] == 0, np.nan, np.abs(truth[said])))

    def as_json(self) -> dict[str, Any]:
        told = {key: value for key, value in asdict(self).items() if key not in ("ratios", "errors")}
        return told | {"outcome": _median(self.ratios), "error": _median(self.errors)}


def _median(parts: Sequence[Floats]) -> float | None:
    every = np.concatenate(parts) if parts else np.zeros(0)
    every = every[np.isfinite(every)]
    return float(np.median(every)) if every.size else None


@dataclass(frozen=True, eq=False)
class Rehearsed:
    """One table at one ε, many times."""

    attempt: Attempt

    def coverage(self, draws: int, seed: int) -> list[dict[str, Any]]:
        warnings.simplefilter("ignore")
        row = self.attempt._row
        base = TableCoverage(row.file, row.plan, row.setting, row.epsilon or 0.0, "refused")
        found: dict[str, TableCoverage] = {}
        try:
            with _answers_kept():
                for draw in range(draws):
                    chance = zlib.crc32(f"{row.file}/{row.setting}/{row.epsilon}/{draw}/{seed}".encode())
                    for part, columns in self._draw(chance):
                        one = found.setdefault(part.statistic, base.of(part.statistic))
                        one.add(part.truth, *columns)
        except TacitaError as refused:
            return [replace(base, words=str(refused)).as_json()]
        # Sums over some attributes are rows of the same table: their draws were counted with each.
        for one in found.values():
            one.draws = draws
        return [one.as_json() for one in found.values()]

    def _draw(self, chance: int) -> Iterator[tuple[Part, tuple[Floats, Floats, Floats]]]:
        attempt = self.attempt
        product, schema = attempt.product, attempt.planned.schema
        result = product.plan.run(self._data, SeededEntropy(chance))
        settings = {key: getattr(product.spec, key) for key in PUBLISHING}
        (table,) = publish_all([result], schema, [settings])
        value, margin = (_floats(table, name) for name in ("value", "margin_of_error"))
        for part in self._parts(table, result):
            at = np.array(part.places)
            off = np.abs(value[at] - part.truth)
            ratio = off / np.where(part.forecast > 0, part.forecast, np.nan)
            if self._ranks is not None:
                ratio = self._ranks.over_forecast(part.cells, value[at])
            ratio = np.where(np.isfinite(margin[at]), ratio, np.nan)  # forecasts do not speak of open tails
            yield part, (value[at], margin[at], ratio)

    @cached_property
    def _data(self) -> Confidential:
        attempt = self.attempt
        engine = _Remembering(ibis.duckdb.connect())
        data = Confidential.from_frame(attempt.frame, attempt.planned.schema, engine=engine)
        check(attempt.product.plan, data)
        return data

    @cached_property
    def _ranks(self) -> RankErrors | None:
        plan = self.attempt.product.plan
        if not isinstance(plan, Table) or plan.statistic not in ("median", "quantiles") or plan.weights:
            return None
        return RankErrors.of(plan, self.attempt.original, self.attempt.planned.schema)

    @cached_property
    def _known(self) -> dict[Any, list[Part]]:
        return {}

    def _parts(self, table: pa.Table, result: Any) -> list[Part]:
        """Truths are always the same, and forecasts differ only where a limit was bought at another place."""
        facts: Mapping[str, Any] = getattr(result, "facts", {})
        limits = tuple((name, one.get("upper")) for name, one in facts.items() if isinstance(one, Mapping))
        key = (limits, facts.get("visible"), table.num_rows)
        if key not in self._known:
            attempt = self.attempt
            shown = PublishedTable(table, attempt.product, result, attempt.original, attempt.planned.schema)
            self._known[key] = list(shown.parts())
        return self._known[key]


def _floats(table: pa.Table, name: str) -> NDArray[np.float64]:
    return np.asarray(pd.to_numeric(table[name].to_pandas(), errors="coerce"), dtype=np.float64)
