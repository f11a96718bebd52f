"""One try on one file: rehearsed without a ledger, and held against the same statistics of the file itself."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd
from attrs import evolve

from tacita.data.schema import Categorical, Identifier, Schema
from tacita.errors import SpecError, TacitaError
from tacita.inference import Estimate, combine_estimates, rule_for
from tacita.plan import Forecast
from tacita.privacy import exact
from tacita.release.making import made, unpaid
from tacita.release.mechanisms import MAGNITUDE_MECHANISMS
from tacita.release.microdata import Microdata
from tacita.release.plans import Planned, PlannedRelease, prepare
from tacita.release.settings import ANY_FILE, JOBS_DEFAULT
from tacita.release.spec import Spec
from tacita.synthesis.panel import PanelSynthesis
from tacita.synthesis.panel.settings import PanelPlan
from tacita.synthesis.quantile import QuantileSynthesis
from tacita_studies.accuracy.answers import Answers, Asked, Floats, Panel
from tacita_studies.accuracy.folder import TriedFile
from tacita_studies.accuracy.foretold_files import of_files
from tacita_studies.accuracy.foretold_panels import of_panel
from tacita_studies.accuracy.published import PublishedTable, from_survey_tables
from tacita_studies.accuracy.rows import FAILED, REFUSED, AccuracyRow
from tacita_studies.accuracy.statistics import asked, columns_of, restricted, usual
from tacita_studies.accuracy.tries import Compare, Try

CONFIDENCE = 0.95


@lru_cache(maxsize=2)
def read(file: TriedFile) -> pd.DataFrame:
    """The file as its schema takes it: codes at their levels, missing numbers as declared."""
    frame, schema = file.read(), file.schema
    return frame.assign(**{one.name: as_declared(frame[one.name], one.kind) for one in schema})


def as_declared(column: pd.Series[Any], kind: Any) -> Any:
    if isinstance(kind, Identifier):
        return column
    if isinstance(kind, Categorical):
        code, values = pd.factorize(column.astype(object), use_na_sentinel=False)
        levels = [kind.code_of(None if pd.isna(value) else str(value)) for value in values]
        names = [
            str(value) if level is None else kind.levels[level] for value, level in zip(values, levels, strict=True)
        ]
        return np.array(names, dtype=object)[code]
    numbers = column.mask(column.isin(kind.missing_codes)) if kind.missing_codes else column
    return numbers.fillna(kind.missing) if isinstance(kind.missing, int | float) else numbers


@dataclass(frozen=True, eq=False)
class Attempt:
    """A try at one ε. Its rows follow from the file, the try and the seed alone."""

    file: TriedFile
    tried: Try
    name: str
    specification: Mapping[str, Any]
    shared: tuple[Compare, ...]

    def rows(self, draws: Sequence[int], seed: int) -> Iterator[AccuracyRow]:
        """All rows of all draws; one row that says why where the plan refuses or fails."""
        for draw in draws[: self.tried.most_draws]:
            try:
                yield from list(self._draw(draw, seed))  # all of a draw or nothing
            except TacitaError as words:
                yield replace(self._row, statistic=REFUSED, cell=str(words), draw=draw)
                return
            except Exception as error:
                yield replace(self._row, statistic=FAILED, cell=f"{type(error).__name__}: {error}", draw=draw)

    def _draw(self, draw: int, seed: int) -> Iterator[AccuracyRow]:
        begun = time.process_time()  # by the clock it would say how busy the machine was
        chance = zlib.crc32(f"{self.file.name}/{self.mechanism}/{self.name}/{self._row.epsilon}/{draw}/{seed}".encode())
        result = self.product.plan.rehearse(self.frame, self.planned.schema, seed=chance)
        tables, microdata = made(self.planned, unpaid(self.planned, [result]))
        base = replace(self._row, draw=draw, seconds=round(time.process_time() - begun, 3))
        if tables:
            shown = PublishedTable(tables[0].table, self.product, result, self.original, self.planned.schema)
            yield from shown.rows(base)
            return
        yield from from_survey_tables(base, microdata[0], self.original, self.planned.schema)
        yield from self._compared(base, microdata[0])

    def _compared(self, base: AccuracyRow, files: Microdata) -> Iterator[AccuracyRow]:
        drawn = files.implicates
        if drawn is None:  # they failed their self-check, and were withheld
            return
        frames = [self._long(frame) for frame in drawn]
        for one in questions(self, tuple(frames[0].columns), drawn.synthesized):
            value, margin = combined([one.answer(frame) for frame in frames], drawn.kind)
            forecast = self._forecast.figures.get(one.forecast or one.name)
            of_panel = self._of_panel.get(one.name)
            for at, cell in enumerate(one.cells):
                if math.isfinite(one.truth[at]):
                    spoken = self._of_files.get(one.name, {}).get(cell, forecast if self._seen(one, at) else None)
                    row = replace(base, statistic=one.name, cell=cell, forecast=spoken)
                    if of_panel is not None:
                        row = replace(row, forecast=of_panel(abs(float(one.truth[at]))), foretold="median")
                    yield row.with_numbers(one.truth[at], value[at], margin[at])

    # ------------------------------------------------------------ what is tried

    @property
    def stated(self) -> Mapping[str, Any]:
        """The product as it is written."""
        product: Mapping[str, Any] = self.specification.get("table", self.specification.get("microdata"))[0]
        return product

    @property
    def mechanism(self) -> str:
        """As it is written, or what stands for none."""
        relation = self.specification["cap"].get("neighbours")
        usual = JOBS_DEFAULT if relation in ("strong", "weak") else ANY_FILE
        if relation == "numbers-within":
            usual = MAGNITUDE_MECHANISMS.get(self.stated.get("statistic", ""), usual)
        return str(self.stated.get("mechanism", "FileSynthesis" if "microdata" in self.specification else usual))

    @cached_property
    def planned(self) -> PlannedRelease:
        return prepare(Spec.parse(dict(self.specification), self.file.tries_path), rehearsal=True)

    @property
    def product(self) -> Planned[Any]:
        return self.planned.products[0]

    @cached_property
    def _forecast(self) -> Forecast:
        """As it is given to somebody who says how many records there are."""
        plan = self.product.plan
        if isinstance(plan, QuantileSynthesis) and not plan.keep and plan.rows is None:
            plan = evolve(plan, rows=len(self.frame))
        return plan.forecast(self.planned.schema)

    def _seen(self, one: Asked, at: int) -> bool:
        """Whether a forecast can be held against this cell: no error of ranks shows where many share a value."""
        if not one.name.startswith("rank of ") or one.forecast is None:
            return True
        values = np.sort(self.frame[one.name.removeprefix("rank of ")].dropna().to_numpy())
        here = values[min(int(one.truth[at]), len(values) - 1)]
        shared = np.searchsorted(values, here, "right") - np.searchsorted(values, here, "left")
        return bool(shared <= self._forecast.figures.get(one.forecast, math.inf))

    @cached_property
    def _of_panel(self) -> Mapping[str, Callable[[float], float]]:
        """What the plan of a panel says, of each statistic."""
        plan = self.product.plan
        if not isinstance(plan, PanelSynthesis) or self.panel is None or plan.group is not None:
            return {}
        return of_panel(plan, plan.layout(self.planned.schema), self.original, self.panel)

    @cached_property
    def _of_files(self) -> Mapping[str, Mapping[str, float]]:
        """What a plan of files says of means and totals, given how skewed the numbers are."""
        return {} if self.panel is not None else of_files(self.product.plan, self.planned.schema, self.frame)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """What the plan is given."""
        frame = read(self.file)
        if self.tried.sample is not None:
            frame = frame.sample(self.tried.sample, random_state=zlib.crc32(self.tried.name.encode()))
        return _repeated(frame, self.file.schema, self.tried.repeat).reset_index(drop=True)

    @cached_property
    def original(self) -> pd.DataFrame:
        """The same, with a row per unit and year where it is a wide panel."""
        return self._long(self.frame)

    @property
    def _panel_plan(self) -> PanelPlan[Any] | None:
        plan = self.product.plan
        return plan if isinstance(plan, PanelPlan) else None

    @cached_property
    def panel(self) -> Panel | None:
        plan = self._panel_plan
        return None if plan is None else Panel(plan.layout(self.planned.schema).unit, plan.period or "year")

    def _long(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A row per unit and year, with the plan's names of the yearly numbers; a file that is no panel as it is."""
        plan = self._panel_plan
        if plan is None or self.panel is None:
            return frame
        if plan.period is not None:
            return frame.rename(columns={column: name for name, column in plan.columns})
        years, names = range(plan.years[0], plan.years[1] + 1), [name for name, _ in plan.columns]
        numbers = [column.format(year=year) for _, column in plan.columns for year in years]
        rest = frame.drop(columns=numbers).assign(**{self.panel.unit: np.arange(len(frame))})
        each = [
            rest.assign(year=year, **{name: frame[column.format(year=year)] for name, column in plan.columns})
            for year in years
        ]
        long = pd.concat(each, ignore_index=True)
        return long[long[names].notna().any(axis=1)]

    @cached_property
    def _row(self) -> AccuracyRow:
        """What all its rows have in common; of a plan that refuses, as far as the specification says it."""
        cap, stated = self.specification["cap"], self.stated
        base = AccuracyRow(
            plan=self.mechanism,
            file=self.file.name,
            setting=self.name,
            epsilon=_number(stated.get("epsilon")),
            delta=_number(stated.get("delta")),
            neighbours=" ".join(str(cap[key]) for key in ("neighbours", "unit", "alpha") if key in cap),
        )
        try:
            guarantee = self.product.guarantee
        except TacitaError:
            return base
        if guarantee.holds == "never":
            return replace(base, epsilon=None, delta=None, neighbours="none")
        loss = guarantee.loss
        return replace(
            base,
            epsilon=float(loss.epsilon),
            delta=float(loss.delta),
            neighbours=str(guarantee.neighbours),
        )


