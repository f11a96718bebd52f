"""Where files come from: a folder that holds data and description together, or the public files and those kept here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from tacita.data.schema import Categorical, Identifier, Schema
from tacita.errors import UsageError
from tacita_studies.accuracy.prepared import PREPARED
from tacita_studies.accuracy.tries import Tries

_SUFFIX = ".accuracy.toml"
HERE = Path(str(files("tacita_studies"))) / "accuracy" / "files"
TABLES = HERE.parent / "tables"  # the suite of tables, which are rehearsed by the hundred


@dataclass(frozen=True)
class TriedFile:
    """A data file, and the folder of its schema and tries; the tries may have a folder of their own."""

    name: str
    data: Path
    described: Path
    prepare: Callable[[Path], pd.DataFrame] | None = None
    tried_in: Path | None = None

    @property
    def tries_path(self) -> Path:
        return (self.tried_in or self.described) / f"{self.name}{_SUFFIX}"

    @property
    def schema_path(self) -> Path:
        return self.described / f"{self.name}.schema.toml"

    @property
    def schema_name(self) -> str:
        """As its tries name it."""
        return os.path.relpath(self.schema_path, self.tries_path.parent)

    @property
    def schema(self) -> Schema:
        return Schema.load(self.schema_path)

    @property
    def tries(self) -> Tries:
        return Tries.load(self.tries_path)

    def read(self) -> pd.DataFrame:
        """The declared columns; codes and ids are text, as the schema has them."""
        schema = self.schema
        frame = self._raw(schema) if self.prepare is None else self.prepare(self.data)
        if missing := [name for name in schema.names if name not in frame]:
            raise UsageError(f"{self.data.name}: has no column {missing[0]}, which {self.schema_path.name} declares")
        return frame[list(schema.names)].reset_index(drop=True)

    def _raw(self, schema: Schema) -> pd.DataFrame:
        coded = [one.name for one in schema if isinstance(one.kind, Categorical | Identifier)]
        if self.data.suffix == ".parquet":
            frame = pd.read_parquet(self.data)
            return frame.assign(**{name: _as_text(frame[name]) for name in coded if name in frame})
        # A code may be called NA; among numbers it is a missing one.
        empty = {one.name: [""] if one.name in coded else ["", "NA", "NaN", "nan", "."] for one in schema}
        return pd.read_csv(self.data, dtype=dict.fromkeys(coded, "str"), keep_default_na=False, na_values=empty)


def _as_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """Codes that were stored as numbers: whole ones are written without a point."""
    if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")
    return column.astype("str").where(column.notna())


def in_folder(folder: Path) -> list[TriedFile]:
    """Outside files: NAME.csv.gz, NAME.csv or NAME.parquet, with NAME.schema.toml and NAME.accuracy.toml beside it."""
    if not folder.is_dir():
        raise UsageError(f"--data {folder}: there is no such folder")
    listed = []
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        name = path.name.removesuffix(_SUFFIX)
        places = [folder / f"{name}{ending}" for ending in (".csv.gz", ".csv", ".parquet")]
        data = next((place for place in places if place.is_file()), None)
        if data is None:
            raise UsageError(f"{path.name}: there is neither {name}.csv.gz nor {name}.parquet beside it")
        listed.append(TriedFile(name, data, folder))
    if not listed:
        raise UsageError(f"--data {folder.name}: holds no NAME{_SUFFIX}; write one for each file to try")
    return listed


def public_files(folder: Path, *, tables: bool = False) -> list[TriedFile]:
    """The public files that are there, each with its tries or with those of the suite of tables; how each is prepared
    is in `prepared`."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder; name the one with the public files as TACITA_DATA")
    known: Mapping[str, tuple[str, Callable[[Path], pd.DataFrame]]] = PREPARED
    tried = TABLES if tables else HERE
    listed = []
    for name, (path, prepare) in known.items():
        described = next(one for one in (HERE, TABLES) if (one / f"{name}.schema.toml").is_file())
        listed.append(TriedFile(name, folder / path, described, prepare, tried))
    return [one for one in listed if one.data.is_file() and one.tries_path.is_file()]
