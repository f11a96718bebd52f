"""What every part of a specification is, and its single values: names of files, exact numbers, paths. Each says what is
wrong with it in words.

Turns a validation report into one sentence per mistake: which key, which rule, what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError

from tacita.data.address import is_server, split_address
from tacita.errors import UsageError
from tacita.ledger.store import server_address
from tacita.privacy import exact, text

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


def _file_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("becomes a file name: use small letters, digits, - and _ only")
    if len(value) > 100:
        raise ValueError("becomes a file name: use at most 100 characters")
    return value


def _path_text(value: str) -> str:
    """A path that a file system can be asked about at all; whether something is there is found out later."""
    if not value or not value.isprintable() or max(len(part.encode()) for part in value.split("/")) > 255:
        raise ValueError("must be the name of a file: not empty, no control characters, no part beyond 255 bytes")
    return value


def _exact_text(value: object) -> str:
    """A privacy parameter, kept as the shortest exact text of the number.

    TOML reads 0.1 as a binary float, which is not one tenth: the ledger would add up something else than
    what the board signed. So a bare decimal is refused rather than repaired.
    """
    if isinstance(value, float):
        raise ValueError(f'put quotes around it: "{value:g}"; without them it is read as a rounded binary number')
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError('must be a number in quotes, such as "0.1" or "1/3"')
    try:
        return text(exact(value))
    except UsageError:
        raise ValueError('must be a number in quotes, such as "0.1" or "1/3"') from None


def _rows(value: int) -> int:
    if value < 1:
        raise ValueError("must be a whole number of rows, at least 1")
    return value


def _ledger_text(value: str) -> str:
    if not is_server(value):
        return _path_text(value)
    try:
        server_address(value)
    except UsageError as problem:
        raise ValueError(str(problem).removeprefix("ledger: ")) from None
    return value


def _data_text(value: str) -> str:
    if is_server(value):
        try:
            split_address(value, "data")
        except UsageError as problem:
            raise ValueError(str(problem).removeprefix("data: ")) from None
    return _path_text(value)


AtMost = Annotated[int, AfterValidator(_rows)]
DataText = Annotated[str, AfterValidator(_data_text)]
Exact = Annotated[str, BeforeValidator(_exact_text)]
FileName = Annotated[str, AfterValidator(_file_name)]
LedgerText = Annotated[str, AfterValidator(_ledger_text)]
PathText = Annotated[str, AfterValidator(_path_text)]


class Part(BaseModel):
    """Every part of a specification: closed to unknown keys and unchangeable once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PublicInputSpec(Part):
    """Something used that did not come from the confidential file, and where it came from."""

    what: str
    source: str


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
