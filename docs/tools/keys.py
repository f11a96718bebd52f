"""Writes docs/keys.md: every key of a specification and of a schema, with its type, default, rule and an example.

Which keys there are, their types in a specification and all defaults come from the code; rules and examples from
keys.toml beside this file. A key without words, or words without a key, is an error that names it. Run it as
`python docs/tools/keys.py`; `make docs` does.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from tacita import synthesis
from tacita.data.schema import Schema
from tacita.data.schema.design import DESIGN_KEYS
from tacita.data.schema.hierarchy import HIERARCHY_KEYS
from tacita.data.schema.model import DATASET_KEYS
from tacita.data.schema.reading import VARIABLE_KEYS
from tacita.data.schema.rules import RULE_KEYS
from tacita.privacy import Neighbours, text
from tacita.release.cap_spec import CapSpec
from tacita.release.evaluation_spec import ContributionSpec, EvaluationSpec, LimitsSpec, PanelSpec, Share
from tacita.release.spec import CheckSpec, MicrodataSpec, Spec, TableSpec, TogetherSpec
from tacita.release.spec_values import AtMost, Exact, FileName, LedgerText, PathText, PublicInputSpec

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "keys.md"
WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
PARTS: dict[str, type[BaseModel]] = {
    "specification": Spec,
    "cap": CapSpec,
    "tables": TogetherSpec,
    "table": TableSpec,
    "microdata": MicrodataSpec,
    "check": CheckSpec,
    "public_input": PublicInputSpec,
    "evaluation": EvaluationSpec,
    "evaluation.panel": PanelSpec,
    "evaluation.contributions": ContributionSpec,
    "evaluation.limits": LimitsSpec,
}
HEAD = """\
# Keys of specification and schema

<!-- Written by docs/tools/keys.py: change keys.toml there, or the code. -->

