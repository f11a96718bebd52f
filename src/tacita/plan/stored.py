"""How results are kept by the ledger and in bundles: plain JSON, or Arrow with the JSON beside it. Never a pickle."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.errors import VerificationError
from tacita.noise.entropy import Entropy, Request

_META = b"tacita"


def seed_from(entropy: Entropy) -> int:
    """The seed of the synthetic files: drawn once the measuring is done, kept with the result, public with it."""
    entropy.announce(Request("seed of the synthetic files", "uniform words", np.zeros(0), np.zeros(0)))
    return int(entropy.words(1)[0])


def packed(form: str | None, content: Mapping[str, Any], table: pa.Table | None = None) -> bytes:
    """The bytes of a result: `form` names the layout of `content` and its version; large arrays go into `table`."""
    # Measured tables have no form, and spaces: `verify` compares the hash of these very bytes with the ledger's.
    named, spaces = (content, None) if form is None else ({"form": form, **content}, (",", ":"))
    written = json.dumps(named, sort_keys=True, separators=spaces).encode()
    if table is None:
        return written
    table = table.replace_schema_metadata({_META: written})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def form_of(stored: bytes) -> str | None:
    """The layout that stored bytes say they have, where it is JSON alone."""
    try:
        form: str | None = json.loads(stored).get("form") if stored.startswith(b"{") else None
    except ValueError:
        return None
    return form


def opened(stored: bytes, form: str | None) -> tuple[dict[str, Any], pa.Table]:
    """What `packed` stored in this form: the content, and the table (empty where there was none)."""
    table = pa.table({})
    try:
        if not stored.startswith(b"{"):
            table = pa.ipc.open_stream(io.BytesIO(stored)).read_all()
            stored = (table.schema.metadata or {}).get(_META, b"{}")
        content: dict[str, Any] = json.loads(stored)
    except (ValueError, pa.ArrowException):
        content = {}
    if not content or content.get("form") != form:
        raise VerificationError("a stored result is not one that Tacita wrote; restore the ledger from its backup")
    return content, table.replace_schema_metadata(None)
