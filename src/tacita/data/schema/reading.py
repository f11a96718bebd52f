"""From a TOML table to one declared variable, with errors that name the key, the rule and the fix.

Reads a TOML file that a tired or a hostile person wrote: whatever is wrong with it is said in one sentence.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacita.data.schema.kinds import (
    OWN_STATE,
    ROLES,
    TABLES,
    Categorical,
    Date,
    Identifier,
    Integer,
    Kind,
    Numeric,
    Variable,
    a_date,
    frozen_labels,
)
from tacita.errors import SchemaError, TacitaError

_ANY = ("role", "table", "label")
VARIABLE_KEYS: dict[str, tuple[str, ...]] = {
    "id": (*_ANY, "entity"),
    "categorical": (*_ANY, "type", "levels", "levels_file", "labels", "outside", "missing", "missing_codes"),
    "integer": (*_ANY, "type", "lower", "upper", "outside", "missing", "missing_codes"),
    "numeric": (*_ANY, "type", "lower", "upper", "scale", "outside", "missing", "missing_codes"),
    "date": (*_ANY, "type", "lower", "upper", "outside", "missing"),
}
PLACEHOLDER = "TODO"


def variable(name: str, entry: Any, folder: Path | None) -> Variable:
    """Read `[variables.name]`; `folder` is where code-list files are looked for."""
    where = f"variables.{name}"
    if not isinstance(entry, Mapping):
        raise SchemaError(f"{where}: must be a table, written as [variables.{name}]")
    role = one_of(entry, "role", ROLES, where)
    kind_name = "id" if role == "id" else one_of(entry, "type", ("categorical", "integer", "numeric", "date"), where)
    refuse_unknown(entry, VARIABLE_KEYS[kind_name], where)
    table = one_of(entry, "table", TABLES, where, default="job")
    label = text(entry, "label", where, default="")
    try:
        kind = _kind(kind_name, entry, where, folder)
    except SchemaError as problem:
        message = str(problem)
        raise SchemaError(message if message.startswith(where) else f"{where}.{message}") from None
    return Variable(name, kind, role, table, label)  # type: ignore[arg-type]


def _kind(kind_name: str, entry: Mapping[str, Any], where: str, folder: Path | None) -> Kind:
    if kind_name == "id":
        return Identifier(text(entry, "entity", where))
    if kind_name == "categorical":
        return _categorical(entry, where, folder)
    outside = one_of(entry, "outside", ("clamp", "error"), where, default="clamp")
    if kind_name == "date":
        return _date(entry, outside, where)
    codes = entry.get("missing_codes", [])
    if not isinstance(codes, list) or not all(_is_number(code) for code in codes):
        raise SchemaError(f"{where}.missing_codes: must be a list of numbers, such as [9998, 9999]")
    own_missing = entry.get("missing") == OWN_STATE
    if kind_name == "integer":
        return Integer(
            _whole(entry, "lower", where),
            _whole(entry, "upper", where),
            outside=outside,  # type: ignore[arg-type]
            missing=None if own_missing or entry.get("missing") is None else _whole(entry, "missing", where),
            missing_codes=tuple(codes),
            own_missing=own_missing,
        )
    return Numeric(
        _number(entry, "lower", where),
        _number(entry, "upper", where),
        outside=outside,  # type: ignore[arg-type]
        missing=None if own_missing or entry.get("missing") is None else _number(entry, "missing", where),
        missing_codes=tuple(codes),
        own_missing=own_missing,
        scale=_whole(entry, "scale", where) if "scale" in entry else 2,
    )


def _date(entry: Mapping[str, Any], outside: str, where: str) -> Date:
    for key in ("lower", "upper"):
        if key not in entry:
            raise SchemaError(f"{where}.{key}: is missing; bounds are public and never read from the rows, so write it")
    own_missing = entry.get("missing") == OWN_STATE
    return Date(
        a_date(entry["lower"], f"{where}.lower"),
        a_date(entry["upper"], f"{where}.upper"),
        outside=outside,  # type: ignore[arg-type]
        missing=None if own_missing or entry.get("missing") is None else a_date(entry["missing"], f"{where}.missing"),
        own_missing=own_missing,
    )


def _categorical(entry: Mapping[str, Any], where: str, folder: Path | None) -> Categorical:
    if ("levels" in entry) == ("levels_file" in entry):
        raise SchemaError(f'{where}.levels: give either levels = [...] or levels_file = "codes.csv", exactly one')
    if "levels_file" in entry:
        if "labels" in entry:
            raise SchemaError(f"{where}.labels: come from the label column of levels_file; remove one of the two")
        levels, labels = code_list(text(entry, "levels_file", where), f"{where}.levels_file", folder)
    else:
        levels = texts(entry, "levels", where)
        written = entry.get("labels", {})
        if not isinstance(written, Mapping) or not all(isinstance(v, str) for v in written.values()):
            raise SchemaError(f'{where}.labels: must be a table of level = "label" pairs')
        labels = frozen_labels(levels, written)
    missing = None if entry.get("missing") is None else text(entry, "missing", where)
    return Categorical(
        levels,
        labels,
        outside=text(entry, "outside", where, default="error"),
        missing=missing,
        missing_codes=texts(entry, "missing_codes", where, default=()),
    )


def zeros(entries: Any) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Structural zeros: `[[zeros]]` tables that name columns with a level each."""
    if not isinstance(entries, list) or not all(isinstance(one, Mapping) for one in entries):
        raise SchemaError('zeros: must be tables, each written as [[zeros]] with lines such as voted = "yes"')
    for number, one in enumerate(entries, start=1):
        if not all(isinstance(level, str) for level in one.values()):
            raise SchemaError(f'zeros, number {number}: levels are text in quotes, such as voted = "yes"')
    return tuple(tuple(sorted((str(name), level) for name, level in one.items())) for one in entries)


