"""The release specification: one TOML file that says what will be published and what it may cost.

Nothing here opens the confidential file. An unknown key, a missing key or a value of the wrong kind
is a `SpecError` that names the key and the fix.

`check` of a [[microdata]] is the self-check that its own budget pays for; what its values mean is up to `SelfCheck`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from tacita.data.address import is_server
from tacita.data.schema.reading import read_toml
from tacita.errors import SpecError, UsageError
from tacita.privacy import (
    exact,
)
from tacita.release.cap_spec import CapSpec
from tacita.release.evaluation_spec import EvaluationSpec
from tacita.release.spec_values import (
    AtMost,
    DataText,
    Exact,
    FileName,
    LedgerText,
    Part,
    PathText,
    PublicInputSpec,
    explain,
)
from tacita.tables.publish import as_share


class CheckSpec(Part):
    """Which share of the product's budget measures what its first file got wrong, what is tolerated, and what becomes
    of files that fail."""

    share: str | float = "0.05"
    limits: dict[str, str | float] = Field(default_factory=dict)
    fail: Literal["stamp", "withhold"] = "stamp"

    @property
    def settings(self) -> dict[str, Any]:
        return {"share": self.share, "limits": self.limits, "fail": self.fail}


# What a statistic of all cells is called, where it is no sum of theirs.
NOT_ADDED_UP = {
    "mean": "a mean",
    "variance": "a variance",
    "share": "a share",
    "ratio": "a ratio",
    "median": "a median",
    "quantiles": "a quantile",
    "growth": "growth",
}


class TogetherSpec(Part):
    """What all tables cost together that have no price of their own; each gets a part of its ρ by its `share`."""

    epsilon: Exact
    delta: Exact


class TableSpec(Part):
    """One table of the release: which statistic, of what, by what, and what it may cost.

    Without a mechanism the relation of the cap and the statistic decide. Keys left at None are the mechanism's own
    business: alpha and the definition follow the cap, theta belongs to TruncatedLaplace alone, delta to mechanisms
    that need one. Instead of epsilon a wanted margin may be given.
    """

    name: FileName
    title: str = ""
    by: tuple[str, ...] = ()
    worker: tuple[str, ...] = ()
    where: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    levels: tuple[str, ...] | None = None
    division: Literal["best", "equal"] | None = None
    statistic: str | None = None
    of: str | tuple[str, ...] | None = None
    between: dict[str, tuple[int | str, ...]] | None = None
    weights: str | None = None
    sampling: bool | None = None
    quantiles: tuple[Exact, ...] | None = None
    clamp: Literal["declared"] | tuple[float, float] | None = None
    mechanism: str = ""
    epsilon: Exact | None = None
    margin: str | None = None
    margin_at: int | None = None
    delta: Exact | None = None
    rho: Exact | None = None
    share: Exact | None = None
    alpha: Exact | None = None
    definition: Literal["strong", "weak"] | None = None
    calibration: Literal["proved", "paper"] | None = None
    margin_share: Exact | None = None
    theta: int | None = None
    at_most: AtMost | None = None
    integers: bool = True
    nonnegative: bool = True
    totals: tuple[str, ...] = ()
    rank: bool = False
    confidence: Exact = "0.95"
    withhold: str | None = None
    agree: bool = False
    public_totals: dict[str, dict[str, int | float]] | None = None

    @property
    def spoken(self) -> str:
        return f'table "{self.name}"'

    @property
    def priced(self) -> bool:
        return any(one is not None for one in (self.epsilon, self.rho, self.margin))

    @model_validator(mode="after")
    def _a_share_is_no_price(self) -> TableSpec:
        if self.share is not None and (self.priced or exact(self.share) <= 0):
            raise ValueError("share: is above 0, and stands where no epsilon, rho or margin does; keep one of them")
        return self

    @field_validator("confidence")
    @classmethod
    def _confidence_is_a_probability(cls, value: str) -> str:
        # Beyond, a double no longer tells the confidence from certainty, and no interval is long enough.
        if not 0 < exact(value) <= 1 - Fraction(1, 10**9):
            raise ValueError('must lie between 0 and 1, at most 0.999999999, such as "0.95"')
        return value

    @field_validator("by", "worker", "levels", "totals", "of", "quantiles", mode="before")
    @classmethod
    def _list_to_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("clamp", mode="before")
    @classmethod
    def _numbers_to_floats(cls, value: object) -> object:
        return tuple(float(one) if isinstance(one, int) else one for one in value) if isinstance(value, list) else value

    @field_validator("withhold")
    @classmethod
    def _withhold_is_a_share(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                as_share(value)
            except UsageError as error:
                raise ValueError(str(error)) from None
        return value

    @field_validator("where", "between", mode="before")
    @classmethod
    def _lists_to_tuples(cls, value: object) -> object:
        held = value.items() if isinstance(value, dict) else ()
        return {key: tuple(one) if isinstance(one, list) else one for key, one in held} or value

    @model_validator(mode="after")
    def _totals_are_of_this_table(self) -> TableSpec:
        strangers = [name for name in self.totals if name not in (*self.by, *self.worker)]
        if strangers:
            raise ValueError(f"totals: {strangers[0]} is not one of this table's attributes; list it in by first")
        return self

    @model_validator(mode="after")
    def _totals_and_ranks_have_a_meaning(self) -> TableSpec:
        if self.levels and (self.totals or self.rank):
            raise ValueError(
                f"{'totals' if self.totals else 'rank'}: levels has the coarser cells, and they have no ranks; leave "
                "totals and rank out"
            )
        if self.totals and self.statistic in NOT_ADDED_UP:
            raise ValueError(
                f"totals: are for counts and sums, and {NOT_ADDED_UP[self.statistic]} of all cells is no sum of "
                f"theirs; leave totals out, and ask for a further [[table]] with by = {json.dumps(self.totals)}"
            )
        several = self.statistic == "sum" and isinstance(self.of, tuple) and len(self.of) > 1
        if self.rank and (several or self.statistic in ("quantiles", "growth", "flows")):
            raise ValueError("rank: several numbers of a cell cannot be ranked together; leave rank out")
        return self


class MicrodataSpec(Part):
    """Synthetic files of the release and the synthesizer that draws them.

    `tables` are survey tables to make from the files: each is a list of columns whose crossing gives its cells.
    `guarantee` = "none", with a `reason`, lets a synthesizer that has no guarantee be published all the same. Every
    other key, such as the number of files, is a setting of the synthesizer, which knows what it may be.
    """

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    name: FileName
    title: str = ""
    mechanism: str = "FileSynthesis"
    epsilon: Exact | None = None
    delta: Exact | None = None
    at_most: AtMost | None = None
    check: CheckSpec | None = None
    tables: tuple[tuple[str, ...], ...] = ()
    guarantee: Literal["none"] | None = None
    reason: str = ""

    @model_validator(mode="after")
    def _a_missing_guarantee_has_a_reason(self) -> MicrodataSpec:
        if self.guarantee == "none" and not self.reason.strip():
            raise ValueError(
                'guarantee = "none" needs the key reason: why the files may leave without one, and who decided it'
            )
        if self.guarantee is None and self.reason:
            raise ValueError('reason: goes with guarantee = "none"; remove it, or add that key')
        return self

    @field_validator("tables", mode="before")
    @classmethod
    def _lists_to_tuples(cls, value: object) -> object:
        if not isinstance(value, list):
            return value
        return tuple(tuple(one) if isinstance(one, list) else one for one in value)

    @property
    def spoken(self) -> str:
        return f'microdata "{self.name}"'

    @property
    def options(self) -> dict[str, Any]:
        """The synthesizer's own settings, as they were written."""
        return dict(self.model_extra or {})


