"""A sample with strata, clusters and finite populations: variances by Taylor linearisation.

The variance of a total over stages is a sum over strata of n/(n − 1)·(1 − n/N)·Σ(z − z̄)², z being the totals of the
sampled units; what is sampled within a unit counts n/N times as much as the unit (Särndal, Swensson and Wretman 1992,
section 4.4). Stages below the first need the population sizes of the first: without, units count as drawn with
replacement and the first stage says it all. Other statistics enter by the totals of their linearised values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.data.schema import Schema
from tacita.errors import UsageError
from tacita.inference.survey.columns import (
    Codes,
    Floats,
    as_frame,
    complete_codes,
    complete_numbers,
    distinct,
    nested,
    weighted_sums,
)
from tacita.lazy import later

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = later("pandas")

OnePsu = Literal["error", "certainty", "adjust"]
Names = str | tuple[str, ...] | None
Strata = str | tuple[str | tuple[str, ...], ...] | None

_SAMPLED_WHOLLY = 1e-7  # 1 − n/N below this is a census of the stratum


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage of sampling: the unit and the stratum of every row, and how many units a stratum has."""

    unit: Codes
    stratum: Codes
    sampled: Floats
    population: Floats | None

    @property
    def fraction(self) -> Floats:
        """n/N for every row; zero where nothing is said about N."""
        if self.population is None:
            return np.zeros(self.unit.size)
        return self.sampled / self.population


@dataclass(frozen=True)
class Design:
    """How a sample was drawn, as columns of the file.

    `psu` and `fpc` take one column per stage, `strata` too where later stages are stratified; a tuple of columns in
    place of one is their crossing. `fpc` holds population sizes (units in the stratum), or sampling fractions if all
    its values are at most 1. Units are nested: the same code in two strata is two units. Without `weights`, they
    follow from `fpc`.

    `one_psu` says what a stratum with one sampled unit contributes: "error" refuses; "certainty" nothing; "adjust"
    its distance from the overall mean instead of the stratum's, as R's `survey.lonely.psu`.

    >>> frame = pd.DataFrame({"pay": [1.0, 3.0, 5.0, 9.0], "w": 10.0, "region": ["a", "a", "b", "b"]})
    >>> sample = Design(weights="w", strata="region").of(frame)
    >>> sample.weights.sum(), sample.df(np.zeros(4, dtype=int), 1)
    (np.float64(40.0), array([2.]))
    """

    weights: str | None = None
    strata: Strata = None
    psu: Names = None
    fpc: Names = None
    one_psu: OnePsu = "error"

    @classmethod
    def of_schema(cls, schema: Schema) -> Design:
        """The design that a schema declares."""
        design = schema.design
        if design is None:
            raise UsageError(f"design: the schema of {schema.identity} declares none; add a [design] table with weight")
        return cls(
            design.weight,
            (design.strata,) if design.strata else None,
            design.psu or None,
            design.population,
            design.one_psu,
        )

    def of(self, frame: Any) -> TaylorSample:
        """The design read from a file."""
        table = as_frame(frame)
        stages = tuple(self._stages(table))
        if self.weights is not None:
            weights = complete_numbers(table, self.weights, least=0.0)
        elif stages[0].population is None:
            raise UsageError("weights: name the column of the weights, or give fpc, from which they follow")
        else:
            weights = np.prod([1 / stage.fraction for stage in stages], axis=0)
        return TaylorSample(weights, stages, self.one_psu)

    def _stages(self, table: pd.DataFrame) -> Iterator[Stage]:
        psu, fpc = _listed(self.psu), _listed(self.fpc)
        strata = (self.strata,) if isinstance(self.strata, str) else tuple(self.strata or ())
        depth = max(len(psu), 1)
        if len(strata) > depth or len(fpc) > depth:
            raise UsageError("strata, fpc: at most one column per stage of psu")
        populations = [complete_numbers(table, name, least=0.0) for name in fpc]
        as_fractions = bool(populations) and all((one <= 1).all() for one in populations)
        parent = np.zeros(len(table), dtype=np.int64)
        for stage in range(depth):
            stratum = nested(parent, complete_codes(table, _listed(strata[stage]) if stage < len(strata) else ()))
            within = complete_codes(table, psu[stage : stage + 1]) if psu else np.arange(len(table))
            unit = nested(stratum, within)
            first = np.unique(unit, return_index=True)[1]
            sampled = np.bincount(stratum[first])[stratum].astype(np.float64)
            population = None
            if stage < len(populations):
                population = populations[stage]
                _check_population(fpc[stage], population, sampled, stratum, as_fractions=as_fractions)
                population = sampled / population if as_fractions else population
            yield Stage(unit, stratum, sampled, population)
            parent = unit


def _listed(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names or ())


def _check_population(name: str, given: Floats, sampled: Floats, stratum: Codes, *, as_fractions: bool) -> None:
    order = np.argsort(stratum, kind="stable")
    same_stratum = np.diff(stratum[order]) == 0
    if (np.diff(given[order])[same_stratum] != 0).any():
        raise UsageError(f"{name}: must have one value per stratum")
    if (given <= 0).any() if as_fractions else (given < sampled).any():
        raise UsageError(f"{name}: implies that more units were sampled than there are; give sizes, or all fractions")