@lru_cache(maxsize=1)
def questions(attempt: Attempt, held: tuple[str, ...], drawn: tuple[str, ...]) -> tuple[Asked, ...]:
    """What is asked of its files, with the truth, once for all draws. Own comparisons must be possible; shared ones are
    made of the columns that were drawn."""
    for one in attempt.tried.compare:
        if strangers := [name for name in columns_of(one) if name not in held]:
            raise SpecError(f"compare: {strangers[0]} is no column of the synthetic files of {attempt.name}")
    panel = attempt.panel
    of = drawn if panel is None else held
    shared: Sequence[Compare] = attempt.shared
    if not shared and not attempt.tried.compare:
        design = attempt.planned.schema.design
        weight = design.weight if design is not None and design.weight in held else None
        shared = usual(attempt.original, of, weight, panel)
    possible = filter(None, (restricted(one, of, held, panel is not None) for one in shared))
    every = (*possible, *attempt.tried.compare)
    return tuple(each for one in every for each in asked(one, attempt.original, panel))


def _number(stated: str | None) -> float | None:
    return None if stated is None else float(exact(stated))


def _repeated(frame: pd.DataFrame, schema: Schema, times: int) -> pd.DataFrame:
    """Every record so many times, as records of different units."""
    if times == 1:
        return frame
    ids = [one.name for one in schema if isinstance(one.kind, Identifier)]
    copies = [frame.assign(**{name: frame[name].astype("str") + f"-{at}" for name in ids}) for at in range(times)]
    return pd.concat(copies, ignore_index=True)


def combined(files: Sequence[Answers], kind: Any) -> tuple[Floats, Floats]:
    """The answer of all files together, and half the length of its interval; NaN where there is none."""
    values = np.array([one.value for one in files])
    value, margin = values.mean(axis=0), np.full(values.shape[1], np.nan)
    known = np.isfinite([(one.value, one.variance) for one in files]).all(axis=(0, 1))
    if len(files) > 1 and known.any():
        estimate = combine_estimates([Estimate(one.value[known], one.variance[known]) for one in files], rule_for(kind))
        low, high = estimate.interval(CONFIDENCE)
        value[known], margin[known] = estimate.value, (high - low) / 2
    return value, margin


def attempts(file: TriedFile) -> list[Attempt]:
    """Every try of a file at each of its ε."""
    tries = file.tries
    return [
        Attempt(file, one, name, specification, tries.compare)
        for one in tries.tried
        for name, specification in one.specifications(file.schema_name, tries.cap)
    ]
