"""What a folder of partitions remembers about the run that fills it, so that only that run goes on.

The record says nothing about the rows. What a run needs to go on, the seed of its draws and a digest of the rows with
the key, is kept outside the folder until all files are there, in a hidden file beside it that only its owner
can read: with key and digest a guess at the rows can be checked. It is removed at the end.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tacita.data.confidential import Confidential
from tacita.errors import RefusedError, VerificationError
from tacita.synthesis.panel.settings import PanelPlan

RECORD = "panel.json"
_KEPT_APART = ("key", "rows", "seed")
_FORM = "panel-folder-3"
_FORM_WITH_KEY = "panel-folder-2"  # of earlier versions: key and digest stood in the record itself


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
    finished: bool = False

    @classmethod
    def begin(cls, folder: Path, plan: PanelPlan[Any], data: Confidential, seed: str | None, rehearsal: bool) -> Run:
        """A new record, on disk before anything is drawn from its seed."""
        key = secrets.token_hex(32)
        run = cls(
            folder, plan.describe(), data.schema.hash, str(plan.guarantee), rehearsal, seed, key, _digest(key, data)
        )
        _clear(folder)
        run._write()
        return run

    @classmethod
    def of(cls, folder: Path, plan: PanelPlan[Any], data: Confidential) -> Run | None:
        """The run that began to fill the folder; None where it is empty. Refuses another plan, schema or file."""
        record = folder / RECORD
        if not record.exists():
            # The record itself may have been under way.
            if any(one.suffix != ".part" for one in folder.iterdir()):
                raise RefusedError(f"{folder.name}: is not empty and holds no {RECORD}; give a new folder")
            return None
        run = _read(record)
        described = (plan.describe(), *plan.former_descriptions())
        if run.plan not in described or run.schema != data.schema.hash:
            raise RefusedError(f"{folder.name}: holds the files of another plan or schema; give a new folder")
        if not run.finished and run.key is None:
            raise RefusedError(
                f"{folder.name}: was begun, and {_resume(folder).name} beside it, without which nobody can go on, is "
                "gone; put it back, or give a new folder"
            )
        if run.key is not None and not hmac.compare_digest(str(run.rows), _digest(run.key, data)):
            raise RefusedError(
                f"{folder.name}: its files were begun from other rows than those of {data.identity} now; give the file "
                "as it was, or a new folder"
            )
        return run

    def finish(self) -> None:
        replace(self, seed=None, key=None, rows=None, finished=True)._write()
        _resume(self.folder).unlink(missing_ok=True)

    def _write(self) -> None:
        if not self.finished:
            kept = {name: getattr(self, name) for name in _KEPT_APART}
            put(_resume(self.folder), json.dumps(kept, sort_keys=True).encode(), mode=0o600)
        content = {name: value for name, value in vars(self).items() if name != "folder"}
        public = {**content, **dict.fromkeys(_KEPT_APART)}
        put(self.folder / RECORD, json.dumps({"form": _FORM, **public}, sort_keys=True).encode())


def _resume(folder: Path) -> Path:
    """Where a run keeps what it needs to go on: beside its folder, which is handed on."""
    place = folder.absolute()
    return place.with_name(f".{place.name[:200]}.resume.json")


def _clear(folder: Path) -> None:
    """Nothing was begun here, so a key that is left belongs to a folder that was removed."""
    _resume(folder).unlink(missing_ok=True)


def put(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """A file that is whole or not there, and on disk when this returns."""
    aside = path.with_name(f"{os.getpid()}.part" if mode == 0o666 else f".{os.getpid()}.resume.part")
    aside.unlink(missing_ok=True)
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:  # noqa: PTH123
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def _read(record: Path) -> Run:
    try:
        found = json.loads(record.read_text(encoding="utf-8"))
        form = found.pop("form")
        if form == _FORM_WITH_KEY:
            run = Run(record.parent, **found, finished=found["key"] is None)
            run._write()  # takes the key out of the folder
            return run
        if form != _FORM:
            raise ValueError
        resume = _resume(record.parent)
        kept = json.loads(resume.read_bytes()) if not found["finished"] and resume.is_file() else {}
        return Run(record.parent, **(found | {name: kept.get(name) for name in _KEPT_APART}))
    except (ValueError, TypeError, AttributeError, LookupError):
        raise VerificationError(
            f"{record.parent.name}: its {RECORD} is not one that Tacita wrote; give a new folder"
        ) from None


def _digest(key: str, data: Confidential) -> str:
    """Says whether rows are the same to those who have the key, and nothing to others; the same on every engine."""
    return hmac.digest(bytes.fromhex(key), data.fingerprint().encode(), "sha256").hex()
