"""A simulated linked employer-employee frame with the published facts of haney2017's file.

The paper's file (three states of the LODES infrastructure, 2011) is confidential. What it prints about the
file is reproduced here: 527,000 establishments, 10.9 million jobs, 740 to 815 establishments above 1,000
workers, right-skewed sizes, and more than 93% of place × sector × ownership cells below 1,000 jobs. Everything
else (how sectors, places and worker groups mix) is plausible and invented. Nobody in it exists.

>>> frame = simulate(jobs=4_000, establishments=200, seed=1)
>>> int(frame.size.sum()), len(frame.workplace_id), frame.workers.shape
(4000, 200, (200, 8))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tacita.data.workforce import Workforce
from tacita.errors import UsageError


class Sector(NamedTuple):
    """One NAICS sector: how common, how large, how public, and who works there."""

    code: str
    label: str
    establishments: float  # share of all establishments
    size: float  # shift of the log size against the average establishment
    urban: float  # how strongly it follows population: 1 is proportional
    public: float  # share of establishments in public ownership
    female: float
    education: tuple[float, float, float, float]  # shares in the order of EDUCATION


SECTORS = (
    Sector("11", "Agriculture, forestry, fishing", 0.010, 0.0, 0.70, 0.0, 0.28, (0.34, 0.32, 0.21, 0.13)),
    Sector("21", "Mining, oil and gas", 0.004, 0.4, 0.75, 0.0, 0.15, (0.15, 0.36, 0.29, 0.20)),
    Sector("22", "Utilities", 0.003, 0.8, 0.85, 0.25, 0.24, (0.08, 0.28, 0.34, 0.30)),
    Sector("23", "Construction", 0.085, -0.35, 0.95, 0.005, 0.18, (0.22, 0.34, 0.28, 0.16)),
    Sector("31-33", "Manufacturing", 0.040, 1.2, 0.95, 0.0, 0.31, (0.17, 0.32, 0.28, 0.23)),
    Sector("42", "Wholesale trade", 0.055, 0.0, 1.00, 0.0, 0.33, (0.14, 0.30, 0.30, 0.26)),
    Sector("44-45", "Retail trade", 0.135, 0.15, 0.98, 0.0, 0.51, (0.15, 0.33, 0.32, 0.20)),
    Sector("48-49", "Transportation and warehousing", 0.030, 0.35, 0.98, 0.03, 0.27, (0.15, 0.34, 0.32, 0.19)),
    Sector("51", "Information", 0.020, 0.35, 1.08, 0.02, 0.42, (0.08, 0.22, 0.31, 0.39)),
    Sector("52", "Finance and insurance", 0.060, -0.2, 1.02, 0.0, 0.59, (0.07, 0.23, 0.32, 0.38)),
    Sector("53", "Real estate", 0.045, -0.6, 1.05, 0.01, 0.47, (0.15, 0.28, 0.31, 0.26)),
    Sector("54", "Professional and technical services", 0.110, -0.4, 1.10, 0.0, 0.45, (0.06, 0.18, 0.28, 0.48)),
    Sector("55", "Management of companies", 0.007, 0.9, 1.12, 0.0, 0.50, (0.07, 0.21, 0.30, 0.42)),
    Sector("56", "Administrative and support services", 0.055, 0.3, 1.04, 0.0, 0.44, (0.22, 0.31, 0.29, 0.18)),
    Sector("61", "Educational services", 0.020, 1.2, 0.95, 0.45, 0.68, (0.08, 0.18, 0.27, 0.47)),
    Sector("62", "Health care and social assistance", 0.105, 0.3, 1.00, 0.05, 0.78, (0.11, 0.24, 0.34, 0.31)),
    Sector("71", "Arts, entertainment, recreation", 0.018, 0.2, 1.00, 0.06, 0.47, (0.15, 0.27, 0.32, 0.26)),
    Sector("72", "Accommodation and food services", 0.085, 0.55, 1.00, 0.0, 0.54, (0.25, 0.33, 0.28, 0.14)),
    Sector("81", "Other services", 0.090, -0.6, 1.00, 0.0, 0.55, (0.18, 0.31, 0.30, 0.21)),
    Sector("92", "Public administration", 0.023, 0.9, 0.90, 1.0, 0.46, (0.07, 0.25, 0.35, 0.33)),
)
OWNERSHIP = ("private", "public")
SEX = ("F", "M")
EDUCATION = ("NHS", "HS", "SC", "BA")
WORKER_CELLS = tuple((sex, education) for sex in SEX for education in EDUCATION)
FEMALE_COLLEGE = WORKER_CELLS.index(("F", "BA"))
STATES = ("91", "92", "93")  # numbers no real state has
STRATA = ("0-100", "100-10k", "10k-100k", "100k+")
STRATUM_LIMITS = (100, 10_000, 100_000)

FULL_JOBS = 10_900_000
FULL_ESTABLISHMENTS = 527_000
_FULL_PLACES = 3_000
_LOG_SIZE_SPREAD = 1.915  # with the paper's mean size, this puts about 775 establishments above 1,000 workers
_WITHOUT_JOBS = 0.04  # share of establishments with nobody at work on the reference date
_SHAPE_CONCENTRATION = 12.0  # Dirichlet weight: how close an establishment's mix stays to its sector's


@dataclass(frozen=True)
class LinkedFrame:
    """Establishments with their public attributes and the number of workers of each kind.

    Codes are positions: `place` in `place_codes`, `sector` in `SECTORS`, `ownership` in `OWNERSHIP`; the columns
    of `workers` follow `WORKER_CELLS` (sex outermost). Jobs are written out only by `write`.
    """

    workplace_id: NDArray[np.int64]
    place: NDArray[np.int32]
    sector: NDArray[np.int32]
    ownership: NDArray[np.int32]
    workers: NDArray[np.int32]
    place_codes: tuple[str, ...]
    place_population: NDArray[np.int64]
    seed: int

    @property
    def size(self) -> NDArray[np.int64]:
        total: NDArray[np.int64] = self.workers.sum(axis=1, dtype=np.int64)
        return total

    def cells(self) -> tuple[dict[str, NDArray[np.int32]], NDArray[np.int64]]:
        """The place × sector × ownership cells that hold an establishment, and each establishment's cell."""
        code = (self.place.astype(np.int64) * len(SECTORS) + self.sector) * len(OWNERSHIP) + self.ownership
        codes, cell = np.unique(code, return_inverse=True)
        keys = {
            "place": (codes // (len(SECTORS) * len(OWNERSHIP))).astype(np.int32),
            "sector": (codes // len(OWNERSHIP) % len(SECTORS)).astype(np.int32),
            "ownership": (codes % len(OWNERSHIP)).astype(np.int32),
        }
        return keys, cell.astype(np.int64)

    def stratum_of(self, place: NDArray[np.int32]) -> NDArray[np.int64]:
        """The paper's population stratum (a position in `STRATA`) of each place code."""
        return np.searchsorted(np.asarray(STRATUM_LIMITS), self.place_population[place], side="right").astype(np.int64)

    def workforce(self, columns: Sequence[int] | None = None, *, drop_above: int | None = None) -> Workforce:
        """The exact table by place, sector and ownership, as a mechanism reads it.

        `columns` picks worker cells; without it the table has one column of totals. `drop_above` leaves out
        establishments with more workers than that, as the projection for establishment-level privacy does.
        """
        keys, cell = self.cells()
        size = self.size
        counted = size[:, None] if columns is None else self.workers[:, list(columns)].astype(np.int64)
        if drop_above is not None:
            kept = size <= drop_above
            counted = np.where(kept[:, None], counted, 0)
            size = np.where(kept, size, 0)
        order = np.argsort(cell, kind="stable")
        starts = np.searchsorted(cell[order], np.arange(len(keys["place"])))
        ordered = counted[order]
        return Workforce(
            keys=keys,
            counts=np.add.reduceat(ordered, starts, axis=0),
            largest=np.maximum.reduceat(ordered, starts, axis=0),
            largest_total=np.maximum.reduceat(size[order], starts),
            establishments=np.diff(np.append(starts, len(order))).astype(np.int64),
        )

    def facts(self) -> dict[str, float]:
        """The figures that the paper prints about its file, measured here."""
        size = self.size
        _, cell = self.cells()
        per_cell = np.bincount(cell, weights=size)
        return {
            "establishments": float(len(size)),
            "jobs": float(size.sum()),
            "establishments above 1,000 workers": float((size > 1_000).sum()),
            "share of cells below 1,000 jobs": float((per_cell < 1_000).mean()),
            "share of establishments below 10 workers": float((size < 10).mean()),
            "share of establishments without jobs": float((size == 0).mean()),
            "cells": float(len(per_cell)),
            "places": float(len(self.place_codes)),
        }

    def write(self, folder: str | Path, form: Literal["linked", "flat"] = "linked") -> dict[str, Path]:
        """Write the jobs as Parquet with a schema and code lists; returns the path of each file by name."""
        from tacita.simulated.frame_files import write_frame

        return write_frame(self, Path(folder), form)


def simulate(jobs: int = FULL_JOBS, establishments: int = FULL_ESTABLISHMENTS, seed: int = 2017) -> LinkedFrame:
    """Draw a frame with exactly this many jobs and establishments; the number of places scales along."""
    if establishments < 50 or jobs < 2 * establishments:
        raise UsageError(
            "establishments, jobs: a frame needs at least 50 establishments and 2 jobs for each; "
            "raise jobs or lower establishments"
        )
    rng = np.random.default_rng(seed)
    population = _populations(max(24, round(_FULL_PLACES * establishments / FULL_ESTABLISHMENTS)), rng)
    sector = _sectors(establishments, rng)
    place = _places(sector, population, rng)
    shares = np.array([row.public for row in SECTORS])
    ownership = (rng.random(establishments) < shares[sector]).astype(np.int32)
    size = _sizes(jobs, establishments, sector, ownership, population[place], rng)
    state = np.sort(rng.choice(len(STATES), size=len(population), p=(0.5, 0.3, 0.2)))
    return LinkedFrame(
        workplace_id=np.arange(100_001, 100_001 + establishments, dtype=np.int64),
        place=place,
        sector=sector,
        ownership=ownership,
        workers=_workers(sector, size, rng),
        place_codes=tuple(f"{STATES[s]}{number:05d}" for number, s in enumerate(state, start=1)),
        place_population=population,
        seed=seed,
    )


def _populations(places: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Log-normal town sizes: a tenth below 100 people, some twenty of 3,000 above 100,000, one city of a million."""
    quantiles = ndtri((np.arange(places) + 0.5) / places)
    population = np.maximum(5, np.rint(1_100 * np.exp(1.85 * quantiles))).astype(np.int64)
    population[-1] = max(int(population[-1]), 150_000)  # a small frame still has one large city
    return rng.permutation(population)


def _sectors(establishments: int, rng: np.random.Generator) -> NDArray[np.int32]:
    shares = np.array([row.establishments for row in SECTORS])
    return rng.choice(len(SECTORS), size=establishments, p=shares / shares.sum()).astype(np.int32)


def _places(sector: NDArray[np.int32], population: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int32]:
    """Establishments follow people, each sector in its own degree, with local specialities."""
    attraction = rng.lognormal(sigma=0.4, size=len(population))
    place = np.empty(len(sector), dtype=np.int32)
    for code, row in enumerate(SECTORS):
        members = np.flatnonzero(sector == code)
        weight = population**row.urban * attraction * rng.lognormal(sigma=0.5, size=len(population))
        place[members] = rng.choice(len(population), size=len(members), p=weight / weight.sum())
    return place


def _sizes(
    jobs: int,
    establishments: int,
    sector: NDArray[np.int32],
    ownership: NDArray[np.int32],
    population: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """A systematic sample of a log-normal, dealt out by rank of a score of sector, ownership and town.

    Dealing by rank fixes the distribution of sizes exactly, whatever the seed, and still makes factories and
    schools larger than hairdressers.
    """
    positive = establishments - round(_WITHOUT_JOBS * establishments)
    quantiles = ndtri((np.arange(positive) + 0.5) / positive)

    def drawn(location: float) -> NDArray[np.int64]:
        size: NDArray[np.int64] = np.maximum(1, np.rint(np.exp(location + _LOG_SIZE_SPREAD * quantiles))).astype(
            np.int64
        )
        return size

    low, high = -10.0, 15.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if drawn(middle).sum() <= jobs else (low, middle)
    sizes = drawn(low)
    missing = int(jobs - sizes.sum())  # never negative: `low` keeps the sum at or below the target
    sizes[rng.choice(positive, size=missing, replace=missing > positive)] += 1
    while sizes.sum() < jobs:  # only where a draw with replacement hit one establishment twice
        sizes[rng.integers(positive)] += 1
    score = (
        np.array([row.size for row in SECTORS])[sector]
        + 0.5 * ownership
        + 0.10 * np.log(population / 1_000)
        + rng.normal(scale=1.6, size=establishments)
    )
    dealt = np.zeros(establishments, dtype=np.int64)
    dealt[np.argsort(score)[establishments - positive :]] = np.sort(sizes)
    return dealt


def _workers(sector: NDArray[np.int32], size: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int32]:
    """Dirichlet-multinomial shapes: every establishment has its own mix around its sector's."""
    mix = np.empty((len(SECTORS), len(WORKER_CELLS)))
    for code, row in enumerate(SECTORS):
        education = np.asarray(row.education) / sum(row.education)
        tilt = np.array([0.85, 0.95, 1.10, 1.05])  # women in a sector are a little longer at school
        women = education * tilt / (education * tilt).sum()
        mix[code] = np.concatenate((row.female * women, (1 - row.female) * education))
    gamma = rng.standard_gamma(_SHAPE_CONCENTRATION * mix[sector])
    return rng.multinomial(size, gamma / gamma.sum(axis=1, keepdims=True)).astype(np.int32)