class Spec(Part):
    """A whole release, as a person wrote it; `path` is where it was read from.

    >>> Spec.parse({"title": "Jobs", "schemma": "jobs.schema.toml"}, Path("release.toml"))
    Traceback (most recent call last):
    ...
    tacita.errors.SpecError: release.toml: unknown key schemma; did you mean schema? ...
    """

    title: str
    schema_path: PathText = Field(alias="schema")
    data: DataText | dict[str, DataText]
    ledger: LedgerText
    engine: Literal["duckdb", "spark"] = "duckdb"
    publisher: str = ""
    excel: bool = False
    cap: CapSpec
    tables: TogetherSpec | None = None
    table: tuple[TableSpec, ...] = ()
    microdata: tuple[MicrodataSpec, ...] = ()
    public_input: tuple[PublicInputSpec, ...] = ()
    evaluation: EvaluationSpec = Field(default=EvaluationSpec(), exclude=True)
    path: Path = Field(default=Path(), exclude=True)

    @field_validator("table", "microdata", "public_input", mode="before")
    @classmethod
    def _list_to_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _products_are_named(self) -> Spec:
        if not self.table and not self.microdata:
            raise ValueError(
                "table: there is none; add one [[table]] for each table to publish, or [[microdata]] for synthetic "
                "files"
            )
        if len(self.microdata) > 1:
            raise ValueError(
                "microdata: a bundle holds the files of one synthesizer; make a second release for the others"
            )
        if self.table and self.reason is not None:
            raise ValueError(
                'microdata: guarantee = "none" would take the promise from the tables of this release; make a release '
                "of its own for the files"
            )
        if self.excel and not self.table and not any(files.tables for files in self.microdata):
            raise ValueError("excel: is a workbook of tables, and there is none; remove it")
        self._prices_are_clear()
        names = [*(table.name for table in self.table), *(files.name for files in self.microdata)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"the name {twice[0]} is used twice; each product needs its own file name")
        return self

    def _prices_are_clear(self) -> None:
        if self.tables is None:
            if any(table.share is not None for table in self.table):
                raise ValueError("share: is a part of what [tables] costs; add [tables] with epsilon and delta")
            return
        if self.cap.account != "rho":
            raise ValueError(
                'tables: what is divided is ρ, which an account in epsilon does not take; add account = "rho" to [cap]'
            )
        if all(table.priced for table in self.table):
            raise ValueError("tables: every table has a price of its own; remove [tables], or the prices of some")

    @property
    def reason(self) -> str | None:
        """Why the release may be made without a guarantee; None where it has one."""
        return next((files.reason for files in self.microdata if files.guarantee == "none"), None)

    @classmethod
    def load(cls, path: str | Path) -> Spec:
        """Read a TOML file."""
        where = Path(path)
        missing = "there is no such file; draft one with `tacita init`"
        return cls.parse(read_toml(where, str(where), SpecError, if_missing=missing), where)

    @classmethod
    def of(cls, given: str | Path | Mapping[str, Any]) -> Spec:
        """From a file, or from its keys as a mapping, whose paths are seen from the current folder."""
        if isinstance(given, Mapping):
            return cls.parse(dict(given), Path.cwd() / "specification")
        return cls.load(given)

    @classmethod
    def parse(cls, raw: dict[str, Any], path: Path) -> Spec:
        """Read a specification that is already in memory; `path` anchors its relative paths."""
        if "path" in raw:
            raise SpecError(f"{path.name}: unknown key path; the file's own place is known, remove it")
        try:
            return cls.model_validate({**raw, "path": path})
        except ValidationError as error:
            raise SpecError(f"{path.name}: {explain(error, cls, raw)}") from None

    def resolve(self, name: str) -> Path:
        """A path as written in the specification, seen from the specification's folder."""
        return self.path.parent / name

    @property
    def ledger_place(self) -> str | Path:
        """What `Ledger.open` takes: a file, seen from the specification's folder, or the address of a server."""
        return self.ledger if is_server(self.ledger) else self.resolve(self.ledger)

    @property
    def data_source(self) -> str | dict[str, str]:
        """What `Confidential.open` takes, with paths made relative to the specification's folder."""
        if isinstance(self.data, str):
            return self._located(self.data)
        return {table: self._located(name) for table, name in self.data.items()}

    @property
    def reads_with(self) -> str:
        """The engine that reads the data: a table of a server is read by the server."""
        places = [self.data] if isinstance(self.data, str) else self.data.values()
        return "postgresql" if any(map(is_server, places)) else self.engine

    @property
    def data_names(self) -> str:
        """What messages call the data: without folders, and without the address of a server."""
        named = [self.data] if isinstance(self.data, str) else list(self.data.values())
        return " and ".join(re.split(r"[/\\]", one.rpartition("://")[2])[-1] for one in named)

    def _located(self, name: str) -> str:
        if is_server(name):
            return name
        if name.startswith("duckdb:"):
            return "duckdb:" + str(self.resolve(name.removeprefix("duckdb:")))
        return str(self.resolve(name))