def code_list(name: str, where: str, folder: Path | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Levels and labels from a CSV with a `code` column and, if wanted, a `label` column."""
    fields, entries = csv_rows(name, where, folder)
    if "code" not in fields:
        raise SchemaError(f'{where}: {name} needs a header line with the columns "code" and "label"')
    levels = tuple((entry["code"] or "") for entry in entries)
    return levels, tuple((entry.get("label") or code) for entry, code in zip(entries, levels, strict=True))


def csv_rows(name: str, where: str, folder: Path | None) -> tuple[tuple[str, ...], list[dict[str, str | None]]]:
    """Header and rows of a public CSV file beside the schema."""
    path = (folder or Path()) / name
    try:
        reader = csv.DictReader(io.StringIO(public_bytes(path).decode("utf-8-sig"), newline=""))
        fields = tuple(reader.fieldnames or ())
        rows: list[dict[str, str | None]] = list(reader)
    except FileNotFoundError:
        raise SchemaError(
            f"{where}: {name} was not found beside the schema; correct the path or add the file"
            + ("; `tacita codes` can find its codes, at a price" if where.endswith(".levels_file") else "")
        ) from None
    except (OSError, UnicodeDecodeError, csv.Error):
        raise SchemaError(f"{where}: {name} cannot be read as CSV text in UTF-8; save it as such") from None
    if unseen(rows) is not None:
        raise SchemaError(f"{where}: {name} holds a control character, which no file of a bundle can carry; remove it")
    return fields, rows


def public_bytes(path: Path, most: int = -1) -> bytes:
    """The bytes of a file beside the schema, or so many of them; a pipe would never end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(f"{path.name} is no regular file")
    with path.open("rb") as file:
        return file.read(most)


def without_idle_bounds(entry: Any) -> Any:
    """Of a drafted number that was made a category, bounds that still say TODO mean nothing."""
    if not isinstance(entry, Mapping) or entry.get("type") != "categorical":
        return entry
    return {key: value for key, value in entry.items() if key not in ("lower", "upper") or value != PLACEHOLDER}


def is_unfinished(entry: Any) -> bool:
    """Whether a drafted entry still says TODO somewhere."""
    if isinstance(entry, Mapping):
        return any(is_unfinished(one) for one in entry.values())
    return any(is_unfinished(one) for one in entry) if isinstance(entry, list) else entry == PLACEHOLDER


def refuse_placeholders(entry: Any, where: str) -> None:
    """A draft that nobody finished is not a schema."""
    if entry == PLACEHOLDER:
        raise SchemaError(f"{where}: still says TODO; a person must fill in the public value")
    if isinstance(entry, Mapping):
        for key, value in entry.items():
            refuse_placeholders(value, f"{where}.{key}" if where else key)
    elif isinstance(entry, list):
        for value in entry:
            refuse_placeholders(value, where)


def refuse_unknown(entry: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in entry:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise SchemaError(f"{where}.{key}: unknown key{hint} Known here: {', '.join(known)}")


def one_of(
    entry: Mapping[str, Any], key: str, allowed: tuple[str, ...], where: str, *, default: str | None = None
) -> str:
    value = entry.get(key, default)
    if value is None:
        raise SchemaError(f"{where}.{key}: is missing; write one of {', '.join(allowed)}")
    if value not in allowed:
        raise SchemaError(f"{where}.{key}: must be one of {', '.join(allowed)}")
    return str(value)


def text(entry: Mapping[str, Any], key: str, where: str, *, default: str | None = None) -> str:
    value = entry.get(key, default)
    if value is None:
        raise SchemaError(f"{where}.{key}: is missing; add it")
    if not isinstance(value, str) or (not value and default != ""):
        raise SchemaError(f'{where}.{key}: must be text in quotes, such as {key} = "…"')
    return value


def texts(entry: Mapping[str, Any], key: str, where: str, *, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
    value = entry.get(key, default)
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise SchemaError(f'{where}.{key}: must be a list of texts in quotes, such as {key} = ["01", "02"]')


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(entry: Mapping[str, Any], key: str, where: str) -> float:
    if key not in entry:
        raise SchemaError(f"{where}.{key}: is missing; bounds are public and never read from the rows, so write it")
    if not _is_number(entry[key]):
        kept = f', or "{OWN_STATE}", which keeps empty cells missing' if key == "missing" else ""
        raise SchemaError(f"{where}.{key}: must be a number without quotes{kept}")
    try:
        return float(entry[key])
    except OverflowError:
        raise SchemaError(f"{where}.{key}: has more digits than any number of a file; correct it") from None


def _whole(entry: Mapping[str, Any], key: str, where: str) -> int:
    value = _number(entry, key, where)
    if value != value or abs(value) == float("inf") or value != int(value):
        raise SchemaError(f"{where}.{key}: must be a whole number")
    return int(entry[key])


_MOST_BYTES = 4 << 20
_ENDLESS_KEY = re.compile(r"""(?<![\w-])(?:["']?[\w-]++["']?[ \t]*\.[ \t]*){100}""")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def read_toml(path: Path, name: str, error: type[TacitaError], *, if_missing: str) -> dict[str, Any]:
    """The content; `error` is raised for what is no file, no text or no TOML, and `name` says which file is meant."""
    try:
        if not path.exists():
            raise error(f"{name}: {if_missing}")
        if not path.is_file():  # nor a pipe, which could be read for ever
            raise error(f"{name}: is not a file; name the TOML file itself")
        if path.stat().st_size > _MOST_BYTES:
            raise error(
                f"{name}: larger than {_MOST_BYTES >> 20} MB; is this a TOML file? A long code list goes to levels_file"
            )
        written = path.read_text(encoding="utf-8")
        if _ENDLESS_KEY.search(written):  # which the reader would work on for minutes
            raise RecursionError
        content = tomllib.loads(written)
        if (where := unseen(content)) is not None:
            raise error(f"{name}: {where} holds a control character, which no file of a bundle can carry; remove it")
        return content
    except OSError as problem:
        raise error(f"{name}: cannot be read ({type(problem).__name__}); check the path and your permission") from None
    except UnicodeDecodeError:
        raise error(f"{name}: not a UTF-8 text file; it must be a TOML file") from None
    except tomllib.TOMLDecodeError as problem:
        raise error(f"{name}: not valid TOML: {problem}") from None
    except RecursionError:
        raise error(f"{name}: not valid TOML: lists or tables within each other without end") from None
    except ValueError:  # a number of thousands of digits, or a path with a zero byte
        raise error(f"{name}: not valid TOML: a number or a name that nothing can be made of") from None


def unseen(content: Any) -> str | None:
    """The key under which a text holds a control character other than a tab or a line's end; None where none does.

    >>> unseen({"title": "Jobs", "table": [{"name": "a" + chr(1)}]})
    'table.name'
    """
    waiting: list[tuple[str, Any]] = [("", content)]
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, dict):
            if any(_UNSEEN.search(key) for key in value):
                return f"a key of {where or 'the file'}"
            waiting += [(f"{where}.{key}".lstrip("."), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(where, inner) for inner in value]
        elif isinstance(value, str) and _UNSEEN.search(value):
            return where
    return None
