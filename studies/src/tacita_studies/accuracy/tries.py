"""`NAME.accuracy.toml`: which specifications are tried on a file, and which statistics are compared."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as product_of
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tacita.data.schema.reading import read_toml
from tacita.errors import SpecError
from tacita.release.spec_values import explain

What = Literal[
    "count", "total", "mean", "variance", "ratio", "quantile", "rank", "share", "correlation", "distance", "regression",
    "entry", "exit", "creation", "destruction",
]  # fmt: skip
_NEEDS = {"count": (), "regression": ("model",), "entry": (), "exit": ()}  # all others are of columns


def _listed(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class _Table(BaseModel):
    """A table of the file: closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Compare(_Table):
    """One kind of statistic, by the cells of `by`, each of the columns `of` for itself.

    `at` are the probabilities of quantiles; `model` is a regression, such as "log(output) ~ log(labour) + sector";
    `forecast` names the figure of the plan's forecast that speaks about it, where its name does not say so itself.
    """

    statistic: What
    of: Names = ()
    by: Names = ()
    weight: str | None = None
    at: Annotated[tuple[float, ...], BeforeValidator(_listed)] = (0.1, 0.25, 0.5, 0.75, 0.9)
    model: str | None = None
    forecast: str | None = None

    @model_validator(mode="after")
    def _is_of_something(self) -> Compare:
        for key in _NEEDS.get(self.statistic, ("of",)):
            if not getattr(self, key):
                raise ValueError(f'statistic = "{self.statistic}" needs the key {key}')
        return self


def _one_or_more(value: object) -> object:
    return (value,) if isinstance(value, dict) else _listed(value)


Products = Annotated[tuple[dict[str, Any], ...], BeforeValidator(_one_or_more)]


class Try(_Table):
    """Products of a specification, each at several ε: [try.table] or [try.microdata] under `cap`, or all that the
    `specification` of a release has, a file beside this one.

    `vary` has several values for settings of the product: {of = ["income", "wealth"]} is a try of each. `sample` takes
    that many records at random first, `repeat` has every record so many times: small files and large ones of one kind.
    `most_draws` is for what takes minutes.
    """

    name: str
    specification: str | None = None
    epsilon: Names = ()
    cap: dict[str, Any] = Field(default_factory=dict)
    table: Products = ()
    microdata: Products = ()
    vary: dict[str, list[Any]] = Field(default_factory=dict)
    sample: int | None = None
    repeat: int = 1
    most_draws: int | None = None
    compare: Annotated[tuple[Compare, ...], BeforeValidator(_listed)] = ()

    @model_validator(mode="after")
    def _makes_something(self) -> Try:
        if (self.specification is None) == (not self.table and not self.microdata):
            raise ValueError(
                "give [try.table], [try.microdata], or the specification of a release, and one of them only"
            )
        return self

    def written(self, folder: Path) -> Try:
        """The same with the products of its specification."""
        if self.specification is None:
            return self
        path = folder / self.specification
        release = read_toml(path, str(path), SpecError, if_missing="there is no such file beside the tries")
        cap = {key: one for key, one in release.get("cap", {}).items() if key not in ("epsilon", "delta")}
        products = {key: _one_or_more(release.get(key, ())) for key in ("table", "microdata")}
        return self.model_copy(update={"specification": None, "cap": cap | self.cap, **products})

    def specifications(self, schema: str, cap: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each by its name; without any ε, as it is written. The cap holds what the product costs."""
        products = [*(("table", one) for one in self.table), *(("microdata", one) for one in self.microdata)]
        for (kind, product), chosen, epsilon in product_of(
            products, product_of(*self.vary.values()), self.epsilon or (None,)
        ):
            several = [str(product["name"])] if len(products) > 1 and "name" in product else []
            varied = (str(value) for key, value in zip(self.vary, chosen, strict=True) if key != "mechanism")
            name = ", ".join((self.name, *several, *varied))
            stated = {**product, **dict(zip(self.vary, chosen, strict=True)), "name": "tried"}
            stated |= {} if epsilon is None else {"epsilon": epsilon}
            price = {key: stated[key] for key in ("epsilon", "delta") if key in stated}
            raw = {"title": name, "schema": schema, "data": "none", "ledger": "none"}
            own = cap if "neighbours" not in self.cap else {key: cap[key] for key in ("holds", "at_most") if key in cap}
            yield name, {**raw, "cap": {"epsilon": "1", **price, **own, **self.cap}, kind: [stated]}


class Tries(_Table):
    """The whole file. `cap` and `compare` are shared by all tries; a comparison is made of those of its columns that a
    try synthesizes. Without any, the usual ones are made (`tacita_studies.accuracy.statistics.usual`)."""

    cap: dict[str, Any] = Field(default_factory=dict)
    compare: Annotated[tuple[Compare, ...], BeforeValidator(_listed)] = ()
    tried: Annotated[tuple[Try, ...], BeforeValidator(_listed)] = Field(alias="try")

    @classmethod
    def load(cls, path: Path) -> Tries:
        raw = read_toml(path, str(path), SpecError, if_missing="there is no such file")
        try:
            tries = cls.model_validate(raw)
        except ValidationError as error:
            raise SpecError(f"{path.name}: {explain(error, cls, raw)}") from None
        return tries.model_copy(update={"tried": tuple(one.written(path.parent) for one in tries.tried)})
