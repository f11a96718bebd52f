"""How a survey sample was drawn, as a person declares it in `[design]`: columns, and which of them are public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from tacita.data.schema import reading
from tacita.data.schema.kinds import Categorical, Identifier, Integer, Numeric
from tacita.errors import SchemaError

if TYPE_CHECKING:
    from tacita.data.schema.model import Schema

OnePsu = Literal["error", "certainty", "adjust"]

_LISTS = ("strata", "psu", "public")
DESIGN_KEYS = ("weight", *_LISTS, "population", "one_psu")
_ONE_PSU: tuple[OnePsu, ...] = ("error", "certainty", "adjust")


@dataclass(frozen=True)
class SurveyDesign:
    """The design of a sample.

    `strata` are columns whose crossing gives the strata; `psu` names the sampled units, one column per stage (without
    it each row is one); `population` holds the number of units in the stratum. `public` says which columns everybody
    may see as they stand; the others are protected like any answer. `one_psu` says what a stratum with one sampled
    unit contributes to a variance: "error" refuses such a file; "certainty" nothing; "adjust" its distance from the
    overall mean.

    >>> design = SurveyDesign("w", strata=("field",), public=("field", "gender"))
    >>> design.columns, SurveyDesign.from_dict(design.to_dict()) == design
    (('w', 'field', 'gender'), True)
    """

    weight: str
    strata: tuple[str, ...] = ()
    psu: tuple[str, ...] = ()
    population: str | None = None
    public: tuple[str, ...] = ()
    one_psu: OnePsu = "error"

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column the design names, each once."""
        return tuple(dict.fromkeys((*self.of_errors, *self.public)))

    @property
    def of_errors(self) -> tuple[str, ...]:
        """Those without which no standard error can be computed."""
        population = () if self.population is None else (self.population,)
        return tuple(dict.fromkeys((self.weight, *self.strata, *self.psu, *population)))

    @classmethod
    def from_dict(cls, entry: Any) -> SurveyDesign:
        """Read `[design]` as TOML or JSON gives it."""
        if not isinstance(entry, Mapping):
            raise SchemaError('design: must be a table, written as [design] with lines such as weight = "w"')
        reading.refuse_placeholders(entry, "design")
        reading.refuse_unknown(entry, DESIGN_KEYS, "design")
        lists = {key: reading.texts(entry, key, "design", default=()) for key in _LISTS}
        for key, names in lists.items():
            if len(set(names)) != len(names):
                raise SchemaError(f"design.{key}: a column is named twice; keep it once")
        return cls(
            weight=reading.text(entry, "weight", "design"),
            population=None if entry.get("population") is None else reading.text(entry, "population", "design"),
            one_psu=reading.one_of(entry, "one_psu", _ONE_PSU, "design", default="error"),  # type: ignore[arg-type]
            **lists,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "weight": self.weight,
            "strata": list(self.strata),
            "psu": list(self.psu),
            "population": self.population,
            "public": list(self.public),
            "one_psu": self.one_psu,
        }

    def check(self, schema: Schema) -> None:
        """Refuse a design that the declared variables cannot carry."""
        for key, names in (("weight", (self.weight,)), ("population", _listed(self.population)), *self._lists()):
            for name in names:
                if name not in schema:
                    raise SchemaError(f"design.{key}: {name} is not declared; add [variables.{name}]")
                if schema[name].table != "job":
                    raise SchemaError(
                        f"design.{key}: {name} stands in a linked table; join it to the survey's one file"
                    )
        self._check_numbers(schema)
        for key in ("strata", "psu"):
            for name in getattr(self, key):
                kind = schema[name].kind
                if not isinstance(kind, Categorical) and not (key == "psu" and isinstance(kind, Identifier)):
                    also = " or an id" if key == "psu" else ""
                    raise SchemaError(f'design.{key}: {name} must have type = "categorical"{also}')
        self._check_public(schema)

    def _lists(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((key, getattr(self, key)) for key in _LISTS)

    def _check_numbers(self, schema: Schema) -> None:
        if schema[self.weight].role != "weight":
            raise SchemaError(f'design.weight: {self.weight} needs role = "weight"')
        for key, name in (("weight", self.weight), ("population", self.population)):
            if name is None:
                continue
            kind = schema[name].kind
            if not isinstance(kind, Integer | Numeric) or kind.lower <= 0:
                raise SchemaError(f"design.{key}: {name} must be a number with lower above 0")
            if kind.missing is not None:
                raise SchemaError(
                    f"variables.{name}.missing: nothing can stand for a missing {key}; take it out, and repair the file"
                )

    def _check_public(self, schema: Schema) -> None:
        """What `public` says and what the roles say must be the same."""
        for name in self.public:
            if name == self.weight:
                raise SchemaError(f"design.public: {name} is the weight, which is protected; take it out")
            if not isinstance(schema[name].kind, Categorical) and name != self.population:
                raise SchemaError(f'design.public: {name} must have type = "categorical", or be the population')
            if schema[name].role not in ("public", "design"):
                raise SchemaError(
                    f'design.public: {name} has the role {schema[name].role}; give it role = "public" or "design" if '
                    "everybody may see it, or take it out of design.public"
                )
        for name in self.columns:
            if schema[name].role == "public" and name not in self.public:
                raise SchemaError(
                    f'variables.{name}.role: is "public", and design.public does not list it; add it there, or give it '
                    'role = "design"'
                )


def _listed(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)
