"""`[evaluation]` of a specification: what the internal dossier looks at, and from when on it calls a product unfit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ValidationError, field_validator, model_validator

from tacita.data.schema.reading import read_toml
from tacita.errors import SpecError
from tacita.release.spec_values import Part, explain


def _share(value: float) -> float:
    if not 0 < value <= 1:
        raise ValueError("must be a share above 0 and up to 1, such as 0.2")
    return value


Share = Annotated[float, AfterValidator(_share)]


class PanelSpec(Part):
    """The columns that trends over time are made of.

    One row per unit and period: `unit`, `period` and `employment`. One row per unit: `employment` is a pattern such as
    "emp{year}", and `years` are the first and the last.
    """

    employment: str
    unit: str | None = None
    period: str | None = None
    years: tuple[int, int] | None = None

    @field_validator("years", mode="before")
    @classmethod
    def _list_to_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _long_or_wide(self) -> PanelSpec:
        if self.years is None:
            if self.unit is None or self.period is None:
                raise ValueError(
                    'needs unit, period and employment, or for one row per unit employment = "emp{year}" and '
                    "years = [2001, 2010]"
                )
        elif "{year}" not in self.employment or self.years[0] > self.years[1]:
            raise ValueError('with years, employment is a pattern such as "emp{year}", and the first year comes first')
        return self

    @property
    def columns(self) -> dict[int, str]:
        """The column of each year, where every year has its own."""
        first, last = self.years or (0, -1)
        return {year: self.employment.replace("{year}", str(year)) for year in range(first, last + 1)}


class ContributionSpec(Part):
    """A table of establishments: a number added up by some categories, in which one contributor may dominate."""

    by: tuple[str, ...]
    value: str

    @field_validator("by", mode="before")
    @classmethod
    def _list_to_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value


class LimitsSpec(Part):
    """Up to where a product is fit; beyond a limit it is fit with care, beyond twice the limit unfit.

    Of tables: a cell is off when its relative error is above `cell_error`, and says too little when it has no value,
    no margin, or a margin above `margin` of its value; `cells_off` is the share of the records that may lie in cells
    of each kind; `coverage` the share of cells that lie within their margin. Of synthetic files: `mean` is the relative
    error of a mean (weighted where there are weights), `pairs` the distance of two-way tables beyond that of a fresh
    sample, `trend` the relative error of employment over time.
    """

    cell_error: Share = 0.2
    cells_off: Share = 0.2
    margin: Share = 0.5
    coverage: Share = 0.85
    mean: Share = 0.1
    pairs: Share = 0.1
    trend: Share = 0.1


class EvaluationSpec(Part):
    """What the internal dossier should look at. No part of the release: it is not written into a bundle.

    `known` is what an intruder may know about a unit and `targets` what must not be learned from that; `tables` are
    the domains whose cells users will ask for; `regressions` are written as "income ~ age + sex"; `contributions`
    are tables of establishments to hold against the p% and (n, k) rules; `limits` are those of the verdict.
    """

    known: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    tables: tuple[tuple[str, ...], ...] = ()
    regressions: tuple[str, ...] = ()
    contributions: tuple[ContributionSpec, ...] = ()
    panel: PanelSpec | None = None
    limits: LimitsSpec = LimitsSpec()

    @field_validator("known", "targets", "tables", "regressions", "contributions", mode="before")
    @classmethod
    def _lists_to_tuples(cls, value: object) -> object:
        if not isinstance(value, list):
            return value
        return tuple(tuple(one) if isinstance(one, list) else one for one in value)

    @classmethod
    def load(cls, path: Path) -> EvaluationSpec:
        """Read it from a TOML file of its own, for files that no specification belongs to."""
        raw = read_toml(path, str(path), SpecError, if_missing="there is no such file")
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            raise SpecError(f"{path.name}: {explain(error, cls, raw)}") from None
