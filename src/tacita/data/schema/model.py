"""The schema of a confidential file: frozen, public, written by a person."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tacita.data.schema import hierarchy, reading
from tacita.data.schema.design import SurveyDesign
from tacita.data.schema.hierarchy import Hierarchy
from tacita.data.schema.kinds import Categorical, Date, Identifier, Integer, Numeric, Role, Variable
from tacita.data.schema.reading import read_toml
from tacita.data.schema.rulebook import refuse_contradiction
from tacita.data.schema.rules import Rule, rules_of
from tacita.data.schema.shapes import Shapes, shapes_of
from tacita.errors import SchemaError, naming

# What people call the entity "workplace" when they speak of the unit that is protected.
_WORDS_FOR = {"establishment": "workplace"}
# Words for kinds of units that are one kind wherever two files are compared. Words that stand for different units
# within one file stay apart: an enterprise has legal units, and a household families.
_KINDS_OF = {
    **dict.fromkeys(("individual", "respondent", "participant", "interviewee", "natural person"), "person"),
    **dict.fromkeys(("worker", "employee", "job holder", "patient", "pupil", "student"), "person"),
    **dict.fromkeys(("resident", "inhabitant", "citizen"), "person"),
    "company": "firm",
}
_OWN = "tacita_"  # what columns that are computed beside the file's own are called
_TAKEN = ("self",)  # a parameter of the methods of Ibis that take columns by name
_KEYS = ("dataset", "variables", "zeros", "rules", "hierarchy", "design")
_FILES = ("levels_file", "file", "shapes")
DATASET_KEYS = ("identity", "unit", "lineage", "source")


@dataclass(frozen=True, eq=False)
class Schema:
    """Everything that is public about a confidential file before it is opened.

    >>> schema = Schema.from_dict({
    ...     "dataset": {"identity": "demo-jobs-2026", "unit": "establishment"},
    ...     "variables": {
    ...         "workplace_id": {"role": "id", "entity": "workplace"},
    ...         "place": {"role": "workplace", "type": "categorical", "levels": ["01", "02", "03"]},
    ...         "sex": {"role": "worker", "type": "categorical", "levels": ["F", "M"]},
    ...     },
    ... })
    >>> schema.id_of("workplace"), schema.by_role("worker"), schema.domain_size(["place", "sex"])
    ('workplace_id', ('sex',), 6)
    >>> schema.levels("place")
    ('01', '02', '03')
    >>> schema == Schema.from_dict(schema.to_dict())
    True
    """

    identity: str
    unit: str
    variables: tuple[Variable, ...]
    lineage: tuple[str, ...] = ()
    source: str = ""
    zeros: tuple[tuple[tuple[str, str], ...], ...] = ()
    """Combinations of levels that cannot occur, such as voted = "yes" with registered = "no"."""
    rules: tuple[Rule, ...] = ()
    """What every record keeps: columns that follow from others, implications, inequalities, sums."""
    design: SurveyDesign | None = None
    """How the sample was drawn, where the file is one."""
    hierarchies: tuple[Hierarchy, ...] = ()
    """Trees over the levels of categorical columns: a tract lies in a county, a county in a state."""
    code_lists: tuple[Path, ...] = ()
    """Files that levels and trees were read from: public inputs a release lists. No part of the schema's hash."""
    shapes: tuple[Shapes, ...] = ()
    """What areas of a level look like on a map: public inputs too. No part of the schema's hash."""
    unfinished: tuple[str, ...] = ()
    """Drafted columns that still say TODO: nothing may use them. No part of the schema's hash."""

    def __post_init__(self) -> None:
        names = [variable.name for variable in self.variables]
        if not names:
            raise SchemaError("variables: none declared; add at least one [variables.<column>]")
        if len(set(names)) != len(names):
            raise SchemaError("variables: a column is declared twice; keep one of them")
        if own := [name for name in names if name.casefold().startswith(_OWN)]:
            raise SchemaError(f"variables.{own[0]}: names that begin with {_OWN} are Tacita's own; rename the column")
        if taken := [name for name in names if name in _TAKEN]:
            raise SchemaError(f"variables.{taken[0]}: no column can have this name in the engines; rename the column")
        self._check_ids()
        self._check_size()
        self._check_zeros()
        if self.rules:
            refuse_contradiction(self)
        hierarchy.check(self.hierarchies, self)
        if self.design is not None:
            self.design.check(self)

    def _check_zeros(self) -> None:
        for number, zero in enumerate(self.zeros, start=1):
            if len(zero) < 2:
                raise SchemaError(f"zeros, number {number}: name two or more columns with a level each")
            for name, level in zero:
                if level not in self.levels(name):
                    raise SchemaError(f'zeros, number {number}: "{level}" is not a level of {name}')

    def _check_ids(self) -> None:
        entities = [variable.kind.entity for variable in self.variables if isinstance(variable.kind, Identifier)]
        if len({_one_word(one) for one in entities}) != len(entities):
            raise SchemaError("variables: two id columns have the same entity; declare one id per entity")
        for variable in self.variables:
            if variable.table != "job" and variable.table not in entities:
                raise SchemaError(
                    f"variables.{variable.name}.table: the {variable.table} table needs a declared key; "
                    f'add an id variable with entity = "{variable.table}"'
                )

    def _check_size(self) -> None:
        sizes = self.by_role("size")
        if not sizes:
            return
        if len(sizes) > 1:
            raise SchemaError(f"variables.{sizes[1]}.role: only one column may have the role size")
        kind = self[sizes[0]].kind
        if not isinstance(kind, Integer) or kind.lower < 0:
            raise SchemaError(f"variables.{sizes[0]}: a size must be an integer with lower ≥ 0")
        if workers := self.by_role("worker"):
            raise SchemaError(
                f"variables.{workers[0]}.role: a file of establishments (role size) holds no worker attributes; "
                "use a job file instead, or drop the column"
            )

    # ------------------------------------------------------------ reading and writing

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from TOML; code-list files are looked for beside it."""
        path = Path(path)
        missing = "file not found; correct the path, or draft one with tacita init"
        content = read_toml(path, f"schema {path.name}", SchemaError, if_missing=missing)
        with naming(schema=path.name):
            return cls.from_dict(content, folder=path.parent)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], *, folder: Path | None = None) -> Schema:
        """The same from plain values, as TOML or JSON gives them."""
        for key in content:
            if key not in _KEYS:
                raise SchemaError(
                    f"{key}: unknown key; a schema has [dataset], [variables.<column>], [[zeros]], [[rules]], "
                    "[hierarchy.<name>] and [design]"
                )
        dataset = content.get("dataset")
        if not isinstance(dataset, Mapping):
            raise SchemaError("dataset: is missing; add a [dataset] table with identity and unit")
        reading.refuse_placeholders(dataset, "dataset")
        reading.refuse_unknown(dataset, DATASET_KEYS, "dataset")
        lineage = dataset.get("lineage", [])
        if not isinstance(lineage, list) or not all(isinstance(one, str) for one in lineage):
            raise SchemaError('dataset.lineage: must be a list of identities, such as ["demo-jobs-2025"]')
        entries = content.get("variables")
        if not isinstance(entries, Mapping) or not entries:
            raise SchemaError("variables: none declared; add at least one [variables.<column>]")
        entries = {name: reading.without_idle_bounds(entry) for name, entry in entries.items()}
        unfinished = tuple(str(name) for name, entry in entries.items() if reading.is_unfinished(entry))
        entries = {name: entry for name, entry in entries.items() if name not in unfinished}
        if not entries:
            raise SchemaError(
                "variables: each column still says TODO; a person must fill in the public values of those that the "
                "release uses"
            )
        variables = tuple(reading.variable(str(name), entry, folder) for name, entry in entries.items())
        listed = {one.name: one.kind.levels for one in variables if isinstance(one.kind, Categorical)}
        trees = content.get("hierarchy", {})
        hierarchies = hierarchy.hierarchies(trees, listed, folder)
        files = [entry["levels_file"] for entry in entries.values() if "levels_file" in entry]
        rules = rules_of(content.get("rules", []), {one.name: one.kind for one in variables}, folder)
        files += [entry["file"] for entry in (*trees.values(), *content.get("rules", [])) if "file" in entry]
        return cls(
            identity=reading.text(dataset, "identity", "dataset"),
            unit=reading.text(dataset, "unit", "dataset"),
            variables=variables,
            lineage=tuple(lineage),
            source=reading.text(dataset, "source", "dataset", default=""),
            zeros=reading.zeros(content.get("zeros", [])),
            rules=rules,
            design=SurveyDesign.from_dict(content["design"]) if content.get("design") is not None else None,
            hierarchies=hierarchies,
            code_lists=tuple((folder or Path()) / name for name in dict.fromkeys(files)),
            shapes=shapes_of(trees, hierarchies, folder),
            unfinished=unfinished,
        )

    @classmethod
    def stored(cls, content: Mapping[str, Any]) -> Schema:
        """The same from what `to_dict` gave, as bundles and models hold it. That names no file: one that does was
        altered, and would have files read that are not its own."""
        entries = (content.get(key) for key in ("variables", "hierarchy"))
        listed = [*(one for part in entries if isinstance(part, Mapping) for one in part.values())]
        listed += content["rules"] if isinstance(content.get("rules"), list) else []
        if any(isinstance(one, Mapping) and not one.keys().isdisjoint(_FILES) for one in listed):
            raise SchemaError("a stored schema names a file beside it, which Tacita never writes; it was altered")
        return cls.from_dict(content)

    def to_dict(self) -> dict[str, Any]:
        """The whole schema as plain JSON values, levels included, every default spelled out."""
        return {
            "dataset": {
                "identity": self.identity,
                "unit": self.unit,
                "lineage": list(self.lineage),
                "source": self.source,
            },
            "variables": {variable.name: variable.to_dict() for variable in self.variables},
            **({"zeros": [dict(zero) for zero in self.zeros]} if self.zeros else {}),
            **({"rules": [dict(rule.entry) for rule in self.rules]} if self.rules else {}),
            **({"hierarchy": {tree.name: tree.to_dict() for tree in self.hierarchies}} if self.hierarchies else {}),
            **({"design": self.design.to_dict()} if self.design is not None else {}),
        }

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON; the order in which columns are declared does not matter."""
        canonical = json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.hash == other.hash

    def __hash__(self) -> int:
        return int(self.hash[:15], 16)

    # ------------------------------------------------------------ looking things up

    @property
    def dates(self) -> tuple[str, ...]:
        """The columns whose values are days."""
        return tuple(one.name for one in self.variables if isinstance(one.kind, Date))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.variables)

    @cached_property
    def _by_name(self) -> dict[str, Variable]:
        return {variable.name: variable for variable in self.variables}

    def __getitem__(self, name: str) -> Variable:
        try:
            return self._by_name[name]
        except KeyError:
            if name in self.unfinished:
                raise SchemaError(
                    f"variables.{name}: still says TODO; a person must fill in the public value before it is used"
                ) from None
            if name == reading.PLACEHOLDER:
                raise SchemaError("the specification still says TODO where the name of a column belongs") from None
            raise SchemaError(
                f"{name}: no such variable in the schema of {self.identity}; declared are {', '.join(self.names)}"
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    def by_role(self, role: Role) -> tuple[str, ...]:
        """Names of the columns with this role, in declared order."""
        return tuple(variable.name for variable in self.variables if variable.role == role)

    def id_of(self, entity: str) -> str | None:
        """Name of the id column of an entity such as "workplace", or None where the schema declares none."""
        for variable in self.variables:
            if isinstance(variable.kind, Identifier) and variable.kind.entity == entity:
                return variable.name
        return None

    def id_for(self, unit: str) -> str | None:
        """Name of the id column of a unit that a promise speaks of: an establishment is a workplace.

        >>> variables = {"plant": {"role": "id", "entity": "workplace"}, "pid": {"role": "id", "entity": "individual"}}
        >>> schema = Schema.from_dict({"dataset": {"identity": "plants", "unit": "plant"}, "variables": variables})
        >>> schema.id_for("Establishment"), schema.id_for("person"), schema.id_for("firm")
        ('plant', 'pid', None)
        """
        for word in (_one_word, entity_word):
            named = {entity: name for entity, name in self.entities.items() if word(entity) == word(unit)}
            if len(named) > 1:
                raise SchemaError(
                    f"variables: {unit} may mean {' or '.join(named)}, and the file has ids of both; name the unit "
                    "of the promise as the entity of its id"
                )
            if named:
                return next(iter(named.values()))
        return None

    @property
    def entities(self) -> dict[str, str]:
        """What the file has ids of, each with its column."""
        return {one.kind.entity: one.name for one in self.variables if isinstance(one.kind, Identifier)}

    @property
    def row(self) -> str:
        """What one row of the main table is, and so that table's name: a job where workers and workplaces are told
        apart, else the unit of the file."""
        jobs = any(one.role in ("worker", "workplace") or one.table != "job" for one in self.variables)
        return "job" if jobs and not self.by_role("size") else self.unit

    def in_table(self, table: str) -> tuple[str, ...]:
        """Columns of one linked table: its own variables and the ids that link it."""
        keys = {self.id_of(table)} if table != "job" else {self.id_of("workplace"), self.id_of("worker")}
        return tuple(variable.name for variable in self.variables if variable.table == table or variable.name in keys)

    def check_codes(self, names: Iterable[str]) -> None:
        """Refuse numbers to be measured with a code for "missing" among their values.

        One step of such a number, 998 to 999, would be a jump to nothing. Asked when a file or a plan is checked, not
        when a schema is read: schemas of earlier bundles stay readable.
        """
        for name in names:
            kind = self[name].kind
            if isinstance(kind, Integer | Numeric) and any(
                kind.lower <= one <= kind.upper for one in kind.missing_codes
            ):
                raise SchemaError(
                    f"variables.{name}.missing_codes: a code lies between lower and upper, where it is also a value; "
                    "narrow the bounds, or give missing values a code outside them in the file"
                )

    def categorical(self, name: str) -> Categorical:
        """The domain of a categorical column; any other kind is an error that says so."""
        kind = self[name].kind
        if not isinstance(kind, Categorical):
            raise SchemaError(f'{name}: is not categorical; tables need a column with type = "categorical"')
        return kind

    def levels(self, name: str) -> tuple[str, ...]:
        return self.categorical(name).levels

    def hierarchy(self, column: str) -> Hierarchy:
        """The tree over a column's levels; a column without one is an error that says so."""
        for tree in self.hierarchies:
            if tree.column == column:
                return tree
        raise SchemaError(f'{column}: has no tree of coarser levels; declare [hierarchy.NAME] with column = "{column}"')

    def domain_size(self, names: Iterable[str]) -> int:
        """Number of cells in the full cross of these columns' levels; 1 for none."""
        return math.prod(len(self.levels(name)) for name in names)

    def __repr__(self) -> str:
        return f"Schema({self.identity!r}, unit={self.unit!r}, columns={list(self.names)})"


def entity_word(word: str) -> str:
    """A word for a unit as it is compared between files: Person, individual and respondent are one, and an
    establishment is a workplace."""
    word = _one_word(word)
    return _KINDS_OF.get(word, word)


def _one_word(word: str) -> str:
    """A word for a unit as it is compared within one file, which may tell respondents from other persons."""
    word = " ".join(word.split()).casefold()
    return _WORDS_FOR.get(word, word)
