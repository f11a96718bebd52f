"""What a folder of partitions remembers about the run that fills it, so that only that run goes on.

Until all files are there, the record holds the seed of the draws and a digest of the confidential rows, keyed with a
secret of the run that stands beside it: the folder is confidential until then. Both are taken out at the end, and what
is left says nothing about the rows.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tacita.confidential import Confidential
from tacita.errors import RefusedError, VerificationError
from tacita.synthesis.panel.plan import PanelSynthesis

RECORD = "panel.json"
_FORM = "panel-folder-2"


@dataclass(frozen=True)
class Run:
    """A run and its folder. `seed` is that of a panel without a guarantee; with one, the measurement has its own."""

    folder: Path
    plan: dict[str, Any]
    schema: str
    guarantee: str
    rehearsal: bool
    seed: str | None = None
    key: str | None = None
    rows: str | None = None

    @property
    def finished(self) -> bool:
        return self.key is None

    @classmethod
    def begin(cls, folder: Path, plan: PanelSynthesis, data: Confidential, seed: str | None, rehearsal: bool) -> Run:
        """A new record, on disk before anything is drawn from its seed."""
        key = secrets.token_hex(32)
        given = json.loads(json.dumps(plan.describe()))
        run = cls(folder, given, data.schema.hash, str(plan.guarantee), rehearsal, seed, key, _digest(key, data))
        run._write()
        return run

    @classmethod
    def of(cls, folder: Path, plan: PanelSynthesis, data: Confidential) -> Run | None:
        """The run that began to fill the folder; None where it is empty. Refuses another plan, schema or file."""
        record = folder / RECORD
        if not record.exists():
            # The record itself may have been under way.
            if any(one.suffix != ".part" for one in folder.iterdir()):
                raise RefusedError(f"{folder.name}: is not empty and holds no {RECORD}; give a new folder")
            return None
        run = _read(record)
        if run.plan != json.loads(json.dumps(plan.describe())) or run.schema != data.schema.hash:
            raise RefusedError(f"{folder.name}: holds the files of another plan or schema; give a new folder")
        if run.key is not None and not hmac.compare_digest(str(run.rows), _digest(run.key, data)):
            raise RefusedError(
                f"{folder.name}: its files were begun from other rows than those of {data.identity} now; give the file "
                "as it was, or a new folder"
            )
        return run

    def finish(self) -> None:
        replace(self, seed=None, key=None, rows=None)._write()

    def _write(self) -> None:
        content = {name: value for name, value in vars(self).items() if name != "folder"}
        put(self.folder / RECORD, json.dumps({"form": _FORM, **content}, sort_keys=True).encode())


def put(path: Path, content: bytes) -> None:
    """A file that is whole or not there, and on disk when this returns."""
    aside = path.with_name(f"{os.getpid()}.part")
    with aside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def _read(record: Path) -> Run:
    try:
        found = json.loads(record.read_text(encoding="utf-8"))
        if found.pop("form") != _FORM:
            raise ValueError
        return Run(record.parent, **found)
    except (ValueError, TypeError, AttributeError, LookupError):
        raise VerificationError(
            f"{record.parent.name}: its {RECORD} is not one that Tacita wrote; give a new folder"
        ) from None


def _digest(key: str, data: Confidential) -> str:
    """Says whether rows are the same to those who have the key, and nothing to others; the same on every engine."""
    return hmac.digest(bytes.fromhex(key), data.fingerprint().encode(), "sha256").hex()
