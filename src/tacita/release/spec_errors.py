"""Turns a validation report into one sentence per mistake: which key, which rule, what to do."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

_WRONG_KIND = {
    "string_type": 'must be text in quotes, such as "jobs.parquet"',
    "bool_type": "must be true or false, without quotes",
    "int_type": "must be a whole number, without quotes",
    "tuple_type": 'must be a list, such as ["place", "sector"]',
    "dict_type": 'must be a table, such as { sex = ["F"] }',
    "model_type": "must be a table of keys and values",
    "model_attributes_type": "must be a table of keys and values",
}


def explain(error: ValidationError, model: type[BaseModel], raw: dict[str, Any]) -> str:
    """All mistakes of one specification, joined; the first is the most likely cause of the rest."""
    sentences = "; ".join(dict.fromkeys(_sentences(error, model, raw)))
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in sentences)


def _sentences(error: ValidationError, model: type[BaseModel], raw: dict[str, Any]) -> Iterator[str]:
    # Unknown keys come first: a misspelt key also shows up as a missing one, and the spelling is the cause.
    problems = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    for problem in problems:
        rule = problem["type"]
        path = _typed(problem["loc"], raw, absent=rule == "missing")
        key = _spoken(path, raw)
        if rule == "extra_forbidden":
            yield _unknown(path, model, raw)
        elif rule == "missing":
            yield f"{key} is missing; add it"
        elif rule == "value_error":
            yield f"{key}: {problem['ctx']['error']}" if path else str(problem["ctx"]["error"])
        elif rule == "literal_error":
            yield f"{key}: must be one of {problem['ctx']['expected']}"
        elif key in ("table", "microdata", "public_input"):
            yield f"{key}: write it as one [[{key}]] section for each"
        elif key == "data":
            yield 'data: must be a file name in quotes, or a table such as { job = "job.parquet" }'
        else:
            yield f"{key}: {_WRONG_KIND.get(rule, problem['msg'])}"


def _typed(loc: tuple[int | str, ...], raw: Any, *, absent: bool) -> tuple[int | str, ...]:
    """The path as a person typed it: a union reports every alternative it tried ("str", "dict[...]") as a part too."""
    path: list[int | str] = []
    for part in loc:
        known = part in raw if isinstance(raw, dict) else isinstance(part, int) and isinstance(raw, list | tuple)
        if known or (absent and part == loc[-1]):
            path.append(part)
        raw = raw[part] if known else raw
    return tuple(path)


def _unknown(path: tuple[int | str, ...], model: type[BaseModel], raw: dict[str, Any]) -> str:
    known = sorted(_keys_at(path[:-1], model))
    near = get_close_matches(str(path[-1]), known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else "remove it."
    return f"unknown key {_spoken(path, raw)}; {hint} Known keys here: {', '.join(known)}"


def _keys_at(path: tuple[int | str, ...], model: type[BaseModel]) -> list[str]:
    """The keys that a person may write at this place of the file."""
    here = model
    for part in path:
        if isinstance(part, int):
            continue
        field = next(field for name, field in here.model_fields.items() if (field.alias or name) == part)
        inner = [field.annotation, *get_args(field.annotation)]
        here = next(kind for kind in inner if isinstance(kind, type) and issubclass(kind, BaseModel))
    return [field.alias or name for name, field in here.model_fields.items() if name != "path"]


def _spoken(path: tuple[int | str, ...], raw: dict[str, Any]) -> str:
    """`table "employment", key epsilon` rather than `table.0.epsilon`.

    >>> _spoken(("table", 0, "epsilon"), {"table": [{"name": "employment"}]})
    'epsilon of table "employment"'
    >>> _spoken(("cap", "alpha"), {})
    'alpha of [cap]'
    """
    if not path:
        return "the specification"
    keys = [str(part) for part in path if not isinstance(part, int)]
    if len(keys) == 1 and len(path) == 1:
        return keys[0]
    number = next((part for part in path if isinstance(part, int)), None)
    if number is None:
        return f"{'.'.join(keys[1:])} of [{keys[0]}]"
    try:
        label = f'{keys[0]} "{raw[keys[0]][number]["name"]}"'
    except (KeyError, IndexError, TypeError):
        label = f"[[{keys[0]}]] number {number + 1}"
    return f"{'.'.join(keys[1:])} of {label}" if keys[1:] else label
