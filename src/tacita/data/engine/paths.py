"""Paths as engines take them literally: a name with * or [ in it is a name, and no other file is read for it."""

from __future__ import annotations

import re
from pathlib import Path

from tacita.errors import SchemaError


def exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that no file can have
        return False


def is_pattern(path: Path) -> bool:
    return any(letter in "*?[" for letter in str(path))


def literal(path: Path) -> str:
    """A path as DuckDB takes it literally: it would take * ? and [ for a pattern, and read other files.

    >>> literal(Path("/data/jobs[2026].parquet"))
    '/data/jobs[[]2026].parquet'
    """
    place = path.as_posix()
    if "\\" in place and (is_pattern(path) or path.is_dir()):
        raise SchemaError(f"data {path.name}: a path with a backslash cannot be read literally; rename it")
    return re.sub(r"[*?\[]", r"[\g<0>]", place)


def parquet_files(path: Path) -> str:
    """A file, or all parts of a folder, as DuckDB is asked for them."""
    return f"{literal(path)}/**/*.parquet" if path.is_dir() else literal(path)


def hadoop_literal(path: Path) -> str:
    r"""The same for Spark.

    >>> hadoop_literal(Path("/data/jobs[2026].parquet"))
    '/data/jobs\\[2026\\].parquet'
    """
    return re.sub(r"[*?\[\]{}\\]", r"\\\g<0>", str(path))