@dataclass(frozen=True, eq=False)
class TaylorSample:
    """A design with the data: weights per row, and the covariance of linearised totals."""

    weights: Floats
    stages: tuple[Stage, ...]
    one_psu: OnePsu

    def df(self, code: Codes, size: int) -> Floats:
        """First-stage units less strata, among the rows of each domain that carry weight; at least 1."""
        stage = self.stages[0]
        used = (code >= 0) & (self.weights > 0)

        def seen(of: Codes) -> NDArray[np.int64]:
            pairs = distinct(code[used] * (of.max() + 1) + of[used])[0]
            return np.bincount(pairs // (of.max() + 1), minlength=size)

        return np.asarray(np.maximum(seen(stage.unit) - seen(stage.stratum), 1), dtype=np.float64)

    def covariance(self, totals: Any) -> Floats:
        """The covariance matrix of k linearised totals.

        `totals(unit, count)` must return the linearised values summed over the rows of each of `count` units, as a
        count × k matrix. So wide files never need a matrix of rows × domains where units are clusters.
        """
        multiplier = np.ones(self.weights.size)
        covariance: Floats | float = 0.0
        for depth, stage in enumerate(self.stages):
            if depth and self.stages[depth - 1].population is None:
                break
            covariance = covariance + self._stage_covariance(stage, multiplier, totals)
            multiplier = multiplier * stage.fraction
        return np.asarray(covariance)

    def variances(self, values: Floats, code: Codes, size: int) -> Floats:
        """The variance of one linearised total per domain, each row counting in the domain `code` (−1: in none).

        The diagonal of `covariance` without its matrices: time and memory do not grow with the number of domains.
        """
        multiplier = np.ones(self.weights.size)
        variance = np.zeros(size)
        for depth, stage in enumerate(self.stages):
            if depth and self.stages[depth - 1].population is None:
                break
            variance += self._stage_variances(stage, multiplier, values, code, size)
            multiplier = multiplier * stage.fraction
        return variance

    def _stage_variances(self, stage: Stage, multiplier: Floats, values: Floats, code: Codes, size: int) -> Floats:
        stratum, sampled, lonely, scale = self._by_unit(stage, multiplier)
        inside = code >= 0
        unit, domain, z = stage.unit[inside], code[inside], values[inside]
        if stratum.size < stage.unit.size:
            pairs, place = distinct(unit * size + domain)
            unit, domain = pairs // size, pairs % size
            z = weighted_sums(place, z, pairs.size)
        cell = stratum[unit] * size + domain
        count = (int(stratum.max()) + 1) * size

        def spread(per_unit: Floats) -> Floats:
            by_stratum = np.zeros(count // size)
            by_stratum[stratum] = per_unit
            return np.repeat(by_stratum, size)

        units = spread(sampled)
        mean = weighted_sums(cell, z, count) / np.maximum(units, 1)
        if self.one_psu == "adjust":
            mean = np.where(spread(lonely.astype(np.float64)) > 0, 0.0, mean)
        # Units of the stratum without a row in the domain have z = 0, and lie as far from the mean as that is.
        squares = (
            weighted_sums(cell, (z - mean[cell]) ** 2, count) + (units - np.bincount(cell, minlength=count)) * mean**2
        )
        return np.asarray((squares * spread(scale)).reshape(-1, size).sum(axis=0))

    def _by_unit(self, stage: Stage, multiplier: Floats) -> tuple[Codes, Floats, NDArray[np.bool_], Floats]:
        """Of every unit: its stratum, the units sampled there, whether it is alone, and how much its square counts."""
        first = np.empty(int(stage.unit.max()) + 1, dtype=np.int64)
        first[stage.unit] = np.arange(stage.unit.size)  # any row of a unit will do
        stratum, sampled = stage.stratum[first], stage.sampled[first]
        left = 1 - stage.fraction[first]
        lonely = (sampled == 1) & (left > _SAMPLED_WHOLLY)
        if self.one_psu == "error" and lonely.any():
            raise UsageError(
                f"strata: {int(lonely.sum())} with a single sampled unit, so their variance cannot be estimated; "
                'merge them, or choose one_psu="certainty" or one_psu="adjust"'
            )
        scale = np.where(left > _SAMPLED_WHOLLY, left, 0.0) * np.where(
            sampled > 1, sampled / np.maximum(sampled - 1, 1), 1
        )
        return stratum, sampled, lonely, scale * multiplier[first]

    def _stage_covariance(self, stage: Stage, multiplier: Floats, totals: Any) -> Floats:
        stratum, _, lonely, scale = self._by_unit(stage, multiplier)
        z = totals(stage.unit, stratum.size)
        mean = np.zeros((int(stratum.max()) + 1, z.shape[1]))
        np.add.at(mean, stratum, z)
        mean /= np.maximum(np.bincount(stratum), 1)[:, None]
        away = z - (np.where(lonely[:, None], 0.0, mean[stratum]) if self.one_psu == "adjust" else mean[stratum])
        return np.asarray(away.T @ (away * scale[:, None]))
