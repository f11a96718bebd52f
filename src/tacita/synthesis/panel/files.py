"""The result of a run in memory: m synthetic files and how they were made."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tacita.data.schema import Schema
from tacita.errors import UsageError, VerificationError
from tacita.implicates import Implicates, Kind

_FORM = "panel-files-1"
_META = b"tacita"


@dataclass(frozen=True, eq=False, repr=False)
class PanelFiles:
    """m synthetic panels, each with parameters of its own. They were drawn with the fit: nothing else was kept."""

    schema: Schema
    tables: tuple[pa.Table, ...]
    synthesized: tuple[str, ...]
    seed: str
    description: Mapping[str, Any]
    rehearsal: bool
    kind: Kind = "partial"

    def sample(self, m: int | None = None) -> Implicates:
        """The first m of the files, all of them by default."""
        count = len(self.tables) if m is None else m
        if not 1 <= count <= len(self.tables):
            raise UsageError(f"m: {len(self.tables)} files were drawn; give a number up to that, or a plan with sets")
        return Implicates(self.tables[:count], self.schema, self.synthesized, self.kind)

    @property
    def implicates(self) -> Implicates:
        return self.sample()

    @property
    def measured(self) -> Mapping[str, Any]:
        """Nothing was measured: the files are drawn from the posterior given the confidential rows."""
        return {"files": len(self.tables), "rows": [table.num_rows for table in self.tables]}

    def __repr__(self) -> str:
        return f"PanelFiles(files={len(self.tables)}, rows={self.tables[0].num_rows})"

    def to_bytes(self) -> bytes:
        content = {
            "form": _FORM,
            "schema": self.schema.to_dict(),
            "synthesized": list(self.synthesized),
            "seed": self.seed,
            "rehearsal": self.rehearsal,
            "kind": self.kind,
            "rows": [table.num_rows for table in self.tables],
            "plan": dict(self.description),
        }
        meta = {_META: json.dumps(content, sort_keys=True).encode()}
        joined = pa.concat_tables(self.tables).combine_chunks().replace_schema_metadata(meta)
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, joined.schema) as writer:
            writer.write_table(joined)
        return sink.getvalue()

    @classmethod
    def from_bytes(cls, stored: bytes) -> PanelFiles:
        table = pa.ipc.open_stream(io.BytesIO(stored)).read_all()
        content = json.loads((table.schema.metadata or {}).get(_META, b"{}"))
        if content.get("form") != _FORM:
            raise VerificationError("a stored result is not one that Tacita wrote; restore it from its backup")
        tables, start = [], 0
        for rows in content["rows"]:
            tables.append(table.slice(start, rows).replace_schema_metadata(None))
            start += rows
        return cls(
            Schema.from_dict(content["schema"]),
            tuple(tables),
            tuple(content["synthesized"]),
            content["seed"],
            content["plan"],
            content["rehearsal"],
            content["kind"],
        )
