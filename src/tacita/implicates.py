"""m synthetic files drawn for one release: what a synthesizer hands on and what an analyst combines.

An `Implicates` holds no confidential row. Its `kind` says how the files came about, because that decides how their
estimates are combined (see `tacita.inference`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import pyarrow as pa

from tacita.data.schema import Schema
from tacita.errors import UsageError, VerificationError
from tacita.lazy import later
from tacita.terminal import shown

pq = later("pyarrow.parquet")

Kind = Literal["full", "partial", "one-measurement"]

_META = b"tacita-implicate"


@dataclass(frozen=True, eq=False, repr=False)
class Implicates:
    """m synthetic files of one schema.

    `frames` are Arrow tables or pandas frames with the same columns, all of them declared in `schema`.
    `synthesized` names the columns whose values were drawn; the others are as collected.
    `kind` says how the files were drawn:

    - "partial": the collected units, with the values of some (or all) columns replaced by draws from a model that
      was fitted to the confidential rows;
    - "full": each file is a fresh sample from a synthetic population, drawn anew from the posterior of the model;
    - "one-measurement": every file is a draw of the confidential file given one noisy measurement of it.

    >>> import pandas as pd
    >>> schema = Schema.from_dict({
    ...     "dataset": {"identity": "demo", "unit": "person"},
    ...     "variables": {"pay": {"type": "numeric", "role": "confidential", "lower": 0, "upper": 100}},
    ... })
    >>> files = Implicates((pd.DataFrame({"pay": [1.0]}), pd.DataFrame({"pay": [3.0]})), schema, ("pay",), "partial")
    >>> files.m, files.columns, [float(frame["pay"].mean()) for frame in files]
    (2, ('pay',), [1.0, 3.0])
    """

    frames: tuple[Any, ...]
    schema: Schema
    synthesized: tuple[str, ...]
    kind: Kind

    def __post_init__(self) -> None:
        object.__setattr__(self, "frames", tuple(self.frames))
        object.__setattr__(self, "synthesized", tuple(self.synthesized))
        if self.kind not in get_args(Kind):
            raise UsageError(f"kind: must be one of {', '.join(get_args(Kind))}")
        if not self.frames:
            raise UsageError("frames: give at least one synthetic file")
        for number, frame in enumerate(self.frames, start=1):
            if not isinstance(frame, pa.Table) and not hasattr(frame, "iloc"):
                raise UsageError(
                    f"frames: number {number} must be an Arrow or pandas table, not {type(frame).__name__}"
                )
            self._check_columns(number, _columns(frame))
            if _rows(frame) == 0:
                raise UsageError(f"frames: number {number} has no rows")
        if stranger := [name for name in self.synthesized if name not in self.columns]:
            raise UsageError(
                f"synthesized: {stranger[0]} is no column of the files; they hold {', '.join(self.columns)}"
            )

    def _check_columns(self, number: int, columns: tuple[str, ...]) -> None:
        if stranger := [name for name in columns if name not in self.schema]:
            raise UsageError(
                f"frames: number {number} has a column {stranger[0]} that the schema does not declare; "
                "declare it, or drop it"
            )
        if set(columns) != set(self.columns):
            differing = sorted(set(columns) ^ set(self.columns))
            raise UsageError(f"frames: numbers 1 and {number} differ in the column {differing[0]}; give all files all")

    @property
    def m(self) -> int:
        """The number of files."""
        return len(self.frames)

    @property
    def columns(self) -> tuple[str, ...]:
        return _columns(self.frames[0])

    @property
    def rows(self) -> tuple[int, ...]:
        """Number of rows of each file."""
        return tuple(_rows(frame) for frame in self.frames)

    @property
    def tables(self) -> tuple[pa.Table, ...]:
        """The files as Arrow tables, columns in the order of the first."""
        return tuple(self._table(frame) for frame in self.frames)

    def _table(self, frame: Any) -> pa.Table:
        table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
        return table.select(list(self.columns))

    def __len__(self) -> int:
        return self.m

    def __iter__(self) -> Iterator[Any]:
        """The files as pandas frames, which is what most analyses take."""
        return (self[place] for place in range(self.m))

    def __getitem__(self, place: int) -> Any:
        """One file as a pandas frame: `files[0]` is the first."""
        frame = self.frames[place]
        return frame.to_pandas() if isinstance(frame, pa.Table) else frame

    def __repr__(self) -> str:
        return f"Implicates(m={self.m}, kind={self.kind!r}, rows={list(self.rows)}, columns={list(self.columns)})"

    def _repr_html_(self) -> str:
        """How many files of how many rows, and the first rows of the first."""
        first = self.tables[0].slice(0, 5).to_pylist()
        title = f"{self.m} synthetic file{'s' * (self.m > 1)} of {', '.join(f'{rows:,}' for rows in self.rows)} rows"
        return shown(title, [list(row.values()) for row in first], self.columns)

    def write(self, folder: str | Path) -> tuple[Path, ...]:
        """One Parquet file per implicate: implicate-01.parquet and so on, rows in the order of their values.

        The order of rows can carry the order of the confidential file, so it is not kept.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        meta = json.dumps({"kind": self.kind, "synthesized": list(self.synthesized)}, sort_keys=True).encode()
        written = []
        for number, table in enumerate(self.tables, start=1):
            ordered = table.sort_by([(name, "ascending") for name in self.columns])
            path = folder / f"implicate-{number:02d}.parquet"
            pq.write_table(ordered.replace_schema_metadata({_META: meta}), path)
            written.append(path)
        return tuple(written)

    @classmethod
    def read(cls, folder: str | Path, schema: Schema) -> Implicates:
        """The files that `write` left in a folder, such as the microdata of a bundle."""
        paths = sorted(Path(folder).glob("implicate-*.parquet"))
        if not paths:
            raise UsageError(f"{Path(folder).name}: holds no implicate-01.parquet; name the folder of the microdata")
        tables = [pq.read_table(path) for path in paths]
        notes = {(table.schema.metadata or {}).get(_META) for table in tables}
        if len(notes) != 1 or None in notes:
            raise VerificationError(
                f"{Path(folder).name}: the files were not written together by Tacita; restore them from the bundle"
            )
        meta = json.loads(next(iter(notes)) or b"{}")
        return cls(
            tuple(table.replace_schema_metadata(None) for table in tables),
            schema,
            tuple(meta["synthesized"]),
            meta["kind"],
        )


@runtime_checkable
class Synthetic(Protocol):
    """What a synthesizer's run returns: a `tacita.plan.Result` that holds synthetic files.

    `measured` are the released parameters the files were drawn from, as JSON values; `implicates` are the files, the
    same ones each time, also after the result was stored and restored, or None where they are withheld.
    """

    @property
    def implicates(self) -> Implicates | None: ...

    @property
    def measured(self) -> Mapping[str, Any]: ...

    @property
    def rehearsal(self) -> bool: ...

    def to_bytes(self) -> bytes: ...


def kind_of(path: Path) -> Kind | None:
    """How the file was made, where it is one that `Implicates.write` wrote; None for any other file."""
    if path.suffix != ".parquet" or not path.is_file():
        return None
    note = (pq.read_schema(path).metadata or {}).get(_META)
    kind: Kind | None = None if note is None else json.loads(note)["kind"]
    return kind


def _columns(frame: Any) -> tuple[str, ...]:
    return tuple(frame.column_names if isinstance(frame, pa.Table) else frame.columns)


def _rows(frame: Any) -> int:
    return int(frame.num_rows) if isinstance(frame, pa.Table) else len(frame)
