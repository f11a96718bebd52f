"""A first draft of a schema, for a person to finish.

Only names and storage types are looked at: levels and bounds are decisions about what is public, so they are left as
TODO, and nothing may use a column that says so. Where a file is declared public, its values may be read as well; the
rows are looked at to see that they are not those of this very file.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from tacita.data.address import same_files
from tacita.data.engine import code_text, connect
from tacita.data.engine.calendars import calendar_of
from tacita.data.engine.frames import NOT_UTF8, STATISTICAL, WORKBOOK, csv_header, read_workbook, workbook_header
from tacita.data.labelled import Described, about_file, absent, coded, descriptions
from tacita.errors import RefusedError, SchemaError, UsageError
from tacita.lazy import later

ibis = later("ibis")

Storage = Literal["text", "integer", "numeric", "date", "other date"]
# What a name never is: nothing but digits and what stands between them in numbers, dates and times; or an address.
_VALUE = re.compile(r"[-+]?[\d.,:/ T-]*\d[\d.,:/ TZ%-]*|\S+@\S+")
_ROLES = "id | public | confidential | worker | workplace | weight | design | size"
_WEIGHT = re.compile(
    r"\w*weights?\d*|\w*w(?:gt|t)s?\d*|pw\d*|wt[a-z]{3}\d?yr", re.IGNORECASE
)  # what survey weights are often called
# What ids are often called, with and without something between.
_ID = re.compile(
    r"(?:\w*[_ .-])?(?:id|nr|no|num|number|key|serial)|(?:case|per(?:son)?|hh|house|firm|resp|[pfw])(?:id|nr|no|num)",
    re.IGNORECASE,
)
_BODY = re.compile(r"(?:^|_)(?:birth|body|baby|child|infant|mother|current|target)_?weights?$", re.IGNORECASE)
_STATURE = re.compile(r"(?:\w*_)?(?:height|bmi|stature)(?:_\w*)?", re.IGNORECASE)
# How values of a CSV file are written that are no text. Codes such as 01 are: as a number they would lose their zero.
_WRITTEN: tuple[tuple[Storage, str], ...] = (
    ("integer", r"^-?(0|[1-9]\d*)$"),
    ("numeric", r"^-?(0|[1-9]\d*)?(\.\d+)?([eE][-+]?\d+)?$"),
    ("date", r"^\d{4}-\d{2}-\d{2}$"),
    ("other date", r"^(\d{1,2}[/.-]\d{1,2}[/.-](\d{4}|\d{2})|\d{4}[/.-]\d{1,2}[/.-]\d{1,2})([ T]\d{1,2}:\d{2}\S*)?$"),
)
TEXTS: tuple[Storage, ...] = ("text", "other date")
_LOOKED_AT = 100_000  # rows of a CSV file
_MOST_LEVELS = 1_000  # a public column with more different values is drafted without its levels


def draft_schema(
    path: str | Path,
    public_copy: str | Path | None = None,
    unit: str = "TODO",
    *,
    role: str = "TODO",
    numbers: str | None = None,
    entities: tuple[str, ...] = (),
) -> str:
    """TOML text of a schema with the file's columns; levels and bounds come from `public_copy` or stay TODO. Labels
    that a Stata or SPSS file declares for its codes are part of its description, not of its rows, and are used.
    `role` is that of columns whose name says nothing else; `numbers`, where it is another one, that of numbers.
    `entities` are those that have an id, where it is not the unit.
    """
    path = Path(path)
    if public_copy is not None and same_files([Path(public_copy)], [path]):
        raise _not_public(public_copy, "is the confidential file itself, or a copy of it")
    columns, named = storage_types(path), entities or (unit if unit != "TODO" else "person",)
    if public_copy is not None and _same_rows(path, Path(public_copy), columns):
        raise _not_public(public_copy, "holds the rows of the confidential file, saved anew")
    public = _public_values(Path(public_copy), columns) if public_copy is not None else {}
    source = f"values read from the public file {Path(public_copy).name}" if public_copy is not None else ""
    parts = [
        "# Drafted from column names and storage types only; nothing here is read from the rows.",
        "# Finish the columns that a table or a file will use. Those that still say TODO are left aside.",
        "# A schema is public: what you write here may be published.",
        "",
        "[dataset]",
        f"identity = {_quoted(_identity(path))}  # the name of this file: its privacy budget is kept under it",
        f"unit = {_quoted(unit)}            # what is protected: establishment, person, household, ...",
        "lineage = []             # identities of earlier files that contain the same units",
        f"source = {_quoted(source)}              # where the code lists and bounds come from",
        "",
        f"# Roles of columns: {_ROLES}.",
        f"# The id of each {' and '.join(named)}, where the file has one, is declared by",
        '#   role = "id"',
        f"#   entity = {', or '.join(map(_quoted, named))}",
        "# and nothing else: it is never published, and how many rows each has is then checked.",
        '# Instead of one level for each code: levels_file = "codes.csv" with columns code,label. Where nobody has a',
        '# list, name the file all the same, with outside = "other", and see: tacita codes --help',
        '# Categories: outside = "<level>" and missing = "<level>" say where other values and empty cells go; numbers:',
        '# missing = 0, or missing = "own state" to keep them missing. Without these they are an error.',
    ]
    described, weights = descriptions(path), weight_columns(columns) if role != "TODO" else ()
    for name, storage in columns.items():
        told = described.get(name, Described())
        is_coded = bool(told.valid) and name not in public
        chosen = "weight" if name in weights else role if storage in TEXTS or is_coded else numbers or role
        choice = "              # public | confidential" if chosen == "TODO" and numbers else ""
        shown = [f"label = {_quoted(told.label)}"] if told.label else []
        if _ID.fullmatch(name) or name.casefold() in named:
            shown.append(
                f'# an id? Then role = "id" and entity = {" or ".join(map(_quoted, named))} alone, without the rest'
            )
        shown.append(f"role = {_quoted(chosen)}{choice}")
        variable = coded(told) if is_coded else [*_variable(storage, public.get(name)), *absent(told)]
        parts += ["", f"[variables.{_key(name)}]", *shown, *variable]
    return "\n".join([*parts, *_design(weights)]) + "\n"


def _design(weights: tuple[str, ...]) -> list[str]:
    """How a sample was drawn, for whoever wants margins that hold the population."""
    if not weights:
        return []
    return [
        "",
        "# [design]               # how the sample was drawn, for margins that hold the population (sampling = true)",
        f"# weight = {_quoted(weights[0])}",
        '# strata = ["TODO"]      # categorical columns, role = "design"',
        '# psu = ["TODO"]         # sampled units, such as villages; leave out where each row is one',
    ]


def _not_public(public_copy: str | Path, why: str) -> RefusedError:
    return RefusedError(
        f"--public-copy {public_copy}: {why}; its values would stand in a schema, which is public. Give a file that is "
        "public, or leave the option out"
    )


def _same_rows(path: Path, other: Path, columns: Mapping[str, Storage]) -> bool:
    """Whether two files have the same values in the columns of both, in whatever order, form and format."""
    engine = connect("duckdb")
    ours, theirs = engine.read(path, tuple(columns)), engine.read(other, tuple(columns))
    both = sorted(set(ours.columns) & set(theirs.columns))
    return bool(both) and _content(engine, ours, both) == _content(engine, theirs, both)


def _content(engine: Any, table: Any, names: list[str]) -> Any:
    """How many rows there are, and sums of their hashes: a sum does not know the order of its terms."""
    spelled = (ibis.coalesce(_spelled(table[name]), "\x1e") for name in names)
    digest = table.select(digest=ibis.literal("\x1f").join(list(spelled)).hexdigest("md5"))
    parts = {f"part{at}": engine.hex_to_integer(digest.digest.substr(at, 7)) for at in (0, 7, 14)}
    parts_of = digest.select(**parts)
    sums = {name: parts_of[name].sum() for name in parts}
    return engine.collect(parts_of.aggregate(rows=parts_of.count(), **sums)).to_pylist()


def _spelled(column: Any) -> Any:
    """A value as text, the same whether a file has it as a number or as text."""
    kind = column.type()
    if not (kind.is_string() or kind.is_numeric()):
        return column.cast("string")
    text = column.cast("string").nullif("").nullif("NA")
    number = text.try_cast("float64")
    return ibis.ifelse(number.isnull(), text, number.cast("string"))


def weight_columns(columns: Mapping[str, Storage]) -> tuple[str, ...]:
    """Numbers that are called what survey weights are often called, and not what people or babies weigh: a plain
    "weight" beside a height is not taken for one.

    >>> weight_columns({"birth_weight": "integer", "finalwgt": "numeric", "WTMEC2YR": "numeric"})
    ('finalwgt', 'WTMEC2YR')
    >>> weight_columns({"weight": "integer", "height": "integer"})
    ()
    """
    bodies = any(_STATURE.fullmatch(name) for name in columns)
    return tuple(
        name
        for name, storage in columns.items()
        if storage not in TEXTS
        and _WEIGHT.fullmatch(name)
        and not (_BODY.search(name) or (bodies and name.lower() == "weight"))
    )


def _identity(path: Path) -> str:
    return path.name.split(".")[0] or "TODO"


def storage_types(path: Path) -> dict[str, Storage]:
    """Column names and how the file stores them; of a CSV file, how its first rows write them."""
    if not path.exists():
        raise SchemaError(f"data {path.name}: no such file or folder; correct the path")
    name = path.name.lower()
    try:
        if path.is_dir() or name.endswith((".parquet", ".pq")):
            return _parquet_types(path)
        if name.endswith(STATISTICAL):
            return _statistical_types(path)
        if name.endswith(WORKBOOK):
            names = _names(workbook_header(path), path)
            return {field.name: _arrow_storage(field.type) for field in read_workbook(path, names).schema}
        if name.endswith((".csv", ".csv.gz", ".tsv", ".txt")):
            return _csv_types(path, _names(csv_header(path)[0], path))
    except UnicodeDecodeError:
        raise SchemaError(f"data {path.name}: {NOT_UTF8}") from None
    except (OSError, ValueError, pa.ArrowException) as problem:
        raise SchemaError(f"data {path.name}: its columns cannot be read ({type(problem).__name__})") from None
    raise UsageError(f"data {path.name}: unknown kind of file; use CSV, Parquet, Excel, SAS, Stata or SPSS")


def _names(first_line: list[str], path: Path) -> list[str]:
    """Refuse a first line that is a record: a draft would show it."""
    for place, name in enumerate(first_line, start=1):
        if place == 1 and not name.strip():
            continue
        if not name.strip() or _VALUE.fullmatch(name.strip()) or name in first_line[: place - 1]:
            raise SchemaError(
                f"data {path.name}: its first line does not hold column names (see column {place}), and a draft would "
                "show a record; add a line with a name for each column, none of them a number, a date or used twice"
            )
    if not first_line[0].strip():
        raise SchemaError(
            f"data {path.name}: its first column has no name in the first line, as where R or pandas wrote row numbers "
            "there; write the file without them (row.names = FALSE, index = False), or give the column a name"
        )
    return first_line


def _csv_types(path: Path, names: list[str]) -> dict[str, Storage]:
    """Which way of writing all values of a column have; nothing else is learnt from the rows."""
    engine = connect("duckdb")
    table = engine.read(path, names).limit(_LOOKED_AT)
    if not set(names) <= set(table.columns):
        return dict.fromkeys(names, "text")  # lines of other lengths than the first: a run will say so
    asked = {}
    for place, name in enumerate(names):
        value = table[name].nullif("").nullif("NA")
        asked[f"{place} seen"] = value.count() > 0
        for storage, pattern in _WRITTEN:
            asked[f"{place} {storage}"] = value.re_search(pattern).fill_null(True).all()
    answers = engine.collect(table.aggregate(**asked)).to_pylist()[0]
    return {
        name: next(
            (storage for storage, _ in _WRITTEN if answers[f"{place} seen"] and answers[f"{place} {storage}"]), "text"
        )
        for place, name in enumerate(names)
    }


def _parquet_types(path: Path) -> dict[str, Storage]:
    if not path.is_dir():
        return {field.name: _arrow_storage(field.type) for field in pq.read_schema(path)}
    files = sorted(path.rglob("*.parquet"))
    if not files:
        raise SchemaError(f"data {path.name}: the folder holds no Parquet file")
    types: dict[str, Storage] = {field.name: _arrow_storage(field.type) for field in pq.read_schema(files[0])}
    for folder in files[0].relative_to(path).parts[:-1]:
        key, equals, _ = folder.partition("=")
        if equals:
            types[key] = "text"
    return types


def _arrow_storage(kind: Any) -> Storage:
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None):
        return "date"
    return "numeric" if pa.types.is_floating(kind) or pa.types.is_decimal(kind) else "text"


def _statistical_types(path: Path) -> dict[str, Storage]:
    about, suffix = about_file(path), path.suffix.lower()
    return {
        name: "date"
        if calendar_of(suffix, about.original_variable_types.get(name)) is not None
        else "text"
        if kind == "string"
        else "integer"
        if kind.startswith("int")
        else "numeric"
        for name, kind in about.readstat_variable_types.items()
    }


def _public_values(path: Path, columns: Mapping[str, Storage]) -> dict[str, pa.Array]:
    engine = connect("duckdb")
    table = engine.read(path, tuple(columns))
    values = {}
    for name in columns:
        if name in table.columns:
            values[name] = engine.collect(table.select(value=table[name]).distinct())["value"].combine_chunks()
    return values


def _variable(storage: Storage, public: pa.Array | None) -> list[str]:
    if storage == "date":
        return [
            'type = "date"            # days outside are clamped',
            'lower = "TODO"           # 2026-01-31',
            'upper = "TODO"',
        ]
    if public is not None:
        if storage in ("integer", "numeric") or pa.types.is_floating(public.type):
            return _bounds(public)
        texts = (code_text(value) for value in public.to_pylist())
        levels = sorted(level for level in texts if level is not None)
        if 0 < len(levels) <= _MOST_LEVELS:
            return ['type = "categorical"', f"levels = {json.dumps(levels, ensure_ascii=False)}"]
    if storage == "other date":
        return [
            "# Dates? They are read as 2026-01-31 only: write the column so in the file, and declare it with",
            '# type = "date", lower = 2010-01-01, upper = 2026-12-31. As it is, each day is a level of its own:',
            'type = "categorical"',
            'levels = ["TODO"]',
        ]
    if storage == "text":
        return ['type = "categorical"', 'levels = ["TODO"]']
    return [
        f'type = "{storage}"         # codes? Then: type = "categorical" and levels = ["1", "2"] instead of bounds',
        'lower = "TODO"           # public bounds; values outside are clamped',
        'upper = "TODO"',
    ]


def _bounds(public: pa.Array) -> list[str]:
    texts = [one for one in public.to_pylist() if one not in (None, "", "NA")]  # text where the public file is CSV
    values = [float(one) for one in texts if math.isfinite(float(one))]
    if not values:
        return ['type = "numeric"', 'lower = "TODO"', 'upper = "TODO"']
    if all(value == int(value) for value in values):
        return ['type = "integer"', f"lower = {int(min(values))}", f"upper = {int(max(values))}"]
    return ['type = "numeric"', f"lower = {min(values)}", f"upper = {max(values)}"]


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    plain = name.isascii() and all(letter.isalnum() or letter in "_-" for letter in name)
    return name if plain and name else _quoted(name)