Every key that a release specification or a schema may have. A message about a key names its section here. Privacy
parameters stand in quotes, since they are kept as exact fractions. *Needed* means that there is no default.
"""
# One of them, and many.
_TYPES: dict[Any, tuple[str, str]] = {
    Exact: ("number in quotes", "numbers in quotes"),
    FileName: ("name", "names"),
    PathText: ("path", "paths"),
    LedgerText: ("path or address", "paths or addresses"),
    AtMost: ("whole number", "whole numbers"),
    Share: ("share", "shares"),
    str: ("text", "texts"),
    bool: ("true or false", ""),
    int: ("whole number", "whole numbers"),
    float: ("number", "numbers"),
    dict: ("table", "tables"),
}
_NEEDED = "*needed*"


class Key(NamedTuple):
    """What the code says of one key; `kind` is empty where the words say it."""

    name: str
    kind: str
    default: str


def keys_of(section: str) -> list[Key]:
    """The keys of a section as the code has them."""
    if section in PARTS:
        return list(_part(PARTS[section]))
    if section == "settings":
        return [Key(name, "", default) for name, default in _settings().items()]
    named: dict[str, tuple[str, ...]] = {
        "dataset": DATASET_KEYS,
        "variables": tuple(dict.fromkeys(key for keys in VARIABLE_KEYS.values() for key in keys)),
        "zeros": ("COLUMN",),
        "rules": tuple(dict.fromkeys([*(key for keys in RULE_KEYS.values() for key in keys), "broken"])),
        "hierarchy": HIERARCHY_KEYS,
        "design": DESIGN_KEYS,
    }
    defaults = _schema_defaults().get(section, {})
    return [Key(name, "", defaults.get(name, "")) for name in named[section]]


def _part(model: type[BaseModel]) -> Iterator[Key]:
    hints = get_type_hints(model, include_extras=True)
    for name, field in model.model_fields.items():
        if name != "path":
            yield Key(
                field.alias or name, _kind(hints[name]), _NEEDED if field.is_required() else _written(field.default)
            )


def _kind(hint: Any, *, many: bool = False) -> str:
    """What may be written, in words."""
    origin, inner = get_origin(hint), [one for one in get_args(hint) if one not in (NoneType, Ellipsis)]
    if hint in _TYPES or origin is dict:
        return _TYPES[dict if origin is dict else hint][many]
    if origin is Literal:
        return " or ".join(f'`"{one}"`' for one in inner)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_kind(one) for one in inner))
    if origin is tuple:
        number = ("lists of " if many else "list of ") if Ellipsis in get_args(hint) else "two "
        return number + _kind(inner[0], many=True)
    return "sections" if many else "section"


def _written(value: Any) -> str:
    """A default as TOML has it; nothing where a key left out means just that."""
    if isinstance(value, Fraction):
        value = text(value)
    if value is None or isinstance(value, BaseModel | Neighbours) or repr(value) in ("''", "()", "{}", "[]"):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`" if isinstance(value, int | float) else ""


def _settings() -> dict[str, str]:
    """The settings of all synthesizers, with the default, or the mechanisms that have each."""
    held: dict[str, dict[str, str]] = {}
    for mechanism in synthesis.HOMES:
        for one in inspect.signature(getattr(synthesis, mechanism)).parameters.values():
            if one.name not in ("epsilon", "delta"):
                default = _NEEDED if one.default is one.empty else _written(one.default)
                held.setdefault(one.name, {})[mechanism] = default
    return {name: _by_mechanism(defaults) for name, defaults in held.items()}


def _by_mechanism(defaults: Mapping[str, str]) -> str:
    everywhere = len(defaults) == len(synthesis.HOMES)
    alike: dict[str, list[str]] = {}
    for mechanism, default in defaults.items():
        alike.setdefault(default, []).append(mechanism)
    if everywhere and len(alike) == 1:
        return next(iter(alike))
    return "; ".join(f"{', '.join(names)}{': ' * bool(default)}{default}" for default, names in alike.items())


def _schema_defaults() -> dict[str, dict[str, str]]:
    """What a schema says of itself when nothing but the needed keys was written."""
    number = {"role": "confidential", "lower": 0, "upper": 9}
    declared: dict[str, Any] = {
        "who": {"role": "id", "entity": "person"},
        "code": {"role": "confidential", "type": "categorical", "levels": ["a"]},
        "whole": {"type": "integer", **number},
        "real": {"type": "numeric", **number},
        "day": {"type": "date", "role": "confidential", "lower": "2026-01-01", "upper": "2026-12-31"},
        "w": {"type": "numeric", "role": "weight", "lower": 1, "upper": 9},
    }
    rules = [{"less": ["whole", "real"]}]
    least = {"dataset": {"identity": "a", "unit": "person"}, "variables": declared, "rules": rules}
    spelt = Schema.from_dict(least | {"design": {"weight": "w"}}).to_dict()
    columns: dict[str, dict[str, list[str]]] = {}
    for name, entry in spelt["variables"].items():
        for key, value in entry.items():
            default = _NEEDED if key in declared[name] else "" if key == "labels" else _written(value)
            columns.setdefault(key, {}).setdefault(default, []).append(entry.get("type", "id"))
    defaults = {key: _by_type(alike) for key, alike in columns.items()} | {"levels_file": ""}
    needed = {"dataset": least["dataset"], "design": {"weight": "w"}, "rules": rules[0]}
    sections = {name: spelt[name][0] if name == "rules" else spelt[name] for name in needed}
    return {"variables": defaults, "hierarchy": {"column": _NEEDED, "levels": _NEEDED}} | {
        name: {
            key: _NEEDED if key in needed[name] and name != "rules" else _written(value) for key, value in one.items()
        }
        for name, one in sections.items()
    }


def _by_type(alike: Mapping[str, list[str]]) -> str:
    """One default for all types of columns, or each with its types."""
    if len(alike) == 1:
        return next(iter(alike))
    return "; ".join(f"{default} ({', '.join(dict.fromkeys(types))})" for default, types in alike.items() if default)


def page() -> str:
    """The whole page; words and code must speak of the same keys."""
    parts = [HEAD]
    for section, words in WORDS.items():
        known = {key.name: key for key in keys_of(section)}
        told = words["keys"]
        if strangers := sorted(known.keys() ^ told.keys()):
            raise SystemExit(f"docs/tools/keys.toml: {section} and the code do not have the same keys: {strangers}")
        last = "default" if section != "settings" else "of, and default"
        rows = [f"| key | value | {last} | rule | example |", "| --- | --- | --- | --- | --- |"]
        rows += [_row(known[name], told[name]) for name in known]
        parts.append(f"## {section}\n\n{words['about']}\n\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _row(key: Key, words: Mapping[str, str]) -> str:
    example = " ".join(f"`{line}`" for line in words["example"].splitlines())
    cells = (f"`{key.name}`", key.kind or words["type"], key.default, words["rule"], example)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
